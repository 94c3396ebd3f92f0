"""How an error ends a command: one readable block, or one JSON object, on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentforge.cli.console import Console
from agentforge.cli.error_codes import anchor_of, is_code
from agentforge.cli.usage import UsageError
from agentforge.errors import AgentForgeError, ToolError

if TYPE_CHECKING:
    from agentforge.config import Diagnostic

__all__ = ("diagnostic_data", "error_data", "report")


def report(error: BaseException, console: Console, *, closing: str | None = None) -> None:
    """Say what went wrong; of a group, every error in it; then ``closing``, and where the codes are explained. The
    traceback only where it was asked for."""
    codes: dict[str, None] = {}
    for one in _leaves(error):
        if isinstance(one, ToolError) and one.tool and one.location is None and repr(one.tool) not in one.message:
            one.location = f"tool {one.tool!r}"
        if console.json:
            console.say_data({"error": error_data(one)})
        else:
            console.say(console.secrets.mask(_block(one)))
            codes |= dict.fromkeys(_codes_of(one))
    if closing is not None and not console.json:
        console.say(closing)
    if codes:
        console.say(_help(list(codes)))
    if console.debug and not isinstance(error, UsageError):
        import traceback

        console.say(console.secrets.mask("".join(traceback.format_exception(error)).rstrip()))


def error_data(error: BaseException) -> dict[str, Any]:
    """An error as data: code, message, location, next step; of a configuration also every fault; notes if any."""
    known = error if isinstance(error, AgentForgeError | UsageError) else _unknown(error)
    made: dict[str, Any] = {
        "code": known.code,
        "message": known.message,
        "location": getattr(known, "location", None),
        "next_step": known.next_step,
    }
    if is_code(known.code):
        made["help"] = anchor_of(known.code)
    notes = _notes(error)
    if notes:
        made["notes"] = notes
    diagnostics = getattr(error, "diagnostics", None)
    if diagnostics is not None:
        made["diagnostics"] = [diagnostic_data(found) for found in diagnostics]
    return made


def diagnostic_data(found: Diagnostic) -> dict[str, Any]:
    """One fault of a configuration as data; line and column only where it stands in a file."""
    mark = found.mark
    return {
        "code": found.code,
        "message": found.message,
        "file": mark.file,
        "line": mark.line if mark.in_file else None,
        "column": mark.column if mark.in_file else None,
        "path": found.path or None,
        "next_step": found.next_step,
        "help": anchor_of(found.code),
    }


_DEBUG = "Run it again with --debug for the traceback."


def _block(error: BaseException) -> str:
    if isinstance(error, UsageError):
        return error.message + (f"\n  next: {error.next_step}" if error.next_step else "")
    known = error if isinstance(error, AgentForgeError) else _unknown(error)
    return "\n".join((str(known), *(f"  note: {note}" for note in _notes(error))))


def _codes_of(error: BaseException) -> list[str]:
    """The codes that the block shows and that say something: that of what is no error of ours does not."""
    found = getattr(error, "diagnostics", None)
    codes = [getattr(error, "code", "")] if found is None else [one.code for one in found]
    return [code for code in codes if is_code(str(code))]


def _help(codes: list[str]) -> str:
    if len(codes) == 1:
        return f"help: agentforge explain {codes[0]} ({anchor_of(codes[0])})"
    return f"help: agentforge explain CODE, for {', '.join(sorted(codes))} ({anchor_of('').rstrip('#')})"


def _unknown(error: BaseException) -> AgentForgeError:
    return AgentForgeError(_words(error), next_step=_DEBUG)


def _notes(error: BaseException) -> list[str]:
    """What was found out on the error's way, such as which bean it was that could not be closed."""
    return list(getattr(error, "__notes__", ()))


def _words(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except Exception:  # an exception whose own text fails still has a name
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
