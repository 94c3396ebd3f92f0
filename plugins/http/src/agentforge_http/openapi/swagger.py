"""The parts of a Swagger 2.0 operation in the forms of OpenAPI 3: parameters with schemas, and one request body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ("ModernParts", "modern_parts")

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_STYLES: Mapping[str, tuple[str, bool]] = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
_ABOUT = frozenset({"name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema"})


@dataclass(slots=True)
class ModernParts:
    """Parameters with the documents they stand in, the body with its own, and why the operation cannot be used."""

    parameters: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    body: dict[str, Any] | None = None
    body_document: str | None = None
    faults: list[str] = field(default_factory=list)


def modern_parts(
    parameters: Sequence[tuple[dict[str, Any], str]], operation: Mapping[str, Any], root: Mapping[str, Any]
) -> ModernParts:
    """The parameters and the body of one operation of the description ``root``."""
    made = ModernParts()
    consumes = _media_types(operation.get("consumes", root.get("consumes")))
    fields: list[dict[str, Any]] = []
    for given, document in parameters:
        place = given.get("in")
        if place == "body":
            types = [kind for kind in consumes if kind not in (FORM, MULTIPART)] or ["application/json"]
            schema = given.get("schema", {})
            made.body = {
                "required": given.get("required") is True,
                "description": given.get("description"),
                "content": {kind: {"schema": schema} for kind in types},
            }
            made.body_document = document
        elif place == "formData":
            fields.append(given)
        else:
            made.parameters.append((_parameter(given, made), document))
    if fields:
        if made.body is not None:
            made.faults.append("it has a body and fields of a form, too")
        made.body = _form(fields, consumes, made)
    return made


def _media_types(given: Any) -> list[str]:
    return [kind for kind in given if isinstance(kind, str)] if isinstance(given, list) else []


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given.get("schema"), dict):  # OpenAPI's form in the older document
        return dict(given["schema"])
    return {key: value for key, value in given.items() if key not in _ABOUT}


def _collection(given: Mapping[str, Any], made: ModernParts) -> tuple[str, bool] | None:
    kind = given.get("collectionFormat", "csv")
    if given.get("type") != "array":
        return None
    if not isinstance(kind, str) or kind not in _STYLES:
        made.faults.append(_not_sent(given))
        return None
    return _STYLES[kind]


def _not_sent(given: Mapping[str, Any]) -> str:
    name, kind = str(given.get("name"))[:80], str(given.get("collectionFormat"))[:40]
    return f"the list {name!r} is to be written as {kind!r} in {given.get('in')}, which is not sent"


def _parameter(given: Mapping[str, Any], made: ModernParts) -> dict[str, Any]:
    parameter: dict[str, Any] = {
        key: given[key] for key in ("name", "in", "required", "description", "allowEmptyValue") if key in given
    }
    parameter["schema"] = _schema(given)
    style = _collection(given, made)
    if style is not None and given.get("in") == "query":
        parameter["style"], parameter["explode"] = style
    elif style is not None and style[0] != "form":  # only a comma stands between items there
        made.faults.append(_not_sent(given))
    return parameter


def _form(fields: Sequence[Mapping[str, Any]], consumes: Sequence[str], made: ModernParts) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    encoding: dict[str, Any] = {}
    has_file = False
    for each in fields:
        name = str(each.get("name"))
        schema = _schema(each)
        if each.get("description"):
            schema["description"] = each["description"]
        has_file = has_file or each.get("type") == "file"
        properties[name] = schema
        style = _collection(each, made)
        if style is not None:
            encoding[name] = {"style": style[0], "explode": style[1]}
    required = [str(each.get("name")) for each in fields if each.get("required") is True]
    kind = MULTIPART if has_file or (MULTIPART in consumes and FORM not in consumes) else FORM
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return {"required": bool(required), "content": {kind: {"schema": schema, "encoding": encoding}}}
