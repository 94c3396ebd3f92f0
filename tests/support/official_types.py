"""Requests checked against the request types of a vendor's own package, where every key that is not in them is a fault.

Those packages describe a request as nested ``TypedDict`` classes. Read as they are they let much pass: unknown keys,
iterables that are never looked into, and the classes of *answers*, which take anything. So the types are walked here.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import NoExtraItems, ReadOnly, get_type_hints, is_typeddict

__all__ = ("StrictAdapter", "strict_adapter")

_PLAIN: Mapping[object, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}


class StrictAdapter:
    """Holds JSON values against one type. Raises `ValueError` that names each place and what is wrong there."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def validate_json(self, content: bytes | str) -> Any:
        """The value of a JSON text that fits."""
        return self.validate_python(json.loads(content))

    def validate_python(self, value: Any) -> Any:
        """The value, if it fits."""
        found = list(_problems(value, self._kind, "$"))
        if found:
            raise ValueError(f"does not fit {getattr(self._kind, '__name__', self._kind)}: {'; '.join(found)}")
        return value


def strict_adapter(typed_dict: Any) -> StrictAdapter:
    """What checks requests against a ``TypedDict`` class or a union of such, keys that it does not name forbidden.

    >>> from typing_extensions import TypedDict
    >>> Point = TypedDict("Point", {"x": int})
    >>> strict_adapter(Point).validate_json('{"x": 1, "y": 2}')
    Traceback (most recent call last):
    ValueError: does not fit Point: $: unknown key 'y'
    """
    return StrictAdapter(typed_dict)


def _problems(value: Any, kind: Any, where: str) -> Iterator[str]:
    origin = _origin(kind)
    if kind in (Any, object):
        return
    if is_typeddict(kind):
        yield from _of_typed_dict(value, kind, where)
    elif origin in (Annotated, Required, NotRequired, ReadOnly):
        yield from _problems(value, get_args(kind)[0], where)
    elif origin in (Union, types.UnionType):
        yield from _of_union(value, get_args(kind), where)
    elif origin is Literal:
        if not any(type(value) is type(one) and value == one for one in get_args(kind)):
            yield f"{where}: {_shown(value)} is none of {', '.join(map(repr, get_args(kind)))}"
    elif kind is None or kind is type(None):
        if value is not None:
            yield f"{where}: {_shown(value)} is not null"
    elif kind in _PLAIN:
        if not isinstance(value, _PLAIN[kind]) or (isinstance(value, bool) and kind is not bool):
            yield f"{where}: {_shown(value)} is no {kind.__name__}"
    elif origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if isinstance(value, dict):
            for key, item in value.items():
                yield from _problems(item, get_args(kind)[1], f"{where}.{key}")
        else:
            yield f"{where}: {_shown(value)} is no object"
    elif origin is not None and _is_list(origin):
        if isinstance(value, list):
            for position, item in enumerate(value):
                yield from _problems(item, get_args(kind)[0], f"{where}[{position}]")
        else:
            yield f"{where}: {_shown(value)} is no list"
    else:  # classes of answers, open files: nothing that a JSON value could be
        yield f"{where}: {_shown(value)} is no {kind}"


def _of_union(value: Any, kinds: Iterable[Any], where: str) -> Iterator[str]:
    """The problems with the member that comes nearest: of objects, one whose ``type`` or ``role`` agrees."""
    best: list[str] | None = None
    for kind in kinds:
        found = list(_problems(value, kind, where))
        if not found:
            return
        if best is None or _distance(found, where) < _distance(best, where):
            best = found
    yield from best or ()


def _distance(found: list[str], where: str) -> tuple[bool, bool, int]:
    here = f"{where}: "
    other_form = any(one.startswith(here) and not one.startswith((f"{here}unknown", f"{here}no key")) for one in found)
    other_kind = any(one.startswith((f"{where}.type:", f"{where}.role:")) for one in found)
    return other_form, other_kind, len(found)


def _of_typed_dict(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {_shown(value)} is no object"
        return
    fields = _fields(kind)
    for key, item in value.items():
        if key in fields:
            yield from _problems(item, fields[key][0], f"{where}.{key}")
        elif getattr(kind, "__extra_items__", NoExtraItems) is NoExtraItems:
            yield f"{where}: unknown key {key!r}"
    for key, (_, required) in fields.items():
        if required and key not in value:
            yield f"{where}: no key {key!r}"


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Type and necessity of each key. Not from ``__required_keys__``, which is wrong for annotations kept as text."""
    hints = get_type_hints(kind, include_extras=True)
    bases = [base for base in getattr(kind, "__orig_bases__", ()) if is_typeddict(base)]
    fields: dict[str, tuple[Any, bool]] = {}
    for base in bases:
        fields |= _fields(base)
    for key, hint in hints.items():
        if any(base.__annotations__.get(key) is kind.__annotations__[key] for base in bases):
            continue
        required = bool(kind.__total__)
        while (qualifier := _origin(hint)) in (Required, NotRequired, ReadOnly):
            if qualifier is not ReadOnly:
                required = qualifier is Required
            hint = get_args(hint)[0]
        fields[key] = (hint, required)
    return fields


def _origin(hint: Any) -> Any:
    return get_origin(hint)  # as a value: what mypy knows of it leaves out the qualifiers


def _is_list(origin: Any) -> bool:
    """Whether JSON lists stand for this: lists, tuples, sequences, iterables, and protocols that look like one."""
    if not isinstance(origin, type) or issubclass(origin, (str, bytes)):
        return False
    return origin in (list, Iterable) or issubclass(origin, Iterable) or origin.__name__.startswith("Sequence")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
