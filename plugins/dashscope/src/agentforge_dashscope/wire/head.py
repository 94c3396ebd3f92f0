"""All of a request body but its messages, made once for one set of parameters.

Streams are asked for by a header; in the body they differ in ``incremental_output`` only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentforge.model import ResponseFormat, ToolChoice
from agentforge.provider import Endpoint, Head, Settled, ToolBlock, alias_of, complete_schema, dump_bytes
from agentforge_dashscope.rows import DashScopeRow
from agentforge_dashscope.wire.shape import DashScopeTurnShape

__all__ = ("GenerationHead", "encode_head")

#: What the name of a response format must match; others are sent under one that does.
_FORMAT_NAMES = r"^[a-zA-Z0-9_-]{1,64}$"


@dataclass(frozen=True, slots=True)
class GenerationHead(Head[DashScopeTurnShape]):
    """``cumulative``: each event of a stream repeats everything so far."""

    cumulative: bool = False


def encode_head(
    settled: Settled, endpoint: Endpoint[DashScopeRow], tools: ToolBlock, *, incremental: bool | None
) -> GenerationHead:
    """The head for parameters that are settled already. ``incremental`` is what the model's setting says of streams;
    a custom parameter says it for one request, and a model that thinks streams in no other way."""
    custom = dict(settled.parameters.custom_parameters)
    further = custom.pop("tools", None)
    said = custom.pop("incremental_output", None)
    body = dump_bytes({**_fields(settled, endpoint), **custom})[:-1]
    block = tools.body if settled.parameters.tools else b""
    if isinstance(further, (list, tuple)) and further:
        # Tools of the vendor's own stand beside ours.
        more = dump_bytes(list(further))
        block = block[:-1] + b"," + more[1:] if block else more
    if block:
        body += b',"tools":' + block
    grows = said if isinstance(said, bool) else _grows(settled, endpoint, incremental)
    flag = b',"incremental_output":' + dump_bytes(grows)
    closing = b']},"parameters":' + body
    return GenerationHead(
        opening=b'{"model":' + dump_bytes(endpoint.model) + b',"input":{"messages":[',
        plain=closing + (b"" if said is None else flag) + b"}}",
        streamed=closing + flag + b"}}",
        shape=DashScopeTurnShape.of(endpoint, preserves=custom.get("preserve_thinking")),
        tools=tools,
        notices=(*settled.notices, *tools.notices),
        base_url=settled.base_url,
        model=endpoint.model,
        cumulative=not grows,
    )


def _grows(settled: Settled, endpoint: Endpoint[DashScopeRow], incremental: bool | None) -> bool:
    """Whether each event of a stream holds only what is new."""
    if incremental is None:
        pattern = endpoint.row.cumulative
        incremental = pattern is None or re.search(pattern, endpoint.model) is None
    return incremental or settled.thinking


def _fields(settled: Settled, endpoint: Endpoint[DashScopeRow]) -> dict[str, object]:
    parameters, total = settled.parameters, endpoint.row.limits_thinking
    limit = "max_completion_tokens" if total and re.search(total, endpoint.model) else "max_tokens"
    values: dict[str, object] = {
        "result_format": "message",
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        limit: parameters.max_output_tokens,
        "stop": list(parameters.stop) if parameters.stop else None,
        "seed": parameters.seed,
        "reasoning_effort": parameters.reasoning_effort if settled.sends_effort else None,
        "response_format": _response_format(parameters.response_format),
        "tool_choice": _tool_choice(parameters.tool_choice, endpoint.profile.tool_name_pattern),
        "parallel_tool_calls": parameters.parallel_tool_calls,
        **settled.extra,
    }
    return {name: value for name, value in values.items() if value is not None}


def _tool_choice(choice: ToolChoice | None, pattern: str) -> object:
    if choice is None:
        return None
    if choice.mode == "tool":
        return {"type": "function", "function": {"name": alias_of(choice.names[0], pattern)}}
    return choice.mode


def _response_format(wanted: ResponseFormat | None) -> object:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json":
        return {"type": "json_object"}
    from agentforge.provider import inlined

    made: dict[str, object] = {
        "name": alias_of(wanted.name, _FORMAT_NAMES),
        "schema": inlined(complete_schema(wanted.schema or {})),
    }
    if wanted.description:
        made["description"] = wanted.description
    if wanted.strict is not None:
        made["strict"] = wanted.strict
    return {"type": "json_schema", "json_schema": made}
