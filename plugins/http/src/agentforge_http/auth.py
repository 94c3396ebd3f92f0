"""Credentials of an API: what they add to a request, and what of it has to be masked everywhere."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentforge.errors import ToolExecutionError
from agentforge_http.header_text import is_token
from agentforge_http.tokens import TokenProvider

if TYPE_CHECKING:
    from agentforge_http.settings import AuthSettings, StaticAuthSettings

__all__ = ("Auth", "Credentials", "auth_of")


@dataclass(frozen=True, slots=True)
class Credentials:
    """What goes with one request; ``token`` is the one that a provider gave."""

    headers: tuple[tuple[str, str], ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    token: str | None = None

    def __repr__(self) -> str:
        named = ", ".join(name for name, _ in (*self.headers, *self.query, *self.cookies))
        return f"Credentials({named or 'none'})"


class Auth:
    """Fixed credentials, and a provider of tokens where they end."""

    def __init__(self, fixed: Credentials | None = None, tokens: TokenProvider | None = None) -> None:
        self._fixed = fixed if fixed is not None else Credentials()
        self._tokens = tokens

    @property
    def can_renew(self) -> bool:
        """Whether another token may help after a 401."""
        return self._tokens is not None

    async def credentials(self, refused: str | None = None) -> Credentials:
        """What to send now; ``refused`` is a token that the API did not take. Raises what the provider raises."""
        if self._tokens is None:
            return self._fixed
        token = await self._tokens.token(refused) if refused is not None else await self._tokens.token()
        if not isinstance(token, str) or not is_token(token):
            raise ToolExecutionError("no token for the API: the provider gave none that a header can carry")
        fixed = self._fixed
        return Credentials((*fixed.headers, ("authorization", f"Bearer {token}")), fixed.query, fixed.cookies, token)

    def secrets(self) -> Iterator[str]:
        """What of the fixed credentials has to be masked."""
        for _, value in (*self._fixed.headers, *self._fixed.query, *self._fixed.cookies):
            yield value
            yield value.rpartition(" ")[2]  # without the word before it
        for name, value in self._fixed.headers:
            if name.lower() == "authorization" and value.startswith("Basic "):
                with contextlib.suppress(ValueError):  # one of the caller's own, which is no pair
                    yield base64.b64decode(value[6:]).decode().partition(":")[2]

    def __bool__(self) -> bool:
        return self._tokens is not None or self._fixed != Credentials()

    def __repr__(self) -> str:
        return f"Auth({'tokens' if self._tokens is not None else 'fixed' if self else 'none'})"


def auth_of(settings: AuthSettings | StaticAuthSettings) -> Auth:
    """The credentials that settings describe."""
    headers: list[tuple[str, str]] = []
    query: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    if settings.bearer is not None:
        headers.append(("authorization", f"Bearer {settings.bearer.get_secret_value()}"))
    if settings.basic is not None:
        pair = f"{settings.basic.username}:{settings.basic.password.get_secret_value()}"
        headers.append(("authorization", "Basic " + base64.b64encode(pair.encode()).decode("ascii")))
    if (key := settings.api_key) is not None:
        place = {"header": headers, "query": query, "cookie": cookies}[key.in_]
        place.append((key.name, key.value.get_secret_value()))
    return Auth(Credentials(tuple(headers), tuple(query), tuple(cookies)), getattr(settings, "token", None))
