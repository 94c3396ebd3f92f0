"""Between nodes and a settings model: values read as their fields' types, and pydantic's errors put in their places.

A plain scalar for a field of text stays the text that was written, so that ``api_key: 98123400`` is that key and
``version: 1.10`` no number; a field without such a type gets what YAML's rules say.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from agentforge.config import codes
from agentforge.config.anew import Anew
from agentforge.config.bean_options import in_its_block
from agentforge.config.diagnostic import nearest
from agentforge.config.faults import Reporter
from agentforge.config.misfit import found_at, read_misfit, sentence
from agentforge.config.nodes import MappingNode, Mark, Node, ScalarNode, SecretNode, SequenceNode
from agentforge.config.scalars import plain_value, to_value
from agentforge.masking import Secrets

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

__all__ = ("hide_secrets", "mark_of", "report_validation", "value_for")

# One that could not be filled, which is a name and no secret.
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")
_TEXT_NAMES = frozenset({"SecretStr", "SecretBytes"})
#: The keys of every bean that are none of its settings.
_BESIDE_SETTINGS = ("type", "bean")


def value_for(node: Node, annotation: Any) -> Any:
    """The node's value for a field of this type: as `to_value`, but a plain scalar is text where text is declared.

    ``null`` and an empty value stay ``None`` where the type has ``None``.

    >>> [value_for(ScalarNode("0123", True, Mark("app.yaml", 1, 1), "file"), kind) for kind in (str, int, str | None)]
    ['0123', '0123', '0123']
    >>> value_for(ScalarNode("8", True, Mark("app.yaml", 1, 1), "file"), int)
    8
    """
    choices = _choices(annotation)
    match node:
        case ScalarNode() if node.plain:
            return _scalar(node.text, choices)
        case SequenceNode():
            return [value_for(item, _item_type(choices, number)) for number, item in enumerate(node.items)]
        case MappingNode():
            return {
                key: value_for(entry.node, _entry_type(choices, key, entry.node)) for key, entry in node.entries.items()
            }
        case _:
            return to_value(node)


def _choices(annotation: Any) -> list[Any]:
    """The types that a declared type allows, without ``Annotated`` and unions."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _choices(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [choice for each in get_args(annotation) for choice in _choices(each)]
    return [annotation]


def _scalar(text: str, choices: list[Any]) -> Any:
    value = plain_value(text)
    if isinstance(value, str) or not any(_is_text(choice) for choice in choices):
        return value
    if value is None:
        return None if types.NoneType in choices else text
    return value if any(type(value) is choice for choice in choices) else text


def _is_text(kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return all(isinstance(choice, str) for choice in get_args(kind))
    return isinstance(kind, type) and (issubclass(kind, str | bytes | PurePath) or kind.__name__ in _TEXT_NAMES)


def _item_type(choices: list[Any], number: int) -> Any:
    for choice in choices:
        origin, arguments = get_origin(choice), get_args(choice)
        if not (isinstance(origin, type) and arguments and issubclass(origin, Sequence | set | frozenset)):
            continue
        if issubclass(origin, tuple) and arguments[-1] is not Ellipsis:
            return arguments[min(number, len(arguments) - 1)]
        return arguments[0]
    return Any


def _entry_type(choices: list[Any], key: str, node: Node | None = None) -> Any:
    """The type of the value under ``key``, which ``node`` is where that is known: settings that are made on use are not
    made for what is no mapping."""
    for choice in choices:
        fields = _fields(choice)
        if key in fields:
            declared = fields[key].annotation
            inside = getattr(choice, "settings_inside", None)
            made = inside(key) if inside is not None and isinstance(node, MappingNode | None) else None
            return declared if made is None else made | declared
        origin = get_origin(choice)
        if isinstance(origin, type) and issubclass(origin, Mapping) and len(get_args(choice)) == 2:
            return get_args(choice)[1]
    return Any


def _fields(kind: Any) -> Mapping[str, Any]:
    """The fields of a pydantic model by the names that a file uses; empty for other types."""
    found = getattr(kind, "model_fields", None) if isinstance(kind, type) else None
    return {field.alias or name: field for name, field in found.items()} if isinstance(found, Mapping) else {}


def hide_secrets(node: Node, annotation: Any, reporter: Reporter) -> None:
    """Keep what a file gives literally for the secret fields of a settings model out of every excerpt."""
    choices = _choices(annotation)
    secret = _is_secret(choices)
    match node:
        case ScalarNode() if secret and not _PLACEHOLDER.fullmatch(node.text):
            reporter.hide(node.text)
        case SequenceNode():
            for number, item in enumerate(node.items):
                hide_secrets(item, annotation if secret else _item_type(choices, number), reporter)
        case MappingNode():
            for key, entry in node.entries.items():
                hide_secrets(entry.node, annotation if secret else _entry_type(choices, key, entry.node), reporter)


def mark_of(node: Node, location: Sequence[str | int]) -> Mark:
    """The place of the value at ``location`` below a node, or of the last part of the way that is there."""
    return _walk(node, location)[1]


def _marks_in(node: Node) -> Iterator[Mark]:
    """The places of all single values below a node."""
    if isinstance(node, MappingNode):
        for entry in node.entries.values():
            yield from _marks_in(entry.node)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _marks_in(item)
    else:
        yield node.mark


def _walk(node: Node, location: Sequence[str | int]) -> tuple[Node, Mark, Mark]:
    """The deepest node on the way, its mark, and the mark of its key."""
    key_mark = node.mark
    for step in location:
        if isinstance(node, MappingNode) and str(step) in node.entries:
            entry = node.entries[str(step)]
            node, key_mark = entry.node, entry.key_mark
        elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            key_mark = node.mark
        # Any other step is a name of pydantic's own, such as that of a member of a union.
    return node, node.mark, key_mark


def report_validation(
    error: ValidationError,
    node: MappingNode,
    model: type[BaseModel],
    reporter: Reporter,
    *,
    path: str,
    mark: Mark | None = None,
    secrets: Secrets | None = None,
    of_bean: bool = False,
    anew: Anew | None = None,
) -> None:
    """Report each error of a settings model at its place in the file; no value is ever shown.

    Args:
        error: What validating the values of `value_for` raised.
        node: The settings.
        model: The settings model, for near misses.
        reporter: Takes the faults.
        path: The dotted path of the settings, such as ``beans.model``.
        mark: Where a missing key is reported, by default where the settings begin.
        secrets: Masked in the texts of validators.
        of_bean: Whether these are all settings of a bean, beside which ``type`` and ``bean`` stand.
        anew: What the bean lost where a layer gave it another type.
    """
    # Imported here: a configuration without faults needs none of it.
    from agentforge.config.elsewhere import meant_key

    masked = secrets or Secrets()
    hide_secrets(node, model, reporter)
    found = [_Located(each, node, model) for each in error.errors(include_input=False, include_url=False)]
    for group in _groups(found):
        first = group[0]
        location, name = first.location, _name(first.location) or path
        where = ".".join([path, *(str(step) for step in location)])
        target, value_mark, key_mark = _walk(node, location)
        if first.type == "missing":
            parent = mark if mark is not None and len(location) == 1 else value_mark
            step = f"Add '{name}: …'." if isinstance(location[-1], str) else "Write one item more."
            message = f"the setting '{name}' is missing"
            if anew is not None and len(location) == 1:
                left = [key for key in _fields(model) if key not in node.entries]
                message, step = message + anew.says(name), anew.next_step(name, left)
            reporter.report(codes.MISSING_KEY, message, parent, next_step=step, path=where)
        elif first.type == "extra_forbidden":
            kinds = _types_at(model, location[:-1])
            known = [key for choice in kinds for key in _fields(choice)]
            step = "Correct the name." if reporter.has_enough else meant_key(name, known, _inside(kinds, known))
            if of_bean and len(location) == 1 and not reporter.has_enough:
                step = in_its_block(name) or _near_a_key_of_all(name, known) or step
            reporter.report(codes.UNKNOWN_KEY, f"unknown setting '{name}'", key_mark, next_step=step, path=where)
        elif any(map(reporter.is_settled, _marks_in(target))):
            continue  # it follows from a value inside, or from this one, of which more was said
        else:
            private = isinstance(target, SecretNode) or _is_secret(_types_at(model, location))
            given = target.text if isinstance(target, ScalarNode) and not private else None
            message, advice = sentence(name, [read_misfit(each.error, given) for each in group], found_at(target))
            message = masked.mask(message)
            if isinstance(target, MappingNode) and first.type == "value_error":
                value_mark, advice = _of_whole(target, _types_at(model, location), message, advice)
            reporter.report(codes.BAD_VALUE, message, value_mark, next_step=advice, path=where, private=private)


def _inside(kinds: Sequence[Any], known: Sequence[str]) -> dict[str, list[str]]:
    """The keys of the settings that stand inside of these, each with the keys under which they stand."""
    found: dict[str, list[str]] = {}
    for key, field in (item for kind in kinds for item in _fields(kind).items()):
        for inner in (inner for choice in _choices(field.annotation) for inner in _fields(choice)):
            if inner not in known and key not in found.setdefault(inner, []):
                found[inner].append(key)
    return found


def _of_whole(node: MappingNode, kinds: Sequence[Any], message: str, step: str | None) -> tuple[Mark, str | None]:
    """The place of a fault that was found when all settings were there: that of the one it speaks of, else that of the
    whole, with those that stand elsewhere."""
    from agentforge.config.elsewhere import blamed_mark, keys_from_outside

    fields = {key: field for kind in kinds for key, field in _fields(kind).items()}
    private = [key for key, field in fields.items() if _is_secret(_choices(field.annotation))]
    mark = blamed_mark(node, message, private)
    if mark is not None:
        return mark, step
    outside = keys_from_outside(node) if node.mark.in_file else []
    if outside:
        told = " and ".join(f"'{key}' comes from {mark}" for key, mark in outside)
        step = f"{step or 'Correct the settings.'} Note that {told}."
    return node.mark, step


def _is_secret(choices: Sequence[Any]) -> bool:
    return any(getattr(choice, "__name__", "") in _TEXT_NAMES for choice in choices)


def _near_a_key_of_all(name: str, known: Sequence[str]) -> str | None:
    near = nearest(name, [*known, *_BESIDE_SETTINGS])
    return f"Did you mean '{near}'?" if near in _BESIDE_SETTINGS else None


class _Located:
    """An error of pydantic with the way to its value; names of pydantic's own, such as that of a member of a union, are
    no steps of it."""

    def __init__(self, error: Any, node: Node, model: type[BaseModel]) -> None:
        self.error = error
        self.type: str = error["type"]
        self.member = ""
        self.union: tuple[str | int, ...] | None = None
        steps: list[str | int] = []
        given: Sequence[str | int] = error["loc"]
        for number, step in enumerate(given):
            last = number == len(given) - 1
            target = _walk(node, steps)[0]
            if _leads_on(target, step) or (last and self.type == "missing"):
                steps.append(step)
            elif self.union is None:
                self.union, self.member = tuple(steps), str(step)
        self.location = tuple(steps)


def _leads_on(node: Node, step: str | int) -> bool:
    if isinstance(node, MappingNode):
        return str(step) in node.entries
    return isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.items)


def _groups(found: Sequence[_Located]) -> list[list[_Located]]:
    """The errors that are one fault together: those of a union's members at one value."""
    groups: list[list[_Located]] = []
    unions: dict[tuple[str | int, ...], list[_Located]] = {}
    for each in found:
        if each.union is None:
            groups.append([each])
        elif each.union in unions:
            unions[each.union].append(each)
        else:
            unions[each.union] = [each]
            groups.append(unions[each.union])
    return [part for group in groups for part in _split(group)]


def _split(group: list[_Located]) -> list[list[_Located]]:
    """A member that takes the value's kind was meant: its errors stand alone, each by itself."""
    deeper = [each for each in group if each.union is not None and len(each.location) > len(each.union)]
    if not deeper:
        return [group]
    members: dict[str, list[_Located]] = {}
    for each in deeper:
        members.setdefault(each.member, []).append(each)
    return [[each] for each in min(members.values(), key=len)]


def _name(location: Sequence[str | int]) -> str:
    """The last key on the way, with the numbers after it: ``only.0``."""
    keys = [number for number, step in enumerate(location) if isinstance(step, str)]
    return ".".join(str(step) for step in location[keys[-1] if keys else 0 :])


def _types_at(model: type[BaseModel], location: Sequence[str | int]) -> list[Any]:
    choices: list[Any] = [model]
    for step in location:
        inner = _item_type(choices, step) if isinstance(step, int) else _entry_type(choices, str(step))
        # A step that is no field is a name of pydantic's own and leads nowhere.
        choices = choices if inner is Any else _choices(inner)
    return choices
