"""The reference page of errors is whole and true: every code is there once, with its class, and nothing else is."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

from agentforge import errors
from agentforge.advisor import faults as advisor_faults
from agentforge.client.services import faults as service_faults
from agentforge.config import codes as config_codes
from agentforge.container import codes as container_codes
from agentforge.container import faults as container_faults
from agentforge.errors import AgentForgeError
from agentforge.memory import faults as memory_faults
from agentforge.plugin import faults as plugin_faults

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
# | AF309 | `ModelTimeoutError` (`TimeoutError`) | when | what to do |
ROW = re.compile(
    r"^\| (?P<code>AF\d+) \| `(?P<name>[A-Z][a-z]\w+)`(?: \(`(?P<builtin>\w+)`\))? \| (?P<when>.*?) \| ", re.MULTILINE
)
CLASSES = {
    name: found
    for module in (errors, advisor_faults, service_faults, memory_faults, plugin_faults, container_faults)
    for name, found in vars(module).items()
    if inspect.isclass(found) and issubclass(found, AgentForgeError) and found.__module__ == module.__name__
}
# | AF101 | `FILE_NOT_READ` | when |
FAULT = re.compile(r"^\| (?P<code>AF\d+) \| `(?P<name>[A-Z_]+)` \| [^|]+ \|$", re.MULTILINE)
FAULTS = {name: getattr(module, name) for module in (config_codes, container_codes) for name in module.__all__}


def test_every_fault_of_a_configuration_is_on_the_page() -> None:
    """Under its code and its name, once; one that has the code of a class stands with the class."""
    found = [(row["name"], row["code"]) for row in FAULT.finditer(PAGE.read_text("utf-8"))]
    of_classes = {kind.code for kind in CLASSES.values()}

    assert sorted(found) == sorted((name, code) for name, code in FAULTS.items() if code not in of_classes)
    assert len(set(FAULTS.values())) == len(FAULTS)


def rows(text: str) -> list[re.Match[str]]:
    """The rows of the page's tables of codes."""
    return list(ROW.finditer(text))


def python_base(kind: type[AgentForgeError]) -> str | None:
    """The built-in class that an error is as well, where it says so itself."""
    own = [base for base in kind.__bases__ if not issubclass(base, AgentForgeError) and base is not Exception]
    return own[0].__name__ if own else None


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_is_on_the_page(name: str) -> None:
    """Under its code, with the built-in class that it is as well, and with a word on when it is raised."""
    found = {row["name"]: row for row in rows(PAGE.read_text("utf-8"))}

    assert name in found
    assert found[name]["code"] == CLASSES[name].code
    assert found[name]["builtin"] == python_base(CLASSES[name])
    assert found[name]["when"]


def test_no_code_is_on_the_page_twice() -> None:
    """Nor a class, nor one that does not exist."""
    found = rows(PAGE.read_text("utf-8"))

    assert [code for code, times in Counter(row["code"] for row in found).items() if times > 1] == []
    assert sorted(row["name"] for row in found) == sorted(CLASSES)


def test_every_class_has_a_code_of_its_own() -> None:
    """A code says which class it was."""
    assert [code for code, times in Counter(kind.code for kind in CLASSES.values()).items() if times > 1] == []


@pytest.mark.parametrize("name", CLASSES)
def test_the_drawing_of_the_hierarchy_is_whole(name: str) -> None:
    """The tree at the top of the module names each class, with its code where it is not the root's."""
    line = next(line for line in (errors.__doc__ or "").splitlines() if re.search(rf"\b{name}\b", line))

    assert name == "AgentForgeError" or CLASSES[name].code in line


def test_a_row_that_is_wrong_is_noticed() -> None:
    """The pattern reads what a table holds, and not other text."""
    [row] = rows("AF100 is\n| AF502 | `RunTimeoutError` (`TimeoutError`) | late | wait |\n| AF5 | none | x | y |\n")

    assert row.groups() == ("AF502", "RunTimeoutError", "TimeoutError", "late")
