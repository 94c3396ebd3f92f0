"""The rows of one family of wires by name, and rows as mappings, which other plugins bring and users write: with the
fields of a row, checked whole before they are used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.provider.row import EndpointRow
from agentforge.tool.spec import PORTABLE, STANDARD, SchemaSubset

if TYPE_CHECKING:
    from agentforge.plugin import BeanSettings

__all__ = ("VendorTable",)

Row = TypeVar("Row", bound=EndpointRow)

_NOBODY: Mapping[str, Mapping[str, object]] = MappingProxyType({})


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

    def row(self, vendor: str | Row | Mapping[str, object] | None, *, base_url: str | None = None) -> Row:
        """The row of that name; a row is returned as it is, and a mapping describes one (see `derived`). Without a name
        it is the row whose own address has the host of ``base_url``, `other` at another host, `default` without an
        address.

        Raises `ConfigurationError` for an unknown name, and for a mapping that is wrong.
        """
        if vendor is None:
            vendor = self._at(base_url) if base_url else self.default
        if isinstance(vendor, Mapping):
            return self.derived(vendor, base_url=base_url)
        if not isinstance(vendor, str):
            return vendor
        try:
            return self.rows[vendor]
        except KeyError:
            raise self._unknown(vendor, self.rows, f"give a mapping or a {self.kind.__name__} of your own") from None

    def _at(self, base_url: str) -> str:
        """The row that lives there. Its key may go there, so the whole origin has to be the same."""
        origin = _origin(base_url)
        if origin is None:
            return self.other
        return next(
            (name for name, row in self.rows.items() if origin in _origins(row.base_url, row.further_base_urls)),
            self.other,
        )

    def named(
        self,
        vendor: str | Mapping[str, object] | None,
        brought: Mapping[str, Mapping[str, object]],
        base_url: str | None = None,
    ) -> str | Row | None:
        """The vendor to give to the model: a brought row, the one that a mapping describes, or the name as it is, for
        the model to look up; without a name, the brought row whose own address has the host of ``base_url``.

        Raises `ConfigurationError` for a row that is wrong, for one that takes the name of ours, and for a name that is
        nobody's.
        """
        if isinstance(vendor, Mapping):
            return self.derived(vendor, brought, base_url=base_url)
        if vendor is None and base_url and (origin := _origin(base_url)) is not None:
            vendor = next(
                (
                    name
                    for name, given in brought.items()
                    if origin in _origins(given.get("base_url"), given.get("further_base_urls"))
                ),
                None,
            )
        if vendor is None or (vendor in self.rows and vendor not in brought):
            return vendor
        if vendor in brought:
            return self.made(vendor, brought[vendor])
        raise self._unknown(vendor, [*self.rows, *brought], "name the plugin that brings one in 'plugins' of the file")

    def derived(
        self,
        given: Mapping[str, object],
        brought: Mapping[str, Mapping[str, object]] = _NOBODY,
        *,
        base_url: str | None = None,
    ) -> Row:
        """The row that a mapping describes: ``name`` is what it is called, ``like`` the row that it starts from (unset:
        `other`), and all else are fields of the row. Mappings add to those of that row, anything else takes the place
        of what is there; a row that moves to another address, its own or the ``base_url`` it is used with, reads no
        variable of a key of the one that it starts from.

        Raises `ConfigurationError` for a field or a value that cannot be, and for a name that a row has already.
        """
        from agentforge.provider.row_settings import row_from

        read = self._read(given)
        name = str(getattr(read, "name"))  # noqa: B009 - the model is made at run time
        like = getattr(read, "like", None) or self.other
        if name in self.rows or name in brought:
            raise ConfigurationError(
                f"the name {name!r} of the vendor is that of a row that is there already",
                next_step=f"Give it another name; like: {name} starts from that row.",
            )
        if like in brought:
            base = self.made(like, brought[like])
        elif like in self.rows:
            base = self.rows[like]
        else:
            raise self._unknown(like, [*self.rows, *brought], "leave 'like' out of the vendor")
        moved = base_url is not None and base.base_url is not None
        elsewhere = moved and _origin(base_url) not in _origins(base.base_url, base.further_base_urls)
        return replace(row_from(base, read, self._subsets(), elsewhere=elsewhere), named_by_user=True)

    def made(self, name: str, given: Mapping[str, object]) -> Row:
        """The row that a plugin brings: the fields of a row, or of ``like`` and what differs from that. Raises
        `ConfigurationError`, which names the plugin, for one that is wrong."""
        from agentforge.provider.row_settings import row_from

        source = f"the vendor {name!r} of the plugin {getattr(given, 'plugin', 'unknown')!r}"
        if name in self.rows:
            raise ConfigurationError(
                f"{source} has the name of a vendor that is there already", next_step="Register it under another name."
            )
        try:
            read = self._read({**given, "name": name})
            like = getattr(read, "like", None)
            if like is not None and like not in self.rows:
                raise self._unknown(like, self.rows, "leave 'like' out")
            base = self.rows[like] if like is not None else self.kind(name=name)
            return row_from(base, read, self._subsets())
        except ConfigurationError as error:
            raise ConfigurationError(f"{source} is wrong: {error.message}", next_step=error.next_step) from None

    def settings(self) -> type[BeanSettings]:
        """The model of the mappings that describe a row; made when it is first asked for."""
        from agentforge.provider.row_settings import row_settings

        return row_settings(self.kind, tuple(self.rows), tuple(self._subsets()))  # type: ignore[arg-type]

    def _read(self, given: Mapping[str, object]) -> BeanSettings:
        from pydantic import ValidationError

        from agentforge.provider.row_settings import first_fault

        model = self.settings()
        try:
            return model.model_validate(dict(given))
        except ValidationError as error:
            raise first_fault(error, given, model) from None

    def _subsets(self) -> dict[str, SchemaSubset]:
        of_rows = (each for row in self.rows.values() for each in (row.subset, row.schemas) if each is not None)
        return {each.name: each for each in (STANDARD, PORTABLE, *of_rows)}

    def _unknown(self, vendor: str, known: Collection[str], otherwise: str) -> ConfigurationError:
        from agentforge.config import did_you_mean

        return ConfigurationError(
            f"there is no vendor row {vendor!r}", next_step=f"{did_you_mean(vendor, sorted(known))} Or {otherwise}."
        )


_PORTS = {"https": 443, "http": 80}
_Origin: TypeAlias = tuple[str, str, int | None]


def _origins(address: object, further: object) -> list[_Origin | None]:
    """The origins of a row's own addresses."""
    more = further if isinstance(further, (list, tuple)) else ()
    return [_origin(each) for each in (address, *more) if each]


def _origin(address: object) -> _Origin | None:
    """Scheme, host and port; ``None`` for what is no address, which is said where it is used."""
    if not isinstance(address, str):
        return None
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
