"""What is served and how a call of it ends, without the protocol: one table of outcomes, then what bounds and hides."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pytest

from agentforge import ChatClient, ScriptedChatModel
from agentforge.client import ai_service
from agentforge.errors import ConfigurationError, DuplicateToolError, RunCancelledError, UnknownToolError
from agentforge.masking import Secrets
from agentforge.model import Content, ImageContent, Notice, TextContent
from agentforge.model.scripted import call
from agentforge.tool import BoundTool, tool
from agentforge.tool.execution import (
    Ask,
    CallNext,
    PlannedCall,
    Proceed,
    Refuse,
    Run,
    ToolContext,
    ToolExecutionResult,
    ToolOutcome,
    ToolService,
    Verdict,
    bound_tools_from,
)
from agentforge_mcp.serve.agents import assistant_tool
from agentforge_mcp.serve.offer import ServedTools

SECRET = "sk-canary-5150"


class Desk:
    """A few tools, each for one way of ending."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.begun = asyncio.Event()

    @tool(effect="read")
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        self.ran.append("add")
        return a + b

    @tool(effect="write")
    def refund(self, order: str) -> str:
        """Pay back an order."""
        self.ran.append("refund")
        return f"refunded {order}"

    @tool
    def fail(self) -> str:
        """Fail."""
        raise ValueError(f"no way in with {SECRET}")

    @tool
    def leak(self) -> str:
        """Say too much."""
        return f"the key is {SECRET}"

    @tool
    def picture(self) -> list[Content]:
        """Draw."""
        return [TextContent("a dot"), ImageContent(data=base64.b64encode(b"png").decode())]

    @tool
    def big(self) -> str:
        """Say a lot."""
        return "x" * 1000

    @tool
    async def wait(self, context: ToolContext) -> str:
        """Wait for long."""
        self.ran.append("wait")
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.ran.append("cancelled")
            raise
        return "late"

    @tool
    def who(self, context: ToolContext) -> str:
        """Say for whom this is."""
        return json.dumps([context.tenant, sorted(context.roles), dict(context.user_data)])

    @tool
    async def work(self, context: ToolContext) -> str:
        """Work in steps."""
        await context.notify("progress", "half", {"progress": 1, "total": 2})
        await context.notify("note", f"not {SECRET}")
        return "done"


class Roles:
    """Only clerks may refund."""

    stage = "permission"

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        """Refuse it to others."""
        denied = Refuse(ToolOutcome.DENIED, "this needs a clerk")
        return [denied if each.name == "refund" and "clerk" not in run.roles else Proceed() for each in batch]


class Approval:
    """Refunds above a limit are to be decided by somebody."""

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        """Ask about them."""
        return [Ask("a big refund") if "9" in each.request.arguments else Proceed() for each in batch]


def served(service: ToolService | None = None, **settings: Any) -> ServedTools:
    """Those of the desk."""
    return ServedTools(service or ToolService(Desk(), secrets=Secrets([SECRET])), **settings)


async def called(tools: ServedTools, name: str, arguments: Mapping[str, object] | None = None) -> ToolExecutionResult:
    """One call in a run of its own."""
    return await tools.call(tools.run(), name, arguments or {})


@pytest.mark.parametrize(
    ("name", "arguments", "is_error", "text"),
    [
        ("add", {"a": 1, "b": 2}, False, "3"),
        ("add", {"a": "x"}, True, "the arguments of tool 'add' do not fit: a: an integer was expected"),
        ("add", {"a": 1, "b": 2, "c": 3}, True, "the arguments of tool 'add' do not fit"),
        ("fail", {}, True, "no way in with ***"),
        ("leak", {}, False, "the key is ***"),
        ("picture", {}, False, "a dot"),
        ("work", {}, False, "done"),
    ],
)
async def test_a_call_ends_as_a_models_call_would(
    name: str, arguments: Mapping[str, object], is_error: bool, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its text is what a model would be told, also where the handler would end a model's run; secrets are masked."""
    caplog.set_level(logging.CRITICAL)
    result = await called(served(), name, arguments)
    assert result.is_error is is_error
    assert result.text.startswith(text)


@pytest.mark.parametrize("handler", ["return_to_model", "mask", "rethrow"])
async def test_the_services_handler_words_a_failure(handler: str, caplog: pytest.LogCaptureFixture) -> None:
    """What the configured handler says is what the client gets; one that ends the run leaves the error's own text."""
    caplog.set_level(logging.CRITICAL)
    service = ToolService(Desk(), execution_error_handler=handler)
    text = (await called(served(service), "fail")).text
    assert ("no way in" in text) is (handler != "mask")


async def test_the_last_step_of_a_call_is_the_size_cap() -> None:
    """A result is cut as it is for a model, with a mark."""
    result = await called(served(ToolService(Desk(), max_result_bytes=100)), "big")
    assert result.text == "x" * 100 + "\n[cut: 900 more bytes]"


async def test_interceptors_are_in_force() -> None:
    """They wrap a call as they wrap a model's."""

    class Loud:
        async def around(self, call: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
            return ToolExecutionResult.success((await next(call, run)).text + "!")

    assert (await called(served(ToolService(Desk(), interceptors=[Loud()])), "add", {"a": 1, "b": 2})).text == "3!"


@pytest.mark.parametrize(
    ("roles", "offered"), [((), False), (("guest",), False), (("clerk",), True)], ids=["none", "guest", "clerk"]
)
async def test_what_the_roles_may_not_do_is_neither_listed_nor_known(roles: tuple[str, ...], offered: bool) -> None:
    """A tool that a permission gate refuses for the roles of the file is as unknown as one that is not there."""
    desk = Desk()
    tools = served(ToolService(desk, gates=[Roles()]), roles=roles)
    assert ("refund" in [each.name for each in await tools.listing()]) is offered
    if offered:
        assert (await called(tools, "refund", {"order": "A1"})).text == "refunded A1"
        return
    with pytest.raises(UnknownToolError):
        await called(tools, "refund", {"order": "A1"})
    assert desk.ran == []


async def test_a_call_that_needs_a_decision_is_refused_and_nothing_runs() -> None:
    """Nobody can approve over this way: the text says so, and the same tool runs where no decision is needed."""
    desk = Desk()
    tools = served(ToolService(desk, gates=[Approval()]))
    result = await called(tools, "refund", {"order": "A9"})
    assert result.is_error
    assert result.text == "This call needs a decision (a big refund), which cannot be given here; nothing ran."
    assert desk.ran == []
    assert (await called(tools, "refund", {"order": "A1"})).text == "refunded A1"


async def test_a_tool_that_always_needs_a_decision_is_not_offered() -> None:
    """A gate that says which stage it is, and asks whatever the arguments, hides its tools."""

    class Always:
        stage = "approval"

        async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
            return [Ask("always") if each.name == "refund" else Proceed() for each in batch]

    assert "refund" not in [each.name for each in await served(ToolService(Desk(), gates=[Always()])).listing()]


async def test_a_gate_that_fails_hides_everything(caplog: pytest.LogCaptureFixture) -> None:
    """What may be offered is not known then, so nothing is; the log says why, once."""

    class Broken:
        stage = "permission"

        async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
            raise RuntimeError("no directory of roles")

    tools = served(ToolService(Desk(), gates=[Broken()]))
    assert await tools.listing() == ()
    assert await tools.listing() == ()
    assert [record.getMessage() for record in caplog.records].count(
        "the gate Broken could not say what may be offered, so nothing is: no directory of roles"
    ) == 1


@pytest.mark.parametrize(
    ("only", "without", "names"),
    [
        (("add", "w*"), (), ["add", "wait", "who", "work"]),
        ((), ("w*", "big", "fail", "leak", "picture"), ["add", "refund"]),
        (("w*",), ("work",), ["wait", "who"]),
        (("nothing*",), (), []),
    ],
)
async def test_patterns_choose_what_is_offered(only: Sequence[str], without: Sequence[str], names: list[str]) -> None:
    """What they leave out cannot be called either."""
    tools = served(only=only, without=without)
    assert [each.name for each in await tools.listing()] == names
    if "refund" not in names:
        with pytest.raises(UnknownToolError):
            await called(tools, "refund", {"order": "A1"})


@pytest.mark.parametrize("setting", ["only", "except"])
@pytest.mark.parametrize(
    ("pattern", "certain", "said", "is_error"),
    [
        ("refnud", True, "Did you mean 'refund'?", True),
        ("zzz", True, "There is add, refund", True),
        ("refnud", False, "Did you mean 'refund'?", False),
        ("refnd*", True, "Did you mean 'refund'?", False),
        ("re*", True, None, False),
        ("refund", True, None, False),
    ],
)
async def test_a_pattern_that_fits_nothing_is_told(
    setting: str, pattern: str, certain: bool, said: str | None, is_error: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A plain name is an error where all tools are known, and a warning where one of that name may still come; with
    wildcards it is a warning, once."""

    class Later:
        async def tools(self, run: Run) -> Sequence[BoundTool]:
            return ()

    patterns: dict[str, Any] = {"without" if setting == "except" else setting: ["add", pattern]}
    tools = served(more=() if certain else (Later(),), **patterns)
    message = f"{setting}: no tool on offer is named {pattern!r}"
    if is_error:
        for _ in range(2):  # also where the first was caught
            with pytest.raises(ConfigurationError) as caught:
                await tools.listing()
            assert caught.value.message == message
            assert caught.value.next_step is not None and caught.value.next_step.startswith(said or "-")
        return
    for _ in range(2):
        await tools.listing()
    texts = [each.getMessage() for each in caplog.records]
    assert texts == ([] if said is None else [f"{message}. {said}"])


async def test_what_the_roles_may_not_do_is_no_unknown_name() -> None:
    """A tool that a gate keeps from these roles is there, and may be named."""
    tools = served(ToolService(Desk(), gates=[Roles()]), without=["refund"])
    assert "add" in [each.name for each in await tools.listing()]


async def test_the_list_is_the_same_object_until_it_changes() -> None:
    """So that nobody is told of a change that is none; a source that makes its tools anew each time changes nothing."""

    class Fresh:
        names = ("add",)

        async def tools(self, run: Run) -> Sequence[BoundTool]:
            return [each for each in bound_tools_from(Desk()) if each.name in self.names]

    source = Fresh()
    tools = served(ToolService(source))
    assert tools.may_change
    assert not served().may_change
    first = await tools.listing()
    assert await tools.listing() is first
    source.names = ("add", "big")
    assert [each.name for each in await tools.listing()] == ["add", "big"]


async def test_tenant_roles_and_context_are_those_of_the_file() -> None:
    """They go over the chat client's own, roles too: a server may have fewer."""
    model = ScriptedChatModel([])
    with ChatClient(model, tools=[Desk()], tenant="acme", roles=["admin"], tool_context={"a": 1}) as client:
        own = served(client.service, client=client)
        other = served(client.service, client=client, tenant="other", roles=(), tool_context={"b": 2})
        assert json.loads((await called(own, "who")).text) == ["acme", ["admin"], {"a": 1}]
        assert json.loads((await called(other, "who")).text) == ["other", [], {"a": 1, "b": 2}]


async def test_notices_are_told_with_secrets_masked() -> None:
    """How far a call is goes to whoever asked for it."""
    tools, told = served(), []

    async def tell(notice: Notice) -> None:
        told.append((notice.code, notice.message, dict(notice.details)))

    await tools.call(tools.run(), "work", {}, tell)
    assert told == [("progress", "half", {"progress": 1, "total": 2}), ("note", "not ***", {})]


async def test_a_cancelled_run_ends_its_tool() -> None:
    """Whoever does not wait any more cancels the run, and the tool learns of it."""
    desk = Desk()
    tools = served(ToolService(desk))
    run = tools.run()
    task = asyncio.create_task(tools.call(run, "wait", {}))
    await desk.begun.wait()
    run.cancel("enough")
    with pytest.raises(RunCancelledError):
        await task
    assert desk.ran == ["wait", "cancelled"]


async def test_calls_are_bounded() -> None:
    """So many run, eight times as many wait, and the next is told to come later."""
    desk = Desk()
    tools = served(ToolService(desk), max_concurrent_calls=1)
    runs = [tools.run() for _ in range(9)]
    tasks = [asyncio.create_task(tools.call(run, "wait", {})) for run in runs]
    await desk.begun.wait()
    assert (await called(tools, "add", {"a": 1, "b": 2})).text.startswith("Too many calls are waiting; nothing ran.")
    for run in runs:
        run.cancel("enough")
    await asyncio.gather(*tasks, return_exceptions=True)
    assert desk.ran == ["wait", "cancelled"]
    assert (await called(tools, "add", {"a": 1, "b": 2})).text == "3"


async def test_a_source_that_fails_fails_the_call_in_words(caplog: pytest.LogCaptureFixture) -> None:
    """Its own error is told, masked; an exception of somebody's code only by its class."""

    class Failing:
        def __init__(self, error: Exception) -> None:
            self.error = error

        async def tools(self, run: Run) -> Sequence[BoundTool]:
            raise self.error

    for error, text in [
        (ConfigurationError(f"cannot reach {SECRET}"), "cannot reach ***"),
        (ValueError(SECRET), "The call could not be made: ValueError."),
    ]:
        service = ToolService(Failing(error), secrets=Secrets([SECRET]))
        result = await called(served(service), "add")
        assert (result.is_error, result.text) == (True, text)


async def test_two_tools_of_one_name_are_found_out() -> None:
    """Between the service's and further ones too."""
    tools = served(more=bound_tools_from(Desk()))
    with pytest.raises(DuplicateToolError):
        await tools.listing()


# -- assistants ----------------------------------------------------------------------------------


async def test_an_assistant_answers_as_one_tool() -> None:
    """A question in, the answer out; what it does on the way is told, and it has the call's tenant and roles."""
    model = ScriptedChatModel([call("who"), "It is you."])
    told: list[str] = []

    async def tell(notice: Notice) -> None:
        told.append(notice.message)

    with ChatClient(model, tools=[Desk()]) as client:
        tools = served(ToolService(), more=[assistant_tool("ask", client)], tenant="acme", roles=["clerk"])
        result = await tools.call(tools.run(), "ask", {"question": "Who am I?"}, tell)
    assert result.text == "It is you."
    assert told == ["calls who", "round 2"]
    answer = model.requests[1].messages[-1]
    assert json.loads(answer.text) == ["acme", ["clerk"], {}]  # type: ignore[union-attr]
    assert model.requests[0].messages[-1].text == "Who am I?"  # type: ignore[union-attr]


async def test_an_assistant_that_waits_for_a_decision_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Its turn is not taken up by anybody: an error, and nothing of that reply has run."""
    caplog.set_level(logging.CRITICAL)
    desk = Desk()
    service = ToolService(desk, gates=[Approval()])
    with ChatClient(ScriptedChatModel([call("refund", order="A9")]), service=service) as client:
        tools = served(ToolService(), more=[assistant_tool("ask", client, description="Ask the desk.")])
        (listed,) = await tools.listing()
        result = await called(tools, "ask", {"question": "Pay A9 back."})
    assert listed.specification.description == "Ask the desk."
    assert result.is_error
    assert "the assistant 'ask' waits for a decision about a call, which cannot be given here" in result.text
    assert desk.ran == []


async def test_a_call_within_a_call_that_waits_for_a_decision_is_said_so() -> None:
    """As that of an AI service which is a tool: it cannot be finished here."""

    class Helper(Protocol):
        @tool
        async def help(self, question: str) -> str:
            """Help."""
            ...

    desk = Desk()
    inner = ToolService(desk, gates=[Approval()])
    with ChatClient(ScriptedChatModel([call("refund", order="A9")]), service=inner) as client:
        result = await called(served(ToolService(ai_service(Helper, client))), "help", {"question": "Pay A9 back."})
    assert result.is_error
    assert result.text.startswith("A call within this one waits for a decision")
    assert result.text.endswith("which cannot be given here; it was not finished.")
    assert desk.ran == []


@pytest.mark.parametrize("arguments", [{}, {"question": 3}, {"question": "x", "more": 1}])
async def test_an_assistants_question_is_checked(arguments: Mapping[str, object]) -> None:
    """Nothing is asked for arguments that do not fit."""
    model = ScriptedChatModel([])
    with ChatClient(model) as client:
        result = await called(served(ToolService(), more=[assistant_tool("ask", client)]), "ask", arguments)
    assert result.is_error
    assert model.requests == []
