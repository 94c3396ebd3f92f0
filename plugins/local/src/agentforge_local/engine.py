"""The engine behind the model: loads the weights, runs one generation, and is the only file that knows its library.

Every method blocks and is meant for a worker thread. The library always opens a listener of its own; it gets a socket
file in a private folder and a key that nobody is told, so that nothing else can speak to it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge_local.signals import kept_signal_handlers

__all__ = ("Engine", "default_threads", "import_engine")

_SILENT = -1
_FIRST = {"messages": [{"role": "user", "content": "."}], "max_tokens": 1, "stream": True}


def default_threads() -> int:
    """Half of the processors that the process may use, at least one.

    The engine's threads wait for each other at every step, so that one too many on a busy machine costs more than all
    of them bring.
    """
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:
        usable = os.cpu_count() or 1
    return max(1, usable // 2)


def import_engine() -> Any:
    """The engine's library. Raises `ConfigurationError` when it is not installed or does not load here."""
    try:
        import xllamacpp  # type: ignore[import-untyped]
    except ImportError as error:
        raise ConfigurationError(
            f"the engine for local models cannot be loaded: {error}",
            next_step="Run: pip install xllamacpp (Linux, macOS and Windows have wheels; others build it).",
        ) from error
    return xllamacpp


class Engine:
    """One loaded model. Raises `ConfigurationError` when the weights cannot be loaded."""

    def __init__(self, weights: Path, *, threads: int, context_size: int) -> None:
        library = import_engine()
        params = library.CommonParams()
        params.model.path = str(weights)
        params.n_ctx = context_size
        params.n_parallel = 1
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.verbosity = _SILENT
        params.warmup = False
        params.cache_ram_mib = 0
        params.n_threads_http = 1
        params.api_keys = [secrets.token_hex(16)]
        self._folder = tempfile.mkdtemp(prefix="agentforge-local-")
        if os.name == "posix":
            params.hostnames = [str(Path(self._folder, "engine.sock"))]
        try:
            with kept_signal_handlers():
                self._server = library.Server(params)
        except RuntimeError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise ConfigurationError(
                f"the engine cannot load the weights file {str(weights)!r}",
                next_step="The file may be damaged, of a kind the engine does not know, or too large for the memory.",
            ) from error
        # The engine's own loop may not have begun yet, and told to stop before that it would never end.
        self.generate(_FIRST, lambda chunk: False)

    def generate(self, body: Mapping[str, object], on_chunk: Callable[[Mapping[str, Any]], bool]) -> None:
        """Run one request and hand over its chunks; ends early when ``on_chunk`` returns true."""
        self._server.handle_chat_completions(
            json.dumps(body, ensure_ascii=False), lambda text: on_chunk(json.loads(text))
        )

    def close(self) -> None:
        """Release the memory; safe to call twice."""
        self._server = None
        shutil.rmtree(self._folder, ignore_errors=True)
