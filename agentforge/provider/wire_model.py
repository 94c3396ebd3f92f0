"""A chat model: a wire on one side, the HTTP seam on the other, and what every such model does between them."""

from __future__ import annotations

import asyncio
import json
import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from agentforge.errors import ConfigurationError, InvalidRequestError, ModelError, UnsupportedFeatureError
from agentforge.http import HttpRequest, HttpResponse, HttpStream, unexpected_answer
from agentforge.model import (
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    History,
    ModelProfile,
    Notice,
    PriceRows,
    PriceTable,
    ResponseDone,
    ToolSpecification,
    UsageEvent,
    UserMessage,
    mend_history,
    price_table,
    priced,
)
from agentforge.provider.encoder import RequestEncoder
from agentforge.provider.endpoint import Endpoint
from agentforge.provider.endpoint_model import EndpointModel
from agentforge.provider.preview import ToolPreview
from agentforge.provider.row import profile_of
from agentforge.provider.size import MAX_BODY_BYTES, too_large
from agentforge.provider.whole_reply import events_of
from agentforge.provider.wire import Answering, Decoder, Head, Wire

if TYPE_CHECKING:
    from agentforge.http import Passage
    from agentforge.model.schema_calling import SchemaToolModel

__all__ = ("WireModel",)

_DRAIN_SECONDS = 0.5
_BLANK = b"\xef\xbb\xbf \t\r\n"  # what may stand before a body's first sign, the mark of its encoding included

AnsweringT = TypeVar("AnsweringT", bound=Answering)


class WireModel(EndpointModel, Generic[AnsweringT]):
    """What a provider's chat model derives from; it gives the ``wire`` and the four methods that read answers.

    ``defaults`` are merged below each request's parameters. ``tool_mode="json_schema"`` describes the tools in the
    prompt instead of sending them. ``names`` says what becomes of tool names that the vendor refuses. With
    ``profile_overrides`` fields of the `ModelProfile` are changed where the row does not hold for this model.
    ``prices`` are rows of a `PriceTable` in front of the vendor's, a table in its place, or ``None`` for none.
    ``max_body_bytes`` (64 MiB) bounds an answer. ``endpoint`` are the arguments of `EndpointModel`.

    Raises `ConfigurationError` for settings that cannot be honoured.
    """

    def __init__(
        self,
        *,
        wire: Wire[Any],
        defaults: ChatRequestParameters | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        names: Literal["alias", "error"] | None = None,
        profile_overrides: Mapping[str, object] | None = None,
        prices: PriceTable | PriceRows | None = MappingProxyType({}),
        max_body_bytes: int | None = None,
        **endpoint: Any,
    ) -> None:
        super().__init__(max_body_bytes=max_body_bytes, **endpoint)
        if defaults is not None and not isinstance(defaults, ChatRequestParameters):
            raise ConfigurationError(
                f"defaults must be ChatRequestParameters, not {type(defaults).__name__}",
                next_step="Give ChatRequestParameters(...), for example with a temperature.",
            )
        self._overrides = _overrides(profile_overrides, tool_mode, names)
        self._endpoints: dict[str, Endpoint[Any]] = {}
        self._urls: dict[tuple[str, str, bool], str] = {}
        self._defaults = defaults
        self._prices = price_table(prices, self._vendor_prices())
        self._wire = wire
        # Until a server is seen to stay open behind the end mark, which it would do again.
        self._ends_its_streams = True
        # Of a request without notices, decoding needs the same every time; one value, as other threads may set it.
        self._plain: tuple[Head[Any], AnsweringT] | None = None
        self._max_body_bytes = max_body_bytes if max_body_bytes is not None else MAX_BODY_BYTES
        self._encoder = RequestEncoder(wire, self._endpoint, defaults=defaults)
        self._profile = self._endpoint(None).profile
        self._by_schema: SchemaToolModel | None = None
        if self._profile.tool_mode == "json_schema":
            from agentforge.model.schema_calling import SchemaToolModel

            self._by_schema = SchemaToolModel(_WithoutTools(self))
            self._profile = self._by_schema.profile

    # -- what a provider gives -------------------------------------------------------------------

    @abstractmethod
    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        """The whole address of a request to ``model``."""

    @abstractmethod
    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> AnsweringT:
        """What decoding the answer needs."""

    @abstractmethod
    def _decode(self, content: bytes, answering: AnsweringT, headers: Mapping[str, str]) -> ChatResponse:
        """The reply in a body of status 2xx. Raises `ModelError`."""

    @abstractmethod
    def _decoder(self, answering: AnsweringT, status: int, headers: Mapping[str, str]) -> Decoder:
        """A decoder for one stream."""

    def _vendor_prices(self) -> PriceTable | None:
        """The prices of this vendor's models, where its plugin brings some."""
        return None

    # -- the model -------------------------------------------------------------------------------

    @property
    def profile(self) -> ModelProfile:
        """What this endpoint and model can do, overrides included."""
        return self._profile

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The whole reply. Raises `ModelError`; `UnsupportedFeatureError` comes before anything is sent."""
        if self._by_schema is not None and self._offers_tools(request):
            return await self._by_schema.chat(self._merged(request))
        return await self._chat(request, self._encoder)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The reply as events, `ResponseDone` last. Closing the generator closes the connection; once an event was
        shown nothing is tried again, and an error carries the text so far as ``details["partial_text"]``."""
        if self._by_schema is not None and self._offers_tools(request):
            inner = self._by_schema.stream(self._merged(request))
        else:
            inner = self._stream(request, self._encoder)
        async with aclosing(inner) as events:
            async for event in events:
                yield event

    def preview(self, request: ChatRequest, *, stream: bool = False) -> tuple[bytes, tuple[Notice, ...]]:
        """The body that ``request`` would be sent as, and what was mapped or dropped for it; nothing is sent. Raises
        `UnsupportedFeatureError` for what would be refused."""
        sent, answering = self._prepare(request, self._encoder, stream=stream)
        return sent.content or b"", answering.notices

    def preview_tools(self, tools: Sequence[ToolSpecification]) -> ToolPreview:
        """These tools as this endpoint would get them. Raises `UnsupportedFeatureError` for what would be refused."""
        if self._by_schema is not None:
            notice = Notice("tools_in_prompt", "the tools are described in the prompt; the endpoint gets a schema")
            return ToolPreview((), {}, (notice,))
        endpoint = replace(self._endpoint(None), tells_all=True)
        offered = ChatRequestParameters(tools=tools)
        settled = self._wire.settle(ChatRequestParameters.merge(self._defaults, offered), endpoint)
        if not settled.parameters.tools:
            return ToolPreview((), {}, tuple(settled.notices))
        block = self._wire.encode_tools(settled.parameters.tools, endpoint)
        aliases = {name: alias for alias, name in block.aliases.items()}
        return ToolPreview(tuple(json.loads(block.body)), aliases, (*settled.notices, *block.notices))

    def refusal(self, parameters: ChatRequestParameters) -> UnsupportedFeatureError | ConfigurationError | None:
        """Why no request with these parameters could be sent, whatever its messages; ``None`` where one could be.
        Nothing is sent."""
        merged = ChatRequestParameters.merge(self._defaults, parameters)
        if self._by_schema is not None and merged.tools:
            merged = merged.with_(tools=(), tool_choice=None, parallel_tool_calls=None, response_format=None)
        try:
            RequestEncoder(self._wire, self._endpoint).encode([UserMessage("Hello")], merged)
        except (UnsupportedFeatureError, ConfigurationError) as error:
            return error
        return None

    # -- one exchange ----------------------------------------------------------------------------

    async def _chat(self, request: ChatRequest, encoder: RequestEncoder) -> ChatResponse:
        if self._row.stream_only and re.search(self._row.stream_only, self._name_in(request)):
            return await self._collected(request, encoder)
        sent, answering = self._prepare(request, encoder, stream=False)
        answer = await self._http.send(sent)
        # As `_judging` does, without its cost.
        passage = cast("Passage", answer.passage)
        try:
            response = self._decode(answer.content, answering, answer.headers)
        except BaseException as error:
            passage.failed(error) if isinstance(error, ModelError) else passage.left()
            raise
        passage.ended()
        return self._finished(self._with_cost(response, self._name_in(request)), answer)

    async def _collected(self, request: ChatRequest, encoder: RequestEncoder) -> ChatResponse:
        """A plain reply from a model that only streams."""
        async with aclosing(self._stream(request, encoder)) as events:
            last = [event async for event in events][-1]
        return cast("ResponseDone", last).response

    async def _stream(self, request: ChatRequest, encoder: RequestEncoder) -> AsyncGenerator[ChatEvent, None]:
        sent, answering = self._prepare(request, encoder, stream=True)
        asked = self._name_in(request)
        async with self._http.stream(sent) as answer:
            kind = answer.headers.get("content-type", "")
            if "html" in kind:
                page = await self._whole(answer, answer.chunks)
                raise unexpected_answer(
                    answer.status, answer.headers, page, expected="an event stream", secrets=self.secrets
                )
            chunks = aiter(answer.chunks)
            begun = await _beginning(chunks, self._max_body_bytes)
            passage = cast("Passage", answer.passage)
            if not self._wire.STREAMS_JSON and begun.lstrip(_BLANK)[:1] in (b"{", b"["):
                # A server that does not stream answers whole, whatever it calls that.
                content = await self._whole(answer, chunks, begun)
                response = self._with_cost(self._decode(content, answering, answer.headers), asked)
                passage.ended()
                for notice in _notices(answer):
                    yield notice
                for event in events_of(self._finished(response, answer)):
                    yield event
                return
            decoder = self._decoder(answering, answer.status, answer.headers)
            try:
                first = decoder.feed(begun)
                # A comment line may come for long before an error does: it says nothing yet.
                while not first and decoder.failure is None and not decoder.ended:
                    chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    first = decoder.feed(chunk)
                if decoder.failure is None and (first or decoder.ended):
                    passage.begun()
                for notice in _notices(answer):
                    yield notice
                for event in self._with_costs(first, asked):
                    yield event
                if decoder.failure is None and not decoder.ended:
                    async for chunk in chunks:
                        for event in self._with_costs(decoder.feed(chunk), asked):
                            yield event
                        if decoder.failure is not None or decoder.ended:
                            break
                if decoder.failure is not None:
                    raise decoder.failure
            except ModelError as error:
                if decoder.partial_text and "partial_text" not in error.details:
                    error.details = {**error.details, "partial_text": decoder.partial_text}
                raise
            last = decoder.finish()
            passage.ended()  # what is read below is only the rest of the exchange
            for event in self._with_costs(last, asked):
                if type(event) is ResponseDone:
                    event.response = self._finished(event.response, answer)
                yield event
            if self._ends_its_streams:
                self._ends_its_streams = await _drain(answer)

    def _finished(self, response: ChatResponse, answer: HttpResponse | HttpStream) -> ChatResponse:
        """The response with what its request's way has to tell, whose cost the rate limit now knows."""
        if self._limiter is not None:
            self._settle(answer, response.token_usage)
        passage = answer.passage
        if passage is None or not passage.notices:
            return response
        return replace(response, notices=(*_notices(answer), *response.notices))

    def _with_cost(self, response: ChatResponse, asked: str) -> ChatResponse:
        usage = priced(response.token_usage, response.model_name, self._prices, asked=asked)
        return response if usage is response.token_usage else replace(response, token_usage=usage)

    def _with_costs(self, events: Iterable[ChatEvent], asked: str) -> Iterable[ChatEvent]:
        return events if self._prices is None else self._costed(events, asked)

    def _costed(self, events: Iterable[ChatEvent], asked: str) -> Iterator[ChatEvent]:
        """Usage before the end has the price of the model that was asked; the last one is the response's."""
        for event in events:
            if type(event) is UsageEvent:
                event.usage = priced(event.usage, asked, self._prices)
            elif type(event) is ResponseDone:
                before = priced(event.response.token_usage, asked, self._prices)
                event.response = self._with_cost(event.response, asked)
                if before != event.response.token_usage:
                    yield UsageEvent(event.response.token_usage)
            yield event

    async def _whole(self, answer: HttpStream, chunks: AsyncIterator[bytes], begun: bytes = b"") -> bytes:
        """The body of an answer that is no stream, bounded like one."""
        body = bytearray(begun)
        async for chunk in chunks:
            body += chunk
            if len(body) > self._max_body_bytes:
                raise too_large(self._max_body_bytes, answer.headers)
        return bytes(body)

    def _prepare(
        self, request: ChatRequest, encoder: RequestEncoder, *, stream: bool
    ) -> tuple[HttpRequest, AnsweringT]:
        messages: Sequence[ChatMessage] = request.messages
        mended: tuple[Notice, ...] = ()
        if not isinstance(messages, History):
            messages, mended = mend_history(messages)
        if not messages:
            raise InvalidRequestError(
                "the request holds no message to send" + (": its results belong to no call" if mended else ""),
                next_step="Send at least one message; a result goes with the message that holds its call.",
            )
        encoded = encoder.encode(messages, request.parameters, stream=stream)
        head = encoded.head
        notices = (*mended, *encoded.notices)
        known = self._plain
        if not notices and known is not None and known[0] is head:
            answering = known[1]
        else:
            answering = self._answering(head, notices)
            if not notices:
                self._plain = head, answering
        url = self._address(head, stream=stream)
        return HttpRequest(
            "POST", url, self._headers, encoded.body, self._timeouts, None, True, head.model, True
        ), answering

    def _address(self, head: Head[Any], *, stream: bool) -> str:
        base = head.base_url or self._base_url
        key = (base, head.model, stream)
        url = self._urls.get(key)
        if url is None:
            url = self._urls[key] = self._url(base, head.model, stream=stream)
        return url

    def _endpoint(self, model: str | None) -> Endpoint[Any]:
        name = model or self._model
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            profile = profile_of(self._row, name, base_url=self._base_url, overrides=self._overrides)
            endpoint = self._endpoints[name] = Endpoint(self._row, profile, name, self._base_url)
        return endpoint

    # -- tools over a schema ---------------------------------------------------------------------

    def _offers_tools(self, request: ChatRequest) -> bool:
        return bool(request.parameters.tools or (self._defaults is not None and self._defaults.tools))

    def _merged(self, request: ChatRequest) -> ChatRequest:
        return ChatRequest(request.messages, ChatRequestParameters.merge(self._defaults, request.parameters))

    def _name_in(self, request: ChatRequest) -> str:
        default = self._defaults.model_name if self._defaults is not None else None
        return request.parameters.model_name or default or self._model


class _WithoutTools:
    """The same model for requests that were translated: their parameters are merged and hold no tools."""

    def __init__(self, model: WireModel[Any]) -> None:
        self._model = model
        self._encoder = RequestEncoder(model._wire, model._endpoint)

    @property
    def profile(self) -> ModelProfile:
        """The wire's own capabilities."""
        return self._model._endpoint(None).profile

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The whole reply."""
        return await self._model._chat(request, self._encoder)

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The reply as events."""
        return self._model._stream(request, self._encoder)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


def _notices(answer: HttpResponse | HttpStream) -> list[Notice]:
    """What the request's way has to tell."""
    passage = answer.passage
    return [Notice(*told) for told in passage.notices] if passage is not None else []


async def _beginning(chunks: AsyncIterator[bytes], most: int) -> bytes:
    """The first chunks, up to one that is not blank."""
    begun = b""
    async for chunk in chunks:
        begun += chunk
        if len(begun) > most or begun.lstrip(_BLANK):
            break
    return begun


def _overrides(given: Mapping[str, object] | None, tool_mode: str | None, names: str | None) -> dict[str, object]:
    """The overrides of the profile, with the settings that are short for one; what is in them is checked with the row
    that they are for."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(
            f"profile_overrides must be a mapping of capabilities, not {given!r}",
            next_step="Give for example profile_overrides: {images: false}.",
        )
    made: dict[str, object] = dict(given or {})
    for setting, value, known in (
        ("tool_mode", tool_mode, ("native", "json_schema")),
        ("names", names, ("alias", "error")),
    ):
        if value is not None and value not in known:
            raise ConfigurationError(
                f"{setting} must be {known[0]!r} or {known[1]!r}, not {value!r}",
                next_step="Leave it unset for what the vendor's row says.",
            )
    if tool_mode is not None:
        made["tool_mode"] = tool_mode
    more = made.get("unsupported", {})
    if names is not None and isinstance(more, Mapping):
        made["unsupported"] = {**more, "tool_name": "map" if names == "alias" else "error"}
    return made


async def _drain(answer: HttpStream) -> bool:
    """Read what follows the end mark, so that the connection can be used again; a server that keeps it open must not
    hold up a reply that is whole. Whether the answer came to its end: one that did not will not do so next time."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in answer.chunks:
                pass
    except TimeoutError:
        return False
    except ModelError:
        pass
    return True
