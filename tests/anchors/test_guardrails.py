"""The rows of section P about guardrails: answers that are asked for again with tools, questions that are looked at."""

from __future__ import annotations

from typing import Any

from agentforge import AiMessage, ChatRequest, Run, ToolFinished, UserMessage
from agentforge.advisor import Advised, Chain, SafeguardAdvisor
from agentforge.model import ImageContent, TextContent
from agentforge.model.scripted import call
from tests.anchors.support import FACES, ask, rows


def look(where: str) -> str:
    "Look somewhere."
    return f"{where}: nothing"


class NoBombs:
    """Notes the answers that it judges."""

    def __init__(self) -> None:
        self.judged: list[str] = []

    async def check(self, text: str, run: Run) -> str | None:
        self.judged.append(text)
        return "it names a bomb" if "bomb" in text else None


def guard(check: NoBombs, times: int = 1) -> SafeguardAdvisor:
    return SafeguardAdvisor(checks=[check], stage="output", action="reprompt", max_reprompts=times)


@FACES
@rows(362, "a reprompt that calls a tool")
async def test_the_calls_of_a_reprompt_run_before_its_answer_is_judged(anchor: int, streamed: bool) -> None:
    check = NoBombs()
    done = await ask(["A bomb.", call("look", where="here"), "A box."], guard(check), tools=[look], streamed=streamed)
    assert (done.result.text, done.texts) == ("A box.", ["here: nothing"])
    assert [text for text in check.judged if text] == ["A bomb.", "A box."]
    assert len(done.requests) == 3


@FACES
@rows(363, "several, each with tools")
async def test_several_reprompts_with_tools_are_all_held(anchor: int, streamed: bool) -> None:
    """Within their limit; what ran before stays, and no message is sent twice."""
    turns: list[Any] = [call("look", where="a"), "A bomb.", call("look", where="b"), "A bomb.", call("look", where="c")]
    done = await ask([*turns, "A box."], guard(NoBombs(), 2), tools=[look], streamed=streamed)
    assert (done.result.text, done.texts) == ("A box.", ["a: nothing", "b: nothing", "c: nothing"])
    last = done.requests[-1].messages
    calls = [each.id for message in last if isinstance(message, AiMessage) for each in message.tool_execution_requests]
    assert len(calls) == len(set(calls)) == 3


@rows(365, "events of a reprompt")
async def test_tool_events_are_told_in_a_reprompt_too(anchor: int) -> None:
    turns: list[Any] = [call("look", where="a"), "A bomb.", call("look", where="b"), "A box."]
    done = await ask(turns, guard(NoBombs()), tools=[look], streamed=True)
    told = [event.execution.result_text() for event in done.events if isinstance(event, ToolFinished)]
    assert told == ["a: nothing", "b: nothing"]


class Retrieval:
    """Puts what it found behind the question, as an advisor for documents does."""

    def __init__(self, found: str) -> None:
        self.found = found

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        *before, last = request.messages
        assert isinstance(last, UserMessage)
        asked = UserMessage([*last.contents, TextContent(f"\nFrom the documents: {self.found}")])
        return await chain.next(run, ChatRequest([*before, asked], request.parameters))


@FACES
@rows(366, "retrieval and an image")
async def test_the_question_is_judged_as_the_model_would_get_it(anchor: int, streamed: bool) -> None:
    """With what advisors further out added, and beside other parts; before any model is asked."""
    question = [UserMessage([TextContent("What is on the picture?"), ImageContent(data="aGk=")])]
    safeguard = SafeguardAdvisor(["bomb"], stage="input")
    for found, requests in (("it is a bomb", 0), ("it is a box", 1)):
        done = await ask(["A box."], Retrieval(found), safeguard, question=question, streamed=streamed)
        assert len(done.requests) == requests
    parts = done.requests[0].messages[-1].contents
    assert [type(part) for part in parts] == [TextContent, ImageContent, TextContent]
