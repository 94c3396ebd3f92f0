"""The settings of a bean type as JSON Schema (draft 7), as an editor needs it: what a file may hold there.

A file may hold more than the settings model: a placeholder where a number, a truth value or a word of a list is due, a
plain number where text is due, and for a bean its name, a `ref`, or a definition in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentforge.plugin.bean_settings import BeanSettings
    from agentforge.plugin.reference import RefField

__all__ = ("PLACEHOLDER", "fold", "relaxed", "settings_schema")

Schema = dict[str, Any]

#: A text that holds a placeholder, whose value nobody knows before the program runs.
PLACEHOLDER: Mapping[str, Any] = {"type": "string", "pattern": r"\$\{.+\}"}

_DROPPED = frozenset({"title", "format", "writeOnly", "readOnly", "discriminator", "contentMediaType"})
_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
_TEXT_RULES = frozenset({"pattern", "minLength", "maxLength"})


def settings_schema(
    settings: type[BeanSettings],
    references: Mapping[str, RefField],
    name: str,
    reference: Callable[[RefField], Schema],
) -> dict[str, Schema]:
    """The definitions of a settings model: its own under ``name``, those inside it under ``NAME:CLASS``.

    Args:
        settings: The model.
        references: Its fields that are beans; see `references_of`.
        name: The bean type's name; it keeps definitions of two types apart.
        reference: Gives the schema of one bean for such a field.
    """
    made = _raw(settings)
    definitions = {f"{name}:{key}": value for key, value in made.pop("$defs", {}).items()}
    definitions[name] = made
    for path, field in references.items():
        _put_reference(definitions, name, path.split("."), field, reference)
    return {key: relaxed(_renamed(value, name)) for key, value in definitions.items()}


def relaxed(schema: Any) -> Any:
    """The schema in draft 7's words, without titles, and with placeholders wherever no text is due."""
    if not isinstance(schema, dict):
        return schema
    found: Schema = {}
    for key, value in schema.items():
        if key in _DROPPED or (key == "default" and schema.get("writeOnly")):
            continue
        key = _BOUNDS.get(str(key), str(key))
        if key in ("properties", "definitions", "patternProperties"):
            found[key] = {inner: relaxed(item) for inner, item in value.items()}
        elif key in ("anyOf", "oneOf", "allOf"):
            found["anyOf" if key == "oneOf" else key] = [relaxed(item) for item in value]
        elif key == "prefixItems":
            found["items"], found["additionalItems"] = [relaxed(item) for item in value], False
        elif key == "description":
            found[key] = " ".join(value.split())
        elif key in ("items", "additionalProperties", "not", "if", "then", "else", "propertyNames", "contains"):
            found.setdefault(key, relaxed(value))
        else:
            found[key] = value
    return fold(_with_placeholder(found))


def fold(schema: Schema) -> Schema:
    """The schema with alternatives inside alternatives made one list, each once."""
    if "anyOf" not in schema:
        return schema
    flat: list[Any] = []
    for each in schema["anyOf"]:
        inner = each["anyOf"] if isinstance(each, dict) and set(each) == {"anyOf"} else [each]
        flat += [item for item in inner if item not in flat]
    return {**schema, "anyOf": flat} if len(flat) > 1 or len(schema) > 1 else flat[0]


def _with_placeholder(schema: Schema) -> Schema:
    kind = schema.get("type")
    if "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        # In draft 7 whatever stands beside a $ref does not count.
        return {**rest, "allOf": [{"$ref": schema["$ref"]}]} if rest else schema
    words = "enum" in schema or "const" in schema
    if kind == "string" and not words and not _TEXT_RULES & schema.keys():
        return {**schema, "type": ["string", "number", "boolean"]}  # an unquoted 1.10 is text where text is due
    if not (words or kind in ("number", "integer", "boolean", "string")):
        return schema
    about: Schema = {key: value for key, value in schema.items() if key in ("description", "default")}
    rule = {key: value for key, value in schema.items() if key not in about}
    return {**about, "anyOf": [rule, dict(PLACEHOLDER)]}


def _raw(settings: type[BeanSettings]) -> Schema:
    """What pydantic says of the model; a field of a type that JSON does not know takes anything."""
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own form

        def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
            return {}

    made: Schema = settings.model_json_schema(schema_generator=Generator)
    return made


def _renamed(schema: Any, name: str) -> Any:
    """The schema whose references lead to definitions that carry the type's name."""
    if isinstance(schema, list):
        return [_renamed(item, name) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: f"#/definitions/{name}:{value.removeprefix('#/$defs/')}"
        if key == "$ref" and isinstance(value, str) and value.startswith("#/$defs/")
        else _renamed(value, name)
        for key, value in schema.items()
    }


def _put_reference(
    definitions: dict[str, Schema],
    name: str,
    path: list[str],
    field: RefField,
    reference: Callable[[RefField], Schema],
) -> None:
    """Put the schema of a bean where pydantic could only say that it is anything."""
    properties = definitions[name]["properties"]
    for key in path[:-1]:
        properties = definitions[f"{name}:{_target(properties[key])}"]["properties"]
    old = properties[path[-1]]
    made = reference(field)
    if field.many:
        made = {"type": ["array"], "items": made}
    elif field.by_name:
        made = {"type": ["object"], "additionalProperties": made}
    if {"type": "null"} in old.get("anyOf", ()):
        made["type"] = [*made["type"], "null"]
    about = {key: old[key] for key in ("description", "default") if key in old}
    properties[path[-1]] = {**about, **made}


def _target(schema: Schema) -> str:
    """The name of the definition that a field of settings inside settings leads to."""
    for each in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ())):
        if "$ref" in each:
            return str(each["$ref"]).removeprefix("#/$defs/")
    raise KeyError("$ref")
