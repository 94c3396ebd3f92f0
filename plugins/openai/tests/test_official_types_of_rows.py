"""What any row sends is what the official types take, but for the fields that the row itself declares: nothing else has
crept in, and nothing that every server knows has another form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ChatMessage, ChatRequest, ChatRequestParameters, UserMessage
from agentforge_openai import VENDORS, VendorRow
from plugins.openai.tests.support import FakeTransport, model_on
from plugins.openai.tests.test_official_types import PARAMETERS, adapter, histories

#: A model of each vendor that has the most forms of its own.
MODELS = {
    "cerebras": "zai-glm-4.7",
    "deepseek": "deepseek-v4-flash",
    "gemini": "gemini-3-pro",
    "groq": "qwen/qwen3-32b",
    "minimax": "MiniMax-M2",
    "moonshot": "kimi-k2.6",
    "zai": "glm-4.6",
    "zhipu": "glm-4.6",
}
#: Vendors that check what others leave to the user.
LET = {"unsupported": {"tool_description": "map", "tool_name": "map"}}


def without_own(body: dict[str, Any], row: VendorRow) -> dict[str, Any]:
    """The body without what the row declares, and with the usual words for its own."""
    own = {*row.sends, *({row.thinking.switch} if row.thinking is not None else ())}
    body = {key: value for key, value in body.items() if key not in own}
    if row.seed_field in body:
        body["seed"] = body.pop(row.seed_field)
    if body.get("tool_choice") == row.required_word:
        body["tool_choice"] = "required"
    body["messages"] = [_turn_without_own(turn, row) for turn in body["messages"]]
    return body


def _turn_without_own(turn: dict[str, Any], row: VendorRow) -> dict[str, Any]:
    own = {*row.replay_fields, row.prefix_field, "extra_content" if row.replay_extras else None}
    if row.names_results and turn["role"] == "tool":
        own.add("name")
    turn = {key: value for key, value in turn.items() if key not in own}
    if turn["role"] == "assistant" and row.call_extra:
        turn["tool_calls"] = [
            {key: value for key, value in call.items() if key not in row.call_extra}
            for call in turn.get("tool_calls", ())
        ] or None
        turn = {key: value for key, value in turn.items() if key != "tool_calls" or value}
    if isinstance(turn.get("content"), list):
        turn["content"] = [part for part in turn["content"] if part["type"] != row.file_form or row.file_form == "file"]
    return turn


def bodies(vendor: str, parameters: dict[str, Any], messages: list[ChatMessage]) -> list[dict[str, Any]]:
    """The body of this request, plain and streamed; none where the vendor cannot take it."""
    model = model_on(FakeTransport(), vendor, model=MODELS.get(vendor, "m"), profile_overrides=LET)
    try:
        return [
            json.loads(model.preview(ChatRequest(messages, ChatRequestParameters(**parameters)), stream=stream)[0])
            for stream in (False, True)
        ]
    except UnsupportedFeatureError:
        return []


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_request_fits_but_for_what_the_row_declares(vendor: str) -> None:
    """Each set of parameters with a question, and each history with tools."""
    row = VENDORS[vendor]
    asked: list[tuple[dict[str, Any], list[ChatMessage]]] = [
        (parameters, [UserMessage("q")]) for parameters in PARAMETERS.values()
    ]
    told = [
        (PARAMETERS["tools" if row.capabilities.tool_mode == "native" else "none"], history)
        for history in histories(vendor).values()
    ]
    sent = 0
    for parameters, messages in [*asked, *told]:
        for stream, body in enumerate(bodies(vendor, parameters, messages)):
            adapter(bool(stream)).validate_python(without_own(body, row))
            sent += 1
    assert sent > len(asked)


def test_what_is_not_declared_would_be_found() -> None:
    """The check above can fail: a field of one row is an unknown one to another."""
    [body, _] = bodies("mistral", PARAMETERS["sampling"], [UserMessage("q")])
    adapter(False).validate_python(without_own(body, VENDORS["mistral"]))
    with pytest.raises(ValueError, match="unknown key 'random_seed'"):
        adapter(False).validate_python(without_own(body, VENDORS["generic"]))
