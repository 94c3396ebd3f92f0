"""Contracts stand on the standard library alone, two libraries live in one place each, plugins use the public surface.

The order of the layers is import-linter's part (`make lint`); these are the rules that it cannot say.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

# Modules that hold values and protocols: whoever reads or implements a contract loads nothing else.
CONTRACTS = (
    "agentforge/__init__.py",
    "agentforge/errors.py",
    "agentforge/masking.py",
    "agentforge/http/transport.py",
    "agentforge/model/*.py",
    "agentforge/tool/declare.py",
    "agentforge/tool/source.py",
    "agentforge/tool/error/*.py",
    "agentforge/tool/execution/outcome.py",
    "agentforge/tool/execution/result.py",
    "agentforge/tool/execution/run.py",
)
# Libraries that are loaded only inside functions, wherever they are used.
LAZY = (
    "pydantic",
    "pydantic_settings",
    "httpx",
    "httpcore",
    "aiohttp",
    "jsonschema_rs",
    "docstring_parser",
    "yaml",
    "rich",
)
# Modules that are themselves loaded only when beans are compiled, and whose classes stand on a library.
LOADED_ON_USE = (
    "agentforge/config/settings.py",
    "agentforge/plugin/bean_settings.py",
    "agentforge/provider/row_settings.py",
)
# library: the only folder that may name it at all
AT_HOME = {"pluggy": "agentforge/plugin", "dependency_injector": "agentforge/container", "pytest": "agentforge/testing"}
FORBIDDEN = ("anyio", "trio", "requests", "openai", "anthropic")


def _third_party(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in sys.stdlib_module_names and top != "agentforge"


@pytest.mark.parametrize("pattern", CONTRACTS)
def test_a_contract_module_imports_only_the_standard_library(house: Any, pattern: str) -> None:
    """When it is loaded; what a function of it imports is its own affair."""
    paths = sorted(house.root.glob(pattern))
    found = [f"{house.name_of(p)}: {module}" for p in paths for module, _ in house.imports(p) if _third_party(module)]

    assert paths
    assert found == []


def test_heavy_libraries_are_loaded_only_inside_functions(house: Any) -> None:
    """Nowhere in the core or in a plugin does loading a module load one of them."""
    found = [
        f"{house.name_of(path)}: {module}"
        for path in house.sources()
        if house.name_of(path) not in LOADED_ON_USE
        for module, _ in house.imports(path)
        if module.partition(".")[0] in LAZY
    ]

    assert found == []


@pytest.mark.parametrize(("library", "home"), AT_HOME.items())
def test_a_library_lives_in_one_folder(house: Any, library: str, home: str) -> None:
    """So that it can be exchanged there."""
    strangers = [
        house.name_of(path)
        for path in house.sources()
        if not path.is_relative_to(house.root / home)
        and any(module.partition(".")[0] == library for module, _ in house.imports(path, everywhere=True))
    ]

    assert strangers == []


def test_no_second_async_library_and_no_vendor_sdk(house: Any) -> None:
    """Decision 0001: asyncio alone; and wires are written here, not by vendors' packages."""
    found = [
        f"{house.name_of(path)}: {module}"
        for path in house.sources()
        for module, _ in house.imports(path, everywhere=True)
        if module.partition(".")[0] in FORBIDDEN
    ]

    assert found == []


def test_a_plugin_uses_only_the_public_surface(house: Any) -> None:
    """A plugin imports from a package or a top module of `agentforge`, and only names in its `__all__`."""
    faults = []
    for path in (path for package in house.plugins() for path in package.rglob("*.py")):
        for module, names in house.imports(path, everywhere=True):
            if module.partition(".")[0] == "agentforge":
                faults += [f"{house.name_of(path)}: {fault}" for fault in _misuse(house.root, module, names)]

    assert faults == []


def _misuse(root: Path, module: str, names: tuple[str, ...]) -> list[str]:
    is_package = (root / Path(*module.split(".")) / "__init__.py").exists()
    if not is_package and module.count(".") > 1:
        return [f"{module} is inside a package; import from the package"]
    exported = getattr(importlib.import_module(module), "__all__", ())
    return [f"{name} is not exported by {module}" for name in names if name not in exported]


def test_the_rule_for_plugins_would_notice(house: Any) -> None:
    """An inner module and a private name are both refused."""
    assert _misuse(house.root, "agentforge.http.transport", ("HttpRequest",))
    assert _misuse(house.root, "agentforge.errors", ("dataclass",))
    assert not _misuse(house.root, "agentforge.errors", ("AgentForgeError",))
