"""The argument text of an earlier call as it may go back: a JSON object, as anything else would make every later
request of the conversation fail."""

from __future__ import annotations

from agentforge.errors import ToolArgumentsError
from agentforge.model import ToolExecutionRequest
from agentforge.provider import dump_text, load

__all__ = ("sent_arguments",)

_INVALID = "invalid_arguments"


def sent_arguments(call: ToolExecutionRequest) -> str:
    """The text of a JSON object, the call's own where it is one; what our parser can read is sent as it was read, and
    the rest stays visible to the model.

    >>> sent_arguments(ToolExecutionRequest("c", "a", '{"x":'))
    '{"invalid_arguments":"{\\\\"x\\\\":"}'
    """
    text = call.arguments
    try:
        if isinstance(load(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    try:
        return dump_text(call.arguments_as_map())
    except ToolArgumentsError:
        return dump_text({_INVALID: text})
