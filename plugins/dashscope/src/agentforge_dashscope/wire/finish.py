"""Why a reply ended, in our words. The calls decide whether there are calls; the vendor's word only colours it."""

from __future__ import annotations

from agentforge.model import FinishReason, Notice

__all__ = ("finish_of", "is_end")

_WORDS = {
    "": FinishReason.STOP,
    "stop": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_EXECUTION,
    "function_call": FinishReason.TOOL_EXECUTION,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
}


def is_end(word: object) -> bool:
    """Whether this is the reason of an end; until it, the reason is the text ``null``.

    >>> is_end("null"), is_end(None), is_end("stop")
    (False, False, True)
    """
    return isinstance(word, str) and word not in ("", "null")


def finish_of(word: str | None, *, has_calls: bool) -> tuple[FinishReason, Notice | None]:
    """The reason, and a notice where the word contradicts the reply.

    >>> finish_of("stop", has_calls=True)[0]
    <FinishReason.TOOL_EXECUTION: 'tool_execution'>
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
