"""The product as a user writes it: a `ToolService`, a chat model, two declared tools."""

from __future__ import annotations

from agentforge import RunFinished, ToolService, tool
from agentforge_openai import OpenAiChatModel
from benchmarks.tools import Tally, make_tools

__all__ = ("Ours",)


class Ours:
    """The same conversation partner as `benchmarks.by_hand.ByHand`, with everything the loop promises."""

    def __init__(self, base_url: str, model: str, *, streamed: bool = False, transport: str = "httpx") -> None:
        self.tally = Tally()
        self._model = OpenAiChatModel(model=model, base_url=base_url, api_key="none", transport=transport)
        self._service = ToolService()
        self._service.tools(*(tool(function) for function in make_tools(self.tally)))
        self.ask = self._streamed if streamed else self._plain

    async def _plain(self, prompt: str) -> str:
        result = await self._service.chat(self._model, None, prompt)
        return result.final_response.ai_message.text or ""

    async def _streamed(self, prompt: str) -> str:
        text = None
        async with self._service.stream(self._model, None, prompt) as events:
            async for event in events:
                if type(event) is RunFinished:
                    text = event.result.final_response.ai_message.text
        return text or ""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._model.aclose()
