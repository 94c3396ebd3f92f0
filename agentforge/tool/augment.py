"""A view that adds arguments to every tool (a reason, an inner thought, a confidence) and keeps them from the tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from agentforge.errors import ArgumentProblem, ToolArgumentsError, ToolDeclarationError
from agentforge.model.specification import ToolParameters, ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.execution.nested import is_taken_up
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run
from agentforge.tool.source import BoundTool, ToolSource
from agentforge.tool.views import View

__all__ = ("AugmentedCall", "AugmentedConsumer", "augmented")


@dataclass(frozen=True, slots=True)
class AugmentedCall:
    """What the model wrote into the extra arguments of one call.

    ``extra`` are the checked values by name, ``value`` is the object made of them where a type was given. The
    specification is the augmented one, the request as the model made it.
    """

    request: ToolExecutionRequest
    specification: ToolSpecification
    extra: Mapping[str, object]
    run: Run
    value: Any = None


AugmentedConsumer: TypeAlias = Callable[[AugmentedCall], Awaitable[None] | None]
"""Gets the extra arguments of each call before the tool runs; sync or async. What it raises, the tool failed with."""


def augmented(
    source: ToolSource,
    model: type | ToolParameters,
    consumer: AugmentedConsumer,
    *,
    remove: bool = True,
) -> ToolSource:
    """Every tool with further parameters for the model to fill (a reason, an inner thought).

    ``model`` is a dataclass, a pydantic model or a typed dict whose fields are the parameters, or `ToolParameters`.
    ``consumer`` gets the values before the call, and the tool never sees them; all else of the tool is as it was. With
    ``remove=False`` an own executor finds them in its request too; a function takes only its own parameters.

    Raises `ToolDeclarationError` for a model without fields; at its first use for a name that a tool has already.
    """
    extra = _Extra(model)
    return View(source, lambda tools: [_augmented(tool, extra, consumer, remove) for tool in tools])


class _Extra:
    """The extra parameters: their schema, and how their values are checked."""

    def __init__(self, model: type | ToolParameters) -> None:
        # Imported here: a program without augmented tools needs no schema validator.
        from agentforge.tool.execution.schema_validator import SchemaValidator
        from agentforge.tool.spec.object_type import ObjectType

        self._made_by: ObjectType | None = None
        if isinstance(model, ToolParameters):
            self.schema: Mapping[str, Any] = model.schema
            self._check: SchemaValidator | None = SchemaValidator(
                # They may be added to a tool that goes out strict.
                ToolSpecification("augmented", parameters=model, strict="auto")
            )
        else:
            self._made_by = ObjectType(model, tool="augmented")
            self.schema = self._made_by.schema
            self._check = None
        self.names: frozenset[str] = frozenset(ToolParameters(self.schema).properties)
        if not self.names:
            raise ToolDeclarationError("augmented tools need at least one extra parameter")

    def read(self, noted: dict[str, object]) -> tuple[dict[str, object], Any]:
        """The checked values by name, and the object made of them; raises `ToolArgumentsError`."""
        if self._made_by is None:
            assert self._check is not None
            return self._check(noted), None
        value = self._made_by.bind(noted)
        return self._made_by.values_of(value), value


def _augmented(tool: BoundTool, extra: _Extra, consumer: AugmentedConsumer, remove: bool) -> BoundTool:
    own = tool.specification.parameters
    clash = set(own.properties) & extra.names
    if clash:
        raise ToolDeclarationError(f"the tool {tool.name!r} has a parameter {min(clash)!r} already", tool=tool.name)
    specification = replace(tool.specification, parameters=ToolParameters(_joined(own.schema, extra.schema)))
    from agentforge.tool.execution.schema_validator import CheckedArguments
    from agentforge.tool.spec.binding import arguments_error
    from agentforge.tool.spec.long_numbers import json_text

    def bind(arguments: dict[str, object]) -> tuple[dict[str, object], Any, Any, str]:
        noted = {name: value for name, value in arguments.items() if name in extra.names}
        kept = {name: value for name, value in arguments.items() if name not in extra.names}
        problems: list[ArgumentProblem] = []
        checked: dict[str, object] = {}
        value = inner = None
        try:
            checked, value = extra.read(noted)
        except ToolArgumentsError as error:
            problems += error.problems
        try:
            inner = tool.bind(kept)
        except ToolArgumentsError as error:
            if not problems:
                raise
            problems += error.problems
        if problems:
            raise arguments_error(tool.name, problems)
        if remove:
            return checked, value, inner, json_text(kept)
        if isinstance(inner, CheckedArguments):
            inner = CheckedArguments({**inner, **checked}, changed=True)
        return checked, value, inner, json_text({**kept, **noted})

    def call(request: ToolExecutionRequest, bound: tuple[Any, Any, Any, str], run: Run) -> Any:
        return tool.invoke(request.with_arguments(bound[3]), bound[2], run)

    async def finish(told: Any, request: ToolExecutionRequest, bound: Any, run: Run) -> ToolExecutionResult:
        if inspect.isawaitable(told):
            await told
        made = call(request, bound, run)
        return await made if inspect.isawaitable(made) else made  # type: ignore[no-any-return]

    async def invoke(request: ToolExecutionRequest, bound: Any, run: Run) -> ToolExecutionResult:
        if is_taken_up():  # the consumer was told when the call was first made
            return await finish(None, request, bound, run)
        return await finish(
            consumer(AugmentedCall(request, specification, bound[0], run, bound[1])), request, bound, run
        )

    def invoke_blocking(request: ToolExecutionRequest, bound: Any, run: Run) -> Any:
        told = consumer(AugmentedCall(request, specification, bound[0], run, bound[1]))
        return finish(told, request, bound, run) if inspect.isawaitable(told) else call(request, bound, run)

    return replace(tool, specification=specification, bind=bind, invoke=invoke_blocking if tool.blocking else invoke)


def _joined(own: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The tool's schema with the extra properties in front; definitions of one name and different contents are told
    apart."""
    extra = _told_apart(extra, own.get("$defs") or {})
    made = {
        **own,
        "properties": {**(extra.get("properties") or {}), **(own.get("properties") or {})},
        "required": [*_names(extra), *_names(own)],
    }
    definitions = {**(extra.get("$defs") or {}), **(own.get("$defs") or {})}
    if definitions:
        made["$defs"] = definitions
    return made


def _names(schema: Mapping[str, Any]) -> Sequence[str]:
    found: Sequence[str] = schema.get("required") or ()
    return found


def _told_apart(schema: Mapping[str, Any], taken: Mapping[str, Any]) -> Mapping[str, Any]:
    definitions = schema.get("$defs") or {}
    other: dict[str, str] = {}
    for name, each in definitions.items():
        if name in taken and taken[name] != each:
            number = 2
            while f"{name}_{number}" in taken or f"{name}_{number}" in definitions:
                number += 1
            other[name] = f"{name}_{number}"
    if not other:
        return schema
    from agentforge.tool.spec.walk import rebuild

    def change(each: dict[str, Any]) -> dict[str, Any]:
        reference = each.get("$ref")
        name = reference.removeprefix("#/$defs/") if isinstance(reference, str) else ""
        return {**each, "$ref": f"#/$defs/{other[name]}"} if name in other else each

    made = rebuild(schema, change)
    made["$defs"] = {other.get(name, name): each for name, each in made["$defs"].items()}
    return made
