"""What `type:` in a file may name, and what is said when it names nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

from agentforge.advisor import (
    BudgetAdvisor,
    LoggerAdvisor,
    MessageMemoryAdvisor,
    SafeguardAdvisor,
    StructuredOutputAdvisor,
    SystemPromptAdvisor,
    ToolCallingAdvisor,
    ToolSearchAdvisor,
)
from agentforge.client import ChatClient, ServiceMethod
from agentforge.memory import (
    ChatMemory,
    Everything,
    InMemoryStore,
    MessageWindow,
    SqliteStore,
    Summarising,
    TokenWindow,
)
from agentforge.model import ChatModel
from agentforge.model.fallback import FallbackChatModel
from agentforge.plugin import BeanType, Catalogue, Found, NotFound, Plugins, discover
from agentforge.tool import ToolSource
from agentforge.tool.error import ToolErrorHandler
from agentforge.tool.execution import ToolService
from agentforge.tool.search import ToolIndex

BUILTIN = {
    "ai_service": (object, True),
    "bm25": (ToolIndex, False),
    "budget": (BudgetAdvisor, False),
    "chat_client": (ChatClient, True),
    "chat_memory": (ChatMemory, False),
    "component": (object, True),
    "declared_tools": (ToolSource, True),
    "embedding_index": (ToolIndex, True),
    "everything": (Everything, False),
    "factory": (object, True),
    "fallback": (FallbackChatModel, True),
    "in_memory_store": (InMemoryStore, False),
    "keyword": (ToolIndex, False),
    "list_known_tools": (ToolErrorHandler, False),
    "logger": (LoggerAdvisor, False),
    "mask": (ToolErrorHandler, False),
    "message_memory": (MessageMemoryAdvisor, False),
    "message_window": (MessageWindow, False),
    "python_tools": (ToolSource, True),
    "refreshing_tools": (ToolSource, True),
    "rethrow": (ToolErrorHandler, False),
    "return_to_model": (ToolErrorHandler, False),
    "safeguard": (SafeguardAdvisor, False),
    "scripted": (ChatModel, False),
    "service_method": (ServiceMethod, False),
    "sqlite_store": (SqliteStore, True),
    "structured_output": (StructuredOutputAdvisor, False),
    "summarising_window": (Summarising, True),
    "system_prompt": (SystemPromptAdvisor, True),
    "template": (ToolErrorHandler, True),
    "token_window": (TokenWindow, True),
    "tool_calling": (ToolCallingAdvisor, False),
    "tool_search": (ToolSearchAdvisor, False),
    "tool_service": (ToolService, False),
    "tool_view": (ToolSource, True),
}

NOT_FOUND = [
    ("chat_clint", "unknown", "chat_client", "there is no bean type 'chat_clint'"),
    ("zzzzzz", "unknown", None, "there is no bean type 'zzzzzz'"),
    ("", "unknown", None, "there is no bean type ''"),
    ("vendor.chat", "plugin missing", None, "needs a plugin 'vendor', and none of that name is installed"),
    ("opena.chat", "plugin missing", "openai.chat", "needs a plugin 'opena'"),
    (".chat", "plugin missing", None, "needs a plugin ''"),
    ("openai.chatt", "unknown", "openai.chat", "the plugin 'openai' has no bean type 'openai.chatt'"),
    ("openai.zzzzzz", "unknown", None, "the plugin 'openai' has no bean type"),
    ("openai", "unknown", "openai.chat", "'openai' is a plugin, not a bean type"),
]


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue(Plugins())


def test_the_core_brings_these_types(catalogue: Catalogue) -> None:
    """Each with the contract that it provides, and whether its name alone is a definition."""
    names = [name for name in catalogue.known_types() if "." not in name]
    found: dict[str, tuple[type, bool]] = {}
    for name in names:
        item = catalogue.find(name)
        assert isinstance(item, BeanType) and item.name == name and item.summary.endswith(".")
        found[name] = item.provides, item.needs_settings

    assert found == BUILTIN


def _settings(models: Iterable[type]) -> Iterable[type]:
    from agentforge.plugin import BeanSettings

    for model in models:
        yield model
        assert issubclass(model, BeanSettings)
        for field in model.model_fields.values():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BeanSettings):
                yield from _settings([field.annotation])


@pytest.mark.parametrize("name", [*BUILTIN, "openai.chat", "openai.embeddings"])
def test_every_setting_is_described(catalogue: Catalogue, name: str) -> None:
    """Each field of a settings model, those inside it too, says what it is."""
    item = catalogue.find(name)
    assert isinstance(item, BeanType)

    silent = [
        f"{model.__name__}.{field}"
        for model in _settings([item.settings])
        for field, info in model.model_fields.items()  # type: ignore[attr-defined]
        if not info.description
    ]

    assert silent == []


@pytest.mark.parametrize(("name", "reason", "nearest", "detail"), NOT_FOUND)
def test_a_type_that_is_not_there_says_why(
    catalogue: Catalogue, name: str, reason: str, nearest: str | None, detail: str
) -> None:
    """With the nearest name where there is one, and always with what to do."""
    found = catalogue.find(name)

    assert isinstance(found, NotFound)
    assert (found.reason, found.nearest) == (reason, nearest)
    assert detail in found.detail and found.next_step


def test_a_missing_plugin_names_the_distribution_to_install_where_it_is_ours() -> None:
    """Those of our own extras; a name that follows the rule may be anybody's, and nobody is told to install it."""
    catalogue = Catalogue(Plugins(entry_points=()))
    ours, other, odd = (catalogue.find(name) for name in ("local.llama", "my_vendor.chat", "../x.y"))

    assert isinstance(ours, NotFound) and isinstance(other, NotFound) and isinstance(odd, NotFound)
    assert ours.next_step == "Install agentforge-plugin-local."
    assert other.next_step == (
        "Correct the name, or look for a distribution that brings 'my_vendor' in the group agentforge_kit.plugin."
    )
    assert odd.next_step == "Correct the type's name."
    assert [catalogue.providers_hint(name) for name in ("local.llama", "fast.x", "my_vendor.chat", "chat_client")] == [
        "agentforge-plugin-local",
        None,
        None,
        None,
    ]


def test_installed_plugins_are_found_by_their_metadata() -> None:
    """With name, module, distribution and version."""
    found = [entry for entry in discover() if entry.name == "openai"]

    assert [(entry.value, entry.distribution) for entry in found] == [
        ("agentforge_openai.plugin", "agentforge-plugin-openai")
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "from agentforge.plugin import Plugins, discover; discover(); Plugins().states()",
        "from agentforge.plugin import Catalogue, Plugins; Catalogue(Plugins())",
    ],
)
def test_listing_plugins_loads_no_library(statement: str) -> None:
    """Neither a plugin nor pydantic nor pluggy: a listing is metadata."""
    script = (
        f"import sys; {statement};"
        "print(sorted({'pydantic', 'pluggy', 'httpx', 'agentforge_openai'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True, timeout=60)

    assert done.stdout.strip() == "[]"


def test_a_plugin_named_like_the_core_cannot_take_its_place() -> None:
    """The core's own registration has a name that no entry point can have."""
    catalogue = Catalogue(Plugins(entry_points=[Found("agentforge", "no_such_module", "fake", "1")]))

    assert isinstance(catalogue.find("agentforge.chat"), NotFound)
    assert isinstance(catalogue.find("chat_client"), BeanType)
