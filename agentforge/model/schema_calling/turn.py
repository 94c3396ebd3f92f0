"""One request over a schema and the way back: from tools to a schema, from the reply's JSON to calls or an answer."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentforge.errors import InvalidRequestError, StreamTruncatedError
from agentforge.model.call_ids import call_ids_in, next_call_number
from agentforge.model.content import Content, ProviderState, TextContent
from agentforge.model.events import (
    ChatEvent,
    Notice,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
    ToolCallReady,
)
from agentforge.model.messages import AiMessage
from agentforge.model.request import ChatRequest, ResponseFormat, ToolChoice
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.schema_calling.prompt import describe_tools, rewrite_history, with_instructions
from agentforge.model.schema_calling.reader import ReplyReader, TextPiece
from agentforge.model.schema_calling.schema import reply_schema, single_call_schema
from agentforge.model.specification import ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest

__all__ = ("SchemaTurn", "translate_request")

# With any other reason the reply may be cut or withheld, and no call of it may run.
_ENDED_WELL = (FinishReason.STOP, FinishReason.TOOL_EXECUTION, FinishReason.PAUSE, FinishReason.OTHER)
# JSON with a key of the form: meant as a call or an answer in it, and no words.
_MEANT_AS_FORM = re.compile(r"\s*(?:```\w*\s*)?[{\[].*\"(?:answer|calls|tool|arguments)\"\s*:", re.DOTALL)


def translate_request(request: ChatRequest) -> SchemaTurn:
    """The request for a model without tool calling, and how to read its reply.

    ``tool_choice`` decides the schema: ``auto`` allows calls or an answer, whatever forces a call allows calls only,
    names allow these tools only, ``none`` takes the tools away. Raises `InvalidRequestError` when the choice names a
    tool that is not offered, or forces a call where no tool is.
    """
    given = request.parameters
    choice = given.tool_choice or ToolChoice.AUTO
    tools = _choosable(given.tools, choice)
    messages = rewrite_history(request.messages)
    plain = given.with_(tools=(), tool_choice=None, parallel_tool_calls=None)
    if not tools:
        return SchemaTurn(ChatRequest(messages, plain))
    forced = choice.forces_a_call
    single = forced and len(tools) == 1 and given.parallel_tool_calls is not True
    one_call = given.parallel_tool_calls is False
    wanted = given.response_format
    answer: Mapping[str, Any] | None = None
    if not forced:
        answer = {"type": "string"}
        if wanted is not None and wanted.type != "text":
            answer = wanted.schema if wanted.schema is not None else {"type": "object"}
    schema = single_call_schema(tools[0]) if single else reply_schema(tools, answer=answer, one_call=one_call)
    answer_is_json = wanted is not None and wanted.type != "text"
    instructions = describe_tools(
        tools, single=single, may_answer=not forced, answer_is_json=answer_is_json, one_call=one_call
    )
    return SchemaTurn(
        ChatRequest(
            with_instructions(messages, instructions),
            # Not "strict": the arguments' schemas are the tools' own and need not fit any vendor's subset.
            plain.with_(response_format=ResponseFormat.json_schema(schema, name="reply", strict=None)),
        ),
        is_translated=True,
        forces_a_call=forced,
        answer_is_json=answer_is_json,
        first_call_number=next_call_number(call_ids_in(request.messages)),
    )


def _choosable(tools: tuple[ToolSpecification, ...], choice: ToolChoice) -> tuple[ToolSpecification, ...]:
    offered = {tool.name for tool in tools}
    for name in choice.names:
        if name not in offered:
            raise InvalidRequestError(
                f"tool_choice names {name!r}, which is not among the request's tools",
                next_step="Offer the tool in the request, or choose another one.",
            )
    if choice.forces_a_call and not tools:
        raise InvalidRequestError(
            "tool_choice requires a call, and the request offers no tools",
            next_step="Offer a tool, or set tool_choice to auto.",
        )
    if choice.mode == "none":
        return ()
    if choice.mode in ("tool", "allowed"):
        return tuple(tool for tool in tools if tool.name in choice.names)
    return tools


@dataclass(frozen=True, slots=True)
class SchemaTurn:
    """A translated ``request``, and the reading of its reply. Where ``is_translated`` is false (no tools, or
    ``tool_choice`` ``none``) the reply is taken as it comes."""

    request: ChatRequest
    is_translated: bool = False
    forces_a_call: bool = False
    answer_is_json: bool = False
    first_call_number: int = 1

    def decode(self, response: ChatResponse) -> ChatResponse:
        """The reply with calls, or with the answer's text.

        Text that is not in the form is an answer in words; where a call was forced, or the text was meant as a call
        and does not fit, a `Notice` says so. A reply that was cut off (``LENGTH``) keeps its reason and has no calls.
        """
        message = response.ai_message
        if not self.is_translated or message.has_tool_execution_requests:
            return response
        reader = ReplyReader(answer_is_json=self.answer_is_json)
        reader.feed(message.text or "")
        calls = self._calls(reader, message) if response.finish_reason in _ENDED_WELL else ()
        finish, notices = response.finish_reason, response.notices
        if calls:
            finish = FinishReason.TOOL_EXECUTION
        elif finish is FinishReason.TOOL_EXECUTION:
            finish = FinishReason.STOP
        if not calls:
            notices += self._notices(reader, message.text or "", response.finish_reason)
        if calls or reader.has_answer:
            message = _replaced(message, reader.answer if reader.has_answer else None, calls)
        return replace(response, ai_message=message, finish_reason=finish, notices=notices)

    async def decode_stream(self, events: AsyncIterator[ChatEvent]) -> AsyncGenerator[ChatEvent, None]:
        """The events of the reply, read: the answer's text and the calls' arguments live, the JSON around them never.

        `ResponseDone` carries what `decode` gives. ``events`` are closed with this. Raises `StreamTruncatedError` when
        they end without a response.
        """
        reader = ReplyReader(answer_is_json=self.answer_is_json)
        shown = ""
        arguments: list[str] = []
        try:
            async for event in events:
                if isinstance(event, TextDelta) and self.is_translated:
                    for piece in reader.feed(event.text):
                        if isinstance(piece, TextPiece):
                            shown += piece.text
                            yield TextDelta(piece.text)
                            continue
                        if piece.index == len(arguments):
                            arguments.append("")
                        arguments[piece.index] += piece.arguments
                        yield ToolCallDelta(piece.index, self._id(piece.index), piece.name, piece.arguments)
                elif isinstance(event, ResponseDone):
                    response = self.decode(event.response)
                    for late in self._rest(event.response, response, shown, arguments):
                        yield late
                    yield ResponseDone(response)
                    return
                else:
                    yield event
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        raise StreamTruncatedError("the stream ended before the reply did", partial_text=shown)

    def _rest(self, raw: ChatResponse, response: ChatResponse, shown: str, arguments: list[str]) -> list[ChatEvent]:
        """What was not shown live: text held back, the ends of calls, and notices of the reading."""
        if not self.is_translated or raw.ai_message.has_tool_execution_requests:
            return []
        late: list[ChatEvent] = []
        text = response.ai_message.text or ""
        if len(text) > len(shown) and text.startswith(shown):
            late.append(TextDelta(text[len(shown) :]))
        for index, request in enumerate(response.ai_message.tool_execution_requests):
            known = arguments[index] if index < len(arguments) else ""
            if index >= len(arguments) or len(known) < len(request.arguments):
                late.append(ToolCallDelta(index, request.id, request.name, request.arguments[len(known) :]))
            late.append(ToolCallReady(request, index))
        late.extend(response.notices[len(raw.notices) :])
        return late

    def _id(self, index: int) -> str:
        return f"call_{self.first_call_number + index}"

    def _calls(self, reader: ReplyReader, message: AiMessage) -> tuple[ToolExecutionRequest, ...]:
        if not reader.is_whole:
            return ()
        state = next((part.provider_state for part in message.contents if isinstance(part, TextContent)), None)
        return tuple(
            ToolExecutionRequest(
                self._id(index),
                call.name or "",
                "".join(call.arguments),
                id_was_given=False,
                provider_state=state if index == 0 and not reader.has_answer else None,
            )
            for index, call in enumerate(reader.calls)
        )

    def _notices(self, reader: ReplyReader, text: str, finish: FinishReason) -> tuple[Notice, ...]:
        """Why a reply that should have had calls, or was meant to, has none."""
        if self.forces_a_call:
            why = " (it was cut by the token limit)" if finish is FinishReason.LENGTH else ""
            return (Notice("schema_call_missing", f"a tool call was required, and the reply holds no whole call{why}"),)
        if reader.calls and finish not in _ENDED_WELL:
            return (Notice("schema_calls_dropped", f"the reply ended with {finish.value}, so its calls were dropped"),)
        answered = reader.has_answer and not reader.calls and (reader.is_whole or finish not in _ENDED_WELL)
        if answered or (reader.in_words and not _MEANT_AS_FORM.match(text)):
            return ()
        return (Notice("schema_reply_unreadable", "the reply is not whole in the form that the schema asked for"),)


def _replaced(message: AiMessage, answer: str | None, calls: tuple[ToolExecutionRequest, ...]) -> AiMessage:
    """The message with its text parts replaced by the answer, and the calls at the end."""
    contents: list[Content | ToolExecutionRequest] = []
    state: ProviderState | None = None
    at: int | None = None
    for part in message.contents:
        if not isinstance(part, TextContent):
            contents.append(part)
        elif at is None:
            at, state = len(contents), part.provider_state
    if answer is not None:
        contents.insert(at or 0, TextContent(answer, state))
    return AiMessage([*contents, *calls], provider_state=message.provider_state)
