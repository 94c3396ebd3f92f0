"""Vendors that other plugins bring: mappings with the fields of a `VendorRow`, checked whole before they are used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from agentforge.config import did_you_mean
from agentforge.errors import ConfigurationError
from agentforge.http import parse_base_url
from agentforge.model import ModelProfile
from agentforge_openai.profile import ThinkingRule, VendorRow
from agentforge_openai.vendors import VENDORS

__all__ = ("FAMILY", "row_of", "vendor_of")

#: Whose rows other plugins register, with the hook ``agentforge_vendor_profiles``.
FAMILY = "openai"

_PATTERNS = ("call_id_pattern", "replay_refused_by", "tools_refuse_effort", "tools_need_effort_none", "stream_only")
_INNER: Mapping[str, type] = {"thinking": ThinkingRule, "capabilities": ModelProfile}


def vendor_of(vendor: str | None, brought: Mapping[str, Mapping[str, object]]) -> str | VendorRow | None:
    """The vendor to give to the model: a brought row, or the name as it is, for the model to look up.

    Raises `ConfigurationError` for a row that is wrong, for one that takes the name of ours, and for a name that is
    nobody's.
    """
    if vendor is None or (vendor in VENDORS and vendor not in brought):
        return vendor
    if vendor in brought:
        return row_of(vendor, brought[vendor])
    known = sorted({*VENDORS, *brought})
    raise ConfigurationError(
        f"there is no vendor row {vendor!r}",
        next_step=f"{did_you_mean(vendor, known)} A plugin that brings one is named in 'plugins' of the file.",
    )


def row_of(name: str, given: Mapping[str, object]) -> VendorRow:
    """The row that a plugin brings. Raises `ConfigurationError`, which names the plugin, for one that is wrong."""
    source = f"the vendor {name!r} of the plugin {getattr(given, 'plugin', 'unknown')!r}"
    if name in VENDORS:
        raise ConfigurationError(
            f"{source} has the name of a vendor that is there already", next_step="Register it under another name."
        )
    for fault, step in _faults(given):
        raise ConfigurationError(f"{source} is wrong: {fault}", next_step=step)
    try:
        made = _validated({"name": name, **given})
        if made.base_url:
            parse_base_url(made.base_url, "base_url")
    except (ValueError, ConfigurationError) as error:
        words = error.message if isinstance(error, ConfigurationError) else _words_of(error)
        raise ConfigurationError(f"{source} is wrong: {words}", next_step="Correct the plugin.") from None
    return made


def _faults(given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What pydantic would pass over in a dataclass: unknown fields; and expressions that are none."""
    for place, kind, found in (
        ("", VendorRow, given),
        *((name, kind, given.get(name)) for name, kind in _INNER.items()),
    ):
        if not isinstance(found, Mapping):
            continue
        known = [item.name for item in fields(kind) if not (place in ("", "capabilities") and item.name == "name")]
        for key in found:
            if key not in known:
                where = f"{place}.{key}" if place else key
                yield f"there is no field {where!r}", did_you_mean(str(key), known)
    thinking = given.get("thinking")
    patterns = [(name, given.get(name)) for name in _PATTERNS]
    if isinstance(thinking, Mapping):
        patterns.append(("thinking.models", thinking.get("models")))
    for name, text in patterns:
        if isinstance(text, str):
            try:
                re.compile(text)
            except re.error as error:
                yield f"{name!r} is no regular expression: {error}", "Correct the plugin."


def _validated(given: Mapping[str, object]) -> VendorRow:
    from pydantic import TypeAdapter

    capabilities = given.get("capabilities", {})
    if isinstance(capabilities, Mapping):
        given = {**given, "capabilities": dict(capabilities)}
    made: VendorRow = TypeAdapter(VendorRow).validate_python(dict(given))
    return made


def _words_of(error: ValueError) -> str:
    """Each thing that is wrong, without the value, which may be anything."""
    found: list[Any] = getattr(error, "errors", list)()
    said = [f"{'.'.join(map(str, each['loc']))!r}: {each['msg']}" for each in found]
    return "; ".join(said) or str(error)
