"""Arguments beside a tool's own: the consumer gets them, the tool does not, and all else is as it was."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, make_dataclass, replace
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agentforge import (
    BoundTool,
    ReturnBehavior,
    Run,
    ScriptedChatModel,
    ToolOutcome,
    ToolParameters,
    ToolService,
    ToolSpecification,
    tool,
)
from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model import ToolExecutionRequest
from agentforge.model.scripted import call
from agentforge.tool import AugmentedCall, StaticTools, augmented, prefix
from agentforge.tool.execution import bound_tool_from, bound_tools_from


@dataclass
class Thought:
    inner_thought: str
    confidence: float = 0.5


class Doubt(BaseModel):
    inner_thought: str = Field(description="why you call this")
    confidence: float = Field(default=0.5, ge=0, le=1)


class Note(TypedDict):
    inner_thought: str


PARAMETERS = ToolParameters.builder().add_property("inner_thought", "string", required=True).build()
GIVEN = {"inner_thought": "the user asked"}
MODELS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "a dataclass": (Thought, {**GIVEN, "confidence": 0.5}, Thought("the user asked")),
    "a model": (Doubt, {**GIVEN, "confidence": 0.5}, Doubt(inner_thought="the user asked")),
    "a typed dict": (Note, GIVEN, GIVEN),
    "parameters": (PARAMETERS, GIVEN, None),
}


def search(text: str, limit: int = 3) -> str:
    """Search."""
    return f"{limit} of {text}"


SEARCH = StaticTools(bound_tools_from(search))


@pytest.mark.parametrize(("model", "extra", "value"), MODELS.values(), ids=MODELS)
async def test_the_consumer_gets_the_request_the_values_and_the_run(
    model: Any, extra: dict[str, Any], value: Any
) -> None:
    seen: list[AugmentedCall] = []
    service = ToolService(augmented(SEARCH, model, seen.append))
    run = Run(tenant="acme")
    scripted = ScriptedChatModel([call("search", text="hat", **GIVEN), "ok"])
    result = await service.chat(scripted, None, "q", context=run)

    assert result.tool_executions[0].result_text() == "3 of hat"
    (made,) = seen
    assert (made.request.name, made.specification.name, made.run) == ("search", "search", run)
    assert (dict(made.extra), made.value) == (extra, value)
    assert made.specification == scripted.requests[0].parameters.tools[0]


@pytest.mark.parametrize("model", [Thought, Doubt, PARAMETERS], ids=["dataclass", "model", "parameters"])
async def test_the_schema_has_both_and_both_are_checked(model: Any) -> None:
    """Every problem of the call at once, whoever it concerns."""
    (made,) = await augmented(SEARCH, model, lambda seen: None).tools(Run())

    assert list(made.specification.parameters.properties)[-2:] == ["text", "limit"]
    assert made.specification.parameters.required == ("inner_thought", "text")
    with pytest.raises(ToolArgumentsError) as caught:
        made.bind({"inner_thought": 3, "limit": "x", "other": 1})
    assert {problem.path for problem in caught.value.problems} == {"inner_thought", "limit", "text", "other"}


async def test_constraints_of_the_model_hold() -> None:
    (made,) = await augmented(SEARCH, Doubt, lambda seen: None).tools(Run())
    with pytest.raises(ToolArgumentsError, match="confidence"):
        made.bind({"text": "a", "inner_thought": "b", "confidence": 2})


async def test_all_else_of_the_tool_is_kept() -> None:
    """Metadata, return behaviour, effect and the rest."""
    specification = ToolSpecification("pay", "Pays.", PARAMETERS, True, {"team": "till"})
    bound = bound_tool_from(
        replace(specification, parameters=ToolParameters.empty()),
        lambda request: "paid",
        return_behavior=ReturnBehavior.IMMEDIATE,
        effect="write",
        source_name="till",
        timeout=3.0,
        serial="till",
        sequential=True,
    )
    (made,) = await augmented(StaticTools([bound]), Thought, lambda seen: None).tools(Run())

    kept = ("return_behavior", "effect", "source_name", "timeout", "serial", "sequential", "blocking")
    assert {name: getattr(made, name) for name in kept} == {name: getattr(bound, name) for name in kept}
    assert replace(made.specification, parameters=ToolParameters.empty()) == bound.specification


async def test_a_result_that_goes_straight_to_the_caller_still_does() -> None:
    @tool("d", return_direct=True)
    def now() -> str:
        return "noon"

    service = ToolService(augmented(StaticTools(bound_tools_from(now)), Thought, lambda seen: None))
    result = await service.chat(ScriptedChatModel([call("now", **GIVEN)]), None, "q")

    assert result.returned_directly and result.text == "noon"


async def test_what_the_consumer_raises_is_a_failure_and_the_tool_does_not_run() -> None:
    ran: list[str] = []

    def note(text: str) -> None:
        ran.append(text)

    def refuse(seen: AugmentedCall) -> None:
        raise PermissionError("too unsure")

    service = ToolService(augmented(StaticTools(bound_tools_from(note)), Thought, refuse))
    result = await service.chat(ScriptedChatModel([call("note", text="a", **GIVEN), "ok"]), None, "q")

    assert (result.tool_executions[0].outcome, ran) == (ToolOutcome.FAILED, [])


async def test_a_consumer_is_not_asked_about_arguments_that_do_not_fit() -> None:
    seen: list[AugmentedCall] = []
    service = ToolService(augmented(SEARCH, Thought, seen.append), arguments_error_handler="return_to_model")
    await service.chat(ScriptedChatModel([call("search", text="hat"), "ok"]), None, "q")

    assert seen == []


class Nothing(BaseModel):
    pass


@pytest.mark.parametrize("model", [Nothing, ToolParameters.empty(), int, list[str], dict[str, str]], ids=str)
def test_a_model_without_fields_is_refused(model: Any) -> None:
    with pytest.raises(ToolDeclarationError):
        augmented(SEARCH, model, lambda seen: None)


async def test_a_name_that_the_tool_has_already_is_refused() -> None:
    @dataclass
    class Clash:
        text: str

    with pytest.raises(ToolDeclarationError, match="'search' has a parameter 'text' already"):
        await augmented(SEARCH, Clash, lambda seen: None).tools(Run())


def _item(kind: Any) -> type:
    """A class named ``Item``, another one for each call."""
    return make_dataclass("Item", [("it", kind)])


async def test_definitions_of_one_name_do_not_collide() -> None:
    own, other = _item(int), _item(str)

    reasons = make_dataclass("Reasons", [("reason", other)])

    def take(item: Any) -> str:
        return str(item.it)

    take.__annotations__["item"] = own
    seen: list[AugmentedCall] = []
    service = ToolService(augmented(StaticTools(bound_tools_from(take)), reasons, seen.append))
    model = ScriptedChatModel([call("take", item={"it": 1}, reason={"it": "why"}), "ok"])
    result = await service.chat(model, None, "q")

    assert result.tool_executions[0].result_text() == "1"
    assert seen[0].extra == {"reason": {"it": "why"}}
    definitions: Any = model.requests[0].parameters.tools[0].parameters.schema["$defs"]
    assert sorted(definitions) == ["Item", "Item_2"]
    assert definitions["Item_2"]["properties"]["it"] == {"type": "string"}


# -- the law -------------------------------------------------------------------------------------

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
_OWN = st.dictionaries(st.sampled_from(["a", "b", "c"]), _VALUES, max_size=3)
_OPEN = ToolParameters.builder().allow_additional_properties().build()


def _tool_that_notes(got: list[str], *, is_async: bool) -> BoundTool:
    def run(request: ToolExecutionRequest) -> str:
        got.append(request.arguments)
        return ""

    async def run_async(request: ToolExecutionRequest) -> str:
        return run(request)

    return bound_tool_from(ToolSpecification("any", "d", _OPEN), run_async if is_async else run)


@given(own=_OWN, thought=st.text(max_size=8), confidence=st.floats(0, 1), twice=st.booleans(), is_async=st.booleans())
def test_augmented_arguments_never_reach_the_delegate(
    own: dict[str, Any], thought: str, confidence: float, twice: bool, is_async: bool
) -> None:
    """Even of a tool that takes any argument whatever; its own arrive as they are. Also with a view of a view."""
    got: list[str] = []
    seen: list[AugmentedCall] = []
    source = augmented(StaticTools([_tool_that_notes(got, is_async=is_async)]), Doubt, seen.append)
    arguments = {**own, "inner_thought": thought, "confidence": confidence}
    name = "any"
    if twice:
        second = ToolParameters.builder().add_property("again", "string", required=True).build()
        source, name = augmented(prefix(source, "x_"), second, seen.append), "x_any"
        arguments["again"] = "yes"
    model = ScriptedChatModel([call(name, **arguments), "ok"])
    asyncio.run(ToolService(source).chat(model, None, "q"))

    assert [json.loads(text) for text in got] == [own]
    assert seen[-1].extra == {"inner_thought": thought, "confidence": confidence}
    assert [dict(each.extra) for each in seen[:-1]] == ([{"again": "yes"}] if twice else [])


async def test_an_own_executor_still_gets_every_digit_of_its_numbers() -> None:
    got: list[str] = []
    service = ToolService(augmented(StaticTools([_tool_that_notes(got, is_async=False)]), Thought, lambda seen: None))
    text = '{"a": 12345678901234567.891, "inner_thought": "t"}'
    model = ScriptedChatModel([call("any", text), "ok"])
    await service.chat(model, None, "q")

    assert got == ['{"a": 12345678901234567.891}']
