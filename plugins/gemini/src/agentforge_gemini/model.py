"""The model behind `gemini.chat`: the generateContent wire over the HTTP seam."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import HttpTimeouts, HttpTransport, RetryPolicy
from agentforge.model import ChatRequestParameters, ChatResponse, Notice, PriceRows, PriceTable
from agentforge.provider import Answering, Endpoint, Head, WireModel, profile_of
from agentforge_gemini.address import check_model, is_vertex, model_url, project_url
from agentforge_gemini.rows import GEMINI_VENDORS, VERTEX, GeminiRow, row_for
from agentforge_gemini.wire.errors import parse_error
from agentforge_gemini.wire.gemini_wire import GeminiWire
from agentforge_gemini.wire.response import decode_response
from agentforge_gemini.wire.stream import StreamDecoder

if TYPE_CHECKING:
    import httpx

    from agentforge.http import CircuitBreaker, RateLimit, RateLimiter, RetryBudget

__all__ = ("GeminiChatModel",)

#: Where Vertex AI answers keys of its own, without a project.
_EXPRESS = "https://aiplatform.googleapis.com/v1beta1"


class GeminiChatModel(WireModel[Answering]):
    """A model behind a generateContent endpoint.

    ``vendor`` is the name of a row, a `GeminiRow`, or a mapping that describes one; unset, it is ``vertexai`` for a
    ``project`` or an address of Vertex AI, the row that ``base_url`` is the address of, ``generic`` for any other
    ``base_url``, and ``gemini`` without one. ``project`` and ``location`` (unset: ``GOOGLE_CLOUD_PROJECT``,
    ``GOOGLE_CLOUD_LOCATION``, ``global``) make the address at Vertex AI. ``api_key`` defaults to the row's environment
    variable; with ``auth="bearer"``, the default at Vertex AI, it is an access token. ``include_thoughts`` says whether
    the text of thoughts comes back; unset, as the model does. The other settings are those of every model behind an
    endpoint: ``timeouts`` takes a number of seconds for the whole exchange, ``defaults`` are merged below parameters
    of a request, ``tool_mode="json_schema"`` describes the tools in the prompt, ``names`` is ``alias`` or ``error``,
    ``profile_overrides`` changes fields of the `ModelProfile`, ``prices`` are rows in front of the vendor's,
    ``http_client`` is an ``httpx.AsyncClient`` of your own that is not closed here, ``max_connections`` (100) and
    ``max_body_bytes`` (64 MiB) are bounds. A model may be used from several threads.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> GeminiChatModel(model="m", base_url="http://localhost:8000")
    GeminiChatModel(vendor='generic', model='m', base_url='http://localhost:8000')
    """

    VENDORS = GEMINI_VENDORS

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | GeminiRow | Mapping[str, object] | None = None,
        project: str | None = None,
        location: str | None = None,
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
        auth: Literal["x-goog-api-key", "bearer"] | None = None,
        include_thoughts: bool | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        names: Literal["alias", "error"] | None = None,
        profile_overrides: Mapping[str, object] | None = None,
        prices: PriceTable | PriceRows | None = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if auth not in (None, "x-goog-api-key", "bearer"):
            raise ConfigurationError(
                f"auth must be 'x-goog-api-key' or 'bearer', not {auth!r}",
                next_step="Leave it unset for what the row says.",
            )
        if vendor is None and (project is not None or is_vertex(base_url)):
            vendor = VERTEX.name
        row = GEMINI_VENDORS.row(vendor, base_url=base_url)
        row = row if auth is None else replace(row, auth=auth)
        environment = os.environ if environment is None else environment
        if row.name == VERTEX.name:
            base_url = _vertex_url(row, project, location, base_url, environment)
        elif project is not None or location is not None:
            raise ConfigurationError(
                f"project and location are of vendor {VERTEX.name!r}, and this is {row.name!r}",
                next_step=f"Leave them out, or set vendor: {VERTEX.name}.",
            )
        super().__init__(
            wire=GeminiWire(include_thoughts=include_thoughts),
            model=model,
            api_key=api_key,
            base_url=base_url,
            vendor=row,
            defaults=defaults,
            headers=headers,
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
        if self._row.name != "gemini":  # what others ask for the same names is theirs
            return None
        from agentforge_gemini.prices import PRICES

        return PRICES

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        row: GeminiRow = self._row
        return model_url(base_url, row.version, row.resource, model, stream=stream)

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
            check_model(name)
            row = row_for(self._row, name)
            profile = profile_of(row, name, base_url=self._base_url, overrides=self._overrides)
            endpoint = self._endpoints[name] = Endpoint(row, profile, name, self._base_url)
        return endpoint


def _vertex_url(
    row: GeminiRow, project: str | None, location: str | None, base_url: str | None, environment: Mapping[str, str]
) -> str | None:
    """The address at Vertex AI: the given one, in which a project may be missing, or that of the project."""
    given = base_url or environment.get(row.base_url_variable or "") or None
    if given is not None and "/projects/" in given:
        if project is not None or location is not None:
            raise ConfigurationError(
                "base_url holds a project already, and project or location is given too",
                next_step="Leave project and location out, or give base_url without a path.",
            )
        return given
    if row.auth != "bearer" and project is None and location is None:
        return given or _EXPRESS
    made = project_url(project, location, row.version, environment, given)
    if made is None and (given is None or location is not None or is_vertex(given)):
        raise ConfigurationError(
            f"vendor {row.name!r} needs a project, and none was given",
            next_step="Give project (and location), set GOOGLE_CLOUD_PROJECT, or give the whole base_url.",
        )
    return made or given
