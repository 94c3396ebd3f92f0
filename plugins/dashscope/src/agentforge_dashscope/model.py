"""The model behind `dashscope.chat`: the generation wire over the HTTP seam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import (
    CircuitBreaker,
    HttpRequest,
    HttpTimeouts,
    HttpTransport,
    RateLimit,
    RateLimiter,
    RetryBudget,
    RetryPolicy,
)
from agentforge.model import (
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    Notice,
    PriceRows,
    PriceTable,
)
from agentforge.provider import Endpoint, Head, RequestEncoder, WireModel, profile_of
from agentforge_dashscope.rows import DASHSCOPE_VENDORS, DashScopeRow, row_for
from agentforge_dashscope.wire.errors import parse_error
from agentforge_dashscope.wire.generation_wire import GenerationWire
from agentforge_dashscope.wire.head import GenerationHead
from agentforge_dashscope.wire.reply import GenerationAnswering
from agentforge_dashscope.wire.response import decode_response
from agentforge_dashscope.wire.settling import is_thinking
from agentforge_dashscope.wire.stream import StreamDecoder

if TYPE_CHECKING:
    import httpx

__all__ = ("DashScopeChatModel",)

_STREAMED = (b"x-dashscope-sse", b"enable")
#: What is in the address of the vendor's other API, which has another form.
_COMPATIBLE = "/compatible-mode/"


class DashScopeChatModel(WireModel[GenerationAnswering]):
    """A model behind DashScope's generation API.

    ``vendor`` is the name of a row, a `DashScopeRow`, or a mapping that describes one (``{"like": "dashscope", "name":
    "house", …}``); unset, it is the row that ``base_url`` is the address of, ``generic`` for any other ``base_url``,
    and ``dashscope`` without one. ``api_key`` defaults to the row's environment variable. ``incremental_output`` says
    whether events of streams hold only what is new (true), or everything so far; unset, as the row says.
    ``multimodal`` says whether the model is asked at ``multimodal-generation``, with contents as lists of parts; unset,
    as the row says of its name. ``workspace`` is the one that is asked in. The other settings are those of every model
    behind an endpoint: ``timeouts`` takes a number of seconds for the whole exchange, ``defaults`` are merged below
    each request's parameters, ``tool_mode="json_schema"`` describes the tools in the prompt, ``names`` is ``alias`` or
    ``error``, ``profile_overrides`` changes fields of the `ModelProfile`, ``prices`` are rows of a price table,
    ``http_client`` is an ``httpx.AsyncClient`` of your own that is not closed here, ``max_connections`` (100) and
    ``max_body_bytes`` (64 MiB) are bounds. A model may be used from several threads.

    A request that makes the model think is always asked as a stream, as the endpoint wants it; `chat` joins it.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> DashScopeChatModel(model="m", base_url="http://localhost:8000/api/v1")
    DashScopeChatModel(vendor='generic', model='m', base_url='http://localhost:8000/api/v1')
    """

    VENDORS = DASHSCOPE_VENDORS

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | DashScopeRow | Mapping[str, object] | None = None,
        defaults: ChatRequestParameters | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: HttpTimeouts | float | None = None,
        max_retries: int = 2,
        retry: RetryPolicy | None = None,
        circuit_breaker: CircuitBreaker | bool = True,
        retry_budget: RetryBudget | bool = True,
        rate_limit: RateLimit | RateLimiter | None = None,
        max_connections: int | None = None,
        max_body_bytes: int | None = None,
        proxy: str | None = None,
        ca_bundle: str | None = None,
        verify: bool | str = True,
        transport: str | HttpTransport | Callable[[], HttpTransport] = "httpx",
        http_client: httpx.AsyncClient | None = None,
        incremental_output: bool | None = None,
        multimodal: bool | None = None,
        workspace: str | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        names: Literal["alias", "error"] | None = None,
        profile_overrides: Mapping[str, object] | None = None,
        prices: PriceTable | PriceRows | None = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        for name, value in (("incremental_output", incremental_output), ("multimodal", multimodal)):
            if value is not None and not isinstance(value, bool):
                raise ConfigurationError(
                    f"{name} must be true or false, not {value!r}", next_step="Leave it unset for what the row says."
                )
        row = DASHSCOPE_VENDORS.row(vendor, base_url=base_url)
        if multimodal is not None:
            row = _forced(row, multimodal)
        super().__init__(
            wire=GenerationWire(incremental=incremental_output),
            model=model,
            api_key=api_key,
            base_url=base_url,
            vendor=row,
            defaults=defaults,
            headers=headers,
            own_headers={"x-dashscope-workspace": workspace},
            timeouts=timeouts,
            max_retries=max_retries,
            retry=retry,
            circuit_breaker=circuit_breaker,
            retry_budget=retry_budget,
            rate_limit=rate_limit,
            transport=transport,
            verify=verify,
            environment=environment,
            client=http_client,
            proxy=proxy,
            ca_bundle=ca_bundle,
            max_connections=max_connections,
            max_body_bytes=max_body_bytes,
            tool_mode=tool_mode,
            names=names,
            profile_overrides=profile_overrides,
            prices=prices,
        )
        if _COMPATIBLE in self._base_url:
            raise ConfigurationError(
                f"base_url {self._base_url!r} is that of the vendor's compatible API",
                next_step="Use the type openai.chat with vendor: dashscope there, or a base_url that ends in /api/v1.",
            )
        self._streamed_headers = [*self._headers, _STREAMED]

    def preview(self, request: ChatRequest, *, stream: bool = False) -> tuple[bytes, tuple[Notice, ...]]:
        """The body that ``request`` would be sent as, and what was mapped or dropped for it; nothing is sent. Raises
        `UnsupportedFeatureError` for what would be refused."""
        return super().preview(request, stream=stream or self._must_stream(request))

    async def _chat(self, request: ChatRequest, encoder: RequestEncoder) -> ChatResponse:
        if self._must_stream(request):
            return await self._collected(request, encoder)
        return await super()._chat(request, encoder)

    def _must_stream(self, request: ChatRequest) -> bool:
        """Whether the endpoint would refuse a plain request, as the model will think."""
        merged = ChatRequestParameters.merge(self._defaults, request.parameters)
        return is_thinking(merged, self._endpoint(merged.model_name))

    def _prepare(
        self, request: ChatRequest, encoder: RequestEncoder, *, stream: bool
    ) -> tuple[HttpRequest, GenerationAnswering]:
        sent, answering = super()._prepare(request, encoder, stream=stream)
        return (replace(sent, headers=self._streamed_headers) if stream else sent), answering

    def _error(self, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        return parse_error(status, headers, content, secrets=self.secrets)

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        base = base_url if base_url.endswith("/v1") else f"{base_url.removesuffix('/api')}/api/v1"
        kind = "multimodal" if self._row.is_multimodal(model) else "text"
        return f"{base}/services/aigc/{kind}-generation/generation"

    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> GenerationAnswering:
        assert isinstance(head, GenerationHead)
        return GenerationAnswering(
            provider=head.shape.provider,
            aliases=head.tools.aliases,
            notices=notices,
            cumulative=head.cumulative,
        )

    def _decode(self, content: bytes, answering: GenerationAnswering, headers: Mapping[str, str]) -> ChatResponse:
        return decode_response(content, answering, headers=headers, secrets=self.secrets)

    def _decoder(self, answering: GenerationAnswering, status: int, headers: Mapping[str, str]) -> StreamDecoder:
        return StreamDecoder(
            answering, status=status, headers=headers, secrets=self.secrets, max_bytes=self._max_body_bytes
        )

    def _endpoint(self, model: str | None) -> Endpoint[Any]:
        name = model or self._model
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            row = row_for(self._row, name)
            profile = profile_of(row, name, base_url=self._base_url, overrides=self._overrides)
            endpoint = self._endpoints[name] = Endpoint(row, profile, name, self._base_url)
        return endpoint


def _forced(row: DashScopeRow, multimodal: bool) -> DashScopeRow:
    """The row for which every model is asked at one of the two paths."""
    return replace(row, sees=r"", hears=row.hears) if multimodal else replace(row, sees=None, hears=None)
