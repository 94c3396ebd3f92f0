"""What an endpoint of this form wants and can do, as data: the vendor's two APIs, and a row for others that speak the
form. Models of one vendor differ, so most facts stand in its families; see `agentforge_gemini.families`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal

from agentforge.model import Degradation, ModelProfile
from agentforge.provider import FEATURES, EndpointRow, VendorTable
from agentforge_gemini.families import GEMINI, OTHERS, ModelFamily, family_of
from agentforge_gemini.subset import JSON_SCHEMA, OPEN_API

__all__ = (
    "GEMINI_VENDORS",
    "GENERIC",
    "GOOGLE",
    "VENDORS",
    "VERTEX",
    "GeminiRow",
    "row_for",
    "vendor_row",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiRow(EndpointRow):
    """One endpoint as data. Copy a row with `dataclasses.replace` to describe an endpoint of your own.

    >>> GeminiRow(name="house", base_url="https://llm.example/gemini").resource
    'models/{model}'
    """

    FEATURES: ClassVar[frozenset[str]] = FEATURES | {
        "include_thoughts",
        "own_tools_with_tools",
        "reasoning_effort.none",
    }
    FORM: ClassVar[Mapping[str, tuple[object, ...]]] = {"parallel_tool_calls": ("always", "never")}

    #: ``bearer``: ``Authorization: Bearer``; else a header of that name.
    auth: Literal["bearer", "x-goog-api-key"] = "x-goog-api-key"  # type: ignore[assignment]
    #: Where a model stands below the address, with ``{model}`` in its place.
    resource: str = "models/{model}"
    #: The version of the API, which is added to an address that names none.
    version: str = "v1beta"
    #: What the models take, first match first; one that fits none is taken for the newest.
    families: tuple[ModelFamily, ...] = ()
    #: Whether functions beside the vendor's own tools need the flag by which the parts of those are in the answer.
    shows_own_tools: bool = False

    def family(self, model: str) -> ModelFamily:
        """The family of ``model``."""
        return family_of(model, self.families)


_UNSUPPORTED: Mapping[str, Degradation] = {"tool_name": "map", "tool_choice.allowed": "map"}
_CAPABILITIES = ModelProfile(
    parallel_tool_calls="always",
    # 128 characters are allowed today and 64 on older pages; the first one is no digit and no sign.
    tool_name_pattern=r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$",
    streamed_tool_deltas=False,
    unsupported=_UNSUPPORTED,
)

GOOGLE = GeminiRow(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    base_url_variable="GOOGLE_GEMINI_BASE_URL",
    key_variable="GEMINI_API_KEY",
    key_required=True,
    families=GEMINI,
    subset=JSON_SCHEMA,
    schemas=JSON_SCHEMA,
    shows_own_tools=True,
    capabilities=_CAPABILITIES,
)

VERTEX = GeminiRow(
    name="vertexai",
    base_url_variable="GOOGLE_VERTEX_BASE_URL",
    key_variable="VERTEX_ACCESS_TOKEN",
    key_required=True,
    auth="bearer",
    resource="publishers/google/models/{model}",
    version="v1beta1",
    families=GEMINI,
    subset=JSON_SCHEMA,
    schemas=JSON_SCHEMA,
    capabilities=_CAPABILITIES,
)

GENERIC = GeminiRow(
    name="generic",
    # No variable: a key of one vendor must not reach another by default.
    families=(*GEMINI, OTHERS),
    subset=JSON_SCHEMA,
    schemas=JSON_SCHEMA,
    shows_own_tools=True,
    capabilities=_CAPABILITIES,
)

#: The rows by name.
VENDORS = MappingProxyType({row.name: row for row in (GOOGLE, VERTEX, GENERIC)})

#: The rows with what finds them; ``gemini`` is also the family that other plugins bring rows for.
GEMINI_VENDORS = VendorTable("gemini", GeminiRow, VENDORS, default="gemini")


def row_for(row: GeminiRow, model: str) -> GeminiRow:
    """The row with the capabilities and the levels of one model, whose overrides by the user come on top.

    >>> row_for(GOOGLE, "gemini-2.0-flash").subset.name
    'gemini-openapi'
    """
    family = row.family(model)
    capabilities = row.capabilities
    changes: dict[str, object] = {}
    if not family.validated:
        changes["strict_tools"] = False
        changes["tool_choice"] = capabilities.tool_choice - {"allowed"}
    if not family.combines:
        changes["response_format_with_tools"] = False
    if family.thinking == "none":
        changes["reasoning_effort"] = False
    if not family.tools:
        changes["tool_mode"] = "none"
    if not family.json_answers:
        changes["response_formats"] = capabilities.response_formats & {"text"}
    return replace(
        row,
        capabilities=capabilities.with_(**changes),
        efforts=family.efforts,
        subset=row.subset if family.json_schema else OPEN_API,
        schemas=row.schemas if family.json_schema else OPEN_API,
    )


def vendor_row(vendor: str | GeminiRow) -> GeminiRow:
    """The row of that name; a row is returned as it is. Raises `ConfigurationError` for an unknown name.

    >>> vendor_row("gemini").key_variable
    'GEMINI_API_KEY'
    """
    return GEMINI_VENDORS.row(vendor)
