"""The model behind `openai.responses`: the Responses wire over the HTTP seam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import HttpTimeouts, HttpTransport, RetryPolicy
from agentforge.model import ChatRequestParameters, ChatResponse, Notice, PriceRows, PriceTable
from agentforge.provider import Head, WireModel
from agentforge_openai.address import responses_url
from agentforge_openai.profile import VendorRow
from agentforge_openai.responses.errors import parse_error
from agentforge_openai.responses.form import responses_row
from agentforge_openai.responses.reply import ResponsesAnswering
from agentforge_openai.responses.response import decode_response
from agentforge_openai.responses.stream import ResponsesDecoder
from agentforge_openai.responses.wire import ResponsesWire
from agentforge_openai.vendors import CHAT_VENDORS, prices_of

if TYPE_CHECKING:
    import httpx

    from agentforge.http import CircuitBreaker, RateLimit, RateLimiter, RetryBudget

__all__ = ("OpenAiResponsesModel",)


class OpenAiResponsesModel(WireModel[ResponsesAnswering]):
    """A model behind a Responses endpoint.

    ``state`` says who keeps the conversation. With ``replay`` (the default) every request holds all of it, reasoning
    included, and the server is asked to keep nothing. With ``previous_response`` the server keeps its responses, and a
    request names the last one that the history knows and holds only what came after; a history without one is sent
    whole. What you change in turns that the server keeps does not reach it.

    ``encrypted_reasoning`` says whether the model gives its reasoning encrypted, and takes it back; unset, its name
    decides as the row says. ``reasoning_summary`` (``auto``, ``concise``, ``detailed``) asks for readable reasoning.
    The other settings are those of `OpenAiChatModel`.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> OpenAiResponsesModel(model="m", base_url="http://localhost:8000/v1")
    OpenAiResponsesModel(vendor='generic', model='m', base_url='http://localhost:8000/v1')
    """

    VENDORS = CHAT_VENDORS

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | VendorRow | Mapping[str, object] | None = None,
        state: Literal["replay", "previous_response"] = "replay",
        encrypted_reasoning: bool | None = None,
        reasoning_summary: Literal["auto", "concise", "detailed"] | None = None,
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
        profile_overrides: Mapping[str, object] | None = None,
        prices: PriceTable | PriceRows | None = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if state not in ("replay", "previous_response"):
            raise ConfigurationError(
                f"state must be 'replay' or 'previous_response', not {state!r}",
                next_step="Leave it unset: the whole conversation is sent, and the server keeps nothing.",
            )
        row = self.VENDORS.row(vendor, base_url=base_url)
        self._api_version = api_version
        self._stores = state == "previous_response"
        if self._stores and not row.responses.sends_store:
            raise ConfigurationError(
                f"vendor {row.name!r} keeps no responses, so state='previous_response' has nothing to go on from",
                next_step="Leave state unset: the whole conversation is sent.",
            )
        super().__init__(
            wire=ResponsesWire(
                chained=self._stores,
                encrypted_reasoning=encrypted_reasoning,
                reasoning_summary=reasoning_summary,
            ),
            model=model,
            api_key=api_key,
            base_url=base_url,
            vendor=responses_row(row),
            defaults=defaults,
            headers=headers,
            own_headers={"openai-organization": organization, "openai-project": project},
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

    def _error(self, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        return parse_error(status, headers, content, secrets=self.secrets)

    def _vendor_prices(self) -> PriceTable | None:
        return prices_of(self._row)

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        return responses_url(self._row, base_url, self._api_version)

    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> ResponsesAnswering:
        return ResponsesAnswering(
            provider=head.shape.provider,
            aliases=head.tools.aliases,
            notices=notices,
            stores=self._stores,
            offered=head.tools.body,
        )

    def _decode(self, content: bytes, answering: ResponsesAnswering, headers: Mapping[str, str]) -> ChatResponse:
        return decode_response(content, answering, headers=headers, secrets=self.secrets)

    def _decoder(self, answering: ResponsesAnswering, status: int, headers: Mapping[str, str]) -> ResponsesDecoder:
        return ResponsesDecoder(
            answering, status=status, headers=headers, secrets=self.secrets, max_bytes=self._max_body_bytes
        )
