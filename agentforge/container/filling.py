"""Checked settings: beans put into the places that the plan kept for them, and the secrets that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentforge.container.plan import Pending

if TYPE_CHECKING:
    from agentforge.plugin import BeanSettings

__all__ = ("filled", "secrets_in")

_PLAIN = (str, int, float, bool)


def filled(settings: BeanSettings, uses: Mapping[str, Any]) -> BeanSettings:
    """The settings with beans in place of `Pending`; they were checked before and stay as they are otherwise.

    ``uses`` holds the bean, list or mapping of beans for each place, see `Uses`.
    """
    from agentforge.plugin import BeanSettings

    here: dict[str, Any] = {}
    below: dict[str, dict[str, Any]] = {}
    for slot, found in uses.items():
        key, dot, rest = slot.partition(".")
        known = getattr(settings, key)
        if not dot:
            here[key] = tuple(found) if isinstance(known, tuple) else found
        elif isinstance(known, BeanSettings):
            below.setdefault(key, {})[rest] = found
        elif key not in here:
            here[key] = _replaced(known, uses)
    for key, inner in below.items():
        here[key] = filled(getattr(settings, key), inner)
    return settings.model_copy(update=here) if here else settings


def _replaced(value: Any, uses: Mapping[str, Any]) -> Any:
    """A value of no model, such as the arguments of a component, with its beans."""
    if isinstance(value, Pending):
        return uses[value.slot]
    if isinstance(value, Mapping):
        return {key: _replaced(inner, uses) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(inner, uses) for inner in value)
    return value


def secrets_in(value: object) -> Iterator[str]:
    """What settings and values hold in fields for secrets, wherever it came from."""
    from pydantic import BaseModel, SecretStr

    waiting = [value]
    while waiting:
        current = waiting.pop()
        if current is None or type(current) in _PLAIN:
            continue
        if isinstance(current, SecretStr):
            yield current.get_secret_value()
        elif isinstance(current, BaseModel):
            waiting.extend(vars(current).values())
        elif isinstance(current, Mapping):
            waiting.extend(current.values())
        elif isinstance(current, list | tuple):
            waiting.extend(current)
