"""What every model behind an endpoint is: an address, a key, headers, and one HTTP client."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import (
    HttpClient,
    HttpResponse,
    HttpStream,
    HttpTimeouts,
    HttpTransport,
    RetryPolicy,
    error_from_response,
)
from agentforge.masking import Secrets
from agentforge.model import TokenUsage
from agentforge.provider.address import api_key_of, base_url_of, header_pairs
from agentforge.provider.row import EndpointRow
from agentforge.provider.transporting import timeouts_of, transport_options
from agentforge.provider.vendor_table import VendorTable

if TYPE_CHECKING:
    from agentforge.http import CircuitBreaker, Outages, RateLimit, RateLimiter, RetryBudget

__all__ = ("EndpointModel",)


class EndpointModel:
    """``vendor`` is the name of a row of ``VENDORS``, a row, or a mapping that describes one (see
    `VendorTable.derived`); ``own_headers`` are those of the wire, ``None`` for one that is not sent; ``connections``
    are the settings of the transport that is made by name.

    Raises `ConfigurationError` for settings that cannot be honoured.
    """

    #: The vendors that a name stands for.
    VENDORS: ClassVar[VendorTable[Any]]

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | EndpointRow | Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        own_headers: Mapping[str, str | None] | None = None,
        timeouts: HttpTimeouts | float | None = None,
        max_retries: int = 2,
        retry: RetryPolicy | None = None,
        circuit_breaker: CircuitBreaker | bool = True,
        retry_budget: RetryBudget | bool = True,
        rate_limit: RateLimit | RateLimiter | None = None,
        transport: str | HttpTransport | Callable[[], HttpTransport] = "httpx",
        verify: bool | str = True,
        environment: Mapping[str, str] | None = None,
        **connections: object,
    ) -> None:
        if not model:
            raise ConfigurationError("model is empty", next_step="Give the model's name, or that of its deployment.")
        if retry is not None and not isinstance(retry, RetryPolicy):
            raise ConfigurationError(
                f"retry must be a RetryPolicy, not {type(retry).__name__}",
                next_step="Give RetryPolicy(...), or only max_retries.",
            )
        if not isinstance(max_retries, int) or max_retries < 0:
            raise ConfigurationError(
                f"max_retries must be a whole number from 0, not {max_retries!r}",
                next_step="Give 0 for no retries; the default is 2.",
            )
        environment = os.environ if environment is None else environment
        self._row = self.VENDORS.row(vendor, base_url=base_url)
        self._model = model
        self._base_url = base_url_of(self._row, base_url, environment)
        key = api_key_of(self._row, api_key, environment)
        #: What must not leave this model in any text.
        self.secrets = Secrets([key] if key else [])
        self._headers = header_pairs(self._row, key, self.secrets, headers=headers, own=own_headers)
        self._timeouts = timeouts_of(timeouts)
        from agentforge.http.outages import Outages
        from agentforge.http.rate_limit import limiter_of

        self._limiter = limiter_of(rate_limit)
        self._gate_of: dict[str, Any] = {
            "way": (connections.get("proxy"), connections.get("ca_bundle"), verify),
            "circuit_breaker": circuit_breaker,
            "retry_budget": retry_budget,
            "limiter": self._limiter,
        }
        self._http = HttpClient(
            transport=transport,
            transport_options=transport_options(transport, verify=None if verify is True else verify, **connections),
            retry=retry if retry is not None else RetryPolicy(max_retries=max_retries),
            secrets=self.secrets,
            error_parser=self._error,
        )
        self.share(Outages())

    def _error(self, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        """The error of a failed answer; a wire says more of its vendors' own."""
        return error_from_response(status, headers, content, secrets=self.secrets)

    @contextmanager
    def _judging(self, answer: HttpResponse) -> Iterator[None]:
        """Within it is found out what a good status turned out to be: the circuit of the model learns of it. The
        request is to be a ``judged`` one."""
        passage = answer.passage
        try:
            yield
        except BaseException as error:
            if passage is not None:
                passage.failed(error) if isinstance(error, ModelError) else passage.left()
            raise
        if passage is not None:
            passage.ended()

    def _settle(self, answer: HttpResponse | HttpStream, usage: TokenUsage) -> None:
        """What a reply cost, for the rate limit."""
        if self._limiter is None or answer.passage is None:
            return
        given, made = usage.input_tokens, usage.output_tokens
        if given is None and made is None:
            given = usage.total_tokens
        if given is not None or made is not None:
            answer.passage.settle(given or 0, made or 0)

    @property
    def base_url(self) -> str:
        """The address of the endpoint that it asks."""
        return self._base_url

    @property
    def model_name(self) -> str:
        """The model that is asked, unless a request names another."""
        return self._model

    def share(self, outages: Outages) -> None:
        """Learn of outages from the other models that share the object, and they from this one: those that ask the same
        endpoint in the same way have its circuits and its retry budget in common. To be called before the first
        request; the models of an application context share already."""
        self._outages = outages
        self._http.gate = outages.gate(self._base_url, **self._gate_of)

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}(vendor={self._row.name!r}, model={self._model!r}, base_url={self._base_url!r})"
