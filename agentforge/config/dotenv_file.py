"""The ``.env`` file beside a configuration: variables below the environment's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentforge.config import codes
from agentforge.config.faults import ConfigurationFaults, Reporter
from agentforge.config.nodes import Mark
from agentforge.config.source import decode

__all__ = ("DotenvVariable", "read_dotenv")


@dataclass(frozen=True, slots=True)
class DotenvVariable:
    """A variable of the file; its value is not shown."""

    value: str
    mark: Mark

    def __repr__(self) -> str:
        return f"DotenvVariable({self.mark})"


def read_dotenv(path: Path, reporter: Reporter) -> dict[str, DotenvVariable]:
    """The variables of a ``.env`` file, their values as written; nothing when there is no file.

    A line that cannot be read is a fault. The text of the file is in no excerpt, since it holds secrets.
    """
    from io import StringIO

    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        step = "Make it readable, or remove it."
        reporter.report(
            codes.FILE_NOT_READ, f"'.env' cannot be read: {error.strerror}", Mark(str(path), 1, 1), next_step=step
        )
        return {}
    try:
        text = decode(data, str(path))
    except ConfigurationFaults as faults:
        reporter.take(faults)
        return {}
    from dotenv.parser import parse_stream

    found: dict[str, DotenvVariable] = {}
    for binding in parse_stream(StringIO(text)):
        # What the parser took with it: blank lines before the variable belong to its text.
        written = binding.original.string
        blank = written[: len(written) - len(written.lstrip())].count("\n")
        mark = Mark(str(path), binding.original.line + blank, 1)
        if binding.error:
            reporter.report(
                codes.BAD_SYNTAX,
                "this line of '.env' cannot be read",
                mark,
                next_step="Write NAME=value, the value in quotes if it holds spaces or '#'.",
            )
        elif binding.key is not None and binding.value is not None:
            found[binding.key] = DotenvVariable(binding.value, mark)
    return found
