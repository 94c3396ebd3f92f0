"""Where placeholders find their values: variables, secrets and their sources, and the folder that files start at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentforge.config.source import MAX_BYTES
from agentforge.config.text_file import TextFileError, read_text_file
from agentforge.config.trust import Trust
from agentforge.errors import ConfigurationError
from agentforge.masking import Secrets

__all__ = ("MAX_FILLED", "SecretSource", "Variables")

#: How many characters the placeholders of a configuration may bring in altogether; a short one can name a long text
#: many times.
MAX_FILLED = 16 * MAX_BYTES

SecretSource = Callable[[str, str | None], str | None]
"""Gives a secret by its name, of one plugin where that is named, and ``None`` for one that nobody has. May raise."""


@dataclass(frozen=True, slots=True)
class Variables:
    """Where placeholders find their values; ``secrets`` collects every secret that was used.

    Args:
        environment: Names and values.
        secrets_dir: A folder with one file for each secret, asked after the environment.
        sources: Asked last, and alone for a secret of a named plugin.
        folder: Where the paths of files start for values that stand in no file.
        trust: ``data`` refuses files outside ``folder``.
    """

    environment: Mapping[str, str] = field(repr=False)
    secrets_dir: Path | None = None
    sources: SecretSource | None = field(default=None, repr=False)
    secrets: Secrets = field(default_factory=Secrets)
    folder: Path = field(default_factory=Path)
    trust: Trust = "code"
    _filled: list[int] = field(default_factory=lambda: [0], repr=False)
    _asked: dict[tuple[str, str | None], str | None] = field(default_factory=dict, repr=False)

    def fill(self, text: str) -> bool:
        """Count a text that a placeholder brings in; false once they are more than `MAX_FILLED`."""
        self._filled[0] += len(text)
        return self._filled[0] <= MAX_FILLED

    def secret(self, name: str, plugin: str | None = None) -> str | None:
        """The value of a secret: the environment's, else the file's without its last line break, else that of the
        sources; of a named plugin that of the sources alone; ``None`` if unset. Each is asked for once. Raises what
        the sources raise, and `ConfigurationError` for a secret's file that cannot be read."""
        asked = name, plugin
        if asked not in self._asked:
            self._asked[asked] = self._found(name, plugin)
        return self._asked[asked]

    def _found(self, name: str, plugin: str | None) -> str | None:
        if plugin is None:
            if name in self.environment:
                return self.environment[name]
            if (found := self._from_file(name)) is not None:
                return found
        return None if self.sources is None else self.sources(name, plugin)

    def _from_file(self, name: str) -> str | None:
        if self.secrets_dir is None:
            return None
        path = self.secrets_dir / name
        if not path.exists():
            return None
        try:
            return read_text_file(path)
        except TextFileError as error:
            step = f"{error.next_step.removesuffix('.')}, or set {name} in the environment."
            raise ConfigurationError(error.message, next_step=step) from None
