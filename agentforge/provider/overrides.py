"""What a user says of a model's capabilities, checked whole before it is used: a field, a feature or a value that does
not exist would have no effect, and nobody would see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import NoReturn, get_args, get_type_hints

from agentforge.errors import ConfigurationError
from agentforge.model import Degradation, ModelProfile, ResponseFormat, ToolChoice

__all__ = ("check_form", "checked_overrides")

#: What may become another way of saying the same; of the others nothing can be made by a mapping.
_MAPPED_CHOICES = ("none", "allowed")
_NO_MAPPING = ("tool_choice.auto", "tool_choice.required", "tool_choice.tool")


def checked_overrides(
    overrides: Mapping[str, object], *, features: Collection[str], subsets: Collection[str]
) -> dict[str, object]:
    """The overrides as values of `ModelProfile`. ``features`` are those that may have a policy, ``subsets`` the names
    of the schema subsets that there are.

    Raises `ConfigurationError`, which names the place and the near miss.
    """
    if not isinstance(overrides, Mapping):
        raise ConfigurationError(
            f"profile_overrides must be a mapping of capabilities, not {overrides!r}",
            next_step="Give for example profile_overrides: {images: false}.",
        )
    hints = get_type_hints(ModelProfile)
    made: dict[str, object] = {}
    for name, value in overrides.items():
        if name not in hints:
            _fail(f"profile_overrides has no field {name!r}", str(name), [item.name for item in fields(ModelProfile)])
        place = f"profile_overrides.{name}"
        if name == "unsupported":
            made[name] = _policies(place, value, features)
        elif name == "strict_subset":
            made[name] = _one_of(place, value, sorted(subsets))
        elif hints[name] is bool:
            made[name] = _flag(place, value)
        elif name in _FIELDS:
            made[name] = _FIELDS[name](place, value)
        else:
            made[name] = _one_of(place, value, get_args(hints[name]))
    return made


def check_form(made: Mapping[str, object], form: Mapping[str, tuple[object, ...]], policies: object) -> None:
    """Refuse overrides (``made``, read already) that would change nothing: the form of the request has no place for
    them (see `EndpointRow.FORM`), or a mapping to what does not exist. ``policies`` are those that hold then.

    Raises `ConfigurationError`.
    """
    own = made.get("unsupported")
    for feature in _NO_MAPPING:
        if isinstance(own, Mapping) and own.get(feature) == "map":
            raise ConfigurationError(
                f"profile_overrides.unsupported.{feature} is 'map', and there is no other way to say it",
                next_step="Write drop to leave it out with a notice, or error to refuse it.",
            )
    for name, known in form.items():
        if name not in made:
            continue
        value = made[name]
        beyond = sorted(value.difference(known), key=str) if isinstance(value, frozenset) else [value]
        for each in beyond:
            if each in known or (name == "tool_choice" and _is_mapped(each, policies)):
                continue
            told = str(each).lower() if isinstance(each, bool) else repr(each)
            words = ", ".join(str(one).lower() if isinstance(one, bool) else str(one) for one in known)
            raise ConfigurationError(
                f"profile_overrides.{name} has {told}, and this API has no field to ask for it: whatever the model can "
                "do, it would not be told",
                next_step=f"Leave it out; what can be asked for here is {words}.",
            )


def _is_mapped(mode: object, policies: object) -> bool:
    if mode not in _MAPPED_CHOICES or not isinstance(policies, Mapping):
        return False
    return (policies.get(f"tool_choice.{mode}") or policies.get("tool_choice")) == "map"


def _policies(place: str, value: object, features: Collection[str]) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"{place} must be a mapping of features to what becomes of them, not {value!r}",
            next_step="Give for example {seed: drop}.",
        )
    for feature in value:
        if feature not in features:
            _fail(f"{place} has the feature {feature!r}, which does not exist", str(feature), sorted(features))
    return {name: _one_of(f"{place}.{name}", policy, get_args(Degradation)) for name, policy in value.items()}


def _one_of(place: str, value: object, known: Collection[str]) -> str:
    if isinstance(value, str) and value in known:
        return value
    return _fail(f"{place} must be one of {', '.join(known)}, not {value!r}", str(value), known)


def _flag(place: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ConfigurationError(
        f"{place} must be true or false, not {value!r}", next_step="Say whether the model can do that."
    )


def _names(known: Collection[str] | None) -> Callable[[str, object], object]:
    def read(place: str, value: object) -> frozenset[str]:
        if not isinstance(value, Collection) or isinstance(value, (str, bytes, Mapping)):
            raise ConfigurationError(f"{place} must be a list, not {value!r}", next_step="Give a list, also of one.")
        for name in value:
            if known is not None:
                _one_of(f"an entry of {place}", name, known)
            elif not isinstance(name, str):
                raise ConfigurationError(
                    f"an entry of {place} must be a text, not {name!r}", next_step="Give the names of fields."
                )
        return frozenset(value)

    return read


def _limit(place: str, value: object) -> int | None:
    if value is None or (type(value) is int and value >= 0):
        return value
    raise ConfigurationError(
        f"{place} must be a whole number from 0, or null for no limit, not {value!r}",
        next_step="Give the number of tools that the endpoint takes.",
    )


def _expression(place: str, value: object) -> str:
    try:
        if isinstance(value, str):
            re.compile(value)
            return value
        why = f"it is {value!r}"
    except re.error as error:
        why = str(error)
    raise ConfigurationError(
        f"{place} must be a regular expression: {why}", next_step="Correct it, or leave it out for what the row says."
    )


def _text(place: str, value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ConfigurationError(f"{place} must be a text, not {value!r}", next_step="Leave it out for the row's own.")


def _modes(kind: type, field: str) -> Callable[[str, object], object]:
    return _names(get_args(get_type_hints(kind)[field]))


#: How the fields are read that are neither a flag nor one of a few words.
_FIELDS: Mapping[str, Callable[[str, object], object]] = {
    "name": _text,
    "tool_choice": _modes(ToolChoice, "mode"),
    "response_formats": _modes(ResponseFormat, "type"),
    "replay": _names(None),
    "tool_name_pattern": _expression,
    "max_tools": _limit,
}


def _fail(message: str, name: str, known: Collection[str]) -> NoReturn:
    from agentforge.config import did_you_mean

    raise ConfigurationError(message, next_step=did_you_mean(name, known))
