"""Which classes and functions a file may name: those that the scanned modules define, no others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.plugin import ComponentError, Components

FILES = {
    "fake_desk/__init__.py": """
        import os
        from collections import OrderedDict
        from pathlib import Path

        class Desk:
            "Of the package itself."
        """,
    "fake_desk/tools.py": """
        import subprocess
        from os import system
        from fake_elsewhere import Stranger
        from fake_desk import Desk
        from fake_desk.inner.deep import Deep as Renamed

        class WeatherTools:
            def __init__(self, unit: str = "celsius") -> None:
                self.unit = unit

        class _Private: ...

        def current_time() -> str:
            return "noon"

        ANSWER = 42
        """,
    "fake_desk/inner/__init__.py": "",
    "fake_desk/inner/deep.py": "class Deep: ...",
    "fake_desk/_hidden.py": "raise AssertionError('a private module is not scanned')",
    "fake_desk/__main__.py": "raise AssertionError('a program is not scanned')",
    "fake_elsewhere.py": "class Stranger: ...",
    "fake_rival.py": "class WeatherTools: ...",
    "fake_broken.py": "import no_such_module_anywhere",
    "fake_exits.py": "raise SystemExit(3)",
}
REFUSED = {
    "a dotted name": ("os.system", "is no name of a component"),
    "a path of attributes": ("WeatherTools.__init__", "is no name of a component"),
    "a module and a name": ("fake_desk.tools:WeatherTools", "is no name of a component"),
    "an empty name": ("", "is no name of a component"),
    "a dunder name": ("__builtins__", "is private"),
    "a private class": ("_Private", "is private"),
    "a function of another module": ("system", "no component 'system' is defined"),
    "a class of another module": ("Stranger", "no component 'Stranger' is defined"),
    "a class of the standard library": ("OrderedDict", "no component 'OrderedDict' is defined"),
    "an imported module": ("subprocess", "no component 'subprocess' is defined"),
    "a plain value": ("ANSWER", "no component 'ANSWER' is defined"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A project folder that is not on the search path."""
    for name, source in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source), "utf-8")
    yield tmp_path
    for module in [name for name in sys.modules if name.partition(".")[0].startswith("fake_")]:
        del sys.modules[module]


@pytest.mark.parametrize("name", ["WeatherTools", "current_time", "Desk", "Deep", "Renamed"])
def test_what_a_root_defines_can_be_named(folder: Path, name: str) -> None:
    """Classes and functions of a package and of the modules below it, under any name they have there."""
    found = Components(["fake_desk"], folder).find(name)

    assert found.__module__.startswith("fake_desk")


@pytest.mark.parametrize(("name", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_nothing_else_can_be_reached(folder: Path, name: str, message: str) -> None:
    """Whatever the text of a file says."""
    with pytest.raises(ComponentError) as caught:
        Components(["fake_desk"], folder).find(name)

    assert message in caught.value.message and caught.value.next_step


@given(st.text(max_size=30).filter(lambda text: not text.isidentifier() or text.startswith("_")))
def test_no_odd_text_reaches_an_import(name: str) -> None:
    """It is refused by its form, before the roots (which do not exist) are looked at."""
    with pytest.raises(ComponentError, match=r"is no name of a component|is private"):
        Components(["no_such_root"], Path("nowhere")).find(name)


def test_a_module_as_root_holds_only_its_own(folder: Path) -> None:
    """`scan: [fake_desk.tools]` does not open the rest of the package."""
    components = Components(["fake_desk.tools"], folder)

    assert components.names() == ("WeatherTools", "current_time")
    with pytest.raises(ComponentError, match="no component 'Desk'"):
        components.find("Desk")


def test_an_unknown_name_lists_the_nearest(folder: Path) -> None:
    """Else all that there are."""
    components = Components(["fake_desk"], folder)
    with pytest.raises(ComponentError) as near:
        components.find("WeatherTool")
    with pytest.raises(ComponentError) as far:
        components.find("Quux")

    assert near.value.next_step == "Did you mean WeatherTools?"
    assert far.value.next_step == "There are: Deep, Desk, Renamed, WeatherTools, current_time."


def test_two_of_one_name_are_ambiguous(folder: Path) -> None:
    """The error names both modules."""
    with pytest.raises(ComponentError, match=r"ambiguous: fake_desk\.tools and fake_rival define it"):
        Components(["fake_desk", "fake_rival"], folder).find("WeatherTools")


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("fake_nowhere", "'fake_nowhere' of 'scan' is no module"),
        ("fake_desk.nowhere", "'fake_desk.nowhere' of 'scan' is no module"),
        ("fake_broken", "'fake_broken' of 'scan' cannot be imported: ModuleNotFoundError"),
        ("fake_exits", "'fake_exits' of 'scan' cannot be imported: SystemExit"),
        ("../fake_desk", "is no module name"),
        ("fake_desk:tools", "is no module name"),
        (".fake_desk", "is no module name"),
        ("__main__", "is no module name"),
    ],
)
def test_a_root_that_cannot_be_imported_is_an_error(folder: Path, root: str, message: str) -> None:
    """With what it raised, `SystemExit` included, and what to do."""
    with pytest.raises(ComponentError) as caught:
        Components([root], folder).names()

    assert message in caught.value.message and caught.value.next_step


def test_without_scan_there_are_no_components(folder: Path) -> None:
    """The error says where to add the module."""
    with pytest.raises(ComponentError, match="'scan' names no packages") as caught:
        Components([], folder).find("WeatherTools")

    assert "scan:" in (caught.value.next_step or "")


def test_the_search_path_is_as_before(folder: Path) -> None:
    """Also after a root that failed; nothing is imported before the first look-up."""
    before = list(sys.path)
    components = Components(["fake_desk"], folder)
    assert "fake_desk" not in sys.modules
    components.names()
    with pytest.raises(ComponentError):
        Components(["fake_broken"], folder).names()

    assert sys.path == before


def test_a_package_of_the_same_name_from_elsewhere_is_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The file means the one beside it; in one process only one of them can be loaded."""
    other = tmp_path_factory.mktemp("other")
    (other / "fake_desk").mkdir()
    (other / "fake_desk" / "__init__.py").write_text("class Other: ...", "utf-8")
    Components(["fake_desk"], folder).names()

    with pytest.raises(ComponentError, match="another module of that name is loaded already"):
        Components(["fake_desk"], other).names()
    assert "Desk" in Components(["fake_desk"], folder).names()


def test_an_installed_module_can_be_a_root(tmp_path: Path) -> None:
    """`scan` may name any module; the folder is only where it is looked for first."""
    assert "Counter" not in Components(["json"], tmp_path).names()
    assert "JSONDecoder" in Components(["json"], tmp_path).names()
