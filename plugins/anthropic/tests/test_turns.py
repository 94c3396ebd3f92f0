"""What messages of ours become on the wire, alone and beside each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import InvalidRequestError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    FileContent,
    ImageContent,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_anthropic.wire.joining import BEGINNING
from plugins.anthropic.tests.support import body_of, exchange
from tests.support.wire_exchange import WEATHER

ASK = UserMessage("q")
CALL = ToolExecutionRequest("c1", "look", '{"a": 1}')
RESULT = ToolExecutionResultMessage("c1", "look", "fine")
PDF = "JVBERg=="


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def sent(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body_of(messages, **options)["messages"]
    return found


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c1", "name": "look", "input": arguments or {"a": 1}, **more}


def result(content: Any = "fine", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "c1", "content": content, **more}


# -- users ----------------------------------------------------------------------------------------


def test_a_users_name_has_no_place_and_that_is_said() -> None:
    body, response = exchange([UserMessage("hi", name="ann")])
    assert body["messages"] == [user(text("hi"))]
    assert [notice.code for notice in response.notices] == ["user_name_left_out"]


# -- roles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([UserMessage("a"), UserMessage("b")], [user(text("a"), text("b"))], id="users"),
        pytest.param(
            [ASK, AiMessage("a"), AiMessage("b"), ASK],
            [user(text("q")), assistant(text("a"), text("b")), user(text("q"))],
            id="the model, as after a pause",
        ),
        pytest.param(
            [ASK, AiMessage([CALL]), RESULT, UserMessage("and?")],
            [user(text("q")), assistant(use()), user(result(), text("and?"))],
            id="results stand before what the user says",
        ),
        pytest.param(
            [
                ASK,
                AiMessage([CALL, ToolExecutionRequest("c2", "look", "")]),
                RESULT,
                ToolExecutionResultMessage("c2", "look", "x"),
            ],
            [
                user(text("q")),
                assistant(use(), {"type": "tool_use", "id": "c2", "name": "look", "input": {}}),
                user(result(), {"type": "tool_result", "tool_use_id": "c2", "content": "x"}),
            ],
            id="all results of a turn are one message",
        ),
        pytest.param(
            [AiMessage("Hello!"), ASK],
            [user(text(BEGINNING)), assistant(text("Hello!")), user(text("q"))],
            id="the model's turn cannot be first",
        ),
        pytest.param(
            [ASK, AiMessage(), UserMessage("again")], [user(text("q"), text("again"))], id="an empty reply is left out"
        ),
        pytest.param(
            [ASK, AiMessage([ThinkingContent("hm", ProviderState("other", {"x": 1})), TextContent(" \n")]), ASK],
            [user(text("q"), text("q"))],
            id="so is one of which nothing may go back",
        ),
        pytest.param(
            [UserMessage([TextContent(""), TextContent("  "), TextContent("a ")])], [user(text("a "))], id="empty texts"
        ),
    ],
)
def test_roles_alternate(messages: list[ChatMessage], expected: list[dict[str, Any]]) -> None:
    assert sent(*messages) == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (AiMessage("The answer is \n"), [text("The answer is")]),
        (AiMessage([TextContent("a "), TextContent(" \n")]), [text("a")]),
        (AiMessage([TextContent("a "), CALL]), None),
    ],
)
def test_a_last_turn_of_the_model_ends_without_white_space(turn: AiMessage, expected: Any) -> None:
    """The API refuses it there, and there only."""
    messages = [ASK, turn] if expected else [ASK, turn, RESULT]
    blocks = sent(*messages)[1]["content"]
    assert blocks == (expected or [text("a "), use()])
    assert sent(ASK, AiMessage("a "), ASK)[1] == assistant(text("a "))


@pytest.mark.parametrize(
    "messages", [[SystemMessage("s")], [UserMessage("")], [AiMessage()], [SystemMessage("s"), UserMessage(" ")]]
)
def test_a_request_in_which_nothing_is_said_is_refused_before_it_is_sent(messages: list[ChatMessage]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        sent(*messages)
    assert caught.value.next_step


# -- system messages ------------------------------------------------------------------------------


def test_instructions_at_the_beginning_are_the_top_level_ones() -> None:
    body = body_of([SystemMessage("be brief"), SystemMessage("be kind"), ASK])
    assert body["system"] == [text("be brief"), text("be kind")]
    assert body["messages"] == [user(text("q"))]
    assert "system" not in body_of([ASK])


SYSTEM = {"role": "system", "content": [text("now in French")]}


@pytest.mark.parametrize(
    ("messages", "in_place"),
    [
        pytest.param([ASK, SystemMessage("now in French")], [user(text("q")), SYSTEM], id="at the end"),
        pytest.param(
            [ASK, SystemMessage("now in French"), AiMessage("a"), ASK],
            [user(text("q")), SYSTEM, assistant(text("a")), user(text("q"))],
            id="before the model's turn",
        ),
        pytest.param(
            [ASK, SystemMessage("now in French"), UserMessage("b")],
            [user(text("q"), text("b")), SYSTEM],
            id="between a user's messages, which come together",
        ),
        pytest.param(
            [ASK, AiMessage("a"), SystemMessage("now in French"), UserMessage("b")],
            [user(text("q")), assistant(text("a")), user(text("b")), SYSTEM],
            id="behind the model's turn, where it waits for the user's",
        ),
        pytest.param(
            [ASK, AiMessage([CALL]), RESULT, SystemMessage("now in French")],
            [user(text("q")), assistant(use()), user(result()), SYSTEM],
            id="behind results",
        ),
    ],
)
def test_later_instructions_stay_where_the_model_takes_them(messages: list[ChatMessage], in_place: Any) -> None:
    """Elsewhere they join the top-level ones."""
    body = body_of(messages, model="claude-opus-4-8")
    assert body["messages"] == in_place
    assert "system" not in body
    moved = body_of(messages, model="claude-sonnet-4-5")
    assert moved["system"] == SYSTEM["content"]
    assert moved["messages"] == [entry for entry in in_place if entry is not SYSTEM]


def test_instructions_that_follow_no_user_join_the_top_level_ones() -> None:
    body = body_of([ASK, AiMessage("a"), SystemMessage("now in French"), AiMessage("b"), ASK], model="claude-opus-4-8")
    assert body["system"] == SYSTEM["content"]
    assert [entry["role"] for entry in body["messages"]] == ["user", "assistant", "user"]


def test_instructions_are_texts() -> None:
    with pytest.raises(UnsupportedFeatureError):
        sent(SystemMessage(ImageContent(data="QUJD")), ASK)


# -- the model's turns ------------------------------------------------------------------------------


def state(provider: str = "anthropic/messages", **data: Any) -> ProviderState:
    return ProviderState(provider, data)


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}


@pytest.mark.parametrize(
    ("part", "block"),
    [
        pytest.param(
            ThinkingContent("hm", state(type="thinking", signature="s==")),
            {"type": "thinking", "thinking": "hm", "signature": "s=="},
            id="thinking",
        ),
        pytest.param(
            ThinkingContent("", state(type="thinking", signature="s==")),
            {"type": "thinking", "thinking": "", "signature": "s=="},
            id="thinking without its text",
        ),
        pytest.param(
            ThinkingContent("", state(type="redacted_thinking", data="x==")),
            {"type": "redacted_thinking", "data": "x=="},
            id="redacted thinking",
        ),
        pytest.param(ThinkingContent("", state(**SEARCH)), SEARCH, id="a call of the provider's own"),
        pytest.param(
            TextContent("rain", state(citations=[{"type": "x"}])),
            {"type": "text", "text": "rain", "citations": [{"type": "x"}]},
            id="text with its sources",
        ),
    ],
)
def test_what_the_provider_made_goes_back_in_its_place_and_to_it_only(part: Any, block: dict[str, Any]) -> None:
    turn = AiMessage([TextContent("a"), part, CALL])
    assert sent(ASK, turn, RESULT)[1] == assistant(text("a"), block, use())
    elsewhere = sent(ASK, turn, RESULT, vendor="generic")[1]["content"]
    assert elsewhere == [text("a"), *([text("rain")] if isinstance(part, TextContent) else []), use()]


def test_a_calls_own_members_go_back_to_the_provider_only() -> None:
    turn = AiMessage([ToolExecutionRequest("c1", "look", '{"a": 1}', provider_state=state(caller={"type": "direct"}))])
    assert sent(ASK, turn, RESULT)[1] == assistant(use(caller={"type": "direct"}))
    assert sent(ASK, turn, RESULT, vendor="generic")[1] == assistant(use())


def test_media_of_an_earlier_reply_are_left_out_with_a_notice() -> None:
    body, response = exchange([ASK, AiMessage([ImageContent(data="QUJD"), TextContent("a")]), ASK])
    assert body["messages"][1] == assistant(text("a"))
    assert [notice.code for notice in response.notices] == ["assistant_media_left_out"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("  ", {}),
        ('{"city": ', {"invalid_arguments": '{"city": '}),
        ("[1]", {"invalid_arguments": "[1]"}),
        ('{"a": NaN}', {"invalid_arguments": '{"a": NaN}'}),
    ],
)
def test_a_calls_input_is_always_an_object(arguments: str, expected: Any) -> None:
    """Field case MO-30: what the model wrote stays visible to it."""
    turn = AiMessage([ToolExecutionRequest("c1", "look", arguments)])
    assert sent(ASK, turn, RESULT)[1]["content"][0]["input"] == expected


@pytest.mark.parametrize("identity", ["call_abc|fc_1", "a b", "ünïcode", "x" * 80 + "!"])
def test_ids_of_other_providers_are_mapped_for_call_and_result_alike(identity: str) -> None:
    turn = AiMessage([ToolExecutionRequest(identity, "look", "{}")])
    messages = sent(ASK, turn, ToolExecutionResultMessage(identity, "look", "fine"))
    called, answered = messages[1]["content"][0]["id"], messages[2]["content"][0]["tool_use_id"]
    assert called == answered != identity
    assert called.replace("_", "").isalnum()


def test_calls_of_one_turn_that_share_an_id_get_their_own() -> None:
    turn = AiMessage([CALL, CALL])
    messages = sent(ASK, turn, RESULT, RESULT)
    assert [block["id"] for block in messages[1]["content"]] == ["c1", "c1-2"]
    assert [block["tool_use_id"] for block in messages[2]["content"]] == ["c1", "c1-2"]


# -- results ------------------------------------------------------------------------------------------


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("fine", result("fine"), id="text"),
        pytest.param([TextContent("a"), TextContent("b")], result("ab"), id="texts"),
        pytest.param("", {"type": "tool_result", "tool_use_id": "c1"}, id="nothing"),
        pytest.param(ImageContent(data="QUJD"), result([IMAGE]), id="image"),
        pytest.param(
            [TextContent("shot"), ImageContent(data="QUJD"), TextContent(" ")],
            result([text("shot"), IMAGE]),
            id="text and image",
        ),
        pytest.param(
            FileContent(data=PDF),
            result([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}]),
            id="pdf",
        ),
    ],
)
def test_a_result_carries_its_content(given: Any, expected: Any) -> None:
    messages = sent(ASK, AiMessage([CALL]), ToolExecutionResultMessage("c1", "look", given))
    assert messages[2] == user(expected)


ATTACHED = text("Attached to the result of look (call c1):")


@pytest.mark.parametrize(
    ("given", "content", "behind"),
    [
        pytest.param("broken", "broken", [], id="text"),
        pytest.param("", "The tool failed and said nothing about it.", [], id="nothing"),
        pytest.param(" \n", "The tool failed and said nothing about it.", [], id="blanks"),
        pytest.param(
            [TextContent("shot"), ImageContent(data="QUJD")], [text("shot")], [ATTACHED, IMAGE], id="text and image"
        ),
        pytest.param(
            ImageContent(data="QUJD"), "The tool failed; what it gave follows.", [ATTACHED, IMAGE], id="image"
        ),
    ],
)
def test_an_error_result_holds_text_and_its_media_follow_the_results(given: Any, content: Any, behind: Any) -> None:
    """The API refuses one without text, and anything but text in it."""
    second = ToolExecutionRequest("c2", "look", "{}")
    turn = [AiMessage([CALL, second]), ToolExecutionResultMessage("c1", "look", given, is_error=True)]
    messages = sent(ASK, *turn, ToolExecutionResultMessage("c2", "look", "fine"))
    fine = {"type": "tool_result", "tool_use_id": "c2", "content": "fine"}
    assert messages[2] == user({**result(content), "is_error": True}, fine, *behind)


# -- another provider's history ---------------------------------------------------------------------


def test_a_history_of_other_providers_is_sent_without_what_is_theirs() -> None:
    """Chat Completions and Responses leave fields, items and ids that nobody else may see."""
    chat = AiMessage(
        [
            ThinkingContent("secret", state("deepseek", reasoning_content="secret")),
            TextContent("I look.", state("openai", refusal=True)),
            ToolExecutionRequest(
                "call_1", "get_weather", '{"city": "Oslo"}', provider_state=state("x", extra_content={"s": 1})
            ),
        ],
        provider_state=state("openai", thought_signature="secret"),
    )
    responses = AiMessage(
        [
            ThinkingContent("", state("openai", item={"type": "reasoning", "encrypted_content": "secret"})),
            ToolExecutionRequest(
                "call|fc_2", "files/read file", "{}", provider_state=state("openai", item={"id": "secret"})
            ),
        ]
    )
    messages = [
        SystemMessage("s"),
        ASK,
        chat,
        ToolExecutionResultMessage("call_1", "get_weather", "rain"),
        responses,
        ToolExecutionResultMessage("call|fc_2", "files/read file", "text"),
        AiMessage("Rain."),
        UserMessage("and?"),
    ]
    body = body_of(messages, ChatRequestParameters(tools=[WEATHER]), model="claude-opus-5-5")
    assert "secret" not in json.dumps(body)
    assert [entry["role"] for entry in body["messages"]] == ["user", "assistant"] * 3 + ["user"]
    assert body["messages"][1]["content"] == [
        text("I look."),
        {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Oslo"}},
    ]
    assert body["messages"][3]["content"][0]["name"].startswith("files_read_file_")


def test_text_with_half_a_surrogate_pair_is_sent_as_valid_utf_8() -> None:
    assert sent(UserMessage("a\ud83d"))[0]["content"][0]["text"] == "a\ufffd"
    turn = AiMessage([ToolExecutionRequest("c1", "look", '{"a": "\ud83d"}')])
    assert sent(ASK, turn, RESULT)[1]["content"][0]["input"] == {"invalid_arguments": '{"a": "\ufffd"}'}
