"""Running one test of a contract suite against something that is wrong, to see whether it is caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ("caught", "names_of")


def caught(suite: type, test: str, **methods: Any) -> str:
    """The words with which a suite's test fails when its methods are these."""
    made = type("Wrong", (suite,), {"patience": 0.5, **methods})()
    run: Callable[[], None] = getattr(made, test)
    with pytest.raises(AssertionError) as found:
        run()
    return str(found.value)


def names_of(suite: type) -> set[str]:
    """The names of a suite's tests."""
    return {name for name in dir(suite) if name.startswith("test_")}
