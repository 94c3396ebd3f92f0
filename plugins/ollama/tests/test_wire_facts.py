"""What is known to be odd about this API, one case a row: what is asked or answered, and what becomes of it.

The rows are those of the native API in the project's list of vendors' quirks, its tables of finish reasons, counts and
errors included. The details stand in the other tests of this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatRequestParameters,
    FinishReason,
    ImageContent,
    ThinkingContent,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.ollama.tests.support import body_of, call, exchange, last, line, model_on, plain, reply, streamed
from tests.support.wire_exchange import TIME, WEATHER, calls_of


def refused(feature: str, messages: Any = "q", **parameters: Any) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of(messages, ChatRequestParameters(**parameters))
    assert caught.value.details["feature"] == feature


def stream_is_always_explicit() -> None:
    assert body_of("q")["stream"] is False


def required_is_unknown() -> None:
    refused("tool_choice.required", tools=[WEATHER], tool_choice="required")


def one_tool_is_unknown() -> None:
    refused("tool_choice.tool", tools=[WEATHER], tool_choice="get_weather")


def none_is_no_tools() -> None:
    assert "tools" not in body_of("q", ChatRequestParameters(tools=[WEATHER], tool_choice="none"))


def parallel_calls_cannot_be_turned_off() -> None:
    refused("parallel_tool_calls", tools=[WEATHER], parallel_tool_calls=False)


def strict_is_unknown() -> None:
    refused("strict_tools", tools=[ToolSpecification("a", "d", WEATHER.parameters, strict=True)])


def images_by_url_are_unknown() -> None:
    refused("image_urls", [UserMessage([ImageContent(url="https://pics.example/a.png")])])


def keys_of_schemas_that_are_dropped_are_told() -> None:
    tool = ToolSpecification(
        "a", "d", ToolParameters({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})
    )
    [sent] = body_of("q", ChatRequestParameters(tools=[tool]))["tools"]
    assert sent["function"]["parameters"]["properties"] == {"n": {"type": "integer", "description": "minimum: 1"}}
    told = model_on().preview_tools([tool]).notices
    assert "minimum was moved into the description" in told[0].message


def parallel_calls_share_an_index() -> None:
    body = line(tool_calls=[call(), call("get_time")]) + line(tool_calls=[call()]) + last()
    assert [name for _, name, _ in calls_of(streamed(body))] == ["get_weather", "get_time", "get_weather"]


def a_small_context_is_set_or_refused_not_cut() -> None:
    body = body_of("q", num_ctx=32768)
    assert body["options"] == {"num_ctx": 32768} and body["truncate"] is False


def calls_end_with_stop() -> None:
    response = plain(reply(tool_calls=[call(id="a")]))
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_EXECUTION, "stop")


def calls_that_were_cut_off_have_length() -> None:
    response = plain(reply(tool_calls=[call(id="a")]) | {"done_reason": "length"})
    assert response.finish_reason is FinishReason.LENGTH


def old_servers_give_no_ids() -> None:
    response = plain(reply(tool_calls=[call(), call()]))
    assert [identity for identity, _, _ in calls_of(response)] == ["made_1", "made_2"]


def thinking_is_replayed() -> None:
    _, response = exchange("q", answer=reply("a", thinking="hm"))
    sent = body_of([UserMessage("q"), response.ai_message, UserMessage("r")])["messages"][1]
    assert sent == {"role": "assistant", "content": "a", "thinking": "hm"}


def thinking_of_others_is_not() -> None:
    turn = AiMessage([ThinkingContent("hm")])
    assert "thinking" not in body_of([UserMessage("q"), turn, UserMessage("r")])["messages"][1]


def input_from_the_cache_is_not_counted() -> None:
    answer = reply("a")
    del answer["prompt_eval_count"]
    usage = exchange("q", answer=answer)[1].token_usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (None, 2, None)


def an_allowed_list_is_fewer_tools() -> None:
    from agentforge.model import ToolChoice

    asked = ChatRequestParameters(tools=[WEATHER, TIME], tool_choice=ToolChoice.allowed(["get_time"]))
    assert [tool["function"]["name"] for tool in body_of("q", asked)["tools"]] == ["get_time"]


ROWS: list[Callable[[], None]] = [
    stream_is_always_explicit,
    required_is_unknown,
    one_tool_is_unknown,
    none_is_no_tools,
    an_allowed_list_is_fewer_tools,
    parallel_calls_cannot_be_turned_off,
    strict_is_unknown,
    images_by_url_are_unknown,
    keys_of_schemas_that_are_dropped_are_told,
    parallel_calls_share_an_index,
    a_small_context_is_set_or_refused_not_cut,
    calls_end_with_stop,
    calls_that_were_cut_off_have_length,
    old_servers_give_no_ids,
    thinking_is_replayed,
    thinking_of_others_is_not,
    input_from_the_cache_is_not_counted,
]


@pytest.mark.parametrize("row", ROWS, ids=[row.__name__ for row in ROWS])
def test_each_row_holds(row: Callable[[], None]) -> None:
    row()
