"""How well the bundled local model calls tools: questions in English and Chinese, each with one right call.

Run it with ``python -m benchmarks.local_model``; it needs the plugin ``local`` and its weights, and takes minutes. Each
question is asked with its tool alone, forced, and then with all three tools, of which the model's plugin chooses one by
the words of the question. The prompts were written with `QUESTIONS` at hand and never changed for `FRESH`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agentforge.errors import ModelError, ToolArgumentsError
from agentforge.model import ChatRequest, ChatRequestParameters, ToolChoice, ToolParameters, ToolSpecification
from agentforge_local import LocalLlamaModel

__all__ = ("FRESH", "QUESTIONS", "TOOLS", "Question", "main")

_CURRENCIES = ["USD", "EUR", "CNY", "JPY", "GBP"]
_TEXT = {"type": "string"}
_CURRENCY = {**_TEXT, "enum": _CURRENCIES}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the one call that is right."""

    tool: str
    text: str
    arguments: Mapping[str, object]


def _tool(name: str, description: str, **parameters: tuple[Mapping[str, object], str]) -> ToolSpecification:
    builder = ToolParameters.builder()
    for parameter, (schema, text) in parameters.items():
        builder.add_property(parameter.rstrip("_"), schema, text, required=True)
    return ToolSpecification(name, description, builder.build())


TOOLS = (
    _tool("get_weather", "current weather of a city", city=(_TEXT, "name of the city")),
    _tool(
        "convert",
        "convert an amount of money into another currency",
        amount=({"type": "number"}, "how much money"),
        from_=(_CURRENCY, "currency of the amount"),
        to=(_CURRENCY, "currency wanted"),
    ),
    _tool("order_status", "status of an order in the shop", order_number=(_TEXT, "number of the order")),
)
# Added to the descriptions for the second table: what lets Chinese questions meet English tools.
_CHINESE = {
    "get_weather": "城市天气 下雨 气温 冷热",
    "convert": "货币换算 换成 多少 美元 人民币 日元 欧元",
    "order_status": "订单状态 订单号 发货",
}

QUESTIONS = (
    Question("get_weather", "What is the weather in Paris?", {"city": "Paris"}),
    Question("get_weather", "How is the weather in New York today?", {"city": "New York"}),
    Question("get_weather", "Is it raining in London right now?", {"city": "London"}),
    Question("get_weather", "Do I need a coat in Reykjavik tonight?", {"city": "Reykjavik"}),
    Question("get_weather", "Tell me the temperature in Buenos Aires.", {"city": "Buenos Aires"}),
    Question("get_weather", "杭州今天天气怎么样？", {"city": "杭州"}),
    Question("get_weather", "北京现在下雨吗？", {"city": "北京"}),
    Question("get_weather", "请问上海的气温是多少？", {"city": "上海"}),
    Question("get_weather", "我明天去成都，那里天气如何？", {"city": "成都"}),
    Question("get_weather", "深圳冷不冷？", {"city": "深圳"}),
    Question("convert", "Convert 100 USD to EUR.", {"amount": 100, "from": "USD", "to": "EUR"}),
    Question("convert", "How many JPY do I get for 250 GBP?", {"amount": 250, "from": "GBP", "to": "JPY"}),
    Question("convert", "I have 75.5 EUR, what is that in CNY?", {"amount": 75.5, "from": "EUR", "to": "CNY"}),
    Question("convert", "What are 20 dollars in euros?", {"amount": 20, "from": "USD", "to": "EUR"}),
    Question("convert", "Change 3000 yen into British pounds.", {"amount": 3000, "from": "JPY", "to": "GBP"}),
    Question("convert", "把 100 USD 换成 CNY。", {"amount": 100, "from": "USD", "to": "CNY"}),
    Question("convert", "500 CNY 等于多少 JPY？", {"amount": 500, "from": "CNY", "to": "JPY"}),
    Question("convert", "80 EUR 能换多少 GBP？", {"amount": 80, "from": "EUR", "to": "GBP"}),
    Question("convert", "请把200美元换成人民币。", {"amount": 200, "from": "USD", "to": "CNY"}),
    Question("convert", "1000日元是多少欧元？", {"amount": 1000, "from": "JPY", "to": "EUR"}),
    Question("order_status", "Where is my order 48213?", {"order_number": "48213"}),
    Question("order_status", "What is the status of order number A-1077?", {"order_number": "A-1077"}),
    Question("order_status", "Has order 990012 been shipped yet?", {"order_number": "990012"}),
    Question(
        "order_status", "I ordered a lamp last week, the number is 55031. Is it on its way?", {"order_number": "55031"}
    ),
    Question("order_status", "Please check order #7781 for me.", {"order_number": "7781"}),
    Question("order_status", "订单 48213 到哪里了？", {"order_number": "48213"}),
    Question("order_status", "请查一下订单号 A-1077 的状态。", {"order_number": "A-1077"}),
    Question("order_status", "我的订单990012发货了吗？", {"order_number": "990012"}),
    Question("order_status", "订单号是55031，什么时候能到？", {"order_number": "55031"}),
    Question("order_status", "帮我看看7781号订单。", {"order_number": "7781"}),
)

FRESH = (
    Question("get_weather", "Will it snow in Helsinki tomorrow?", {"city": "Helsinki"}),
    Question("get_weather", "Weather for San Francisco, please.", {"city": "San Francisco"}),
    Question("get_weather", "How hot is Cairo at the moment?", {"city": "Cairo"}),
    Question("get_weather", "广州今天热不热？", {"city": "广州"}),
    Question("get_weather", "西安的天气好吗？", {"city": "西安"}),
    Question("convert", "What is 40 GBP in USD?", {"amount": 40, "from": "GBP", "to": "USD"}),
    Question("convert", "Please turn 12.5 CNY into EUR.", {"amount": 12.5, "from": "CNY", "to": "EUR"}),
    Question("convert", "How many euros are 60 pounds?", {"amount": 60, "from": "GBP", "to": "EUR"}),
    Question("convert", "300 USD 换成 JPY 是多少？", {"amount": 300, "from": "USD", "to": "JPY"}),
    Question("convert", "50欧元等于多少美元？", {"amount": 50, "from": "EUR", "to": "USD"}),
    Question("order_status", "Order 31337: when will it come?", {"order_number": "31337"}),
    Question("order_status", "I am still waiting for order B-2210.", {"order_number": "B-2210"}),
    Question("order_status", "Track 660501 please.", {"order_number": "660501"}),
    Question("order_status", "订单31337怎么还没到？", {"order_number": "31337"}),
    Question("order_status", "想查B-2210的物流。", {"order_number": "B-2210"}),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask everything and print the tables; progress goes to standard error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_model", description=__doc__)
    parser.add_argument("--threads", type=int, default=None, help="threads of the engine")
    parser.add_argument(
        "--full", action="store_true", help="also measure the core's prompts, as larger models get them"
    )
    options = parser.parse_args(arguments)
    asyncio.run(_measure(options))
    return 0


async def _measure(options: argparse.Namespace) -> None:
    bilingual = tuple(replace(tool, description=f"{tool.description} {_CHINESE[tool.name]}") for tool in TOOLS)
    async with LocalLlamaModel(threads=options.threads) as model:
        await model.start()
        for name, questions in (("known", QUESTIONS), ("fresh", FRESH)):
            await _table(f"{name}; one tool, forced", model, None, questions)
            await _table(f"{name}; three tools, English descriptions", model, TOOLS, questions)
            await _table(f"{name}; three tools, descriptions in both languages", model, bilingual, questions)
    if options.full:
        async with LocalLlamaModel(threads=options.threads, prompts="full") as model:
            for name, questions in (("known", QUESTIONS), ("fresh", FRESH)):
                await _table(f"{name}; full prompts; one tool, forced", model, None, questions)
                await _table(f"{name}; full prompts; three tools, the model chooses", model, TOOLS, questions)


async def _table(
    title: str,
    model: LocalLlamaModel,
    offered: Sequence[ToolSpecification] | None,
    questions: Sequence[Question],
) -> None:
    chosen: Counter[str] = Counter()
    right: Counter[str] = Counter()
    began = time.perf_counter()
    for question in questions:
        print(f"{title}: {question.text}", file=sys.stderr)
        tool, given = await _ask(model, question, offered)
        chosen[question.tool] += tool == question.tool
        right[question.tool] += tool == question.tool and given == question.arguments
        if tool != question.tool or given != question.arguments:
            print(f"    {tool} {given}", file=sys.stderr)
    seconds = (time.perf_counter() - began) / len(questions)
    print(f"{title} ({seconds:.1f} s a question)")
    for spec in TOOLS:
        of = sum(question.tool == spec.name for question in questions)
        print(f"  {spec.name:<14} right tool {chosen[spec.name]:>2}/{of}   right arguments {right[spec.name]:>2}/{of}")
    total = len(questions)
    print(
        f"  {'all':<14} right tool {chosen.total():>2}/{total}   right arguments {right.total():>2}/{total}", flush=True
    )


async def _ask(
    model: LocalLlamaModel, question: Question, offered: Sequence[ToolSpecification] | None
) -> tuple[str | None, object]:
    tools = tuple(offered) if offered else tuple(tool for tool in TOOLS if tool.name == question.tool)
    parameters = ChatRequestParameters(tools=tools, tool_choice=ToolChoice.REQUIRED)
    try:
        response = await model.chat(ChatRequest(question.text, parameters))
    except ModelError as error:
        return None, error.code
    calls = response.ai_message.tool_execution_requests
    if not calls:
        return None, response.ai_message.text
    try:
        return calls[0].name, calls[0].arguments_as_map()
    except ToolArgumentsError:
        return calls[0].name, calls[0].arguments


if __name__ == "__main__":
    sys.exit(main())
