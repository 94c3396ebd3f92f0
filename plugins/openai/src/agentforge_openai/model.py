"""The model behind `openai.chat`: the Chat Completions wire over the HTTP seam."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import HttpTimeouts, HttpTransport, RetryPolicy
from agentforge.model import (
    ChatEvent,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    Notice,
    PriceRows,
    PriceTable,
    ToolSpecification,
)
from agentforge.provider import Head, RequestEncoder, ToolPreview, WireModel
from agentforge_openai.address import completions_url
from agentforge_openai.elsewhere import needs_responses, with_way_out
from agentforge_openai.profile import VendorRow
from agentforge_openai.vendors import CHAT_VENDORS, prices_of
from agentforge_openai.wire.chat_wire import ChatWire
from agentforge_openai.wire.errors import parse_error
from agentforge_openai.wire.reply import ChatAnswering
from agentforge_openai.wire.response import decode_response
from agentforge_openai.wire.stream import StreamDecoder

if TYPE_CHECKING:
    import httpx

    from agentforge.http import CircuitBreaker, Outages, RateLimit, RateLimiter, RetryBudget
    from agentforge_openai.responses_model import OpenAiResponsesModel

__all__ = ("OpenAiChatModel",)


class OpenAiChatModel(WireModel[ChatAnswering]):
    """A model behind a Chat Completions endpoint.

    ``vendor`` is the name of a row, a `VendorRow`, or a mapping that describes one (``{"like": "generic", "name":
    "house", …}``); unset, it is the row that ``base_url`` is the address of, ``generic`` for any other ``base_url``,
    and ``openai`` without one. ``api_key`` defaults to the row's environment
    variable. ``timeouts`` takes a number of seconds for the whole exchange. ``defaults`` are merged below each
    request's parameters. ``tool_mode="json_schema"`` describes the tools in the prompt instead of sending them.
    ``names`` is ``alias`` (tools whose names the vendor refuses go under others) or ``error``; unset, the row decides.
    ``tools_need_responses`` says what becomes of tools for a model that takes them on the Responses API only:
    ``error``, or ``responses``, which sends such requests there, as an `OpenAiResponsesModel` with the same settings
    does. ``profile_overrides`` changes fields of the `ModelProfile` where the row does not hold for this model.
    ``http_client`` is an ``httpx.AsyncClient`` of your own; it is not closed here. ``retry`` sets more of the policy
    than ``max_retries``. ``circuit_breaker``, ``retry_budget`` and ``rate_limit`` are those of `EndpointModel`.
    ``max_connections`` (100) bounds what the transport holds, ``max_body_bytes`` (64 MiB) an answer, plain or streamed;
    beside a transport of your own it bounds streams only. ``environment`` is where the row's variables are looked up,
    by default the process's. A model may be used from several threads.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> OpenAiChatModel(model="m", base_url="http://localhost:8000/v1")
    OpenAiChatModel(vendor='generic', model='m', base_url='http://localhost:8000/v1')
    """

    VENDORS = CHAT_VENDORS

    _elsewhere: OpenAiResponsesModel | None = None

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | VendorRow | Mapping[str, object] | None = None,
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
        organization: str | None = None,
        project: str | None = None,
        api_version: str | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        names: Literal["alias", "error"] | None = None,
        tools_need_responses: Literal["error", "responses"] = "error",
        profile_overrides: Mapping[str, object] | None = None,
        prices: PriceTable | PriceRows | None = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if tools_need_responses not in ("error", "responses"):
            raise ConfigurationError(
                f"tools_need_responses must be 'error' or 'responses', not {tools_need_responses!r}",
                next_step="Leave it unset for an error that names the ways out.",
            )
        self._api_version = api_version
        common: dict[str, Any] = {
            "model": model,
            "api_key": api_key,
            "base_url": base_url,
            "vendor": vendor,
            "defaults": defaults,
            "headers": headers,
            "timeouts": timeouts,
            "max_retries": max_retries,
            "retry": retry,
            "circuit_breaker": circuit_breaker,
            "retry_budget": retry_budget,
            "rate_limit": rate_limit,
            "transport": transport,
            "verify": verify,
            "environment": environment,
            "proxy": proxy,
            "ca_bundle": ca_bundle,
            "max_connections": max_connections,
            "max_body_bytes": max_body_bytes,
            "tool_mode": tool_mode,
            "names": names,
            "profile_overrides": profile_overrides,
            "prices": prices,
        }
        super().__init__(
            wire=ChatWire(),
            own_headers={"openai-organization": organization, "openai-project": project},
            client=http_client,
            **common,
        )
        if tools_need_responses == "responses" and self._by_schema is None:
            from agentforge_openai.responses_model import OpenAiResponsesModel

            self._elsewhere = OpenAiResponsesModel(
                http_client=http_client,
                organization=organization,
                project=project,
                api_version=api_version,
                **{**common, "rate_limit": self._limiter},
            )
            self._elsewhere.share(self._outages)  # both are one model
            self._profile = self._profile.with_(tools_with_thinking=self._elsewhere.profile.tools_with_thinking)

    async def _chat(self, request: ChatRequest, encoder: RequestEncoder) -> ChatResponse:
        other = self._other(request)
        return await (super()._chat(request, encoder) if other is None else other.chat(request))

    def _stream(self, request: ChatRequest, encoder: RequestEncoder) -> AsyncGenerator[ChatEvent, None]:
        other = self._other(request)
        return super()._stream(request, encoder) if other is None else other.stream(request)

    def preview(self, request: ChatRequest, *, stream: bool = False) -> tuple[bytes, tuple[Notice, ...]]:
        """The body that ``request`` would be sent as, and what was mapped or dropped for it; nothing is sent. Raises
        `UnsupportedFeatureError` for what would be refused."""
        other = self._other(request)
        return super().preview(request, stream=stream) if other is None else other.preview(request, stream=stream)

    def preview_tools(self, tools: Sequence[ToolSpecification]) -> ToolPreview:
        """These tools as this endpoint, or the other one, would get them. Raises `UnsupportedFeatureError` for what
        would be refused."""
        other = self._other(ChatRequest("Hello", ChatRequestParameters(tools=tools))) if tools else None
        return super().preview_tools(tools) if other is None else other.preview_tools(tools)

    def share(self, outages: Outages) -> None:
        """Learn of outages from the other models that share the object, and they from this one."""
        super().share(outages)
        if self._elsewhere is not None:
            self._elsewhere.share(outages)

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await super().aclose()
        if self._elsewhere is not None:
            await self._elsewhere.aclose()

    def _other(self, request: ChatRequest) -> OpenAiResponsesModel | None:
        """The model that answers this request, where it is not this one."""
        if self._elsewhere is None:
            return None
        merged = ChatRequestParameters.merge(self._defaults, request.parameters)
        return self._elsewhere if needs_responses(merged, self._endpoint(merged.model_name)) else None

    def _error(self, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        return with_way_out(parse_error(status, headers, content, secrets=self.secrets))

    def _vendor_prices(self) -> PriceTable | None:
        return prices_of(self._row)

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        return completions_url(self._row, base_url, model, self._api_version)

    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> ChatAnswering:
        return ChatAnswering(
            provider=head.shape.provider,
            aliases=head.tools.aliases,
            notices=notices,
            reasoning_only_in_total=self._row.reasoning_only_in_total,
            splits_names=self._row.splits_names,
            unfinished_calls_allowed=self._row.unfinished_calls_allowed,
        )

    def _decode(self, content: bytes, answering: ChatAnswering, headers: Mapping[str, str]) -> ChatResponse:
        return decode_response(content, answering, headers=headers, secrets=self.secrets)

    def _decoder(self, answering: ChatAnswering, status: int, headers: Mapping[str, str]) -> StreamDecoder:
        return StreamDecoder(
            answering, status=status, headers=headers, secrets=self.secrets, max_bytes=self._max_body_bytes
        )
