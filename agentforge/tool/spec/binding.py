"""Arguments to parameters: exact conversion, every problem at once, nothing the tool did not declare."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable
from typing import Any

from agentforge.errors import ArgumentProblem, ToolArgumentsError
from agentforge.tool.declare import MISSING
from agentforge.tool.spec.coercion import Mismatch
from agentforge.tool.spec.schema import CompiledParameter, CompiledParameters

__all__ = ("Binder", "arguments_error")

_FIXED_TYPES = (str, int, float, bool, bytes, type(None), frozenset, enum.Enum)
_SHOWN_PROBLEMS = 20
_SURPLUS = "is not a parameter of this tool"


class Binder:
    """Turns a call's arguments (by wire name) into keyword arguments (by Python name).

    Missing optional parameters get their default, fresh for every call; one without a default gets ``None``. ``null``
    for a parameter whose type has no null means that it was not given. Raises `ToolArgumentsError` with all problems.
    """

    __slots__ = ("_known", "_rows", "_tool")

    def __init__(self, tool: str, compiled: CompiledParameters) -> None:
        self._tool = tool
        self._rows = tuple(
            (row.parameter.wire_name, row.parameter.name, row.convert, row.accepts_null, _maker(row))
            for row in compiled.rows
        )
        self._known = frozenset(row.parameter.wire_name for row in compiled.rows)

    def __call__(self, arguments: dict[str, object], /) -> dict[str, Any]:
        """The keyword arguments."""
        bound: dict[str, Any] = {}
        given = 0
        problems: list[ArgumentProblem] = []
        for wire_name, name, convert, accepts_null, make_default in self._rows:
            value = arguments.get(wire_name, MISSING)
            if value is not MISSING:
                given += 1
                if value is not None or accepts_null or make_default is None:
                    try:
                        bound[name] = convert(value)
                    except Mismatch as error:
                        problems += _problems_of(wire_name, error)
                    continue
            if make_default is None:
                problems.append(ArgumentProblem(wire_name, "is required and was not given"))
            else:
                bound[name] = make_default()
        if given != len(arguments):
            surplus = [name for name in arguments if name not in self._known]
            # Near misses take time to find: only for those that are shown.
            problems += [self._surplus(name) for name in surplus[:_SHOWN_PROBLEMS]]
            problems += [ArgumentProblem(name[:80], _SURPLUS) for name in surplus[_SHOWN_PROBLEMS:]]
        if problems:
            raise arguments_error(self._tool, problems)
        return bound

    def _surplus(self, name: str) -> ArgumentProblem:
        import difflib

        near = difflib.get_close_matches(name[:80], self._known, n=1)
        return ArgumentProblem(name[:80], f"{_SURPLUS}; did you mean {near[0]!r}?" if near else _SURPLUS)


def _problems_of(wire_name: str, error: Mismatch) -> list[ArgumentProblem]:
    return [ArgumentProblem(".".join([wire_name, *map(str, path)]), message) for path, message in error.problems]


def _maker(row: CompiledParameter) -> Callable[[], Any] | None:
    """What makes the default, or ``None`` when the parameter must be given."""
    parameter = row.parameter
    if parameter.required:
        return None
    if parameter.default_factory is not None:
        return parameter.default_factory
    default = None if parameter.default is MISSING else parameter.default
    if isinstance(default, _FIXED_TYPES):
        return lambda: default
    try:
        copy.deepcopy(default)
    except Exception:  # a lock, a connection: shared, as Python itself shares defaults
        return lambda: default
    return lambda: copy.deepcopy(default)


def arguments_error(tool: str, problems: list[ArgumentProblem]) -> ToolArgumentsError:
    """The error that names the tool and lists what is wrong, the first twenty in its text."""
    listed = "; ".join(str(problem) for problem in problems[:_SHOWN_PROBLEMS])
    more = f"; and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
    return ToolArgumentsError(
        f"the arguments of tool {tool!r} do not fit: {listed}{more}",
        tool=tool,
        problems=problems,
        next_step="Call the tool again with arguments that fit its parameters.",
    )
