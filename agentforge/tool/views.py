"""Views over a tool source: fewer tools, other names, other descriptions, a choice for each request.

A view is a source itself.

A view of an unchanged source answers with the same sequence object, so that nothing downstream is made again. A view of
a view offers what their composition offers. What adds arguments is `agentforge.tool.augment`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from agentforge.errors import ConfigurationError, ToolArgumentsError, ToolDeclarationError
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.execution.run import Run
from agentforge.tool.source import BoundTool, ToolSource, known_tools

__all__ = (
    "ChooseTools",
    "StaticTools",
    "View",
    "describe",
    "only",
    "prefix",
    "rename",
    "renamed",
    "selecting",
    "without",
)

_KEPT = 8

ChooseTools: TypeAlias = Callable[[Run, Sequence[BoundTool]], Iterable[BoundTool] | Awaitable[Iterable[BoundTool]]]
"""``(run, tools)`` to the tools of the next request: fewer, others or more than ``tools``; sync or async."""


class StaticTools:
    """A source that always offers the same tools."""

    def __init__(self, tools: Iterable[BoundTool]) -> None:
        self._tools = tuple(tools)

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The tools."""
        return self._tools

    def known_tools(self) -> Sequence[BoundTool]:
        """The tools."""
        return self._tools


class View:
    """Another sequence made of a source's by ``change``, once for each sequence object that the source returns.

    The last eight are kept, so that a source that goes to and fro between a few sets costs nothing either.
    """

    def __init__(self, source: ToolSource, change: Callable[[Sequence[BoundTool]], Iterable[BoundTool]]) -> None:
        self._source = source
        self._change = change
        self._made: tuple[tuple[Sequence[BoundTool], tuple[BoundTool, ...]], ...] = ()

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The source's tools, changed."""
        return self._changed(await self._source.tools(run))

    def known_tools(self) -> Sequence[BoundTool] | None:
        """What is known of the source's tools, changed; ``None``: nothing."""
        found = known_tools(self._source)
        return None if found is None else self._changed(found)

    def _changed(self, found: Sequence[BoundTool]) -> tuple[BoundTool, ...]:
        for seen, made in self._made:
            if seen is found:
                return made
        made = tuple(self._change(found))
        self._made = ((found, made), *self._made[: _KEPT - 1])
        return made


def only(source: ToolSource, *names: str) -> ToolSource:
    """Only the tools of these names; ``*`` and ``?`` are wildcards."""
    return View(source, lambda tools: [tool for tool in tools if _matches(tool.name, names)])


def without(source: ToolSource, *names: str) -> ToolSource:
    """All tools but those of these names; ``*`` and ``?`` are wildcards."""
    return View(source, lambda tools: [tool for tool in tools if not _matches(tool.name, names)])


def prefix(source: ToolSource, text: str) -> ToolSource:
    """All names with ``text`` in front; executors still see the tool's own name."""
    if not text:
        raise ConfigurationError("a prefix of tool names must not be empty")
    return View(source, lambda tools: [renamed(tool, text + tool.name) for tool in tools])


def rename(source: ToolSource, names: Mapping[str, str]) -> ToolSource:
    """Other names for some tools; executors still see the tool's own name.

    Raises `ConfigurationError` for an empty name, and at its first use for a tool that the source does not offer.
    """
    names = dict(names)
    for old, new in names.items():
        if not isinstance(new, str) or not new:
            raise ConfigurationError(f"the new name of tool {old!r} must be a text that is not empty")

    def change(tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
        _expect("rename", names, tools)
        return [renamed(tool, names[tool.name]) if tool.name in names else tool for tool in tools]

    return View(source, change)


def describe(source: ToolSource, texts: Mapping[str, str]) -> ToolSource:
    """Other descriptions for some tools.

    Raises `ConfigurationError` for a description that is no text, and at its first use for a tool that the source
    does not offer.
    """
    texts = dict(texts)
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ConfigurationError(f"the description of tool {name!r} must be a text, not {type(text).__name__}")

    def change(tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
        _expect("describe", texts, tools)
        return [
            replace(tool, specification=replace(tool.specification, description=texts[tool.name]))
            if tool.name in texts
            else tool
            for tool in tools
        ]

    return View(source, change)


def selecting(source: ToolSource, choose: ChooseTools) -> ToolSource:
    """The tools that ``choose`` picks for each request.

    It is asked before every model call, and may leave tools out and add others. It sees the run: its round, the user's
    message (`Run.user_message`), tenant, roles, user data, and the attributes and state of this turn. Where the choice
    is the same as an earlier one, so is the sequence object.

    Raises `ConfigurationError` for a ``choose`` that cannot be called; at its use `ToolDeclarationError` for a choice
    that is no series of bound tools.
    """
    if not callable(choose):
        raise ConfigurationError(
            f"selecting needs a callable (run, tools), not {type(choose).__name__}",
            next_step="To offer tools of certain names, use only(source, ...).",
        )
    return _Selecting(source, choose)


class _Selecting:
    """The source that asks ``choose``; keeps the last choices, so that one made again is the same object."""

    def __init__(self, source: ToolSource, choose: ChooseTools) -> None:
        self._source = source
        self._choose = choose
        self._known: tuple[tuple[BoundTool, ...], ...] = ()

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The tools chosen for the next request of ``run``."""
        found = await self._source.tools(run)
        chosen = self._choose(run, found)
        if inspect.isawaitable(chosen):
            chosen = await chosen
        if chosen is found:
            return found
        made = self._checked(chosen)
        for known in (found, *self._known):
            if len(known) == len(made) and all(a is b for a, b in zip(known, made, strict=True)):
                return known
        self._known = (made, *self._known[: _KEPT - 1])
        return made

    def _checked(self, chosen: object) -> tuple[BoundTool, ...]:
        if isinstance(chosen, Iterable) and not isinstance(chosen, (str, bytes)):
            made = tuple(chosen)
            wrong = next((each for each in made if not isinstance(each, BoundTool)), None)
            if wrong is None:
                return made
            fault = f"{type(wrong).__name__} among the tools"
        else:
            fault = type(chosen).__name__
        raise ToolDeclarationError(
            f"the function that chooses tools gave {fault}, not a series of bound tools",
            next_step="Return the tools to offer, such as tools itself, or [] for none.",
        )


def _expect(what: str, names: Iterable[str], tools: Sequence[BoundTool]) -> None:
    missing = set(names) - {tool.name for tool in tools}
    if missing:
        raise ConfigurationError(
            f"cannot {what} {min(missing)!r}: the source offers no such tool",
            next_step=f"It offers {', '.join(tool.name for tool in tools) or 'none'}.",
        )


def _matches(name: str, patterns: Iterable[str]) -> bool:
    import fnmatch

    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def renamed(tool: BoundTool, name: str) -> BoundTool:
    """The tool under another name; what runs it still sees the name it knows, the model reads of the one it knows."""
    own = tool.name

    def bind(arguments: dict[str, object]) -> Any:
        try:
            return tool.bind(arguments)
        except ToolArgumentsError as error:
            if error.tool != own or not error.problems:
                raise
            # Imported here: what binds is only needed once something does not fit.
            from agentforge.tool.spec.binding import arguments_error

            raise arguments_error(name, list(error.problems)) from None

    def invoke(request: ToolExecutionRequest, bound: Any, run: Run) -> Any:
        return tool.invoke(replace(request, name=own), bound, run)

    return replace(tool, specification=replace(tool.specification, name=name), bind=bind, invoke=invoke)
