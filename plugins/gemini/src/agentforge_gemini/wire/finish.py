"""Why a reply ended, in our words. The calls decide whether there are calls; the vendor's word only colours it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import FinishReason, Notice

__all__ = ("blocked_notice", "end_notice", "finish_of")

_FILTERED = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "ESCALATION",
    "PUP_LIMITED_DISABLED",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
)
_FAILED = (
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
    "MISSING_THOUGHT_SIGNATURE",
)
_WORDS = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    # The limit of one request, in a reply that may be longer: what is missing is missing all the same.
    "CONTINUATION": FinishReason.LENGTH,
    **dict.fromkeys(_FILTERED, FinishReason.CONTENT_FILTER),
    **dict.fromkeys(_FAILED, FinishReason.ERROR),
}


def finish_of(word: str | None, *, has_calls: bool) -> FinishReason:
    """The reason; without a word the reply ended by itself.

    >>> finish_of("STOP", has_calls=True), finish_of("UNEXPECTED_TOOL_CALL", has_calls=True)
    (<FinishReason.TOOL_EXECUTION: 'tool_execution'>, <FinishReason.ERROR: 'error'>)
    """
    reason = _WORDS.get(word, FinishReason.OTHER) if word else FinishReason.STOP
    return FinishReason.TOOL_EXECUTION if has_calls and reason is FinishReason.STOP else reason


def end_notice(word: str | None, message: str | None) -> Notice | None:
    """What the vendor says of an end that is none of the usual ones."""
    if word in (None, "STOP", "MAX_TOKENS"):
        return None
    if word == "CONTINUATION":
        return Notice(
            "reply_continues",
            "the reply reached the limit of one request and could go on; it is taken as cut. Set max_output_tokens to "
            "what one request may give",
            {"finish_reason": word},
        )
    said = f"the provider ended the reply with {word}"
    return Notice(
        "finish_reason", f"{said}: {message}" if message else said, {"finish_reason": word, "message": message}
    )


def blocked_notice(feedback: Mapping[str, Any]) -> Notice:
    """What the vendor says of a prompt that it does not answer."""
    reason, message = feedback.get("blockReason"), feedback.get("blockReasonMessage")
    said = f"the provider blocked the prompt ({reason})"
    return Notice("prompt_blocked", f"{said}: {message}" if message else said, dict(feedback))
