"""The named strategies: ready-made handlers for arguments, execution and unknown-tool errors.

Each serves all three kinds. The defaults are seed A's: arguments and unknown tools end the run, an execution failure
goes back to the model.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from string import Formatter

from agentforge.errors import (
    AgentForgeError,
    ConfigurationError,
    ToolArgumentsError,
    ToolTimeoutError,
    UnknownToolError,
)
from agentforge.tool.error.handler import ToolErrorContext, ToolErrorHandler, ToolErrorHandlerResult

__all__ = (
    "STRATEGIES",
    "ListKnownTools",
    "Mask",
    "Rethrow",
    "ReturnToModel",
    "Template",
    "message_of",
    "strategy",
)

_PLACES = ("tool", "id", "error", "message")

_log = logging.getLogger("agentforge.tool")


class Rethrow:
    """End the run with the error (``rethrow``)."""

    def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        raise context.raw_error


class ReturnToModel:
    """Tell the model the error's message, registered secrets masked (``return_to_model``).

    ``rethrow``: exception classes (subclasses too) that end the run instead, as the tool raised them. ``log``: warn
    with the exception, as the default execution handler does.
    """

    def __init__(self, rethrow: tuple[type[BaseException], ...] = (), *, log: bool = False) -> None:
        self.rethrow = tuple(rethrow)
        self.log = log

    def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        if isinstance(error, self.rethrow):
            raise error
        if self.log:
            _warn(error, context)
        return ToolErrorHandlerResult.text(context.mask(message_of(error) + _doubt(error, context)))


class Template:
    """Tell the model a fixed text with ``{tool}``, ``{id}``, ``{error}`` (class name) and ``{message}`` filled in."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            # Names only: a text of a file reaches no attribute and no item of anything.
            for _, name, layout, _ in Formatter().parse(text):
                if name is not None and (name not in _PLACES or "{" in (layout or "")):
                    raise ValueError(f"there is no {{{name}}}")
            self._fill("tool", "id", "error", "message")
        except ValueError as problem:
            raise ConfigurationError(
                f"the error template {text!r} cannot be filled: {problem}",
                next_step="Use only {tool}, {id}, {error} and {message}; write {{ and }} for braces.",
            ) from None

    def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        request = context.request
        text = self._fill(request.name, request.id, type(error).__name__, message_of(error))
        return ToolErrorHandlerResult.text(context.mask(text))

    def _fill(self, tool: str, id_: str, error: str, message: str) -> str:
        return self.text.format(tool=tool, id=id_, error=error, message=message)


class ListKnownTools:
    """Tell the model which tools there are, the nearest names first (``list_known_tools``)."""

    def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        if not isinstance(error, UnknownToolError):
            return ReturnToModel()(error, context)
        import difflib

        name = context.request.name
        near = difflib.get_close_matches(name, error.known, n=3, cutoff=0.6)
        folded = [known for known in error.known if _fold(known) == _fold(name)]
        nearest = list(dict.fromkeys((*folded, *near)))
        others = ", ".join((*nearest, *(known for known in error.known if known not in nearest)))
        hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
        return ToolErrorHandlerResult.text(
            f"There is no tool named {name!r}.{hint} Available tools: {others or 'none'}."
        )


class Mask:
    """Tell the model only the error's class and an id; the details go to the log under that id (``mask``)."""

    def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        reference = os.urandom(4).hex()
        _log.warning(
            "tool %r failed, reference %s: %s",
            context.request.name,
            reference,
            context.mask(message_of(error)),
        )
        return ToolErrorHandlerResult.text(
            f"Tool {context.request.name!r} failed: {type(error).__name__}, reference {reference}."
        )


STRATEGIES: Mapping[str, Callable[[], ToolErrorHandler]] = {
    "rethrow": Rethrow,
    "return_to_model": ReturnToModel,
    "list_known_tools": ListKnownTools,
    "mask": Mask,
}


def strategy(value: str | ToolErrorHandler) -> ToolErrorHandler:
    """A handler by its name, or the handler itself. Raises `ConfigurationError` for an unknown name."""
    if callable(value):
        return value
    if not isinstance(value, str):
        raise ConfigurationError(
            f"an error strategy must be a name or a function of (error, context), not {type(value).__name__}"
        )
    if value not in STRATEGIES:
        import difflib

        near = difflib.get_close_matches(value, STRATEGIES, n=1)
        raise ConfigurationError(
            f"unknown error strategy {value!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
            next_step=f"Use one of {', '.join(STRATEGIES)}, Template(...) or a handler of your own.",
        )
    return STRATEGIES[value]()


def message_of(error: BaseException) -> str:
    """The error's own words; its class name where it has none."""
    try:
        text = error.message if isinstance(error, AgentForgeError) else str(error)
    except Exception:  # an exception whose own text fails still has a name
        text = ""
    return text.strip() or type(error).__name__


def _doubt(error: BaseException, context: ToolErrorContext) -> str:
    if context.effect == "write" and not isinstance(context.raw_error, ToolArgumentsError):
        return " (the effect may have happened; check before calling again)"
    if isinstance(error, ToolTimeoutError):
        return "; whether it took effect is unknown"
    return ""


def _warn(error: BaseException, context: ToolErrorContext) -> None:
    """One warning, masked; with the traceback where the tool's own code raised."""
    text = message_of(error)
    if not isinstance(error, AgentForgeError):
        import traceback

        text += "\n" + "".join(traceback.format_exception(error)).rstrip()
    elif error.next_step:
        text += f"\n  next: {error.next_step}"
    words = context.mask(text)
    # The error goes along for whoever shows it in another way.
    _log.warning(
        "tool %r failed (call %r): %s", context.request.name, context.request.id, words, extra={"tool_error": error}
    )


def _fold(name: str) -> str:
    return name.replace("-", "").replace("_", "").replace(".", "").casefold()
