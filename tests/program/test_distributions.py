"""Plugins of others, installed for real: what needs none of the broken ones works, and what needs one is told why not.

The folder ``distributions`` holds them: a good one, one for each way to be broken, two of one name, and a slow one.
They are installed once, with pip and with their metadata, into a folder on the search path.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.installing import install, program, python

FOLDER = Path(__file__).parent / "distributions"
BROKEN = {
    "importerror": ("failed", "ModuleNotFoundError: No module named 'a_library_that_nobody_has'"),
    "systemexit": ("failed", "SystemExit: this platform is not supported"),
    "future": ("incompatible", "it was written for version 2.0 of the plugin interface, and this is 1.0"),
    "wronghook": ("failed", "hook 'agentforge_tool_called'"),
    "halfway": ("failed", "RuntimeError: no room for the second type"),
    "twin": (
        "duplicate",
        "several distributions bring a plugin of this name: agentforge-plugin-twin 1.0 (agentforge_twin_one) and "
        "twin-for-agentforge 1.0 (agentforge_twin_two)",
    ),
}
GOOD = """
agentforge: 1
plugins: {plugins}
beans:
  model: {{type: good.echo{key}}}
  tools: {{type: tool_service}}
  assistant: {{type: chat_client, model: model}}
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all of them."""
    folder = tmp_path_factory.mktemp("installed")
    # A copy of each, since a build leaves its marks.
    sources = sorted(path.parent for path in FOLDER.glob("*/pyproject.toml"))
    assert len(sources) == len(BROKEN) + 4
    install(sources, folder)
    return folder


def write(folder: Path, *, plugins: str = "[]", secret: str | None = None, more: str = "") -> None:
    """A file that needs the good plugin, and perhaps a secret."""
    key = f', key: "${{secret:{secret}}}"' if secret else ""
    (folder / "agentforge.yaml").write_text(GOOD.format(plugins=plugins, key=key).lstrip() + more, "utf-8")


def states(target: Path, tmp_path: Path, *words: str, code: int, **environment: str) -> dict[str, dict[str, Any]]:
    """What `agentforge plugins` says of each."""
    done = program("plugins", *words, "--json", cwd=tmp_path, target=target, **environment)
    assert done.returncode == code, done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)}


def test_a_listing_imports_none_of_them(target: Path, tmp_path: Path) -> None:
    """From metadata alone every one is known, and only the name that two have is a fault."""
    found = states(target, tmp_path, "--no-load", code=0)

    assert {name for name, each in found.items() if each["state"] == "duplicate"} == {"twin"}
    assert {each["state"] for each in found.values()} == {"found", "duplicate"}
    assert set(BROKEN) | {"good", "slow", "failing_hook"} <= set(found)


def test_loading_all_says_what_is_wrong_with_each(target: Path, tmp_path: Path) -> None:
    """State and reason of every broken one; the good ones are active, and the program's exit code is 1."""
    found = states(target, tmp_path, "--load", code=1)

    for name, (state, reason) in BROKEN.items():
        assert found[name]["state"] == state and reason in found[name]["reason"], found[name]
        assert found[name]["types"] == [] == found[name]["hooks"]
    assert found["good"]["state"] == found["slow"]["state"] == found["failing_hook"]["state"] == "active"
    assert found["good"]["types"] == ["good.echo"]
    assert "agentforge_secret" in found["good"]["hooks"]


def test_a_slow_plugin_is_only_slow(target: Path, tmp_path: Path) -> None:
    """Its load time is its own, shown beside it; nobody waits for it who does not need it."""
    found = states(target, tmp_path, "--load", code=1, SLOW_PLUGIN_SECONDS="0.01")
    assert found["slow"]["state"] == "active" and found["slow"]["seconds"] >= 0.01

    write(tmp_path)
    done = program("check", cwd=tmp_path, target=target, SLOW_PLUGIN_SECONDS="3600")
    assert done.returncode == 0, done.stderr


def test_help_lists_them_and_imports_none(target: Path, tmp_path: Path) -> None:
    """The slow one would be noticed, the one that ends the program too."""
    done = program("--help", cwd=tmp_path, target=target, SLOW_PLUGIN_SECONDS="3600")

    assert done.returncode == 0
    assert all(f"\n  {name} ..." in done.stdout for name in ("good", "importerror", "systemexit", "twin"))


def test_what_needs_only_the_good_one_works(target: Path, tmp_path: Path) -> None:
    """`check`, `chat` and a plugin's own command, with everything else broken beside it, and without a word of it."""
    write(tmp_path)
    checked = program("check", cwd=tmp_path, target=target)
    asked = program("chat", "Hello", "--json", "--no-stream", cwd=tmp_path, target=target)
    called = program("good", "hello", "you", cwd=tmp_path, target=target)

    assert (checked.returncode, checked.stderr) == (0, "")
    assert asked.returncode == 0 and json.loads(asked.stdout)["text"] == "good", asked.stderr
    assert (called.returncode, called.stdout) == (0, "hello you\n"), called.stderr


def test_a_bean_that_needs_a_broken_one_is_told_which_and_why(target: Path, tmp_path: Path) -> None:
    """At its line, with the distribution, the cause and a next step; the other beans have no faults."""
    write(tmp_path, more="".join(f"  {name}_model: {{type: {name}.model}}\n" for name in BROKEN))
    done = program("check", "--json", cwd=tmp_path, target=target)

    faults = json.loads(done.stdout)["faults"]
    assert (done.returncode, len(faults)) == (1, len(BROKEN))
    for number, (name, fault) in enumerate(zip(BROKEN, faults, strict=True)):
        assert (fault["code"], fault["path"]) == ("AF201", f"beans.{name}_model.type")
        assert (fault["line"], fault["column"]) == (7 + number, len(f"  {name}_model: {{type: ") + 1)
        assert BROKEN[name][1] in fault["message"] and "1.0" in fault["message"]
        assert fault["next_step"]


def test_a_plugin_that_a_file_requires_must_be_usable(target: Path, tmp_path: Path) -> None:
    """To stand in `plugins` is enough; each is a fault where it stands in the list, and so is one that is missing."""
    wanted = [*BROKEN, "nobodys"]
    write(tmp_path, plugins=f"[{', '.join(wanted)}]")
    done = program("check", "--json", cwd=tmp_path, target=target)

    faults = json.loads(done.stdout)["faults"]
    assert done.returncode == 1
    assert [(fault["code"], fault["line"]) for fault in faults] == [("AF201", 2)] * len(wanted)
    assert all(f"'{name}'" in fault["message"] for name, fault in zip(wanted, faults, strict=True))


def test_a_plugin_that_a_file_would_like_is_a_warning(target: Path, tmp_path: Path) -> None:
    """`optional` loads what can be loaded, and names what cannot."""
    write(tmp_path, plugins="{optional: [importerror, good]}")
    done = program("check", cwd=tmp_path, target=target)

    assert done.returncode == 0, done.stderr
    assert "warning: " in done.stderr and "importerror" in done.stderr


def test_a_file_can_switch_a_plugin_off_or_name_the_only_ones(target: Path, tmp_path: Path) -> None:
    """Then a type of another is a fault that says so."""
    for plugins in ("{disabled: [good]}", "{only: [slow]}"):
        write(tmp_path, plugins=plugins)
        done = program("check", cwd=tmp_path, target=target)
        assert done.returncode == 1 and "plugin 'good' (agentforge-plugin-good 1.0) is blocked" in done.stderr

    write(tmp_path, plugins="{only: [good]}")
    assert program("check", cwd=tmp_path, target=target).returncode == 0


@pytest.mark.parametrize(
    ("environment", "blocked"),
    [
        ({"AGENTFORGE_DISABLE_PLUGINS": "good"}, True),
        ({"AGENTFORGE_LOAD_PLUGINS": "slow"}, True),
        ({"AGENTFORGE_LOAD_PLUGINS": "good,slow"}, False),
    ],
)
def test_the_environment_switches_plugins_off(
    target: Path, tmp_path: Path, environment: dict[str, str], blocked: bool
) -> None:
    """By a list of those that may not, or of the only ones that may."""
    write(tmp_path)
    done = program("check", cwd=tmp_path, target=target, **environment)

    assert done.returncode == int(blocked)
    assert ("is blocked" in done.stderr) == blocked


def test_when_it_is_strict_every_broken_plugin_is_an_error(target: Path, tmp_path: Path) -> None:
    """All of them are named, though the file needs none of them."""
    write(tmp_path)
    done = program("check", cwd=tmp_path, target=target, AGENTFORGE_STRICT_PLUGINS="true")

    assert done.returncode == 1
    assert all(f"plugin '{name}' " in done.stderr for name in BROKEN)
    switched_off = program(
        "check",
        cwd=tmp_path,
        target=target,
        AGENTFORGE_STRICT_PLUGINS="true",
        AGENTFORGE_DISABLE_PLUGINS=",".join(BROKEN),
    )
    assert switched_off.returncode == 0, switched_off.stderr


def test_an_observer_that_raises_is_named_and_the_others_are_told(target: Path, tmp_path: Path) -> None:
    """The answer comes all the same; the plugin that failed half-way while it was loaded is told nothing."""
    write(tmp_path, plugins="{optional: [failing_hook, halfway]}")
    seen = tmp_path / "seen.txt"
    done = program("chat", "Hello", "--no-stream", cwd=tmp_path, target=target, SEEN_FILE=str(seen))

    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr
    assert "plugin 'failing_hook' failed in its hook agentforge_model_called: RuntimeError" in done.stderr
    assert "is told nothing" not in done.stderr
    assert seen.read_text("utf-8") == "asked\n"


def test_a_secret_comes_from_the_plugin_that_is_named(target: Path, tmp_path: Path) -> None:
    """It reaches the bean; no other source is asked."""
    write(tmp_path, secret="good/ANSWER")
    done = program("chat", "Hello", "--no-stream", cwd=tmp_path, target=target)

    assert (done.returncode, done.stdout) == (0, "good, 9 characters\n"), done.stderr


def test_a_vault_that_fails_is_named_at_its_place_and_tells_nothing(target: Path, tmp_path: Path) -> None:
    """Not a word of what it raised: that could be the secret."""
    write(tmp_path, secret="failing_hook/ANSWER")
    done = program("check", cwd=tmp_path, target=target)

    assert done.returncode == 1
    assert "agentforge.yaml:4:" in done.stderr
    assert "the plugin 'failing_hook' failed to give the secret 'ANSWER': ConnectionError" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_vault_that_fails_keeps_no_other_from_answering(target: Path, tmp_path: Path) -> None:
    """Both are asked; the one that has the secret gives it."""
    write(tmp_path, plugins="[failing_hook, good]", secret="ANSWER")

    done = program("check", cwd=tmp_path, target=target)
    assert done.returncode == 0, done.stderr


def test_python_code_is_kept_from_nothing_either(target: Path, tmp_path: Path) -> None:
    """The same plugins through the class."""
    work = (
        "from agentforge.plugin import Plugins\n"
        "plugins = Plugins(); plugins.load_all()\n"
        "print(sorted(state.name for state in plugins.states() if state.state == 'active'))\n"
    )
    done = python("-c", work, cwd=tmp_path, target=target)

    assert done.returncode == 0, done.stderr
    names = [
        "anthropic",
        "dashscope",
        "failing_hook",
        "gemini",
        "good",
        "http",
        "local",
        "mcp",
        "ollama",
        "openai",
        "slow",
    ]
    assert done.stdout.strip() == str(names)
