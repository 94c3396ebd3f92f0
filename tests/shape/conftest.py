"""The files that the shape tests look at, and how they read them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Read:
    """What of a module is looked at more than once; the syntax trees of all of them would be millions of objects."""

    docstring: str | None
    on_load: tuple[tuple[str, tuple[str, ...]], ...]
    everywhere: tuple[tuple[str, tuple[str, ...]], ...]


class House:
    """The checkout as files: sources, module names and syntax trees."""

    root = ROOT
    core = ROOT / "agentforge"

    def plugins(self) -> tuple[Path, ...]:
        """The import packages of the plugins in this checkout."""
        return _plugins()

    def sources(self) -> tuple[Path, ...]:
        """Every shipped module: the core and the plugins."""
        return _sources()

    def written(self) -> list[Path]:
        """Every Python file of the project, tests and benchmarks included."""
        tops = ("agentforge", "plugins", "tests", "benchmarks", "docs")
        return sorted([path for top in tops for path in (ROOT / top).rglob("*.py")] + list(ROOT.glob("*.py")))

    def module_name(self, path: Path) -> str:
        """The dotted name of a shipped module."""
        top = next(top for top in (self.core, *self.plugins()) if path.is_relative_to(top))
        parts = path.relative_to(top.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def tree(self, path: Path) -> ast.Module:
        """The syntax tree of a file."""
        return _tree(path)

    def name_of(self, path: Path) -> str:
        """The path as a reader of a failure wants it."""
        return path.relative_to(ROOT).as_posix()

    def docstring(self, path: Path) -> str | None:
        """What a module says of itself."""
        return _read(path).docstring

    def imports(self, path: Path, *, everywhere: bool = False) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What a file imports, as (module, names): when it is loaded, or ``everywhere``, in functions too."""
        read = _read(path)
        return read.everywhere if everywhere else read.on_load


@cache
def _plugins() -> tuple[Path, ...]:
    return tuple(sorted(path.parent for path in ROOT.glob("plugins/*/src/*/__init__.py")))


@cache
def _sources() -> tuple[Path, ...]:
    return tuple(sorted(path for top in (House.core, *_plugins()) for path in top.rglob("*.py")))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def _read(path: Path) -> Read:
    tree, name = _tree(path), path.relative_to(ROOT).as_posix()
    return Read(
        ast.get_docstring(tree),
        tuple(_imported(_run_on_import(tree.body), name)),
        tuple(_imported(ast.walk(tree), name)),
    )


def _imported(nodes: Iterable[ast.AST], name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: imports are absolute"
            yield node.module or "", tuple(alias.name for alias in node.names)


def _run_on_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is loaded: not the bodies of functions, not imports for type checkers."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            yield from _run_on_import(node.orelse)
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _run_on_import(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from _run_on_import(handler.body)


@pytest.fixture(scope="session")
def house() -> House:
    """The checkout."""
    return House()
