"""Some recorded answers, whole, as they were reviewed by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agentforge.model import (
    AiMessage,
    ChatResponse,
    FinishReason,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
)
from plugins.openai.tests.test_cassette_requests import answer_to


def _call_to(name: str, identity: str, arguments: str = "{}") -> ToolExecutionRequest:
    return ToolExecutionRequest(identity, name, arguments)


WHOLE: dict[tuple[str, int], ChatResponse] = {
    ("deepseek/chatcompletions-rllm-deepseek-deepseek-chat-can-handle-multiple-tool-calls-in-a-single", 0): (
        ChatResponse(
            AiMessage(
                [
                    TextContent("I'll roll the dice 3 times for you!"),
                    _call_to("dice_roll", "call_00_sODhJDBerk7sOtQQGoNi9027"),
                    _call_to("dice_roll", "call_01_Ov9BhQbJVYLYTIpWWi3S1111"),
                    _call_to("dice_roll", "call_02_P4MJAfxZOnb3VG5PSSgw6060"),
                ]
            ),
            FinishReason.TOOL_EXECUTION,
            TokenUsage(305, 72, 377, 0),
            "b3f253e4-a489-4e1b-8b30-543fa8263e37",
            "deepseek-v4-flash",
            "tool_calls",
        )
    ),
    ("openai/chatcompletions-olm-parsed-refused", 0): ChatResponse(
        AiMessage(
            [
                TextContent(
                    "I'm very sorry, but I can't assist with that request.", ProviderState("openai", {"refusal": True})
                )
            ]
        ),
        FinishReason.REFUSAL,
        TokenUsage(65, 13, 78, 0, None, 0),
        "chatcmpl-AGky8KFDbg6f5fF4qLtsBredIjZZh",
        "gpt-4o-2024-08-06",
        "stop",
    ),
    # Streamed: two calls in pieces, and reasoning before a call.
    ("openai/chatcompletions-chatlas-openai-tool", 6): ChatResponse(
        AiMessage(
            [
                _call_to("favorite_color", "call_98GjiRZzhD3LdrZzwPytyxXn", '{"_person": "Joe"}'),
                _call_to("favorite_color", "call_5WZKivD57kk8ma5asggAK8vS", '{"_person": "Hadley"}'),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(163, 50, 213, 0, None, 0),
        "chatcmpl-DcaU8wVYUf2DSh14IvjiPkrBwYB8X",
        "gpt-5.4-2026-03-05",
        "tool_calls",
    ),
    ("deepseek/chatcompletions-chatlas-deepseek-tool", 0): ChatResponse(
        AiMessage(
            [
                ThinkingContent(
                    "Let me get the current date.",
                    ProviderState("deepseek", {"reasoning_content": "Let me get the current date."}),
                ),
                _call_to("get_date", "call_00_tz6Vq4aG59EtpFCVbpoY3635"),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(297, 35, 332, 0, None, 7),
        "e3e74eb8-f868-4384-a58b-46f44d1596e8",
        "deepseek-v4-flash",
        "tool_calls",
    ),
}


@pytest.mark.parametrize(("file", "position"), list(WHOLE))
async def test_a_recorded_answer_is_this_response(file: str, position: int, shared: Path) -> None:
    """All that a response holds but the bytes that it came in, and the cost, which goes by the prices of the day."""
    (found,) = (shared / "cassettes").glob(f"{file}*.json")
    interaction = json.loads(found.read_text())["interactions"][position]
    model = interaction["request"]["body"]["model"]
    response = await answer_to(file.partition("/")[0], model, interaction["response"]["body"])
    usage = replace(response.token_usage, cost=None, currency=None)
    assert response.ai_message == WHOLE[file, position].ai_message
    assert replace(response, token_usage=usage) == WHOLE[file, position]
