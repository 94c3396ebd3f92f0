"""The table of the guide on response formats, for wires that have no other test of it: what it says is what is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ChatRequest, ChatRequestParameters, ResponseFormat, ToolParameters, ToolSpecification
from agentforge.provider import WireModel
from agentforge_dashscope import DashScopeChatModel
from agentforge_gemini import GeminiChatModel
from agentforge_ollama import OllamaChatModel

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "response-formats.md"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
LOOK_UP = ToolSpecification("look_up", "Looks it up.", ToolParameters(SCHEMA))
JSON, HELD = ResponseFormat.JSON, ResponseFormat("json_schema", schema=SCHEMA)
ASKED: tuple[tuple[ResponseFormat, tuple[ToolSpecification, ...]], ...] = (
    (ResponseFormat.TEXT, ()),
    (JSON, ()),
    (HELD, ()),
    (JSON, (LOOK_UP,)),
    (HELD, (LOOK_UP,)),
)


def gemini(body: Mapping[str, Any]) -> str:
    """The field of this API that says the form."""
    form = body.get("generationConfig", {})
    return next((f"`{name}`" for name in ("responseJsonSchema", "responseMimeType") if name in form), "nothing")


def ollama(body: Mapping[str, Any]) -> str:
    """A word, or a schema in its place."""
    form = body.get("format")
    return "the schema" if isinstance(form, dict) else f"`{form}`" if form else "nothing"


def dashscope(body: Mapping[str, Any]) -> str:
    """A type, as in the form of Chat Completions."""
    form = body["parameters"].get("response_format")
    return f"`{form['type']}`" if form else "nothing"


#: A row's name in the table, its models, what reads the body, and what else is asked.
ROWS = {
    "Gemini: 3 and newer": ([GeminiChatModel(model="gemini-3.5-flash", api_key="k")], gemini, {}),
    "Gemini: 2.5": ([GeminiChatModel(model="gemini-2.5-flash", api_key="k")], gemini, {}),
    "Ollama, `ollama` and `generic`": (
        [OllamaChatModel(model="m", vendor="ollama"), OllamaChatModel(model="m", base_url="http://llm.example")],
        ollama,
        {},
    ),
    "Ollama, `ollama-cloud`": ([OllamaChatModel(model="m", vendor="ollama-cloud", api_key="k")], ollama, {}),
    "DashScope, every row": ([DashScopeChatModel(model="qwen-plus", api_key="k")], dashscope, {}),
    "DashScope, every row while thinking": (
        [DashScopeChatModel(model="qwen-plus", api_key="k")],
        dashscope,
        {"reasoning_effort": "high"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_table_says_what_is_sent(name: str) -> None:
    """Cell by cell: what goes into the body, or that it is refused."""
    models, read, further = ROWS[name]
    [line] = [line for line in GUIDE.read_text("utf-8").splitlines() if line.startswith(f"| {name} |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")][1:]

    for model in models:
        assert [sent(model, read, form, tools, further) for form, tools in ASKED] == cells


def sent(model: WireModel[Any], read: Any, form: ResponseFormat, tools: Any, further: Mapping[str, Any]) -> str:
    """What a request for this form of answer holds."""
    parameters = ChatRequestParameters(response_format=form, tools=tools, **further)
    try:
        body, _ = model.preview(ChatRequest("Answer in JSON.", parameters))
    except UnsupportedFeatureError:
        return "refused"
    return str(read(json.loads(body)))
