"""A provider of its own, small and right, whose wire, decoders and other side a test may spoil in one thing.

Instructions stand at the top, neighbours of one role are one turn, replies have thinking, text and calls.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agentforge.errors import ProtocolError, StreamTruncatedError
from agentforge.http import HttpRequest, HttpResponse, HttpStream, error_from_payload
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ImageContent,
    ModelProfile,
    Notice,
    ProviderState,
    ResponseDone,
    SystemMessage,
    TextContent,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UsageEvent,
)
from agentforge.model.scripted import ScriptedChatModel
from agentforge.provider import (
    Answering,
    EndpointRow,
    Head,
    Pieces,
    ToolBlock,
    TurnShape,
    VendorTable,
    Wire,
    WireModel,
    alias_map,
    alias_of,
    call_id_of,
    dump_bytes,
    sent_schemas,
    settle,
)

__all__ = ("SmallModel", "SmallSide", "SmallStream", "SmallWire", "turns_of")

ROW = EndpointRow(
    name="small",
    base_url="https://small.example",
    capabilities=ModelProfile(audio=False, files=False, unsupported={"tool_name": "map"}),
)
ENDS = {"done": FinishReason.STOP, "calls": FinishReason.TOOL_EXECUTION, "limit": FinishReason.LENGTH}


class SmallWire(Wire[TurnShape]):
    RESERVED = ("system", "turns", "stream")

    def settle(self, parameters: Any, endpoint: Any) -> Any:
        return settle(parameters, endpoint, thinking=False, reserved=self.RESERVED)

    def encode_tools(self, tools: Any, endpoint: Any) -> ToolBlock:
        pattern = endpoint.profile.tool_name_pattern
        notices: list[Notice] = []
        wire = [
            {
                "name": self.name_of(tool.name, pattern),
                "about": tool.description,
                "input": sent.parameters,
                "strict": sent.strict,
            }
            for tool, sent in zip(tools, sent_schemas(tools, endpoint, notices), strict=True)
        ]
        strict = any(each["strict"] for each in wire)
        return ToolBlock(dump_bytes(wire), alias_map((tool.name for tool in tools), pattern), strict, tuple(notices))

    def name_of(self, name: str, pattern: str) -> str:
        return alias_of(name, pattern)

    def fields(self, asked: Any, shape: TurnShape) -> dict[str, object]:
        choice, form = asked.tool_choice, asked.response_format
        return {
            "limit": asked.max_output_tokens,
            "temperature": asked.temperature,
            "top_p": asked.top_p,
            "stop": asked.stop,
            "seed": asked.seed,
            "effort": asked.reasoning_effort,
            "parallel": asked.parallel_tool_calls,
            "form": [form.type, form.schema] if form else None,
            "choice": [choice.mode, choice.required, *map(shape.wire_name, choice.names)] if choice else None,
            **asked.custom_parameters,
        }

    def encode_head(self, settled: Any, endpoint: Any, tools: ToolBlock, *, with_tools: bool) -> Head[TurnShape]:
        shape = TurnShape(**TurnShape.common(endpoint))
        fields = self.fields(settled.parameters, shape)
        rest = b"".join(b",%b:%b" % (dump_bytes(k), dump_bytes(v)) for k, v in fields.items() if v is not None)
        if settled.parameters.tools:
            rest += b',"tools":' + tools.body
        return Head(
            opening=b'{"model":' + dump_bytes(endpoint.model) + b",",
            plain=rest + b"}",
            streamed=rest + b',"stream":true}',
            shape=shape,
            tools=tools,
            notices=(*settled.notices, *tools.notices),
            base_url=None,
            model=endpoint.model,
        )

    def encode_turn(self, message: ChatMessage, shape: TurnShape, notices: list[Notice]) -> bytes:
        if isinstance(message, ToolExecutionResultMessage):
            return dump_bytes(self.result(message, shape, notices))
        blocks: list[Any] = []
        for part in message.contents:
            if isinstance(part, ToolExecutionRequest):
                blocks.append(self.call(part, shape))
            elif isinstance(part, ThinkingContent):
                if part.provider_state is not None and part.provider_state.provider == shape.provider:
                    blocks.append({"thinking": part.text, **part.provider_state.data})
            else:
                blocks.append(self.part(part, shape, notices))
        if getattr(message, "name", None):
            blocks.append({"by": message.name})  # type: ignore[union-attr]
        return b",".join(map(dump_bytes, blocks))

    def part(self, part: Any, shape: TurnShape, notices: list[Notice]) -> object:
        if isinstance(part, TextContent):
            return {"text": part.text}
        if isinstance(part, ImageContent):
            return {"image": part.data or part.url}
        return {"text": shape.left_out("files", type(part).__name__, notices)}

    def call(self, call: ToolExecutionRequest, shape: TurnShape) -> dict[str, object]:
        identity = call_id_of(call.id, shape.call_id_pattern)
        return {"call": identity, "tool": shape.wire_name(call.name), "input": call.arguments}

    def result(self, message: ToolExecutionResultMessage, shape: TurnShape, notices: list[Notice]) -> dict[str, object]:
        said = [self.part(part, shape, notices) for part in message.contents]
        identity = call_id_of(message.id, shape.call_id_pattern)
        return {"result": identity, "of": shape.wire_name(message.tool_name), "said": said, "failed": message.is_error}

    def join(self, pieces: Pieces, shape: TurnShape) -> bytes:
        top = [piece for message, piece in pieces if isinstance(message, SystemMessage)]
        return b'"system":[%b],"turns":[%b]' % (b",".join(top), b",".join(turns_of(pieces)))

    def extended(self, joined: bytes, last: ChatMessage, pieces: Pieces, shape: TurnShape) -> bytes | None:
        if any(isinstance(message, SystemMessage) for message, _ in pieces) or isinstance(last, SystemMessage):
            return None  # it stands in front of what was joined
        said = [(message, piece) for message, piece in pieces if piece]
        if not said:
            return joined
        if not joined.endswith(b"]}]") or role_of(last) == role_of(said[0][0]):
            return None  # the last turn grows
        return b"%b,%b]" % (joined[:-1], b",".join(turns_of(said)))


def role_of(message: ChatMessage) -> str:
    return "model" if isinstance(message, AiMessage) else "user"


def turns_of(pieces: Pieces) -> list[bytes]:
    runs: list[tuple[str, list[bytes]]] = []
    for message, piece in pieces:
        if not piece or isinstance(message, SystemMessage):
            continue
        if not runs or runs[-1][0] != role_of(message):
            runs.append((role_of(message), []))
        runs[-1][1].append(piece)
    return [b'{"role":"%b","parts":[%b]}' % (role.encode(), b",".join(parts)) for role, parts in runs]


class SmallStream:
    """Lines of JSON in, events out."""

    failure = None

    def __init__(self, model: SmallModel, answering: Answering) -> None:
        self.model = model
        self.answering = answering
        self.waiting = b""
        self.parts: list[Any] = []
        self.last: Mapping[str, Any] | None = None

    @property
    def ended(self) -> bool:
        return self.last is not None

    @property
    def partial_text(self) -> str:
        return "".join(part["text"] for part in self.parts if "text" in part)

    def lines(self, chunk: bytes) -> list[bytes]:
        *lines, self.waiting = (self.waiting + chunk).split(b"\n")
        return lines

    def feed(self, chunk: bytes) -> list[ChatEvent]:
        events: list[ChatEvent] = []
        for line in self.lines(chunk):
            item = json.loads(line.removeprefix(b"data: "))
            if "error" in item:
                raise error_from_payload(item) or ProtocolError("the stream holds an error")
            if "end" in item:
                self.last = item
                return events
            before = self.parts[-1] if self.parts else {}
            for kind, event in (("text", TextDelta), ("thinking", ThinkingDelta)):
                if kind in item:
                    events.append(event(item[kind]))
                    if kind in before:
                        before[kind] += item[kind]
                    else:
                        self.parts.append(item)
            if "call" in item:
                self.parts.append(item)
                made = self.model.call_of(item, self.answering)
                at = sum("call" in part for part in self.parts) - 1
                events += [ToolCallDelta(at, made.id, made.name, made.arguments), ToolCallReady(made, at)]
        return events

    def finish(self) -> list[ChatEvent]:
        if self.last is None:
            raise StreamTruncatedError("the stream ended before the reply did")
        response = self.model.response_of(self.parts, self.last, self.answering, streamed=True)
        return [UsageEvent(response.token_usage), ResponseDone(response)]


class SmallModel(WireModel[Answering]):
    VENDORS = VendorTable("small", EndpointRow, {"small": ROW}, default="small", other="small")

    def __init__(self, turns: Sequence[Any], wire: SmallWire | None = None) -> None:
        super().__init__(model="m", wire=wire or SmallWire(), transport=SmallSide(turns), max_retries=0, environment={})

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        return f"{base_url}/say"

    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> Answering:
        return Answering(head.shape.provider, head.tools.aliases, notices)

    def _decode(self, content: bytes, answering: Answering, headers: Mapping[str, str]) -> ChatResponse:
        try:
            body = json.loads(content)
        except ValueError:
            raise ProtocolError("the answer is no JSON") from None
        return self.response_of(body["parts"], body, answering, streamed=False)

    def _decoder(self, answering: Answering, status: int, headers: Mapping[str, str]) -> Any:
        return SmallStream(self, answering)

    def call_of(self, item: Mapping[str, Any], answering: Answering) -> ToolExecutionRequest:
        return ToolExecutionRequest(item["call"], answering.aliases.get(item["tool"], item["tool"]), item["input"])

    def thinking_of(self, text: str, answering: Answering, *, streamed: bool) -> list[Any]:
        return [ThinkingContent(text, ProviderState(answering.provider, {"signed": f"s{len(text)}"}))]

    def response_of(
        self, parts: Sequence[Any], last: Mapping[str, Any], answering: Answering, *, streamed: bool
    ) -> ChatResponse:
        made: list[Any] = []
        for part in parts:
            if "call" in part:
                made.append(self.call_of(part, answering))
            elif "text" in part:
                made.append(TextContent(part["text"]))
            else:
                made += self.thinking_of(part["thinking"], answering, streamed=streamed)
        usage = TokenUsage(last["in"], last["out"], last["in"] + last["out"])
        return ChatResponse(AiMessage(made), ENDS[last["end"]], usage, notices=answering.notices)


class SmallSide:
    """The other side, from a script: a transport. What fails in the script fails here."""

    def __init__(self, turns: Sequence[Any]) -> None:
        self.script = ScriptedChatModel(turns)

    async def send(self, request: HttpRequest) -> HttpResponse:
        response = await self.script.chat(ChatRequest("…"))
        return HttpResponse(200, {}, json.dumps({"parts": self.parts(response), **self.last(response)}).encode())

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        async def chunks() -> AsyncIterator[bytes]:
            async for event in self.script.stream(ChatRequest("…")):
                if isinstance(event, TextDelta):
                    yield self.line({"text": event.text})
                elif isinstance(event, ThinkingDelta):
                    yield self.line({"thinking": event.text})
                elif isinstance(event, ResponseDone):
                    for part in self.parts(event.response):
                        if "call" in part:
                            yield self.line(part)
                    yield self.line(self.last(event.response))

        yield HttpStream(200, {"content-type": "text/event-stream"}, chunks())

    def parts(self, response: ChatResponse) -> list[Any]:
        kinds = {TextContent: "text", ThinkingContent: "thinking"}
        return [
            {"call": part.id, "tool": part.name, "input": part.arguments}
            if isinstance(part, ToolExecutionRequest)
            else {kinds[type(part)]: part.text}  # type: ignore[index,union-attr]
            for part in response.ai_message.contents
        ]

    def last(self, response: ChatResponse) -> dict[str, object]:
        end = {reason: word for word, reason in ENDS.items()}[response.finish_reason]
        return {"end": end, "in": response.token_usage.input_tokens, "out": response.token_usage.output_tokens}

    def line(self, item: object) -> bytes:
        return b"data: " + json.dumps(item, ensure_ascii=False).encode() + b"\n"

    async def aclose(self) -> None:
        pass
