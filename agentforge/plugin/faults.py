"""What can be wrong with a plugin, a bean type or a component: configuration errors with codes of their own (AF2xx)."""

from __future__ import annotations

from agentforge.errors import AgentForgeError, ConfigurationError

__all__ = ("BeanTypeError", "ComponentError", "PluginError", "ends_the_program", "place_of", "words_of")

_OURS = ("agentforge", "pluggy")


class PluginError(ConfigurationError):
    """A plugin that was asked for cannot be used: missing, blocked, incompatible, or it failed while loading."""

    code = "AF201"


class BeanTypeError(ConfigurationError):
    """A bean type that is declared wrongly, or whose factory did not give a bean."""

    code = "AF202"


class ComponentError(ConfigurationError):
    """A component that the ``scan`` roots do not hold, or that cannot be made."""

    code = "AF203"


def ends_the_program(error: BaseException) -> bool:
    """Whether what somebody's code raised is meant for the whole program: an interrupt, or the end that a signal has
    asked for, which is a `SystemExit` of a class of its own. All else, ``sys.exit()`` too, is that code's failure."""
    return isinstance(error, KeyboardInterrupt) or (isinstance(error, SystemExit) and type(error) is not SystemExit)


def words_of(error: BaseException) -> str:
    """The class and the words of what somebody's code raised."""
    if isinstance(error, AgentForgeError):
        return error.message
    try:
        text = str(error).strip()
    except Exception:  # an exception whose own text fails still has a name
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def place_of(error: BaseException) -> str:
    """Where somebody's module raised, as `` (FILE:LINE)``, for the words of an error that hides the traceback. The last
    line that is not ours: what we refuse is at fault where it was said."""
    if isinstance(error, SyntaxError) and error.filename:
        return ""  # its own words say it
    place, trace = "", error.__traceback__
    while trace is not None:
        code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in _OURS:
            place = "" if code.co_filename.startswith("<") else f" ({code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place
