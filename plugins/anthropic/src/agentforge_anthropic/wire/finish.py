"""Why a reply ended, in our words. The calls decide whether there are calls; the vendor's word only colours it."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import FinishReason, Notice

__all__ = ("finish_of", "refusal_notice")

_WORDS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_EXECUTION,
    "pause_turn": FinishReason.PAUSE,
    "refusal": FinishReason.REFUSAL,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    # What the form does not have, and hosts that speak it may send.
    "content_filter": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
}
#: With calls, these only say that it is our turn.
_OUR_TURN = (FinishReason.STOP, FinishReason.PAUSE)


def finish_of(word: str | None, *, has_calls: bool) -> tuple[FinishReason, Notice | None]:
    """The reason, and a notice where the word contradicts the reply.

    >>> finish_of("end_turn", has_calls=True)[0]
    <FinishReason.TOOL_EXECUTION: 'tool_execution'>
    """
    reason = _WORDS.get(word, FinishReason.OTHER) if word else FinishReason.STOP
    if has_calls:
        return (FinishReason.TOOL_EXECUTION if reason in _OUR_TURN else reason), None
    if reason is FinishReason.TOOL_EXECUTION:
        return FinishReason.STOP, Notice(
            "finish_reason_without_calls",
            f"the reply ended with {word!r} but holds no call; it is taken as a final answer",
            {"finish_reason": word},
        )
    return reason, None


def refusal_notice(details: object) -> Notice | None:
    """What the provider says of a refusal, where it says anything."""
    if not isinstance(details, Mapping) or not (details.get("category") or details.get("explanation")):
        return None
    category, explanation = details.get("category"), details.get("explanation")
    said = f"the provider refused to answer ({category})" if category else "the provider refused to answer"
    return Notice("refusal", f"{said}: {explanation}" if explanation else said, dict(details))
