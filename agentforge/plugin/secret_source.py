"""Asking one plugin for one secret: its answer is a text or nothing, and it has to come in time."""

from __future__ import annotations

import contextvars
import inspect
import threading
from typing import Any

__all__ = ("SecretSourceError", "SecretTimeoutError", "asked")


class SecretSourceError(Exception):
    """A plugin gave something else than a secret. The words are ours and show nothing of what it gave."""


class SecretTimeoutError(SecretSourceError):
    """A plugin gave no answer in time."""


def asked(implementation: Any, name: str, seconds: float) -> str | None:
    """What a plugin's hook ``agentforge_secret`` answers; ``None`` for a secret that it does not have.

    It runs in a thread of its own, since a vault that does not answer would be waited for by everybody; one that takes
    longer than ``seconds`` is left there. Raises what the hook raises, and `SecretSourceError`.
    """
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def ask() -> None:
        try:
            outcome.append(implementation.function(*[name for _ in implementation.argnames]))
        except BaseException as error:  # the one who asked decides
            failure.append(error)

    around = contextvars.copy_context()
    thread = threading.Thread(target=around.run, args=(ask,), name=f"secret of {name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise SecretTimeoutError(f"it gave no answer in {seconds:g} s")
    answer = outcome[0]
    if answer is None or isinstance(answer, str):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    raise SecretSourceError(f"it gave {type(answer).__name__} and not a text")
