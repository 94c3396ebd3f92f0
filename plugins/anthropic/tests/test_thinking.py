"""How each family of models is asked to think, and what that forbids."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ProviderState,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_anthropic import CLAUDE, VENDORS, ModelFamily
from agentforge_anthropic.families import UNKNOWN, family_of
from agentforge_anthropic.rows import VERSIONS
from plugins.anthropic.tests.support import FakeTransport, body_of, exchange, model_on, notice_codes
from tests.support.wire_exchange import WEATHER

#: A model of each family: how it thinks, how it does not, its efforts, forced calls, sampling.
MODELS = {
    "claude-fable-5-2": ("adaptive", None, 5, False, False),
    "claude-mythos-5-1": ("adaptive", None, 5, False, False),
    "claude-opus-5-5": ("adaptive", None, 5, False, False),
    "claude-sonnet-5-5": ("adaptive", "between_tools", 5, False, False),
    "claude-haiku-5-5": ("adaptive", "disabled", 5, True, False),
    "claude-opus-5": ("adaptive", "disabled", 5, True, False),
    "claude-fable-5": ("adaptive", None, 5, True, False),
    "claude-mythos-preview": ("adaptive", None, 5, False, False),
    "claude-sonnet-5": ("adaptive", "disabled", 5, True, False),
    "claude-opus-4-8": ("adaptive", "omit", 5, True, False),
    "claude-opus-4-7": ("adaptive", "omit", 5, True, False),
    "claude-opus-4-6": ("adaptive", "omit", 4, True, True),
    "claude-sonnet-4-6": ("adaptive", "omit", 4, True, True),
    "claude-opus-4-5-20251101": ("budget", "omit", 3, True, True),
    "claude-sonnet-4-5": ("budget", "omit", 0, True, True),
    "claude-haiku-4-5-20251001": ("budget", "omit", 0, True, True),
    "claude-opus-4-1": ("budget", "omit", 0, True, True),
    "claude-sonnet-4-0": ("budget", "omit", 0, True, True),
    "claude-opus-4-20250514": ("budget", "omit", 0, True, True),
    "claude-4-sonnet-20250514": ("budget", "omit", 0, True, True),
    "claude-3-7-sonnet-latest": ("budget", "omit", 0, True, True),
    "claude-3-5-haiku-20241022": ("none", "omit", 0, True, True),
    "claude-3-haiku-20240307": ("none", "omit", 0, True, True),
    "claude-opus-7": ("adaptive", "disabled", 5, True, False),
    "anthropic.claude-opus-4-6-v1": ("adaptive", "omit", 4, True, True),
}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_of_its_family(model: str) -> None:
    family = family_of(model, CLAUDE)
    found = (family.thinking, family.off, len(family.efforts), family.forced_choice, family.sampling)
    assert found == MODELS[model]


def test_a_name_of_ones_own_is_of_no_family() -> None:
    assert family_of("my-model", CLAUDE) is UNKNOWN


def test_a_pattern_that_is_none_is_found_when_the_family_is_made() -> None:
    with pytest.raises(ConfigurationError):
        ModelFamily(models="(")


def asked(model: str, effort: Any, **more: Any) -> dict[str, Any]:
    """What is said of thinking, and the limit."""
    body = body_of("q", ChatRequestParameters(reasoning_effort=effort, **more), model=model)
    return {name: body[name] for name in ("thinking", "output_config", "max_tokens") if name in body}


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("claude-opus-5-5", None, {"max_tokens": 32_000}),
        (
            "claude-opus-5-5",
            "xhigh",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}, "max_tokens": 32_000},
        ),
        (
            "claude-opus-4-8",
            "low",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}, "max_tokens": 32_000},
        ),
        ("claude-opus-4-8", "none", {"max_tokens": 32_000}),
        ("claude-opus-5", "none", {"thinking": {"type": "disabled"}, "max_tokens": 32_000}),
        ("claude-sonnet-5-5", "none", {"thinking": {"type": "between_tools"}, "max_tokens": 32_000}),
        (
            "claude-haiku-4-5",
            "low",
            {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 8_000 + 2048},
        ),
        (
            "claude-haiku-4-5",
            "xhigh",
            {"thinking": {"type": "enabled", "budget_tokens": 24_000}, "max_tokens": 32_000},
        ),
        (
            "claude-opus-4-5",
            "medium",
            {
                "thinking": {"type": "enabled", "budget_tokens": 8192},
                "output_config": {"effort": "medium"},
                "max_tokens": 16_192,
            },
        ),
        ("claude-haiku-4-5", "none", {"max_tokens": 8_000}),
        ("claude-3-haiku-20240307", "none", {"max_tokens": 4_096}),
    ],
)
def test_an_effort_is_said_in_the_models_way(model: str, effort: Any, expected: dict[str, Any]) -> None:
    assert asked(model, effort) == expected


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("claude-opus-5-5", "minimal", "low"),
        ("claude-opus-4-6", "xhigh", "high"),
        ("claude-opus-4-5", "minimal", "low"),
    ],
)
def test_a_level_that_the_model_does_not_know_becomes_the_nearest_and_that_is_said(
    model: str, effort: Any, sent: str
) -> None:
    body, response = exchange("q", ChatRequestParameters(reasoning_effort=effort), model=model)
    assert body["output_config"] == {"effort": sent}
    [notice] = response.notices
    assert notice.code == "reasoning_effort_mapped"
    assert (notice.details["asked"], notice.details["sent"]) == (effort, sent)


def test_a_budget_stays_below_the_limit() -> None:
    """And that it does is said."""
    parameters = ChatRequestParameters(reasoning_effort="high", max_output_tokens=4000)
    body, response = exchange("q", parameters, model="claude-haiku-4-5")
    assert (body["thinking"]["budget_tokens"], body["max_tokens"]) == (2000, 4000)
    assert [notice.code for notice in response.notices] == ["thinking_budget_reduced"]
    with pytest.raises(UnsupportedFeatureError):
        asked("claude-haiku-4-5", "low", max_output_tokens=1000)


@pytest.mark.parametrize(
    ("policy", "body", "codes"),
    [
        ("map", {"output_config": {"effort": "low"}}, ["reasoning_effort_mapped"]),
        ("drop", {}, ["feature_dropped"]),
    ],
)
def test_a_model_that_always_thinks_cannot_be_asked_not_to(policy: str, body: Any, codes: list[str]) -> None:
    parameters = ChatRequestParameters(reasoning_effort="none")
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", parameters, model="claude-opus-5-5")
    assert caught.value.details["feature"] == "reasoning_effort.none"
    override = {"unsupported": {"reasoning_effort.none": policy}}
    sent, response = exchange("q", parameters, model="claude-opus-5-5", profile_overrides=override)
    assert {name: sent[name] for name in ("thinking", "output_config") if name in sent} == body
    assert [notice.code for notice in response.notices] == codes


def test_a_family_without_levels_that_always_thinks_has_none_to_map_to() -> None:
    row = replace(VENDORS["generic"], families=(ModelFamily(off=None, efforts=()),))
    override = {"unsupported": {"reasoning_effort.none": "map"}}
    options: dict[str, Any] = {"vendor": row, "base_url": "https://llm.example", "profile_overrides": override}
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", ChatRequestParameters(reasoning_effort="none"), **options)
    assert caught.value.details["feature"] == "reasoning_effort.none"


def test_a_model_that_cannot_think_refuses_an_effort() -> None:
    with pytest.raises(UnsupportedFeatureError):
        asked("claude-3-haiku-20240307", "low")


def test_what_is_said_of_thinking_by_hand_goes_out_as_it_is() -> None:
    custom = {"thinking": {"type": "enabled", "budget_tokens": 3000}}
    assert asked("claude-sonnet-4-0", None, custom_parameters=custom) == {**custom, "max_tokens": 11_000}
    adaptive = {"thinking": {"type": "adaptive", "display": "summarized"}}
    assert asked("claude-opus-4-8", "high", custom_parameters=adaptive) == {
        **adaptive,
        "output_config": {"effort": "high"},
        "max_tokens": 32_000,
    }


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("claude-opus-5-5", None, {"type": "adaptive", "display": "summarized"}),
        ("claude-opus-4-8", None, None),
        ("claude-opus-4-8", "high", {"type": "adaptive", "display": "summarized"}),
        ("claude-haiku-4-5", "low", {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}),
        ("claude-haiku-5-5", "none", {"type": "disabled"}),
    ],
)
def test_the_text_of_thinking_can_be_asked_for(model: str, effort: Any, expected: Any) -> None:
    """Where the model thinks at all."""
    body = body_of("q", ChatRequestParameters(reasoning_effort=effort), model=model, thinking_display="summarized")
    assert body.get("thinking") == expected


# -- what thinking, or the model, forbids -----------------------------------------------------------


@pytest.mark.parametrize("choice", ["required", "get_weather"])
@pytest.mark.parametrize(
    ("model", "effort", "feature"),
    [
        ("claude-haiku-4-5", None, None),
        ("claude-haiku-4-5", "low", "forced_choice_with_thinking"),
        ("claude-opus-4-6", "low", None),
        ("claude-haiku-5-5", None, None),
        ("claude-opus-5-5", None, "tool_choice"),
        ("claude-sonnet-5-5", "none", "tool_choice"),
    ],
)
def test_a_forced_call_is_refused_with_a_budget_and_by_some_models(
    choice: str, model: str, effort: Any, feature: str | None
) -> None:
    """A model that decides itself how much it thinks takes one."""
    parameters = ChatRequestParameters(tools=[WEATHER], tool_choice=choice, reasoning_effort=effort)
    if feature is None:
        assert body_of("q", parameters, model=model)["tool_choice"]["type"] in ("any", "tool")
        return
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", parameters, model=model)
    assert caught.value.details["feature"].startswith(feature)
    body, response = exchange("q", parameters, model=model, profile_overrides={"unsupported": {feature: "drop"}})
    assert "tool_choice" not in body
    assert [notice.code for notice in response.notices] == ["feature_dropped"]


def test_an_override_allows_what_the_family_refuses() -> None:
    """As for a model that is newer than the table."""
    parameters = ChatRequestParameters(tools=[WEATHER], tool_choice="required")
    override = {"tool_choice": ["auto", "none", "required", "tool"]}
    body = body_of("q", parameters, model="claude-opus-5-5", profile_overrides=override)
    assert body["tool_choice"] == {"type": "any"}


@pytest.mark.parametrize(
    ("model", "parameters", "options", "feature"),
    [
        ("claude-opus-5-5", {"temperature": 0.5}, {}, "sampling"),
        ("claude-opus-4-7", {"top_p": 0.5}, {}, "sampling"),
        ("claude-haiku-4-5", {"temperature": 0.5}, {"version": VERSIONS[-1]}, "sampling"),
        ("claude-haiku-4-5", {"temperature": 0.5, "reasoning_effort": "low"}, {}, "sampling_with_thinking"),
        ("claude-opus-4-6", {"top_p": 0.5, "reasoning_effort": "low"}, {}, "sampling_with_thinking"),
    ],
)
def test_sampling_is_refused_where_the_model_or_its_thinking_forbids_it(
    model: str, parameters: dict[str, Any], options: dict[str, Any], feature: str
) -> None:
    made = ChatRequestParameters(**parameters)
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", made, model=model, **options)
    assert caught.value.details["feature"] == feature
    override = {"unsupported": {feature: "drop"}}
    body, response = exchange("q", made, model=model, profile_overrides=override, **options)
    assert not {"temperature", "top_p"} & set(body)
    assert [notice.code for notice in response.notices] == ["feature_dropped"]


@pytest.mark.parametrize(
    ("model", "parameters", "sent"),
    [
        ("claude-opus-5-5", {"temperature": 1, "top_p": 1}, {}),
        ("claude-haiku-4-5", {"temperature": 0.5}, {"temperature": 0.5}),
        ("claude-haiku-4-5", {"temperature": 1.0, "reasoning_effort": "low"}, {"temperature": 1.0}),
        ("claude-haiku-4-5", {"top_p": 0.97, "reasoning_effort": "low"}, {"top_p": 0.97}),
        ("claude-3-haiku-20240307", {"temperature": 0.2, "top_p": 0.9}, {"temperature": 0.2, "top_p": 0.9}),
    ],
)
def test_what_is_so_anyhow_or_allowed_is_no_matter(
    model: str, parameters: dict[str, Any], sent: dict[str, Any]
) -> None:
    made = ChatRequestParameters(**parameters)
    body = body_of("q", made, model=model)
    assert {name: body[name] for name in ("temperature", "top_p") if name in body} == sent
    assert notice_codes("q", made, model=model) == []


# -- a loop that another provider began ---------------------------------------------------------------

SIGNED = ThinkingContent("hm", ProviderState("anthropic/messages", {"type": "thinking", "signature": "s=="}))
FOREIGN = ThinkingContent("hm", ProviderState("deepseek", {"reasoning_content": "hm"}))
CALL = ToolExecutionRequest("c1", "get_weather", "{}")
RESULT = ToolExecutionResultMessage("c1", "get_weather", "rain")
ASK = UserMessage("q")


@pytest.mark.parametrize(
    ("messages", "thinks"),
    [
        pytest.param([ASK, AiMessage([SIGNED, CALL]), RESULT], True, id="our own loop"),
        pytest.param([ASK, AiMessage([FOREIGN, CALL]), RESULT], False, id="another provider's"),
        pytest.param([ASK, AiMessage([CALL]), RESULT], False, id="ours, begun without thinking"),
        pytest.param([ASK, AiMessage([TextContent("I look."), SIGNED, CALL]), RESULT], False, id="thinking comes late"),
        pytest.param(
            [ASK, AiMessage([SIGNED, CALL]), RESULT, AiMessage([CALL]), RESULT], True, id="only the first turn counts"
        ),
        pytest.param(
            [ASK, AiMessage([CALL]), RESULT, AiMessage([SIGNED, CALL]), RESULT], False, id="also when it lacks"
        ),
        pytest.param([ASK, AiMessage([CALL]), RESULT, AiMessage("rain"), ASK], True, id="a loop that is over"),
        pytest.param([ASK, AiMessage([CALL]), RESULT, UserMessage("well?")], True, id="the user spoke"),
    ],
)
def test_a_loop_that_began_without_our_thinking_goes_on_without(messages: list[ChatMessage], thinks: bool) -> None:
    """A model with a budget refuses a turn with calls that does not begin with thinking; with a notice it is asked
    without, until the user speaks again."""
    parameters = ChatRequestParameters(tools=[WEATHER], reasoning_effort="low")
    body, response = exchange(messages, parameters, model="claude-haiku-4-5")
    kind = body["thinking"]["type"] if "thinking" in body else None
    assert kind == ("enabled" if thinks else "disabled")
    assert [notice.code for notice in response.notices] == ([] if thinks else ["thinking_off_for_turn"])


def test_a_model_that_decides_itself_takes_any_loop() -> None:
    parameters = ChatRequestParameters(tools=[WEATHER], reasoning_effort="low")
    body = body_of([ASK, AiMessage([FOREIGN, CALL]), RESULT], parameters, model="claude-opus-4-6")
    assert body["thinking"] == {"type": "adaptive"}


def test_other_hosts_are_asked_in_the_older_way_and_take_any_loop() -> None:
    """They speak the form, and need not keep all its rules."""
    parameters = ChatRequestParameters(tools=[WEATHER], reasoning_effort="low")
    body = body_of([ASK, AiMessage([FOREIGN, CALL]), RESULT], parameters, vendor="generic", model="deepseek-v4-flash")
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "output_config" not in body
    off = body_of("q", ChatRequestParameters(reasoning_effort="none"), vendor="generic", model="deepseek-v4-flash")
    assert off["thinking"] == {"type": "disabled"}
    claude = body_of("q", parameters, vendor="generic", model="claude-opus-5-5")
    assert claude["thinking"] == {"type": "adaptive"}


def test_what_would_be_sent_for_such_a_loop_can_be_seen_before() -> None:
    parameters = ChatRequestParameters(tools=[WEATHER], reasoning_effort="low")
    request = ChatRequest([ASK, AiMessage([FOREIGN, CALL]), RESULT], parameters)
    body, notices = model_on(model="claude-haiku-4-5").preview(request)
    assert b'"thinking":{"type":"disabled"}' in body
    assert [notice.code for notice in notices] == ["thinking_off_for_turn"]


def test_such_a_loop_is_encoded_once_all_the_same() -> None:
    """Each round finds what the one before it made, and the request that thinks has the same turns as the one that is
    sent: it costs what a loop without thinking does."""

    def costs(effort: Any) -> list[int]:
        parameters = ChatRequestParameters(tools=[WEATHER], reasoning_effort=effort)
        model = model_on(FakeTransport(), model="claude-haiku-4-5")
        messages: list[ChatMessage] = [ASK]
        found: list[int] = []
        for number in range(6):
            messages += [AiMessage([ToolExecutionRequest(f"c{number}", "get_weather", "{}")])]
            messages += [ToolExecutionResultMessage(f"c{number}", "get_weather", "rain")]
            before = model._encoder.encoded_bytes
            asyncio.run(model.chat(ChatRequest(messages, parameters)))
            found.append(model._encoder.encoded_bytes - before)
        return found

    assert costs("low") == costs(None) and len(set(costs("low")[1:])) == 1
