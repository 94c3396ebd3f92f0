"""Why a reply ended, in our words. The calls decide whether there are calls; the vendor's word only colours it."""

from __future__ import annotations

from agentforge.model import FinishReason, Notice

__all__ = ("finish_of",)

_WORDS = {
    "": FinishReason.STOP,
    "null": FinishReason.STOP,
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_EXECUTION,
    "function_call": FinishReason.TOOL_EXECUTION,
    "length": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,  # of GLM, as network_error is
    "error": FinishReason.ERROR,
    "network_error": FinishReason.ERROR,
    "insufficient_system_resource": FinishReason.ERROR,
}


def finish_of(word: str | None, *, has_calls: bool, refused: bool) -> tuple[FinishReason, Notice | None]:
    """The reason, and a notice where the word contradicts the reply.

    >>> finish_of("stop", has_calls=True, refused=False)[0]
    <FinishReason.TOOL_EXECUTION: 'tool_execution'>
    """
    reason = _WORDS.get(word or "", FinishReason.OTHER)
    if has_calls:
        return (FinishReason.TOOL_EXECUTION if reason is FinishReason.STOP else reason), None
    if refused and reason in (FinishReason.STOP, FinishReason.TOOL_EXECUTION):
        return FinishReason.REFUSAL, None
    if reason is FinishReason.TOOL_EXECUTION:
        return FinishReason.STOP, Notice(
            "finish_reason_without_calls",
            f"the reply ended with {word!r} but holds no call; it is taken as a final answer",
            {"finish_reason": word},
        )
    return reason, None
