"""What a command reads from and writes to: results on standard output, all else on standard error."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Self, TextIO

from agentforge.cli.text import is_text, visible
from agentforge.errors import ConfigurationError
from agentforge.masking import MASK, Secrets

__all__ = ("Console", "OutputClosed", "not_text")

_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class OutputClosed(Exception):  # noqa: N818 - no fault: whoever read the output has had enough
    """Nobody reads standard output any more."""


class Console:
    """The three streams of one command and how it writes to them.

    ``json`` asks for data instead of text, ``debug`` for tracebacks. ``secrets`` are masked in data; texts are masked
    where they are made. ``loggers`` are those of the application, beside the framework's. ``environment`` holds the
    process's variables.
    """

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.environment = environment
        self.json = False
        self.debug = False
        self.secrets = Secrets()
        self.loggers: tuple[str, ...] = ()
        self.on_terminal = _is_terminal(stdout)
        self._coloured = _is_terminal(stderr) and _wants_colour(environment)

    @classmethod
    def of(
        cls,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """A console over the given streams, else the process's own, which then show every character somehow."""
        for stream, given in ((sys.stdout, stdout), (sys.stderr, stderr)):
            if given is None and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        return cls(
            _or_nothing(stdin or sys.stdin),
            _or_nothing(stdout or sys.stdout),
            _or_nothing(stderr or sys.stderr),
            os.environ if environment is None else environment,
        )

    # -- results ---------------------------------------------------------------------------------

    def out(self, text: str, *, end: str = "\n") -> None:
        """A result. On a terminal nothing in it can steer it. Raises `OutputClosed`, and `ConfigurationError` for
        a full disk."""
        self._write_out((visible(text) if self.on_terminal else text) + end)

    def data(self, value: object) -> None:
        """A result as one line of JSON, flushed. Raises `OutputClosed`."""
        self._write_out(self._json(value, self.stdout) + "\n")

    def flush(self) -> None:
        """Write all that is held back. Raises `OutputClosed`."""
        self._write_out("")

    @contextlib.contextmanager
    def for_results(self) -> Iterator[None]:
        """Keep standard output for results: what users' modules and tools print meanwhile goes to standard error."""
        with contextlib.redirect_stdout(self.stderr):
            yield

    def abandon(self) -> None:
        """Have nothing complain, at the process's end, that standard output is closed."""
        if self.stdout is sys.stdout:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), self.stdout.fileno())

    # -- all else --------------------------------------------------------------------------------

    def say(self, text: str, *, style: str | None = None, end: str = "\n") -> None:
        """A line on standard error, which is lost if nobody reads it; nothing in it can steer a terminal."""
        shown = visible(text)
        if style is not None and self._coloured:
            shown = f"\x1b[{_STYLES[style]}m{shown}\x1b[0m"
        try:
            self.stderr.write(shown + end)
            self.stderr.flush()
        except (OSError, ValueError):
            return

    def say_data(self, value: object) -> None:
        """One line of JSON on standard error."""
        try:
            self.stderr.write(self._json(value, self.stderr) + "\n")
            self.stderr.flush()
        except (OSError, ValueError):
            return

    # -- input -----------------------------------------------------------------------------------

    @property
    def interactive(self) -> bool:
        """Whether someone can type."""
        return _is_terminal(self.stdin)

    @property
    def is_the_process(self) -> bool:
        """Whether these are the process's own streams on a terminal, where lines can be edited."""
        return self.stdin is sys.stdin and self.stdout is sys.stdout and self.interactive and self.on_terminal

    def read_all(self) -> str:
        """The whole of standard input. Raises `ConfigurationError` for bytes that are no UTF-8 text."""
        binary = getattr(self.stdin, "buffer", None)
        if binary is None:
            return self.stdin.read()
        try:
            return str(binary.read(), "utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise not_text("standard input", f"byte {error.start + 1} is 0x{error.object[error.start]:02x}") from None

    def _json(self, value: object, stream: TextIO) -> str:
        if self.secrets:
            value = _masked(value, self.secrets)
        value = _finite(value)
        text = json.dumps(value, ensure_ascii=False, default=str)
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-")
        if encoding in ("utf-8", "utf8") and is_text(text):
            return text
        return json.dumps(value, default=str)

    def _write_out(self, text: str) -> None:
        try:
            self.stdout.write(text)
            self.stdout.flush()
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as error:
            raise ConfigurationError(
                f"standard output cannot be written: {error.strerror or error}",
                next_step="Make room, or send the output elsewhere.",
            ) from error


def not_text(what: str, detail: str = "it holds bytes that are no characters") -> ConfigurationError:
    """The error for bytes where text is due."""
    return ConfigurationError(
        f"{what} is not UTF-8 text: {detail}", next_step="Convert it to UTF-8, for example iconv."
    )


def _masked(value: object, secrets: Secrets) -> object:
    """Masked value by value: in the text of JSON a secret that is a number would leave no JSON behind."""
    if isinstance(value, Mapping):
        return {secrets.mask(str(name)): _masked(item, secrets) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item, secrets) for item in value]
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    masked = secrets.mask(text)
    return value if masked == text or (isinstance(value, int | float) and masked != MASK) else masked


def _finite(value: object) -> object:
    """The value with infinities and what is no number as texts: JSON has no numbers for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except ValueError:  # closed
        return False


def _wants_colour(environment: Mapping[str, str]) -> bool:
    return not environment.get("NO_COLOR") and environment.get("TERM", "") != "dumb"


def _or_nothing(stream: TextIO | None) -> TextIO:
    """The stream; where the process was started without one, an empty one."""
    return stream if stream is not None else io.StringIO()
