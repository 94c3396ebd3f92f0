"""The model in the process keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentforge.testing import ChatModelContract, PluginContract
from agentforge_local import LocalLlamaModel
from agentforge_local.engine import Engine


class KeptEngine(Engine):
    """An engine that is not released with its model, for the next one."""

    def close(self) -> None:
        """Go on."""


@pytest.fixture(scope="module", autouse=True)
def one_engine() -> Iterator[None]:
    """The weights are loaded once for the models of all these tests: of every model a new one takes a second. What
    loads and releases them is in `test_model`."""
    kept: dict[tuple[Path, int, int], KeptEngine] = {}

    def engine(weights: Path, *, threads: int, context_size: int) -> Engine:
        asked = (weights, threads, context_size)
        if asked not in kept:
            kept[asked] = KeptEngine(weights, threads=threads, context_size=context_size)
        return kept[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentforge_local.model.Engine", engine)
        yield
    for each in kept.values():
        Engine.close(each)


class TestLocalLlamaModel(ChatModelContract):
    """Its answers are its own, so what needs a script is skipped."""

    def model(self) -> LocalLlamaModel:
        return LocalLlamaModel(context_size=512, max_output_tokens=4)


class TestLocalPlugin(PluginContract):
    def plugin(self) -> str:
        return "local"
