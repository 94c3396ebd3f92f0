"""`agentforge probe` at a server that is not ours (the package ``llmock``), in the wire forms that it speaks: what it
finds is what that server really does."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from agentforge.cli.main import run
from tests.support.mock_provider import mock_provider

KEY = "sk-of-the-tests-0123456789"
BEANS = {
    "chat": "type: openai.chat, vendor: openai, model: gpt-4o, base_url: URL/v1",
    "responses": "type: openai.responses, vendor: openai, model: gpt-4o, base_url: URL/v1",
    "messages": "type: anthropic.messages, vendor: anthropic, model: claude-sonnet-4-5, base_url: URL/anthropic",
    "gemini": "type: gemini.chat, vendor: gemini, model: gemini-3-pro, base_url: URL/gemini/v1beta",
}
# It calls one tool at a time, the first that it is offered, answers by rote, and holds no schema in one form.
NOT_THERE = {
    "chat": {"system", "tool_choice.allowed", "parallel_tool_calls"},
    "responses": {"system", "tool_choice.allowed", "parallel_tool_calls"},
    "messages": {"system", "parallel_tool_calls", "response_format.json_schema"},
    "gemini": {"system", "parallel_tool_calls"},
}
THERE = {
    "answer",
    "stream",
    "tools",
    "tool_choice.auto",
    "tool_choice.none",
    "tool_choice.required",
    "tool_choice.tool",
    "streamed_calls",
    "tool_result",
    "strict_tools",
    "tools_with_thinking",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The server, ended with the module's last test."""
    with mock_provider() as url:
        yield url


def probed(folder: Path, bean: str, *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the probe."""
    file = folder / "agentforge.yaml"
    file.write_text(f"agentforge: 1\nbeans:\n  model: {{{bean}, api_key: {KEY}}}\n", "utf-8")
    out, err = io.StringIO(), io.StringIO()
    code = run(["probe", "model", *words], stdout=out, stderr=err, environment={"AGENTFORGE_CONFIG": str(file)})
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("form", BEANS)
def test_what_the_server_can_and_cannot_is_found(server: str, tmp_path: Path, form: str) -> None:
    """Against a profile that promises all of it; a row is written that the configuration takes."""
    row = tmp_path / "agentforge-mock.yaml"
    code, out, err = probed(tmp_path, BEANS[form].replace("URL", server), "--json", "--write", str(row))
    capabilities: list[Mapping[str, object]] = json.loads(out)["capabilities"]

    assert code == 1, err
    assert {each["name"] for each in capabilities if each["agrees"] is False} == NOT_THERE[form]
    assert {each["name"] for each in capabilities if each["found"] == "yes"} >= THERE
    assert KEY not in out + err + row.read_text("utf-8")
    environment = {"AGENTFORGE_CONFIG": str(tmp_path / "agentforge.yaml")}
    streams = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    assert run(["check", "--profile", "mock"], environment=environment, **streams) == 0, streams["stderr"].getvalue()


def test_an_address_where_no_model_is_ends_it(server: str, tmp_path: Path) -> None:
    """The server answers, and knows no such path."""
    code, out, err = probed(tmp_path, BEANS["chat"].replace("URL/v1", f"{server}/somewhere"))

    assert (code, out) == (1, "")
    assert "[AF303]" in err and "Check the model's name and base_url" in err
