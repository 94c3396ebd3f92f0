"""The model in the process keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from agentforge.testing import ChatModelContract, PluginContract
from agentforge_local import LocalLlamaModel


class TestLocalLlamaModel(ChatModelContract):
    """Its answers are its own, so what needs a script is skipped."""

    def model(self) -> LocalLlamaModel:
        return LocalLlamaModel(context_size=512, max_output_tokens=4)


class TestLocalPlugin(PluginContract):
    def plugin(self) -> str:
        return "local"
