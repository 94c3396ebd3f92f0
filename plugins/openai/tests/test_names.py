"""Names that a vendor would refuse travel under an alias and come back as themselves."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import alias_map, alias_of, call_id_of
from plugins.openai.tests.support import exchange, message, piece

RULES = [
    r"^[a-zA-Z0-9_-]{1,64}$",
    r"^[a-zA-Z_][a-zA-Z0-9-_]{2,63}$",
    r"^[a-z_]{1,24}$",
]


@given(st.text(max_size=200), st.sampled_from(RULES[:2]))
def test_an_alias_fits_the_rule_and_is_the_same_every_time(name: str, rule: str) -> None:
    alias = alias_of(name, rule)
    assert re.fullmatch(rule, alias)
    assert alias_of(name, rule) == alias
    if re.fullmatch(rule, name):
        assert alias == name


def test_a_name_that_looks_like_anothers_alias_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="would both be called"):
        alias_map(["files/read", alias_of("files/read", RULES[0])], RULES[0])


@given(st.text(max_size=80), st.sampled_from([r"(?s)^.{1,40}$", r"^[a-zA-Z0-9]{9}$"]))
def test_an_id_fits_the_rule_and_is_the_same_every_time(identity: str, rule: str) -> None:
    made = call_id_of(identity, rule)
    assert re.fullmatch(rule, made)
    assert call_id_of(identity, rule) == made
    if re.fullmatch(rule, identity):
        assert made == identity


def test_a_rule_that_no_id_fits_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="no call id"):
        call_id_of("a", r"^[b]$")


@pytest.mark.parametrize(("vendor", "kept"), [("openai", False), ("azure", False), ("generic", True)])
def test_long_ids_of_other_vendors_are_shortened_in_call_and_result_alike(vendor: str, kept: bool) -> None:
    long = "fc_" + "0" * 50
    call = ToolExecutionRequest(long, "look", "{}")
    request = ChatRequest([UserMessage("q"), AiMessage([call]), ToolExecutionResultMessage(long, "look", "r")])
    body, _ = exchange(request, vendor)
    sent = body["messages"][1]["tool_calls"][0]["id"]
    assert body["messages"][2]["tool_call_id"] == sent
    assert (sent == long) is kept
    assert kept or len(sent) <= 40


def test_a_rule_that_no_alias_fits_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="has no alias"):
        alias_of("A", r"^[b]$")


def test_the_alias_is_used_in_tools_choice_history_and_answers() -> None:
    name = "files/read file"
    alias = alias_of(name, RULES[0])
    call = ToolExecutionRequest("c1", name, "{}")
    request = ChatRequest(
        [UserMessage("q"), AiMessage([call]), ToolExecutionResultMessage("c1", name, "r")],
        ChatRequestParameters(tools=(ToolSpecification(name),), tool_choice=ToolChoice.tool(name)),
    )
    body, response = exchange(request, answer=message("tool_calls", tool_calls=[piece(alias, "{}", id="c2")]))
    assert body["tools"][0]["function"]["name"] == alias
    assert body["tool_choice"]["function"]["name"] == alias
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == alias
    assert response.ai_message.tool_execution_requests[0].name == name
