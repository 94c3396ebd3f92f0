"""When to send again, and how long to wait before it: pure functions, so that a test needs no clock.

Whether a request may be repeated at all is not decided here: a model call is a read, and retries end when the first
byte of a good answer is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentforge.errors import ConfigurationError, ModelError

__all__ = ("RetryPolicy", "parse_retry_after", "parse_should_retry")

_NUMBER = re.compile(r"\d{1,12}(?:\.\d{0,9})?|\.\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after what waits a failed request is sent again. Times in seconds.

    ``max_retries``: sendings after the first one. ``base``: the shortest first wait; each further one doubles.
    ``cap``: no back-off is longer. ``retry_after_cap``: a longer wish of the provider ends the call at once. Raises
    `ConfigurationError` for negative values.
    """

    max_retries: int = 2
    base: float = 0.5
    cap: float = 8.0
    retry_after_cap: float = 60.0

    def __post_init__(self) -> None:
        for name in ("max_retries", "base", "cap", "retry_after_cap"):
            if not getattr(self, name) >= 0:
                raise ConfigurationError(
                    f"'{name}' of the retry policy must not be negative", next_step="Give 0 or more."
                )

    def delay(self, attempt: int, error: ModelError, random: Callable[[], float]) -> float | None:
        """The seconds to wait after the ``attempt``-th sending (from 1) failed; ``None``: do not send again.

        After a ``retry_after`` the wait is that long and at most a fifth longer. Otherwise it lies between once and
        four times the step of this attempt: clients that failed together must not come back together, and a spread of
        less than the step leaves them in one heap.

        >>> policy = RetryPolicy()
        >>> [policy.delay(n, ModelError("down"), lambda: 0.0) for n in (1, 2)]
        [None, None]
        >>> from agentforge.errors import OverloadedError
        >>> [policy.delay(n, OverloadedError("down"), lambda: 0.0) for n in (1, 2, 3)]
        [0.5, 1.0, None]
        """
        if attempt > self.max_retries or not error.retryable or self.too_long(error):
            return None
        if error.retry_after is not None:
            return error.retry_after * (1.0 + 0.2 * random())
        step = min(self.base * 2.0 ** (attempt - 1), self.cap / 4.0)
        return step * (1.0 + 3.0 * random())

    def too_long(self, error: ModelError) -> bool:
        """Whether the provider asks for a longer wait than this policy allows."""
        return error.retry_after is not None and error.retry_after > self.retry_after_cap


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The wait that a failed answer asks for, in seconds: ``retry-after-ms``, else ``retry-after`` in seconds or as an
    HTTP date, counted from ``now`` (seconds since the epoch). Zero, the past and what is neither are ``None``.

    To be read on failed answers only: several providers send it on good ones too.

    >>> parse_retry_after({"retry-after": "1.5"}, 0.0), parse_retry_after({"retry-after": "soon"}, 0.0)
    (1.5, None)
    """
    if (milliseconds := _positive(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000.0
    value = headers.get("retry-after")
    if value is None:
        return None
    if _NUMBER.fullmatch(value.strip()):
        return _positive(value)
    wait = _date(value, now)
    return wait if wait is not None and wait > 0 else None


def parse_should_retry(headers: Mapping[str, str]) -> bool | None:
    """What ``x-should-retry`` says; ``None`` when it is absent or neither ``true`` nor ``false``."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())


def _positive(text: str | None) -> float | None:
    if text is None or not _NUMBER.fullmatch(text.strip()):
        return None
    return float(text) or None


def _date(text: str, now: float) -> float | None:
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return date.timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
