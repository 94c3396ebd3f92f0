"""What a vendor's row says, in the words that the list of the command and the page of the reference share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentforge.cli.probing.said import claim, claim_of_choice, claim_of_format

if TYPE_CHECKING:
    from agentforge.cli.known_rows import KnownRow
    from agentforge.model import ModelProfile

__all__ = ("CAPABILITY_HEADS", "PLACE_HEADS", "capability_words", "place_words")

_NOTHING = "\N{EN DASH}"
CAPABILITY_HEADS = (
    "tools",
    "choices",
    "parallel calls",
    "strict",
    "JSON",
    "JSON Schema",
    "JSON with tools",
    "tools while thinking",
    "calls in pieces",
    "media",
    "effort",
    "seed",
    "sent back",
)
"""The columns of `capability_words`."""
PLACE_HEADS = ("address", "key")
"""The columns of `place_words`."""
_CHOICES = ("auto", "none", "required", "tool", "allowed")


def capability_words(row: KnownRow) -> Sequence[str]:
    """What models of the row can do; where there are no tools, nothing is said of calls."""
    profile = row.profile
    choices, parallel, strict, beside, thinking, pieces = _of_calls(profile)
    media = [name for name in ("images", "audio", "files") if getattr(profile, name)]
    return (
        profile.tool_mode,
        choices,
        parallel,
        strict,
        claim_of_format(profile, "json"),
        claim_of_format(profile, "json_schema"),
        beside,
        thinking,
        pieces,
        ", ".join(media) or "none",
        claim(profile, "reasoning_effort", profile.reasoning_effort),
        claim(profile, "seed", profile.seed),
        ", ".join(sorted(profile.replay)) or _NOTHING,
    )


def place_words(row: KnownRow) -> Sequence[str]:
    """Where the vendor lives, and whose key it takes."""
    key = row.row.key_variable or _NOTHING
    return row.row.base_url or "yours", f"{key} (needed)" if row.row.key_required else key


def _of_calls(profile: ModelProfile) -> Sequence[str]:
    if profile.tool_mode == "none":
        return (_NOTHING,) * 6
    said = {mode: claim_of_choice(profile, mode) for mode in _CHOICES}
    choices = [mode if word == "yes" else f"{mode} ({word})" for mode, word in said.items() if word != "no"]
    return (
        ", ".join(choices) or "none",
        profile.parallel_tool_calls,
        claim(profile, "strict_tools", profile.strict_tools),
        claim(profile, "response_format_with_tools", profile.response_format_with_tools),
        claim(profile, "tools_with_thinking", profile.tools_with_thinking),
        "yes" if profile.streamed_tool_deltas else "no",
    )
