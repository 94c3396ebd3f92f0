"""`ChatClient.prompt`: a call built step by step, over the client's defaults, in four ways to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolService, tool
from agentforge.advisor import Advised, AdvisorOrderError, Chain, ToolCallingAdvisor
from agentforge.client import ChatClient, Prompt, result_to_json
from agentforge.errors import DuplicateToolError, RunArgumentError, RunStateError, RunTimeoutError
from agentforge.model import AiMessage, ChatRequest, ChatRequestParameters, SystemMessage, UserMessage
from agentforge.model.scripted import call
from agentforge.tool.execution import Ask, PlannedCall, Proceed, RunFinished, ToolChatResult, ToolContext, ToolLoopState


class OrderTools:
    """Of one tenant, which the model never hears of."""

    @tool("State of an order.")
    def get_order(self, order_no: str, context: ToolContext) -> str:
        return f"{order_no} of {context.user_data['tenant_id']}: sent"


def get_weather(city: str) -> str:
    "Current weather of a city."
    return f"{city}: sunny"


def _call(prompt: Prompt) -> ToolChatResult:
    return asyncio.run(prompt.call())


def _stream(prompt: Prompt) -> ToolChatResult:
    async def read() -> ToolChatResult:
        async with prompt.stream() as events:
            last = [event async for event in events][-1]
        assert isinstance(last, RunFinished)
        return last.result

    return asyncio.run(read())


def _call_sync(prompt: Prompt) -> ToolChatResult:
    return prompt.call_sync()


def _stream_sync(prompt: Prompt) -> ToolChatResult:
    with prompt.stream_sync() as events:
        last = list(events)[-1]
    assert isinstance(last, RunFinished)
    return last.result


WAYS = pytest.mark.parametrize("ask", [_call, _stream, _call_sync, _stream_sync])
Way = Callable[[Prompt], ToolChatResult]


@WAYS
def test_a_call_with_tools_and_context_of_its_own(ask: Way) -> None:
    """The reply has the answer, the executions and what it cost; the tenant is in no request."""
    model = ScriptedChatModel([call("get_order", order_no="SO1"), "It was sent."])
    with ChatClient(model) as client:
        prompt = client.prompt("Where is SO1?").tools(OrderTools()).tool_context(tenant_id="acme-4711")
        reply = ask(prompt)

    assert reply.content == reply.text == "It was sent."
    assert [each.result_text() for each in reply.tool_executions] == ["SO1 of acme-4711: sent"]
    assert reply.token_usage.total_tokens is not None
    sent = [request for request in model.requests if "acme-4711" in repr(request.parameters)]
    assert sent == [] and "acme-4711" not in repr(model.requests[0].messages)


@WAYS
def test_a_prompt_can_be_asked_many_times_and_gives_new_ones(ask: Way) -> None:
    model = ScriptedChatModel(["One."], repeat=True)
    with ChatClient(model, system="Be short.") as client:
        base = client.prompt("Hello")
        polite = base.system("Be polite.").messages("And?")
        for prompt in (base, polite, base):
            ask(prompt)

    assert [request.messages for request in model.requests] == [
        (SystemMessage("Be short."), UserMessage("Hello")),
        (SystemMessage("Be polite."), UserMessage("Hello"), UserMessage("And?")),
        (SystemMessage("Be short."), UserMessage("Hello")),
    ]


@pytest.mark.parametrize(
    ("own", "given", "sent"),
    [
        (None, [], [SystemMessage("Client's.")]),
        (None, [SystemMessage("Theirs.")], [SystemMessage("Theirs.")]),
        ("Call's.", [], [SystemMessage("Call's.")]),
        ("Call's.", [SystemMessage("Theirs.")], [SystemMessage("Call's.")]),
    ],
)
async def test_whose_system_message_is_sent(own: str | None, given: list[Any], sent: list[Any]) -> None:
    model = ScriptedChatModel(["One."])
    async with ChatClient(model, system="Client's.") as client:
        prompt = client.prompt(*given, "Hello")
        await (prompt if own is None else prompt.system(own)).call()

    assert list(model.requests[0].messages) == [*sent, UserMessage("Hello")]


async def test_what_is_united_and_what_goes_over() -> None:
    """Tools and context are added to the client's, parameters go over them one by one."""
    model = ScriptedChatModel(["One."])
    defaults = ChatRequestParameters(temperature=0.1, seed=7)
    client = ChatClient(model, tools=[get_weather], parameters=defaults, tool_context={"a": 1, "b": 1})
    async with client:
        prompt = client.prompt("Hi").tools(OrderTools()).parameters(temperature=0.9, max_output_tokens=5)
        prompt = prompt.tool_context({"b": 2}).tool_context(c=3)
        run = prompt.run()
        await prompt.call()

    asked = model.requests[0].parameters
    assert (asked.temperature, asked.seed, asked.max_output_tokens) == (0.9, 7, 5)
    assert [each.name for each in asked.tools] == ["get_weather", "get_order"]
    assert run.user_data == {"a": 1, "b": 2, "c": 3}


async def test_for_whom_the_turn_is() -> None:
    """Memory id, tenant and roles are the run's; the application's own run gets them as well."""
    seen: list[tuple[Any, ...]] = []

    class Noting:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            seen.append((run.memory_id, run.tenant, sorted(run.roles), run.user_data, run.remaining() is not None))
            return await chain.next(run, request)

    client = ChatClient(ScriptedChatModel(["One."], repeat=True), advisors=[Noting()])
    async with client:
        prompt = client.prompt("Hi").memory_id("m1").tenant("acme").roles("agent", "clerk").timeout(60)
        await prompt.call()
        await prompt.tool_context(a=1).call(Run(user_data={"own": True}, roles=["boss"]))

    assert seen == [
        ("m1", "acme", ["agent", "clerk"], {}, True),
        ("m1", "acme", ["agent", "boss", "clerk"], {"own": True, "a": 1}, True),
    ]


async def test_the_client_s_own_conversation_and_user_are_those_of_calls_that_name_none() -> None:
    client = ChatClient(ScriptedChatModel(["One."]), memory_id="m0", tenant="acme", roles=["clerk"])
    own, named, given = (
        client.prompt("Hi").run(),
        client.prompt("Hi").memory_id("m1").tenant("zeta").roles("boss").run(),
        client.prompt("Hi").run(Run(memory_id="m2", tenant="yota")),
    )

    assert [(run.memory_id, run.tenant, sorted(run.roles)) for run in (own, named, given)] == [
        ("m0", "acme", ["clerk"]),
        ("m1", "zeta", ["boss", "clerk"]),
        ("m2", "yota", ["clerk"]),
    ]


async def test_messages_of_the_client_go_in_front_of_every_request() -> None:
    """Of every request, behind the system message, and in no history."""
    model = ScriptedChatModel(["One.", "Two."])
    examples = [UserMessage("2+2?"), AiMessage("4")]
    async with ChatClient(model, messages=examples, system="Count.") as client:
        first = await client.prompt("3+3?").call()
        await client.prompt(*first.messages, "And 4+4?").call()

    before = (SystemMessage("Count."), *examples, UserMessage("3+3?"))
    assert [request.messages for request in model.requests] == [
        before,
        (*before, AiMessage("One."), UserMessage("And 4+4?")),
    ]


async def test_advisors_of_a_call_find_their_places_and_leave_the_client_s_chain_alone() -> None:
    log: list[str] = []

    class Noting:
        def __init__(self, name: str, order: int = 0) -> None:
            self.name, self.order = name, order

        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            log.append(self.name)
            return await chain.next(run, request)

    client = ChatClient(ScriptedChatModel(["One."], repeat=True), advisors=[Noting("listed")])
    async with client:
        await client.prompt("Hi").advisors(Noting("inner", 5)).advisors(Noting("outer", -5)).call()
        await client.prompt("Hi").call()

    assert log == ["outer", "listed", "inner", "listed"]
    assert [link.name for link in client.chain] == ["listed", "tool_calling"]


@pytest.mark.parametrize(
    ("advisors", "settings", "chain"),
    [
        ([], {}, ["tool_calling"]),
        ([], {"tool_calling": False}, []),
        ([ToolCallingAdvisor(history="last")], {}, ["tool_calling"]),
    ],
)
def test_the_tool_advisor_is_there_by_itself(advisors: Any, settings: Any, chain: list[str]) -> None:
    """Innermost, unless the list has one or it is switched off; a marker of one's own counts."""
    client = ChatClient(ScriptedChatModel(["x"]), advisors=advisors, **settings)

    assert [link.name for link in client.chain] == chain


def test_an_own_tool_advisor_counts_as_one_and_a_second_is_refused() -> None:
    class Own:
        calls_tools = True

        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            return await chain.next(run, request)

    client = ChatClient(ScriptedChatModel(["x"]), advisors=[Own()])
    assert [link.name for link in client.chain] == ["own"]
    with pytest.raises(AdvisorOrderError, match="'own', 'tool_calling'"):
        ChatClient(ScriptedChatModel(["x"]), advisors=[Own(), ToolCallingAdvisor()])
    with pytest.raises(AdvisorOrderError, match="one tool advisor at most"):
        client.prompt("Hi").advisors(ToolCallingAdvisor())


async def test_one_tool_advisor_may_stand_in_several_chains() -> None:
    """Each client's calls are run with that client's tools."""
    shared = ToolCallingAdvisor(max_tool_calling_round_trips=1)

    def get_time(city: str) -> str:
        "The time in a city."
        return f"{city}: noon"

    for function, expected in ((get_weather, "Rome: sunny"), (get_time, "Rome: noon")):
        model = ScriptedChatModel([call(function.__name__, city="Rome"), "Done."])
        async with ChatClient(model, tools=[function], advisors=[shared]) as client:
            reply = await client.prompt("?").call()
        assert [each.result_text() for each in reply.tool_executions] == [expected]


@WAYS
def test_switched_off_calls_are_handed_back(ask: Way) -> None:
    """The caller runs them, and sends the results."""
    model = ScriptedChatModel([call("get_weather", city="Rome")])
    with ChatClient(model, tool_calling=False) as client:
        reply = ask(client.prompt("Weather?"))

    assert [each.name for each in reply.handed_back] == ["get_weather"] and reply.tool_executions == ()
    assert result_to_json(reply)["tool_calls"] == [
        {"id": "call_1", "name": "get_weather", "arguments": {"city": "Rome"}}
    ]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_calls_of_a_reply_that_was_cut_off_are_not_the_caller_s(reason: str) -> None:
    """They have a result that says why they did not run."""
    turn = {"calls": [call("get_weather", city="Rome")], "finish_reason": reason}
    async with ChatClient(ScriptedChatModel([turn, "Sunny."]), tools=[get_weather]) as client:
        reply = await client.prompt("Weather?").call()

    assert reply.handed_back == () and "tool_calls" not in result_to_json(reply)
    assert [each.outcome.value for each in reply.tool_executions] == ["cancelled"]


async def test_tools_that_an_advisor_brings_are_called() -> None:
    """Nothing was registered when the client was made."""

    class Bringing:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            run.sources = (*run.sources, *ToolService(get_weather).sources)
            return await chain.next(run, request)

    model = ScriptedChatModel([call("get_weather", city="Rome"), "Sunny."])
    async with ChatClient(model, advisors=[Bringing()]) as client:
        reply = await client.prompt("Weather?").call()

    assert (reply.content, len(model.requests)) == ("Sunny.", 2)


async def test_a_call_s_tool_of_a_name_that_the_client_has_is_refused() -> None:
    async with ChatClient(ScriptedChatModel(["x"]), tools=[get_weather]) as client:
        with pytest.raises(DuplicateToolError, match="'get_weather'"):
            await client.prompt("Hi").tools(get_weather).call()


async def test_a_turn_that_waits_is_resumed_with_its_state_alone() -> None:
    class Approval:
        decided = False

        async def check(self, batch: list[PlannedCall], run: Run) -> list[Any]:
            return [Proceed() if self.decided else Ask("may it?") for _ in batch]

    approval = Approval()
    model = ScriptedChatModel([call("get_weather", city="Rome"), "Sunny."])
    async with ChatClient(model, service=ToolService(get_weather, gates=[approval]), owns_service=True) as client:
        waiting = await client.prompt("Weather?").call()
        assert waiting.suspended is not None and waiting.content is None
        assert waiting.messages == (UserMessage("Weather?"),)

        approval.decided = True
        state = ToolLoopState.from_json(waiting.suspended.to_json())
        reply = await client.prompt().resume(state).call()

    assert reply.content == "Sunny." and reply.messages[0] == UserMessage("Weather?") and len(reply.messages) == 4
    assert len(model.requests) == 2


async def test_a_conversation_goes_on_with_the_messages_of_the_reply() -> None:
    model = ScriptedChatModel(["One.", "Two."])
    async with ChatClient(model) as client:
        first = await client.prompt("Hello").call()
        await client.prompt(*first.messages, "And?").call()

    assert model.requests[1].messages == (UserMessage("Hello"), AiMessage("One."), UserMessage("And?"))


async def test_what_makes_no_sense_is_said() -> None:
    async with ChatClient(ScriptedChatModel(["x"])) as client:
        with pytest.raises(RunArgumentError, match="no message to answer"):
            await client.prompt().call()
        with pytest.raises(RunArgumentError, match="list is no message"):
            client.prompt("a").messages(["b"])  # type: ignore[arg-type]
        with pytest.raises(RunArgumentError, match="timeout must be above 0"):
            await client.prompt("a").timeout(0).call()
        with pytest.raises(RunTimeoutError):
            await client.prompt("a").timeout(1e-9).call()
        used = Run()
        await client.prompt("a").call(used)
        with pytest.raises(RunStateError):
            await client.prompt("a").call(used)
    with pytest.raises(RunArgumentError, match="is no chat model"):
        ChatClient("model")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("temprature", "Did you mean 'temperature'?"),
        ("enable_thinking", "What a provider alone knows is custom_parameters."),
    ],
)
def test_a_parameter_that_there_is_not_is_named(name: str, step: str) -> None:
    """With the nearest one, before anything is sent."""
    with pytest.raises(RunArgumentError, match=name) as caught:
        ChatClient(ScriptedChatModel([])).prompt("?").parameters(**{name: 1})
    assert caught.value.next_step == step


async def test_an_error_of_an_advisor_carries_what_was_done() -> None:
    class Failing:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            await chain.next(run, request)
            raise ValueError("too late")

    model = ScriptedChatModel([call("get_weather", city="Rome"), "Sunny."])
    async with ChatClient(model, tools=[get_weather], advisors=[Failing()]) as client:
        with pytest.raises(ValueError, match="too late") as raised:
            await client.prompt("Weather?").call()

    partial = raised.value.partial  # type: ignore[attr-defined]
    assert len(partial.messages) == 4 and len(partial.tool_executions) == 1
