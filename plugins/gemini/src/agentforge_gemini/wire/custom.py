"""What a user says of the generation and of the choice of tools in the vendor's own words, on top of ours.

The API takes each name in two spellings, but not one member in both, nor members that exclude each other: what a user
says stands in the place of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentforge.errors import ConfigurationError

__all__ = ("merged",)

_LOW = re.compile(r"_([a-z0-9])")
#: Members that are merged in turn, with the choices in them: one of a user's ends all of ours.
_CHOICES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "functionCallingConfig": (frozenset({"mode"}), frozenset({"mode", "allowedFunctionNames"})),
    "thinkingConfig": (frozenset({"thinkingLevel", "thinkingBudget"}),) * 2,
}


def merged(name: str, ours: Mapping[str, object], theirs: object) -> dict[str, object]:
    """Ours with theirs on top, member by member. Raises `ConfigurationError` for what is no mapping.

    >>> merged("generationConfig", {"topK": 1, "seed": 2}, {"top_k": 3})
    {'topK': 3, 'seed': 2}
    """
    if theirs is None:
        return dict(ours)
    if not isinstance(theirs, Mapping):
        raise ConfigurationError(
            f"custom_parameters.{name} must be a mapping, not {type(theirs).__name__}",
            next_step=f"Give the members of {name} that you want to set.",
        )
    said = {_LOW.sub(lambda found: found[1].upper(), str(key)): value for key, value in theirs.items()}
    chosen, ended = _CHOICES.get(name, (frozenset(), frozenset()))
    is_chosen = not chosen.isdisjoint(said)
    made = {key: value for key, value in ours.items() if not (is_chosen and key in ended)}
    for key, value in said.items():
        before = made.get(key)
        is_ours = key in _CHOICES and isinstance(value, Mapping)
        made[key] = merged(key, before if isinstance(before, Mapping) else {}, value) if is_ours else value
    return made
