"""The model: wire on one side, the HTTP seam on the other, and nothing else in between."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal, cast

from agentforge.errors import ConfigurationError, InvalidRequestError, ModelError
from agentforge.http import (
    HttpRequest,
    HttpStream,
    HttpTimeouts,
    HttpTransport,
    RetryPolicy,
    unexpected_answer,
)
from agentforge.model import (
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    History,
    ModelProfile,
    Notice,
    ResponseDone,
    mend_history,
)
from agentforge_openai.address import completions_url
from agentforge_openai.capabilities import Endpoint
from agentforge_openai.endpoint_model import EndpointModel
from agentforge_openai.profile import VendorRow, profile_of
from agentforge_openai.wire.errors import too_large
from agentforge_openai.wire.events import events_of
from agentforge_openai.wire.head import Head
from agentforge_openai.wire.reply import Answering
from agentforge_openai.wire.request import RequestEncoder
from agentforge_openai.wire.response import decode_response
from agentforge_openai.wire.stream import StreamDecoder

if TYPE_CHECKING:
    import httpx

    from agentforge.model.schema_calling import SchemaToolModel

__all__ = ("OpenAiChatModel",)

_DRAIN_SECONDS = 0.5
_MAX_BODY_BYTES = 64 * 1024 * 1024


class OpenAiChatModel(EndpointModel):
    """A model behind a Chat Completions endpoint.

    ``vendor`` is the name of a row or a `VendorRow`; unset, it is ``generic`` when ``base_url`` is given, else
    ``openai``. ``api_key`` defaults to the row's environment variable. ``timeouts`` takes a number of seconds for the
    whole exchange. ``defaults`` are merged below each request's parameters. ``tool_mode="json_schema"`` describes the
    tools in the prompt instead of sending them. ``profile_overrides`` changes fields of the `ModelProfile` where the
    row does not hold for this model. ``http_client`` is an ``httpx.AsyncClient`` of your own; it is not closed here.
    ``retry`` sets more of the policy than ``max_retries``. ``max_connections`` (100) bounds what the transport holds,
    ``max_body_bytes`` (64 MiB) an answer, plain or streamed; beside a transport of your own it bounds streams only.
    ``environment`` is where the row's variables are looked up, by default the process's. A model may be used from
    several threads.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> OpenAiChatModel(model="m", base_url="http://localhost:8000/v1")
    OpenAiChatModel(vendor='generic', model='m', base_url='http://localhost:8000/v1')
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | VendorRow | None = None,
        defaults: ChatRequestParameters | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: HttpTimeouts | float | None = None,
        max_retries: int = 2,
        retry: RetryPolicy | None = None,
        max_connections: int | None = None,
        max_body_bytes: int | None = None,
        proxy: str | None = None,
        ca_bundle: str | None = None,
        verify: bool | str = True,
        transport: str | HttpTransport | Callable[[], HttpTransport] = "httpx",
        http_client: httpx.AsyncClient | None = None,
        organization: str | None = None,
        project: str | None = None,
        api_version: str | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        profile_overrides: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            model=model,
            api_key=api_key,
            base_url=base_url,
            vendor=vendor,
            headers=headers,
            timeouts=timeouts,
            max_retries=max_retries,
            retry=retry,
            transport=transport,
            verify=verify,
            organization=organization,
            project=project,
            environment=environment,
            client=http_client,
            proxy=proxy,
            ca_bundle=ca_bundle,
            max_connections=max_connections,
            max_body_bytes=max_body_bytes,
        )
        if defaults is not None and not isinstance(defaults, ChatRequestParameters):
            raise ConfigurationError(
                f"defaults must be ChatRequestParameters, not {type(defaults).__name__}",
                next_step="Give ChatRequestParameters(...), for example with a temperature.",
            )
        self._api_version = api_version
        self._overrides: dict[str, object] = dict(profile_overrides or {})
        if tool_mode not in (None, "native", "json_schema"):
            raise ConfigurationError(
                f"tool_mode must be 'native' or 'json_schema', not {tool_mode!r}",
                next_step="Leave it unset for what the vendor's row says.",
            )
        if tool_mode is not None:
            self._overrides["tool_mode"] = tool_mode
        self._endpoints: dict[str, Endpoint] = {}
        self._urls: dict[tuple[str, str], str] = {}
        self._defaults = defaults
        # Until a server is seen to stay open behind the end mark, which it would do again.
        self._ends_its_streams = True
        # Of a request without notices, decoding needs the same every time; one value, as other threads may set it.
        self._plain: tuple[Head | None, Answering] = (None, Answering(provider=""))
        self._max_body_bytes = max_body_bytes if max_body_bytes is not None else _MAX_BODY_BYTES
        self._encoder = RequestEncoder(self._endpoint, defaults=defaults)
        self._profile = self._endpoint(None).profile
        self._by_schema: SchemaToolModel | None = None
        if self._profile.tool_mode == "json_schema":
            from agentforge.model.schema_calling import SchemaToolModel

            self._by_schema = SchemaToolModel(_WithoutTools(self))
            self._profile = self._by_schema.profile

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

    # -- one exchange ----------------------------------------------------------------------------

    async def _chat(self, request: ChatRequest, encoder: RequestEncoder) -> ChatResponse:
        if self._row.stream_only and re.search(self._row.stream_only, self._name_in(request)):
            return await self._collected(request, encoder)
        sent, answering = self._prepare(request, encoder, stream=False)
        response = await self._http.send(sent)
        return decode_response(response.content, answering, headers=response.headers, secrets=self.secrets)

    async def _collected(self, request: ChatRequest, encoder: RequestEncoder) -> ChatResponse:
        """A plain reply from a model that only streams."""
        async with aclosing(self._stream(request, encoder)) as events:
            last = [event async for event in events][-1]
        return cast("ResponseDone", last).response

    async def _stream(self, request: ChatRequest, encoder: RequestEncoder) -> AsyncGenerator[ChatEvent, None]:
        sent, answering = self._prepare(request, encoder, stream=True)
        async with self._http.stream(sent) as answer:
            kind = answer.headers.get("content-type", "")
            if "html" in kind:
                page = await self._whole(answer)
                raise unexpected_answer(
                    answer.status, answer.headers, page, expected="an event stream", secrets=self.secrets
                )
            if kind.startswith("application/json"):
                # A server that does not stream answers whole.
                content = await self._whole(answer)
                response = decode_response(content, answering, headers=answer.headers, secrets=self.secrets)
                for event in events_of(response):
                    yield event
                return
            decoder = StreamDecoder(
                answering,
                status=answer.status,
                headers=answer.headers,
                secrets=self.secrets,
                max_bytes=self._max_body_bytes,
            )
            try:
                async for chunk in answer.chunks:
                    for event in decoder.feed(chunk):
                        yield event
                    if decoder.failure is not None:
                        raise decoder.failure
                    if decoder.ended:
                        break
            except ModelError as error:
                if decoder.partial_text and "partial_text" not in error.details:
                    error.details = {**error.details, "partial_text": decoder.partial_text}
                raise
            for event in decoder.finish():
                yield event
            if self._ends_its_streams:
                self._ends_its_streams = await _drain(answer)

    async def _whole(self, answer: HttpStream) -> bytes:
        """The body of an answer that is no stream, bounded like one."""
        body = bytearray()
        async for chunk in answer.chunks:
            body += chunk
            if len(body) > self._max_body_bytes:
                raise too_large(self._max_body_bytes, answer.headers)
        return bytes(body)

    def _prepare(self, request: ChatRequest, encoder: RequestEncoder, *, stream: bool) -> tuple[HttpRequest, Answering]:
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
        known, answering = self._plain
        if notices or known is not head:
            answering = self._answering(head, notices)
            if not notices:
                self._plain = head, answering
        return HttpRequest("POST", self._url(head), self._headers, encoded.body, self._timeouts), answering

    def _answering(self, head: Head, notices: tuple[Notice, ...]) -> Answering:
        return Answering(
            provider=head.shape.provider,
            aliases=head.tools.aliases,
            notices=notices,
            reasoning_only_in_total=self._row.reasoning_only_in_total,
            splits_names=self._row.splits_names,
            unfinished_calls_allowed=self._row.unfinished_calls_allowed,
        )

    def _url(self, head: Head) -> str:
        key = (head.base_url or self._base_url, head.model)
        url = self._urls.get(key)
        if url is None:
            url = self._urls[key] = completions_url(self._row, *key, self._api_version)
        return url

    def _endpoint(self, model: str | None) -> Endpoint:
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

    def __init__(self, model: OpenAiChatModel) -> None:
        self._model = model
        self._encoder = RequestEncoder(model._endpoint)

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
