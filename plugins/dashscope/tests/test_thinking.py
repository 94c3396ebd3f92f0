"""How much a model thinks: one neutral level to the vendor's switch, its budget, or a level of its own."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import ChatRequest, ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice
from agentforge_dashscope import QWEN, VENDORS, DashScopeRow, ThinkingFamily
from agentforge_dashscope.families import UNKNOWN, family_of
from plugins.dashscope.tests.support import GOOD, FakeTransport, events, model_on, notice_codes, parameters_of, reply
from tests.support.wire_exchange import WEATHER


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("qwen-plus", None, {}),
        ("qwen-plus", "none", {"enable_thinking": False}),
        ("qwen-plus", "minimal", {"enable_thinking": True, "thinking_budget": 1024}),
        ("qwen-plus", "low", {"enable_thinking": True, "thinking_budget": 4096}),
        ("qwen-plus", "medium", {"enable_thinking": True, "thinking_budget": 16384}),
        ("qwen-plus", "high", {"enable_thinking": True}),
        ("qwen3.7-plus", "none", {"enable_thinking": False}),
        ("qwen3.8-max", "low", {"reasoning_effort": "low"}),
        ("qwen3.8-max", "xhigh", {"reasoning_effort": "xhigh"}),
        ("deepseek-v4-pro", "max", {"enable_thinking": True, "reasoning_effort": "max"}),
        ("qwen3-235b-a22b-thinking-2507", "low", {"thinking_budget": 4096}),
        ("qwen-max", "none", {}),
        ("qwen3-coder-plus", "none", {}),
    ],
)
def test_an_effort_is_said_in_the_words_of_the_family(
    model: str, effort: ReasoningEffort | None, expected: dict[str, Any]
) -> None:
    asked = ChatRequestParameters(reasoning_effort=effort)
    found = parameters_of(asked, model=model)
    assert {name: value for name, value in found.items() if name != "incremental_output"} == expected
    assert notice_codes("q", asked, model=model) == []


@pytest.mark.parametrize(
    ("model", "changes", "streams"),
    [
        ("qwen-plus", {}, False),
        ("qwen-plus", {"reasoning_effort": "low"}, True),
        ("qwen-plus", {"custom_parameters": {"enable_thinking": True}}, True),
        ("qwen3.7-plus", {}, True),
        ("qwen3.7-plus", {"reasoning_effort": "none"}, False),
        ("qwq-plus", {}, True),
        ("qwen3-omni-flash", {}, True),
    ],
)
def test_a_reply_that_is_thought_about_is_asked_for_as_a_stream(
    model: str, changes: dict[str, Any], streams: bool
) -> None:
    """The endpoint refuses to think in a plain answer; whoever asked for one gets it all the same."""
    transport = FakeTransport(
        [events(reply("null", reasoning_content="Hm."), reply(content="ok"))] if streams else GOOD
    )
    asked = ChatRequest("q", ChatRequestParameters(**changes))
    response = asyncio.run(model_on(transport, model=model).chat(asked))
    assert response.ai_message.text == "ok"
    assert transport.header("x-dashscope-sse") == ("enable" if streams else None)
    preview, _ = model_on(model=model).preview(asked)
    assert preview == transport.requests[0].content or model == "qwen3-omni-flash"


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("qwen-plus", "xhigh", {"enable_thinking": True}),
        ("qwen-plus", "max", {"enable_thinking": True}),
        ("qwen3.8-max", "minimal", {"reasoning_effort": "low"}),
        ("qwen3.8-max", "high", {"reasoning_effort": "medium"}),
        ("glm-5.1", "low", {"enable_thinking": True, "reasoning_effort": "high"}),
    ],
)
def test_a_level_that_the_family_does_not_know_becomes_the_nearest(
    model: str, asked: ReasoningEffort, sent: dict[str, Any]
) -> None:
    parameters = ChatRequestParameters(reasoning_effort=asked)
    found = parameters_of(parameters, model=model)
    assert {name: found[name] for name in sent} == sent
    assert notice_codes("q", parameters, model=model) == ["reasoning_effort_mapped"]


def test_a_model_without_levels_thinks_and_says_so() -> None:
    asked = ChatRequestParameters(reasoning_effort="low")
    assert "thinking_budget" not in parameters_of(asked, model="qwq-plus")
    assert notice_codes("q", asked, model="qwq-plus") == ["feature_dropped"]


def test_a_model_that_always_thinks_cannot_be_told_not_to() -> None:
    asked = ChatRequestParameters(reasoning_effort="none")
    with pytest.raises(UnsupportedFeatureError, match=r"reasoning_effort\.none"):
        parameters_of(asked, model="qwq-plus")
    dropping = {"unsupported": {"reasoning_effort.none": "drop"}}
    assert notice_codes("q", asked, model="qwq-plus", profile_overrides=dropping) == ["feature_dropped"]
    assert "enable_thinking" not in parameters_of(asked, model="qwq-plus", profile_overrides=dropping)


def test_a_model_that_cannot_think_is_not_asked_to() -> None:
    """Unless somebody knows better."""
    asked = ChatRequestParameters(reasoning_effort="low")
    with pytest.raises(UnsupportedFeatureError, match="reasoning_effort"):
        parameters_of(asked, model="qwen-max")
    dropping = {"unsupported": {"reasoning_effort": "drop"}}
    assert parameters_of(asked, model="qwen-max", profile_overrides=dropping) == {}
    knowing = parameters_of(asked, model="qwen-max", profile_overrides={"reasoning_effort": True})
    assert knowing["enable_thinking"] is True


def test_every_level_is_sent_or_told() -> None:
    for family in ("qwen-plus", "qwen3.8-max", "qwen3.7-plus", "glm-5", "qwq-plus"):
        for level in get_args(ReasoningEffort)[1:]:
            asked = ChatRequestParameters(reasoning_effort=level)
            sent = parameters_of(asked, model=family)
            known = sent.keys() & {"enable_thinking", "thinking_budget", "reasoning_effort"}
            assert known or notice_codes("q", asked, model=family), (family, level)


# -- what thinking forbids ---------------------------------------------------------------------------

FORCED = ChatRequestParameters(tools=[WEATHER], tool_choice=ToolChoice.tool("get_weather"))
JSON = ChatRequestParameters(response_format=ResponseFormat.JSON)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("qwen-plus", {"reasoning_effort": "low"}),
        ("qwen-plus", {"custom_parameters": {"enable_thinking": True}}),
        ("qwen3.7-plus", {}),
        ("qwen3-8b", {}),
        ("qwen3.8-max", {}),
        ("qwq-plus", {}),
        ("qwen3-vl-235b-a22b-thinking", {}),
    ],
)
@pytest.mark.parametrize(
    ("asked", "feature"), [(FORCED, "forced_choice_with_thinking"), (JSON, "response_format_with_thinking")]
)
def test_a_forced_call_and_json_are_refused_while_thinking(
    model: str, changes: dict[str, Any], asked: ChatRequestParameters, feature: str
) -> None:
    with pytest.raises(UnsupportedFeatureError, match=feature) as caught:
        parameters_of(asked.with_(**changes), model=model)
    assert "reasoning_effort: none" in (caught.value.next_step or "")


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("qwen-plus", {}),
        ("qwen-plus", {"reasoning_effort": "none"}),
        ("qwen3.7-plus", {"reasoning_effort": "none"}),
        ("qwen3.7-plus", {"custom_parameters": {"enable_thinking": False}}),
        ("qwen3-coder-plus", {}),
        ("qwen3-235b-a22b-instruct-2507", {}),
    ],
)
def test_both_are_sent_where_nobody_thinks(model: str, changes: dict[str, Any]) -> None:
    assert parameters_of(FORCED.with_(**changes), model=model)["tool_choice"] == {
        "type": "function",
        "function": {"name": "get_weather"},
    }
    assert parameters_of(JSON.with_(**changes), model=model)["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("effort", "switch", "told"),
    [("high", False, True), ("low", False, True), ("none", True, True), ("low", True, False), ("none", False, False)],
)
def test_an_effort_that_the_switch_contradicts_is_left_out_with_a_word(effort: Any, switch: bool, told: bool) -> None:
    """The switch is the request's own field, so it counts; no budget goes beside a model that may not think."""
    asked = ChatRequestParameters(reasoning_effort=effort, custom_parameters={"enable_thinking": switch})
    sent = parameters_of(asked, stream=True)
    assert sent["enable_thinking"] is switch
    assert ("thinking_budget" in sent) is (effort == "low" and switch)
    assert notice_codes("q", asked) == (["feature_dropped"] if told else [])


# -- families ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "can", "by_default"),
    [
        ("qwen-plus", "switched", False),
        ("qwen-turbo", "switched", False),
        ("qwen3-max", "switched", False),
        ("qwen3-vl-plus", "switched", False),
        ("qwen3.5-plus", "switched", True),
        ("qwen3.5-397b-a17b", "switched", True),
        ("qwen3.7-max-2026-05-20", "switched", True),
        ("qwen3.8-flash", "switched", True),
        ("qwen3-235b-a22b", "switched", True),
        ("qwen3-0.6b", "switched", True),
        ("qwen3-next-80b-a3b-thinking", "always", False),
        ("qwen3-next-80b-a3b-instruct", "never", False),
        ("qwen2.5-72b-instruct", "never", False),
        ("qwen-vl-max", "never", False),
        ("deepseek-r1", "always", False),
        ("something-new", "switched", False),
    ],
)
def test_families_are_found_by_the_name(model: str, can: str, by_default: bool) -> None:
    family = family_of(model, QWEN)
    assert (family.can, family.by_default) == (can, by_default)


def test_a_model_of_no_family_thinks_when_it_is_asked_to() -> None:
    assert family_of("something-new", QWEN) is UNKNOWN


def test_a_row_of_ones_own_has_families_of_its_own() -> None:
    """Without any budget a level is left out, with a word."""
    row = DashScopeRow(
        name="house",
        base_url="https://llm.example/api/v1",
        families=(ThinkingFamily(models="^deep", can="always"),),
        thinking=VENDORS["dashscope"].thinking,
    )
    asked = ChatRequestParameters(reasoning_effort="low")
    assert notice_codes("q", asked, vendor=row, model="deep-1") == ["feature_dropped"]
    with pytest.raises(UnsupportedFeatureError, match="forced_choice_with_thinking"):
        parameters_of(FORCED, vendor=row, model="deep-1")


def test_a_family_of_no_expression_is_found_when_it_is_made() -> None:
    with pytest.raises(ConfigurationError, match="no regular expression"):
        ThinkingFamily(models="(")
