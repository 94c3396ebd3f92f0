"""All of a request body but its instructions and messages, made once for one set of parameters."""

from __future__ import annotations

from agentforge.model import Notice, ResponseFormat, ToolChoice
from agentforge.provider import (
    Endpoint,
    Head,
    ToolBlock,
    alias_of,
    complete_schema,
    dump_bytes,
    held_schema,
    leave_out,
)
from agentforge_gemini.rows import GeminiRow
from agentforge_gemini.wire.custom import merged
from agentforge_gemini.wire.settling import GeminiSettled
from agentforge_gemini.wire.shape import GeminiTurnShape

__all__ = ("encode_head",)


def encode_head(settled: GeminiSettled, endpoint: Endpoint[GeminiRow], tools: ToolBlock) -> Head[GeminiTurnShape]:
    """The head for parameters that are settled already. Whether the reply is streamed is said in the address."""
    custom = dict(settled.parameters.custom_parameters)
    own = custom.pop("tools", None)
    config = merged("generationConfig", _generation(settled, endpoint), custom.pop("generationConfig", None))
    choosing = merged("toolConfig", _tool_config(settled, endpoint, tools), custom.pop("toolConfig", None))
    members: dict[str, object] = {}
    if config:
        members["generationConfig"] = config
    if choosing:
        members["toolConfig"] = choosing
    members.update({**settled.extra, **custom})
    rest = b"".join([b",%b:%b" % (dump_bytes(name), dump_bytes(value)) for name, value in members.items()])
    block = _tools(tools.body if settled.parameters.tools else b"", own)
    if block:
        rest += b',"tools":' + block
    rest += b"}"
    return Head(
        opening=b"{",
        plain=rest,
        streamed=rest,
        shape=GeminiTurnShape.of(endpoint),
        tools=tools,
        notices=(*settled.notices, *tools.notices),
        base_url=settled.base_url,
        model=endpoint.model,
    )


def _generation(settled: GeminiSettled, endpoint: Endpoint[GeminiRow]) -> dict[str, object]:
    parameters = settled.parameters
    values: dict[str, object] = {
        "temperature": parameters.temperature,
        "topP": parameters.top_p,
        "maxOutputTokens": parameters.max_output_tokens,
        "stopSequences": list(parameters.stop) if parameters.stop else None,
        "seed": parameters.seed,
        **_response_format(parameters.response_format, settled, endpoint),
        "thinkingConfig": settled.thinking_config,
    }
    return {name: value for name, value in values.items() if value is not None}


def _tools(block: bytes, own: object) -> bytes:
    """Our tools, all in one object, and behind them those of the vendor's own."""
    tools = b'[{"functionDeclarations":%b}]' % block if block else b""
    if not isinstance(own, (list, tuple)) or not own:
        return tools
    more = dump_bytes(list(own))
    return tools[:-1] + b"," + more[1:] if tools else more


def _tool_config(settled: GeminiSettled, endpoint: Endpoint[GeminiRow], tools: ToolBlock) -> dict[str, object]:
    made: dict[str, object] = {}
    if not settled.parameters.tools:
        return made
    both = bool(settled.own_tools)
    calling = _calling(settled.parameters.tool_choice, endpoint, strict=tools.strict, beside_own=both)
    if calling:
        made["functionCallingConfig"] = calling
    if both and endpoint.row.shows_own_tools:
        made["includeServerSideToolInvocations"] = True
    return made


def _calling(
    choice: ToolChoice | None, endpoint: Endpoint[GeminiRow], *, strict: bool, beside_own: bool
) -> dict[str, object]:
    if choice is None or choice.mode == "auto":
        if strict:
            return {"mode": "VALIDATED"}
        # Beside the vendor's own tools there is no mode of that name.
        return {"mode": "AUTO"} if choice is not None and not beside_own else {}
    if choice.mode in ("none", "required"):
        return {"mode": "NONE" if choice.mode == "none" else "ANY"}
    names = [alias_of(name, endpoint.profile.tool_name_pattern) for name in choice.names]
    mode = "ANY" if choice.forces_a_call else "VALIDATED"
    return {"mode": mode, "allowedFunctionNames": names}


def _response_format(
    wanted: ResponseFormat | None, settled: GeminiSettled, endpoint: Endpoint[GeminiRow]
) -> dict[str, object]:
    """The form of the answer. A schema is brought into what the API takes; one that does not fit goes out as it is
    where any JSON Schema may, unless strict was asked for."""
    if wanted is None or wanted.type == "text":
        return {}
    as_json: dict[str, object] = {"responseMimeType": "application/json"}
    if wanted.type == "json":
        return as_json
    takes_any = endpoint.row.family(endpoint.model).json_schema
    key = "responseJsonSchema" if takes_any else "responseSchema"
    what = f"response format {wanted.name!r}"
    told: list[Notice] = []
    held = held_schema(wanted.schema or {}, what, endpoint, told)
    if held is not None:
        settled.notices += told
        return {**as_json, key: held}
    problems = "; ".join(str(problem) for notice in told for problem in _listed(notice.details.get("problems")))
    if takes_any and not wanted.strict:
        settled.notices.append(
            Notice(
                "schema_as_it_is",
                f"{what} was sent as it is, and the provider may not hold to all of it: {problems}",
                {"what": what, "problems": problems},
            )
        )
        return {**as_json, key: complete_schema(wanted.schema or {})}
    leave_out(
        settled,
        endpoint,
        "response_format.json_schema",
        f"the schema of the {what}: {problems}",
        "Change the schema, or use the advisor structured_output (in Python prompt(…).entity(Type)).",
    )
    return {}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
