"""A turn of the model to its items, in their order: those of this provider as they came, others anew from their parts.

Items that refer to each other by id are a whole: where reasoning has to stay behind, the items around it go without
ids, as a server that finds an id of its own asks for the reasoning that it was made with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ToolArgumentsError
from agentforge.model import AiMessage, Notice, TextContent, ThinkingContent, ToolExecutionRequest
from agentforge.provider import call_id_of
from agentforge_openai.responses.items import CALLS
from agentforge_openai.responses.shape import ItemShape
from agentforge_openai.responses.state import INPUT, TEXT_KEYS, own_state, response_id_of
from agentforge_openai.wire.turns import sent_arguments

__all__ = ("assistant_items",)

_NOT_TAKEN = "by its name the model takes none; encrypted_reasoning says otherwise"
_NOT_WHOLE = "it came without its content; for a model that reasons set encrypted_reasoning"


def assistant_items(message: AiMessage, shape: ItemShape, notices: list[Notice]) -> list[dict[str, Any]]:
    """The items; what had to be left out is appended to ``notices``."""
    items: list[dict[str, Any]] = []
    is_kept = response_id_of(message.provider_state, shape.provider) is not None
    with_ids, is_whole = shape.item_ids, True
    for part in message.contents:
        if isinstance(part, ToolExecutionRequest):
            state = own_state(part.provider_state, shape.provider)
            items.append(_call(part, state, shape))
            with_ids = with_ids and not state.get("wrapped")
        elif isinstance(part, TextContent):
            _add_text(part, items, shape)
        elif isinstance(part, ThinkingContent):
            item = own_state(part.provider_state, shape.provider).get("item")
            if not isinstance(item, Mapping):
                continue
            if item.get("type") != "reasoning" or (shape.reasoning and (is_kept or _speaks_for_itself(item))):
                items.append(dict(item))
            else:
                is_whole = False
                notices.append(_left_out(shape, _NOT_WHOLE if shape.reasoning else _NOT_TAKEN))
        else:
            notices.append(
                Notice(
                    "assistant_media_left_out",
                    f"{type(part).__name__} of an earlier reply cannot be sent back to {shape.vendor}; it was left out",
                )
            )
    while items and items[-1].get("type") == "reasoning":
        items.pop()  # what it led to never came, and alone it is refused
        notices.append(_left_out(shape, "nothing follows it"))
    if not is_whole:
        items = [item for item in items if _stands_alone(item, shape, notices)]
    if not (with_ids and is_whole):
        items = [_without_id(item) for item in items]
    if shape.calls_together:
        items.sort(key=lambda item: item.get("type") in CALLS)
    return items


def _left_out(shape: ItemShape, why: str) -> Notice:
    return Notice(
        "reasoning_left_out",
        f"reasoning of an earlier reply was not sent back to {shape.vendor} model {shape.model!r}: {why}",
        {"vendor": shape.vendor, "model": shape.model},
    )


def _speaks_for_itself(item: Mapping[str, Any]) -> bool:
    """Whether the reasoning is in the item, so that the server need not look it up."""
    return bool(item.get("encrypted_content") or item.get("content"))


def _stands_alone(item: Mapping[str, Any], shape: ItemShape, notices: list[Notice]) -> bool:
    """Whether the item can go without the reasoning that it was made with: an item of a server's tool cannot."""
    kind = item.get("type")
    if kind in (None, "message", "reasoning") or kind in CALLS:
        return True
    notices.append(
        Notice(
            "server_item_left_out",
            f"an item {kind!r} of an earlier reply was not sent back to {shape.vendor}, as it needs its reasoning",
            {"vendor": shape.vendor, "model": shape.model, "item": str(kind)},
        )
    )
    return False


def _add_text(part: TextContent, items: list[dict[str, Any]], shape: ItemShape) -> None:
    state = own_state(part.provider_state, shape.provider)
    around, rest = state.get("message"), state.get("part")
    last = items[-1] if items else {}
    if not isinstance(around, Mapping) or not isinstance(rest, Mapping):
        if last.get("role") == "assistant" and isinstance(last.get("content"), str):
            last["content"] += part.text
        elif part.text:
            items.append({"role": "assistant", "content": part.text})
        return
    content = {**rest, TEXT_KEYS.get(str(rest.get("type")), "text"): part.text}
    if isinstance(last.get("content"), list) and around == {k: v for k, v in last.items() if k != "content"}:
        last["content"].append(content)
    else:
        items.append({**around, "content": [content]})


def _without_id(item: dict[str, Any]) -> dict[str, Any]:
    """The item as if it were new. A message without an id has another form, whose content is a text."""
    if item.get("type") == "message" and isinstance(item.get("content"), list):
        text = "".join(str(part.get(TEXT_KEYS.get(str(part.get("type")), "text")) or "") for part in item["content"])
        phase = {"phase": item["phase"]} if item.get("phase") else {}
        return {"role": "assistant", "content": text, **phase}
    return {key: value for key, value in item.items() if key != "id"}


def _call(call: ToolExecutionRequest, state: Mapping[str, Any], shape: ItemShape) -> dict[str, Any]:
    item = state.get("item")
    wire: dict[str, Any] = dict(item) if isinstance(item, Mapping) else {"type": "function_call"}
    wire["call_id"] = call_id_of(call.id, shape.call_id_pattern)
    wire["name"] = shape.wire_name(call.name)
    if wire["type"] == "custom_tool_call":
        wire["input"] = _free_text(call)
        wire.pop("status", None)  # the one item that has it in answers only
    else:
        wire["arguments"] = sent_arguments(call)
    return wire


def _free_text(call: ToolExecutionRequest) -> str:
    try:
        value = call.arguments_as_map()[INPUT]
    except (ToolArgumentsError, KeyError):
        return call.arguments
    return value if isinstance(value, str) else call.arguments
