"""The classes and functions that a trusted file may name: those of the ``scan`` roots, by bare name, and no others.

A file's text never reaches an import: the roots are imported, and a name is looked up in what they define.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from agentforge.plugin.constructor import made_with, needs_of, read_value, reader_of, result_kind
from agentforge.plugin.faults import ComponentError, ends_the_program, place_of, words_of
from agentforge.plugin.parameter import Need

__all__ = ("Components",)

_ROOT = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*", re.ASCII)
_importing = threading.RLock()  # sys.path is the process's


class Components:
    """The components of the modules and packages in ``roots``, the modules below a package included.

    The roots are imported at the first look-up; only for that is ``folder`` (the file's) put in front of the search
    path. A component is a class or function that one of the roots defines: what a root merely imports is none.
    """

    def __init__(self, roots: Sequence[str], folder: Path) -> None:
        self.roots = tuple(roots)
        self.folder = folder
        self._found: dict[str, list[Any]] | None = None
        self._needs: dict[tuple[str, bool], Mapping[str, Need]] = {}
        self._readers: dict[tuple[str, str], Any] = {}

    def names(self) -> tuple[str, ...]:
        """The names of all components. Raises `ComponentError` for a root that cannot be imported."""
        return tuple(sorted(self._all()))

    def find(self, name: str) -> Any:
        """The class or function of this bare name.

        Raises `ComponentError` for dotted, private and dunder names, for one that no root defines (with the nearest
        that there are) or that two define, and for a root that cannot be imported.
        """
        if not name.isidentifier():
            raise ComponentError(
                f"{name!r} is no name of a component",
                next_step="Give the bare name of a class or function; its module belongs in 'scan'.",
            )
        if name.startswith("_"):
            raise ComponentError(f"{name!r} is private and cannot be a component", next_step="Name a public class.")
        if not self.roots:
            raise ComponentError(
                f"the component {name!r} cannot be looked up: 'scan' names no packages",
                next_step="Add the module that defines it: scan: [my_package.tools].",
            )
        candidates = self._all().get(name, [])
        if not candidates:
            raise self._unknown(name)
        if len(candidates) > 1:
            places = " and ".join(sorted(item.__module__ for item in candidates))
            raise ComponentError(
                f"the component {name!r} is ambiguous: {places} define it", next_step="Rename one, or scan one of them."
            )
        return candidates[0]

    def needs(self, name: str, *, called: bool = False) -> Mapping[str, Need]:
        """What the component's constructor takes, by parameter; none for a function, or with ``called`` what the
        function takes. Raises `ComponentError`."""
        key = name, called
        if key not in self._needs:
            self._needs[key] = needs_of(self.find(name), called=called)
        return self._needs[key]

    def provided_by(self, name: str, *, called: bool = False) -> type:
        """What the component is to others: the class, a function's type, or with ``called`` what the function says
        that it makes. Raises `ComponentError`."""
        found = self.find(name)
        if called:
            return result_kind(found)
        return found if isinstance(found, type) else type(found)

    def reader(self, name: str, need: Need) -> Any:
        """The model that reads the plain value of a parameter; see `reader_of`."""
        key = name, need.name
        if key not in self._readers:
            self._readers[key] = reader_of(need)
        return self._readers[key]

    def read(self, name: str, need: Need, value: object) -> object:
        """A plain value as a parameter of the component takes it. Raises pydantic's ``ValidationError``."""
        return read_value(self.reader(name, need), need, value)

    def make(
        self,
        name: str,
        arguments: Mapping[str, object],
        values: Mapping[str, object] | None = None,
        *,
        called: bool = False,
    ) -> Any:
        """An object of the component, or the function itself; with ``called`` what the function makes.

        ``arguments`` are the beans for its parameters, ``values`` plain values, which are checked against the
        parameters' types. Raises `ComponentError` for parameters that are unknown, missing or do not fit; what the
        constructor or function raises passes through.
        """
        return made_with(
            self.find(name),
            arguments,
            values or {},
            self.needs(name, called=called),
            called=called,
            reader=lambda need: self.reader(name, need),
        )

    # -- inside ----------------------------------------------------------------------------------

    def _all(self) -> dict[str, list[Any]]:
        if self._found is None:
            found: dict[str, list[Any]] = {}
            for module in self._modules():
                for name, value in vars(module).items():
                    if not name.startswith("_") and self._is_component(value):
                        known = found.setdefault(name, [])
                        if not any(value is other for other in known):
                            known.append(value)
            self._found = found
        return self._found

    def _is_component(self, value: object) -> bool:
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            return False
        home = getattr(value, "__module__", None)
        return isinstance(home, str) and any(home == root or home.startswith(f"{root}.") for root in self.roots)

    def _modules(self) -> list[ModuleType]:
        modules: list[ModuleType] = []
        with _importing, _in_front(self.folder):
            importlib.invalidate_caches()
            for root in self.roots:
                if not _ROOT.fullmatch(root):
                    raise ComponentError(f"{root!r} in 'scan' is no module name", next_step="Write package.module.")
                self._refuse_stranger(root)
                module = _imported(root, root)
                modules.append(module)
                modules.extend(_below(module, root))
        return modules

    def _refuse_stranger(self, root: str) -> None:
        """A module of the folder's name that was loaded from elsewhere is not the one the file means."""
        top = root.partition(".")[0]
        loaded = sys.modules.get(top)
        here = [self.folder / top, self.folder / f"{top}.py"]
        if loaded is None or not any(path.exists() for path in here):
            return
        places = [*vars(loaded).get("__path__", ()), vars(loaded).get("__file__") or ""]
        if not any(place and _same(place, path) for place in places for path in here):
            raise ComponentError(
                f"{top!r} of 'scan' lies beside the file, but another module of that name is loaded already",
                next_step="Give the package a name of its own.",
            )

    def _unknown(self, name: str) -> ComponentError:
        names = self.names()
        near = difflib.get_close_matches(name, names, 3)
        step = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names) or 'none'}."
        roots = ", ".join(self.roots)
        return ComponentError(f"no component {name!r} is defined in {roots}", next_step=step)


def _below(module: ModuleType, root: str) -> Iterator[ModuleType]:
    """The public modules of a package, those of the packages inside it included."""
    # Of the module itself: one that answers to every name with a function of its own may raise there.
    for found in pkgutil.iter_modules(vars(module).get("__path__", ()), f"{module.__name__}."):
        if not found.name.rpartition(".")[2].startswith("_"):
            inner = _imported(found.name, root)
            yield inner
            yield from _below(inner, root)


def _imported(name: str, root: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except BaseException as error:
        if ends_the_program(error):
            raise
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if missing:
            message, step = (
                f"{root!r} of 'scan' is no module",
                "Correct the name; it is looked for beside the file first.",
            )
        else:
            message = f"{name!r} of 'scan' cannot be imported: {words_of(error)}{place_of(error)}"
            step = "Correct the module."
        raise ComponentError(message, next_step=step) from error


def _same(place: str, path: Path) -> bool:
    return path.exists() and Path(place).exists() and path.samefile(place)


@contextmanager
def _in_front(folder: Path) -> Iterator[None]:
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)
