"""What an endpoint of this form wants and can do, as data: the vendor's two addresses, and a row for others that speak
the form.

Every value is a default. Models differ, so a user overrides what does not hold: ``profile_overrides`` for
capabilities, settings of the model or a changed row for forms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import ClassVar

from agentforge.model import ModelProfile
from agentforge.provider import FEATURES, EndpointRow, ThinkingLimits, VendorTable
from agentforge_dashscope.families import QWEN, ThinkingFamily, family_of

__all__ = (
    "DASHSCOPE",
    "DASHSCOPE_INTL",
    "DASHSCOPE_VENDORS",
    "GENERIC",
    "VENDORS",
    "DashScopeRow",
    "row_for",
    "vendor_row",
)

#: What this form has words for.
_CHOICES = frozenset({"auto", "none", "required", "tool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DashScopeRow(EndpointRow):
    """One endpoint as data. Copy a row with `dataclasses.replace` to describe an endpoint of your own.

    >>> DashScopeRow(name="house", base_url="https://llm.example/api/v1").is_multimodal("qwen-plus")
    False
    """

    PATTERNS: ClassVar[tuple[str, ...]] = (*EndpointRow.PATTERNS, "sees", "hears", "cumulative", "limits_thinking")
    FEATURES: ClassVar[frozenset[str]] = FEATURES | {"reasoning_effort.none"}
    FORM: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "tool_choice": ("auto", "none", "required", "tool"),
        "strict_tools": (False,),
    }

    #: Models (regular expressions) that take images, video and documents, and those that take sound: they are asked at
    #: ``multimodal-generation``, where each content is a list of parts; all others at ``text-generation``.
    sees: str | None = None
    hears: str | None = None
    #: Models (regular expression) whose streams repeat everything so far in each event, whatever is asked.
    cumulative: str | None = None
    #: Models (regular expression) that take ``max_completion_tokens``, which thinking counts in, for ``max_tokens``,
    #: which it does not.
    limits_thinking: str | None = None
    #: How models think, first match first.
    families: tuple[ThinkingFamily, ...] = ()
    #: The ``thinking_budget`` of each level of ``reasoning_effort``; ``None``: as long as the model does by itself.
    budgets: Mapping[str, int | None] = field(default_factory=dict, hash=False)

    def family(self, model: str) -> ThinkingFamily:
        """How ``model`` thinks."""
        return family_of(model, self.families)

    def is_multimodal(self, model: str) -> bool:
        """Whether ``model`` is asked at ``multimodal-generation``."""
        return _fits(self.sees, model) or _fits(self.hears, model)


def _fits(pattern: str | None, model: str) -> bool:
    return pattern is not None and re.search(pattern, model) is not None


#: What thinking forbids: a forced call, and JSON as the form of the answer. Who thinks, the families say.
_WHILE_THINKING = ThinkingLimits(models=r"(?!)", forced_choice=False, json_formats=False)
#: The first generations by their parts, the later ones by their number: of those only some named "max" are texts only.
_SEES = r"^qvq\b|-(?:vl|ocr|omni)\b|^qwen3\.[567](?!-max)|^qwen3\.(?:[89]|[1-9][0-9])|kimi-k2\.[56]\b"
_HEARS = r"-(?:audio|omni|asr)\b"
_BUDGETS = MappingProxyType({"minimal": 1024, "low": 4096, "medium": 16384, "high": None})

DASHSCOPE = DashScopeRow(
    name="dashscope",
    base_url="https://dashscope.aliyuncs.com/api/v1",
    base_url_variable="DASHSCOPE_HTTP_BASE_URL",
    key_variable="DASHSCOPE_API_KEY",
    key_required=True,
    description_required=True,
    stream_only=r"-omni\b",
    sees=_SEES,
    hears=_HEARS,
    limits_thinking=r"^qwen3\.(?:[5-9]|[1-9][0-9])-(?:plus|flash)\b|^qwen3\.(?:[7-9]|[1-9][0-9])-max\b",
    families=QWEN,
    budgets=_BUDGETS,
    thinking=_WHILE_THINKING,
    capabilities=ModelProfile(
        tool_choice=frozenset({"auto", "none", "tool"}),
        strict_tools=False,
        # A tool of this one name is refused.
        tool_name_pattern=r"^(?!search$)[a-zA-Z0-9_-]{1,64}$",
        # Names outside the rule are refused here; with "map" they get an alias as elsewhere.
        unsupported={"tool_name": "error", "tool_description": "error", "tool_choice.allowed": "map"},
    ),
)

DASHSCOPE_INTL = replace(
    DASHSCOPE,
    name="dashscope-intl",
    base_url="https://dashscope-intl.aliyuncs.com/api/v1",
    base_url_variable=None,
)

GENERIC = DashScopeRow(
    name="generic",
    # No variable: a key of one vendor must not reach another by default.
    stream_only=r"-omni\b",
    sees=_SEES,
    hears=_HEARS,
    limits_thinking=DASHSCOPE.limits_thinking,
    families=QWEN,
    budgets=_BUDGETS,
    thinking=_WHILE_THINKING,
    capabilities=ModelProfile(
        tool_choice=_CHOICES,
        strict_tools=False,
        max_tools=None,
        unsupported={"tool_name": "map", "tool_choice.allowed": "map"},
    ),
)

#: The rows by name.
VENDORS = MappingProxyType({row.name: row for row in (DASHSCOPE, DASHSCOPE_INTL, GENERIC)})

#: The rows with what finds them; ``dashscope`` is also the family that other plugins bring rows for.
DASHSCOPE_VENDORS = VendorTable("dashscope", DashScopeRow, VENDORS, default="dashscope")


def row_for(row: DashScopeRow, model: str) -> DashScopeRow:
    """The row with the capabilities and the levels of one model, whose overrides by the user come on top.

    >>> row_for(DASHSCOPE, "qwen-plus").capabilities.images, row_for(DASHSCOPE, "qwen3-vl-plus").capabilities.images
    (False, True)
    """
    family, capabilities = row.family(model), row.capabilities
    changes: dict[str, object] = {
        "images": capabilities.images and _fits(row.sees, model),
        "files": capabilities.files and _fits(row.sees, model),
        "audio": capabilities.audio and _fits(row.hears, model),
    }
    if family.can == "never":
        changes["reasoning_effort"] = False
    efforts = family.levels or (tuple(row.budgets) if family.budget else ())
    return replace(row, capabilities=capabilities.with_(**changes), efforts=efforts)


def vendor_row(vendor: str | DashScopeRow) -> DashScopeRow:
    """The row of that name; a row is returned as it is. Raises `ConfigurationError` for an unknown name.

    >>> vendor_row("dashscope").key_variable
    'DASHSCOPE_API_KEY'
    """
    return DASHSCOPE_VENDORS.row(vendor)
