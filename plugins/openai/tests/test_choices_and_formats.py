"""Every way to choose tools, and every form of an answer, at every row: what is sent, or which feature is refused. The
table of the guide on response formats is made of the second."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import InvalidRequestError, UnsupportedFeatureError
from agentforge.model import ChatRequest, ChatRequestParameters, ResponseFormat, ToolChoice, ToolSpecification
from plugins.openai.tests.support import WEATHER, exchange

TIME = ToolSpecification("get_time", "the time")
NAMES = ["get_weather", "get_time"]

#: Each row with a model of its own that does not think, and with one that does.
MODELS = {
    "openai": "gpt-x",
    "azure": "desk",
    "deepseek": "deepseek-chat",
    "deepseek, thinking": "deepseek-v4-flash",
    "dashscope": "qwen-plus",
    "dashscope, thinking": "qwen3-thinking",
    "ollama": "qwen3",
    "generic": "m",
}


def asked(who: str, policy: dict[str, str] | None = None, **parameters: Any) -> tuple[dict[str, Any], list[str]]:
    """The body, and the features that the response says were dropped."""
    overrides = {"unsupported": policy} if policy else None
    request = ChatRequest("q", ChatRequestParameters(**parameters))
    vendor = who.partition(",")[0]
    body, response = exchange(request, vendor, model=MODELS[who], profile_overrides=overrides)
    return body, [str(notice.details["feature"]) for notice in response.notices if notice.code == "feature_dropped"]


# -- tool_choice -----------------------------------------------------------------------------------

CHOICES: dict[str, Any] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "one": "get_time",
    "allowed": ToolChoice.allowed(["get_time"]),
    "allowed, required": ToolChoice.allowed(["get_time"], required=True),
}
ONE = {"type": "function", "function": {"name": "get_time"}}


def _allowed(mode: str) -> dict[str, Any]:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [ONE]}}


#: By choice, for the rows in their order: the value that is sent and the tools beside it, or the feature refused.
EVERY = {"openai", "azure", "generic", "deepseek", "deepseek, thinking", "dashscope", "dashscope, thinking", "ollama"}
THINKING = "forced_choice_with_thinking"
FORMS: dict[str, dict[str, tuple[Any, list[str]] | str]] = {
    "auto": dict.fromkeys(EVERY, ("auto", NAMES)),
    "none": {**dict.fromkeys(EVERY, ("none", NAMES)), "ollama": (None, [])},
    "required": {
        **dict.fromkeys(EVERY, ("required", NAMES)),
        "deepseek, thinking": THINKING,
        "dashscope": "tool_choice.required",
        "dashscope, thinking": "tool_choice.required",
        "ollama": "tool_choice.required",
    },
    "one": {
        **dict.fromkeys(EVERY, (ONE, NAMES)),
        "deepseek, thinking": THINKING,
        "dashscope, thinking": THINKING,
        "ollama": "tool_choice.tool",
    },
    "allowed": {
        **dict.fromkeys(EVERY, (None, ["get_time"])),
        "openai": (_allowed("auto"), NAMES),
        "azure": (_allowed("auto"), NAMES),
    },
    "allowed, required": {
        **dict.fromkeys(EVERY, ("required", ["get_time"])),
        "openai": (_allowed("required"), NAMES),
        "azure": (_allowed("required"), NAMES),
        "deepseek, thinking": THINKING,
        "dashscope": "tool_choice.required",
        "dashscope, thinking": "tool_choice.required",
        "ollama": "tool_choice.required",
    },
}


@pytest.mark.parametrize("who", list(MODELS))
@pytest.mark.parametrize("choice", list(CHOICES))
def test_every_choice_at_every_row_is_sent_narrowed_or_refused(choice: str, who: str) -> None:
    """What the model cannot do at all goes before what it cannot do while it thinks, so that the way out is one."""
    expected = FORMS[choice][who]
    parameters = {"tools": (WEATHER, TIME), "tool_choice": CHOICES[choice]}
    if isinstance(expected, str):
        with pytest.raises(UnsupportedFeatureError) as caught:
            asked(who, **parameters)
        assert caught.value.details["feature"] == expected
        assert caught.value.next_step
        body, dropped = asked(who, {expected.partition(".")[0]: "drop", **ALLOWED_MAPPED}, **parameters)
        assert "tool_choice" not in body
        assert dropped == [expected]
        return
    body, dropped = asked(who, **parameters)
    assert (body.get("tool_choice"), [tool["function"]["name"] for tool in body.get("tools", [])]) == expected
    assert dropped == []


#: The rows' own policy, which a policy for all of ``tool_choice`` would not replace.
ALLOWED_MAPPED = {"tool_choice.allowed": "map"}


@pytest.mark.parametrize("who", list(MODELS))
def test_a_list_made_of_fewer_tools_is_told_and_one_of_the_protocol_is_not(who: str) -> None:
    """It means the same, but a prompt that was cached with all tools does not count; the rule is one for all rows."""
    parameters = ChatRequestParameters(tools=(WEATHER, TIME), tool_choice=ToolChoice.allowed(["get_time"]))
    _, response = exchange(ChatRequest("q", parameters), who.partition(",")[0], model=MODELS[who])
    told = [] if who in ("openai", "azure") else [("tools_narrowed", {"offered": ["get_time"]})]
    assert [(notice.code, notice.details) for notice in response.notices] == told


def test_a_row_with_the_protocols_list_can_be_told_that_the_model_has_none() -> None:
    overrides = {"tool_choice": ["auto", "none", "required", "tool"], "unsupported": ALLOWED_MAPPED}
    parameters = ChatRequestParameters(tools=(WEATHER, TIME), tool_choice=ToolChoice.allowed(["get_time"]))
    body, _ = exchange(ChatRequest("q", parameters), "openai", model="gpt-x", profile_overrides=overrides)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["get_time"]
    more = {"tool_choice": ["auto", "allowed"]}
    body, _ = exchange(ChatRequest("q", parameters), "generic", profile_overrides=more)
    assert body["tool_choice"] == _allowed("auto")


def test_no_tool_allowed_means_no_tools_where_the_list_is_mapped() -> None:
    body, _ = asked("generic", tools=(WEATHER,), tool_choice=ToolChoice.allowed([]))
    assert "tools" not in body and "tool_choice" not in body


# -- response_format -------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
ANSWERS: dict[str, ResponseFormat | None] = {
    "text": ResponseFormat.TEXT,
    "JSON": ResponseFormat.JSON,
    "schema": ResponseFormat.json_schema(SCHEMA),
}
JSON_MODE = {"type": "json_object"}
BY_SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
NO_SCHEMA, THINKS, TOOLS = (
    "response_format.json_schema",
    "response_format_with_thinking",
    "response_format_with_tools",
)

#: By row: JSON mode and a schema without tools, and both beside tools. Text is sent as nothing at all.
ANSWERED: dict[str, tuple[Any, Any, Any, Any]] = {
    "openai": (JSON_MODE, BY_SCHEMA, JSON_MODE, BY_SCHEMA),
    "azure": (JSON_MODE, BY_SCHEMA, JSON_MODE, BY_SCHEMA),
    "deepseek": (JSON_MODE, NO_SCHEMA, JSON_MODE, NO_SCHEMA),
    "deepseek, thinking": (JSON_MODE, NO_SCHEMA, JSON_MODE, NO_SCHEMA),
    "dashscope": (JSON_MODE, NO_SCHEMA, JSON_MODE, NO_SCHEMA),
    "dashscope, thinking": (THINKS, NO_SCHEMA, THINKS, NO_SCHEMA),
    "ollama": (JSON_MODE, BY_SCHEMA, TOOLS, TOOLS),
    "generic": (JSON_MODE, BY_SCHEMA, JSON_MODE, BY_SCHEMA),
}


@pytest.mark.parametrize("who", list(MODELS))
@pytest.mark.parametrize("with_tools", [False, True], ids=["alone", "beside tools"])
@pytest.mark.parametrize("form", ["text", "JSON", "schema"])
def test_every_form_of_an_answer_is_sent_or_refused(form: str, with_tools: bool, who: str) -> None:
    """What is refused can be let go, which the response says."""
    column = ["JSON", "schema"].index(form) + 2 * with_tools if form != "text" else None
    expected = ANSWERED[who][column] if column is not None else None
    parameters: dict[str, Any] = {"response_format": ANSWERS[form], "tools": (TIME,) if with_tools else ()}
    if isinstance(expected, str):
        with pytest.raises(UnsupportedFeatureError) as caught:
            asked(who, **parameters)
        assert caught.value.details["feature"] == expected
        assert caught.value.next_step
        body, dropped = asked(who, {expected: "drop"}, **parameters)
        assert "response_format" not in body
        assert dropped == [expected]
        return
    body, dropped = asked(who, **parameters)
    assert body.get("response_format") == expected
    assert dropped == []


@pytest.mark.parametrize("who", ["ollama", "dashscope, thinking"])
def test_a_form_that_is_refused_is_taken_where_its_reason_is_gone(who: str) -> None:
    """No tool may be called, or thinking is off for this request."""
    ways: dict[str, dict[str, Any]] = {
        "ollama": {"tools": (TIME,), "tool_choice": "none"},
        "dashscope, thinking": {"reasoning_effort": "none"},
    }
    body, dropped = asked(who, response_format=ResponseFormat.JSON, **ways[who])
    assert body["response_format"] == JSON_MODE
    assert dropped == []


def test_json_mode_without_the_word_is_told_how_to_go_on() -> None:
    """Servers look for it in the messages, and say so in nearly the same words."""
    for words in ("'messages' must contain", "Prompt must contain"):
        said = f"{words} the word 'json' in some form, to use 'response_format' of type 'json_object'."
        answer = (400, {"error": {"message": said, "type": "invalid_request_error", "param": "messages"}})
        with pytest.raises(InvalidRequestError) as caught:
            exchange(ChatRequest("q", ChatRequestParameters(response_format=ResponseFormat.JSON)), "openai", answer)
        assert "JSON mode wants the word" in (caught.value.next_step or "")


# -- the guide -------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "response-formats.md"


def test_the_table_of_the_guide_is_what_is_sent() -> None:
    lines = [line for line in GUIDE.read_text("utf-8").splitlines() if re.match(r"\| Chat Completions, `", line)]
    found = {}
    for line in lines:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        vendor = name.partition("`")[2].partition("`")[0]
        found[vendor + (", thinking" if "thinking" in name else "")] = cells
    assert found == {
        who: ["nothing", *("refused" if isinstance(form, str) else f"`{form['type']}`" for form in forms)]
        for who, forms in ANSWERED.items()
    }
