"""From the text of a configuration to running beans: what was lost, shown, built or closed wrongly elsewhere."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError, create_model

from agentforge.cli.main import run
from agentforge.config import (
    ConfigurationFaults,
    Layers,
    MappingNode,
    Reporter,
    Variables,
    folder_of,
    interpolate,
    load_layers,
    report_validation,
    to_value,
    value_for,
)
from agentforge.container import AgentForge, BeanCreationError
from agentforge.plugin import Plugins
from tests.cases.support import rows
from tests.unit.container.kit import Kit, Thing

#: A row's file is the settings of this bean, and its variables, named for the row's prefix, are named for ours.
WHERE = "AGENTFORGE_BEANS__APP__"


def load(row: Mapping[str, Any], folder: Path) -> tuple[MappingNode, Layers]:
    """The row's settings, read as those of a bean ``app``, their placeholders filled."""
    given = row["input"]
    prefix = given.get("options", {}).get("env_prefix")
    for name, text in given["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_as_bean(text) if path.suffix == ".yaml" else text, "utf-8")
    environment = {
        name.replace(prefix, WHERE, 1)
        if prefix and name.startswith(prefix)
        else name.replace("APP_", "AGENTFORGE_", 1)
        if prefix
        else name: text
        for name, text in given.get("env", {}).items()
    }
    file = folder / given.get("load", "app.yaml").replace("../", "")
    layers = load_layers(file, environment=environment)
    reporter = Reporter(layers.files)
    root = interpolate(layers.root, Variables(layers.environment), reporter)
    reporter.raise_if_any()
    assert isinstance(root, MappingNode)
    beans = root.get("beans")
    assert isinstance(beans, MappingNode)
    app = beans.get("app")
    assert isinstance(app, MappingNode)
    return app, layers


def _as_bean(text: str) -> str:
    lines = text.splitlines()
    top = [line for line in lines if line.startswith("include:")]
    return "\n".join([*top, "beans:", "  app:", *("    " + line for line in lines if line not in top)]) + "\n"


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves by their last key, and by their last two joined with an underscore."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= flat(inner, key) if isinstance(inner, dict) else {key: inner, f"{prefix}_{key}": inner}
    return found


@pytest.mark.parametrize("row", [row for row in rows("config", "accept", form="config") if row.id != "CF-29"])
def test_a_file_gives_the_values_that_were_meant(
    row: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the program was started."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    app, layers = load(row, tmp_path)

    found = flat(to_value(app))
    if "prompt" in app.entries:
        prompt = app.entries["prompt"].node
        found["prompt_text"] = (folder_of(prompt.mark, layers) / found["prompt"]).read_text("utf-8")
    assert {key: found[key] for key in row["expected"]["values"]} == row["expected"]["values"]
    assert all(name not in str(found) for name in ("shelluser", "wrong"))


def model_of(schema: Mapping[str, Any], name: str = "Settings") -> type[BaseModel]:
    """The settings model that a row describes."""
    kinds = {"secret": SecretStr, "str": str, "required str": str}
    fields: dict[str, Any] = {
        key: (kinds[kind] if isinstance(kind, str) else model_of(kind, key.title()), ...)
        for key, kind in schema.items()
    }
    made: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return made


def read_settings(row: Mapping[str, Any], folder: Path) -> BaseModel:
    """The row's settings as its model has them, or all faults."""
    app, layers = load(row, folder)
    model = model_of(row["input"]["schema"])
    try:
        return model.model_validate(value_for(app, model))
    except ValidationError as error:
        reporter = Reporter(layers.files)
        report_validation(error, app, model, reporter, path="beans.app")
    reporter.raise_if_any()
    raise AssertionError("a settings model failed and nothing was reported")


def test_a_missing_setting_beside_a_secret_is_named_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the text, nor the data of the error, nor a logged traceback holds the secret."""
    [row] = [param.values[0] for param in rows("config", "reject_at_build") if param.id == "CF-27"]

    with pytest.raises(ConfigurationFaults) as raised:
        read_settings(row, tmp_path)
    logging.getLogger("program").error("cannot start", exc_info=raised.value)

    [fault] = raised.value.diagnostics
    assert (fault.code, fault.path, fault.message) == ("AF109", "beans.app.llm.model", "the setting 'model' is missing")
    shown = "".join([str(raised.value), repr(raised.value), caplog.text, *traceback.format_exception(raised.value)])
    assert "model" in shown
    assert row["expected"]["values"]["never_contains"] not in shown


def test_digits_for_a_secret_are_kept_as_written(tmp_path: Path) -> None:
    """The first of the two ways: nothing is refused, no digit is lost and none is shown."""
    [row] = [param.values[0] for param in rows("config", "reject_at_build") if param.id == "CF-28"]

    settings: Any = read_settings(row, tmp_path)

    assert settings.llm.api_key.get_secret_value() == "98123400"
    assert settings.llm.pin.get_secret_value() == "0123"
    assert row["expected"]["values"]["never_contains"] not in repr(settings) + json.dumps(
        settings.model_dump(mode="json")
    )


def test_digits_for_a_secret_are_not_shown_by_another_fault(tmp_path: Path) -> None:
    """Nor where the secret itself does not fit, nor on the line of a neighbour."""
    [row] = [param.values[0] for param in rows("config", "reject_at_build") if param.id == "CF-28"]
    text = "llm: {api_key: 98123400, modl: m, pin: [98123400]}\n"
    broken = {**row, "input": {**row["input"], "files": {"app.yaml": text}}}

    with pytest.raises(ConfigurationFaults) as raised:
        read_settings(broken, tmp_path)

    assert [(fault.code, fault.path) for fault in raised.value.diagnostics] == [
        ("AF109", "beans.app.llm.model"),
        ("AF107", "beans.app.llm.modl"),
        ("AF108", "beans.app.llm.pin"),
    ]
    assert row["expected"]["values"]["never_contains"] not in str(raised.value)


def test_a_variable_that_names_no_place_is_not_lost_in_silence(tmp_path: Path) -> None:
    """The rest of CF-10: an unknown section of the root is a warning with the near miss."""
    (tmp_path / "app.yaml").write_text("beans: {app: {type: t}}\n", "utf-8")

    layers = load_layers(
        tmp_path / "app.yaml", environment={"AGENTFORGE_BEAN__APP__X": "1", "AGENTFORGE_LOGLEVEL": "x"}
    )

    assert layers.warnings == (
        "AGENTFORGE_BEAN__APP__X has no effect: it is neither a setting nor the place of a value;"
        " did you mean AGENTFORGE_BEANS__APP__X?",
        "AGENTFORGE_LOGLEVEL has no effect: it is neither a setting nor the place of a value;"
        " did you mean AGENTFORGE_LOG_LEVEL?",
    )


_LLM = """
beans:
  llm:
    type: openai.chat
    model: m
{settings}
"""


def test_what_is_shown_of_a_configuration_masks_its_keys(tmp_path: Path) -> None:
    """As a program reads it, as `repr`, and as `explain` writes it for people and machines."""
    [row] = [param.values[0] for param in rows("config", "accept", form="config") if param.id == "CF-29"]
    key = row["expected"]["values"]["never_contains"]
    [text] = row["input"]["files"].values()
    head, *lines = text.splitlines()
    assert (head, row["input"]["env"]) == ("llm:", {"KEY": key})
    file = tmp_path / "agentforge.yaml"
    file.write_text(_LLM.format(settings="\n".join(f"  {line}" for line in lines)), "utf-8")
    app = AgentForge.load(file, environment={"KEY": key})
    [bean] = app.plan.beans.values()
    settings: Any = bean.settings

    shown = [repr(app.plan), repr(bean), repr(settings), str(settings.model_dump()), settings.model_dump_json()]
    for words in ([], ["beans.llm"], ["beans.llm.headers"], ["beans.llm.api_key", "--json"], ["--json"]):
        out, err = io.StringIO(), io.StringIO()
        environment = {"AGENTFORGE_CONFIG": str(file), "KEY": key}
        code = run(["explain", *words], stdin=io.StringIO(), stdout=out, stderr=err, environment=environment)
        assert (code, err.getvalue()) == (0, "")
        assert "***" in out.getvalue()
        shown.append(out.getvalue())

    assert not any(key in text for text in shown)
    assert settings.api_key.get_secret_value() == key
    assert settings.headers["api-key"].get_secret_value() == key


# -- beans that need each other -----------------------------------------------------------------------


class Opening(Thing):
    """A bean whose start takes some turns of the loop and is noted when it is over."""

    turns = 0

    async def start(self) -> None:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        self.note("opened")


def application(row: Mapping[str, Any], kit: Kit) -> AgentForge:
    """The row's beans; what one says of its opening and closing is done by a bean of the tests."""
    beans: dict[str, Any] = {}
    for name, given in row["input"]["beans"].items():
        close = given.get("close", "")
        beans[name] = {
            "type": "t.plain" if given.get("kind") == "sync" else "t.thing",
            "needs": given["needs"],
            "close": "cancelled" if "CancelledError" in close else "raises" if close else "",
        }
        if "async_open_s" in given:
            beans[name]["type"] = "t.own"
            kit.makers[name] = lambda name=name, given=given: _opening(kit, name, given["async_open_s"])  # type: ignore[misc]
    return kit.mapping(beans)


def _opening(kit: Kit, name: str, seconds: float) -> Opening:
    made = Opening(name, kit.log)
    made.turns = int(seconds * 50)
    return made


def noted(kit: Kit, step: str) -> list[str]:
    """The beans that took a step, in that order."""
    return [each.removeprefix(f"{step} ") for each in kit.log if each.startswith(f"{step} ")]


@pytest.mark.parametrize("row", [row for row in rows("config", "accept", form="container") if row.id != "CF-14"])
async def test_beans_are_built_once_opened_after_their_needs_and_all_closed_in_reverse(
    row: Mapping[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit(tmp_path)
    wanted = row["expected"]["values"]
    app = application(row, kit)
    over = asyncio.Event()

    async def hold() -> None:
        async with app:
            over.set()
            if "cancel" in row["input"].get("lifecycle", ""):
                await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await over.wait()
    if "cancel" in row["input"].get("lifecycle", ""):
        await asyncio.sleep(0)
        holding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await holding
        assert "ValueError: c fails" in caplog.text
    else:
        await holding

    made = noted(kit, "make")
    assert {name: made.count(name) for name in wanted.get("built", {})} == wanted.get("built", {})
    assert sorted(made) == sorted(row["input"]["beans"])
    assert noted(kit, "close") == wanted.get("close_order", made[::-1])
    opened = noted(kit, "opened")
    assert all(opened.index(first) < opened.index(then) for first, then in wanted.get("order_constraints", ()))


_PETS = """
from collections.abc import Callable

from agentforge import ChatClient, tool


class PetTool:
    def __init__(self, chat: {hint}) -> None:
        self.chat = chat


class Toolset:
    def __init__(self, pet_tool: PetTool) -> None:
        self.pet_tool = pet_tool

    @tool("The sound of a pet.")
    def sound(self) -> str:
        return type(self.pet_tool.chat()).__name__
"""
_PET_BEANS = """
scan: [cf14_pets]
beans:
  model: {type: scripted, turns: [{calls: [{name: sound}]}, Done.]}
  chat: {type: chat_client, model: model, tools: [toolset]}
  toolset: {type: python_tools, component: Toolset}
  pet_tool: {type: component, component: PetTool}
"""


@pytest.fixture
def pets(tmp_path: Path) -> Iterator[Callable[[str], AgentForge]]:
    """The application of the beans of CF-14, with this hint for the client that the tool needs."""
    kit = Kit(tmp_path)

    def make(hint: str) -> AgentForge:
        kit.write("cf14_pets.py", _PETS.format(hint=hint))
        return kit.load(_PET_BEANS)

    yield make
    sys.modules.pop("cf14_pets", None)


async def test_a_tool_that_uses_the_client_asks_for_it_later(pets: Callable[[str], AgentForge]) -> None:
    """Its tools are read when the client is used, and by then it is there."""
    [row] = [param.values[0] for param in rows("config", "accept", form="container") if param.id == "CF-14"]
    needs = {name: given["needs"] for name, given in row["input"]["beans"].items()}
    assert needs == {"chat": ["toolset"], "toolset": ["pet_tool"], "pet_tool": ["chat (lazy)"]}

    async with pets("Callable[[], ChatClient]") as app:
        result = await app.get("chat").chat("What does a dog say?")

    assert result.tool_executions[0].result_text() == "ChatClient"
    assert result.text == "Done."


def test_without_the_mark_the_error_advises_it(pets: Callable[[str], AgentForge]) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        pets("ChatClient").check()

    [fault] = raised.value.diagnostics
    assert fault.message == "beans need each other: chat -> toolset -> pet_tool -> chat"
    assert ": Callable[[], " in str(fault.next_step)


@pytest.mark.parametrize("row", rows("config", "reject_at_build", form="container"))
async def test_a_circle_of_beans_is_found_before_anything_is_built(row: Mapping[str, Any], tmp_path: Path) -> None:
    kit = Kit(tmp_path)

    with pytest.raises(ConfigurationFaults) as raised:
        await application(row, kit).start()

    [fault] = raised.value.diagnostics
    assert fault.message == f"beans need each other: {' -> '.join(row['expected']['values']['path'])}"
    assert kit.log == []


@pytest.mark.parametrize("step", ["make", "start"])
@pytest.mark.parametrize("row", rows("config", "typed_error", form="container"))
async def test_a_bean_that_fails_in_its_set_up_leaves_none_open(
    row: Mapping[str, Any], step: str, tmp_path: Path
) -> None:
    """One that was made and could not be started is there, and closed as well."""
    kit = Kit(tmp_path)
    beans = {
        name: {"type": "t.thing", "needs": given["needs"], **({step: "raises"} if "open" in given else {})}
        for name, given in row["input"]["beans"].items()
    }

    with pytest.raises(BeanCreationError, match="the bean 'p2'"):
        await kit.mapping(beans).start()

    failed = [] if step == "make" else ["p2"]
    assert noted(kit, "close") == [*failed, *row["expected"]["values"]["closed"]]
    assert "p3" not in str(kit.log)


# -- plugins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", rows("config", "reject_at_build", form="plugins"))
def test_a_bean_of_a_plugin_that_failed_says_so_with_the_cause(row: Mapping[str, Any], tmp_path: Path) -> None:
    """And no spelling mistake is guessed; our types are called PLUGIN.TYPE."""
    [(plugin, what)] = row["input"]["entry_points"].items()
    assert what == "raises ImportError: redis"
    kit = Kit(tmp_path)
    kit.add_plugin(plugin, ImportError("redis"))
    text = row["input"]["config"].replace(f"type: {plugin}", f"type: {plugin}.memory")

    with pytest.raises(ConfigurationFaults) as raised:
        kit.beans(text).check()
    with pytest.raises(ConfigurationFaults) as misspelt:
        kit.beans(text.replace(plugin, "redis_stor")).check()

    [fault] = raised.value.diagnostics
    assert (fault.code, fault.path) == ("AF201", "beans.memory.type")
    assert f"'{plugin}'" in fault.message
    assert "ImportError: redis" in fault.message
    assert "Did you mean" not in str(fault.next_step)
    assert misspelt.value.diagnostics[0].next_step == f"Did you mean '{plugin}.memory'?"


@pytest.mark.parametrize("row", rows("config", "accept", form="plugins"))
def test_a_plugin_that_is_listed_twice_is_loaded_once(
    row: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same name and target through two ways of the search path; another target is a clash."""
    folders = [entry.split(" @ ")[1].split(" ")[0] for entry in row["input"]["entry_points_listed"]]
    for folder in folders:
        _install(tmp_path / folder, "case-plugin", "cf20_plugin")
        monkeypatch.syspath_prepend(str(tmp_path / folder))

    plugins = Plugins(allow=["p"])
    plugins.load("p")

    assert [state.name for state in plugins.states() if state.state == "active"] == row["expected"]["values"]["loaded"]
    _install(tmp_path / "another", "another-plugin", "cf20_other")
    monkeypatch.syspath_prepend(str(tmp_path / "another"))
    clash = [state for state in Plugins().states() if state.name == "p"]
    assert [state.state for state in clash] == ["duplicate", "duplicate"]
    assert "another-plugin" in str(clash[0])
    assert "case-plugin" in str(clash[0])


def _install(site: Path, distribution: str, module: str) -> None:
    info = site / f"{distribution.replace('-', '_')}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[agentforge_kit.plugin]\np = {module}\n", "utf-8")
    (site / f"{module}.py").write_text("", "utf-8")
