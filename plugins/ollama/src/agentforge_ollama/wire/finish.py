"""Why a reply ended, in our words. The calls decide whether there are calls; the server says ``stop`` of both."""

from __future__ import annotations

from agentforge.model import FinishReason, Notice

__all__ = ("finish_of",)

_WORDS = {
    "": FinishReason.STOP,
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    # What hosts that speak this form may say.
    "tool_calls": FinishReason.TOOL_EXECUTION,
    "content_filter": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
}


def finish_of(word: str | None, *, has_calls: bool) -> tuple[FinishReason, Notice | None]:
    """The reason, and a notice where the word contradicts the reply. A reply that only loaded or unloaded the model has
    a reason of its own (``load``, ``unload``), which is none of ours.

    >>> finish_of("stop", has_calls=True)[0], finish_of("load", has_calls=False)[0]
    (<FinishReason.TOOL_EXECUTION: 'tool_execution'>, <FinishReason.OTHER: 'other'>)
    """
    reason = _WORDS.get(word or "", FinishReason.OTHER)
    if has_calls:
        return (FinishReason.TOOL_EXECUTION if reason is FinishReason.STOP else reason), None
    if reason is FinishReason.TOOL_EXECUTION:
        return FinishReason.STOP, Notice(
            "finish_reason_without_calls",
            f"the reply ended with {word!r} but holds no call; it is taken as a final answer",
            {"finish_reason": word},
        )
    return reason, None
