"""Which credentials an operation gets: those of the security schemes it asks for, where they are given by scheme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentforge_http.auth import Auth, Credentials

__all__ = ("SeveralAuths", "auth_for")


class SeveralAuths(Auth):
    """Credentials of several schemes in one request."""

    def __init__(self, parts: Sequence[Auth]) -> None:
        super().__init__()
        self._parts = tuple(parts)

    @property
    def can_renew(self) -> bool:
        """Whether another token may help after a 401."""
        return any(part.can_renew for part in self._parts)

    async def credentials(self, refused: str | None = None) -> Credentials:
        """All of them. Raises what a provider of tokens raises."""
        found = [await part.credentials(refused) for part in self._parts]
        headers: dict[str, tuple[str, str]] = {}
        for name, value in (pair for each in found for pair in each.headers):
            headers.setdefault(name.lower(), (name, value))  # a request has one Authorization
        return Credentials(
            tuple(headers.values()),
            tuple(pair for each in found for pair in each.query),
            tuple(pair for each in found for pair in each.cookies),
            next((each.token for each in found if each.token is not None), None),
        )

    def secrets(self) -> Iterator[str]:
        """What of them has to be masked."""
        for part in self._parts:
            yield from part.secrets()

    def __bool__(self) -> bool:
        return any(self._parts)


def auth_for(security: Sequence[frozenset[str]] | None, by_scheme: Mapping[str, Auth]) -> Auth | None:
    """The credentials of the first alternative whose schemes all are given; ``None``: those of all operations."""
    for alternative in security or ():
        if alternative and all(name in by_scheme for name in alternative):
            parts = [by_scheme[name] for name in sorted(alternative)]
            return parts[0] if len(parts) == 1 else SeveralAuths(parts)
    return None
