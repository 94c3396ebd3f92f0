"""What the tests of conversations share: seed A's tools, one that fails, and one conversation on both faces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from agentforge import ChatMessage, P, RunFinished, ScriptedChatModel, ToolChatResult, ToolService, tool
from agentforge.model.history import mend_history

__all__ = ("QUESTION", "WeatherTools", "converse", "fails", "valid")

QUESTION = "杭州今天天气怎么样？"


class WeatherTools:
    """Seed A's example."""

    @tool("Current weather of a city.")
    def get_weather(self, city: Annotated[str, P("name of the city")]) -> str:
        return f"{city}: 22℃, sunny"

    @tool
    async def now(self) -> str:
        """The current time."""
        return "10:00"

    def helper(self) -> str:
        return "not a tool"


@tool
def fails(reason: str = "no reason") -> str:
    """Always fails."""
    raise ValueError(reason)


def valid(messages: Iterable[ChatMessage]) -> bool:
    """Whether a history has nothing to mend."""
    given = tuple(messages)
    return mend_history(given) == (given, ())


async def converse(service: ToolService, turns: Sequence[Any], *arguments: Any, **options: Any) -> ToolChatResult:
    """The conversation, blocking and streamed; both must agree."""
    parameters = arguments[0] if arguments else None
    plain = await service.chat(ScriptedChatModel(list(turns)), parameters, QUESTION, **options)
    async with service.stream(ScriptedChatModel(list(turns)), parameters, QUESTION, **options) as events:
        seen = [event async for event in events]
    assert isinstance(seen[-1], RunFinished)
    streamed = seen[-1].result
    assert streamed.messages == plain.messages
    assert streamed.token_usage == plain.token_usage
    assert [(e.request, e.outcome, e.result_text()) for e in streamed.tool_executions] == [
        (e.request, e.outcome, e.result_text()) for e in plain.tool_executions
    ]
    assert valid(plain.messages)
    return plain
