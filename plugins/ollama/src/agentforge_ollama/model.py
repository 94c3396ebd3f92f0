"""The model behind `ollama.chat`: Ollama's chat wire over the HTTP seam."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import (
    CircuitBreaker,
    HttpTimeouts,
    HttpTransport,
    RateLimit,
    RateLimiter,
    RetryBudget,
    RetryPolicy,
)
from agentforge.model import ChatRequestParameters, ChatResponse, Notice, PriceRows, PriceTable
from agentforge.provider import Answering, Endpoint, Head, WireModel, profile_of
from agentforge_ollama.host import address_of
from agentforge_ollama.rows import CLOUD, OLLAMA_VENDORS, OllamaRow, row_for
from agentforge_ollama.wire.errors import parse_error
from agentforge_ollama.wire.ollama_wire import OllamaWire
from agentforge_ollama.wire.response import decode_response
from agentforge_ollama.wire.stream import StreamDecoder

if TYPE_CHECKING:
    import httpx

__all__ = ("OllamaChatModel",)

_HOST = "OLLAMA_HOST"
_ACCEPT = "application/json, application/x-ndjson"


class OllamaChatModel(WireModel[Answering]):
    """A model behind Ollama's own chat API.

    ``vendor`` is the name of a row, an `OllamaRow`, or a mapping that describes one (``{"like": "generic", "name":
    "house", …}``); unset, it is the row that ``base_url`` is the address of, ``generic`` for any other ``base_url``,
    and ``ollama`` without one, whose address may stand in ``OLLAMA_HOST`` as Ollama's programs read it.

    ``num_ctx`` is how many tokens a conversation may have, its tools and the answer included; unset, the server
    decides, often for few. A conversation that is too long is an error, unless ``truncate`` is true: then the server
    leaves out its beginning and says nothing. ``keep_alive`` is how long the server keeps the model loaded (seconds, or
    a text such as ``"10m"``).

    The other settings are those of every model behind an endpoint: ``timeouts`` takes a number of seconds for the whole
    exchange, ``defaults`` are merged below each request's parameters, ``tool_mode="json_schema"`` describes the tools
    in the prompt, ``names`` is ``alias`` or ``error``, ``profile_overrides`` changes fields of the `ModelProfile`,
    ``prices`` are rows of a `PriceTable`, ``http_client`` is an ``httpx.AsyncClient`` of your own that is not closed
    here, ``max_connections`` (100) and ``max_body_bytes`` (64 MiB) are bounds. A model may be used from several
    threads.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> OllamaChatModel(model="qwen3", environment={})
    OllamaChatModel(vendor='ollama', model='qwen3', base_url='http://localhost:11434')
    """

    VENDORS = OLLAMA_VENDORS

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | OllamaRow | Mapping[str, object] | None = None,
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
        num_ctx: int | None = None,
        truncate: bool | None = None,
        keep_alive: str | float | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        names: Literal["alias", "error"] | None = None,
        profile_overrides: Mapping[str, object] | None = None,
        prices: PriceTable | PriceRows | None = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if num_ctx is not None and (type(num_ctx) is not int or num_ctx < 1):
            raise ConfigurationError(
                f"num_ctx must be a number of tokens from 1, not {num_ctx!r}",
                next_step="Give for example 32768, or leave it unset for what the server says.",
            )
        environment = os.environ if environment is None else environment
        row = OLLAMA_VENDORS.row(vendor, base_url=base_url)
        if not base_url and row.base_url_variable == _HOST and _HOST in environment:
            host = environment[_HOST].strip()
            environment = {**environment, _HOST: address_of(host) if host else ""}
            if vendor is None and environment[_HOST] == CLOUD.base_url:
                row = CLOUD
        if truncate is None and row.cuts_histories:
            truncate = False
        fields = {"truncate": truncate, "keep_alive": keep_alive}
        super().__init__(
            wire=OllamaWire(
                options={} if num_ctx is None else {"num_ctx": num_ctx},
                fields={name: value for name, value in fields.items() if value is not None},
            ),
            model=model,
            api_key=api_key,
            base_url=base_url,
            vendor=row,
            defaults=defaults,
            headers=headers,
            own_headers={"accept": _ACCEPT},
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

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        # The address of the server's OpenAI form is the one that most people have at hand.
        base = base_url.removesuffix("/v1")
        return f"{base}/chat" if base.endswith("/api") else f"{base}/api/chat"

    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> Answering:
        return Answering(provider=head.shape.provider, aliases=head.tools.aliases, notices=notices)

    def _decode(self, content: bytes, answering: Answering, headers: Mapping[str, str]) -> ChatResponse:
        return decode_response(content, answering, headers=headers, secrets=self.secrets)

    def _decoder(self, answering: Answering, status: int, headers: Mapping[str, str]) -> StreamDecoder:
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
