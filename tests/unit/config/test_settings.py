"""The program's settings: from the variables that are handed over, and from nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentforge.config import ConfigurationFaults
from agentforge.config.overrides import PREFIX, SETTINGS_NAMES
from agentforge.config.settings import AgentForgeSettings


def test_every_setting_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process's own environment does not count."""
    monkeypatch.setenv("AGENTFORGE_PROFILES", "other")

    settings = AgentForgeSettings.read(
        {
            "AGENTFORGE_LOG_LEVEL": "DEBUG",
            "AGENTFORGE_CONFIG": "conf/app.yaml",
            "AGENTFORGE_SECRETS_DIR": "secrets",
            "AGENTFORGE_DISABLE_PLUGINS": "a, b,",
            "AGENTFORGE_LOAD_PLUGINS": "",
            "AGENTFORGE_STRICT_PLUGINS": "1",
            "AGENTFORGE_BEANS__MODEL__X": "no setting",
            "LOG_LEVEL": "error",
        }
    )

    assert settings.model_dump() == {
        "log_level": "debug",
        "config": Path("conf/app.yaml"),
        "profiles": (),
        "secrets_dir": Path("secrets"),
        "disable_plugins": ("a", "b"),
        "load_plugins": (),
        "strict_plugins": True,
    }


def test_the_defaults() -> None:
    settings = AgentForgeSettings.read({})

    assert (settings.config, settings.log_level, settings.load_plugins) == (Path("agentforge.yaml"), "warning", None)
    assert not settings.strict_plugins


def test_a_value_that_does_not_fit_names_its_variable_and_is_not_shown() -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        AgentForgeSettings.read({"AGENTFORGE_LOG_LEVEL": "loud", "AGENTFORGE_STRICT_PLUGINS": "perhaps"})

    assert [(fault.code, str(fault.mark)) for fault in raised.value.diagnostics] == [
        ("AF108", "environment AGENTFORGE_LOG_LEVEL"),
        ("AF108", "environment AGENTFORGE_STRICT_PLUGINS"),
    ]
    assert "loud" not in str(raised.value)


def test_the_names_that_are_no_values_are_those_of_the_settings() -> None:
    """The list that needs no pydantic says the same as the model."""
    assert {PREFIX + name.upper() for name in AgentForgeSettings.model_fields} == SETTINGS_NAMES
