"""Texts as vectors, from the embeddings endpoint beside that of Chat Completions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentforge.errors import ConfigurationError, ModelError, ProtocolError
from agentforge.http import HttpRequest, HttpTimeouts, HttpTransport, RetryPolicy, request_id_of, unexpected_answer
from agentforge.model import EmbeddingResponse, TokenUsage
from agentforge.provider import EndpointModel, dump_bytes, load
from agentforge_openai.address import embeddings_url
from agentforge_openai.profile import VendorRow
from agentforge_openai.vendors import CHAT_VENDORS
from agentforge_openai.wire.errors import error_in_answer, holds_error, parse_error
from agentforge_openai.wire.usage import decode_usage

if TYPE_CHECKING:
    from agentforge.http import CircuitBreaker, RateLimit, RateLimiter, RetryBudget

__all__ = ("OpenAiEmbeddingModel",)

_MAX_BODY_BYTES = 64 * 1024 * 1024


class OpenAiEmbeddingModel(EndpointModel):
    """An embedding model behind an endpoint of OpenAI's form; an `EmbeddingModel`.

    Address, key, headers and all of HTTP are as `OpenAiChatModel` takes them. ``dimensions`` asks for shorter vectors,
    where the model can. More than ``batch_size`` texts go in several requests, one after the other. May be used from
    several threads.

    Raises `ConfigurationError` for settings that cannot be honoured.

    >>> OpenAiEmbeddingModel(model="m", base_url="http://localhost:8000/v1")
    OpenAiEmbeddingModel(vendor='generic', model='m', base_url='http://localhost:8000/v1')
    """

    VENDORS = CHAT_VENDORS

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | VendorRow | Mapping[str, object] | None = None,
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
        organization: str | None = None,
        project: str | None = None,
        api_version: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 128,
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
            circuit_breaker=circuit_breaker,
            retry_budget=retry_budget,
            rate_limit=rate_limit,
            transport=transport,
            verify=verify,
            own_headers={"openai-organization": organization, "openai-project": project},
            environment=environment,
            proxy=proxy,
            ca_bundle=ca_bundle,
            max_connections=max_connections,
            max_body_bytes=max_body_bytes if max_body_bytes is not None else _MAX_BODY_BYTES,
        )
        for name, value in (("batch_size", batch_size), ("dimensions", dimensions)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ConfigurationError(f"{name} is a whole number from 1, not {value!r}")
        self._url = embeddings_url(self._row, self._base_url, model, api_version)
        self._dimensions = dimensions
        self._batch_size = batch_size

    async def embed(self, texts: Sequence[str]) -> EmbeddingResponse:
        """A vector for each text, with the tokens of all requests. Raises `ModelError`; then none is given."""
        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        given = list(texts)
        vectors: list[tuple[float, ...]] = []
        usage, answered_by = TokenUsage(), None
        for at in range(0, len(given), self._batch_size):
            batch = given[at : at + self._batch_size]
            body: dict[str, object] = {"model": self._model, "input": batch}
            if self._dimensions is not None:
                body["dimensions"] = self._dimensions
            answer = await self._http.send(
                HttpRequest(
                    "POST", self._url, self._headers, dump_bytes(body), self._timeouts, subject=self._model, judged=True
                )
            )
            with self._judging(answer):
                made, cost, answered_by = self._decode(answer.content, answer.headers, len(batch))
            self._settle(answer, cost)
            vectors += made
            usage = usage + cost
        return EmbeddingResponse(tuple(vectors), usage, answered_by)

    def _error(self, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        return parse_error(status, headers, content, secrets=self.secrets)

    def _decode(
        self, content: bytes, headers: Mapping[str, str], count: int
    ) -> tuple[list[tuple[float, ...]], TokenUsage, str | None]:
        try:
            body: Any = load(content.decode())
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=self.secrets)
        if not body.get("data") and holds_error(body):
            raise error_in_answer(body, headers=headers, secrets=self.secrets)
        data = body.get("data")
        found: dict[int, tuple[float, ...]] = {}
        for place, item in enumerate(data if isinstance(data, list) else ()):
            vector = item.get("embedding") if isinstance(item, dict) else None
            index = item.get("index", place) if isinstance(item, dict) else None
            if isinstance(vector, list) and isinstance(index, int) and vector and all(map(_is_number, vector)):
                found[index] = tuple(map(float, vector))
        if sorted(found) != list(range(count)):
            raise ProtocolError(
                f"the answer has {len(found)} vectors for {count} texts",
                request_id=request_id_of(headers),
                next_step="Check that base_url points at an embeddings API, and that the model makes vectors.",
            )
        usage, name = body.get("usage"), body.get("model")
        return (
            [found[index] for index in range(count)],
            decode_usage(usage) if isinstance(usage, dict) else TokenUsage(),
            name if isinstance(name, str) else None,
        )


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
