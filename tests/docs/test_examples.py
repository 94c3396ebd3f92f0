"""Every Python example on a page runs, in the order of the page and in one namespace, as a reader would type it.

A block with `await` at its top level runs on an event loop that lasts for the page; the others run beside it.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("plugins/*/README.md"))]
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<info>.*?) *$")
RUN = "python"
# Texts that look like Python to a reader; marking one so that it is not run is no way out.
LOOKS_LIKE_PYTHON = re.compile(r"^(py|python|python3|pycon)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its info text, its code, and the number of its first line."""

    info: str
    code: str
    line: int


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    opening: re.Match[str] | None = None
    start, lines = 0, text.splitlines()
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, start = fence, number + 1
        elif fence and fence["fence"].startswith(opening["fence"]) and not fence["info"]:
            code = "\n".join(each.removeprefix(opening["indent"]) for each in lines[start - 1 : number - 1])
            found.append(Block(opening["info"], code, start))
            opening = None
    assert opening is None, f"the block that starts at line {start - 1} is never closed"
    return found


def run_page(page: str, text: str, module: ModuleType) -> None:
    """Run the examples of a page in a module; a failure shows the page's own line numbers."""
    with asyncio.Runner() as runner:
        for block in blocks_of(text):
            if block.info != RUN:
                continue
            source = "\n" * (block.line - 1) + block.code
            code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                runner.run(eval(code, vars(module)))
            else:
                exec(code, vars(module))


def name_of(page: Path) -> str:
    """The page's path from the root of the project."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b.info == RUN for b in blocks_of(page.read_text("utf-8")))], ids=name_of
)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom, in an empty folder."""
    module = ModuleType("page_examples")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)

    run_page(name_of(page), page.read_text("utf-8"), module)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_python_on_a_page_is_kept_from_running(page: Path) -> None:
    """A block that a reader takes for Python is marked `python`, nothing else."""
    marked = [
        f"line {block.line}: {block.info}"
        for block in blocks_of(page.read_text("utf-8"))
        if LOOKS_LIKE_PYTHON.match(block.info) and block.info != RUN
    ]

    assert marked == []


PAGE = """
```python
import asyncio
x = 1
```
text
```yaml
x: 3
```
- in a list:
  ```python
  await asyncio.sleep(0)
  y = x + 1
  ```
"""


def test_a_page_is_one_namespace_and_may_await() -> None:
    """The second block sees the first one's names; what is not Python is left alone."""
    module = ModuleType("page_examples")

    run_page("page", PAGE, module)

    assert (vars(module)["x"], vars(module)["y"]) == (1, 2)


def test_a_failing_example_is_reported_with_the_line_of_the_page() -> None:
    """The traceback leads to the page."""
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("page", "# Title\n\n```python\nx = 1\n1 / 0\n```\n", ModuleType("page_examples"))

    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == ("page", 5)


@pytest.mark.parametrize("info", ["python no-run", "py", "pycon", "Python3"])
def test_other_marks_for_python_are_noticed(info: str) -> None:
    """No mark keeps an example from running."""
    [block] = blocks_of(f"```{info}\nx = 1\n```")

    assert LOOKS_LIKE_PYTHON.match(block.info)
