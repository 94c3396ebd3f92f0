"""What is masked while a call runs: the configuration's secrets, tokens that were fetched, and the run's own values.

A client lives longer than a run, so that what is a secret of one run must not stay in the client's set: it is held in
the context of the call's task, which the client's log sees too.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote, quote_plus

from agentforge.masking import MASK, Secrets

__all__ = ("CallSecrets",)

_KEPT_TOKENS = 8
_of_call: ContextVar[Secrets | None] = ContextVar("agentforge_http_secrets", default=None)
_MEMBER = re.compile(
    r'("[^"\\]{0,64}(?:pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|'
    r'cookie|credential)[^"\\]{0,64}"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|$)',
    re.IGNORECASE,
)


class _Written(Secrets):
    """Secrets in all the forms in which a server writes what it was sent: in addresses, HTML and PHP's JSON, too."""

    __slots__ = ()

    def add(self, value: str) -> None:
        super().add(value)
        for form in {
            quote(value, safe=""),
            quote(value),
            quote_plus(value),
            html.escape(value),
            value.replace("/", "\\/"),
        }:
            super().add(form)


class CallSecrets(_Written):
    """The secrets of one client; ``base`` are those of the configuration, which may grow."""

    __slots__ = ("_base", "_tokens")

    def __init__(self, base: Secrets, values: Iterable[str] = ()) -> None:
        super().__init__(values)
        self._base = base
        self._tokens: list[Secrets] = []

    def add_token(self, token: str) -> None:
        """Mask a token that was fetched; of these only the last few are kept."""
        if not any(each.mask(token) == MASK for each in self._tokens):
            self._tokens = [*self._tokens[1 - _KEPT_TOKENS :], _Written([token])]

    def mask(self, text: str) -> str:
        """The text with every secret replaced."""
        text = self._base.mask(super().mask(text))
        for token in self._tokens:
            text = token.mask(text)
        here = _of_call.get()
        return text if here is None else here.mask(text)

    def mask_members(self, text: str) -> str:
        """As `mask`; texts under JSON names that say credential are replaced too.

        >>> CallSecrets(Secrets()).mask_members('{"token": "abc", "name": "x"}')
        '{"token": "***", "name": "x"}'
        """
        return _MEMBER.sub(rf'\g<1>"{MASK}"', self.mask(text))

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "CallSecrets(masked)"

    @contextmanager
    def during_call(self, values: Iterable[str]) -> Iterator[None]:
        """Mask these too, in this task, until the block ends."""
        made = _Written(values)
        if not made:
            yield
            return
        before = _of_call.set(made)
        try:
            yield
        finally:
            _of_call.reset(before)
