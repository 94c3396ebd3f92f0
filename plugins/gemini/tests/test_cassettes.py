"""Every recording of an answer in this form is read, plain and streamed, wherever the network cuts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentforge.errors import InvalidRequestError
from agentforge.model import (
    AiMessage,
    ChatResponse,
    FinishReason,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
)
from agentforge_gemini.wire.errors import parse_error
from plugins.gemini.tests.support import OWNER, RECORDINGS, events_in, plain, streamed
from tests.support.cassette_checks import RecordedStreams, check_calls
from tests.support.wire_exchange import calls_of

answers, answer, decoded = RECORDINGS.answers, RECORDINGS.answer, RECORDINGS.decoded


def objects(content: Any) -> list[dict[str, Any]]:
    """The objects of an answer, read by hand."""
    if isinstance(content, str):
        return [json.loads(line[6:]) for line in content.splitlines() if line.startswith("data: ")]
    return content if isinstance(content, list) else [content]


#: The reasons that are no ordinary end, by file.
OTHER_REASONS = {
    ("gemini-bt-adk-max-tokens-captures-content", 0): FinishReason.LENGTH,
    ("gemini-pyd-multimodal-tool-return-matrix-tool-return-content-url-image-google-vertex", 0): FinishReason.ERROR,
}


def test_every_answer_is_read(shared: Path) -> None:
    """Each has a reason that fits, calls with names and objects as arguments, ids that differ, and counted tokens."""
    count = 0
    for name, position, content in answers(shared):
        response, where = decoded(content), f"{name} {position}"
        check_calls(response, where)
        usual = FinishReason.TOOL_EXECUTION if response.ai_message.has_tool_execution_requests else FinishReason.STOP
        assert response.finish_reason is OTHER_REASONS.get((name, position), usual), where
        assert response.ai_message.contents and response.id and response.model_name, where
        usage = response.token_usage
        assert usage.input_tokens is not None and usage.output_tokens is not None, where
        assert usage.total_tokens == usage.input_tokens + usage.output_tokens, where
        count += 1
    assert count == 35


def test_answers_hold_what_is_in_them(shared: Path) -> None:
    """Against a reading that knows nothing of ours: the texts, thoughts, calls and signatures, in order."""
    seen = 0
    for name, _, content in answers(shared):
        parts = [
            part
            for each in objects(content)
            for candidate in each.get("candidates", ())
            for part in candidate.get("content", {}).get("parts", ())
        ]
        message = decoded(content).ai_message
        assert (message.text or "") == "".join(p["text"] for p in parts if "text" in p and not p.get("thought")), name
        assert (message.thinking or "") == "".join(p["text"] for p in parts if p.get("thought")), name
        signed = [p["thoughtSignature"] for p in parts if "thoughtSignature" in p]
        states = [part.provider_state for part in message.contents if part.provider_state is not None]
        assert [s.data["thoughtSignature"] for s in states if "thoughtSignature" in s.data] == signed, name
        if "partialArgs" not in json.dumps(parts):
            found = [
                (p["functionCall"]["name"], p["functionCall"].get("args", {})) for p in parts if "functionCall" in p
            ]
            assert [(c.name, c.arguments_as_map()) for c in message.tool_execution_requests] == found, name
        seen += len(parts)
    assert seen > 60


def test_ids_are_the_vendors_where_it_gives_some(shared: Path) -> None:
    """Four of the recorded calls have an id; the others have one of ours."""
    given = [call for _, _, content in answers(shared) for call in decoded(content).ai_message.tool_execution_requests]
    assert sum(call.id_was_given for call in given) == 4
    assert all(call.id.startswith("made_") for call in given if not call.id_was_given)


def test_parallel_calls_in_a_stream_read_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: two calls with ids, of which the first is signed, an empty text at the end, which says nothing,
    and counts of which the last ones hold."""
    content = answer(shared, "chatlas-tools-parallel")
    signature = objects(content)[0]["candidates"][0]["content"]["parts"][0]["thoughtSignature"]
    response = streamed(content.encode())
    assert response == ChatResponse(
        AiMessage(
            [
                ToolExecutionRequest(
                    "0b3pdf3o",
                    "favorite_color",
                    '{"_person":"Joe"}',
                    provider_state=ProviderState(
                        OWNER, {"thoughtSignature": signature, "functionCall": {"id": "0b3pdf3o"}}
                    ),
                ),
                ToolExecutionRequest(
                    "brynwdxm",
                    "favorite_color",
                    '{"_person":"Hadley"}',
                    provider_state=ProviderState(OWNER, {"functionCall": {"id": "brynwdxm"}}),
                ),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(85, 162, 247, None, None, 127),
        "NoFfas7rAsidjrEP3fymkA4",
        "gemini-3.5-flash",
        "STOP",
    )


def test_a_stream_as_one_list_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: the answer to a streamed request without events is a list of objects: a thought, and a call
    that is signed and has no id."""
    content = answer(shared, "llm-tools")
    thought, called = (each["candidates"][0]["content"]["parts"][0] for each in content)
    assert plain(content) == ChatResponse(
        AiMessage(
            [
                ThinkingContent(thought["text"]),
                ToolExecutionRequest(
                    "made_1",
                    "pelican_name_generator",
                    "{}",
                    False,
                    ProviderState(OWNER, {"thoughtSignature": called["thoughtSignature"]}),
                ),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(32, 54, 86, None, None, 42),
        "OYpyaqycKd2V_uMP65TsgA0",
        "gemini-2.5-flash",
        "STOP",
    )


def test_streamed_arguments_read_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: a call without arguments, then three whose arguments come in pieces with their places; a call
    is shown as ready when it is whole."""
    content = answer(shared, "vai-google-stream-no-args-tool-call-stream").encode()
    assert calls_of(streamed(content)) == [
        ("made_1", "read_theme", "{}"),
        ("made_2", "read_screen", '{"id":"A"}'),
        ("made_3", "read_screen", '{"id":"B"}'),
        ("made_4", "read_screen", '{"id":"C"}'),
    ]
    events = events_in(content)
    told = [event.arguments_delta for event in events if isinstance(event, ToolCallDelta) and event.index == 1]
    assert told == ["", '{"id":"A"}']
    assert [event.index for event in events if isinstance(event, ToolCallReady)] == [0, 1, 2, 3]


def test_an_unexpected_call_is_an_error_that_says_what_it_was(shared: Path) -> None:
    """Reviewed by hand: the call stands in the message, signed, and the reason says that it must not run."""
    stem = "pyd-multimodal-tool-return-matrix-tool-return-content-url-image-google-vertex"
    response = plain(answer(shared, stem))
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.ERROR, "UNEXPECTED_TOOL_CALL")
    [call] = response.ai_message.contents
    assert isinstance(call, ToolExecutionRequest) and call.name == "list_files"
    [notice] = response.notices
    assert "undeclared function: list_files" in notice.message


def test_the_text_behind_a_signature_stays_apart(shared: Path) -> None:
    """Reviewed by hand: the last part of a stream is an empty text with a signature, which may not be merged."""
    message = decoded(answer(shared, "chatlas-tools-parallel", 1)).ai_message
    text, signed = message.contents
    assert text == TextContent("Joe sage green Hadley red")
    assert isinstance(signed, TextContent) and signed.text == "" and signed.provider_state is not None


def test_the_recorded_error_maps(shared: Path) -> None:
    """The one failed answer among them."""
    [response] = RECORDINGS.failed(shared)
    error = parse_error(response["status"], response["headers"], json.dumps(response["body"]).encode())
    assert type(error) is InvalidRequestError and error.provider_code == "INVALID_ARGUMENT"
    assert "Cannot fetch content from the provided URL" in error.message


class TestStreams(RecordedStreams):
    RECORDINGS = RECORDINGS
    STREAMS = 18
    EXAMPLES = 40
