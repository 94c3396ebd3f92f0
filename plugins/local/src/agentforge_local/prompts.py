"""The short prompts for the smallest models: one example after another, and the question in the same form.

The wording was found by measuring (`benchmarks/local_model.py`): such models follow examples, not instructions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from agentforge.model import ToolSpecification

__all__ = ("PromptMessage", "answer_prompt", "call_prefix", "call_prompt", "facts_of")

PromptMessage: TypeAlias = dict[str, str]

_COUNTRY = ("get_population", "number of people in a country", ("- country: name of the country",))
_TICKET = (
    "buy_tickets",
    "buy train tickets",
    ("- count: how many", "- from: first station", "- to: last station"),
)
_CALLS: tuple[tuple[tuple[str, str, tuple[str, ...]], str, str], ...] = (
    (_COUNTRY, "How many people live in Japan?", '{"country": "Japan"}'),
    (_COUNTRY, "法国大不大？", '{"country": "法国"}'),
    (_COUNTRY, "我明年去意大利，那里人多吗？", '{"country": "意大利"}'),
    (_TICKET, "3 tickets to Rome, starting in Milan.", '{"count": 3, "from": "Milan", "to": "Rome"}'),
)
_ANSWERS = (
    ("How is the weather in Rome?", "18 degrees, rain", "The weather in Rome is: 18 degrees, rain."),
    ("How much is 5 GBP in USD?", "6.70 USD", "5 GBP in USD is: 6.70 USD."),
    ("东京今天天气怎么样？", "15度，多云", "东京今天天气：15度，多云。"),
    ("Is my parcel 31 on its way?", "delivered on Friday", "Your parcel 31 is: delivered on Friday."),
)


def call_prompt(tool: ToolSpecification, question: str) -> list[PromptMessage]:
    """Asks for the arguments of ``tool``; the reply begins with `call_prefix`."""
    messages: list[PromptMessage] = []
    for (name, description, parameters), asked, arguments in _CALLS:
        messages.append(_user(_call_form(name, description, parameters, asked)))
        messages.append(_assistant(f"{call_prefix(name)}{arguments}}}"))
    properties = tool.parameters.properties
    required = [name for name in properties if name in tool.parameters.required]
    lines = tuple(_parameter(name, properties[name]) for name in required)
    messages.append(_user(_call_form(tool.name, _line(tool.description), lines, question)))
    return [*messages, _assistant(call_prefix(tool.name))]


def call_prefix(name: str) -> str:
    """The beginning of a call that is certain.

    >>> call_prefix("now")
    '{"tool": "now", "arguments": '
    """
    return f'{{"tool": {json.dumps(name, ensure_ascii=False)}, "arguments": '


def answer_prompt(question: str, facts: str) -> list[PromptMessage]:
    """Asks for the answer in words, from what the tools found."""
    messages = [{"role": "system", "content": "Answer the question with the facts."}]
    for asked, found, answer in _ANSWERS:
        messages += [_user(f"Question: {asked}\nFacts: {found}"), _assistant(answer)]
    return [*messages, _user(f"Question: {question}\nFacts: {facts}")]


def facts_of(result: str) -> str:
    """A tool's result as one line that can stand in a sentence; objects become their members.

    >>> facts_of('{"temperature": 22, "sky": "clear"}')
    'temperature 22, sky clear'
    """
    try:
        value = json.loads(result)
    except ValueError:
        value = result
    return _line(_said(value)).rstrip(".。")


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(member)}" for name, member in value.items())
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _call_form(name: str, description: str, parameters: tuple[str, ...], question: str) -> str:
    return "\n".join([f"Tool {name}: {description}", *parameters, "", question])


def _parameter(name: str, schema: Any) -> str:
    given: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    choices = f" ({', '.join(map(str, given['enum']))})" if isinstance(given.get("enum"), (list, tuple)) else ""
    return f"- {name}: {_line(str(given.get('description') or name))}{choices}"


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _user(text: str) -> PromptMessage:
    return {"role": "user", "content": text}


def _assistant(text: str) -> PromptMessage:
    return {"role": "assistant", "content": text}
