"""A configuration on its way to a plan: where it comes from, and what was read and compiled of it so far."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.config import Layers, Reporter, load_layers, load_mapping
from agentforge.config.trust import Trust
from agentforge.container.plan import Plan
from agentforge.container.stamps import Stamp, stamp_of
from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    from agentforge.config.settings import AgentForgeSettings
    from agentforge.plugin import Plugins

__all__ = ("Configured", "Origin")


@dataclass(frozen=True, slots=True)
class Origin:
    """What a program said about its configuration, which holds for every reading of it.

    Raises `ConfigurationError` for a source that is neither a file nor a mapping, and a text in the place of a list.
    """

    source: Path | Mapping[str, Any]
    profiles: Sequence[str] | None = None
    sets: Sequence[str] = ()
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    plugins: Plugins | None = None
    trust: Trust = "code"

    def __post_init__(self) -> None:
        if not isinstance(self.source, (Path, Mapping)):
            kind = type(self.source).__name__
            step = "Use AgentForge.load(path) for a file."
            raise ConfigurationError(f"a configuration is a mapping or a file, not {kind}", next_step=step)
        for name, given in (("profiles", self.profiles), ("sets", self.sets)):
            if isinstance(given, str):
                raise ConfigurationError(f"{name} is a list of texts, not a text", next_step=f"Give [{given!r}].")
        if self.trust not in ("code", "data"):
            step = "Use 'data' for the files of strangers, else 'code'."
            raise ConfigurationError(f"trust is 'code' or 'data', not {self.trust!r}", next_step=step)

    def __str__(self) -> str:
        return str(self.source) if isinstance(self.source, Path) else "a mapping"


class Configured:
    """One reading of a configuration; each step is done when it is first asked for, and once.

    ``overrides`` are the objects that stand in the place of declared beans. ``lower`` is an earlier reading whose
    layers and choice of plugins are taken as they are.
    """

    def __init__(self, origin: Origin, overrides: Mapping[str, object], *, lower: Configured | None = None) -> None:
        self.origin = origin
        self.overrides = dict(overrides)
        self._layers: Layers | None = lower._layers if lower is not None else None
        #: The stamp of ``.env`` before it was read; its text is kept nowhere.
        self._dotenv: Stamp = lower._dotenv if lower is not None else None
        self._settings: AgentForgeSettings | None = None
        self._plugins: Plugins | None = lower.plugins.fresh() if lower is not None and lower._plugins else None
        self._plan: Plan | None = None

    def override(self, bean_id: str, bean: object) -> None:
        """Put an object in the place of a bean."""
        self.overrides[bean_id] = bean
        self._plan = None

    @property
    def layers(self) -> Layers:
        """The merged files. Raises `ConfigurationFaults`."""
        if self._layers is None:
            origin = self.origin
            if isinstance(origin.source, Path):
                self._dotenv = stamp_of(origin.source.parent / ".env")
                self._layers = load_layers(
                    origin.source,
                    profiles=self._profiles(origin.source),
                    sets=origin.sets,
                    environment=origin.environment,
                    trust=origin.trust,
                )
            else:
                folder = origin.folder or Path.cwd()
                self._layers = load_mapping(
                    origin.source, folder=folder, environment=origin.environment, trust=origin.trust
                )
        return self._layers

    @property
    def settings(self) -> AgentForgeSettings:
        """The program's own settings, from the environment and ``.env``. Raises `ConfigurationFaults`."""
        if self._settings is None:
            from agentforge.config.settings import AgentForgeSettings

            self._settings = AgentForgeSettings.read(self.layers.environment)
        return self._settings

    @property
    def plugins(self) -> Plugins:
        """The plugins of this reading."""
        if self._plugins is None:
            from agentforge.plugin import Plugins

            settings = self.settings
            self._plugins = self.origin.plugins or Plugins(settings.load_plugins, settings.disable_plugins)
        return self._plugins

    @property
    def plan(self) -> Plan:
        """What is built. Raises `ConfigurationFaults`, and `PluginError` where a broken plugin is not accepted."""
        if self._plan is None:
            from agentforge.container.compiler import compile_plan
            from agentforge.plugin import Catalogue

            self._plan = compile_plan(
                self.layers,
                catalogue=Catalogue(self.plugins),
                overrides=self.overrides,
                secrets_dir=self.settings.secrets_dir,
                strict=self.settings.strict_plugins,
            )
        return self._plan

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what has no effect; those on plugins once the plan was made."""
        return self._plan.warnings if self._plan is not None else self.layers.warnings

    def again(self) -> Configured:
        """A new reading of the same, with plugins of its own: what it puts out harms no other."""
        found = Configured(self.origin, self.overrides)
        if self.origin.plugins is not None:
            found._plugins = self.plugins.fresh()
        return found

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that this reading depends on, those that might come included: ``.env`` and profiles."""
        source = self.origin.source
        if not isinstance(source, Path):
            return tuple(Path(name) for name in self.layers.files) if self._layers is not None else ()
        names = dict.fromkeys([str(source), str(source.parent / ".env")])
        if self._layers is not None:
            names.update(dict.fromkeys(self._layers.files))
        return tuple(Path(name) for name in names)

    def as_read(self, path: Path) -> bool:
        """Whether the file still is what was read of it: its text, of ``.env`` the time and size."""
        source = self.origin.source
        if isinstance(source, Path) and path == source.parent / ".env":
            return stamp_of(path) == self._dotenv
        text = self._layers.files.get(str(path)) if self._layers is not None else None
        try:
            return text is not None and path.read_bytes().decode("utf-8-sig", "replace") == text
        except OSError:
            return False

    def _profiles(self, source: Path) -> Sequence[str]:
        if self.origin.profiles is not None:
            return self.origin.profiles
        from agentforge.config.dotenv_file import read_dotenv

        # What is wrong with the file is reported when it is read as a layer.
        lower = read_dotenv(source.parent / ".env", Reporter())
        if self.origin.trust == "data":
            lower = {}
        environment = {name: found.value for name, found in lower.items()} | dict(self.origin.environment)
        if "AGENTFORGE_PROFILES" not in environment:
            return ()
        from agentforge.config.settings import AgentForgeSettings

        return AgentForgeSettings.read(environment).profiles
