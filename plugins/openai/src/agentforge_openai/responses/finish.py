"""Why a reply ended, in our words: from the status of the response and what is in it."""

from __future__ import annotations

from agentforge.model import FinishReason, Notice

__all__ = ("finish_of",)


def finish_of(
    status: str | None, incomplete: str | None, *, has_calls: bool, has_cut_call: bool, refused: bool
) -> tuple[FinishReason, str | None, Notice | None]:
    """The reason, the provider's own word for it, and a notice where the reply is not there yet.

    ``has_cut_call``: one of the calls is not whole, so that none may run, whatever the status says.

    >>> finish_of("incomplete", "max_output_tokens", has_calls=True, has_cut_call=False, refused=False)[:2]
    (<FinishReason.LENGTH: 'length'>, 'max_output_tokens')
    """
    if status == "incomplete":
        filtered = incomplete == "content_filter"
        return FinishReason.CONTENT_FILTER if filtered else FinishReason.LENGTH, incomplete or status, None
    if status in (None, "completed"):
        if has_cut_call:
            return FinishReason.LENGTH, status, None
        if has_calls:
            return FinishReason.TOOL_EXECUTION, status, None
        return FinishReason.REFUSAL if refused else FinishReason.STOP, status, None
    if status in ("failed", "cancelled"):
        return FinishReason.ERROR, status, None
    notice = None
    if status in ("queued", "in_progress"):
        notice = Notice(
            "response_not_finished",
            f"the server answered before the reply was made (status {status!r}); nothing of it is read later",
            {"status": status},
        )
    # Calls of a reply that is not whole must not run.
    return FinishReason.ERROR if has_calls else FinishReason.OTHER, status, notice
