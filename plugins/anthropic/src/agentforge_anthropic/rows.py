"""What an endpoint of this form wants and can do, as data: the vendor's own, and a row for others that speak the form.

Models of one vendor differ, so most facts stand in its families; see `agentforge_anthropic.families`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from agentforge.model import Degradation, ModelProfile
from agentforge.provider import FEATURES, EndpointRow, ThinkingLimits, VendorTable
from agentforge_anthropic.families import BUDGET_LEVELS, CLAUDE, OTHERS, ModelFamily, family_of
from agentforge_anthropic.subset import ANTHROPIC as SUBSET

__all__ = (
    "ANTHROPIC",
    "GENERIC",
    "MESSAGES_VENDORS",
    "VENDORS",
    "VERSIONS",
    "MessagesRow",
    "row_for",
    "vendor_row",
    "within_form",
)

#: The versions of the API that are known, and the one that takes no sampling settings from any model.
VERSIONS = ("2023-06-01", "2026-10-21")
_WITHOUT_SAMPLING = "2026-10-21"

#: What this form has words for.
_CHOICES = frozenset({"auto", "none", "required", "tool"})
_FORMATS = frozenset({"text", "json_schema"})

#: With a budget, a forced call is refused; a model that decides itself takes one.
_BUDGET = ThinkingLimits(models=r"(?!)", forced_choice=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesRow(EndpointRow):
    """One endpoint as data. Copy a row with `dataclasses.replace` to describe an endpoint of your own.

    >>> MessagesRow(name="house", base_url="https://llm.example/anthropic").version
    '2023-06-01'
    """

    FEATURES: ClassVar[frozenset[str]] = FEATURES | {
        "reasoning_effort.none",
        "sampling",
        "sampling_with_thinking",
        "top_p_with_temperature",
    }

    #: What goes into the header ``anthropic-version``.
    version: str = VERSIONS[0]
    #: Features that are asked for with the header ``anthropic-beta``.
    betas: tuple[str, ...] = ()
    #: What the models take, first match first; a model that fits none is taken for one that takes everything.
    families: tuple[ModelFamily, ...] = ()
    #: Whether a loop that a model with a budget goes on with must have begun with its thinking.
    loop_needs_thinking: bool = False

    def family(self, model: str) -> ModelFamily:
        """The family of ``model``, with what the version of the API takes from it."""
        found = family_of(model, self.families)
        return replace(found, sampling=False) if found.sampling and self.version >= _WITHOUT_SAMPLING else found


#: What ids of calls may be made of; those of other vendors are mapped.
_IDS = r"^[a-zA-Z0-9_-]+$"
_UNSUPPORTED: Mapping[str, Degradation] = {"tool_name": "map", "tool_choice.allowed": "map"}

ANTHROPIC = MessagesRow(
    name="anthropic",
    base_url="https://api.anthropic.com",
    base_url_variable="ANTHROPIC_BASE_URL",
    key_variable="ANTHROPIC_API_KEY",
    key_required=True,
    auth="x-api-key",
    families=CLAUDE,
    loop_needs_thinking=True,
    call_id_pattern=_IDS,
    thinking=_BUDGET,
    subset=SUBSET,
    capabilities=ModelProfile(
        tool_choice=_CHOICES,
        response_formats=_FORMATS,
        audio=False,
        seed=False,
        max_tools=None,
        unsupported=_UNSUPPORTED,
    ),
)

GENERIC = MessagesRow(
    name="generic",
    # No variable: a key of one vendor must not reach another by default.
    auth="x-api-key",
    families=(*CLAUDE, OTHERS),
    call_id_pattern=_IDS,
    thinking=_BUDGET,
    subset=SUBSET,
    others_can={"strict_tools": "anthropic", "response_format.json_schema": "anthropic"},
    capabilities=ModelProfile(
        tool_choice=_CHOICES,
        strict_tools=False,
        response_formats=frozenset({"text"}),
        audio=False,
        seed=False,
        max_tools=None,
        unsupported=_UNSUPPORTED,
    ),
)

#: The rows by name.
VENDORS = MappingProxyType({row.name: row for row in (ANTHROPIC, GENERIC)})

#: The rows with what finds them; ``anthropic`` is also the family that other plugins bring rows for.
MESSAGES_VENDORS = VendorTable("anthropic", MessagesRow, VENDORS, default="anthropic")


def row_for(row: MessagesRow, model: str) -> MessagesRow:
    """The row with the capabilities and the levels of one model, whose overrides by the user come on top.

    >>> sorted(row_for(ANTHROPIC, "claude-opus-5-5").capabilities.tool_choice)
    ['auto', 'none']
    """
    family = row.family(model)
    capabilities = row.capabilities
    changes: dict[str, object] = {}
    if not family.forced_choice:
        changes["tool_choice"] = capabilities.tool_choice - {"required", "tool"}
    if not family.strict:
        changes["strict_tools"] = False
        changes["response_formats"] = capabilities.response_formats - {"json_schema"}
    if family.thinking == "none":
        changes["reasoning_effort"] = False
    efforts = family.efforts or (BUDGET_LEVELS if family.thinking == "budget" else ())
    return replace(row, capabilities=capabilities.with_(**changes), efforts=efforts)


def within_form(profile: ModelProfile) -> ModelProfile:
    """The profile without what this form has no place for: whatever a row or an override says, it would be left out of
    the request without a word.

    >>> within_form(ModelProfile(seed=True)).seed
    False
    """
    return profile.with_(
        audio=False,
        seed=False,
        tool_choice=profile.tool_choice & _CHOICES,
        response_formats=profile.response_formats & _FORMATS,
    )


def vendor_row(vendor: str | MessagesRow) -> MessagesRow:
    """The row of that name; a row is returned as it is. Raises `ConfigurationError` for an unknown name.

    >>> vendor_row("anthropic").key_variable
    'ANTHROPIC_API_KEY'
    """
    return MESSAGES_VENDORS.row(vendor)
