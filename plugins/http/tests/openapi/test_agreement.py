"""Both sides agree: what a tool is called with is what a server understands that described itself."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge import ToolExecutionRequest
from agentforge.masking import Secrets
from agentforge.plugin import BeanContext, Components
from agentforge.tool import BoundTool
from agentforge.tool.execution import Run
from agentforge_http.openapi.bean import openapi_type
from agentforge_http.openapi.settings import OpenApiSettings
from agentforge_http.openapi.source import OpenApiTools
from plugins.http.tests.openapi.generated import values_of
from plugins.http.tests.openapi.server import running

OPERATIONS = (
    "path_values",
    "query_values",
    "odd_names",
    "formats",
    "header_values",
    "cookie_values",
    "flat_body",
    "recursive_body",
    "same_name",
    "list_body",
    "map_body",
    "either_body",
    "two_objects",
    "optional_body",
    "form_body",
    "file_body",
    "text_body",
    "bytes_body",
)
FILES = {("file_body", "document"), ("file_body", "more")}


class Calls:
    """The imported tools and the loop that calls them."""

    def __init__(self, address: str, folder: Path) -> None:
        self.runner = asyncio.Runner()
        bean_type = openapi_type()
        context = BeanContext("echo", folder, Components((), folder), Secrets())
        made = bean_type.create(OpenApiSettings(spec=f"{address}/openapi.json"), context)
        assert isinstance(made, OpenApiTools)
        self.source = made
        self.runner.run(made.start())
        self.tools: dict[str, BoundTool] = {tool.name: tool for tool in made.known_tools() or ()}

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """What the server understood."""
        tool = self.tools[name]
        request = ToolExecutionRequest("1", name, json.dumps(arguments))
        bound = tool.bind(json.loads(request.arguments))

        async def work() -> Any:
            made: Any = tool.invoke(request, bound, Run())
            return (await made).result

        return self.runner.run(work())

    def close(self) -> None:
        """Close connections and loop."""
        self.runner.run(self.source.aclose())
        self.runner.close()


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    """One server, imported from its own address."""
    with running() as address:
        made = Calls(address, tmp_path_factory.mktemp("openapi"))
        yield made
        made.close()


def test_all_operations_of_the_server_are_imported(calls: Calls) -> None:
    """Under their own names, and nothing is left out."""
    assert set(calls.tools) == set(OPERATIONS)
    assert calls.source.report is not None and calls.source.report.left_out == ()
    assert {str(tool.origin) for tool in calls.tools.values()} == {f"http {calls.tools['formats'].origin.server} 7"}  # type: ignore[union-attr]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_server_understands_what_was_meant(calls: Calls, name: str) -> None:
    """For generated arguments that fit the imported schema; what was not given is the server's default."""
    schema = dict(calls.tools[name].specification.parameters.schema)

    @settings(max_examples=6, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        arguments = data.draw(values_of(schema, schema))
        understood = calls.call(name, arguments)
        for argument, value in arguments.items():
            assert _same(_content(value) if (name, argument) in FILES else value, understood[argument]), (
                arguments,
                understood,
            )
        for argument in understood.keys() - arguments.keys() - {"type"}:
            assert understood[argument] in (None, [], {}, 0, 0.0, 0.5, False, 1), argument

    agree()


def test_the_media_type_of_the_description_is_sent(calls: Calls) -> None:
    """The server sees the type that it said."""
    assert calls.call("bytes_body", {"body": "AAEC"}) == {"body": "AAEC", "type": "image/png"}
    assert calls.call("text_body", {"body": "é"}) == {"body": "é", "type": "text/plain"}


def _content(value: Any) -> Any:
    """A file's content as base64 text."""
    if isinstance(value, list):
        return [_content(each) for each in value]
    if isinstance(value, dict):
        return value.get("base64") or base64.b64encode(value.get("text", "").encode()).decode()
    return value


def _same(sent: Any, understood: Any) -> bool:
    """Equal; a set has no order, and a default stands for what was left out of an object."""
    if isinstance(sent, dict) and isinstance(understood, dict):
        return all(_same(value, understood.get(key)) for key, value in sent.items())
    if isinstance(sent, list) and isinstance(understood, list):
        if len(sent) != len(understood):
            return False
        in_order = all(_same(*pair) for pair in zip(sent, understood, strict=True))
        return in_order or (all(isinstance(each, int) for each in sent) and sorted(sent) == sorted(understood))
    return bool(sent == understood) or (sent in ([], None) and understood in ([], None))
