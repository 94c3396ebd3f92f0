"""Questions of more than one request, or of a stream: calls in pieces, results that go back, reasoning that is kept."""

from __future__ import annotations

from collections.abc import Sequence

from agentforge.cli.probing.asker import Asker, Conversation
from agentforge.cli.probing.call_questions import calls_tools, way_to_call
from agentforge.cli.probing.found import Found, Skipped, no, unsure, yes
from agentforge.cli.probing.judging import cut_short, misfit, named, said
from agentforge.cli.probing.questions import NOTE, NOTE_TEXT, REPORT, REPORT_CODE, WEATHER, WEATHER_IN_OSLO
from agentforge.errors import InvalidRequestError, ProtocolError
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatResponse,
    Content,
    TextContent,
    ThinkingContent,
    ToolCallDelta,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)

__all__ = (
    "calls_while_thinking",
    "needs_reasoning_back",
    "reads_results",
    "reasons",
    "streams_calls",
    "streams_calls_in_pieces",
    "takes_reasoning_back",
)


_SEND_NOTE = f"Send Mara a note with exactly these words: {NOTE_TEXT}"


async def streams_calls(asker: Asker) -> Found:
    """A call with a long argument, streamed: whole at the end, and the same in its pieces."""
    events, response = await _streamed_call(asker)
    found = _judged_stream(events, response)
    if isinstance(response, str) or not named(response) or found.status != "no" or asker.only_streams:
        return found
    if misfit(response.ai_message.tool_execution_requests[0], NOTE) is None:
        return found
    return await _compared(asker, found)


async def _compared(asker: Asker, found: Found) -> Found:
    """The same question without a stream: a call that does not fit there either was not damaged on its way."""
    plain = await asker.ask(_SEND_NOTE, tools=[NOTE], **way_to_call(asker))
    calls = plain.ai_message.tool_execution_requests
    problem = misfit(calls[0], NOTE) if calls else None
    if problem is None:
        return found
    return unsure(f"a call came that does not fit, and none that does without a stream: {problem}", again=False)


async def streams_calls_in_pieces(asker: Asker) -> Found:
    """The same call: whether it came in several pieces."""
    events, response = await _streamed_call(asker)
    found = _judged_stream(events, response)
    if found.status != "yes":
        raise Skipped("no whole call came in a stream")
    pieces = sum(isinstance(event, ToolCallDelta) and bool(event.arguments_delta) for event in events)
    return yes(f"in {pieces} pieces") if pieces > 1 else no("calls come whole, in one piece")


async def _streamed_call(asker: Asker) -> tuple[Sequence[ChatEvent], ChatResponse | str]:
    if asker.streamed is None:
        try:
            asker.streamed = await asker.stream(_SEND_NOTE, tools=[NOTE], **way_to_call(asker))
        except ProtocolError as error:
            return (), f"the stream is broken: {error.message}"
    streamed = asker.streamed
    if not named(streamed[1]):
        asker.streamed = None  # to be asked anew
    return streamed


def _judged_stream(events: Sequence[ChatEvent], response: ChatResponse | str) -> Found:
    if isinstance(response, str):
        return no(response, lost=True)
    calls = response.ai_message.tool_execution_requests
    if not calls:
        return cut_short(response) or no(f"in a stream the call is lost: {said(response)} came", again=True, lost=True)
    problem = misfit(calls[0], NOTE)
    if problem is not None:
        return cut_short(response) or no(f"in a stream the call is damaged: {problem}", lost=True)
    shown = "".join(each.arguments_delta for each in events if isinstance(each, ToolCallDelta) and each.index == 0)
    if shown != calls[0].arguments:
        return no("the pieces of the call are not the call", lost=True)
    return yes("the call is whole")


async def reads_results(asker: Asker) -> Found:
    """A second round: the result of the call goes back, and the answer has what stands only in it."""
    if asker.called is None:
        way_to_call(asker)
        found = await calls_tools(asker)
        if asker.called is None:
            return unsure(f"no call came to answer: {found.note}")
    return _judged_answer(await _second_round(asker, asker.called, asker.called.response.ai_message))


async def reasons(asker: Asker) -> Found:
    """A request with an effort, and signs of reasoning."""
    question = "A bat and a ball cost 1.10 together, the bat 1.00 more than the ball. What does the ball cost?"
    response = await asker.ask(question, reasoning_effort="low")
    tokens = response.token_usage.reasoning_tokens
    if response.ai_message.thinking is not None or tokens:
        return yes("its reasoning is shown" if response.ai_message.thinking else f"{tokens} tokens of reasoning")
    return unsure("the effort is taken; nothing shows whether it has any effect", again=False)


async def calls_while_thinking(asker: Asker) -> Found:
    """Tools beside an effort."""
    question = (UserMessage(WEATHER_IN_OSLO),)
    parameters = {"tools": [WEATHER], "reasoning_effort": "low", **way_to_call(asker)}
    asker.sought_reasoning = True
    response = await asker.ask(question, **parameters)
    if not named(response):
        return cut_short(response) or no(f"no call came, but {said(response)}", again=True)
    has_state = any(isinstance(part, ThinkingContent) for part in response.ai_message.contents)
    if has_state:
        asker.reasoned = Conversation(question, parameters, response)
    return yes("a call came, with its reasoning" if has_state else "a call came; no reasoning was shown with it")


async def takes_reasoning_back(asker: Asker) -> Found:
    """A second round, the reasoning of the first kept in its place."""
    conversation = await _reasoned(asker)
    await _second_round(asker, conversation, conversation.response.ai_message)
    return yes("the second round is answered")


async def needs_reasoning_back(asker: Asker) -> Found:
    """The same with the reasoning left out, which some endpoints refuse."""
    conversation = await _reasoned(asker)
    try:
        await _second_round(asker, conversation, _without_reasoning(conversation.response.ai_message))
    except InvalidRequestError as error:
        return yes(f"without it the second round is refused: {error.message}")
    return no("without it the second round is answered as well")


async def _reasoned(asker: Asker) -> Conversation:
    if not asker.sought_reasoning:
        await calls_while_thinking(asker)
    if asker.reasoned is None:
        raise Skipped("no reasoning came beside a call")
    return asker.reasoned


async def _second_round(asker: Asker, conversation: Conversation, turn: AiMessage) -> ChatResponse:
    calls = conversation.response.ai_message.tool_execution_requests
    results = [ToolExecutionResultMessage(call.id, call.name, REPORT) for call in calls]
    parameters = {name: value for name, value in conversation.parameters.items() if name != "tool_choice"}
    return await asker.ask([*conversation.messages, turn, *results], **parameters)


def _judged_answer(response: ChatResponse) -> Found:
    if REPORT_CODE in (response.ai_message.text or ""):
        return yes("the answer has what stood only in the result")
    if (response.ai_message.text or "").strip():
        return yes("it is answered, though nothing shows that the result was read")
    return cut_short(response) or unsure(f"the second round is taken, and {said(response)} came")


def _without_reasoning(turn: AiMessage) -> AiMessage:
    """The turn as one of another provider would be: without reasoning and without anything opaque."""
    parts: list[Content | ToolExecutionRequest] = []
    for part in turn.contents:
        if isinstance(part, ToolExecutionRequest):
            parts.append(ToolExecutionRequest(part.id, part.name, part.arguments, part.id_was_given))
        elif isinstance(part, TextContent):
            parts.append(TextContent(part.text))
        elif not isinstance(part, ThinkingContent):
            parts.append(part)
    return AiMessage(parts)
