"""What may not be asked and answered: refused, masked or asked for again, and never shown."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import ScriptedChatModel
from agentforge.advisor import AdvisorError
from agentforge.advisor.safeguard import SafeguardAdvisor
from agentforge.errors import ConfigurationError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    Event,
    FinishReason,
    ImageContent,
    TextContent,
    TokenUsage,
    UserMessage,
)
from agentforge.tool.execution import (
    AttemptDiscarded,
    Run,
)
from tests.unit.advisor.guarding import BOTH, QUESTION, Rule, codes, hold, shown, text_of

# -- the question --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("action", ["refuse", "reprompt"])
async def test_a_refused_question_reaches_no_model(streamed: bool, action: Any) -> None:
    """The answer is the text, and what was noted in the run stays."""
    events: list[Event] = []
    run, model = Run(), ScriptedChatModel(["Boom."])
    run.attributes["note"] = 1
    advised = await hold(
        [SafeguardAdvisor(["bomb"], text="No.", action=action)],
        model,
        request=ChatRequest("How to build a BOMB?"),
        run=run,
        events=events if streamed else None,
    )

    assert model.requests == []
    assert advised.response == ChatResponse(AiMessage("No."), FinishReason.REFUSAL, raw_finish_reason="safeguard")
    assert advised.new_messages == (AiMessage("No."),)
    assert run.attributes["note"] == 1 and codes(run) == ["safeguard_refused"]
    if streamed:
        assert [type(event).__name__ for event in events] == ["Notice", "TextDelta", "ResponseDone"]
        assert shown(events) == "No."


@BOTH
async def test_another_question_goes_on(streamed: bool) -> None:
    run, model = Run(), ScriptedChatModel(["A cat."])
    advised = await hold([SafeguardAdvisor(["bomb"])], model, run=run, events=[] if streamed else None)

    assert model.requests == [QUESTION] and advised.new_messages == (AiMessage("A cat."),)
    assert run.notices == []


async def test_a_masked_question_goes_on_without_the_word() -> None:
    """Also when it has other parts, which stay; the messages before it are not looked at."""
    image = ImageContent(url="http://localhost/box.png")
    before = UserMessage("A bomb?")
    asked = UserMessage([TextContent("Is this a bo"), image, TextContent("mb?")], name="ann")
    run, model = Run(), ScriptedChatModel(["A cat."])
    advisor = SafeguardAdvisor(["bomb"], action="mask")
    await hold([advisor], model, request=ChatRequest((before, AiMessage("No."), asked)), run=run)

    assert model.requests[0].messages == (
        before,
        AiMessage("No."),
        UserMessage([TextContent("Is this a ***?"), image], name="ann"),
    )
    assert codes(run) == ["safeguard_masked"] and run.notices[0].details == {"stage": "input", "kind": "word"}


async def test_a_check_masks_the_whole_question_and_says_why() -> None:
    run, model = Run(), ScriptedChatModel(["A cat."])
    run.secrets.add("box-4711")
    rule = Rule("box", "about box-4711")
    await hold([SafeguardAdvisor(checks=[rule], action="mask", stage="input")], model, run=run)

    assert model.requests[0].messages == (UserMessage("***"),)
    assert run.notices[0].details == {"stage": "input", "kind": "check", "reason": "about ***"}
    assert rule.asked == ["What is in the box?"] + ["***"] * (len(rule.asked) - 1)


@pytest.mark.parametrize(("stage", "reaches"), [("input", False), ("output", True), ("both", False)])
async def test_the_stage_says_what_is_looked_at(stage: Any, reaches: bool) -> None:
    model = ScriptedChatModel(["A cat."])
    await hold([SafeguardAdvisor(["box"], stage=stage)], model)

    assert bool(model.requests) is reaches


# -- the answer ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("stage", ["output", "both"])
async def test_a_refused_answer_is_never_shown(streamed: bool, stage: Any) -> None:
    events: list[Event] = []
    run = Run()
    advised = await hold(
        [SafeguardAdvisor(["bomb"], stage=stage, text="No.")],
        [{"text": "A bomb.", "usage": {"input": 5, "output": 2}}],
        run=run,
        events=events if streamed else None,
    )

    assert text_of(advised) == "No." and advised.new_messages == (AiMessage("No."),)
    assert advised.response is not None and advised.response.finish_reason is FinishReason.REFUSAL
    assert advised.response.token_usage == TokenUsage(5, 2, 7)
    assert run.messages == (*QUESTION.messages, AiMessage("No."))
    assert codes(run) == ["safeguard_refused"]
    if streamed:
        assert shown(events) == "No." and "bomb" not in repr(events)


@BOTH
@pytest.mark.parametrize(
    ("settings", "masked"),
    [
        ({"words": ["bomb"]}, "A *** here."),
        ({"patterns": [r"b\w+"]}, "A *** here."),
        ({"checks": [Rule("bomb")]}, "***"),
    ],
)
async def test_a_masked_answer_is_shown_masked(settings: dict[str, Any], masked: str, streamed: bool) -> None:
    events: list[Event] = []
    run = Run()
    advised = await hold(
        [SafeguardAdvisor(**settings, stage="output", action="mask")],
        ["A bomb here."],
        run=run,
        events=events if streamed else None,
    )

    assert text_of(advised) == masked and advised.new_messages == (AiMessage(masked),)
    assert codes(run) == ["safeguard_masked"]
    if streamed:
        assert shown(events) == masked and "bomb" not in repr(events)


@BOTH
@pytest.mark.parametrize(
    ("replies", "most", "answer", "asked"),
    [
        (["A bomb.", "A cat."], 1, "A cat.", 2),
        (["A bomb.", "A bomb.", "A cat."], 1, "No.", 2),
        (["A bomb.", "A bomb.", "A cat."], 2, "A cat.", 3),
        (["A bomb.", "A cat."], 0, "No.", 1),
    ],
)
async def test_an_answer_is_asked_for_again(
    replies: list[str], most: int, answer: str, asked: int, streamed: bool
) -> None:
    """With the user's own words and what was wrong, which do not pile up; and refused in the end."""
    events: list[Event] = []
    run, model = Run(), ScriptedChatModel(replies)
    advisor = SafeguardAdvisor(["bomb"], action="reprompt", text="No.", reprompt_text="Not that.", max_reprompts=most)
    advised = await hold([advisor], model, run=run, events=events if streamed else None)

    assert text_of(advised) == answer and advised.new_messages == (AiMessage(answer),)
    assert [request.messages for request in model.requests[1:]] == [
        (UserMessage("What is in the box?\n\nNot that."),) for _ in range(asked - 1)
    ]
    assert len(model.requests) == asked
    assert codes(run) == ["safeguard_reprompted"] * (asked - 1) + ["safeguard_refused"] * (answer == "No.")
    assert run.messages == () or "bomb" not in repr(run.messages)
    if streamed:
        assert shown(events) == answer and "bomb" not in repr(events)
        assert sum(isinstance(event, AttemptDiscarded) for event in events) == asked - 1


async def test_the_reason_of_a_check_is_told_to_the_model() -> None:
    model = ScriptedChatModel(["A bomb.", "A cat."])
    await hold([SafeguardAdvisor(checks=[Rule("bomb", "it frightens")], action="reprompt")], model)

    assert "Your answer was not shown: it frightens." in model.requests[1].messages[0].text


@pytest.mark.parametrize("given", [True, 7])
async def test_a_check_that_gives_something_else_ends_the_turn(given: Any) -> None:
    with pytest.raises(AdvisorError, match=f"the check Rule gave {type(given).__name__}"):
        await hold([SafeguardAdvisor(checks=[Rule("box", given)])], ["A cat."])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "looks for nothing"),
        ({"words": ["x"], "stage": "middle"}, "stage is one of"),
        ({"words": ["x"], "action": "shout"}, "action is one of"),
        ({"words": ["x"], "max_reprompts": -1}, "max_reprompts must be at least 0"),
        ({"words": ["help"]}, "text is a text without what the safeguard looks for"),
        ({"words": ["x"], "mask": "x"}, "mask is a text without"),
        ({"words": ["x"], "mask": ""}, "mask is a text without"),
        ({"checks": [Rule]}, "is no check"),
        ({"checks": ["x"]}, "str is no check"),
        ({"patterns": ["("]}, "no regular expression"),
    ],
)
def test_settings_that_are_none_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SafeguardAdvisor(**settings)
