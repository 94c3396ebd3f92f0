"""The model behind this wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from agentforge.testing import ChatModelContract, PluginContract, WireModelContract
from agentforge_dashscope import DashScopeChatModel
from tests.support import scripted_model

Opened: TypeAlias = AbstractAsyncContextManager[DashScopeChatModel]


def answering(turns: Sequence[Any], **options: Any) -> Opened:
    settings = {"model": "qwen-plus", "vendor": "dashscope", "api_key": "key-for-tests", **options}
    return scripted_model.answering(DashScopeChatModel, turns, **settings)


class TestDashScopeChatModel(WireModelContract):
    """With what the vendor's row says of a model of texts; reasoning is kept, and such models do not want it back."""

    replays_state = False

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(turns)


class TestDashScopeChatModelOfManyKinds(WireModelContract):
    """A model that sees, hears and thinks, whose contents are lists and whose reasoning goes back, at an address of no
    known vendor."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(turns, vendor="generic", model="qwen3.8-max", profile_overrides={"audio": True})


class TestDashScopeChatModelWithStreamsThatRepeat(ChatModelContract):
    """Where each event of a stream holds everything so far."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(turns, incremental_output=False)


class TestDashScopePlugin(PluginContract):
    def plugin(self) -> str:
        return "dashscope"

    def beans(self) -> dict[str, dict[str, Any]]:
        return {"model": {"type": "dashscope.chat", "model": "m", "base_url": "http://127.0.0.1:9/api/v1"}}
