"""The system message of a request: where it is put, what becomes of one that is there, and that it stays the same."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.advisor import Chain, ToolCallingAdvisor, arranged, model_call
from agentforge.advisor.system_prompt import SystemPromptAdvisor
from agentforge.errors import ConfigurationError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    Event,
    ImageContent,
    SystemMessage,
    TextContent,
    UserMessage,
)
from agentforge.model.scripted import call
from agentforge.tool.execution import Run

USER = UserMessage("Hi")
THEIRS = SystemMessage("Be kind.")


async def sent(advisor: SystemPromptAdvisor, *messages: ChatMessage, streamed: bool = False) -> tuple[ChatMessage, ...]:
    """The messages that reach the model."""

    async def emit(event: Event) -> None:
        pass

    model = ScriptedChatModel(["Hello."])
    chain = Chain(arranged([advisor]), model_call(model), emit=emit if streamed else None)
    advised = await chain.next(Run(), ChatRequest(messages))
    assert advised.new_messages == (AiMessage("Hello."),)
    return model.requests[0].messages


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("mode", "given", "expected"),
    [
        ("append", [USER], [SystemMessage("Be short."), USER]),
        ("append", [THEIRS, USER], [SystemMessage("Be kind.\n\nBe short."), USER]),
        ("prepend", [USER], [SystemMessage("Be short."), USER]),
        ("prepend", [THEIRS, USER], [SystemMessage("Be short.\n\nBe kind."), USER]),
        ("replace", [USER], [SystemMessage("Be short."), USER]),
        ("replace", [THEIRS, USER, THEIRS], [SystemMessage("Be short."), USER]),
        ("if_missing", [USER], [SystemMessage("Be short."), USER]),
        ("if_missing", [THEIRS, USER], [THEIRS, USER]),
        ("append", [SystemMessage("One."), SystemMessage("Two."), USER], ["One.\n\nBe short.", "Two.", USER]),
        ("append", [SystemMessage([]), USER], [SystemMessage("Be short."), USER]),
    ],
)
async def test_what_becomes_of_the_system_message(
    mode: Any, given: list[ChatMessage], expected: list[Any], streamed: bool
) -> None:
    found = await sent(SystemPromptAdvisor("Be short.", mode), *given, streamed=streamed)

    assert list(found) == [SystemMessage(each) if isinstance(each, str) else each for each in expected]


@pytest.mark.parametrize("mode", ["append", "prepend"])
async def test_other_parts_of_a_system_message_stay(mode: Any) -> None:
    image = ImageContent(url="http://localhost/sign.png")
    given = SystemMessage([TextContent("Be kind."), image])
    [made, _] = await sent(SystemPromptAdvisor("Be short.", mode), given, USER)

    texts = [TextContent("\n\nBe short.")] if mode == "append" else [TextContent("Be short.\n\n")]
    parts = [TextContent("Be kind."), image]
    assert list(made.contents) == ([*parts, *texts] if mode == "append" else [*texts, *parts])


@pytest.mark.parametrize("mode", ["append", "prepend", "replace", "if_missing"])
async def test_the_same_input_gives_the_very_same_message(mode: Any) -> None:
    """So a wire encodes it once, also when the application makes its own message anew for each turn."""
    advisor = SystemPromptAdvisor("Be short.", mode)
    histories: list[list[ChatMessage]] = [[USER], [SystemMessage("Be kind."), USER]]
    for given in histories:
        first = await sent(advisor, *given)
        own = [SystemMessage(each.text) if isinstance(each, SystemMessage) else each for each in given]
        again = await sent(advisor, *own)
        if mode != "if_missing" or len(given) == 1:
            assert again[0] is first[0]
        assert again[1] is first[1]


@pytest.mark.parametrize("inside", [False, True])
async def test_the_prefix_is_stable_over_the_rounds_of_the_tool_loop(inside: bool) -> None:
    def now() -> str:
        "The time."
        return "noon"

    advisor = SystemPromptAdvisor("Be short.")
    model = ScriptedChatModel([call("now"), call("now"), "Noon."])
    with ToolService(now) as service:
        loop = ToolCallingAdvisor(service)
        chain = Chain(arranged([loop, advisor] if inside else [advisor, loop]), model_call(model))
        advised = await chain.next(Run(), ChatRequest((THEIRS, USER)))

    assert {id(request.messages[0]) for request in model.requests} == {id(model.requests[0].messages[0])}
    assert model.requests[0].messages[0] == SystemMessage("Be kind.\n\nBe short.")
    assert len(advised.new_messages) == 5 and not any(isinstance(each, SystemMessage) for each in advised.new_messages)


async def test_nothing_else_of_the_request_changes() -> None:
    model, parameters = ScriptedChatModel(["Hello."]), ChatRequestParameters(temperature=0.3)
    await Chain(arranged([SystemPromptAdvisor("Be short.")]), model_call(model)).next(
        Run(), ChatRequest((USER,), parameters)
    )

    assert model.requests[0].parameters is parameters


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("",), "not empty"), (("  ",), "not empty"), ((7,), "not empty"), (("x", "behind"), "not 'behind'")],
)
def test_settings_that_are_none_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SystemPromptAdvisor(*arguments)
