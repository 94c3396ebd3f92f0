"""Arguments against a JSON Schema: for tools whose schema came from elsewhere (own executors, HTTP, MCP).

Coerced exactly first, as `agentforge.tool.spec.coercion` says, then checked whole. The validator is compiled at the
first call, fetches nothing, and matches patterns with an engine whose time is linear (threat S16).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model.specification import ToolSpecification
from agentforge.tool.spec.binding import arguments_error
from agentforge.tool.spec.checks import check_schema
from agentforge.tool.spec.closing import closed_schema
from agentforge.tool.spec.json_validator import compile_validator, problems_in
from agentforge.tool.spec.reshaping import Reshaper

__all__ = ("CheckedArguments", "SchemaValidator")


class CheckedArguments(dict[str, Any]):
    """Arguments that fit; ``changed`` says whether a value had to be coerced."""

    __slots__ = ("changed",)

    def __init__(self, arguments: Mapping[str, Any], *, changed: bool) -> None:
        super().__init__(arguments)
        self.changed = changed


class SchemaValidator:
    """Checks arguments against the schema of ``specification`` and returns them coerced.

    ``strict`` (default: as the specification asks for it) takes numbers as numbers only; otherwise the text of a number
    is understood where the schema asks for one. With a specification that may be sent as strict ``null`` for a property
    that may be left out and cannot be null means that it was left out, as strict modes force models to name every
    property. Keys that no
    part of the schema declares are refused unless it says that further ones are welcome, in objects inside as well
    (see `agentforge.tool.spec.closing`).

    Raises `ToolArgumentsError` with every problem; building it raises `ToolDeclarationError` for an unusable schema.

    >>> from agentforge.model.specification import ToolParameters
    >>> parameters = ToolParameters.builder().add_property("count", "integer", required=True).build()
    >>> SchemaValidator(ToolSpecification("repeat", parameters=parameters))({"count": "3"})
    {'count': 3}
    """

    __slots__ = ("_compiled", "_is_counted", "_reshaper", "_schema", "_tool")

    def __init__(self, specification: ToolSpecification, *, strict: bool | None = None) -> None:
        check_schema(specification.parameters.schema, tool=specification.name)
        self._tool = specification.name
        schema = dict(specification.parameters.schema)
        schema.setdefault("type", "object")
        self._schema = schema
        # Imported here: what checks schemas of others is needed once there are some.
        from agentforge.tool.spec.schema_cost import has_references

        #: Only references can make a small schema cost more than anybody can wait for.
        self._is_counted = has_references(schema)
        self._reshaper = Reshaper(
            schema,
            text_to_number=not (specification.strict in (True, "portable") if strict is None else strict),
            drop_nulls=bool(specification.strict),
        )
        self._compiled: Any = None

    def __call__(self, arguments: dict[str, object], /) -> CheckedArguments:
        """The arguments, coerced, in a new mapping."""
        if self._is_counted:
            from agentforge.tool.spec.schema_cost import check_cost

            check_cost(self._schema, arguments, self._tool)
        shaped = self._reshaper.reshape(arguments)
        if self._compiled is None:
            self.prepare()
        problems = problems_in(shaped, self._compiled)
        if problems:
            raise arguments_error(self._tool, problems)
        return CheckedArguments(shaped, changed=shaped is not arguments)

    def prepare(self) -> None:
        """Compile it now and not at the first call; raises `ToolDeclarationError` for a schema that is none."""
        closed = closed_schema(self._schema, tool=self._tool)
        self._compiled = compile_validator(closed, tool=self._tool)
