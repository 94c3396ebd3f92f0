"""From an OpenAPI description to tools, and from a call to the request that goes out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.errors import ConfigurationError
from agentforge.model.scripted import call, calls
from agentforge.tool import BoundTool, StaticTools
from agentforge_http.executor import bound_http_tool
from agentforge_http.guard import AddressGuard
from agentforge_http.openapi.documents import one_document
from agentforge_http.openapi.importing import Imported, ImportOptions, import_description
from agentforge_http.sender import HttpSender
from plugins.http.tests.support import FakeTransport
from tests.cases.support import rows


async def public(host: str, port: int) -> Sequence[str]:
    """Every host is at one public address."""
    return ["93.184.215.14"]


def imported(row: Mapping[str, Any], *, needs_server: bool = True) -> Imported:
    given = row["input"]
    documents = one_document(given["spec"], url=given.get("spec_url"))
    return import_description(documents, ImportOptions(given.get("base_url"), needs_server=needs_server))


async def sent(tools: Sequence[BoundTool], transport: FakeTransport, *asked: tuple[str, Mapping[str, Any]]) -> None:
    """Have a model call the tools, each with its arguments."""
    service = ToolService(StaticTools(tools))
    wanted = calls(*(call(name, dict(arguments)) for name, arguments in asked))
    result = await service.chat(ScriptedChatModel([wanted, "done"]), None, "go")
    assert [execution.has_failed() for execution in result.tool_executions] == [False] * len(asked)


def bound(row: Mapping[str, Any], transport: FakeTransport) -> list[BoundTool]:
    sender = HttpSender(transport=transport, guard=AddressGuard(resolver=public))
    return [bound_http_tool(operation, sender) for operation in imported(row).operations]


@pytest.mark.parametrize("row", rows("openapi", "request_as_given"))
async def test_the_request_is_the_one_that_the_description_means(row: Any) -> None:
    """Address, query, headers and body, byte for byte."""
    transport = FakeTransport()
    tools = bound(row, transport)
    await sent(tools, transport, (row["input"].get("calls", [tools[0].name])[0], row["input"]["args"]))

    request = transport.requests[0]
    values = dict(row["expected"]["values"])
    schema = tools[0].specification.parameters.schema
    query = request.url.partition("?")[2]
    headers = dict(request.headers)
    if "properties" in values:
        assert list(schema["properties"]) == values.pop("properties")  # type: ignore[call-overload]
        assert schema["properties"]["n"]["default"] == values.pop("default_n")  # type: ignore[index]
    found = {
        "url": request.url,
        "query": query,
        "query_decoded": unquote(query),
        "json": json.loads(request.content) if "json" in values else None,
        "content_type": headers.get(b"content-type", b"").decode(),
        "body": request.content.decode(),
    }
    assert {name: found[name] for name in values} == values


@pytest.mark.parametrize("row", rows("openapi", "reject_at_build"))
def test_a_description_without_a_server_is_refused_with_the_setting_that_is_missing(row: Any) -> None:
    """When it is loaded, not at the first call; with the setting there is nothing to refuse."""
    refused = imported(row)
    assert refused.operations == ()
    assert isinstance(refused.server_fault, ConfigurationError)
    assert "base_url" in str(refused.server_fault.next_step)

    given = {"input": {**row["input"], "base_url": "https://api.example.com"}}
    assert [operation.base_url for operation in imported(given).operations] == ["https://api.example.com"]


@pytest.mark.parametrize("row", rows("openapi", "accept"))
def test_names_that_are_too_long_stay_apart_and_map_back(row: Any) -> None:
    """Each is legal, always the same, and leads to the operation that it was made of."""
    first, again = imported(row).operations, imported(row).operations
    assert [each.name for each in first] == [each.name for each in again]
    assert len({each.name for each in first}) == len(first) == 3
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each.name) for each in first)
    written = [item["get"]["operationId"] for item in row["input"]["spec"]["paths"].values()]
    assert [each.own_name for each in first] == written


async def test_a_file_goes_as_multipart_and_what_cannot_be_sent_is_no_tool() -> None:
    """The second operation of HT-11, and one of a media type that nobody can send."""
    (row,) = [each.values[0] for each in rows("openapi", "request_as_given") if each.id == "HT-11"]
    transport = FakeTransport()
    await sent(bound(row, transport), transport, ("f", {"file": "AAEC"}))
    assert dict(transport.requests[0].headers)[b"content-type"].startswith(b"multipart/form-data; boundary=")
    assert b'name="file"' in transport.requests[0].content and b"\x00\x01\x02" in transport.requests[0].content

    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    row["input"]["spec"]["paths"]["/c"]["post"]["requestBody"]["content"] = {"application/xml": {"schema": schema}}
    report = imported(row).report
    assert [each.name for each in report.operations] == ["f"]
    assert [(each.name, each.reason) for each in report.left_out] == [
        ("c", "its body is application/xml, which cannot be sent")
    ]
