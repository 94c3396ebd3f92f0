"""The seed's example of tools, a question about the weather, which each wire tells in its own form."""

from __future__ import annotations

from typing import Annotated

from agentforge import P, ToolParameters, ToolSpecification, tool

__all__ = ("ANSWER", "FOUND", "QUESTION", "SPECIFICATION", "WeatherTools")

QUESTION = "杭州今天天气怎么样?"
FOUND = "杭州今天 22℃,天气晴。"
ANSWER = "杭州今天 22℃,天气晴,适合出行。"
SPECIFICATION = ToolSpecification(
    "get_weather",
    "查询指定城市的当前天气",
    ToolParameters.builder().add_property("city", "string", "城市名", required=True).build(),
)


class WeatherTools:
    """The seed's tool."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @tool("查询指定城市的当前天气")
    def get_weather(self, city: Annotated[str, P("城市名")]) -> str:
        self.asked.append(city)
        return FOUND
