"""What an HTTP tool sends, what it refuses to send, and what becomes of the answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

from agentforge import AgentForge, ScriptedChatModel, ToolService
from agentforge.http import HttpRequest
from agentforge.model.scripted import call
from agentforge.tool import BoundTool
from agentforge.tool.execution import Run, ToolExecution, ToolOutcome
from agentforge_http import AddressGuard, Auth, Credentials, HttpOperation, HttpSender, bound_http_tool
from agentforge_http.openapi.documents import one_document
from agentforge_http.openapi.importing import ImportOptions, import_description
from plugins.http.tests.support import FakeTransport
from tests.cases.support import case_file


def row_of(identity: str) -> Any:
    """A row by its id."""
    return next(row for row in case_file("http")["cases"] if row["id"] == identity)


class Scripted(FakeTransport):
    """Answers as a row says, in turn or by the address; with ``{}`` where it says nothing."""

    def __init__(self, answers: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]] = ()) -> None:
        self._by_address = answers if isinstance(answers, Mapping) else {}
        super().__init__(*(() if isinstance(answers, Mapping) else map(answer_of, answers)))

    def _next(self, request: HttpRequest) -> tuple[int, Mapping[str, str], bytes]:
        made = super()._next(request)
        found = self._by_address.get(request.url)
        return made if found is None else answer_of(found)


def answer_of(row: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of an answer in a row."""
    body = bytes.fromhex(row["body_hex"]) if "body_hex" in row else str(row.get("body", "")).encode()
    moved = {"location": row["location"]} if "location" in row else {}
    return row["status"], {**row.get("headers", {}), **moved}, body


async def public(host: str, port: int) -> Sequence[str]:
    """Every host is at one public address."""
    return ["93.184.215.14"]


def tool_of(row: Mapping[str, Any], transport: Scripted, auth: Auth | None = None) -> BoundTool:
    """The one tool of a row's description."""
    (operation,) = import_description(one_document(row["input"]["spec"]), ImportOptions(None)).operations
    return bound_http_tool(operation, HttpSender(transport=transport, guard=AddressGuard(resolver=public), auth=auth))


def tool_at(url: str, transport: Scripted, **options: Any) -> BoundTool:
    """A tool for one address, whose host nobody vouches for."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    operation = HttpOperation("go", "GET", f"{scheme}://{host}", slash + path)
    options = {"guard": AddressGuard(resolver=public), **options}
    return bound_http_tool(operation, HttpSender(transport=transport, **options))


async def called(tool: BoundTool, **arguments: Any) -> ToolExecution:
    """One call on the way that a model's call takes."""
    model = ScriptedChatModel([call(tool.name, **arguments), "done"])
    result = await ToolService(tool).chat(model, None, "go", context=Run())
    return result.tool_executions[0]


def headers_of(request: HttpRequest) -> dict[str, str]:
    """The headers by their lower-case names."""
    return {name.decode().lower(): value.decode() for name, value in request.headers}


async def test_answers_that_are_not_json() -> None:
    """HT-13: text in its charset, an error page shortened, and what only says that it is JSON with a note."""
    row = row_of("HT-13")
    tool = tool_of(row, Scripted(row["input"]["responses"]))
    first, second, third = [await called(tool) for _ in range(3)]

    assert (first.outcome, first.result_text()) == (ToolOutcome.OK, row["expected"]["values"]["first"])
    assert second.outcome is ToolOutcome.FAILED and second.result.is_error
    assert "502" in second.result_text() and "Bad gateway" in second.result_text() and "<" not in second.result_text()
    assert third.outcome is ToolOutcome.OK
    assert third.result_text().startswith("not json\n" + row["checks"]["third_says"])


async def test_a_path_value_is_one_segment() -> None:
    """HT-14: whatever it holds."""
    row = row_of("HT-14")
    transport = Scripted()
    await called(tool_of(row, transport), **row["input"]["args"])

    assert [request.url for request in transport.requests] == [row["expected"]["values"]["url"]]


@pytest.mark.parametrize("follow", [False, True])
async def test_a_redirect_into_the_internal_network_is_not_followed(follow: bool) -> None:
    """HT-16: off by default; where it is on, another origin is never gone to."""
    row = row_of("HT-16")
    transport = Scripted(row["input"]["responses"])
    execution = await called(tool_at(row["input"]["url"], transport, follow_redirects=follow))

    assert execution.outcome is ToolOutcome.FAILED
    assert [urlsplit(request.url).hostname for request in transport.requests] == row["expected"]["values"]["contacted"]
    assert row["checks"]["default_says"] in execution.result_text()


@pytest.mark.parametrize("url", row_of("HT-18")["input"]["urls"])
async def test_addresses_that_are_not_public_are_refused(url: str) -> None:
    """HT-18: in every form; unless the configuration itself names them, see the next test."""
    transport = Scripted()
    execution = await called(tool_at(url, transport))

    assert execution.outcome is ToolOutcome.FAILED
    assert len(transport.requests) == row_of("HT-18")["expected"]["values"]["requests"]


def test_a_trusted_file_may_name_them_but_no_file() -> None:
    """HT-18, the other side: what a trusted file names is called as it stands, http and https alone."""
    for url in row_of("HT-18")["input"]["urls"]:
        app = AgentForge.from_mapping({"beans": {"probe": {"type": "http.tool", "url": url}}})
        assert bool(_faults(app)) == url.startswith("file:")


def _faults(app: AgentForge) -> str:
    from agentforge.config import ConfigurationFaults

    try:
        app.check()
    except ConfigurationFaults as faults:
        return str(faults)
    return ""


async def test_credentials_do_not_leave_their_origin() -> None:
    """HT-19: no request goes to the other origin, with or without them; within the origin they stay."""
    row = row_of("HT-19")
    transport = Scripted(row["input"]["responses"])
    options = {"headers": row["input"]["headers"], "follow_redirects": True}
    execution = await called(tool_at(row["input"]["url"], transport, **options))

    assert execution.outcome is ToolOutcome.FAILED and len(transport.requests) == 1
    sent = headers_of(transport.requests[0])
    assert {name: sent[name.lower()] for name in row["input"]["headers"]} == row["input"]["headers"]

    moved = {row["input"]["url"]: {"status": 307, "location": "/y"}}
    transport = Scripted(moved)
    await called(tool_at(row["input"]["url"], transport, **options))
    assert [request.url for request in transport.requests] == [row["input"]["url"], "https://a.example.com/y"]
    assert all(
        name.lower() in headers_of(transport.requests[1]) for name in row["expected"]["values"]["second_request_lacks"]
    )


async def test_a_secret_that_the_server_sends_back_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    """HT-20: in the result, the error, the log at DEBUG."""
    caplog.set_level(logging.DEBUG)
    row = row_of("HT-20")
    given = row["input"]["auth"]
    transport = Scripted([row["input"]["response"]])
    auth = Auth(Credentials(headers=((given["name"], given["value"]),)))
    execution = await called(tool_of(row, transport, auth))
    secret = row["expected"]["values"]["never_contains"]

    assert headers_of(transport.requests[0])[given["name"].lower()] == given["value"]
    assert execution.outcome is ToolOutcome.FAILED and "token *** is invalid" in execution.result_text()
    assert secret not in f"{caplog.text} {execution.result.cause!r} {execution.result.cause}"


async def test_lists_in_path_header_and_cookie() -> None:
    """HT-23: joined by commas, each part of the path escaped."""
    row = row_of("HT-23")
    transport = Scripted()
    await called(tool_of(row, transport), **row["input"]["args"])
    (request,), values = transport.requests, row["expected"]["values"]
    sent = headers_of(request)

    assert request.url == values["url"] and sent["cookie"] == values["cookie"]
    assert {name: sent[name.lower()] for name in values["header"]} == values["header"]


def test_each_row_has_its_test() -> None:
    """No row is collected by none of them."""
    tested = {"HT-13", "HT-14", "HT-16", "HT-18", "HT-19", "HT-20", "HT-23"}

    assert {row["id"] for row in case_file("http")["cases"]} == tested
