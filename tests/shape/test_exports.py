"""What may be imported is written down: `__all__` is whole, true, and the same as what is visible."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any


def _faults(house: Any, find: Any) -> list[str]:
    modules = [importlib.import_module(house.module_name(path)) for path in house.sources()]
    return [f"{module.__name__}: {fault}" for module in modules for fault in find(module)]


def test_every_module_says_what_it_exports(house: Any) -> None:
    """Each module has an `__all__` tuple of distinct texts."""

    def find(module: ModuleType) -> list[str]:
        exported = getattr(module, "__all__", None)
        if not isinstance(exported, tuple):
            return ["__all__ is missing or no tuple"]
        return ["a name is listed twice"] if len(set(exported)) < len(exported) else []

    assert _faults(house, find) == []


def test_every_exported_name_exists(house: Any) -> None:
    """Each name in `__all__` can be fetched, also where a package loads it on first use."""

    def find(module: ModuleType) -> list[str]:
        return [f"{name} does not exist" for name in module.__all__ if not hasattr(module, name)]

    assert _faults(house, find) == []


def test_a_package_shows_no_more_than_it_exports(house: Any) -> None:
    """In a package, a public name that is no module is in `__all__`: helpers and imported tools are private."""

    def find(module: ModuleType) -> list[str]:
        if not hasattr(module, "__path__"):
            return []
        visible = {
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and name != "annotations" and not inspect.ismodule(value)
        }
        return [f"{name} is visible but not exported" for name in sorted(visible - set(module.__all__))]

    assert _faults(house, find) == []


def test_a_module_exports_every_class_and_function_that_it_defines(house: Any) -> None:
    """A class or function without an underscore that a module defines itself is in `__all__`."""

    def find(module: ModuleType) -> list[str]:
        defined = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and (inspect.isclass(value) or inspect.isfunction(value))
            and value.__module__ == module.__name__
        ]
        return [f"{name} is public but not exported" for name in sorted(set(defined) - set(module.__all__))]

    assert _faults(house, find) == []


def test_every_exported_class_and_function_is_documented(house: Any) -> None:
    """What is exported where it is defined has a docstring of its own."""

    def find(module: ModuleType) -> list[str]:
        values = {name: getattr(module, name, None) for name in module.__all__}
        return [
            f"{name} has no docstring"
            for name, value in values.items()
            if (inspect.isclass(value) or inspect.isfunction(value))
            and value.__module__ == module.__name__
            and not value.__doc__
        ]

    assert _faults(house, find) == []


def test_every_module_says_why_it_exists(house: Any) -> None:
    """Each shipped module has a docstring."""
    silent = [house.name_of(path) for path in house.sources() if not house.docstring(path)]

    assert silent == []
