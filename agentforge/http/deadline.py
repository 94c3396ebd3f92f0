"""The total limit of a streamed exchange.

`asyncio.timeout` cancels the task that entered it. A stream is often opened by one task and read by another, and its
reader's own work must not be cancelled by our limit: so here the limit ends the wait for the next chunk, whoever waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from agentforge.errors import ModelError

__all__ = ("StreamGuard",)


class StreamGuard:
    """Watches over the chunks of one stream.

    At ``when`` (the loop's clock; ``None``: never) the wait for a chunk ends with the error that ``late`` makes. The
    first chunk is told to ``begun``; every error of the stream passes through ``failed`` on its way out.
    """

    __slots__ = ("_begun", "_failed", "_late", "_over", "_timer", "_waiting", "seen")

    def __init__(
        self,
        when: float | None,
        late: Callable[[], ModelError],
        failed: Callable[[ModelError], None],
        begun: Callable[[], None] | None = None,
    ) -> None:
        self._late = late
        self._failed = failed
        self._begun = begun
        #: Whether a chunk has come.
        self.seen = False
        self._over = False
        self._waiting: asyncio.Task[object] | None = None
        self._timer = None if when is None else asyncio.get_running_loop().call_at(when, self._fire)

    def cancel(self) -> None:
        """The stream is done: the limit holds no longer."""
        if self._timer is not None:
            self._timer.cancel()

    def _fire(self) -> None:
        self._over = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def watch(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The chunks, until the limit."""
        loop = asyncio.get_running_loop()
        timed = self._timer is not None
        pending = 0
        try:
            while True:
                if self._over:
                    raise self._late()
                if timed and (task := asyncio.current_task(loop)) is not None:
                    pending = task.cancelling()
                    self._waiting = task
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    # Ours only if nobody else cancelled the task as well.
                    waiting = self._waiting
                    if self._over and waiting is not None and waiting.uncancel() <= pending:
                        raise self._late() from None
                    raise
                finally:
                    self._waiting = None
                if not self.seen:
                    self.seen = True
                    if self._begun is not None:
                        self._begun()
                yield chunk
        except ModelError as error:
            self._failed(error)
            raise
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
