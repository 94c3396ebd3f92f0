"""The debug log of what went over the wire: one line an exchange, nothing secret in it, no cost while it is off.

A stream has a second line for its end, so that one that hangs shows too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Mapping

from agentforge.errors import ModelError
from agentforge.http.display import one_line, safe_headers, safe_url, without_credentials
from agentforge.http.transport import HttpRequest
from agentforge.masking import Secrets

__all__ = ("ExchangeLog",)

_SHOWN = 2048  # characters of a body
_READ = 4 * _SHOWN  # bytes that are masked before they are cut


class ExchangeLog:
    """Writes to the logger ``agentforge.http`` at DEBUG: method, URL, status, seconds, headers, bodies up to 2 KiB.

    Query values, headers that carry credentials or cookies, registered secrets and JSON members named like credentials
    are masked; line breaks and control characters are escaped, so that one event is one line.
    """

    __slots__ = ("_logger", "_secrets")

    def __init__(self, secrets: Secrets) -> None:
        self._logger = logging.getLogger("agentforge.http")
        self._secrets = secrets

    def enabled(self) -> bool:
        """Whether anything would be written; to be asked before any text is made."""
        return self._logger.isEnabledFor(logging.DEBUG)

    def answered(
        self,
        request: HttpRequest,
        status: int,
        headers: Mapping[str, str],
        content: bytes | None,
        seconds: float,
        attempt: int,
    ) -> None:
        """One line for an answer; ``content`` is ``None`` while it is still streaming."""
        self._logger.debug(
            "%s -> %d in %.3f s (attempt %d) request %s %s answer %s %s",
            self._line(request),
            status,
            seconds,
            attempt,
            self._headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers]),
            self._body(request.content),
            self._headers(list(headers.items())),
            "(stream)" if content is None else self._body(content),
        )

    async def watch(
        self, request: HttpRequest, chunks: AsyncGenerator[bytes, None], attempt: int
    ) -> AsyncGenerator[bytes, None]:
        """The chunks of a good answer, and a line with the first of them when they are over or left."""
        start = time.monotonic()
        kept: list[bytes] = []
        size = 0
        end = "left"
        try:
            async for chunk in chunks:
                if size < _READ:
                    kept.append(chunk)
                size += len(chunk)
                yield chunk
            end = "ended"
        except ModelError as error:
            end = f"broken by {error.code}"
            raise
        finally:
            self._logger.debug(
                "%s -> stream %s after %.3f s (attempt %d) %s",
                self._line(request),
                end,
                time.monotonic() - start,
                attempt,
                self._body(b"".join(kept), size),
            )
            await chunks.aclose()

    def failed(self, request: HttpRequest, error: ModelError, seconds: float, attempt: int) -> None:
        """One line for a request without an answer."""
        self._logger.debug(
            "%s -> %s in %.3f s (attempt %d): %s",
            self._line(request),
            error.code,
            seconds,
            attempt,
            one_line(self._secrets.mask(error.message), _SHOWN),
        )

    def waiting(self, request: HttpRequest, error: ModelError, delay: float, attempt: int) -> None:
        """One line for a retry to come."""
        self._logger.debug(
            "%s: attempt %d failed with %s, next in %.3f s", self._line(request), attempt, error.code, delay
        )

    def _line(self, request: HttpRequest) -> str:
        return f"{one_line(request.method, 20)} {self._secrets.mask(safe_url(request.url))}"

    def _headers(self, headers: list[tuple[str, str]]) -> str:
        shown = (f"{name}: {value}" for name, value in safe_headers(headers, self._secrets))
        return one_line("{" + ", ".join(shown) + "}", _SHOWN)

    def _body(self, content: bytes, size: int | None = None) -> str:
        text = without_credentials(content[:_READ].decode("utf-8", "replace"), self._secrets)
        size = len(content) if size is None else size
        more = f" ({size} bytes)" if size > _SHOWN else ""
        return one_line(text, _SHOWN) + more
