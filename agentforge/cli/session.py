"""The interactive session: a prompt, a turn, a prompt; Ctrl-C ends the turn and Ctrl-D the session."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import threading
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from agentforge.cli.console import Console, OutputClosed, not_text
from agentforge.cli.conversation import Conversation
from agentforge.cli.faults import report
from agentforge.cli.text import is_text

if TYPE_CHECKING:
    from agentforge.cli.reloading import Reloader

__all__ = ("Session",)

_PROMPT = "> "
_END_WORDS = ("exit", "quit")
_RELOAD = "/reload"
# A path, such as /etc/hosts, is a question.
_WORD = re.compile(r"/[a-z]+")


class Session:
    """One session on a terminal. With a ``reloader`` the word ``/reload`` reads the configuration again, and so does a
    change of its files, where they are watched, before the next turn.

    While the prompt waits the event loop stands still; it goes on with the next turn.
    """

    def __init__(self, conversation: Conversation, console: Console, *, reloader: Reloader | None = None) -> None:
        self._conversation = conversation
        self._console = console
        self._reloader = reloader
        self._reading = False
        self._turn: asyncio.Task[object] | None = None

    async def run(self) -> int:
        """Hold the session to its end; a turn that fails does not end it."""
        reload = f"{_RELOAD} reads the configuration again; " if self._reloader is not None else ""
        self._console.say(f"Ctrl-C ends a turn; {reload}exit or Ctrl-D ends the session.", style="dim")
        with self._interrupts():
            while (line := self._read()) is not None:
                text = line.strip()
                if text in _END_WORDS:
                    break
                if text == _RELOAD and self._reloader is not None:
                    await self._hold(self._reloader.reload())
                elif _WORD.fullmatch(text):  # it is misspelt, and no model should be paid for that
                    known = f"there is {_RELOAD}" if self._reloader is not None else "there is none"
                    self._console.say(f"{text} is no command of a session; {known}", style="yellow")
                elif text:
                    if self._reloader is not None:
                        await self._hold(self._reloader.reload_if_changed())
                    await self._hold(self._conversation.ask(text))
        return 0

    async def _hold(self, work: Coroutine[Any, Any, object]) -> None:
        """A turn, or a reload: what ends it early does not end the session."""
        turn = self._turn = asyncio.get_running_loop().create_task(work)
        try:
            await asyncio.wait([turn])
        except asyncio.CancelledError:  # the session's own: it passes on when the turn has ended
            turn.cancel()
            await asyncio.wait([turn])
            raise
        finally:
            self._turn = None
        if turn.cancelled():
            self._console.say("interrupted; the conversation goes on", style="yellow")
            return
        error = turn.exception()
        if isinstance(error, OutputClosed):
            raise error
        if error is not None:
            report(error, self._console)

    def _read(self) -> str | None:
        """The next line; ``None`` at the end of the input."""
        while True:
            try:
                self._reading = True
                line = self._line()
            except KeyboardInterrupt:
                self._reading = False  # a second one must not end the session here
                self._console.say("")
                continue
            except UnicodeDecodeError:
                report(not_text("the line"), self._console)
                continue
            finally:
                self._reading = False
            if line is None:
                self._console.say("")
            elif not is_text(line):
                report(not_text("the line"), self._console)
                continue
            return line

    def _line(self) -> str | None:
        if self._console.is_the_process:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - makes input() know the arrow keys
            try:
                return input(_PROMPT)
            except EOFError:
                return None
        self._console.say(_PROMPT, end="")
        return self._console.stdin.readline() or None

    @contextlib.contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C ends the turn, or begins the line anew; between the two it does nothing."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or before in (None, signal.SIG_IGN):
            yield
            return
        loop = asyncio.get_running_loop()

        def interrupted(number: int, frame: FrameType | None) -> None:
            if self._reading:
                raise KeyboardInterrupt
            if self._turn is not None:
                loop.call_soon_threadsafe(self._turn.cancel)

        signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
