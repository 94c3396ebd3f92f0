"""Each recorded request of a further round is made again from our own history: our reading of the answers before it and
the recorded results. Equal as JSON but for the listed normalisations."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    FileContent,
    ImageContent,
    SystemMessage,
    TextContent,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.gemini.tests.support import RECORDINGS, body_of, plain, streamed

#: How many rounds each API has; every one of them is made again.
ROUNDS = {"gemini": 14, "vertexai": 7}

JSON = dict[str, Any]


def camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _parts(body: JSON) -> Iterator[JSON]:
    yield from (part for content in body["contents"] for part in content["parts"])


def _declarations(body: JSON) -> Iterator[JSON]:
    yield from (each for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ()))


def _names_of_members(body: JSON) -> None:
    for content in body["contents"]:
        content["parts"] = [{camel(name): value for name, value in part.items()} for part in content["parts"]]
        for part in content["parts"]:
            if "fileData" in part:
                part["fileData"] = {camel(name): value for name, value in part["fileData"].items()}
    for each in _declarations(body):
        if "parameters_json_schema" in each:
            each["parametersJsonSchema"] = each.pop("parameters_json_schema")


def _alphabet_of_signatures(body: JSON) -> None:
    for part in _parts(body):
        if "thoughtSignature" in part:
            part["thoughtSignature"] = part["thoughtSignature"].replace("-", "+").replace("_", "/")


def _role_of_instructions(body: JSON) -> None:
    if "systemInstruction" in body:
        body["systemInstruction"].pop("role", None)


def _nothing_configured(body: JSON) -> None:
    if body.get("generationConfig") == {}:
        del body["generationConfig"]


def _names_in_results(body: JSON) -> None:
    for part in _parts(body):
        response = part.get("functionResponse", {}).get("response")
        if response is not None and "error" not in response:
            part["functionResponse"]["response"] = {"output": output_of(response)}


def _ids_of_clients(body: JSON) -> None:
    for part in _parts(body):
        for kind in ("functionCall", "functionResponse"):
            if kind in part and part[kind].get("id", "") not in GIVEN:
                part[kind].pop("id", None)


def _empty_texts(body: JSON) -> None:
    for content in body["contents"]:
        content["parts"] = [part for part in content["parts"] if part != {"text": ""}]


def _empty_descriptions(body: JSON) -> None:
    for each in _declarations(body):
        if not each.get("description"):
            each.pop("description", None)


def _form_of_schemas(body: JSON) -> None:
    for each in _declarations(body):
        for key in ("parameters", "parametersJsonSchema"):
            if key in each:
                each["schema"] = plain_schema(each.pop(key))


def _empty_schemas(body: JSON) -> None:
    for each in _declarations(body):
        if each.get("schema", {}).get("properties") == {}:
            del each["schema"]


#: What may differ, each with its reason.
NORMALISATIONS: tuple[tuple[Callable[[JSON], None], str], ...] = (
    (_names_of_members, "the API takes snake_case too; we send camelCase"),
    (
        _alphabet_of_signatures,
        "one client decodes and encodes signatures and writes - and _; we send them as they came",
    ),
    (_role_of_instructions, "the role of instructions says nothing"),
    (_nothing_configured, "an empty generationConfig says nothing"),
    (_names_in_results, "clients name their results as they like; the API's own name is output"),
    (_ids_of_clients, "clients make up ids, which the vendor does not need; one left out an id that was given"),
    (_empty_texts, "a text without characters and without signature says nothing; one client sends it back"),
    (_empty_descriptions, "an empty description says nothing"),
    (_form_of_schemas, "schemas of the API and JSON Schema differ in capitals, titles and in saying what is closed"),
    (_empty_schemas, "a tool without parameters needs no schema"),
)

#: The ids that the vendor gave and that the client sent back.
GIVEN = frozenset({"0b3pdf3o", "brynwdxm", "whZntcQw"})


def plain_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [plain_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {}
    for name, value in schema.items():
        if name == "type":
            made[name] = value.lower()
        elif name == "properties":
            made[name] = {key: plain_schema(each) for key, each in value.items()}
        elif name == "required":
            made.update({name: value} if value else {})
        elif not (name == "additionalProperties" and value is False) and not (name == "title" and "type" in schema):
            made[name] = plain_schema(value)
    return made


def output_of(response: Mapping[str, Any]) -> Any:
    """The text of a result under the names that clients give it."""
    for name in ("output", "result", "return_value"):
        if name in response:
            return response[name]
    return "".join(part["text"] for part in response["content"])


def normal(body: Mapping[str, Any], *, without: Callable[[JSON], None] | None = None) -> JSON:
    made = copy.deepcopy(dict(body))
    for change, _ in NORMALISATIONS:
        if change is not without:
            change(made)
    return made


@dataclass
class Round:
    """A recorded request that goes on from answers, and what we make of it."""

    where: str
    recorded: JSON
    ours: JSON
    read: int


def rounds(shared: Path) -> Iterator[tuple[str, Round]]:
    """Every recorded request with a turn of the model in it, by API."""
    for file in RECORDINGS.files(shared):
        answers: list[AiMessage] = []
        for position, interaction in enumerate(json.loads(file.read_text())["interactions"]):
            request = interaction["request"]
            if request is None:
                continue
            api = file.parent.name
            options = options_of(api, request["url_path"])
            body = request["body"]
            if any(content["role"] == "model" for content in body["contents"]):
                history, read = history_of(body, answers)
                ours = body_of(history, parameters_of(body), **options)
                yield api, Round(f"{file.stem} {position}", body, ours, read)
            if interaction["response"]["status"] == 200:
                answers.append(answer_of(interaction["response"]["body"], api, request["url_path"]))


def options_of(api: str, path: str) -> JSON:
    return {"vendor": api, "model": re.split(r"/models/|:", path)[1]}


def answer_of(content: Any, api: str, path: str) -> AiMessage:
    """Our reading of an answer, by the model that was asked."""
    model = options_of(api, path)["model"]
    host = "vertexai@aiplatform.googleapis.com/v1beta1/projects/shop/locations/global" if api == "vertexai" else api
    provider = f"{host}/generateContent/{model}"
    found = (
        streamed(content.encode(), provider=provider) if isinstance(content, str) else plain(content, provider=provider)
    )
    return found.ai_message


def history_of(body: JSON, answers: list[AiMessage]) -> tuple[list[ChatMessage], int]:
    """Our history, and how many of its turns are our reading of an answer."""
    messages: list[ChatMessage] = []
    if "systemInstruction" in body:
        messages.append(SystemMessage("".join(part["text"] for part in body["systemInstruction"]["parts"])))
    read = 0
    ids: list[str] = []
    given = copy.deepcopy(body)
    _names_of_members(given)
    for content in given["contents"]:
        if content["role"] == "model":
            answer = next(each for each in answers if stands_for(each, content))
            read += 1
            messages.append(answer)
            ids = [call.id for call in answer.tool_execution_requests]
            continue
        parts: list[Any] = []
        for part in content["parts"]:
            if "functionResponse" in part:
                said = part["functionResponse"]
                response, name = said["response"], said["name"]
                failed = "error" in response
                text = response["error"] if failed else output_of(response)
                messages.append(ToolExecutionResultMessage(ids.pop(0), name, text, is_error=failed))
            elif "inlineData" in part:
                data = part["inlineData"]
                parts.append(FileContent(data=data["data"], media_type=data["mimeType"]))
            elif "fileData" in part:
                parts.append(ImageContent(url=part["fileData"]["fileUri"]))
            else:
                parts.append(TextContent(part["text"]))
        if parts:
            messages.append(UserMessage(parts))
    return messages, read


def stands_for(answer: AiMessage, content: JSON) -> bool:
    """Whether a recorded turn of the model is this answer."""
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    text = "".join(part.get("text", "") for part in content["parts"])
    ours = [(call.name, call.arguments_as_map()) for call in answer.tool_execution_requests]
    signed = [part.get("thoughtSignature", "").replace("-", "+").replace("_", "/") for part in content["parts"]]
    states = [call.provider_state.data if call.provider_state else {} for call in answer.tool_execution_requests]
    return (
        ours == [(call["name"], call["args"]) for call in calls]
        and (answer.text or "") == text
        and [data.get("thoughtSignature", "") for data in states] == (signed[: len(calls)] if calls else [])
    )


def parameters_of(body: JSON) -> ChatRequestParameters:
    """The recorded settings as ours; those of the vendor's own pass through."""
    strict = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode") == "VALIDATED"
    given = copy.deepcopy(body)
    _names_of_members(given)
    tools = [
        ToolSpecification(
            each["name"],
            each["description"] or None,
            ToolParameters(plain_schema(each.get("parameters") or each["parametersJsonSchema"])),
            strict=strict or None,
        )
        for each in _declarations(given)
    ]
    custom = {name: body[name] for name in ("generationConfig", "safetySettings") if body.get(name)}
    return ChatRequestParameters(tools=tools, custom_parameters=custom)


def test_every_further_request_is_made_again(shared: Path) -> None:
    """The whole body: signatures at their parts, ids where the vendor gave them, results in order."""
    made: dict[str, int] = {}
    for api, each in rounds(shared):
        assert normal(each.ours) == normal(each.recorded), each.where
        assert each.read == sum(content["role"] == "model" for content in each.recorded["contents"]), each.where
        made[api] = made.get(api, 0) + 1
    assert made == ROUNDS


def test_signatures_go_back_byte_for_byte(shared: Path) -> None:
    """At the parts that they came at, the first of parallel calls alone."""
    count = 0
    for _, each in rounds(shared):
        sent = [part["thoughtSignature"] for part in _parts(each.ours) if "thoughtSignature" in part]
        recorded = copy.deepcopy(each.recorded)
        _names_of_members(recorded)
        _alphabet_of_signatures(recorded)
        known = [part["thoughtSignature"] for part in _parts(recorded) if "thoughtSignature" in part]
        assert known == sent, each.where
        count += len(known)
    assert count == 22


def test_each_normalisation_is_needed(shared: Path) -> None:
    """The list holds nothing that hides a difference nobody has."""
    found = list(rounds(shared))
    for change, reason in NORMALISATIONS:
        apart = [each.where for _, each in found if _or_fails(each.ours, change) != _or_fails(each.recorded, change)]
        assert apart, reason


def _or_fails(body: JSON, without: Callable[[JSON], None]) -> Any:
    """The body without one normalisation; others may not be able to work on it then, which is a difference too."""
    try:
        return normal(body, without=without)
    except KeyError as error:
        return error
