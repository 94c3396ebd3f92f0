"""The benchmark of many beans builds what it says that it builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentforge.container import AgentForge
from agentforge.plugin import Plugins
from benchmarks import table
from benchmarks.__main__ import main
from benchmarks.beans import Build, configuration, measure_beans


async def test_its_beans_are_of_every_common_form_and_work(tmp_path: Path) -> None:
    """Components, tools of a component, references by type and by name, placeholders, beans in place."""
    app = AgentForge.load(configuration(tmp_path, 20), environment={}, plugins=Plugins(entry_points=()))
    plan = app.plan

    assert len(plan.beans) == 20
    assert {bean.type_name for bean in plan.beans.values()} == {
        "component",
        "python_tools",
        "scripted",
        "mask",
        "template",
        "tool_service",
        "chat_client",
        "list_known_tools",
    }
    async with app:
        assert (await app.get("client_1").chat("Hello?")).text == "Hello."


def test_it_measures_each_step_in_a_process_of_its_own() -> None:
    build = measure_beans(10, repetitions=1)

    assert build.beans == 10
    assert build.imported > 0 and build.compiled > 0 and build.built > 0
    assert build.seconds == build.compiled + build.built


def test_the_table_shows_the_budget_of_so_many_beans() -> None:
    assert [line.split()[-4:] for line in table.builds(Build(2000, 0.5, 0.25, 0.5)).splitlines()[2:]] == [
        ["0.25", "0.50", "0.75", "1.00"]
    ]


def test_the_program_measures_beans_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "beans", "--beans", "10", "--repetitions", "1"]) == 0

    assert capsys.readouterr().out.splitlines()[2].startswith("10 beans ")
