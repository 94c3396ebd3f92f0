"""Tool search from a file: the advisor with its settings, and the indexes as beans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ChatClient, ScriptedChatModel
from agentforge.advisor import ToolSearchAdvisor
from agentforge.config import ConfigurationFaults
from agentforge.model.scripted import call
from agentforge.tool.search import Bm25Index, EmbeddingIndex, KeywordIndex

DESK = '''
"""What the tests of tool search scan."""

from collections.abc import Sequence

from agentforge import tool
from agentforge.model import EmbeddingResponse, ToolSpecification
from agentforge.tool.search import ToolIndex


class Desk:
    """Two tools."""

    @tool("Cancel an order.")
    def cancel_order(self, order_id: str) -> str:
        return f"{order_id} is cancelled"

    @tool("Weather of a city.")
    def get_weather(self, city: str) -> str:
        return f"{city}: sunny"


class Letters:
    """An embedding model."""

    async def embed(self, texts: Sequence[str]) -> EmbeddingResponse:
        return EmbeddingResponse(tuple([float(text.count(letter)) for letter in "ow"] for text in texts))


class Everything:
    """An index that finds all."""

    names: Sequence[str] = ()

    def rebuild(self, specifications: Sequence[ToolSpecification]) -> ToolIndex:
        made = Everything()
        made.names = [each.name for each in specifications]
        return made

    async def search(self, query: str, limit: int) -> Sequence[str]:
        return self.names[:limit]
'''


def configured(tmp_path: Path, advisor: Any, **beans: Any) -> AgentForge:
    module = f"search_desk_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(DESK)
    client = {"type": "chat_client", "model": "model", "tools": ["desk"], "advisors": [advisor]}
    desk = {"type": "python_tools", "component": "Desk"}
    model = {"type": "scripted", "turns": ["Done."]}
    data = {"scan": [module], "beans": {"model": model, "desk": desk, "assistant": client, **beans}}
    return AgentForge.from_mapping(data, folder=tmp_path)


INDEXES: list[tuple[str, Any, type]] = [
    ("unset", {}, Bm25Index),
    ("by the name of a type", {"index": "bm25"}, Bm25Index),
    ("another type", {"index": "keyword"}, KeywordIndex),
    ("a bean in place", {"index": {"type": "embedding_index", "model": "letters", "min_score": 0.1}}, EmbeddingIndex),
    ("a bean by its name", {"index": "mine"}, KeywordIndex),
    ("a component", {"index": "own"}, object),
]


@pytest.mark.parametrize(("what", "settings", "kind"), INDEXES)
async def test_an_index_is_a_bean(what: str, settings: Any, kind: type, tmp_path: Path) -> None:
    """Or the name of a type; whichever it is, it finds."""
    more = {
        "letters": {"type": "component", "component": "Letters"},
        "own": {"type": "component", "component": "Everything"},
        "mine": {"type": "keyword"},
    }
    model = ScriptedChatModel([call("search_tools", query="order"), "Done."])
    app = configured(tmp_path, {"type": "tool_search", "max_results": 1, **settings}, **more)
    async with app.override("model", model) as running:
        client = running.get(ChatClient)
        await client.prompt("Cancel?").call()
        advisor = client.chain[0].advisor

    assert isinstance(advisor, ToolSearchAdvisor) and isinstance(advisor.indexes.index, kind)
    assert [tool.name for tool in model.requests[1].parameters.tools] == ["search_tools", "cancel_order"]


async def test_every_setting_arrives(tmp_path: Path) -> None:
    settings = {
        "type": "tool_search",
        "max_results": 3,
        "always": ["get_*"],
        "accumulate": False,
        "max_found": 9,
        "max_indexes": 2,
        "tool_name": "find",
        "system_text": "",
    }
    model = ScriptedChatModel(["Done."])
    async with configured(tmp_path, settings).override("model", model) as app:
        client = app.get(ChatClient)
        await client.prompt("?").call()
        advisor = client.chain[0].advisor

    assert isinstance(advisor, ToolSearchAdvisor)
    assert (advisor.max_results, advisor.accumulate, advisor.max_found, advisor.indexes.capacity) == (3, False, 9, 2)
    assert [tool.name for tool in model.requests[0].parameters.tools] == ["find", "get_weather"]
    assert len(model.requests[0].messages) == 1


FAULTY: list[tuple[dict[str, Any], str]] = [
    ({"max_results": 21}, "max_results is a whole number from 1 to 20, not 21"),
    ({"index": "keywrd"}, "no bean is called 'keywrd'"),
    ({"index": "model"}, "'model'"),
    ({"index": {"type": "embedding_index", "model": "model"}}, "'model'"),
    ({"index": {"type": "embedding_index", "model": "letters", "min_score": 2}}, "min_score"),
]


@pytest.mark.parametrize(("settings", "message"), FAULTY)
def test_what_cannot_be_is_found_by_check(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    letters = {"type": "component", "component": "Letters"}
    with pytest.raises(ConfigurationFaults) as raised:
        configured(tmp_path, {"type": "tool_search", **settings}, letters=letters).check()
    assert any(message in f"{fault.path} {fault.message}" for fault in raised.value.diagnostics)


def test_it_stands_outside_of_the_loop(tmp_path: Path) -> None:
    configured(tmp_path, "tool_search").check()
    wrong = {"type": "chat_client", "model": "model", "advisors": ["tool_calling", "tool_search"]}
    with pytest.raises(ConfigurationFaults, match="'tool_search' wants to stand before 'tool_calling'"):
        configured(tmp_path, "tool_search", assistant=wrong).check()
