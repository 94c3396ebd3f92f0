"""A model with structured output, given tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from agentforge.errors import ConfigurationError
from agentforge.model.chat_model import ChatModel
from agentforge.model.events import ChatEvent
from agentforge.model.profile import ModelProfile
from agentforge.model.request import ChatRequest
from agentforge.model.response import ChatResponse
from agentforge.model.schema_calling.turn import translate_request

__all__ = ("SchemaToolModel",)


class SchemaToolModel:
    """``inner`` with tool calling over a schema (``tool_mode`` ``json_schema``); closing it closes ``inner``.

    Raises `ConfigurationError` when ``inner`` has no structured output.
    """

    def __init__(self, inner: ChatModel) -> None:
        profile = inner.profile
        if "json_schema" not in profile.response_formats:
            raise ConfigurationError(
                f"model {profile.name!r} cannot be held to a JSON Schema, so it cannot call tools over one",
                next_step="Use a model with structured output, or tool_mode native.",
            )
        self._inner = inner
        self._profile = profile.with_(
            tool_mode="json_schema",
            tool_choice=frozenset({"auto", "none", "required", "tool", "allowed"}),
            parallel_tool_calls="settable",
            strict_tools=True,
            streamed_tool_deltas=True,
            tool_name_pattern=r"^.+$",
            max_tools=None,
        )

    @property
    def profile(self) -> ModelProfile:
        """What ``inner`` can do, with tools."""
        return self._profile

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The whole reply, with calls where the model made some."""
        turn = translate_request(request)
        return turn.decode(await self._inner.chat(turn.request))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The reply as events; see `SchemaTurn.decode_stream`."""
        turn = translate_request(request)
        async with aclosing(turn.decode_stream(self._inner.stream(turn.request))) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close ``inner``."""
        await self._inner.aclose()

    def __repr__(self) -> str:
        return f"SchemaToolModel({self._inner!r})"
