"""A service as a tool of another client: a run of its own, under the run that makes the call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Protocol
from uuid import UUID

import pytest

from agentforge import (
    AiMessage,
    ChatClient,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    Hidden,
    Result,
    Run,
    ScriptedChatModel,
    ToolChatResult,
    ToolOutcome,
    ToolParameters,
    ai_service,
    tool,
)
from agentforge.errors import DuplicateToolError, ToolDeclarationError
from agentforge.masking import Secrets
from agentforge.model import Content
from agentforge.testing import call
from agentforge.tool import augmented, only, prefix
from tests.unit.client.experts import Prescriptions, doctor

ILL = call("medical", question="I am ill")
DONE = "The doctor says tea."


def texts_of(result: ToolChatResult) -> list[str]:
    """What the tools of a turn said."""
    return [each.result.text for each in result.tool_executions]


# -- the call ------------------------------------------------------------------------------------


async def test_the_methods_that_are_declared_are_offered_and_no_others() -> None:
    """With the model's parameters alone: what is hidden, and the memory id, are in no schema."""
    expert, inner = doctor(["Drink tea."])
    outer = ScriptedChatModel([ILL, DONE])
    result = await ChatClient(outer, tools=[expert]).prompt("I am ill").call()

    [offered] = outer.requests[0].parameters.tools
    assert (offered.name, offered.description) == ("medical", "Answers medical questions.")
    assert list(offered.parameters.properties) == ["question", "kind"]
    assert offered.parameters.required == ("question",)
    assert (texts_of(result), result.text) == (["Drink tea."], DONE)
    assert [each.text for each in inner.requests[0].messages] == ["You are a doctor for people.", "I am ill"]


async def test_the_inner_run_sees_nothing_of_the_outer_conversation() -> None:
    """It has its own model, messages and tools; the outer one sees its answer alone."""
    tools = Prescriptions()
    expert, inner = doctor([call("prescribe", drug="tea"), "Drink tea."], tools=tools)
    outer = ScriptedChatModel([ILL, DONE])
    prompt = ChatClient(outer, tools=[expert], system="Route.").prompt("a secret wish")
    result = await prompt.tool_context(user_id="u7").call()

    assert "secret wish" not in repr(inner.requests) and "Route." not in repr(inner.requests)
    assert "prescribe" not in repr([request.parameters.tools for request in outer.requests])
    assert [each.request.name for each in result.tool_executions] == ["medical"]
    assert "u7" not in repr([request.messages for request in outer.requests])


async def test_the_inner_run_acts_for_the_same_user() -> None:
    """Tenant, roles and the tool context are the outer run's; its conversation is one below that run's."""
    tools = Prescriptions()
    expert, _ = doctor([call("prescribe", drug="tea"), "Drink tea."], tools=tools, roles=["doctor"])
    prompt = ChatClient(ScriptedChatModel([ILL, DONE]), tools=[expert]).prompt("?").tool_context(user_id="u7")
    result = await prompt.tenant("acme").roles("patient").memory_id("c1").call()

    [seen] = tools.seen
    assert (seen["patient"], seen["tenant"], seen["memory_id"]) == ("u7", "acme", "c1/medical")
    assert (seen["roles"], seen["depth"], seen["parent_id"]) == ({"patient", "doctor"}, 1, result.run_id)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("c1", "c1/medical"),
        (7, "7/medical"),
        (UUID(int=7), f"{UUID(int=7)}/medical"),
        (None, None),
        ("", ""),
        (True, (True, "medical")),
        (("a", 1), (("a", 1), "medical")),
    ],
)
async def test_what_is_no_memory_id_makes_none_below_it(outer: object, inner: object) -> None:
    """A memory refuses it there too; else callers without a name would share one conversation."""
    tools = Prescriptions()
    expert, _ = doctor([call("prescribe", drug="tea"), "Drink tea."], tools=tools)
    prompt = ChatClient(ScriptedChatModel([ILL, DONE]), tools=[expert]).prompt("?").tool_context(user_id="u7")
    await prompt.call(Run(memory_id=outer))
    assert [seen["memory_id"] for seen in tools.seen] == [inner]


async def test_the_result_names_the_inner_run() -> None:
    """In its attributes, which no model sees."""
    expert, _ = doctor(["Drink tea."])
    outer = ScriptedChatModel([ILL, DONE])
    result = await ChatClient(outer, tools=[expert]).prompt("?").call()

    inner_id = result.tool_executions[0].result.attributes["run_id"]
    assert isinstance(inner_id, str) and inner_id != result.run_id
    assert inner_id not in repr([each.text for each in outer.requests[-1].messages if hasattr(each, "text")])


async def test_views_hold_for_services_as_for_other_sources() -> None:
    """Names, choices and further arguments."""
    told: list[object] = []

    expert: Any
    expert, inner = doctor(["Drink tea."])
    thought = ToolParameters({"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]})
    view = augmented(prefix(only(expert, "medical"), "ask_"), thought, lambda seen: told.append(seen.extra["why"]))
    outer = ScriptedChatModel([call("ask_medical", question="ill", why="because"), DONE])
    result = await ChatClient(outer, tools=[view]).prompt("?").call()

    assert (texts_of(result), told) == (["Drink tea."], ["because"])
    assert "because" not in repr(inner.requests)


class Answers(Protocol):
    """Methods of every kind of answer, as tools."""

    @tool
    def text(self, q: str) -> str:
        """Text."""
        ...

    @tool
    async def numbers(self, q: str) -> list[int]:
        """Numbers."""
        ...

    @tool
    async def whole(self, q: str) -> Result[dict[str, int]]:
        """A value with all about it."""
        ...

    @tool
    async def nothing(self, q: str) -> None:
        """Nothing."""
        ...

    @tool
    async def turn(self, q: str) -> ToolChatResult:
        """The turn."""
        ...


ANSWERS = {
    "text": ("Hello.", "Hello."),
    "numbers": ('{"value": [1, 2]}', "[1,2]"),
    "whole": ('{"a": 1}', '{"a":1}'),
    "nothing": ("Done.", "Success"),
    "turn": ("Hello.", "Hello."),
}


@pytest.mark.parametrize("method", ANSWERS)
async def test_what_a_method_gives_is_what_the_other_model_reads(method: str) -> None:
    """Text as it is, a value as JSON, checked before; a synchronous method does not hold the loop up."""
    reply, read = ANSWERS[method]
    service = ai_service(Answers, ChatClient(ScriptedChatModel([reply])))
    outer = ScriptedChatModel([call(method, q="?"), DONE])
    result = await ChatClient(outer, tools=[service]).prompt("?").call()
    assert texts_of(result) == [read]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (FinishReason.STOP, "Tea is"),
        (FinishReason.REFUSAL, "Tea is"),
        (FinishReason.LENGTH, "Tea is\n[cut: the answer reached its output limit]"),
        (FinishReason.CONTENT_FILTER, "Tea is\n[cut: the answer was stopped by a content filter]"),
        (FinishReason.ERROR, "Tea is\n[cut: the answer ended in an error]"),
    ],
)
async def test_an_answer_that_is_not_whole_says_so(reason: FinishReason, told: str) -> None:
    """The other model would take it for all that there is to say."""
    service = ai_service(Answers, ChatClient(ScriptedChatModel([ChatResponse(AiMessage("Tea is"), reason)])))
    outer = ScriptedChatModel([call("text", q="?"), DONE])
    assert texts_of(await ChatClient(outer, tools=[service]).prompt("?").call()) == [told]


async def test_an_inner_tool_that_returns_at_once_is_the_answer() -> None:
    """Its text goes to the outer model."""

    @tool(return_direct=True)
    def look_up(word: str) -> str:
        """Looks up."""
        return f"{word}: tea"

    service = ai_service(Answers, ChatClient(ScriptedChatModel([call("look_up", word="x")]), tools=[look_up]))
    result = await ChatClient(ScriptedChatModel([call("text", q="?"), DONE]), tools=[service]).prompt("?").call()
    assert texts_of(result) == ["x: tea"]


class Streams(Protocol):
    """A stream that is declared a tool."""

    @tool
    def tell(self, q: str) -> AsyncGenerator[str, None]:
        """Tells."""
        ...


def test_a_stream_cannot_be_a_tool() -> None:
    """No model reads one."""
    with pytest.raises(ToolDeclarationError, match="tell"):
        ai_service(Streams, ChatClient(ScriptedChatModel([])))


class OfMessages(Protocol):
    """A history that another model would write, instructions included."""

    @tool
    def go_on(self, history: str | list[ChatMessage]) -> str:
        """Goes on."""
        ...


class OfParts(Protocol):
    """A message of parts, pictures among them."""

    @tool
    def look(self, parts: Sequence[Content]) -> str:
        """Looks."""
        ...


class Twice(Protocol):
    """Two tools of one name."""

    @tool(name="ask")
    def first(self, q: str) -> str:
        """Asks."""
        ...

    @tool(name="ask")
    def second(self, q: str) -> str:
        """Asks."""
        ...


@pytest.mark.parametrize(
    ("interface", "message"),
    [
        (OfMessages, "'go_on' takes 'history', a message or a part of one"),
        (OfParts, "'look' takes 'parts', a message or a part of one"),
        (Twice, "two tools are named 'ask'"),
    ],
)
def test_what_no_model_may_write_for_another_is_refused(interface: Any, message: str) -> None:
    """When the service is made; two tools of one name, too."""
    with pytest.raises((ToolDeclarationError, DuplicateToolError), match=message):
        ai_service(interface, ChatClient(ScriptedChatModel([])))


class NeedsUser(Protocol):
    """A service with a hidden value that has no default."""

    @tool
    async def orders(self, q: str, user: Annotated[str, Hidden]) -> str:
        """Orders."""
        ...


async def test_a_hidden_value_that_the_outer_run_lacks_is_a_failure_of_the_call() -> None:
    """The model is told what the application forgot, and nothing runs."""
    model = ScriptedChatModel(["never"])
    service = ai_service(NeedsUser, ChatClient(model))
    result = await ChatClient(ScriptedChatModel([call("orders", q="?"), DONE]), tools=[service]).prompt("?").call()
    assert texts_of(result) == ["the tool 'orders' needs 'user', and the run's tool context has no such value"]
    assert model.requests == []


# -- errors, bounds and costs --------------------------------------------------------------------


async def test_an_error_of_the_inner_run_is_a_failure_of_the_call() -> None:
    """The outer model is told, without the secrets that only the inner run knows."""

    class Failing(ScriptedChatModel):
        secrets = Secrets(["sk-inner-secret"])

        async def chat(self, request: ChatRequest) -> ChatResponse:
            raise ValueError("refused with sk-inner-secret")

    service = ai_service(Answers, ChatClient(Failing([])))
    result = await ChatClient(ScriptedChatModel([call("text", q="?"), DONE]), tools=[service]).prompt("?").call()
    assert result.tool_executions[0].outcome is ToolOutcome.FAILED
    assert "refused with" in texts_of(result)[0] and "sk-inner" not in texts_of(result)[0]


@pytest.mark.parametrize("by", ["a service", "a tool that holds a run"])
async def test_arguments_that_the_inner_model_got_wrong_are_no_fault_of_the_outer_one(by: str) -> None:
    """Its own did fit, and the inner run has begun: the call has failed, and the outer run goes on."""

    @tool
    def count(number: int) -> str:
        """Counts."""
        raise AssertionError("it is never called")

    inner = ChatClient(ScriptedChatModel([call("count", number="many")]), tools=[count])
    service = ai_service(Answers, inner)

    @tool(name="text")
    async def held(q: str) -> str:
        """Holds a run itself."""
        return (await inner.prompt(q).call()).text or ""

    asked = service if by == "a service" else held
    result = await ChatClient(ScriptedChatModel([call("text", q="?"), DONE]), tools=[asked]).prompt("?").call()
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.FAILED]
    assert "number" in texts_of(result)[0] and result.text == DONE


class Desk(Protocol):
    """A service whose client has services as tools itself."""

    @tool
    async def desk(self, q: str) -> Result[str]:
        """Knows whom to ask."""
        ...


@pytest.mark.parametrize(
    ("max_depth", "outcome", "text"),
    [
        (1, ToolOutcome.LIMITED, "not run: 2 runs inside one another are more than 1"),
        (2, ToolOutcome.OK, "Tea."),
    ],
)
async def test_runs_inside_one_another_are_bounded(max_depth: int, outcome: ToolOutcome, text: str) -> None:
    """The call that would go deeper does not run, and its model is told why."""
    innermost, model = doctor(["Tea."], max_depth=max_depth)
    middle_model = ScriptedChatModel([ILL, "Ask again."])
    middle = ai_service(Desk, ChatClient(middle_model, tools=[innermost]))
    await ChatClient(ScriptedChatModel([call("desk", q="?"), DONE]), tools=[middle]).prompt("?").call()

    told = middle_model.requests[-1].messages[-1]
    assert getattr(told, "text", None) == text
    assert len(model.requests) == (outcome is ToolOutcome.OK)
