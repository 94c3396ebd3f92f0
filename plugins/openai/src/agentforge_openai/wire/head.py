"""All of a request body but its messages, made once for one set of parameters; and the fields that the Responses form
writes alike."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentforge.model import Notice, ResponseFormat, ToolChoice
from agentforge.provider import (
    Endpoint,
    Head,
    Settled,
    ToolBlock,
    alias_of,
    complete_schema,
    dump_bytes,
    held_schema,
    parallel_beside_strict,
)
from agentforge_openai.profile import VendorRow
from agentforge_openai.wire.shape import ChatTurnShape
from agentforge_openai.wire.tools import written_out

__all__ = ("FORMAT_NAMES", "encode_head", "joined_fields", "parallel_flag", "schema_format")

#: What the name of a response format must match; others are sent under one that does.
FORMAT_NAMES = r"^[a-zA-Z0-9_-]{1,64}$"


def encode_head(
    settled: Settled, endpoint: Endpoint[VendorRow], tools: ToolBlock, *, with_tools: bool
) -> Head[ChatTurnShape]:
    """The head for parameters that are settled already."""
    notices = [*settled.notices, *tools.notices]
    body = _fields(settled, endpoint, tools, notices)
    custom = dict(settled.parameters.custom_parameters)
    block = tools.body if settled.parameters.tools else b""
    more = custom.pop("tools", None)
    if isinstance(more, (list, tuple)) and more:
        # Tools of the vendor's own stand beside ours.
        block = block[:-1] + b"," + dump_bytes(list(more))[1:] if block else dump_bytes(list(more))
    body.update(custom)
    row = endpoint.row
    if row.sends and (row.sends_to is None or re.search(row.sends_to, endpoint.model)):
        body = {**row.sends, **body}
    model = body.pop("model")
    rest = joined_fields(body, block)
    stream = b',"stream":true'
    if row.stream_usage:
        stream += b',"stream_options":{"include_usage":true}'
    return Head(
        opening=b'{"model":' + dump_bytes(model) + b',"messages":[',
        plain=b"]" + rest + b"}",
        streamed=b"]" + rest + stream + b"}",
        shape=ChatTurnShape.of(endpoint, with_tools=with_tools, thinking=settled.thinking),
        tools=tools,
        notices=tuple(notices),
        base_url=settled.base_url,
        model=endpoint.model,
    )


def _fields(
    settled: Settled, endpoint: Endpoint[VendorRow], tools: ToolBlock, notices: list[Notice]
) -> dict[str, object]:
    parameters = settled.parameters
    values: dict[str, object] = {
        "model": endpoint.model,
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        endpoint.row.max_tokens_field: parameters.max_output_tokens,
        "stop": list(parameters.stop) if parameters.stop else None,
        endpoint.row.seed_field: parameters.seed,
        "reasoning_effort": parameters.reasoning_effort if settled.sends_effort else None,
        "response_format": _response_format(parameters.response_format, endpoint, notices),
        "tool_choice": _tool_choice(parameters.tool_choice, endpoint),
        "parallel_tool_calls": parallel_flag(settled, endpoint, strict=tools.strict, notices=notices),
        **settled.extra,
    }
    return {name: value for name, value in values.items() if value is not None}


def _tool_choice(choice: ToolChoice | None, endpoint: Endpoint[VendorRow]) -> object:
    if choice is None:
        return None
    if choice.mode in ("auto", "none", "required"):
        return endpoint.row.required_word if choice.mode == "required" else choice.mode
    pattern = endpoint.profile.tool_name_pattern
    named = [{"type": "function", "function": {"name": alias_of(name, pattern)}} for name in choice.names]
    if choice.mode == "tool":
        return named[0]
    mode = "required" if choice.required else "auto"
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}


def _response_format(wanted: ResponseFormat | None, endpoint: Endpoint[VendorRow], notices: list[Notice]) -> object:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": schema_format(wanted, endpoint, notices)}


def joined_fields(body: Mapping[str, object], tools: bytes) -> bytes:
    """The fields and the encoded tools (may be empty) as they stand behind another field."""
    rest = b"".join(b"," + dump_bytes(name) + b":" + dump_bytes(value) for name, value in body.items())
    return rest + b',"tools":' + tools if tools else rest


def parallel_flag(
    settled: Settled, endpoint: Endpoint[VendorRow], *, strict: bool, notices: list[Notice]
) -> bool | None:
    """The flag for parallel calls; ``strict``: a tool goes out strict. Raises `UnsupportedFeatureError`."""
    refused_by = endpoint.row.refuses_parallel_flag
    if refused_by is not None and re.search(refused_by, endpoint.model):
        return settled.parameters.parallel_tool_calls
    return parallel_beside_strict(settled, endpoint, strict, notices)


def schema_format(wanted: ResponseFormat, endpoint: Endpoint[VendorRow], notices: list[Notice]) -> dict[str, object]:
    """Name, schema, description and ``strict`` of a response format of the type ``json_schema``."""
    schema: Mapping[str, object] = complete_schema(wanted.schema or {})
    strict = wanted.strict
    if strict:
        held = held_schema(schema, f"response format {wanted.name!r}", endpoint, notices)
        strict = held is not None
        schema = held if held is not None else schema
    if not strict:
        schema = written_out(schema, endpoint)
    made: dict[str, object] = {"name": alias_of(wanted.name, FORMAT_NAMES), "schema": schema}
    if wanted.description:
        made["description"] = wanted.description
    if strict is not None:
        made["strict"] = strict
    return made
