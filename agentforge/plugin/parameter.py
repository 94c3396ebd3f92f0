"""One parameter of a user's component: which bean or beans its type hint asks for, if it asks for any."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin

from agentforge.plugin.faults import ComponentError
from agentforge.plugin.reference import Qualifier, given_by

__all__ = ("Need", "need_of")

_PLAIN = (str, bytes, int, float, complex)
# Libraries whose own classes are values: secrets, addresses.
_VALUES = ("pydantic", "pydantic_core")


@dataclass(frozen=True, slots=True)
class Need:
    """One parameter. ``kind`` is the class or protocol of the bean it takes; ``None``: it takes a plain value.

    ``many``: a list of all such beans. ``by_name``: a mapping of all by their ids. ``provider``: a callable that gives
    the bean. ``qualifier``: the name of the one it wants. ``required``: it has no default and may not be ``None``;
    ``without_default``: it has no default. ``hint`` is what was declared.
    """

    name: str
    kind: type | None
    many: bool
    required: bool
    by_name: bool = False
    provider: bool = False
    qualifier: str | None = None
    without_default: bool = field(default=False, compare=False)
    hint: Any = field(default=Any, compare=False, repr=False)


def need_of(name: str, hint: Any, *, required: bool, component: str) -> Need:
    """What a parameter with this hint takes; ``required``: it has no default.

    Raises `ComponentError` for a `Qualifier` on a collection, which has no one bean to pick.
    """
    inner, may_be_none, qualifier = _unwrapped(hint)
    origin, arguments = get_origin(inner), get_args(inner)
    many = origin in (list, tuple, Sequence)
    by_name = origin in (dict, Mapping) and len(arguments) == 2 and arguments[0] is str
    provider = False
    if many or by_name:
        items = [item for item in (arguments[1:] if by_name else arguments) if item is not Ellipsis]
        item, _, picked = _unwrapped(items[0]) if len(items) == 1 else (None, False, None)
        if picked is not None or qualifier is not None:
            raise ComponentError(
                f"the parameter {name!r} of {component!r} takes several beans, and a Qualifier picks one",
                next_step="Leave out the Qualifier; name the beans in 'arguments'.",
            )
        kind = _bean_kind(item)
        many, by_name = many and kind is not None, by_name and kind is not None
    elif (given := given_by(inner)) is not None:
        item, _, picked = _unwrapped(given)
        qualifier = qualifier or picked
        kind = _bean_kind(item, qualified=qualifier is not None)
        provider = kind is not None
    else:
        kind = _bean_kind(inner, qualified=qualifier is not None)
    if qualifier is not None and not (isinstance(qualifier, str) and qualifier):
        raise ComponentError(
            f"the parameter {name!r} of {component!r} has a Qualifier without a name",
            next_step='Write Annotated[X, Qualifier("NAME")].',
        )
    return Need(
        name,
        kind,
        many,
        required and not may_be_none,
        by_name,
        provider,
        qualifier,
        without_default=required,
        hint=hint,
    )


def _unwrapped(hint: Any) -> tuple[Any, bool, str | None]:
    """The hint without ``Annotated`` and ``| None``, whether it had the latter, and the name in its `Qualifier`."""
    may_be_none, qualifier = False, None
    while True:
        if get_origin(hint) is Annotated:
            # The class itself is a mark that was meant to be called.
            marks = [
                mark.name if isinstance(mark, Qualifier) else ""
                for mark in hint.__metadata__
                if isinstance(mark, Qualifier) or mark is Qualifier
            ]
            qualifier = marks[0] if marks else qualifier
            hint = get_args(hint)[0]
            continue
        if get_origin(hint) in (typing.Union, types.UnionType):
            kept = [item for item in get_args(hint) if item is not type(None)]
            if len(kept) == 1:
                hint, may_be_none = kept[0], True
                continue
        return hint, may_be_none, qualifier


def _bean_kind(hint: Any, *, qualified: bool = False) -> type | None:
    """A class of somebody's: not a plain value, a collection or anything else of the language. A bean that is named
    by a `Qualifier` may be of any class."""
    kind = get_origin(hint) or hint
    if not isinstance(kind, type) or kind is Any:
        return object if qualified else None
    if qualified:
        return kind
    home = kind.__module__.partition(".")[0]
    if home in sys.stdlib_module_names or home in _VALUES or issubclass(kind, _PLAIN):
        return None
    return kind
