"""The plugin's hooks: the bean type ``local.llama``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from agentforge.model import ChatModel
from agentforge.plugin import BeanContext, BeanSettings, BeanType, hookimpl

__all__ = ("AGENTFORGE_API", "LocalLlamaSettings", "agentforge_bean_types")

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class LocalLlamaSettings(BeanSettings):
    """The settings of ``local.llama``."""

    weights: str = "smollm2"
    """`smollm2`, or the path of a GGUF file; a relative path starts at the configuration file."""
    threads: int | None = None
    """Threads of the engine; half of the usable processors by default."""
    context_size: int = 2048
    """Tokens of prompt and answer together."""
    max_output_tokens: int = 256
    """Tokens of an answer, where a request sets no other limit."""
    temperature: float = 0.0
    """How freely tokens are drawn; 0 always takes the likeliest."""
    seed: int = 0
    """The start of the random numbers: the same seed gives the same answer."""
    prompts: Literal["short", "full"] | None = None
    """`short` for models too small to follow instructions (the default of `smollm2`), `full` for others."""


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """Register the plugin's bean type."""
    register(
        BeanType(
            "local.llama",
            LocalLlamaSettings,
            _local_llama,
            provides=ChatModel,
            summary="A GGUF model that runs inside the process: no key, no network.",
        )
    )


def _local_llama(settings: LocalLlamaSettings, context: BeanContext) -> ChatModel:
    from agentforge_local.model import LocalLlamaModel
    from agentforge_local.weights import SMOLLM2

    given = settings.model_dump()
    if settings.weights != SMOLLM2:
        given["weights"] = context.folder / Path(settings.weights).expanduser()
    return LocalLlamaModel(**given)
