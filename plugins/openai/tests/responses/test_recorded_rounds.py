"""Each recorded second round, asked again by us: our own reading of the answer and the recorded results make a request
that is equal to the recorded one, but for what is listed here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    SystemMessage,
    ToolChoice,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge_openai import OpenAiResponsesModel
from agentforge_openai.responses.response import decode_response
from agentforge_openai.responses.shape import state_owner
from plugins.openai.tests.responses.support import answering, streamed

Body = dict[str, Any]

#: How each recorded provider is configured.
SETTINGS: dict[str, dict[str, Any]] = {
    "openai": {"vendor": "openai"},
    "azure": {"vendor": "azure", "base_url": "https://desk.example"},
    # The recorder sends strict at the plain address, where it has no effect.
    "deepseek": {"vendor": "deepseek", "profile_overrides": {"strict_tools": True}},
    "xai": {"vendor": "xai"},
}


@dataclass(frozen=True)
class Round:
    """A recorded request that goes on from an answer, and ours."""

    name: str
    recorded: Body
    ours: Body


def rounds(shared: Path) -> Iterator[Round]:
    """Every recorded request after the first of a conversation."""
    for file in sorted((shared / "cassettes").glob("*/responses-*.json")):
        interactions = json.loads(file.read_text())["interactions"]
        bodies = [one["request"]["body"] for one in interactions if one["request"]]
        if len(bodies) < 2 or interactions[0]["response"]["status"] >= 400:
            continue
        chained = any("previous_response_id" in body for body in bodies)
        settings = dict(SETTINGS[file.parent.name])
        if chained:
            settings["state"] = "previous_response"
        model = OpenAiResponsesModel(model=bodies[0]["model"], api_key="k", **settings)
        owner = state_owner(model._row, model.base_url)
        messages = list(opening(bodies[0]))
        for position, body in enumerate(bodies[1:], 1):
            before = [] if "previous_response_id" in body else bodies[position - 1]["input"]
            assert body["input"][: len(before)] == before, file.name
            messages.append(reading(interactions[position - 1]["response"]["body"], owner))
            messages += new_messages(body["input"][len(before) :], messages[-1])
            request = ChatRequest(messages, parameters_of(body))
            made, _ = model.preview(request, stream=bool(body.get("stream")))
            yield Round(f"{file.parent.name}/{file.stem}#{position}", body, json.loads(made))


def opening(body: Body) -> Iterator[ChatMessage]:
    """The messages before the first answer."""
    if body.get("instructions"):
        yield SystemMessage(body["instructions"])
    for item in body["input"]:
        yield (SystemMessage if item["role"] == "system" else UserMessage)(text_of(item["content"]))


def reading(answer: Any, owner: str) -> AiMessage:
    """An answer as we read it."""
    if isinstance(answer, str):
        return streamed(answer.encode(), provider=owner).ai_message
    return decode_response(json.dumps(answer).encode(), answering(provider=owner)).ai_message


def new_messages(items: list[Body], turn: ChatMessage) -> Iterator[ChatMessage]:
    """Results of the turn's calls, in order, and what the user says next."""
    assert isinstance(turn, AiMessage)
    calls = iter(turn.tool_execution_requests)
    for item in items:
        if item.get("type") == "function_call_output":
            call = next(calls)
            yield ToolExecutionResultMessage(call.id, call.name, item["output"])
        elif item.get("role") == "user":
            yield UserMessage(text_of(item["content"]))


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def parameters_of(body: Body) -> ChatRequestParameters:
    """The recorded tools and choice as ours; tools with settings of the server's own go through as they are."""
    tools, custom = [], {}
    if any(tool["type"] != "function" or "defer_loading" in tool for tool in body["tools"]):
        custom["tools"] = body["tools"]
    else:
        tools = [
            ToolSpecification(
                tool["name"], tool.get("description"), ToolParameters(tool["parameters"]), tool["strict"] or None
            )
            for tool in body["tools"]
        ]
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        names = [tool["name"] for tool in choice["tools"]]
        choice = ToolChoice.allowed(names, required=choice["mode"] == "required")
    return ChatRequestParameters(tools=tools, tool_choice=choice if tools else None, custom_parameters=custom)


# -- what may differ, and why --------------------------------------------------------------------------------------


def no_false_stream(body: Body) -> None:
    if body.get("stream") is False:
        del body["stream"]


def no_store(body: Body) -> None:
    body.pop("store", None)


def no_parallel_flag(body: Body) -> None:
    body.pop("parallel_tool_calls", None)


def no_auto_choice(body: Body) -> None:
    if body.get("tool_choice") == "auto":
        del body["tool_choice"]


def no_null_descriptions(body: Body) -> None:
    for tool in body["tools"]:
        if tool.get("description", "") is None:
            del tool["description"]


def no_instructions_beside_an_id(body: Body) -> None:
    if "previous_response_id" in body:
        body.pop("instructions", None)


def texts_as_texts(body: Body) -> None:
    for item in body["input"]:
        parts = item.get("content")
        if item.get("type") != "reasoning" and isinstance(parts, list) and len(parts) == 1:
            item["content"] = parts[0]["text"]


def no_ids_and_status(body: Body) -> None:
    for item in body["input"]:
        for name in ("id", "status"):
            item.pop(name, None)


def no_types_of_messages(body: Body) -> None:
    for item in body["input"]:
        if item.get("type") == "message":
            del item["type"]


def no_empty_reasoning_fields(body: Body) -> None:
    for item in body["input"]:
        for name in ("content", "encrypted_content"):
            if item.get("type") == "reasoning" and not item.get(name):
                item.pop(name, None)


def no_searches_of_the_server(body: Body) -> None:
    body["input"] = [item for item in body["input"] if not str(item.get("type")).startswith("tool_search")]


def plain_quotes(body: Body) -> None:
    for item in body["input"]:
        if isinstance(item.get("content"), str):
            for sign, plain in (("“", '"'), ("”", '"'), ("’", "'")):
                item["content"] = item["content"].replace(sign, plain)


def calls_by_their_order(body: Body) -> None:
    order: dict[str, str] = {}
    for item in body["input"]:
        if "call_id" in item:
            item["call_id"] = order.setdefault(item["call_id"], f"call {len(order)}")


#: What is done to both requests before they are compared, and why they may differ there.
NORMALISATIONS: list[tuple[Callable[[Body], None], str]] = [
    (no_false_stream, "a plain request need not say that it is none"),
    (no_store, "most recorders leave the default, which keeps the response; ours says what it wants"),
    (no_parallel_flag, "ours asks strict tools of OpenAI without parallel calls; no recorder here sets the flag"),
    (no_auto_choice, "beside tools of the server only, ours leaves the default unsaid"),
    (no_null_descriptions, "no description is no key in ours"),
    (
        no_instructions_beside_an_id,
        "one recorder leaves them out beside the id; ours sends them, as none are inherited",
    ),
    (texts_as_texts, "one text may be a text or a list of one part, which may have empty lists beside it"),
    (no_ids_and_status, "some recorders drop ids and status of items; that ours keeps them is tested beside this"),
    (no_types_of_messages, "a message need not say that it is one"),
    (no_empty_reasoning_fields, "some recorders drop empty fields, one adds them"),
    (no_searches_of_the_server, "the recorder rewrites the items of the server's own search; ours keeps them"),
    (plain_quotes, "one recorder's own text has typewriter quotes where the answer has others"),
    (calls_by_their_order, "one recorder links results by the id of the item; the pairing is what counts"),
]


def normal(body: Body) -> Body:
    made: Body = json.loads(json.dumps(body))
    for change, _ in NORMALISATIONS:
        change(made)
    return made


def test_each_second_round_is_the_recorded_one(shared: Path) -> None:
    count = 0
    for one in rounds(shared):
        assert normal(one.ours) == normal(one.recorded), one.name
        count += 1
    assert count == 18


def test_every_normalisation_is_needed(shared: Path) -> None:
    """One that is not would hide what it was written for."""
    found = list(rounds(shared))
    for left_out, reason in NORMALISATIONS:

        def rest(body: Body, left_out: Callable[[Body], None] = left_out) -> Body:
            made: Body = json.loads(json.dumps(body))
            for change, _ in NORMALISATIONS:
                if change is not left_out:
                    change(made)
            return made

        assert any(rest(one.ours) != rest(one.recorded) for one in found), reason


def test_items_that_were_answers_are_in_our_request_as_they_came(shared: Path) -> None:
    """With ids, status, phase and encrypted content, in the place where they were made."""
    count = 0
    for file in sorted((shared / "cassettes").glob("*/responses-*.json")):
        for interaction in json.loads(file.read_text())["interactions"]:
            answer = interaction["response"]["body"]
            if not isinstance(answer, dict) or "output" not in answer:
                continue
            settings = SETTINGS[file.parent.name]
            model = OpenAiResponsesModel(model=answer["model"], api_key="k", **settings)
            turn = reading(answer, state_owner(model._row, model.base_url))
            results = [ToolExecutionResultMessage(call.id, call.name, "x") for call in turn.tool_execution_requests]
            body, _ = model.preview(ChatRequest([UserMessage("Hello"), turn, *results, UserMessage("Go on")]))
            items = json.loads(body)["input"]
            assert items[1 : 1 + len(answer["output"])] == answer["output"], file.name
            count += 1
    assert count >= 24
