"""What a model may send as a call, at its worst: arguments, ids and names that must never reach a tool's code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agentforge import (
    AiMessage,
    MemoryId,
    Run,
    ScriptedChatModel,
    ToolContext,
    ToolExecutionRequest,
    ToolOutcome,
    ToolParameters,
    ToolService,
    ToolSpecification,
    tool,
)
from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model.scripted import call, calls
from plugins.openai.tests.support import FakeTransport, message, model_on
from tests.cases.support import CORRECTING, OPEN, valid, wire_pairs

# -- F16: arguments that do not fit, derived from the tool's schema ----------------------------------------------


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"


class Point(BaseModel):
    lat: Annotated[float, Field(ge=-90, le=90)]
    lon: float


class Desk:
    """One tool with parameters of every kind, and how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    @tool
    def forecast(
        self,
        city: Annotated[str, Field(min_length=1, max_length=20)],
        days: Annotated[int, Field(ge=1, le=7)],
        unit: Literal["C", "F"],
        mode: Mode,
        at: Point,
        tags: list[int] | None = None,
        options: dict[str, int] | None = None,
    ) -> str:
        "A forecast."
        self.runs += 1
        return "sunny"


GOOD_ARGUMENTS: dict[str, Any] = {
    "city": "Oslo",
    "days": 3,
    "unit": "C",
    "mode": "fast",
    "at": {"lat": 59.9, "lon": 10.7},
    "tags": [1, 2],
    "options": {"x": 1},
}
#: For each place (as steps into the arguments) values that cannot be there and cannot be converted exactly either.
WRONG: dict[tuple[str | int, ...], st.SearchStrategy[Any]] = {
    ("city",): st.sampled_from([None, [], {}, ["Oslo"], "", "x" * 21]),
    ("days",): st.one_of(
        st.sampled_from([None, [3], {}, "three", 1.5, "1.5", ""]), st.integers(8), st.integers(max_value=0)
    ),
    ("unit",): st.one_of(st.sampled_from([None, ["C"], {}, "K", ""]), st.integers()),
    ("mode",): st.one_of(st.sampled_from([None, ["fast"], {}, "medium"]), st.integers()),
    ("at",): st.sampled_from([None, [], [59.9, 10.7], "59.9,10.7", 1, True]),
    ("at", "lat"): st.one_of(st.sampled_from([None, [], {}, "north"]), st.floats(90.5, 1e9), st.floats(-1e9, -90.5)),
    ("at", "lon"): st.sampled_from([None, [], {}, "east"]),
    ("tags",): st.sampled_from([{}, {"0": 1}, "1,2", 5, True]),
    ("tags", 1): st.sampled_from([[], {}, "two", 1.5, [1]]),
    ("options",): st.sampled_from([[], [1], "x", 5]),
    ("options", "x"): st.sampled_from([[], {}, "many", 0.5]),
}
PLACES = st.sampled_from(sorted(WRONG, key=repr))
REQUIRED = [("city",), ("days",), ("unit",), ("mode",), ("at",), ("at", "lat"), ("at", "lon")]


def changed(steps: tuple[str | int, ...], change: Callable[[Any, Any], None]) -> str:
    """The good arguments with a change at one place, as text."""
    made = json.loads(json.dumps(GOOD_ARGUMENTS))
    inside = made
    for step in steps[:-1]:
        inside = inside[step]
    change(inside, steps[-1])
    return json.dumps(made)


@st.composite
def misfits(draw: st.DrawFn) -> tuple[str, str]:
    """An argument text that does not fit, and the dotted path of what is wrong (empty: the text as a whole)."""
    kind = draw(st.sampled_from(["wrong", "missing", "surplus", "nested surplus", "not an object", "cut", "noise"]))
    if kind == "wrong":
        steps = draw(PLACES)
        value = draw(WRONG[steps])
        return changed(steps, lambda inside, last: inside.__setitem__(last, value)), ".".join(map(str, steps))
    if kind == "missing":
        steps = draw(st.sampled_from(REQUIRED))
        return changed(steps, lambda inside, last: inside.__delitem__(last)), ".".join(map(str, steps))
    if kind == "surplus":
        name = draw(st.text(min_size=1, max_size=12).filter(lambda text: text not in GOOD_ARGUMENTS))
        name = name.encode("utf-8", "ignore").decode() or "extra"
        return json.dumps({**GOOD_ARGUMENTS, name: 1}), name
    if kind == "nested surplus":
        return changed(("at", "alt"), lambda inside, last: inside.__setitem__(last, 1)), "at.alt"
    if kind == "not an object":
        value = draw(st.one_of(st.integers(), st.booleans(), st.lists(st.integers(), max_size=3), st.just("text")))
        return json.dumps(value), ""
    text = json.dumps(GOOD_ARGUMENTS)
    if kind == "cut":
        return text[: draw(st.integers(1, len(text) - 1))], ""
    return draw(
        st.sampled_from(["{", "}{", "null", "[]]", "{'city': 'Oslo'}", "<arguments/>", "city=Oslo", text + "}"])
    ), ""


@pytest.mark.parametrize("executor", ["method", "own executor"])
@settings(max_examples=60, deadline=None)
@given(batch=st.lists(misfits(), min_size=1, max_size=30))
def test_f16_arguments_that_do_not_fit_never_run_the_tool(executor: str, batch: list[tuple[str, str]]) -> None:
    """Each gets an error that names the place, in the result for the model and as data; the loop goes on."""
    desk = Desk()
    service = ToolService(desk, **CORRECTING)
    if executor == "own executor":
        (known,) = service.tool_specifications

        def own(request: ToolExecutionRequest) -> str:
            desk.runs += 1
            return "sunny"

        service = ToolService(**CORRECTING).tool(ToolSpecification("forecast", "A forecast.", known.parameters), own)
    asked = [call("forecast", text) for text, _ in batch]
    result = asyncio.run(service.chat(ScriptedChatModel([calls(*asked), "done"]), None, "go"))

    assert desk.runs == 0
    assert result.text == "done" and valid(result.messages)
    for execution, (text, path) in zip(result.tool_executions, batch, strict=True):
        assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS, text
        error = execution.result.cause
        assert isinstance(error, ToolArgumentsError) and error.code == "AF401" and error.tool == "forecast"
        if path:
            assert path[:80] in [problem.path for problem in error.problems], (text, error.problems)
        assert error.message in execution.result_text()


def test_f16_the_arguments_that_the_misfits_are_made_of_do_run_the_tool() -> None:
    """So that what is refused above is refused for its change alone."""
    desk = Desk()
    asked = call("forecast", json.dumps(GOOD_ARGUMENTS))
    asyncio.run(ToolService(desk).chat(ScriptedChatModel([asked, "done"]), None, "go"))

    assert desk.runs == 1


@pytest.mark.parametrize(
    ("schema", "text", "path"),
    [
        ({"type": "object"}, '{"zone": 1}', "zone"),
        ({"type": "object", "properties": {}}, '{"zone": 1}', "zone"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, '{"zone": 1}', "zone"),
        (
            {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": False}}},
            '{"a": {"zone": 1}}',
            "a.zone",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
            '{"a": [1, "x"]}',
            "a.1",
        ),
        ({"type": "object", "properties": {}, "required": ["a"]}, "{}", "a"),
    ],
)
async def test_f16_the_error_names_the_place_for_any_schema(schema: dict[str, Any], text: str, path: str) -> None:
    """Of a remote tool too, however little its schema says."""
    service = ToolService(**CORRECTING).tool(
        ToolSpecification("f", None, ToolParameters(schema)), lambda request: "ran"
    )
    result = await service.chat(ScriptedChatModel([call("f", text), "done"]), None, "go")

    (execution,) = result.tool_executions
    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS
    assert isinstance(execution.result.cause, ToolArgumentsError)
    assert [problem.path for problem in execution.result.cause.problems] == [path]


@pytest.mark.parametrize(
    ("name", "value"),
    [("days", "3"), ("days", 3.5), ("unit", "c"), ("mode", "FAST"), ("city", 5), ("tags", ["1"]), ("at", '{"lat": 1}')],
)
async def test_f16_a_declared_write_takes_no_near_form_either(name: str, value: object) -> None:
    """What a read understands exactly (a number's text, another case) is refused where an effect is at stake."""
    desk = Desk()
    write = tool(effect="write", name="forecast")(partial(Desk.forecast, desk))
    asked = call("forecast", {**GOOD_ARGUMENTS, name: value})
    result = await ToolService(write, **CORRECTING).chat(ScriptedChatModel([asked, "done"]), None, "go")

    assert desk.runs == 0
    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.INVALID_ARGUMENTS]
    assert name in result.tool_executions[0].result_text()


# -- S15: texts that are made to hurt whoever parses them --------------------------------------------------------

DEEP = 100_000
BOMBS: dict[str, str] = {
    "deeper than 64": '{"a":' * 65 + "1" + "}" * 65,
    "very deep object": '{"a":' * DEEP + "1" + "}" * DEEP,
    "very deep list": '{"a":' + "[" * DEEP + "]" * DEEP + "}",
    "deep and cut off": '{"a":' + "[" * DEEP,
    "deep inside a text": json.dumps('{"a":' * 100 + "1" + "}" * 100),
    "more than a mebibyte": json.dumps({"a": "x" * (1 << 20)}),
    "more than 10,000 members": json.dumps({"a": [0] * 10_001}),
    "more than 10,000 keys": json.dumps({f"k{n}": n for n in range(10_001)}),
    "a number of over 1,000 digits": '{"a": ' + "9" * 1001 + "}",
    "a fraction of over 1,000 digits": '{"a": 0.' + "9" * 1001 + "}",
    "an exponent beyond any float": '{"a": 1e999999999}',
    "NaN": '{"a": NaN}',
    "Infinity": '{"a": -Infinity}',
    "a repeated key": '{"a": 1, "a": 2}',
    "a repeated key far down": '{"a": [{"b": {"c": 1, "c": 2}}]}',
    "half a surrogate pair, escaped": '{"a": "\\ud800"}',
    "half a surrogate pair, as it is": '{"a": "\ud800"}',
    "half a surrogate pair in a key": '{"\\udfff": 1}',
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
async def test_s15_a_text_made_to_hurt_is_refused_and_the_conversation_goes_on(bomb: str) -> None:
    """As a structured error, never a RecursionError; what it leaves in the history can be sent again."""
    ran: list[ToolExecutionRequest] = []

    def f(request: ToolExecutionRequest) -> str:
        ran.append(request)
        return "ran"

    service = ToolService(**CORRECTING).tool(ToolSpecification("f", "Takes all.", ToolParameters(OPEN)), f)
    function = {"name": "f", "arguments": bomb}
    asked = message("tool_calls", content=None, tool_calls=[{"id": "c1", "type": "function", "function": function}])
    transport = FakeTransport(asked, message(content="done"))
    result = await service.chat(model_on(transport), None, "go")

    assert ran == []
    (execution,) = result.tool_executions
    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS
    assert "cannot be used" in execution.result_text() and len(execution.result_text()) < 1000
    sent = transport.bodies[1]["messages"]
    assert isinstance(json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]), dict)
    assert [id_ for id_, _ in wire_pairs(sent)] == ["c1"]
    assert result.text == "done"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 63 + "1" + "}" * 63,
        json.dumps({"a": [0] * 9_990}),
        '{"a": ' + "9" * 1000 + "}",
        '{"a": "\\ud83d\\ude42"}',
    ],
    ids=["deep", "members", "digits", "a whole surrogate pair"],
)
async def test_s15_what_is_within_the_bounds_runs(text: str) -> None:
    specification = ToolSpecification("f", "Takes all.", ToolParameters(OPEN))
    service = ToolService(**CORRECTING).tool(specification, lambda request: "ran")
    result = await service.chat(ScriptedChatModel([call("f", text), "done"]), None, "go")

    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.OK]


# -- S22: ids and names as models make them ----------------------------------------------------------------------

IDS = st.sampled_from(["c1", "c2", "", " ", "call_1", "x" * 10_240, "line\nbreak", "ünï", "c1"])


@settings(max_examples=80, deadline=None)
@given(ids=st.lists(IDS, min_size=1, max_size=12), order=st.randoms(use_true_random=False), wire=st.booleans())
def test_s22_each_call_gets_its_own_result_whatever_the_ids_and_the_order_of_ending(
    ids: list[str], order: Any, wire: bool
) -> None:
    ranks = list(range(len(ids)))
    order.shuffle(ranks)

    async def main() -> None:
        ended = asyncio.Condition()
        done = 0

        @tool
        async def echo(n: int) -> str:
            "Ends when it is its turn."
            nonlocal done
            async with ended:
                await ended.wait_for(lambda: done == ranks[n])
                done += 1
                ended.notify_all()
            return f"echo {n}"

        service = ToolService(echo, max_concurrent_tools=len(ids))
        if wire:
            items = [
                {"id": id_, "type": "function", "function": {"name": "echo", "arguments": json.dumps({"n": n})}}
                for n, id_ in enumerate(ids)
            ]
            transport = FakeTransport(message("tool_calls", content=None, tool_calls=items), message(content="done"))
            result = await service.chat(model_on(transport), None, "go")
            pairs = wire_pairs(transport.bodies[1]["messages"])
            assert [text for _, text in pairs] == [f"echo {n}" for n in range(len(ids))]
            assert len({id_ for id_, _ in pairs}) == len(ids)
        else:
            requests = [ToolExecutionRequest(id_, "echo", json.dumps({"n": n})) for n, id_ in enumerate(ids)]
            result = await service.chat(ScriptedChatModel([AiMessage(requests), "done"]), None, "go")
        assert [execution.result_text() for execution in result.tool_executions] == [
            f"echo {n}" for n in range(len(ids))
        ]
        assert valid(result.messages) and result.text == "done"

    asyncio.run(main())


async def test_s22_two_hundred_calls_at_once_are_all_answered_once() -> None:
    @tool
    async def echo(n: int) -> int:
        "Gives it back."
        await asyncio.sleep(0)
        return n

    asked = calls(*(call("echo", n=n) for n in range(200)))
    result = await ToolService(echo).chat(ScriptedChatModel([asked, "done"]), None, "go")

    assert [execution.result_text() for execution in result.tool_executions] == [str(n) for n in range(200)]
    assert valid(result.messages)


@pytest.mark.parametrize("name", ["echo\nx", "ECHO", "echo ", "", "ech\u200bo", "e" * 10_000, "../echo", "echo\x00"])
async def test_s22_a_name_that_is_not_exactly_a_tools_runs_nothing(name: str) -> None:
    ran: list[int] = []

    @tool
    def echo(n: int) -> None:
        "Notes it."
        ran.append(n)

    asked = ToolExecutionRequest("c1", name, '{"n": 1}')
    result = await ToolService(echo, **CORRECTING).chat(ScriptedChatModel([asked, "done"]), None, "go")

    assert ran == []
    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.UNKNOWN_TOOL]
    assert "Available tools: echo" in result.tool_executions[0].result_text()


# -- S27: what of an object a model can reach --------------------------------------------------------------------


class Base:
    def inherited(self) -> str:
        return "inherited"


class Account(Base):
    def __init__(self) -> None:
        self.touched: list[str] = []
        self.attribute = lambda: self.touched.append("attribute")

    @tool
    def balance(self, context: ToolContext, owner: Annotated[str, MemoryId], run: Run, currency: str = "EUR") -> str:
        "The balance."
        return f"{owner} {currency} {context.memory_id} {run.memory_id}"

    def undecorated(self) -> None:
        self.touched.append("undecorated")

    def _private(self) -> None:
        self.touched.append("private")

    @property
    def computed(self) -> str:
        self.touched.append("computed")
        return "computed"


PROBES = sorted({*dir(Account()), "__import__", "eval", "exec", "attribute.append", "balance.__globals__", "os.system"})


async def test_s27_only_decorated_methods_can_be_called() -> None:
    """Every other name of the object, dunder, private, inherited or dotted, is an unknown tool."""
    account = Account()
    service = ToolService(account, **CORRECTING)
    names = [name for name in PROBES if name != "balance"]
    assert len(names) >= 30
    result = await service.chat(ScriptedChatModel([calls(*(call(name) for name in names)), "done"]), None, "go")

    assert [tool.name for tool in service.tool_specifications] == ["balance"]
    assert {execution.outcome for execution in result.tool_executions} == {ToolOutcome.UNKNOWN_TOOL}
    assert account.touched == []


@pytest.mark.parametrize("name", [name for name in PROBES if name != "balance"])
def test_s27_nor_can_the_application_register_one_by_name_by_mistake(name: str) -> None:
    account = Account()
    with pytest.raises(ToolDeclarationError):
        ToolService().tool(account, name)

    assert account.touched == []


@pytest.mark.parametrize("hidden", ["context", "owner", "run", "self"])
async def test_s27_a_hidden_parameter_is_neither_seen_nor_set_by_the_model(hidden: str) -> None:
    service = ToolService(Account(), **CORRECTING)
    asked = [call("balance", currency="USD"), call("balance", {"currency": "USD", hidden: "mallory"})]
    result = await service.chat(ScriptedChatModel([calls(*asked), "done"]), None, "go", memory_id="ann")

    assert list(service.tool_specifications[0].parameters.properties) == ["currency"]
    good, bad = result.tool_executions
    assert good.result_text() == "ann USD ann ann"
    assert bad.outcome is ToolOutcome.INVALID_ARGUMENTS and hidden in bad.result_text()


async def test_s27_what_a_partial_fixes_cannot_be_set_by_the_model() -> None:
    def transfer(amount: int, account: str) -> str:
        "Moves money."
        return f"{amount} from {account}"

    service = ToolService(partial(transfer, account="ours"), **CORRECTING)
    asked = [call("transfer", amount=1), call("transfer", amount=1, account="theirs")]
    result = await service.chat(ScriptedChatModel([calls(*asked), "done"]), None, "go")

    assert [execution.outcome.name for execution in result.tool_executions] == ["OK", "INVALID_ARGUMENTS"]
    assert result.tool_executions[0].result_text() == "1 from ours"
