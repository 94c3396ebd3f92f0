"""Chooses a tool by the words of the question, for models that cannot choose one themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentforge.model import ToolSpecification

__all__ = ("fitting_tool",)

_WORD = re.compile(r"[a-z0-9]+")
_SIGNS = re.compile(r"[\u2e80-\u9fff]+")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are be by can do does for from get has have how i in is it its me my number of on or please set tell "
        "that the there to want was what when where which who will with you your",
    )
)


def fitting_tool(tools: Sequence[ToolSpecification], question: str) -> ToolSpecification | None:
    """The tool whose name, description and parameters share most words with the question; ``None`` when no tool
    shares a word or two share equally many. Chinese is compared by pairs of signs.

    >>> tools = [ToolSpecification("get_weather", "weather of a city 城市天气"), ToolSpecification("get_order", "订单")]
    >>> [tool and tool.name for tool in (fitting_tool(tools, text) for text in ("杭州天气？", "My orders?", "Hello"))]
    ['get_weather', 'get_order', None]
    """
    asked = _words(question)
    scores = sorted(((len(asked & _words(_text(tool))), index) for index, tool in enumerate(tools)), reverse=True)
    if not scores or scores[0][0] == 0 or (len(scores) > 1 and scores[0][0] == scores[1][0]):
        return None
    return tools[scores[0][1]]


def _text(tool: ToolSpecification) -> str:
    described = [
        f"{name} {schema.get('description', '')} {' '.join(map(str, schema.get('enum', ())))}"
        for name, schema in tool.parameters.properties.items()
        if isinstance(schema, dict)
    ]
    return " ".join([tool.name.replace("_", " "), tool.description or "", *described])


def _words(text: str) -> set[str]:
    lowered = text.lower()
    words = {_stem(word) for word in _WORD.findall(lowered) if word not in _COMMON}
    for run in _SIGNS.findall(lowered):
        words.update(run[at : at + 2] for at in range(len(run) - 1))
    return words


def _stem(word: str) -> str:
    """The word without the endings that differ most between a question and a description."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
