"""What is no test in this folder: distributions that break when they are imported; and what a recipe leaves behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.support.recipes import RECIPES

collect_ignore = ["distributions"]


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    """What a recipe imported is forgotten after it."""
    yield
    for name, module in tuple(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(RECIPES)):
            del sys.modules[name]
