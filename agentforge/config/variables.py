"""Where placeholders find their values: variables, secrets and their sources, and the folder that files start at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentforge.config.trust import Trust
from agentforge.masking import Secrets

__all__ = ("SecretSource", "Variables")

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

    def secret(self, name: str, plugin: str | None = None) -> str | None:
        """The value of a secret: the environment's, else the file's without its last line break, else that of the
        sources; of a named plugin that of the sources alone; ``None`` if unset. Raises what the sources raise."""
        if plugin is None:
            if name in self.environment:
                return self.environment[name]
            if (found := self._from_file(name)) is not None:
                return found
        return None if self.sources is None else self.sources(name, plugin)

    def _from_file(self, name: str) -> str | None:
        if self.secrets_dir is None:
            return None
        try:
            text = (self.secrets_dir / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return text.removesuffix("\n").removesuffix("\r")
