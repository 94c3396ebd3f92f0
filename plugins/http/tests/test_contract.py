"""The contracts that every plugin and every source of tools keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentforge.testing import PluginContract, ToolSourceContract
from agentforge_http import HttpBody, HttpSender, HttpTools, bound_http_tool
from plugins.http.tests.support import operation, parameter
from tests.support.loopback import plain, serve

PETS = """
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers: [{url: "https://pets.test/v1"}]
paths:
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: ok}}
"""


class TestPlugin(PluginContract):
    """All of its bean types, as a file declares them."""

    @pytest.fixture(autouse=True)
    def _description(self, tmp_path: Path) -> None:
        self.description = tmp_path / "pets.yaml"
        self.description.write_text(PETS)

    def plugin(self) -> str:
        """As it is installed."""
        return "http"

    def beans(self) -> Mapping[str, Mapping[str, Any]]:
        """One of each type."""
        return {
            "one": {"type": "http.tool", "url": "https://api.test/x", "auth": {"token": "login"}},
            "several": {"type": "http.tools", "base_url": "https://api.test", "tools": [{"name": "a", "path": "/a"}]},
            "pets": {"type": "http.openapi", "spec": str(self.description)},
            "login": {
                "type": "http.client_credentials",
                "token_url": "https://login.test/token",
                "client_id": "me",
                "client_secret": "secret-1",
            },
        }


class TestTools(ToolSourceContract):
    """Tools that read and write, over a real connection."""

    @asynccontextmanager
    async def source(self) -> AsyncIterator[HttpTools]:
        """Two of one API."""
        schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
        async with serve(plain()) as server:
            sender = HttpSender()
            made = [
                operation(
                    server.url(""),
                    "/{id}",
                    name="look",
                    description="Looks.",
                    schema=schema,
                    parameters=(parameter("id", "path"),),
                ),
                operation(
                    server.url(""),
                    "/",
                    "POST",
                    name="write",
                    description="Writes.",
                    schema=schema,
                    body=HttpBody("application/json", members={"id": "id"}),
                ),
            ]
            source = HttpTools([bound_http_tool(each, sender) for each in made], sender)
            yield source
            await source.aclose()

    def examples(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        """One of each."""
        return (("look", {"id": "a"}), ("write", {"id": "a"}))


def test_a_source_is_closed_twice_without_harm() -> None:
    """As every bean."""

    async def work() -> None:
        source = HttpTools([], HttpSender())
        await source.aclose()
        await source.aclose()

    asyncio.run(work())
