"""Reads the engine's chunks: text as it comes, why the reply ended, what it cost, and the engine's errors as ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ContextLengthError, InvalidRequestError, ModelError
from agentforge.model import FinishReason, TokenUsage

__all__ = ("Generation", "error_of")

_FINISH: Mapping[str, FinishReason] = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}


class Generation:
    """What is known of one reply. ``ended`` once the engine gave a reason."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.raw_finish_reason: str | None = None
        self.usage = TokenUsage()
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    @property
    def ended(self) -> bool:
        """Whether the engine said why the reply is over."""
        return self.raw_finish_reason is not None

    @property
    def finish_reason(self) -> FinishReason:
        """The engine's reason in our words."""
        return _FINISH.get(self.raw_finish_reason or "", FinishReason.OTHER)

    def feed(self, chunk: Mapping[str, Any]) -> str:
        """Take in a chunk; returns the text it added. Raises `ModelError` when it is an error."""
        if "error" in chunk or "choices" not in chunk:
            raise error_of(chunk.get("error") or chunk)
        self.id = chunk.get("id") or self.id
        usage = chunk.get("usage")
        if usage:
            details = usage.get("prompt_tokens_details") or {}
            self.usage = TokenUsage(
                usage.get("prompt_tokens"),
                usage.get("completion_tokens"),
                usage.get("total_tokens"),
                cached_input_tokens=details.get("cached_tokens"),
                raw=usage,
            )
        added = ""
        for choice in chunk["choices"]:
            added += (choice.get("delta") or {}).get("content") or ""
            self.raw_finish_reason = choice.get("finish_reason") or self.raw_finish_reason
        if added:
            self._texts.append(added)
        return added


def error_of(error: Mapping[str, Any]) -> ModelError:
    """The engine's error as one of the taxonomy.

    >>> type(error_of({"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8})).__name__
    'ContextLengthError'
    """
    message, kind = str(error.get("message", "unknown error")), str(error.get("type", ""))
    if kind == "exceed_context_size_error":
        needed, size = error.get("n_prompt_tokens"), error.get("n_ctx")
        return ContextLengthError(
            f"the conversation has {needed} tokens, and the context of the local model holds {size}",
            provider_code=kind,
            next_step="Shorten the conversation, or raise context_size as far as the model allows.",
        )
    if error.get("code") == 400:
        return InvalidRequestError(f"the local model refused the request: {message}", provider_code=kind or None)
    return ModelError(f"the local model failed: {message}", provider_code=kind or None)
