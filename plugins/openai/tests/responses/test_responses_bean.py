"""The bean types `openai.responses` and `openai.chat` in a file: their settings, and what is found wrong in them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.masking import Secrets
from agentforge.model import ChatModel
from agentforge.plugin import BeanContext, BeanType, Catalogue, Components, Plugins
from agentforge_openai import OpenAiResponsesModel, ResponsesForm, responses_type
from agentforge_openai.responses.form import responses_row
from agentforge_openai.vendors import CHAT_VENDORS

BASE = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-123456"}


@pytest.fixture
def bean_type() -> BeanType:
    """As a file finds it."""
    found = Catalogue(Plugins()).find("openai.responses")
    assert isinstance(found, BeanType)
    return found


@pytest.fixture
def context(tmp_path: Path) -> BeanContext:
    return BeanContext("model", tmp_path, Components((), tmp_path), Secrets())


def test_a_file_makes_a_chat_model(bean_type: BeanType, context: BeanContext) -> None:
    model = bean_type.create(bean_type.settings(**BASE), context)
    assert bean_type.provides is ChatModel
    assert isinstance(model, OpenAiResponsesModel)
    assert repr(model) == "OpenAiResponsesModel(vendor='generic', model='m', base_url='http://127.0.0.1:9/v1')"
    assert bean_type.endpoints is not None
    assert list(bean_type.endpoints(bean_type.settings(**BASE), context)) == ["http://127.0.0.1:9/v1"]


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        ({}, "state", "replay"),
        ({"state": "previous_response"}, "state", "previous_response"),
        ({"encrypted_reasoning": True}, "encrypted_reasoning", True),
        ({"reasoning_summary": "auto"}, "reasoning_summary", "auto"),
        ({"names": "error"}, "names", "error"),
        ({"api_version": "2025-04-01-preview"}, "api_version", "2025-04-01-preview"),
    ],
)
def test_every_setting_reaches_the_model(
    bean_type: BeanType,
    context: BeanContext,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    name: str,
    value: Any,
) -> None:
    """And each argument of the model but the client of the caller's own has one."""
    seen: dict[str, Any] = {}

    class Noting(OpenAiResponsesModel):
        def __init__(self, **given: Any) -> None:
            seen.update(given)
            super().__init__(**given)

    monkeypatch.setattr(responses_type, "OpenAiResponsesModel", Noting)
    bean_type.create(bean_type.settings(**BASE, **settings), context)
    assert seen[name] == value
    assert set(inspect.signature(OpenAiResponsesModel).parameters) - set(seen) == {"http_client", "max_retries"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"state": "server"}, "state"),
        ({"state": "previous_response", "vendor": "deepseek"}, "keeps no responses"),
        ({"reasoning_summary": "long"}, "reasoning_summary"),
        ({"modle": "m"}, "modle"),
        ({"profile_overrides": {"max_tool": 5}}, "profile_overrides has no field 'max_tool'"),
    ],
)
def test_what_the_model_would_refuse_is_found_with_the_settings(
    bean_type: BeanType, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match="validation error") as caught:
        bean_type.settings(**{**BASE, **settings})
    assert message in str(caught.value)
    assert "sk-123456" not in str(caught.value)


def test_the_chat_bean_can_send_tools_here(context: BeanContext) -> None:
    found = Catalogue(Plugins()).find("openai.chat")
    assert isinstance(found, BeanType)
    model: Any = found.create(found.settings(**BASE, tools_need_responses="responses"), context)
    assert isinstance(model._elsewhere, OpenAiResponsesModel)
    with pytest.raises(ValueError, match="tools_need_responses"):
        found.settings(**BASE, tools_need_responses="maybe")


def test_a_row_of_another_plugin_says_what_differs_here() -> None:
    row = CHAT_VENDORS.made(
        "acme",
        {
            "base_url": "https://llm.acme.example/v1",
            "call_id_pattern": "^[a-z0-9]{9}$",
            "responses": {"reasoning_models": "^deep", "sends_store": False, "capabilities": {"audio": True}},
        },
    )
    here = responses_row(row)
    assert (here.capabilities.audio, here.capabilities.seed, here.call_id_pattern) == (True, False, "^[a-z0-9]{9}$")
    assert here.responses == ResponsesForm(reasoning_models="^deep", sends_store=False, capabilities={"audio": True})


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"reasoning_models": "("}, "responses: 'reasoning_models' does not fit: it is no regular expression"),
        ({"call_id_pattern": "["}, "responses: 'call_id_pattern' does not fit: it is no regular expression"),
        ({"capabilities": {"sound": True}}, "responses.capabilities: unknown setting 'sound'"),
        ({"system_role": "boss"}, "responses: 'system_role' is 'system' or 'developer'"),
    ],
)
def test_a_wrong_form_is_a_fault_of_the_row(form: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        CHAT_VENDORS.made("acme", {"base_url": "https://llm.acme.example/v1", "responses": form})
    assert words in raised.value.message
