"""From a signature to the JSON Schema of its parameters and the conversion of each: one reading serves both."""

from __future__ import annotations

import copy
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.model.specification import ToolParameters
from agentforge.tool.declare import MISSING, NOTE_KEY
from agentforge.tool.spec.models import ModelType, model_schemas, no_json_form
from agentforge.tool.spec.signature import ToolParameter, ToolSignature
from agentforge.tool.spec.types import Convert, fixed_array, plain_type
from agentforge.tool.spec.walk import rebuild, subschemas

__all__ = ("CompiledParameter", "CompiledParameters", "compile_parameters", "tidy_schema")


@dataclass(frozen=True, slots=True)
class CompiledParameter:
    """A parameter with the conversion of its values."""

    parameter: ToolParameter
    convert: Convert
    accepts_null: bool


@dataclass(frozen=True, slots=True)
class CompiledParameters:
    """All parameters of a tool: the schema a model is given, and what is needed to bind."""

    schema: ToolParameters
    rows: tuple[CompiledParameter, ...]


def compile_parameters(signature: ToolSignature) -> CompiledParameters:
    """The closed object schema of ``signature`` in the order of declaration, and the conversions.

    Raises `ToolDeclarationError` naming the parameter whose type has no JSON form.
    """
    strict = signature.strict
    schemas: dict[str, dict[str, Any]] = {}
    converts: dict[str, tuple[Convert, bool]] = {}
    models: dict[str, ModelType] = {}
    for parameter in signature.parameters:
        plain = plain_type(parameter.hint, strict=strict)
        if plain is not None:
            schemas[parameter.name] = copy.deepcopy(dict(plain.schema))
            converts[parameter.name] = (plain.convert, plain.accepts_null)
        else:
            # Imported here: plain tools have no fields and no unions to look at.
            from agentforge.tool.spec.field_notes import refuse_notes
            from agentforge.tool.spec.unions import refuse_ambiguous

            refuse_notes(parameter.hint, parameter.name, tool=signature.tool)
            refuse_ambiguous(parameter.hint, parameter.name, tool=signature.tool)
            model = ModelType(parameter.hint, strict=strict, tool=signature.tool, parameter=parameter.name)
            models[parameter.name] = model
            converts[parameter.name] = (model.convert, _takes_none(model, parameter.hint))
    definitions = _add_models(signature, models, schemas) if models else {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in signature.parameters:
        schema = schemas[parameter.name]
        _add_notes(schema, parameter, models.get(parameter.name), accepts_null=converts[parameter.name][1])
        properties[parameter.wire_name] = schema
        if parameter.required:
            required.append(parameter.wire_name)
    whole: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    if definitions:
        whole["$defs"] = definitions
    rows = tuple(CompiledParameter(parameter, *converts[parameter.name]) for parameter in signature.parameters)
    return CompiledParameters(ToolParameters(whole), rows)


def _add_models(
    signature: ToolSignature, models: dict[str, ModelType], schemas: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    try:
        found, definitions = model_schemas(models)
    except Exception:
        # Which of them it was: asked one by one.
        for parameter in signature.parameters:
            if parameter.name in models:
                try:
                    model_schemas({parameter.name: models[parameter.name]})
                except Exception as error:
                    raise no_json_form(parameter.hint, signature.tool, parameter.name, error) from None
        raise
    definitions = {name: tidy_schema(schema) for name, schema in definitions.items()}
    for name, model in models.items():
        schemas[name] = tidy_schema(found[name])
        model.use_schema(
            {**schemas[name], "$defs": definitions},
            has_open_models=_has_open_models({**found[name], "$defs": definitions}),
        )
    return definitions


def tidy_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without generated titles, with tuples in a portable form and declared objects closed.

    Names of properties are never touched, and mappings (no declared properties) stay open.
    """
    return rebuild(schema, _tidy)


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("title"), str):
        del schema["title"]
    if NOTE_KEY in schema:  # comes before pydantic's own
        schema["description"] = schema.pop(NOTE_KEY)
    if "prefixItems" in schema:
        items = schema.pop("prefixItems")
        minimum = schema.pop("minItems", 0)
        schema.pop("maxItems", None)
        described = schema.get("description")
        schema = {**schema, **fixed_array(items, minimum)}
        if described:
            schema["description"] = f"{described}\n{schema['description']}" if "description" in schema else described
    if isinstance(schema.get("properties"), Mapping):
        schema.setdefault("additionalProperties", False)
        schema.setdefault("required", [])
    return schema


def _has_open_models(schema: Mapping[str, Any]) -> bool:
    """Whether a model says that it takes any further fields (then they are not refused on its account)."""
    if isinstance(schema.get("properties"), Mapping) and schema.get("additionalProperties", False) is not False:
        return True
    return any(_has_open_models(inner) for _, inner in subschemas(schema))


def _takes_none(model: ModelType, hint: Any) -> bool:
    if type(None) in typing.get_args(hint):
        return True
    if typing.get_origin(hint) is typing.Annotated:
        return _takes_none(model, typing.get_args(hint)[0])
    return False


def _add_notes(
    schema: dict[str, Any], parameter: ToolParameter, model: ModelType | None, *, accepts_null: bool
) -> None:
    if parameter.description:
        own = schema.get("description")
        # How the items of a tuple are ordered is part of the type and stays.
        kept = f"\n{own}" if isinstance(own, str) and own.startswith("In this order: ") else ""
        schema["description"] = parameter.description + kept
    schema.pop("default", None)
    if parameter.default is MISSING or (parameter.default is None and not accepts_null):
        return
    default = _json_default(parameter.default, model)
    if default is not MISSING:
        schema["default"] = default


def _json_default(value: Any, model: ModelType | None) -> Any:
    from agentforge.tool.execution.conversion import to_json_value

    try:
        return to_json_value(
            model.adapter.dump_python(value, mode="json", by_alias=True) if model is not None else value
        )
    except Exception:  # a default that JSON cannot show is still a default
        return MISSING
