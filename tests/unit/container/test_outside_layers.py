"""Faults of values that the environment or the command line gave: they are told where those stand, not in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.config import ConfigurationFaults, Diagnostic

FILE = """\
beans:
  model:
    type: openai.chat
    vendor: openai
    model: gpt-5-mini
    api_key: "no-real-key"
    defaults: {temperature: 0.2}
"""
VENDOR = "AGENTFORGE_BEANS__MODEL__VENDOR"
TYPE = "AGENTFORGE_BEANS__MODEL__TYPE"


def faults(folder: Path, *, dotenv: str = "", profile: str = "", **given: Any) -> list[Diagnostic]:
    """What `check` finds wrong."""
    (folder / "agentforge.yaml").write_text(FILE, encoding="utf-8")
    (folder / ".env").write_text(dotenv, encoding="utf-8")
    if profile:
        (folder / "agentforge-local.yaml").write_text(profile, encoding="utf-8")
    app = AgentForge.load(
        folder / "agentforge.yaml", **{"environment": {}, "profiles": ["local"] if profile else [], **given}
    )
    try:
        app.check()
    except ConfigurationFaults as found:
        return list(found.diagnostics)
    return []


def place(fault: Diagnostic, folder: Path) -> str:
    return str(fault.mark).replace(f"{folder}/", "")


ANEW: dict[str, tuple[dict[str, Any], str, str]] = {
    "from the command line": (
        {"sets": ["beans.model.type=anthropic.messages"]},
        "command line --set beans.model.type",
        "Give it, too: --set beans.model.model=…; also left out: api_key, defaults, vendor.",
    ),
    "from the environment": (
        {"environment": {TYPE: "anthropic.messages"}},
        f"environment {TYPE}",
        "Give it, too: AGENTFORGE_BEANS__MODEL__MODEL=…; also left out: api_key, defaults, vendor.",
    ),
    "from the file of variables": (
        {"dotenv": f"{TYPE}=anthropic.messages\n"},
        ".env:1:1",
        "Give it, too: AGENTFORGE_BEANS__MODEL__MODEL=…; also left out: api_key, defaults, vendor.",
    ),
    "from a profile": (
        {"profile": "beans:\n  model:\n    type: anthropic.messages\n"},
        "agentforge-local.yaml:2:3",
        "Add 'model: …' beside the new type; also left out: api_key, defaults, vendor.",
    ),
    "with another of the settings": (
        {"sets": ["beans.model.type=anthropic.messages", "beans.model.defaults.seed=3", "beans.model.api_key=k1234"]},
        "command line --set beans.model.type",
        "Give it, too: --set beans.model.model=…; also left out: vendor.",
    ),
}


@pytest.mark.parametrize("case", ANEW)
def test_a_setting_that_went_with_the_former_type_is_told_with_the_way_to_give_it(case: str, tmp_path: Path) -> None:
    """It stands in the file, where the user sees it; beside it what else the new type knows and the file said."""
    given, where, step = ANEW[case]
    [fault] = faults(tmp_path, **given)

    assert (fault.code, place(fault, tmp_path), fault.next_step) == ("AF109", where, step)
    assert fault.message == (
        "the setting 'model' is missing: with another type the bean begins anew, without what was set for 'openai.chat'"
    )


@pytest.mark.parametrize(
    "given",
    [
        {"sets": ["beans.model.type=openai.chat"]},
        {"environment": {VENDOR: "deepseek"}},
        {"sets": ["beans.model.type=anthropic.messages", "beans.model.model=m", "beans.model.api_key=k1234"]},
    ],
)
def test_what_fits_is_no_fault(given: dict[str, Any], tmp_path: Path) -> None:
    assert faults(tmp_path, **given) == []


def test_a_setting_that_only_the_new_type_needs_is_told_in_the_same_way(tmp_path: Path) -> None:
    """It was never there."""
    [fault] = faults(tmp_path, sets=["beans.model.type=template"])

    assert (fault.code, fault.message) == ("AF109", "the setting 'text' is missing")
    assert fault.next_step == "Give it, too: --set beans.model.text=…."


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "a vendor in the environment": (
        {"environment": {VENDOR: "opnai"}},
        f"environment {VENDOR}",
        "Did you mean 'openai'?",
    ),
    "a vendor on the command line": (
        {"sets": ["beans.model.vendor=opnai"]},
        "command line --set beans.model.vendor",
        "Did you mean 'openai'?",
    ),
    "a vendor in a profile": (
        {"profile": "beans: {model: {vendor: opnai}}"},
        "agentforge-local.yaml:1:25",
        "Did you mean 'openai'?",
    ),
    "a key of a mapping": (
        {"sets": ["beans.model.profile_overrides={imges: true}"]},
        "command line --set beans.model.profile_overrides",
        "Did you mean 'images'?",
    ),
    "a key below a mapping": (
        {"environment": {"AGENTFORGE_BEANS__MODEL__PROFILE_OVERRIDES__IMGES": "true"}},
        "environment AGENTFORGE_BEANS__MODEL__PROFILE_OVERRIDES__IMGES",
        "Did you mean 'images'?",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_object_refuses_is_told_where_the_value_stands(case: str, tmp_path: Path) -> None:
    """Not where the bean begins in the file."""
    given, where, step = WRONG[case]
    [fault] = faults(tmp_path, **given)

    assert (fault.code, place(fault, tmp_path)) == ("AF108", where)
    assert (fault.next_step or "").startswith(step)


def test_a_fault_that_speaks_of_no_value_says_which_came_from_elsewhere(tmp_path: Path) -> None:
    """The whole is told at its place in the file, where half of it does not stand."""
    file = "beans:\n  form:\n    type: structured_output\n    json_schema: {type: object}\n"
    (tmp_path / "a.yaml").write_text(file, encoding="utf-8")
    app = AgentForge.load(tmp_path / "a.yaml", environment={}, sets=["beans.form.file=x.json"])

    with pytest.raises(ConfigurationFaults) as raised:
        app.check()
    [fault] = raised.value.diagnostics
    assert place(fault, tmp_path) == "a.yaml:3:5"
    assert fault.message == "'beans.form' does not fit: give either json_schema or file"
    assert fault.next_step == ("Correct the settings. Note that 'file' comes from command line --set beans.form.file.")
