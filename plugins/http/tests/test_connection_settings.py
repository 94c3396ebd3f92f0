"""How a server is reached, as a file says it: certificates, proxy, connections, time-outs, each seen on the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentforge import AgentForge
from agentforge.tool.execution import ToolOutcome
from plugins.http.tests.support import executed
from plugins.http.tests.test_beans import tools_of
from tests.support.loopback import make_certificate, plain, serve, stall


async def asked(folder: Path, times: int = 1, **bean: Any) -> list[tuple[ToolOutcome, str]]:
    """Outcome and text of calls at once of the one tool of a file in the folder."""
    file = folder / "agentforge.yaml"
    file.write_text(json.dumps({"beans": {"probe": {"type": "http.tool", **bean}}}))
    async with AgentForge.load(file, environment={}) as app:
        (tool,) = (await tools_of(app)).values()
        executions = await asyncio.gather(*(executed(tool) for _ in range(times)))
    return [(each.outcome, each.result_text()) for each in executions]


async def test_which_certificates_are_trusted(tmp_path: Path) -> None:
    """Those of the file, which is looked for beside the configuration; or any, where it says so."""
    certificate, context = make_certificate(tmp_path)
    cases: list[tuple[Mapping[str, Any], ToolOutcome]] = [
        ({}, ToolOutcome.FAILED),
        ({"ca_bundle": certificate.name}, ToolOutcome.OK),
        ({"insecure_skip_tls_verification": True}, ToolOutcome.OK),
    ]
    async with serve(plain(), context=context) as server:
        url = server.url("/x", host="localhost")
        for settings, outcome in cases:
            ((found, text),) = await asked(tmp_path, url=url, **settings)
            assert found is outcome, text


async def test_a_proxy_is_asked_and_its_password_is_shown_nowhere(tmp_path: Path) -> None:
    """Neither where it or the API sends it back."""
    async with serve(plain(b'{"you": "ann:pw-12345"}')) as proxy:
        settings = {"proxy": f"http://ann:pw-12345@127.0.0.1:{proxy.port}"}
        answers = await asked(tmp_path, url="http://api.test/x", **settings)

    assert answers == [(ToolOutcome.OK, '{"you":"ann:***"}')]
    assert [seen.target for seen in proxy.requests] == ["http://api.test/x"]


async def test_no_more_connections_than_the_file_allows(tmp_path: Path) -> None:
    """Calls at once wait for one that is free."""
    async with serve(plain()) as server:
        url = server.url("/x")
        assert {outcome for outcome, _ in await asked(tmp_path, 3, url=url)} == {ToolOutcome.OK}
        assert server.connections == 3
        await asked(tmp_path, 3, url=url, max_connections=1)
        assert (server.connections, len(server.requests)) == (4, 6)


async def test_an_answer_is_waited_for_as_long_as_the_file_says(tmp_path: Path) -> None:
    """What ends the call is the wait for bytes, not that for the whole call."""
    async with serve(stall()) as server:
        settings = {"timeouts": {"read": 0.1}, "timeout": 60}
        ((outcome, text),) = await asked(tmp_path, url=server.url("/x"), **settings)

    assert outcome is ToolOutcome.TIMED_OUT and "did not answer in time" in text and "0.1 s" in text
