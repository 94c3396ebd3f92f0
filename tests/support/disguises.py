"""A model behind an endpoint that can do everything, and disguises in which it cannot: small functions over what was
asked, in each wire form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentforge.testing import EndpointRequest

__all__ = ("Asked", "Turn", "asked_of", "disguised", "honest", "refusal")

Turn = Any
"""A turn of a scripted endpoint."""


@dataclass(frozen=True)
class Asked:
    """A request in no form's words. ``tools`` are schemas by name, ``strict`` the names of strict ones; ``mode`` is the
    choice, ``names`` those that it names; ``turns`` are the assistant's turns as they came back."""

    form: str
    question: str
    system: str
    tools: Mapping[str, Mapping[str, Any]]
    strict: frozenset[str]
    mode: str
    names: tuple[str, ...]
    parallel: bool
    answer: str
    streamed: bool
    thinks: bool
    has_result: bool
    has_image: bool
    seed: int | None
    turns: tuple[Mapping[str, Any], ...] = field(default=())


def refusal(message: str, status: int = 400) -> Turn:
    """An answer that refuses the request in these words."""
    return {"status": status, "body": {"error": {"message": message, "type": "invalid_request_error"}}}


def disguised(*disguises: Callable[[Asked, Turn], Turn]) -> Callable[[EndpointRequest], Turn]:
    """The turn of an endpoint that would answer honestly; each disguise gets what was asked and the answer so far."""

    def answer(request: EndpointRequest) -> Turn:
        asked = asked_of(request)
        # This API has no such parameter, and refuses what it does not know.
        unknown = asked.form == "responses" and asked.seed is not None
        turn = refusal("Unknown parameter: 'seed'.") if unknown else honest(asked)
        for disguise in disguises:
            turn = disguise(asked, turn)
        return turn

    return answer


def honest(asked: Asked) -> Turn:
    """What a model says that can everything and does as it is told."""
    thinking = {"thinking": "Let me see."} if asked.thinks else {}
    if asked.has_result:
        return {**thinking, "text": "17 degrees; the report is QX-4417."}
    calls = _calls(asked)
    if calls:
        return {**thinking, "calls": calls}
    return {**thinking, "text": _text(asked)}


def _calls(asked: Asked) -> list[dict[str, Any]]:
    offered = list(asked.tools)
    if not offered or asked.mode == "none":
        return []
    if asked.mode in ("tool", "allowed"):
        return [_call(asked, asked.names[0], "Oslo")]
    words = {"weather": "get_weather", "note": "send_note", "heating": "set_heating"}
    wanted = next((tool for word, tool in words.items() if word in asked.question and tool in offered), None)
    if wanted is None:
        return [_call(asked, offered[0], "Oslo")] if asked.mode == "required" else []
    cities = [city for city in ("Oslo", "Lima") if city in asked.question] or ["Oslo"]
    return [_call(asked, wanted, city) for city in (cities if asked.parallel else cities[:1])]


def _call(asked: Asked, name: str, city: str) -> dict[str, Any]:
    levels = asked.tools[name].get("properties", {}).get("level", {}).get("enum", ["low"])
    values = {
        "city": city,
        "to": "Mara",
        "text": asked.question.partition("words: ")[2] or "Hello, everybody.",
        "room": "kitchen",
        "level": levels[0] if name in asked.strict else "lukewarm",
    }
    return {"name": name, "args": {key: values[key] for key in asked.tools[name]["properties"]}}


def _text(asked: Asked) -> str:
    if "PELICAN" in asked.system:
        return "PELICAN"
    if asked.has_image:
        return "Red."
    if asked.seed is not None:
        return str(asked.seed * 7)
    return {"json": '{"city": "Oslo"}', "json_schema": '{"city": "Oslo", "size": "large"}'}.get(asked.answer, "ready")


# -- reading -----------------------------------------------------------------------------------------------------------


def asked_of(request: EndpointRequest) -> Asked:
    """What a request asks."""
    body = request.body
    if request.path.endswith("/messages"):
        return _of_messages(body)
    return _of_responses(body) if request.path.endswith("/responses") else _of_chat(body)


def _of_chat(body: Mapping[str, Any]) -> Asked:
    messages = body["messages"]
    functions = [tool["function"] for tool in body.get("tools", ())]
    mode, names = _choice(body.get("tool_choice", "auto"))
    return Asked(
        form="chat",
        question=_words(next(m["content"] for m in reversed(messages) if m["role"] == "user")),
        system=" ".join(_words(m["content"]) for m in messages if m["role"] in ("system", "developer")),
        tools={each["name"]: each["parameters"] for each in functions},
        strict=frozenset(each["name"] for each in functions if each.get("strict")),
        mode=mode,
        names=names,
        parallel=body.get("parallel_tool_calls") is not False,
        answer={"json_object": "json"}.get(kind := body.get("response_format", {}).get("type", "text"), kind),
        streamed=body.get("stream") is True,
        thinks=body.get("reasoning_effort") not in (None, "none"),
        has_result=messages[-1]["role"] == "tool",
        has_image="image_url" in str(messages[-1]["content"]),
        seed=body.get("seed"),
        turns=tuple(m for m in messages if m["role"] == "assistant"),
    )


def _of_responses(body: Mapping[str, Any]) -> Asked:
    items = body["input"]
    spoken = [item for item in items if item.get("role") == "user"]
    told = [item for item in items if item.get("role") in ("system", "developer")]
    tools = body.get("tools", ())
    mode, names = _choice(body.get("tool_choice", "auto"))
    kind = body.get("text", {}).get("format", {}).get("type", "text")
    return Asked(
        form="responses",
        question=_words(spoken[-1]["content"]),
        system=" ".join([body.get("instructions") or "", *(_words(item["content"]) for item in told)]),
        tools={each["name"]: each["parameters"] for each in tools},
        strict=frozenset(each["name"] for each in tools if each.get("strict")),
        mode=mode,
        names=names,
        parallel=body.get("parallel_tool_calls") is not False,
        answer={"json_object": "json"}.get(kind, kind),
        streamed=body.get("stream") is True,
        thinks=body.get("reasoning", {}).get("effort") not in (None, "none"),
        has_result=items[-1].get("type") == "function_call_output",
        has_image="input_image" in str(spoken[-1]["content"]),
        seed=body.get("seed"),
        turns=tuple(item for item in items if item.get("type") == "reasoning"),
    )


def _of_messages(body: Mapping[str, Any]) -> Asked:
    messages = body["messages"]
    last = messages[-1]["content"]
    tools = body.get("tools", ())
    choice = body.get("tool_choice", {"type": "auto"})
    texts = [_words(m["content"]) for m in messages if m["role"] == "user"]
    return Asked(
        form="messages",
        question=next(text for text in reversed(texts) if text),
        system=_words(body.get("system", "")),
        tools={each["name"]: each["input_schema"] for each in tools},
        strict=frozenset(each["name"] for each in tools if each.get("strict")),
        mode={"any": "required"}.get(choice["type"], choice["type"]),
        names=(choice["name"],) if "name" in choice else (),
        parallel=not choice.get("disable_parallel_tool_use"),
        answer=body.get("output_config", {}).get("format", {}).get("type", "text"),
        streamed=body.get("stream") is True,
        thinks="effort" in body.get("output_config", {}) or body.get("thinking", {}).get("type") == "enabled",
        has_result="tool_result" in str(last),
        has_image="'image'" in str(last),
        seed=None,
        turns=tuple(m for m in messages if m["role"] == "assistant"),
    )


def _choice(given: Any) -> tuple[str, tuple[str, ...]]:
    if isinstance(given, str):
        return given, ()
    names = tuple(re.findall(r"'name': '(\w+)'", str(given)))
    return ("allowed" if given["type"] == "allowed_tools" else "tool"), names


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content if isinstance(part.get("text"), str))
