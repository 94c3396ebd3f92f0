"""A vendor as data that one plugin brings for another: the wires of a family read the rows of their family."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agentforge.plugin.faults import PluginError

__all__ = ("VendorProfile",)

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class VendorProfile(Mapping[str, object]):
    """The fields of one vendor's row. ``family`` is whose rows it is one of, ``plugin`` the name of the one that brings
    it. What the fields mean, and whether they are right, the family's own plugin says.

    Raises `PluginError` for a name that is none and for a row that is no mapping of texts.

    >>> row = VendorProfile("wires", "house", {"base_url": "https://llm.example/v1"}, plugin="acme")
    >>> row["base_url"], row.plugin
    ('https://llm.example/v1', 'acme')
    """

    def __init__(self, family: str, name: str, fields: Mapping[str, object], *, plugin: str) -> None:
        for what, text in (("family", family), ("name", name)):
            if not isinstance(text, str) or not _NAME.fullmatch(text):
                raise PluginError(f"the {what} of a vendor profile must be lower-case letters and digits, not {text!r}")
        if not isinstance(fields, Mapping) or not all(isinstance(key, str) for key in fields):
            raise PluginError(f"the vendor profile {name!r} must be a mapping from field to value")
        self.family = family
        self.name = name
        self.plugin = plugin
        self._fields = dict(fields)

    def __getitem__(self, key: str) -> object:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"VendorProfile({self.family!r}, {self.name!r}, plugin={self.plugin!r})"
