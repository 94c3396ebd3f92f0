"""The program's own settings: what is no bean and stands in no configuration file.

This module loads pydantic-settings; whoever needs no settings does not import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from agentforge.config import codes
from agentforge.config.faults import Reporter
from agentforge.config.misfit import read_misfit, sentence
from agentforge.config.nodes import Mark
from agentforge.config.overrides import PREFIX

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ("AgentForgeSettings",)


class _CommaLists(EnvSettingsSource):
    """Variables whose lists are written with commas."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip())


class AgentForgeSettings(BaseSettings):
    """Settings from variables that begin with ``AGENTFORGE_``; lists are written with commas.

    >>> AgentForgeSettings.read({"AGENTFORGE_PROFILES": "local, demo"}).profiles
    ('local', 'demo')
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=False
    )

    log_level: Literal["debug", "info", "warning", "error", "critical"] = "warning"
    """The least severe messages that are shown, of the framework and the modules of `scan`; of others warnings."""
    config: Path = Path("agentforge.yaml")
    """The configuration file."""
    profiles: tuple[str, ...] = ()
    """Profiles, the later over the earlier."""
    secrets_dir: Path | None = None
    """A folder with one file for each secret."""
    disable_plugins: tuple[str, ...] = ()
    """Plugins that are never loaded."""
    load_plugins: tuple[str, ...] | None = None
    """The only plugins that may be loaded; without it all may, and an empty list allows none."""
    strict_plugins: bool = False
    """Whether any plugin that cannot be loaded ends the program."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is given counts: the process's environment is read by `read`, when it is handed over."""
        return (init_settings,)

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """The settings that these variables hold.

        Raises:
            ConfigurationFaults: Every variable whose value does not fit (AF108), without the value.
        """
        from pydantic import ValidationError

        source = _CommaLists(cls)
        given = {name.lower(): text for name, text in environment.items() if name.upper().startswith(PREFIX)}
        if (level := given.get(f"{PREFIX}log_level".lower())) is not None:
            given[f"{PREFIX}log_level".lower()] = level.lower()
        source.env_vars = given
        try:
            return cls(**source())
        except ValidationError as error:
            reporter = Reporter()
            for found in error.errors(include_input=False, include_url=False):
                name = f"{PREFIX}{str(found['loc'][0]).upper()}"
                message, step = sentence(name, [read_misfit(found, given.get(name.lower()))], "a text")
                reporter.report(codes.BAD_VALUE, message, Mark.outside(f"environment {name}"), next_step=step)
            reporter.raise_if_any()
            raise
