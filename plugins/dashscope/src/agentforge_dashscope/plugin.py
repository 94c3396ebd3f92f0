"""The plugin: the bean type ``dashscope.chat``, with every setting of `DashScopeChatModel` that a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentforge.model import ChatModel
from agentforge.plugin import BeanType, hookimpl
from agentforge.provider import ChatSettings, endpoints_of, make_model
from agentforge_dashscope.model import DashScopeChatModel
from agentforge_dashscope.rows import DASHSCOPE_VENDORS

__all__ = ("AGENTFORGE_API", "DashScopeChatSettings", "agentforge_bean_types")

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class DashScopeChatSettings(ChatSettings):
    """What `dashscope.chat` takes. Everything that the model would refuse is found when the file is checked."""

    VENDORS = DASHSCOPE_VENDORS

    incremental_output: bool | None = None
    """Whether events of streams hold only what is new, or everything so far; unset: as the vendor."""
    multimodal: bool | None = None
    """Whether the model is asked at the path for images and sound; unset: as the vendor says of its name."""
    workspace: str | None = None
    """The workspace to ask in, where the key has several."""

    def further(self) -> dict[str, Any]:
        """Arguments of the model that only this protocol has."""
        return {
            "incremental_output": self.incremental_output,
            "multimodal": self.multimodal,
            "workspace": self.workspace,
        }

    def model_of(self, endpoint: Mapping[str, Any]) -> DashScopeChatModel:
        """The model."""
        return DashScopeChatModel(**endpoint, **self.chat_arguments())


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    register(
        BeanType(
            "dashscope.chat",
            DashScopeChatSettings,
            make_model,
            ChatModel,
            "A model behind DashScope's own generation API: Qwen, and what else is offered there.",
            endpoints=endpoints_of,
        )
    )
