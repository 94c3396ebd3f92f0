"""The parameters of an operation: where each goes and how it is written there, by OpenAPI's rules and defaults."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentforge_http.body import is_json_type
from agentforge_http.header_text import header_fault, is_header_name
from agentforge_http.openapi.description import Placed
from agentforge_http.openapi.schema_values import Scope
from agentforge_http.openapi.schemas import SchemaTranslator
from agentforge_http.openapi.texts import argument_name, plain_text, shortened
from agentforge_http.operation import STYLES, HttpParameter, Place, Style

__all__ = ("Argument", "Parameters", "path_names", "read_parameters")

_PLACES: Mapping[str, Place] = {"path": "path", "query": "query", "header": "header", "cookie": "cookie"}
#: OpenAPI 3.0 says of these that a parameter of the name is to be ignored.
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
_NAME_IN_PATH = re.compile(r"\{([^{}/]+)\}")


@dataclass(slots=True)
class Argument:
    """One parameter on its way to a tool: its wire name and place, and the schema of its values."""

    name: str
    place: Place
    schema: dict[str, Any]
    required: bool
    style: Style
    explode: bool
    allow_reserved: bool = False
    content_type: str | None = None

    def as_parameter(self, argument: str) -> HttpParameter:
        """The parameter as the executor takes it."""
        return HttpParameter(
            argument,
            self.name,
            self.place,
            self.style,
            self.explode,
            self.allow_reserved,
            self.content_type,
            self.required,
        )


@dataclass(slots=True)
class Parameters:
    """What was read: the arguments, what was left out or changed, and why the operation cannot be used."""

    arguments: list[Argument] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def own_names(self) -> set[str]:
        """The names that the arguments would have, were each alone."""
        return {argument_name(each.name) for each in self.arguments}

    def names(self, taken: Iterable[str], body_taken: bool) -> dict[int, str]:
        """The argument name of each by its index. One whose name is that of another, of a member of the body
        (``taken``) or of the whole body gets its place in front."""
        wanted = [argument_name(each.name) for each in self.arguments]
        counts = Counter(wanted)
        others = {*taken, *(("body",) if body_taken else ())}
        made: dict[int, str] = {}
        used = {name for name in wanted if counts[name] == 1 and name not in others} | others
        numbers: dict[str, int] = {}
        for index, (name, argument) in enumerate(zip(wanted, self.arguments, strict=True)):
            if counts[name] > 1 or name in others:
                base = name = argument_name(f"{argument.place}_{name}")[:60]
                while name in used:
                    numbers[base] = numbers.get(base, 1) + 1
                    name = f"{base}_{numbers[base]}"
                used.add(name)
            made[index] = name
        return made


def path_names(path: str) -> list[str]:
    """The names in the template of a path.

    >>> path_names("/users/{id}/files/{name}")
    ['id', 'name']
    """
    return list(dict.fromkeys(_NAME_IN_PATH.findall(path)))


def read_parameters(
    placed: Iterable[Placed],
    path: str,
    schemas: SchemaTranslator,
    scope: Scope,
    given: Collection[tuple[str, str]] = (),
) -> Parameters:
    """The parameters of an operation with the template ``path``; ``given`` are places and names (of headers in lower
    case) that the configuration fills, so that no model has to."""
    made = Parameters()
    in_path = path_names(path)
    for each in placed:
        if _is_given(each.value, given):
            made.notes.append(f"the {each.value['in']} parameter {each.value['name']!r} is given by the configuration")
        else:
            _read(each, in_path, schemas, scope, made)
    declared = {each.name for each in made.arguments if each.place == "path"}
    undeclared: list[Argument] = []
    for name in in_path:
        if name not in declared:
            made.notes.append(f"the path parameter {name!r} is declared nowhere and was taken as text")
            schema = {"type": "string", "description": f"The {name} in the path."}
            undeclared.append(Argument(name, "path", schema, True, "simple", False))
    made.arguments[:0] = undeclared
    return made


def _is_given(value: Mapping[str, Any], given: Collection[tuple[str, str]]) -> bool:
    place, name = value.get("in"), value.get("name")
    if not isinstance(place, str) or not isinstance(name, str):
        return False
    return (place, name.lower() if place == "header" else name) in given


def _read(placed: Placed, in_path: list[str], schemas: SchemaTranslator, scope: Scope, made: Parameters) -> None:
    value = placed.value
    name, place = value.get("name"), _PLACES.get(str(value.get("in")).lower())
    required = value.get("required") is True or place == "path"
    if not isinstance(name, str) or not name or place is None:
        told = f"the parameter {str(name)[:80]!r} in {str(value.get('in'))[:40]!r} cannot be sent"
        (made.faults if required else made.notes).append(told if required else f"{told} and was left out")
        return
    if place == "header" and name.lower() in _IGNORED_HEADERS:
        made.notes.append(f"the header {name} is not an argument: OpenAPI keeps it for the client")
        return
    if place == "header" and not is_header_name(name):
        told = f"the header {name[:80]!r} has a name that cannot be sent"
        (made.faults if required else made.notes).append(told if required else f"{told}, and was left out")
        return
    if place == "header" and (fault := header_fault(name, "", credentials=False)) is not None:
        made.notes.append(f"the header {name} {fault}, and was left out")
        return
    if place == "path" and name not in in_path:
        made.notes.append(f"the path parameter {name!r} is not in the path and was left out")
        return
    argument = Argument(name, place, {}, required, STYLES[place][0], place in ("query", "cookie"))
    content = value.get("content")
    if isinstance(content, dict) and content:
        kind, media = next(iter(content.items()))
        base = str(kind).partition(";")[0].strip().lower()
        if not is_json_type(base):
            told = f"the parameter {name!r} is to be sent as {base[:60]}, which it cannot be"
            (made.faults if required else made.notes).append(told if required else f"{told}, and was left out")
            return
        argument.content_type = base
        argument.schema = schemas.translated(_schema_of(media), placed.document, scope)
    else:
        argument.schema = schemas.translated(value.get("schema", {}), placed.document, scope)
        _style(value, argument, made)
    _describe(value, argument)
    made.arguments.append(argument)


def _schema_of(media: Any) -> Any:
    return media.get("schema", {}) if isinstance(media, dict) else {}


def _style(value: Mapping[str, Any], argument: Argument, made: Parameters) -> None:
    style = value.get("style")
    allowed = STYLES[argument.place]
    if style is not None:
        if style in allowed:
            argument.style = style
        else:
            made.notes.append(
                f"the parameter {argument.name!r} cannot have the style {str(style)[:40]!r} in {argument.place}; it is "
                f"sent as {argument.style}"
            )
    explode = value.get("explode")
    argument.explode = explode if isinstance(explode, bool) else argument.style == "form"
    if argument.style == "deepObject":
        argument.explode = True
    argument.allow_reserved = value.get("allowReserved") is True and argument.place == "query"


def _describe(value: Mapping[str, Any], argument: Argument) -> None:
    text = shortened(plain_text(value.get("description")))
    if value.get("deprecated") is True:
        argument.schema["deprecated"] = True
        text = f"Deprecated. {text}".strip()
    if text:
        argument.schema["description"] = text
