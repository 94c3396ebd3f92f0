"""What a profile says of a capability, and whether that is what was found."""

from __future__ import annotations

from typing import Literal

from agentforge.cli.probing.found import Found
from agentforge.model import ModelProfile

__all__ = ("Claim", "agree", "claim", "claim_of_choice", "claim_of_format")

Claim = Literal["yes", "no", "mapped", "dropped", "by schema", "-"]
"""``mapped``: it is said in another way, so that nothing is lost; ``dropped``: left out with a notice; ``-``: no
profile speaks of it."""


def claim(profile: ModelProfile, feature: str, can: bool) -> Claim:
    """What a profile says of a feature that it has or has not; ``a.b`` falls back to the policy of ``a``."""
    if can:
        return "yes"
    policy = profile.unsupported.get(feature) or profile.when_unsupported(feature.partition(".")[0])
    return "mapped" if policy == "map" else "dropped" if policy == "drop" else "no"


def claim_of_choice(profile: ModelProfile, mode: str) -> Claim:
    """Of a mode of ``tool_choice``."""
    return claim(profile, f"tool_choice.{mode}", mode in profile.tool_choice)


def claim_of_format(profile: ModelProfile, kind: str) -> Claim:
    """Of a response format."""
    return claim(profile, f"response_format.{kind}", kind in profile.response_formats)


def agree(said: Claim, found: Found) -> bool | None:
    """Whether what was found is what was said; ``None`` where the two cannot be compared.

    >>> agree("yes", Found("refused")), agree("no", Found("refused")), agree("mapped", Found("no"))
    (False, True, True)
    """
    if said == "-" or found.status in ("unsure", "skipped"):
        return None
    if said == "mapped":
        return True
    return (said == "yes") == (found.status == "yes")
