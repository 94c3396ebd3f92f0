"""What bounds every call: a time limit around it, and a cap on what of its result the model gets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from agentforge.errors import ToolTimeoutError
from agentforge.model.content import AudioContent, Content, FileContent, ImageContent, TextContent
from agentforge.tool.execution.gate import CallNext, PlannedCall, ToolInterceptor
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run

__all__ = ("SizeCap", "TimeLimit", "chained")

_PIECE = 1 << 16


class TimeLimit:
    """Ends a call after ``seconds`` (or the tool's own ``timeout``) with `ToolTimeoutError`.

    It only says when a call expires; the batch, which has one timer for all its calls, cancels those that have.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds

    def of(self, call: PlannedCall) -> float | None:
        """The limit of this call in seconds; ``None`` without one."""
        tool = call.tool
        return tool.timeout if tool is not None and tool.timeout is not None else self.seconds

    def error(self, call: PlannedCall) -> ToolTimeoutError:
        """What is raised for a call whose time is over."""
        seconds = self.of(call)
        step = "Raise tool_timeout, or the tool's own timeout, if it may take longer than this."
        return ToolTimeoutError(
            f"the tool {call.name!r} did not end within {seconds:g} s", tool=call.name, next_step=step
        )

    async def around(self, call: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
        """The call's result, or the error once its time is over."""
        seconds = self.of(call)
        if seconds is None:
            return await next(call, run)
        call.expires = time.monotonic() + seconds
        try:
            return await next(call, run)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not call.expired or task is None or task.uncancel() > 0:
                raise  # not our doing, or not ours alone
            raise self.error(call) from None
        finally:
            call.expires = None


class SizeCap:
    """Cuts what the model gets of a result to ``max_bytes`` of UTF-8 text, at a character, with a visible mark.

    Media parts are never cut: one that does not fit is replaced by a note. The attribute ``truncated_bytes`` of the
    result says how much is missing. It is the last step of every call, whatever an interceptor answered.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes

    def cap(self, result: ToolExecutionResult) -> ToolExecutionResult:
        """``result`` itself when it fits."""
        contents = result.contents
        if len(contents) == 1 and type(contents[0]) is TextContent and len(contents[0].text) * 4 <= self.max_bytes:
            return result
        left, missing = self.max_bytes, 0
        kept: list[Content] = []
        for part in contents:
            size = _size(part)
            if size <= left:
                kept.append(part)
                left -= size
                continue
            missing += size
            if isinstance(part, TextContent):
                # A character takes at least a byte: what lies beyond ``left`` characters need not be encoded.
                kept_bytes = part.text[:left].encode("utf-8", "replace")[:left]
                text = kept_bytes.decode("utf-8", "ignore")
                missing -= _bytes_of(text)
                kept.append(TextContent(f"{text}\n[cut: {missing:,} more bytes]"))
            else:
                kept.append(TextContent(f"[left out: {type(part).__name__} of {size:,} bytes]"))
            left = 0
        if not missing:
            return result
        return ToolExecutionResult(
            parts=kept,
            is_error=result.is_error,
            result=result.result,
            attributes={**result.attributes, "truncated_bytes": missing},
            cause=result.cause,
        )


def _size(part: Content) -> int:
    if isinstance(part, (ImageContent, AudioContent, FileContent)):
        return len(part.data or part.url or "")
    return _bytes_of(part.text)


def _bytes_of(text: str) -> int:
    """The size in UTF-8, counted piece by piece, so that a huge text is not copied to be measured."""
    if text.isascii():
        return len(text)
    pieces = range(0, len(text), _PIECE)
    return sum(len(text[at : at + _PIECE].encode("utf-8", "replace")) for at in pieces)


def chained(interceptors: Sequence[ToolInterceptor], innermost: CallNext) -> CallNext:
    """One callable out of ``interceptors``, the first outermost, around ``innermost``."""
    following = innermost
    for interceptor in reversed(interceptors):
        following = _link(interceptor, following)
    return following


def _link(interceptor: ToolInterceptor, following: CallNext) -> CallNext:
    around = interceptor.around
    return lambda call, run: around(call, run, following)
