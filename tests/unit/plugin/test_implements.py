"""`implements`: the same as `hookimpl`, and a type checker compares the function with the hook's specification."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from agentforge.plugin import Found, Plugins, hooks
from tests.support.type_checker import mypy

GOOD = """
from agentforge.plugin import hooks, implements

@implements(hooks.agentforge_secret)
def from_vault(name: str) -> str | None:
    return name.lower()
"""


def test_a_function_of_any_name_implements_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called by the hook's name, and stays a plain function."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "fake_implements.py").write_text(GOOD, "utf-8")
    plugins = Plugins(entry_points=[Found("vault", "fake_implements", "fake", "1")])

    assert plugins.secret("KEY", "vault") == "key"
    module = sys.modules.pop("fake_implements")
    assert isinstance(module, ModuleType) and module.from_vault("A") == "a"
    state = plugins.state("vault")
    assert state is not None and state.hooks == ("agentforge_secret",)


@pytest.mark.parametrize("name", [name for name in hooks.__all__ if name.startswith("agentforge_")])
def test_every_hook_can_be_implemented_by_its_specification(name: str) -> None:
    """The mark names the hook."""
    specification = getattr(hooks, name)

    marked = hooks.implements(specification)(lambda *_: None)

    assert marked.agentforge_impl["specname"] == name  # type: ignore[attr-defined]


def test_mypy_refuses_what_does_not_fit(tmp_path: Path) -> None:
    """An argument of a wrong type, a wrong result, and an argument that is missing; what fits passes."""
    page = tmp_path / "typed.py"
    page.write_text(
        GOOD
        + """
@implements(hooks.agentforge_secret)
def wrong_argument(name: int) -> str | None: return None

@implements(hooks.agentforge_secret)
def wrong_result(name: str) -> int: return 1

@implements(hooks.agentforge_bean_created)
def too_few(bean_id: str) -> None: ...
""",
        "utf-8",
    )
    done = mypy(page)
    lines = [line for line in done.stdout.splitlines() if "typed.py" in line and ": error:" in line]

    assert [int(line.split(":")[1]) for line in lines] == [8, 11, 14], done.stdout
