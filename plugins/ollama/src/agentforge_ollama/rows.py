"""What an endpoint of this form wants and can do, as data: a server of one's own, Ollama's cloud, and other hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from agentforge.model import Degradation, ModelProfile
from agentforge.provider import FEATURES, EndpointRow, VendorTable
from agentforge_ollama.subsets import FORMAT, TOOLS

__all__ = (
    "CLOUD",
    "GENERIC",
    "OLLAMA",
    "OLLAMA_VENDORS",
    "VENDORS",
    "OllamaRow",
    "row_for",
    "vendor_row",
)

#: What this form has words for; that no tool is to be called is said by offering none.
_CHOICES = frozenset({"auto"})
_FORMATS = frozenset({"text", "json", "json_schema"})

#: The levels of thinking, and those of models that know no further ones.
_LEVELS = ("low", "medium", "high", "max")
_THREE = ("low", "medium", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaRow(EndpointRow):
    """One endpoint as data. Copy a row with `dataclasses.replace` to describe an endpoint of your own.

    >>> OllamaRow(name="house", base_url="http://gpu-box:11434").always_thinks
    'gpt-oss'
    """

    PATTERNS: ClassVar[tuple[str, ...]] = (*EndpointRow.PATTERNS, "always_thinks")
    FEATURES: ClassVar[frozenset[str]] = FEATURES | {"reasoning_effort.none"}
    FORM: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "tool_choice": ("auto",),  # that no tool is to be called is said by offering none
        "parallel_tool_calls": ("always", "never"),
        "strict_tools": (False,),
        "response_formats": ("text", "json", "json_schema"),
        "files": (False,),
    }

    #: Models (regular expression) that think whatever is said, and know three levels of it.
    always_thinks: str | None = "gpt-oss"
    #: Whether the server leaves out the beginning of a conversation that is too long, unless it is told not to.
    cuts_histories: bool = True


_UNSUPPORTED: Mapping[str, Degradation] = {
    "tool_name": "map",
    "tool_choice.none": "map",
    "tool_choice.allowed": "map",
}

OLLAMA = OllamaRow(
    name="ollama",
    base_url="http://localhost:11434",
    base_url_variable="OLLAMA_HOST",
    # No variable: a key of the cloud must not reach a server of one's own by default.
    replay_fields=("thinking",),
    efforts=_LEVELS,
    image_urls=False,
    subset=FORMAT,
    schemas=TOOLS,
    capabilities=ModelProfile(
        tool_choice=_CHOICES,
        parallel_tool_calls="always",
        strict_tools=False,
        response_formats=_FORMATS,
        # A grammar holds the model to the form, and calls are outside it.
        response_format_with_tools=False,
        audio=False,
        files=False,
        max_tools=None,
        unsupported=_UNSUPPORTED,
    ),
)

CLOUD = replace(
    OLLAMA,
    name="ollama-cloud",
    base_url="https://ollama.com",
    base_url_variable=None,
    key_variable="OLLAMA_API_KEY",
    key_required=True,
    cuts_histories=False,
    others_can={"response_format.json": "ollama", "response_format.json_schema": "ollama"},
    capabilities=OLLAMA.capabilities.with_(response_formats=frozenset({"text"})),
)

GENERIC = replace(OLLAMA, name="generic", base_url=None, base_url_variable=None)

#: The rows by name.
VENDORS = MappingProxyType({row.name: row for row in (OLLAMA, CLOUD, GENERIC)})

#: The rows with what finds them; ``ollama`` is also the family that other plugins bring rows for.
OLLAMA_VENDORS = VendorTable("ollama", OllamaRow, VENDORS, default="ollama")


def row_for(row: OllamaRow, model: str) -> OllamaRow:
    """The row with the levels of thinking that ``model`` knows.

    >>> row_for(OLLAMA, "gpt-oss:20b").efforts
    ('low', 'medium', 'high')
    """
    if row.always_thinks and re.search(row.always_thinks, model):
        return replace(row, efforts=tuple(level for level in row.efforts if level in _THREE))
    return row


def vendor_row(vendor: str | OllamaRow) -> OllamaRow:
    """The row of that name; a row is returned as it is. Raises `ConfigurationError` for an unknown name.

    >>> vendor_row("ollama-cloud").key_variable
    'OLLAMA_API_KEY'
    """
    return OLLAMA_VENDORS.row(vendor)
