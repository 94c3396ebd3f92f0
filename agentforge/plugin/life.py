"""The methods by which an object is started and closed: one rule for every bean and for what a bean stands for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from agentforge.client.services import asks_a_model
from agentforge.tool import declaration_of

__all__ = ("method_of",)


def method_of(made: object, *names: str) -> Callable[[], Any] | None:
    """The first of these methods that can be called without arguments; ``None`` when there is none.

    A tool of such a name is the model's to call, and a method that a model answers the application's; a class and a
    function are never started or closed.
    """
    if isinstance(made, type) or inspect.isfunction(made):
        return None
    for name in names:
        found = getattr(made, name, None)
        if not callable(found) or declaration_of(found) is not None or asks_a_model(found):
            continue
        try:
            inspect.signature(found).bind()
        except (TypeError, ValueError):
            continue
        method: Callable[[], Any] = found
        return method
    return None
