"""The opaque state of a reply in this form: its items as they came, each at the part that stands for it.

What our own parts hold (text, arguments) is left out of the state and put back from the part, so that nothing is stored
twice and an edited part goes out as edited:

- reasoning, and items of the server's own tools: ``{"item": the whole item}`` at a thinking part
- text and refusals: ``{"message": the item without content, "part": the content part without text}``
- calls: ``{"item": the item without arguments}``, or ``{"wrapped": true}`` for a call that came inside another
- the turn: ``{"response_id": …}`` where the server keeps the response
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import ProviderState

__all__ = ("INPUT", "TEXT_KEYS", "own_state", "response_id_of")

_NOTHING: Mapping[str, Any] = {}

#: The content parts of a message that are text for us, and the key that holds it.
TEXT_KEYS = {"output_text": "text", "refusal": "refusal"}
#: The name under which the free text of a custom tool's call stands in its arguments.
INPUT = "input"


def own_state(state: ProviderState | None, provider: str) -> Mapping[str, Any]:
    """What may go back to ``provider``; nothing of anyone else's."""
    return state.data if state is not None and state.provider == provider else _NOTHING


def response_id_of(state: ProviderState | None, provider: str) -> str | None:
    """The id under which the server keeps the turn."""
    found = own_state(state, provider).get("response_id")
    return found if isinstance(found, str) else None
