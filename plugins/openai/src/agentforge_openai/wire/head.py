"""All of a request body but its messages, made once for one set of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentforge.model import Notice, ResponseFormat, ToolChoice
from agentforge_openai.capabilities import Endpoint, Settled
from agentforge_openai.wire.json_text import dump_bytes
from agentforge_openai.wire.names import alias_of
from agentforge_openai.wire.shape import TurnShape
from agentforge_openai.wire.tools import ToolBlock, complete_schema, make_strict

__all__ = ("EMPTY_TOOLS", "Head", "encode_head")

EMPTY_TOOLS = ToolBlock(b"[]", {}, False, ())


@dataclass(frozen=True, slots=True)
class Head:
    """The fragments around the messages, and what decoding the answer needs to know.

    ``base_url`` is set where a mapping moved the request to another base.
    """

    opening: bytes
    plain: bytes
    streamed: bytes
    shape: TurnShape
    tools: ToolBlock
    notices: tuple[Notice, ...]
    base_url: str | None
    model: str


def encode_head(settled: Settled, endpoint: Endpoint, tools: ToolBlock, *, with_tools: bool) -> Head:
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
    model = body.pop("model")
    rest = b"".join(b"," + dump_bytes(name) + b":" + dump_bytes(value) for name, value in body.items())
    if block:
        rest += b',"tools":' + block
    stream = b',"stream":true'
    if endpoint.row.stream_usage:
        stream += b',"stream_options":{"include_usage":true}'
    return Head(
        opening=b'{"model":' + dump_bytes(model) + b',"messages":[',
        plain=b"]" + rest + b"}",
        streamed=b"]" + rest + stream + b"}",
        shape=TurnShape.of(endpoint, with_tools=with_tools, thinking=settled.thinking),
        tools=tools,
        notices=tuple(notices),
        base_url=settled.base_url,
        model=endpoint.model,
    )


def _fields(settled: Settled, endpoint: Endpoint, tools: ToolBlock, notices: list[Notice]) -> dict[str, object]:
    parameters = settled.parameters
    parallel = parameters.parallel_tool_calls
    if tools.strict and endpoint.row.strict_excludes_parallel:
        if parallel is None:
            parallel = False  # strict is not honoured for parallel calls
        elif parallel:
            if endpoint.policy("strict_with_parallel") != "drop":
                endpoint.refuse(
                    "strict_with_parallel",
                    "strict tools together with parallel_tool_calls=true",
                    "Ask for one of them, or set unsupported={'strict_with_parallel': 'drop'} to send both.",
                )
            notices.append(
                Notice("strict_with_parallel", "strict is not guaranteed for calls that the model makes in parallel")
            )
    values: dict[str, object] = {
        "model": endpoint.model,
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        endpoint.row.max_tokens_field: parameters.max_output_tokens,
        "stop": list(parameters.stop) if parameters.stop else None,
        "seed": parameters.seed,
        "reasoning_effort": parameters.reasoning_effort if settled.sends_effort else None,
        "response_format": _response_format(parameters.response_format, endpoint, notices),
        "tool_choice": _tool_choice(parameters.tool_choice, endpoint.profile.tool_name_pattern),
        "parallel_tool_calls": parallel,
        **settled.extra,
    }
    return {name: value for name, value in values.items() if value is not None}


def _tool_choice(choice: ToolChoice | None, pattern: str) -> object:
    if choice is None:
        return None
    if choice.mode in ("auto", "none", "required"):
        return choice.mode
    named = [{"type": "function", "function": {"name": alias_of(name, pattern)}} for name in choice.names]
    if choice.mode == "tool":
        return named[0]
    mode = "required" if choice.required else "auto"
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}


def _response_format(wanted: ResponseFormat | None, endpoint: Endpoint, notices: list[Notice]) -> object:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json":
        return {"type": "json_object"}
    schema: Mapping[str, object] = complete_schema(wanted.schema or {})
    strict = wanted.strict
    if strict:
        held = make_strict(schema, f"response format {wanted.name!r}", endpoint.row.strict_refuses, notices)
        strict = held is not None
        schema = held if held is not None else schema
    inner: dict[str, object] = {"name": wanted.name, "schema": schema}
    if wanted.description:
        inner["description"] = wanted.description
    if strict is not None:
        inner["strict"] = strict
    return {"type": "json_schema", "json_schema": inner}
