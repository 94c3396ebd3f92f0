"""Every example on a page runs, in the order of the page, as a reader would type it.

``python``: in one namespace; a block with `await` at its top level runs on an event loop that lasts for the page.
``yaml``: a configuration is compiled. ``sh``: on the guides, commands of `agentforge` run, and a ``text`` block right
below is what they print (``…`` stands for anything in a line, alone in a line for any lines).
A block whose first line is a comment with the name of a file is also saved under it, for the blocks that follow; the
project of a saved ``pyproject.toml`` counts as installed.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from agentforge import AgentForge
from agentforge.config import ConfigurationFaults
from tests.support.programs import folder_of_programs

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("README*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("plugins/*/README.md")),
]
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<info>.*?) *$")
RUN = "python"
# "# agentforge.yaml", "# desk/tools.py: what a tool is", "# .env"
NAMED = re.compile(r"# (?P<name>\.env|[\w-][\w/.-]*\.(?:py|yaml|toml))(?P<faulty>, with faults)?(?:: .*)?$")
CONFIGURATION = re.compile(r"^(agentforge|beans|scan|include|plugins):", re.MULTILINE)
PLACEHOLDER = re.compile(r"\$\{(?:secret:)?(\w+)\}")
COMMAND = re.compile(r"^(?:.*\| )?(?:[A-Z_]+=\S* )*agentforge\b", re.MULTILINE)
EXIT_CODE = re.compile(r"# exit code (\d+)$")
# Texts that look like Python to a reader; marking one so that it is not run is no way out.
LOOKS_LIKE_PYTHON = re.compile(r"^(py|python|python3|pycon)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its info text, its code, and the number of its first line."""

    info: str
    code: str
    line: int
    end: int = 0

    @property
    def file(self) -> re.Match[str] | None:
        """The name of the file that it is."""
        return NAMED.match(self.code.partition("\n")[0])


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
            found.append(Block(opening["info"], code, start, number))
            opening = None
    assert opening is None, f"the block that starts at line {start - 1} is never closed"
    return found


def run_page(page: str, text: str, module: ModuleType, *, commands: bool = False) -> None:
    """Run the examples of a page in a module and the working directory; a failure shows the page's own line numbers."""
    blocks = blocks_of(text)
    with asyncio.Runner() as runner:
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            where = f"{page}:{block.line}"
            if block.file:
                path = Path(block.file["name"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.code + "\n", "utf-8")
                if path.name == "pyproject.toml":
                    install(path)
            if block.info == RUN:
                source = "\n" * (block.line - 1) + block.code
                code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
                if code.co_flags & inspect.CO_COROUTINE:
                    runner.run(eval(code, vars(module)))
                else:
                    exec(code, vars(module))
            elif block.info == "yaml" and CONFIGURATION.search(block.code):
                check_configuration(where, block)
            elif block.info == "sh" and commands and COMMAND.search(block.code):
                expected = following.code if following and is_output(block, following, text) else None
                run_commands(where, block.code, expected)


def install(project: Path) -> None:
    """Put the metadata of a project beside it, as an editable installation does on the search path."""
    table = tomllib.loads(project.read_text("utf-8"))["project"]
    folder = project.with_name(f"{table['name'].replace('-', '_')}-{table['version']}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: {table['name']}\nVersion: {table['version']}\n", "utf-8")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
        for group, entries in table["entry-points"].items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(groups) + "\n", "utf-8")


def is_output(block: Block, following: Block, text: str) -> bool:
    """Whether a block is the text that another prints: nothing stands between them."""
    return following.info == "text" and not "".join(text.splitlines()[block.end : following.line - 2]).strip()


def check_configuration(where: str, block: Block) -> None:
    """Compile a file that was saved, a profile over its root file; what it wants from the environment is there."""
    named = block.file
    path = Path(named["name"]) if named else Path("block.yaml")
    if named is None:
        path.write_text(block.code + "\n", "utf-8")
    environment = dict.fromkeys(PLACEHOLDER.findall(block.code), "example")
    root, dash, profile = path.stem.partition("-")
    below = path.with_name(f"{root}{path.suffix}")
    over = dash and below.exists()
    app = AgentForge.load(below if over else path, profiles=[profile] if over else [], environment=environment)
    found = None
    try:
        app.check()
    except ConfigurationFaults as faults:
        found = faults
    if named is not None and named["faulty"]:
        assert found is not None, f"{where}: the configuration has no faults"
    else:
        assert found is None, f"{where}: the configuration is faulty\n{found}"


def run_commands(where: str, code: str, expected: str | None) -> None:
    """Run the lines of a block one by one and compare what they print with what the page says."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith("AGENTFORGE_")}
    path = os.pathsep.join([folder_of_programs(), sysconfig.get_path("scripts"), clean.get("PATH", "")])
    printed = ""
    for line in code.replace("\\\n", "").splitlines():
        wanted = EXIT_CODE.search(line)
        done = subprocess.run(
            ["sh", "-c", line],
            env=clean
            | {"PATH": path, "PYTHONPATH": os.pathsep.join([os.getcwd(), os.path.abspath("src")]), "COLUMNS": "80"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == int(wanted[1] if wanted else 0), f"{where}: {line}\n{done.stdout}"
        printed += done.stdout
    if expected is not None:
        assert matches(expected, printed), f"{where}: the page says\n{expected}\n\nprinted was\n{printed}"


def matches(expected: str, printed: str) -> bool:
    """Whether a text is what the page shows; ``…`` is any part of a line, in a line of its own any lines."""
    pattern = re.escape(expected.strip()).replace("\\\n", "\n")
    pattern = re.sub(r"^…$\n?", "(?:.*\\n)*?", pattern, flags=re.MULTILINE).replace("…", ".*?")
    return re.fullmatch(pattern, printed.strip() + ("\n" if expected.strip().endswith("\n…") else "")) is not None


def name_of(page: Path) -> str:
    """The page's path from the root of the project."""
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(autouse=True)
def _fresh_modules(tmp_path: Path) -> Iterator[None]:
    """What a page saves and imports is forgotten after it."""
    yield
    for name, module in tuple(sys.modules.items()):
        # A folder without an __init__ is a package without a file.
        places = [vars(module).get("__file__") or "", *map(str, vars(module).get("__path__") or ())]
        if any(place.startswith(str(tmp_path)) for place in places):
            del sys.modules[name]


class ToldEngine:
    """In the place of the local model's engine, which is asked just this in the plugin's own tests, and takes seconds:
    gives one reply after the other."""

    replies = ('{"city": "Paris"}}', "The weather in Paris is: 22 degrees and clear.")

    def __init__(self, weights: Path, *, threads: int, context_size: int) -> None:
        self._left = list(self.replies)

    def generate(self, body: Mapping[str, object], on_chunk: Callable[[Mapping[str, object]], bool]) -> None:
        """The next reply, in one piece."""
        on_chunk({"choices": [{"delta": {"content": self._left.pop(0)}, "finish_reason": "stop"}]})

    def close(self) -> None:
        """All was asked for."""
        assert self._left == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(b.info in (RUN, "yaml") for b in blocks_of(page.read_text("utf-8")))],
    ids=name_of,
)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom, in an empty folder; for a page at the root, which shows `config/`, in a copy of that."""
    module = ModuleType("page_examples")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("agentforge_local.model.Engine", ToldEngine)
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    monkeypatch.syspath_prepend(str(tmp_path))
    if page.parent == ROOT:
        shutil.copytree(ROOT / "config", tmp_path, dirs_exist_ok=True)

    run_page(name_of(page), page.read_text("utf-8"), module, commands=page.parent.name == "guides")


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


GOOD = "```yaml\n# app.yaml\nbeans:\n  model: {type: scripted, turns: [Hello.]}\n```\n"
SHELL = "```sh\nagentforge check --config app.yaml\n```\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "```yaml\nbeans: {model: {type: scripted}}\n```", "page:2: the configuration is faulty", id="fault"
        ),
        pytest.param(GOOD.replace("app.yaml", "app.yaml, with faults"), "page:2: the configuration has no", id="good"),
        pytest.param(f"{GOOD}{SHELL.replace('app', 'bad')}", "page:7: agentforge check --config bad", id="exit code"),
        pytest.param(f"{GOOD}{SHELL}```text\nnothing\n```", "page:7: the page says", id="output"),
        pytest.param(
            f"{GOOD}```yaml\n# app-eu.yaml\nbeans: {{model: {{turn: []}}}}\n```", "page:7: the conf", id="profile"
        ),
    ],
)
def test_a_wrong_configuration_or_command_is_noticed(
    text: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the line of the page."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(AssertionError) as caught:
        run_page("page", text, ModuleType("page_examples"), commands=True)

    assert complaint in str(caught.value)


def test_a_page_may_save_files_and_run_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands on the page is in the folder; the text below a command is what it prints."""
    monkeypatch.chdir(tmp_path)
    text = f"{GOOD}{SHELL}\n```text\napp.yaml: … faults\n…\n```\n```python\n# helper.py: for later\nx = 1\n```"

    run_page("page", text, ModuleType("page_examples"), commands=True)

    assert (tmp_path / "helper.py").read_text("utf-8") == "# helper.py: for later\nx = 1\n"


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a … c", "a b c", True),
        ("a … c", "a b\nc", False),
        ("a\n…\nc", "a\nb\nb\nc", True),
        ("a\n…\nc", "a\nc", True),
        ("a\n…", "a\nb\nc", True),
        ("a.c", "abc", False),
        ("a", "a\nb", False),
    ],
)
def test_dots_stand_for_what_changes(expected: str, printed: str, same: bool) -> None:
    """In a line, or for whole lines."""
    assert matches(expected, printed) is same
