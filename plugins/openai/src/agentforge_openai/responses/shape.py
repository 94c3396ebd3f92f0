"""What shapes the bytes of a turn in this form: beyond what all wires have, which items go back and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentforge.provider import Endpoint, TurnShape, provider_id
from agentforge_openai.profile import VendorRow
from agentforge_openai.responses.form import ResponsesForm

__all__ = ("ItemShape", "state_owner")


def state_owner(row: VendorRow, base_url: str) -> str:
    """Who may read the opaque state of a turn; the other API of the same endpoint may not.

    >>> state_owner(VendorRow(name="openai", base_url="https://api.openai.com/v1"), "https://api.openai.com/v1")
    'openai/responses'
    """
    return f"{provider_id(row, base_url)}/responses"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemShape(TurnShape):
    """``reasoning``: the model takes reasoning items; ``chained``: a turn that the server keeps is named by its id
    instead of being sent. The rest is as in `ResponsesForm`."""

    system_role: Literal["system", "developer"]
    reasoning: bool
    chained: bool
    calls_together: bool
    item_ids: bool
    output_media: bool

    @classmethod
    def of(cls, endpoint: Endpoint[VendorRow], form: ResponsesForm, *, reasoning: bool, chained: bool) -> ItemShape:
        """The shape of this endpoint's turns."""
        common = {**TurnShape.common(endpoint), "provider": state_owner(endpoint.row, endpoint.base_url)}
        return cls(
            **common,
            system_role=form.system_role,
            reasoning=reasoning,
            chained=chained,
            calls_together=form.calls_together,
            item_ids=form.item_ids,
            output_media=form.output_media,
        )
