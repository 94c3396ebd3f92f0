"""Views over a tool source: fewer tools, other names, extra arguments. A view is a source itself.

A view of an unchanged source answers with the same sequence object, so that nothing downstream is made again.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from agentforge.errors import ConfigurationError, ToolDeclarationError
from agentforge.model.specification import ToolParameters, ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run
from agentforge.tool.source import BoundTool, ToolSource

__all__ = ("AugmentedCall", "StaticTools", "augmented", "only", "prefix", "rename", "without")


class StaticTools:
    """A source that always offers the same tools."""

    def __init__(self, tools: Iterable[BoundTool]) -> None:
        self._tools = tuple(tools)

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The tools."""
        return self._tools


class _View:
    """Another sequence made of a source's, once for each sequence object the source returns."""

    def __init__(self, source: ToolSource, change: Callable[[Sequence[BoundTool]], Sequence[BoundTool]]) -> None:
        self._source = source
        self._change = change
        self._seen: Sequence[BoundTool] | None = None
        self._made: Sequence[BoundTool] = ()

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The source's tools, changed."""
        found = await self._source.tools(run)
        if found is not self._seen:
            self._made = tuple(self._change(found))
            self._seen = found
        return self._made


def only(source: ToolSource, *names: str) -> ToolSource:
    """Only the tools of these names; ``*`` and ``?`` are wildcards."""
    return _View(source, lambda tools: [tool for tool in tools if _matches(tool.name, names)])


def without(source: ToolSource, *names: str) -> ToolSource:
    """All tools but those of these names; ``*`` and ``?`` are wildcards."""
    return _View(source, lambda tools: [tool for tool in tools if not _matches(tool.name, names)])


def prefix(source: ToolSource, text: str) -> ToolSource:
    """All names with ``text`` in front; executors still see the tool's own name."""
    if not text:
        raise ConfigurationError("a prefix of tool names must not be empty")
    return _View(source, lambda tools: [_renamed(tool, text + tool.name) for tool in tools])


def rename(source: ToolSource, names: Mapping[str, str]) -> ToolSource:
    """Other names for some tools; a name in ``names`` that the source does not offer is an error at its first use."""

    def change(tools: Sequence[BoundTool]) -> Sequence[BoundTool]:
        missing = set(names) - {tool.name for tool in tools}
        if missing:
            raise ConfigurationError(
                f"cannot rename {min(missing)!r}: the source offers no such tool",
                next_step=f"It offers {', '.join(tool.name for tool in tools) or 'none'}.",
            )
        return [_renamed(tool, names[tool.name]) if tool.name in names else tool for tool in tools]

    return _View(source, change)


@dataclass(frozen=True, slots=True)
class AugmentedCall:
    """What the model wrote into the extra arguments of one call."""

    request: ToolExecutionRequest
    specification: ToolSpecification
    extra: Mapping[str, object]
    run: Run


AugmentedConsumer: TypeAlias = Callable[[AugmentedCall], Awaitable[None] | None]


def augmented(
    source: ToolSource, parameters: ToolParameters, consumer: AugmentedConsumer, *, remove: bool = True
) -> ToolSource:
    """Every tool with further parameters for the model to fill (a reason, an inner thought).

    ``consumer`` gets them before the call, and the tool never sees them. With ``remove=False`` an own executor finds
    them in its request too; a function takes only its own parameters.

    Raises `ToolDeclarationError` for parameters without a property or a name the tool has already.
    """
    if not parameters.properties:
        raise ToolDeclarationError("augmented tools need at least one extra parameter")
    return _View(source, lambda tools: [_augmented(tool, parameters, consumer, remove) for tool in tools])


def _augmented(tool: BoundTool, extra: ToolParameters, consumer: AugmentedConsumer, remove: bool) -> BoundTool:
    own = tool.specification.parameters
    clash = set(own.properties) & set(extra.properties)
    if clash:
        raise ToolDeclarationError(f"the tool {tool.name!r} has a parameter {min(clash)!r} already", tool=tool.name)
    schema = {
        **own.schema,
        "properties": {**extra.properties, **own.properties},
        "required": [*extra.required, *own.required],
    }
    specification = replace(tool.specification, parameters=ToolParameters(schema))
    # Imported here: a program without augmented tools needs no schema validator.
    from agentforge.tool.execution.schema_validator import CheckedArguments, SchemaValidator

    check_extra = SchemaValidator(ToolSpecification(tool.name, parameters=extra))

    def bind(arguments: dict[str, object]) -> tuple[dict[str, object], Any, str]:
        noted = {name: arguments[name] for name in extra.properties if name in arguments}
        kept = {name: value for name, value in arguments.items() if name not in noted}
        checked, inner = check_extra(noted), tool.bind(kept)
        if remove:
            return checked, inner, json.dumps(kept, ensure_ascii=False)
        if isinstance(inner, CheckedArguments):
            inner = CheckedArguments({**inner, **checked}, changed=True)
        return checked, inner, json.dumps({**kept, **checked}, ensure_ascii=False)

    def call(request: ToolExecutionRequest, bound: tuple[Any, Any, str], run: Run) -> Any:
        _, inner, text = bound
        return tool.invoke(request.with_arguments(text), inner, run)

    async def invoke(request: ToolExecutionRequest, bound: Any, run: Run) -> ToolExecutionResult:
        told = consumer(AugmentedCall(request, specification, bound[0], run))
        if inspect.isawaitable(told):
            await told
        made = call(request, bound, run)
        return await made if inspect.isawaitable(made) else made  # type: ignore[no-any-return]

    def invoke_blocking(request: ToolExecutionRequest, bound: Any, run: Run) -> Any:
        told = consumer(AugmentedCall(request, specification, bound[0], run))
        if not inspect.isawaitable(told):
            return call(request, bound, run)

        async def both() -> ToolExecutionResult:
            await told
            made = call(request, bound, run)
            return await made if inspect.isawaitable(made) else made  # type: ignore[no-any-return]

        return both()

    return replace(tool, specification=specification, bind=bind, invoke=invoke_blocking if tool.blocking else invoke)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    import fnmatch

    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _renamed(tool: BoundTool, name: str) -> BoundTool:
    """The tool under another name; what runs it still sees the name it knows."""
    own = tool.name

    def invoke(request: ToolExecutionRequest, bound: Any, run: Run) -> Any:
        return tool.invoke(replace(request, name=own), bound, run)

    return replace(tool, specification=replace(tool.specification, name=name), invoke=invoke)
