"""What a vendor's Responses API wants and can do, as data beside its row; the row itself holds for both APIs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from agentforge.errors import ConfigurationError
from agentforge.model import ModelProfile

if TYPE_CHECKING:
    from agentforge_openai.profile import VendorRow

__all__ = ("ResponsesForm", "reasons", "responses_row")

# What holds on this API until a row says otherwise.
_HERE: Mapping[str, Any] = {"seed": False, "audio": False}
_CALL_IDS = r"(?s)^.{1,64}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesForm:
    """What of a vendor differs on this API.

    Raises `ConfigurationError` for an expression that is none, and for a field that the profile has not.
    """

    PATTERNS: ClassVar[tuple[str, ...]] = ("reasoning_models", "call_id_pattern")

    #: The models (regular expression) that give their reasoning encrypted; those that it leaves out take none back.
    #: Unset: none is asked for, and what came goes back.
    reasoning_models: str | None = None
    #: Whether the server is told what to keep; false where it keeps nothing anyhow.
    sends_store: bool = True
    #: The role of a system message within the conversation.
    system_role: Literal["system", "developer"] = "system"
    #: What ids of calls must match here (regular expression); unset: the row's, or at most 64 characters.
    call_id_pattern: str | None = None
    #: Whether the calls of a turn must follow each other.
    calls_together: bool = False
    #: Whether items go back with their ids.
    item_ids: bool = True
    #: Whether images and files may stand in results of tools.
    output_media: bool = True
    #: The fields of the profile that differ from the row's.
    capabilities: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in self.PATTERNS:
            try:
                re.compile(getattr(self, name) or "")
            except re.error as error:
                raise ConfigurationError(
                    f"responses.{name} is no regular expression: {error}", next_step="Correct the row."
                ) from None
        known = {item.name for item in fields(ModelProfile)}
        for name in self.capabilities:
            if name not in known:
                raise ConfigurationError(
                    f"responses.capabilities has no field {name!r}", next_step=f"Use one of {', '.join(sorted(known))}."
                )


def responses_row(row: VendorRow) -> VendorRow:
    """The row as it holds on this API, where tools go with reasoning."""
    capabilities = row.capabilities.with_(**{**_HERE, **row.responses.capabilities})
    return replace(
        row,
        call_id_pattern=row.responses.call_id_pattern or row.call_id_pattern or _CALL_IDS,
        tools_refuse_effort=None,
        tools_need_effort_none=None,
        replay_fields=(),
        replay_required=None,
        capabilities=capabilities,
    )


def reasons(form: ResponsesForm, model: str, wish: bool | None) -> tuple[bool, bool]:
    """Whether encrypted reasoning is asked for, and whether reasoning goes back; ``wish`` is the user's.

    >>> reasons(ResponsesForm(reasoning_models="^o[0-9]"), "gpt-4o", None)
    (False, False)
    """
    if wish is not None:
        return wish, wish
    if form.reasoning_models is None:
        return False, True
    found = re.search(form.reasoning_models, model) is not None
    return found, found
