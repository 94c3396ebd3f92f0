"""What a field of a type may not say, at any depth: a model gives the whole of a value, by the type's own rules.

`P` describes a field and does nothing else there; what the framework fills in is a parameter of the function itself.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.declare import MISSING, Hidden, MemoryId, P
from agentforge.tool.execution.run import Run, ToolContext
from agentforge.tool.spec.unsupported import behind_name

__all__ = ("fields_of", "refuse_notes")

_FRAMEWORK: tuple[Any, ...] = (ToolContext, Run, MemoryId, Hidden)
_OWN_DEFAULT = "Give the field a default of its own, such as: str | None = None, or NotRequired in a typed dict."
_INSTEAD = {
    "name": "Write Field(alias=...) beside it, or call the field so.",
    "required": _OWN_DEFAULT + " Without one it is required.",
    "default": _OWN_DEFAULT,
}


def refuse_notes(hint: Any, parameter: str, *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a field or an item in ``hint`` that could not be honoured."""
    found = next(_faults(hint, "", set()), None)
    if found is not None:
        fault, next_step = found
        raise ToolDeclarationError(
            f"parameter {parameter!r} of tool {tool!r} has {fault}", tool=tool, next_step=next_step
        )


def fields_of(kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Names, types with what is noted beside them, and defaults of a dataclass, model, typed dict or named tuple; none
    where the type does not tell."""
    if hasattr(kind, "model_rebuild"):
        _complete(kind)
        for name, info in kind.model_fields.items():
            yield name, typing.Annotated[(info.annotation, info, *info.metadata)], info.default
        return
    try:
        found = typing.get_type_hints(kind, localns={getattr(kind, "__name__", ""): kind}, include_extras=True)
    except Exception:
        return
    if dataclasses.is_dataclass(kind):
        defaults = {field.name: field.default for field in dataclasses.fields(kind)}
        for name, hint in found.items():
            if isinstance(hint, dataclasses.InitVar):
                yield name, hint.type, MISSING
            elif name in defaults:  # class variables are among the hints
                yield name, hint, defaults[name]
    elif hasattr(kind, "__required_keys__") or hasattr(kind, "_field_defaults"):
        for name, hint in found.items():
            yield name, hint, getattr(kind, "_field_defaults", {}).get(name, MISSING)


def _complete(model: Any) -> None:
    # A class that was not defined yet when the model was may be by now. The frame of this call is looked at for its
    # name, so there is nothing else in it.
    model.model_rebuild(raise_errors=False)


def _faults(hint: Any, field: str, seen: set[Any]) -> Iterator[tuple[str, str]]:
    """What is wrong in ``hint``, and what to write instead; ``field`` is where it stands, if in one."""
    named, kind, arguments = behind_name(hint), typing.get_origin(hint) or hint, typing.get_args(hint)
    notes = hint.__metadata__ if kind is typing.Annotated else ()
    place = f"a field {field!r}" if field else "a part"
    for note in (hint, *notes):
        for fault, next_step in _faults_of(note):
            yield f"{place} {fault}", next_step
    if (named is not None or isinstance(kind, type)) and kind not in seen:  # which may name themselves
        seen.add(kind)
        if named is not None:
            yield from _faults(named, field, seen)
        for name, inner, default in fields_of(kind):
            inside = f"{kind.__name__}.{name}"
            if isinstance(default, P):
                yield f"a field {inside!r} whose default is a P", f"Write {name}: Annotated[..., P(...)]."
            yield from _faults(inner, inside, seen)
    for each in arguments[:1] if notes else arguments:
        yield from _faults(each, field, seen)


def _faults_of(note: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with one type or mark."""
    kind = note if isinstance(note, type) else type(note)
    if note is P:
        yield "with P itself, which says nothing", 'Write P("...").'
    elif kind in _FRAMEWORK:
        yield (
            f"of type {kind.__name__}, which the framework gives and no model can",
            "Give the function a parameter of its own for it.",
        )
    elif kind is P:
        for name, unset in (("name", None), ("required", None), ("default", MISSING)):
            if getattr(note, name) is not unset:
                yield f"with {name}= in its P, which describes there and does nothing else", _INSTEAD[name]
