"""What an answer is to be: a Python type or a JSON Schema, as the schema a model is given and the reading of its text.

Types are read as those of tools' parameters are, so what a tool may take, an answer may be.
"""

from __future__ import annotations

import copy
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from agentforge.advisor.json_in_text import read_json
from agentforge.errors import ArgumentProblem, ConfigurationError, ToolArgumentsError, ToolDeclarationError
from agentforge.model import ToolParameters, ToolSpecification

__all__ = ("OutputType", "OutputTypeError")

T = TypeVar("T")
_KEY = "value"
_NAME = "answer"
_SHOWN = 20
_LONGEST = 2000
#: Where one of these is, further properties may be declared, or welcome.
_OPENING = ("additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas")
_SHARED = ("$schema", "$defs", "definitions")


class OutputTypeError(ValueError):
    """A text that is no value of the type. ``problems`` are words for the model that wrote it: a path and a reason
    each, with values in short, never whole."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        shown = "; ".join(problems[:_SHOWN])[:_LONGEST]
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        super().__init__(shown + more)


class OutputType(Generic[T]):
    """The type of an answer: whatever a tool's parameter may be, or a JSON Schema as a mapping.

    ``schema`` is what the model is held to. Its root is an object: what is none (texts, numbers, lists, unions) stands
    under the one key ``value`` (``wrapped``). ``name`` is the type's own where it has one that a wire takes.

    A value is taken exactly: a text is no number, and no key may be there that the type does not know. ``null`` for
    what may be left out means that it was, as strict modes make models name every field.

    Raises `ConfigurationError` for a type that has no JSON form and a mapping that is no JSON Schema.

    >>> output = OutputType(list[int])
    >>> output.parse('{"value": [1, 2]}')
    [1, 2]
    >>> output.schema["properties"]
    {'value': {'type': 'array', 'items': {'type': 'integer'}}}
    """

    __slots__ = ("_convert", "_left_out", "is_strict", "name", "schema", "wrapped")

    def __init__(self, of: type[T] | Mapping[str, Any] | Any, *, name: str | None = None) -> None:
        self.name = name if name is not None else _name_of(of)
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", self.name):
            raise ConfigurationError(
                f"the name of an output type has letters, digits, - and _, at most 64, not {self.name[:80]!r}"
            )
        #: The JSON Schema, of an object.
        self.schema: Mapping[str, Any]
        #: Whether the value stands under the key ``value``.
        self.wrapped: bool
        self._convert: Callable[[Any], Any]
        try:
            if isinstance(of, Mapping):
                self.schema, self.wrapped, self._convert = _of_schema(of, self.name)
            else:
                self.schema, self.wrapped, self._convert = _of_hint(of, self.name)
        except ToolDeclarationError as error:
            # Worded for a tool's parameter, which an answer is not.
            reason = error.message.replace(f" of tool {self.name!r}", "").replace(f"parameter {_KEY!r}", "it")
            raise ConfigurationError(
                f"{_shown(of)} cannot be the type of an answer: {reason}",
                next_step="Correct the schema."
                if isinstance(of, Mapping)
                else "Use a JSON type, an enum, a dataclass, a typed dict or a model.",
            ) from None
        self._left_out: Any = None
        #: Whether providers' strict modes can hold a model to the schema.
        self.is_strict = _fits_strict_modes(self.schema)

    @classmethod
    def of(cls, given: OutputType[T] | type[T] | Mapping[str, Any] | Any) -> OutputType[T]:
        """The type itself, or what it is made of."""
        return given if isinstance(given, OutputType) else cls(given)

    def parse(self, text: str | None) -> T:
        """The value that a model's text stands for. Raises `OutputTypeError`."""
        return self.read(text)[1]

    def read(self, text: str | None) -> tuple[str, T]:
        """As `parse`, with the JSON that was found in the text; nulls that only say that a field was left out are left
        out of it, too."""
        try:
            found, value = read_json(text or "")
        except ValueError as error:
            raise OutputTypeError([str(error)]) from None
        whole, key = value, None
        if self.wrapped:
            # A list or a number without the object around it has one plain meaning.
            if isinstance(value, dict) and value.keys() == {_KEY}:
                value = value[_KEY]
            else:
                key = _KEY
        elif not isinstance(value, dict):
            raise OutputTypeError([f"a JSON object was expected, {_kind(value)} came"])
        made = self._convert(value)
        if "null" in found:
            if self._left_out is None:
                # Imported here: most answers have no null.
                from agentforge.advisor.left_out import NullsLeftOut

                self._left_out = NullsLeftOut(self.schema)
            found = self._left_out.text(found, whole, key=key)
        return found, made

    def __repr__(self) -> str:
        return f"OutputType({self.name!r})"


def _of_hint(hint: Any, name: str) -> tuple[Mapping[str, Any], bool, Callable[[Any], Any]]:
    """Read as the one parameter of a tool; what is an object by itself is taken out of it."""
    from agentforge.tool.declare import ToolDeclaration
    from agentforge.tool.spec.coercion import Mismatch
    from agentforge.tool.spec.docstring import DocstringText
    from agentforge.tool.spec.schema import compile_parameters
    from agentforge.tool.spec.signature import ToolParameter, ToolSignature

    if isinstance(hint, str):
        raise ConfigurationError(
            f"the text {hint[:80]!r} is no type", next_step="Give the type itself, or a JSON Schema as a mapping."
        )
    declared = ToolDeclaration(strict=True)
    parameter = ToolParameter(_KEY, _KEY, hint)
    signature = ToolSignature(name, _of_hint, declared, (parameter,), {}, (), DocstringText(None, {}))
    compiled = compile_parameters(signature)
    [row] = compiled.rows
    whole: Mapping[str, Any] = compiled.schema.schema
    definitions = whole.get("$defs", {})
    own = whole["properties"][_KEY]
    if "$ref" in own:
        beside = {key: part for key, part in own.items() if key != "$ref"}
        own = {**definitions[str(own["$ref"]).rpartition("/")[2]], **beside}
    wrapped = own.get("type") != "object"
    if not wrapped:
        used = _used_definitions(own, definitions)
        whole = {**own, "$defs": {key: definitions[key] for key in definitions if key in used}} if used else own

    def convert(value: Any) -> Any:
        try:
            return row.convert(value)
        except Mismatch as error:
            start = (_KEY,) if wrapped else ()
            raise OutputTypeError(
                [_problem(".".join(map(str, (*start, *path))), words) for path, words in error.problems]
            ) from None

    return whole, wrapped, convert


def _of_schema(given: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], bool, Callable[[Any], Any]]:
    from agentforge.tool.execution.schema_validator import SchemaValidator

    schema = copy.deepcopy(dict(given))
    wrapped = schema.get("type") != "object" and not ("type" not in schema and "properties" in schema)
    if wrapped:
        shared: dict[str, Any] = {key: schema.pop(key) for key in _SHARED if key in schema}
        if "$ref" in schema and str(schema["$ref"]).strip("/") == "#":
            raise ToolDeclarationError("it refers to itself")
        properties = {_KEY: schema}
        schema = {"type": "object", "properties": properties, "required": [_KEY], "additionalProperties": False}
        schema.update(shared)
    else:
        schema.setdefault("type", "object")
    _check_required(schema)
    validator = SchemaValidator(ToolSpecification(name, parameters=ToolParameters(schema), strict=True))
    _compile(validator)

    def convert(value: Any) -> Any:
        try:
            checked = validator({_KEY: value} if wrapped else value)
        except ToolArgumentsError as error:
            raise OutputTypeError([_of_argument(problem) for problem in error.problems]) from None
        return checked[_KEY] if wrapped else dict(checked)

    return schema, wrapped, convert


def _check_required(schema: Mapping[str, Any]) -> None:
    """Refuse a closed object that requires what it does not declare: no answer would do."""
    if any(key in schema for key in _OPENING) or not isinstance(schema.get("required"), list):
        return
    declared = schema.get("properties", {})
    missing = [name for name in schema["required"] if name not in declared]
    if missing:
        raise ToolDeclarationError(
            f"it requires {missing[0]!r}, which is not among its properties, and says nothing of further ones"
        )


def _compile(validator: Callable[[dict[str, object]], object]) -> None:
    """Let the validator find what is wrong with the schema now, not at the first answer."""
    try:
        validator({})
    except ToolArgumentsError:
        return


def _used_definitions(schema: object, definitions: Mapping[str, Any]) -> set[str]:
    """The names of those that the schema refers to, also through others."""
    used: set[str] = set()
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, Mapping):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            if name in definitions and name not in used:
                used.add(name)
                left.append(definitions[name])
        left.extend(node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ())
    return used


def _fits_strict_modes(schema: Mapping[str, Any]) -> bool:
    from agentforge.tool.spec.compile import compile_schema

    return not compile_schema(schema).problems


def _of_argument(problem: ArgumentProblem) -> str:
    return _problem(problem.path, problem.message.replace("is not a parameter of this tool", "is not a known field"))


def _problem(path: str, words: str) -> str:
    return str(ArgumentProblem(path, words)) if path else words


def _name_of(of: object) -> str:
    given = of.get("title") if isinstance(of, Mapping) else getattr(of, "__name__", None)
    if typing.get_origin(of) is not None or not isinstance(given, str) or of in (str, int, float, bool):
        return _NAME
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", given)[:64] or _NAME


def _shown(of: object) -> str:
    return "the mapping" if isinstance(of, Mapping) else getattr(of, "__name__", None) or str(of)


def _kind(value: object) -> str:
    from agentforge.tool.spec.coercion import came

    return came(value)
