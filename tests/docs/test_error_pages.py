"""The page of error codes says what `agentforge explain CODE` says, under an anchor for each code, and its examples do
what they claim.

Run as a program it writes tables and sections anew: ``python tests/docs/test_error_pages.py``.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from agentforge.advisor import faults as advisor_faults
from agentforge.cli.error_codes import ErrorCode, error_codes
from agentforge.cli.main import run
from agentforge.client.services import faults as service_faults
from agentforge.config import codes as config_codes
from agentforge.container import codes as container_codes
from agentforge.container import faults as container_faults
from agentforge.memory import faults as memory_faults
from agentforge.plugin import faults as plugin_faults

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
START = "## Every code, with an example\n"
ROW = re.compile(
    r"^\| (?P<code>AF\d+) \| (?P<name>`\w+`(?: \(`\w+`\))?) \| (?P<when>.*?) \|(?P<rest>.*\|)?$", re.MULTILINE
)
CODES = error_codes()
WITH_EXAMPLE = {code: row for code, row in CODES.items() if row.broken}


def section(row: ErrorCode) -> str:
    """What the page says of one code."""
    lines = [f"### {row.code}", "", f"`{row.name}`: {row.when}."]
    if row.do:
        lines[-1] += f" What to do: {row.do}."
    if row.broken:
        variables = "".join(f"{name}={value} " for name, value in row.variables.items())
        lines += ["", f"`{variables}agentforge {row.run}` gives it for", "", *block(row.broken)]
        for name, text in row.beside.items():
            lines += ["", f"beside `{name}`", "", *block(text)]
        same = row.right_run == row.run
        lines += ["", "and this is right:" if same else f"and `agentforge {row.right_run}` is right for", ""]
        lines += block(row.right)
        for name, text in row.cured.items():
            lines += ["", f"with `{name}`", "", *block(text)]
    return "\n".join(lines) + "\n"


def block(text: str) -> list[str]:
    """A text as a block of a page, control characters as their pictures."""
    return ["```text", *re.sub("[\x00-\x08]", lambda found: chr(0x2400 + ord(found[0])), text).splitlines(), "```"]


def written(page: str) -> str:
    """The page with its tables' cells and the sections at its end as the program has them."""

    def row(found: re.Match[str]) -> str:
        known = CODES.get(found["code"])
        if known is None:
            return found[0]
        cells = [known.when] if found["rest"] is None else [known.when, known.do]
        return (
            f"| {known.code} | {found['name']} | "
            + " | ".join(cell for cell in cells if cell)
            + (" |" if all(cells) else " | |")
        )

    head = ROW.sub(row, page.partition(START)[0]).rstrip()
    return f"{head}\n\n{START}\n" + "\n".join(section(each) for each in CODES.values())


def test_the_page_is_written_from_the_program() -> None:
    """Word for word."""
    page = PAGE.read_text("utf-8")

    assert page == written(page)


def test_every_code_is_known() -> None:
    """Those of errors, advisors, memory, configurations, plugins and the container; and no other."""
    from agentforge import errors
    from agentforge.errors import AgentForgeError

    modules = (errors, advisor_faults, service_faults, memory_faults, plugin_faults, container_faults)
    classes = {
        found.code: found.__name__
        for module in modules
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, AgentForgeError) and found.__module__ == module.__name__
    }
    faults = {getattr(module, name): name for module in (config_codes, container_codes) for name in module.__all__}

    assert {code: row.name for code, row in CODES.items()} == faults | classes


def ended(row: ErrorCode, text: str, command: str, folder: Path) -> tuple[int, str]:
    """The exit code of a command on a file, and what it says."""
    for name, content in {**row.beside, "agentforge.yaml": text}.items():
        (folder / name).write_text(content, "utf-8")
    out, err = io.StringIO(), io.StringIO()
    words = [*shlex.split(command), "--config", str(folder / "agentforge.yaml")]
    code = run(words, stdin=io.StringIO(), stdout=out, stderr=err, environment=dict(row.variables))
    for name in row.beside:
        sys.modules.pop(name.removesuffix(".py"), None)
    return code, err.getvalue()


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_a_broken_example_gives_its_code(code: str, tmp_path: Path) -> None:
    """And nothing but that."""
    row = CODES[code]
    ending, said = ended(row, row.broken, row.run, tmp_path)

    assert ending == 1
    assert set(re.findall(r"^\[(AF\d+)\]", said, re.MULTILINE)) == {code}
    assert f"agentforge explain {code} ({row.page})" in said


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_its_cure_is_right(code: str, tmp_path: Path) -> None:
    """The same command has nothing to say."""
    row = CODES[code]
    for name, text in row.cured.items():
        (tmp_path / name).write_text(text, "utf-8")

    ending, said = ended(row, row.right, row.right_run, tmp_path)

    assert ending == 0, said


def test_every_fault_of_a_file_has_an_example() -> None:
    """But those that no short file can show."""
    of_files = {code for code in CODES if "AF101" <= code < "AF300"}

    without = ["AF104", "AF122", "AF123", "AF202", "AF205", "AF206", "AF207"]
    assert sorted(of_files - WITH_EXAMPLE.keys()) == without


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
