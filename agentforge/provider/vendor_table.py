"""The rows of one family of wires by name, and vendors that other plugins bring: mappings with the fields of a row,
checked whole before they are used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, get_type_hints
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.http import parse_base_url
from agentforge.model import ModelProfile
from agentforge.provider.row import EndpointRow, ThinkingLimits

__all__ = ("VendorTable",)

Row = TypeVar("Row", bound=EndpointRow)


@dataclass(frozen=True, slots=True)
class VendorTable(Generic[Row]):
    """The vendors of a family. ``family`` is what other plugins name with the hook ``agentforge_vendor_profiles``;
    ``kind`` the class of its rows; ``default`` the row that holds without an address, ``other`` the one at an address
    that is no row's own."""

    family: str
    kind: type[Row]
    rows: Mapping[str, Row]
    default: str
    other: str = "generic"

    def row(self, vendor: str | Row | None, *, base_url: str | None = None) -> Row:
        """The row of that name; a row is returned as it is. Without a name it is the row whose own address has the host
        of ``base_url``, `other` at another host, `default` without an address.

        Raises `ConfigurationError` for an unknown name.
        """
        if vendor is None:
            vendor = self._at(base_url) if base_url else self.default
        if not isinstance(vendor, str):
            return vendor
        try:
            return self.rows[vendor]
        except KeyError:
            raise ConfigurationError(
                f"there is no vendor row {vendor!r}",
                next_step=f"Use one of {', '.join(self.rows)}, or give a {self.kind.__name__} of your own.",
            ) from None

    def _at(self, base_url: str) -> str:
        """The row that lives there. Its key may go there, so the whole origin has to be the same."""
        origin = _origin(base_url)
        if origin is None:
            return self.other
        return next(
            (row.name for row in self.rows.values() if row.base_url and _origin(row.base_url) == origin), self.other
        )

    def named(
        self, vendor: str | None, brought: Mapping[str, Mapping[str, object]], base_url: str | None = None
    ) -> str | Row | None:
        """The vendor to give to the model: a brought row, or the name as it is, for the model to look up; without a
        name, the brought row whose own address has the host of ``base_url``.

        Raises `ConfigurationError` for a row that is wrong, for one that takes the name of ours, and for a name that is
        nobody's.
        """
        if vendor is None and base_url and (origin := _origin(base_url)) is not None:
            vendor = next((name for name in brought if _origin(brought[name].get("base_url")) == origin), None)
        if vendor is None or (vendor in self.rows and vendor not in brought):
            return vendor
        if vendor in brought:
            return self.made(vendor, brought[vendor])
        from agentforge.config import did_you_mean

        known = sorted({*self.rows, *brought})
        raise ConfigurationError(
            f"there is no vendor row {vendor!r}",
            next_step=f"{did_you_mean(vendor, known)} A plugin that brings one is named in 'plugins' of the file.",
        )

    def made(self, name: str, given: Mapping[str, object]) -> Row:
        """The row that a plugin brings. Raises `ConfigurationError`, which names the plugin, for one that is wrong."""
        source = f"the vendor {name!r} of the plugin {getattr(given, 'plugin', 'unknown')!r}"
        if name in self.rows:
            raise ConfigurationError(
                f"{source} has the name of a vendor that is there already", next_step="Register it under another name."
            )
        for fault, step in self._faults(given):
            raise ConfigurationError(f"{source} is wrong: {fault}", next_step=step)
        try:
            made = self._validated({"name": name, **given})
            if made.base_url:
                parse_base_url(made.base_url, "base_url")
        except (ValueError, ConfigurationError) as error:
            words = error.message if isinstance(error, ConfigurationError) else _words_of(error)
            raise ConfigurationError(f"{source} is wrong: {words}", next_step="Correct the plugin.") from None
        return made

    def _faults(self, given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """What pydantic would pass over in a dataclass: unknown fields; and expressions that are none."""
        from agentforge.config import did_you_mean

        for place, kind, found in (
            ("", self.kind, given),
            ("thinking", self._thinking(), given.get("thinking")),
            ("capabilities", ModelProfile, given.get("capabilities")),
        ):
            if not isinstance(found, Mapping):
                continue
            known = [item.name for item in fields(kind) if not (place in ("", "capabilities") and item.name == "name")]
            for key in found:
                if key not in known:
                    where = f"{place}.{key}" if place else key
                    yield f"there is no field {where!r}", did_you_mean(str(key), known)
        thinking = given.get("thinking")
        patterns = [(name, given.get(name)) for name in self.kind.PATTERNS]
        if isinstance(thinking, Mapping):
            patterns.append(("thinking.models", thinking.get("models")))
        for name, text in patterns:
            if isinstance(text, str):
                try:
                    re.compile(text)
                except re.error as error:
                    yield f"{name!r} is no regular expression: {error}", "Correct the plugin."

    def _thinking(self) -> type[ThinkingLimits]:
        hint = get_type_hints(self.kind)["thinking"]
        found: type[ThinkingLimits] = next(kind for kind in hint.__args__ if kind is not type(None))
        return found

    def _validated(self, given: Mapping[str, object]) -> Row:
        from pydantic import TypeAdapter

        capabilities = given.get("capabilities", {})
        if isinstance(capabilities, Mapping):
            given = {**given, "capabilities": dict(capabilities)}
        made: Row = TypeAdapter(self.kind).validate_python(dict(given))
        return made


_PORTS = {"https": 443, "http": 80}


def _origin(address: object) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; ``None`` for what is no address, which is said where it is used."""
    if not isinstance(address, str):
        return None
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None


def _words_of(error: ValueError) -> str:
    """Each thing that is wrong, without the value, which may be anything."""
    found: list[Any] = getattr(error, "errors", list)()
    said = [f"{'.'.join(map(str, each['loc']))!r}: {each['msg']}" for each in found]
    return "; ".join(said) or str(error)
