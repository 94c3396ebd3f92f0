"""All of a request body but its conversation, made once for one set of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import Notice, ResponseFormat, ToolChoice
from agentforge.provider import Endpoint, Settled, ToolBlock, alias_of, dump_bytes
from agentforge_openai.profile import VendorRow
from agentforge_openai.responses.tools import encode_tools
from agentforge_openai.wire.head import parallel_flag, schema_format

__all__ = ("ENCRYPTED", "body_fields", "tool_list")

#: What is asked for so that reasoning can go back to a server that keeps nothing.
ENCRYPTED = "reasoning.encrypted_content"
# Objects in which a custom parameter adds to what we set.
_SHARED = ("reasoning", "text")


def body_fields(
    settled: Settled, endpoint: Endpoint[VendorRow], tools: ToolBlock, notices: list[Notice], **own: object
) -> dict[str, object]:
    """The fields but input and tools; ``own`` are those of the model's settings. Custom parameters win, but add to
    lists and objects that both set."""
    parameters = settled.parameters
    form = _text_format(parameters.response_format, endpoint, notices)
    effort = parameters.reasoning_effort if settled.sends_effort else None
    values: dict[str, object] = {
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "max_output_tokens": parameters.max_output_tokens,
        "seed": parameters.seed,
        "tool_choice": _tool_choice(parameters.tool_choice, endpoint.profile.tool_name_pattern),
        "parallel_tool_calls": parallel_flag(settled, endpoint, strict=tools.strict, notices=notices),
        **own,
        "reasoning": {**({"effort": effort} if effort else {}), **_object(own.get("reasoning"))} or None,
        "text": {"format": form} if form is not None else None,
        **settled.extra,
    }
    body = {name: value for name, value in values.items() if value is not None}
    for name, value in parameters.custom_parameters.items():
        before = body.get(name)
        if name in _SHARED and isinstance(before, dict) and isinstance(value, Mapping):
            value = {**before, **value}
        elif name == "include" and isinstance(before, list) and isinstance(value, (list, tuple)):
            value = list(dict.fromkeys([*before, *value]))
        body[name] = value
    for name in ("tools", "model"):
        body.pop(name, None)
    return body


def tool_list(settled: Settled, endpoint: Endpoint[VendorRow], tools: ToolBlock) -> bytes:
    """Our tools, then those of custom parameters as they are. One of these with the name of ours (such as a custom tool
    with a grammar) stands in its place, so that the call comes in that form and our tool runs."""
    more = settled.parameters.custom_parameters.get("tools")
    offered = settled.parameters.tools
    if not isinstance(more, (list, tuple)) or not more:
        return tools.body if offered else b""
    named = {one.get("name") for one in more if isinstance(one, Mapping)}
    pattern = endpoint.profile.tool_name_pattern
    kept = tuple(tool for tool in offered if alias_of(tool.name, pattern) not in named)
    block = tools.body if len(kept) == len(offered) else encode_tools(kept, endpoint).body
    theirs = dump_bytes(list(more))
    return block[:-1] + b"," + theirs[1:] if kept else theirs


def _tool_choice(choice: ToolChoice | None, pattern: str) -> object:
    if choice is None:
        return None
    if choice.mode in ("auto", "none", "required"):
        return choice.mode
    named = [{"type": "function", "name": alias_of(name, pattern)} for name in choice.names]
    if choice.mode == "tool":
        return named[0]
    return {"type": "allowed_tools", "mode": "required" if choice.required else "auto", "tools": named}


def _text_format(
    wanted: ResponseFormat | None, endpoint: Endpoint[VendorRow], notices: list[Notice]
) -> dict[str, object] | None:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json":
        return {"type": "json_object"}
    return {"type": "json_schema", **schema_format(wanted, endpoint, notices)}


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
