"""Two tool conversations from question to answer, over real HTTP, without a key and without a file.

The model is scripted: an endpoint on this machine plays its part over the Chat Completions wire. Everything else is
what it would be with a model elsewhere: the requests, the streams, the calls, the tools and the way back.
"""

from __future__ import annotations

import asyncio
import io
import sys
import time
from typing import Annotated

from agentforge import ChatModel, P, RunFinished, TextDelta, ToolFinished, ToolService, ToolStarted, tool
from agentforge.testing import ScriptedEndpoint, Turn, call, calls
from agentforge_openai import OpenAiChatModel

# What the model would say of its own accord. One reply for each request: first the calls, then the answer.
CONVERSATIONS: dict[str, list[Turn]] = {
    "杭州今天天气怎么样？": [
        call("get_weather", city="杭州"),
        "杭州今天 22℃，天气晴，适合出行。",
    ],
    "Is it warmer in Hangzhou or in Oslo today?": [
        calls(call("get_weather", city="Hangzhou"), call("get_weather", city="Oslo")),
        "It is warmer in Hangzhou: 22 °C and sunny there, 9 °C and raining in Oslo.",
    ],
}

WEATHER = {
    "杭州": "杭州今天 22℃，天气晴。",
    "Hangzhou": "Hangzhou: 22 °C, sunny",
    "Oslo": "Oslo: 9 °C, rain",
}


class WeatherTools:
    """What the model may use."""

    @tool("Current weather of a city. Use it when the user asks about weather.")
    def get_weather(self, city: Annotated[str, P("name of the city")]) -> str:
        """A lookup that needs no network."""
        return WEATHER.get(city, f"There is no weather station in {city}.")


async def ask(service: ToolService, model: ChatModel, question: str) -> None:
    """Hold one conversation and show what happens while it happens."""
    print(f"question  {question}")
    started, answering = time.perf_counter(), False
    async with service.stream(model, None, question) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                print(f"call      {event.request.name} {event.request.arguments}")
            elif isinstance(event, ToolFinished):
                print(f"result    {event.execution.result_text()}")
            elif isinstance(event, TextDelta):
                print(event.text if answering else f"answer    {event.text}", end="", flush=True)
                answering = True
            elif isinstance(event, RunFinished):
                result = event.result
                print(
                    f"\nsummary   {_counted(len(result.intermediate_responses) + 1, 'round')}, "
                    f"{_counted(len(result.tool_executions), 'tool call')}, {result.token_usage.total_tokens} tokens, "
                    f"{(time.perf_counter() - started) * 1000:.0f} ms; the model was scripted\n"
                )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


async def main() -> None:
    """Start the endpoint, ask every question."""
    script = [turn for turns in CONVERSATIONS.values() for turn in turns]
    with ToolService(WeatherTools()) as service:
        async with (
            ScriptedEndpoint(script) as endpoint,
            OpenAiChatModel(base_url=endpoint.base_url, model="scripted") as model,
        ):
            print(f"The model is scripted: {endpoint.base_url} on this machine plays its part. All else is real.\n")
            for question in CONVERSATIONS:
                await ask(service, model, question)


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):  # a file or pipe may be opened in an encoding without Chinese
        sys.stdout.reconfigure(encoding="utf-8")
    asyncio.run(main())
