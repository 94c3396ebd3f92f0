"""Vendors that other plugins bring, and the environment that a file's application has: as a user meets them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.config import ConfigurationFaults
from agentforge.errors import ConfigurationError
from agentforge.plugin import Found, Plugins, VendorProfile
from agentforge.testing import ScriptedEndpoint
from agentforge_openai import VENDORS, VendorRow
from agentforge_openai.vendors import CHAT_VENDORS

OPENAI = Found("openai", "agentforge_openai.plugin", "agentforge-plugin-openai", "0.1.0")
SOURCE = """
from agentforge.plugin import hookimpl

@hookimpl
def agentforge_vendor_profiles(register):
    register("openai", {name!r}, {row!r})
"""
Bring = Callable[..., Plugins]


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bring]:
    """The plugins of this checkout and one that brings a vendor."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def made(row: dict[str, object], name: str = "acme") -> Plugins:
        (tmp_path / "fake_acme.py").write_text(SOURCE.format(name=name, row=row), "utf-8")
        return Plugins(entry_points=[OPENAI, Found("acme", "fake_acme", "fake-acme", "1")])

    yield made
    sys.modules.pop("fake_acme", None)


def write(folder: Path, model: str, *, plugins: str = "[acme]") -> Path:
    """A file with one model."""
    path = folder / "agentforge.yaml"
    path.write_text(f"plugins: {plugins}\nbeans:\n  model: {{type: openai.chat, model: m, {model}}}\n", "utf-8")
    return path


def faults(path: Path, plugins: Plugins, environment: dict[str, str] | None = None) -> list[str]:
    """What `check` finds: line, and words with their next step."""
    try:
        AgentForge.load(path, plugins=plugins, environment=environment or {}).check()
    except ConfigurationFaults as found:
        return [f"{each.mark.line}: {each.message} | {each.next_step}" for each in found.diagnostics]
    return []


async def test_a_vendor_of_another_plugin_is_named_like_ours(tmp_path: Path, bring: Bring) -> None:
    """Its address, its key's variable and its forms are those of the row, down to the wire."""
    async with ScriptedEndpoint(["Hello."]) as endpoint:
        row: dict[str, object] = {
            "base_url": endpoint.base_url,
            "key_variable": "ACME_KEY",
            "key_required": True,
            "max_tokens_field": "max_completion_tokens",
        }
        path = write(tmp_path, "vendor: acme, defaults: {max_output_tokens: 7}")
        app = AgentForge.load(path, plugins=bring(row), environment={"ACME_KEY": "acme-0123456789"})
        async with app:
            from agentforge import ChatRequest

            response = await app.get("model").chat(ChatRequest("Hi"))
            assert "vendor='acme'" in repr(app.get("model"))

    [request] = endpoint.requests
    assert response.ai_message.text == "Hello."
    assert request.headers["authorization"] == "Bearer acme-0123456789"
    assert request.body["max_completion_tokens"] == 7


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"base_uri": "x"}, "unknown setting 'base_uri' | Did you mean 'base_url'?"),
        ({"auth": "basic"}, "'auth' is 'bearer', 'api-key' or 'x-api-key', and this is something else"),
        ({"capabilities": {"imags": True}}, "capabilities: unknown setting 'imags' | Did you mean 'images'?"),
        ({"thinking": {"models": "(", "switch": "thinking"}}, "'models' does not fit: it is no regular expression"),
        ({"base_url": "ftp://acme.example"}, "base_url is not an http or https address"),
        ({"key_variable": "ACME_KEY", "key_required": True}, "'acme' has no address of its own"),
        (
            {"base_url": "https://acme.example", "key_variable": "ACME_KEY", "key_required": True},
            "vendor 'acme' needs an API key and none was given | Set the environment variable ACME_KEY",
        ),
    ],
)
def test_what_is_wrong_with_a_vendor_is_found_by_check(
    tmp_path: Path, bring: Bring, row: dict[str, object], words: str
) -> None:
    """At the bean that names it, with the plugin where the row itself is wrong."""
    [found] = faults(write(tmp_path, "vendor: acme"), bring(row))

    assert found.startswith("3: ") and words in found
    assert ("of the plugin 'acme' is wrong" in found) == ("needs an API key" not in found and "no address" not in found)


def test_a_vendor_that_nobody_brings_says_how_one_comes(tmp_path: Path, bring: Bring) -> None:
    """The nearest name, brought ones among them; a plugin that is not named brings none."""
    plugins = bring({"base_url": "https://acme.example"})

    [near] = faults(write(tmp_path, "vendor: acne"), plugins)
    assert "there is no vendor row 'acne' | Did you mean 'acme'?" in near
    [missing] = faults(write(tmp_path, "vendor: acme", plugins="[]"), bring({"base_url": "https://acme.example"}))
    assert (
        "there is no vendor row 'acme'" in missing
        and "name the plugin that brings one in 'plugins' of the file" in missing
    )


def test_a_vendor_may_not_take_the_name_of_ours(tmp_path: Path, bring: Bring) -> None:
    """A key would go to another address; other vendors are as they were."""
    plugins = bring({"base_url": "https://acme.example"}, name="deepseek")

    [found] = faults(write(tmp_path, "vendor: deepseek, api_key: sk-0123456789"), plugins)
    assert "'deepseek' of the plugin 'acme' has the name of a vendor that is there already" in found
    assert faults(write(tmp_path, "vendor: ollama"), bring({}, name="deepseek")) == []


def test_every_row_of_ours_could_be_brought() -> None:
    """What `VendorRow` holds can be written as data, and comes back as the same row."""
    from dataclasses import asdict, replace

    for name, row in VENDORS.items():
        given = {key: value for key, value in asdict(row).items() if key not in ("name", "named_by_user")}
        for field in ("name", "replay", "strict_subset"):  # what the row itself says
            given["capabilities"].pop(field)
        made = CHAT_VENDORS.made("house", VendorProfile("openai", "house", given, plugin="acme"))
        assert replace(made, name=name) == row


def test_a_name_of_ours_stays_a_name() -> None:
    """The model looks it up itself."""
    assert CHAT_VENDORS.named("deepseek", {}) == "deepseek" and CHAT_VENDORS.named(None, {}) is None
    made = CHAT_VENDORS.named("acme", {"acme": VendorProfile("openai", "acme", {}, plugin="acme")})
    assert isinstance(made, VendorRow) and made.name == "acme"
    with pytest.raises(ConfigurationError, match="'unknown' is wrong: unknown setting 'nonsense'"):
        CHAT_VENDORS.made("acme", {"nonsense": 1})


KEYS: list[tuple[dict[str, str] | None, str, bool]] = [
    ({"OPENAI_API_KEY": "sk-given-012345"}, "", True),
    ({}, "OPENAI_API_KEY=sk-dotenv-012345\n", True),
    ({}, "", False),
]


@pytest.mark.parametrize(("environment", "dotenv", "good"), KEYS)
def test_a_vendors_variables_are_those_of_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], dotenv: str, good: bool
) -> None:
    """The given environment and the .env file count; of the process's variables nothing is seen."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-process-012345")
    (tmp_path / ".env").write_text(dotenv, "utf-8")
    path = write(tmp_path, "vendor: openai", plugins="[]")
    app = AgentForge.load(path, environment=environment)
    if not good:
        with pytest.raises(ConfigurationFaults, match="needs an API key"):
            app.check()
        return
    with app:
        model: Any = app.get("model")
        assert model.secrets.mask(f"{environment.get('OPENAI_API_KEY', 'sk-dotenv-012345')}") == "***"
        assert model.secrets.mask("sk-process-012345") == "sk-process-012345"


def test_without_a_given_environment_the_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it always does for `AgentForge.load`."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-process-012345")

    AgentForge.load(write(tmp_path, "vendor: openai", plugins="[]")).check()
