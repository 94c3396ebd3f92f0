"""The model behind `anthropic.messages`: the Messages wire over the HTTP seam."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import HttpRequest, HttpTimeouts, HttpTransport, RetryPolicy
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    Notice,
    PriceRows,
    PriceTable,
    ToolExecutionResultMessage,
)
from agentforge.provider import Endpoint, Head, RequestEncoder, WireModel, profile_of
from agentforge_anthropic.rows import MESSAGES_VENDORS, MessagesRow, row_for, within_form
from agentforge_anthropic.wire.caching import CacheMarks
from agentforge_anthropic.wire.errors import parse_error
from agentforge_anthropic.wire.head import MessagesHead
from agentforge_anthropic.wire.messages_wire import MessagesWire
from agentforge_anthropic.wire.reply import MessagesAnswering
from agentforge_anthropic.wire.response import decode_response
from agentforge_anthropic.wire.stream import StreamDecoder
from agentforge_anthropic.wire.turns import has_own_thinking

if TYPE_CHECKING:
    import httpx

    from agentforge.http import CircuitBreaker, RateLimit, RateLimiter, RetryBudget

__all__ = ("AnthropicChatModel",)


class AnthropicChatModel(WireModel[MessagesAnswering]):
    """A model behind a Messages endpoint.

    ``vendor`` is the name of a row, a `MessagesRow`, or a mapping that describes one (``{"like": "generic", "name":
    "house", …}``); unset, it is the row that ``base_url`` is the address of, ``generic`` for any other ``base_url``,
    and ``anthropic`` without one. ``api_key`` defaults to the row's environment
    variable; with ``auth="bearer"`` it is a token. ``version`` is that of the API, ``betas`` are features to ask for,
    beside those of a header ``anthropic-beta``. ``cache`` marks what the provider caches (``off``, ``auto``, ``tools``,
    ``system``, ``tools_and_system``, ``all``), ``cache_ttl`` (``5m``, ``1h``) for how long. ``thinking_display``
    (``summarized``, ``omitted``) says whether the text of thinking comes back; unset, as the model does. The other
    settings are those of every model behind an endpoint: ``timeouts`` takes a number of seconds for the whole exchange,
    ``defaults`` are merged below each request's parameters, ``tool_mode="json_schema"`` describes the tools in the
    prompt, ``names`` is ``alias`` or ``error``, ``profile_overrides`` changes fields of the `ModelProfile`, ``prices``
    are rows in front of the vendor's, ``http_client`` is an ``httpx.AsyncClient`` of your own that is not closed here,
    ``circuit_breaker``, ``retry_budget`` and ``rate_limit`` are those of `EndpointModel`, ``max_connections`` (100) and
    ``max_body_bytes`` (64 MiB) are bounds. A model may be used from several threads.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> AnthropicChatModel(model="m", base_url="http://localhost:8000")
    AnthropicChatModel(vendor='generic', model='m', base_url='http://localhost:8000')
    """

    VENDORS = MESSAGES_VENDORS

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | MessagesRow | Mapping[str, object] | None = None,
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
        auth: Literal["x-api-key", "bearer"] | None = None,
        version: str | None = None,
        betas: Iterable[str] = (),
        cache: str = "off",
        cache_ttl: str = "5m",
        thinking_display: Literal["summarized", "omitted"] | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        names: Literal["alias", "error"] | None = None,
        profile_overrides: Mapping[str, object] | None = None,
        prices: PriceTable | PriceRows | None = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if thinking_display not in (None, "summarized", "omitted"):
            raise ConfigurationError(
                f"thinking_display must be 'summarized' or 'omitted', not {thinking_display!r}",
                next_step="Leave it unset for what the model does.",
            )
        row = _row(MESSAGES_VENDORS.row(vendor, base_url=base_url), auth, version, betas)
        row, headers = _with_betas_of(headers, row)
        #: The parameters of the last request that had to go without thinking, and what they became.
        self._calm: tuple[ChatRequestParameters, ChatRequestParameters] | None = None
        super().__init__(
            wire=MessagesWire(caching=CacheMarks(cache, cache_ttl), display=thinking_display),
            model=model,
            api_key=api_key,
            base_url=base_url,
            vendor=row,
            defaults=defaults,
            headers=headers,
            own_headers={"anthropic-version": row.version, "anthropic-beta": ",".join(row.betas) or None},
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
        if self._row.name != "anthropic":  # what others ask for the same names is theirs
            return None
        from agentforge_anthropic.prices import PRICES

        return PRICES

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        return f"{base_url}/messages" if base_url.endswith("/v1") else f"{base_url}/v1/messages"

    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> MessagesAnswering:
        assert isinstance(head, MessagesHead)
        return MessagesAnswering(
            provider=head.shape.provider,
            aliases=head.tools.aliases,
            notices=notices,
            needs_thinking=head.budget > 0 and self._row.loop_needs_thinking,
        )

    def _decode(self, content: bytes, answering: MessagesAnswering, headers: Mapping[str, str]) -> ChatResponse:
        return decode_response(content, answering, headers=headers, secrets=self.secrets)

    def _decoder(self, answering: MessagesAnswering, status: int, headers: Mapping[str, str]) -> StreamDecoder:
        return StreamDecoder(
            answering, status=status, headers=headers, secrets=self.secrets, max_bytes=self._max_body_bytes
        )

    def _endpoint(self, model: str | None) -> Endpoint[Any]:
        name = model or self._model
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            row = row_for(self._row, name)
            profile = profile_of(row, name, base_url=self._base_url, overrides=self._overrides)
            endpoint = self._endpoints[name] = Endpoint(row, within_form(profile), name, self._base_url)
        return endpoint

    # -- thinking within a budget ----------------------------------------------------------------

    def _prepare(
        self, request: ChatRequest, encoder: RequestEncoder, *, stream: bool
    ) -> tuple[HttpRequest, MessagesAnswering]:
        sent, answering = super()._prepare(request, encoder, stream=stream)
        if not answering.needs_thinking or not _lacks_thinking(request.messages, answering.provider):
            return sent, answering
        calm = ChatRequest(request.messages, self._without_thinking(request.parameters))
        sent, answering = super()._prepare(calm, encoder, stream=stream)
        effort = ChatRequestParameters.merge(self._defaults, request.parameters).reasoning_effort
        return sent, replace(answering, notices=(*answering.notices, _thinking_off(effort)))

    def _without_thinking(self, parameters: ChatRequestParameters) -> ChatRequestParameters:
        """The parameters without thinking; the same object for the same one, as heads are kept by it."""
        known = self._calm  # read once, as other threads may set it
        if known is not None and known[0] is parameters:
            return known[1]
        custom = {**parameters.custom_parameters, "thinking": {"type": "disabled"}}
        calm = parameters.with_(reasoning_effort="none", custom_parameters=custom)
        self._calm = parameters, calm
        return calm


def _row(
    row: MessagesRow, auth: Literal["x-api-key", "bearer"] | None, version: str | None, betas: Iterable[str]
) -> MessagesRow:
    """The row with what was set apart."""
    if auth not in (None, "x-api-key", "bearer"):
        raise ConfigurationError(
            f"auth must be 'x-api-key' or 'bearer', not {auth!r}", next_step="Leave it unset for what the row says."
        )
    if isinstance(betas, str):
        raise ConfigurationError("betas is a list of names, not one text", next_step="Give a list, also of one name.")
    return replace(
        row,
        auth=auth if auth is not None else row.auth,
        version=version if version is not None else row.version,
        betas=tuple(dict.fromkeys((*row.betas, *betas))),
    )


def _with_betas_of(headers: Mapping[str, str] | None, row: MessagesRow) -> tuple[MessagesRow, Mapping[str, str] | None]:
    """The row with the features that a header of the user's asks for beside its own, and the other headers."""
    given = [name for name in headers or () if name.lower() == "anthropic-beta"]
    if headers is None or not given:
        return row, headers
    asked = [word.strip() for name in given for word in headers[name].split(",")]
    betas = tuple(dict.fromkeys((*row.betas, *filter(None, asked))))
    return replace(row, betas=betas), {name: value for name, value in headers.items() if name not in given}


def _thinking_off(effort: str | None) -> Notice:
    left_out = f", and the reasoning effort {effort!r} was left out" if effort is not None else ""
    return Notice(
        "thinking_off_for_turn",
        "the calls that are being answered came without thinking of this provider, so it was asked not to think"
        f"{left_out}; with the next message of the user it thinks again",
        {"reasoning_effort": effort} if effort is not None else {},
    )


def _lacks_thinking(messages: Sequence[ChatMessage], provider: str) -> bool:
    """Whether calls are being answered in a loop that the model, or another one, began without thinking. Only its first
    turn counts: within a loop a model with a budget does not think again."""
    if not messages or not isinstance(messages[-1], ToolExecutionResultMessage):
        return False
    first: AiMessage | None = None
    for message in reversed(messages):
        if isinstance(message, AiMessage):
            first = message
        elif not isinstance(message, ToolExecutionResultMessage):
            break
    return first is not None and not has_own_thinking(first, provider)
