"""Where requests go: the row's address, `OLLAMA_HOST` as Ollama's own programs read it, or what was given."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge_ollama import OllamaChatModel
from agentforge_ollama.host import address_of
from plugins.ollama.tests.support import FakeTransport, model_on


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("1.2.3.4:56789", "http://1.2.3.4:56789"),
        ("http://1.2.3.4", "http://1.2.3.4"),
        ("https://1.2.3.4", "https://1.2.3.4"),
        ("https://1.2.3.4:56789", "https://1.2.3.4:56789"),
        ("gpu-box.example", "http://gpu-box.example:11434"),
        ("gpu-box.example:56789/", "http://gpu-box.example:56789"),
        ("gpu-box.example/path/", "http://gpu-box.example:11434/path"),
        ("https://gpu-box.example/a/b", "https://gpu-box.example/a/b"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[0001:002:003:0004::1]:56789/path", "http://[0001:002:003:0004::1]:56789/path"),
        ("http://[::1]", "http://[::1]"),
        ("http://", "http://127.0.0.1"),
        ("ollama.com", "https://ollama.com"),
        (" 'gpu-box' ", "http://gpu-box:11434"),
        ('"gpu-box"', "http://gpu-box:11434"),
        # What a server is told to listen on, which no client can connect to everywhere.
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("[::]:8080", "http://[::1]:8080"),
        ("http://0.0.0.0:80", "http://127.0.0.1:80"),
    ],
)
def test_a_host_stands_for_an_address(host: str, address: str) -> None:
    assert address_of(host) == address


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({}, "http://localhost:11434"),
        ({"environment": {"OLLAMA_HOST": "gpu-box"}}, "http://gpu-box:11434"),
        ({"environment": {"OLLAMA_HOST": " "}}, "http://localhost:11434"),
        ({"environment": {"OLLAMA_HOST": "gpu-box"}, "base_url": "http://other:1"}, "http://other:1"),
        ({"vendor": "ollama", "environment": {"OLLAMA_HOST": "gpu-box"}}, "http://gpu-box:11434"),
        (
            {"vendor": "ollama-cloud", "api_key": "k", "environment": {"OLLAMA_HOST": "gpu-box"}},
            "https://ollama.com",
        ),
        ({"vendor": "generic", "base_url": "https://house.example/llm"}, "https://house.example/llm"),
    ],
)
def test_the_address_is_given_or_in_the_environment_or_the_rows(options: dict[str, Any], address: str) -> None:
    assert OllamaChatModel(**{"model": "m", "environment": {}, **options}).base_url == address


@pytest.mark.parametrize(
    ("options", "vendor"),
    [
        ({}, "ollama"),
        ({"base_url": "http://localhost:11434"}, "ollama"),
        ({"base_url": "http://localhost:11434/v1"}, "ollama"),
        ({"base_url": "http://gpu-box:11434"}, "generic"),
        ({"environment": {"OLLAMA_HOST": "gpu-box"}}, "ollama"),
        ({"base_url": "https://ollama.com", "api_key": "k"}, "ollama-cloud"),
        ({"api_key": "k", "environment": {"OLLAMA_HOST": "https://ollama.com"}}, "ollama-cloud"),
        ({"environment": {"OLLAMA_HOST": "ollama.com", "OLLAMA_API_KEY": "k"}}, "ollama-cloud"),
    ],
)
def test_the_row_follows_from_the_address(options: dict[str, Any], vendor: str) -> None:
    model = OllamaChatModel(**{"model": "m", "environment": {}, **options})
    assert f"vendor={vendor!r}" in repr(model)


@pytest.mark.parametrize(
    "host", ["gpu box", "gpu-box:port", "https://user:pass@gpu-box", "ftp://gpu-box", "gpu-box?x=1"]
)
def test_a_host_that_is_none_is_found_at_once(host: str) -> None:
    """The error names the variable."""
    with pytest.raises(ConfigurationError, match="OLLAMA_HOST") as caught:
        OllamaChatModel(model="m", environment={"OLLAMA_HOST": host})
    assert caught.value.next_step and "pass" not in caught.value.message


@pytest.mark.parametrize(
    "base_url",
    [
        "http://gpu-box.example:11434",
        "http://gpu-box.example:11434/",
        "http://gpu-box.example:11434/api",
        "http://gpu-box.example:11434/v1",
    ],
)
async def test_the_path_is_added_to_what_people_have_at_hand(base_url: str) -> None:
    """The address alone, with the API's path, or that of the server's OpenAI form."""
    transport = FakeTransport()
    await model_on(transport, base_url=base_url).chat(_hello())
    assert transport.requests[0].url == "http://gpu-box.example:11434/api/chat"


def _hello() -> Any:
    from agentforge.model import ChatRequest

    return ChatRequest("q")
