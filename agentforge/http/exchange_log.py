"""The debug log of what went over the wire: one line an exchange, nothing secret in it, no cost while it is off."""

from __future__ import annotations

import logging
from collections.abc import Mapping

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

    def _body(self, content: bytes) -> str:
        text = without_credentials(content[:_READ].decode("utf-8", "replace"), self._secrets)
        more = f" ({len(content)} bytes)" if len(content) > _SHOWN else ""
        return one_line(text, _SHOWN) + more
