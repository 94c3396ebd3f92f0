"""All of a request body but its instructions and messages, made once for one set of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    leave_out,
)
from agentforge_anthropic.rows import MessagesRow
from agentforge_anthropic.wire.caching import CacheMarks
from agentforge_anthropic.wire.settling import MessagesSettled
from agentforge_anthropic.wire.shape import MessagesTurnShape

__all__ = ("MessagesHead", "encode_head")


@dataclass(frozen=True, slots=True)
class MessagesHead(Head[MessagesTurnShape]):
    """``budget`` are the tokens that the model thinks within, 0 without a budget. The turns are the same either way, so
    it is no part of their shape."""

    budget: int = 0


def encode_head(
    settled: MessagesSettled, endpoint: Endpoint[MessagesRow], tools: ToolBlock, caching: CacheMarks
) -> MessagesHead:
    """The head for parameters that are settled already."""
    body = _fields(settled, endpoint, caching)
    custom = dict(settled.parameters.custom_parameters)
    further = custom.pop("tools", None)
    output = custom.pop("output_config", None)
    if output is not None:
        ours = body.get("output_config")
        both = isinstance(ours, dict) and isinstance(output, Mapping)
        body["output_config"] = {**ours, **output} if both else output  # type: ignore[dict-item]
    body.update(custom)
    opening = b'{"model":%b,"max_tokens":%b,' % (dump_bytes(body.pop("model")), dump_bytes(body.pop("max_tokens")))
    rest = b"".join([b",%b:%b" % (dump_bytes(name), dump_bytes(value)) for name, value in body.items()])
    block = _tools(tools.body if settled.parameters.tools else b"", further, caching)
    if block:
        rest += b',"tools":' + block
    return MessagesHead(
        opening=opening,
        plain=rest + b"}",
        streamed=rest + b',"stream":true}',
        shape=MessagesTurnShape.of(endpoint, system_mark=caching.mark("system")),
        tools=tools,
        notices=(*settled.notices, *tools.notices),
        base_url=settled.base_url,
        model=endpoint.model,
        budget=settled.plan.budget,
    )


def _fields(settled: MessagesSettled, endpoint: Endpoint[MessagesRow], caching: CacheMarks) -> dict[str, object]:
    parameters, plan = settled.parameters, settled.plan
    limit = parameters.max_output_tokens
    if limit is None:
        limit = endpoint.row.family(endpoint.model).max_tokens + plan.budget
    output: dict[str, object] = {}
    if plan.effort is not None:
        output["effort"] = plan.effort
    form = _response_format(parameters.response_format, settled, endpoint)
    if form is not None:
        output["format"] = form
    values: dict[str, object] = {
        "model": endpoint.model,
        "max_tokens": limit,
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "stop_sequences": list(parameters.stop) if parameters.stop else None,
        "thinking": plan.field,
        "output_config": output or None,
        "tool_choice": _tool_choice(parameters.tool_choice, parameters.parallel_tool_calls, endpoint),
        "cache_control": caching.control("auto"),
        **settled.extra,
    }
    return {name: value for name, value in values.items() if value is not None}


def _tools(block: bytes, further: object, caching: CacheMarks) -> bytes:
    """Our tools, and those of the vendor's own beside them; the last one gets the mark of the cache."""
    marked = b""
    if isinstance(further, (list, tuple)) and further:
        more = dump_bytes(list(further))
        last = further[-1]
        marked = b"" if isinstance(last, Mapping) and "cache_control" in last else caching.mark("tools")
        block = block[:-1] + b"," + more[1:] if block else more
    elif block:
        marked = caching.mark("tools")
    return block[:-2] + marked + b"}]" if marked else block


def _tool_choice(
    choice: ToolChoice | None, parallel: bool | None, endpoint: Endpoint[MessagesRow]
) -> dict[str, object] | None:
    """The choice; that calls may not come side by side is said in it."""
    if choice is None:
        return {"type": "auto", "disable_parallel_tool_use": True} if parallel is False else None
    if choice.mode == "none":
        return {"type": "none"}
    wire: dict[str, object] = {"type": {"auto": "auto", "required": "any"}.get(choice.mode, "tool")}
    if choice.mode == "tool":
        wire["name"] = alias_of(choice.names[0], endpoint.profile.tool_name_pattern)
    if parallel is False:
        wire["disable_parallel_tool_use"] = True
    return wire


def _response_format(
    wanted: ResponseFormat | None, settled: Settled, endpoint: Endpoint[MessagesRow]
) -> dict[str, object] | None:
    """The form of the answer. The provider holds to every schema strictly, so it is brought into what it takes; one
    that does not fit goes out as it is unless strict was asked for, as the provider may still take it."""
    if wanted is None or wanted.type != "json_schema":
        return None
    what = f"response format {wanted.name!r}"
    told: list[Notice] = []
    held = held_schema(wanted.schema or {}, what, endpoint, told)
    if held is not None:
        settled.notices += told
        return {"type": "json_schema", "schema": held}
    problems = "; ".join(str(problem) for notice in told for problem in _listed(notice.details.get("problems")))
    if not wanted.strict:
        settled.notices.append(
            Notice(
                "schema_as_it_is",
                f"{what} was sent as it is, which the provider may refuse: {problems}",
                {"what": what, "problems": problems},
            )
        )
        return {"type": "json_schema", "schema": complete_schema(wanted.schema or {})}
    leave_out(
        settled,
        endpoint,
        "response_format.json_schema",
        f"the schema of the {what}: {problems}",
        "Change the schema, or use the advisor structured_output (in Python prompt(…).entity(Type)).",
    )
    return None


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
