"""Earlier turns in a request: what came from this provider goes back as it came, what came from others goes anew."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    AudioContent,
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
    messages_from_json,
    messages_to_json,
)
from agentforge_openai import VENDORS, ResponsesForm
from plugins.openai.tests.responses.support import (
    OWNER,
    SEARCH,
    body_of,
    call_item,
    custom_item,
    notices_of,
    plain,
    reasoning_item,
    text_item,
)

ASK = UserMessage("What is the weather?")
IMAGE = ImageContent(data="AAAA", media_type="image/png")


def results_of(message: AiMessage) -> list[ToolExecutionResultMessage]:
    """A result for each call."""
    return [ToolExecutionResultMessage(call.id, call.name, "done") for call in message.tool_execution_requests]


def sent_custom(input: str, n: int) -> dict[str, Any]:
    """A call of a custom tool as it goes back: the form has no status in requests."""
    return {key: value for key, value in custom_item(input, n=n).items() if key != "status"}


def sent(message: AiMessage, **options: Any) -> list[dict[str, Any]]:
    """The items of one turn of the model, between a question and the results of its calls."""
    results = results_of(message)
    items: list[dict[str, Any]] = body_of([ASK, message, *results], **options)["input"]
    return items[1 : len(items) - len(results)]


def test_a_turn_goes_back_item_by_item_as_it_came() -> None:
    """Ids, encrypted reasoning, phase, items of the server's own tools, each in its place."""
    items = [
        reasoning_item("Look it up."),
        text_item("One moment.", {"type": "refusal", "refusal": "No more."}, phase="commentary"),
        SEARCH,
        reasoning_item(n=2),
        call_item(namespace="weather"),
        call_item(n=2, status="incomplete"),
        text_item("Wait.", id="msg_2"),
        text_item("And see.", id="msg_3"),
        {"type": "hologram", "secret": [1]},
    ]
    assert sent(plain(*items).ai_message) == items


def test_a_stored_conversation_goes_back_the_same() -> None:
    """What was written as JSON and read again loses nothing."""
    items = [reasoning_item("Hm."), text_item("ok", phase="final_answer"), SEARCH, call_item()]
    message = plain(*items, store=True).ai_message
    stored = json.loads(json.dumps(messages_to_json([message])))
    [read] = messages_from_json(stored)
    assert isinstance(read, AiMessage)
    assert sent(read) == items


def test_what_was_edited_goes_out_as_edited() -> None:
    """The parts hold the text and the arguments; what is kept beside them does not bring the old ones back."""
    message = plain(text_item("My key is 123.", phase="commentary"), call_item(), custom_item("DROP", n=2)).ai_message
    text, call, custom = message.contents
    assert isinstance(text, TextContent)
    assert isinstance(call, ToolExecutionRequest)
    assert isinstance(custom, ToolExecutionRequest)
    edited = AiMessage(
        [
            replace(text, text="My key is ***."),
            call.with_arguments('{"city":"Rome"}'),
            custom.with_arguments('{"input":"SELECT"}'),
        ]
    )
    assert sent(edited) == [
        text_item("My key is ***.", phase="commentary"),
        call_item(arguments='{"city":"Rome"}'),
        sent_custom("SELECT", n=2),
    ]


def test_results_follow_their_calls() -> None:
    message = plain(call_item(), call_item(n=2)).ai_message
    first, second = message.tool_execution_requests
    messages = [
        ASK,
        message,
        ToolExecutionResultMessage(first.id, first.name, "22 degrees"),
        ToolExecutionResultMessage(second.id, second.name, "no such city", is_error=True),
    ]
    assert body_of(messages)["input"][3:] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "22 degrees"},
        {"type": "function_call_output", "call_id": "call_2", "output": "Error: no such city"},
    ]


def test_the_result_of_a_custom_tool_has_a_form_of_its_own() -> None:
    """Also beside calls of functions, in a later turn, and when the conversation grows."""
    first = plain(custom_item(), call_item(n=2)).ai_message
    second = plain(custom_item(n=3)).ai_message
    third = plain(call_item(n=1)).ai_message  # an id that a custom call had before
    messages: list[ChatMessage] = [ASK]
    kinds = []
    for turn in (first, second, third):
        messages += [turn, *results_of(turn)]
        kinds = [item["type"] for item in body_of(messages)["input"] if item.get("output") == "done"]
    assert kinds == [
        "custom_tool_call_output",
        "function_call_output",
        "custom_tool_call_output",
        "function_call_output",
    ]


FOREIGN = [
    ThinkingContent("Secret thought.", ProviderState("anthropic", {"signature": "sig"})),
    TextContent("I look. ", ProviderState("openai", {"refusal": True})),
    TextContent("Now."),
    ToolExecutionRequest(
        "toolu_1", "get_weather", '{"city":"Oslo"}', provider_state=ProviderState("gemini", {"thought": "s"})
    ),
    ToolExecutionRequest("i" * 70, "files/read", "{}"),
]


def test_a_turn_of_another_provider_goes_anew_without_anything_opaque() -> None:
    """Text, calls and results stay; ids and names get the form of this API; call and result stay a pair."""
    message = AiMessage(FOREIGN, provider_state=ProviderState("anthropic", {"response_id": "resp_9"}))
    items = body_of([ASK, message, *results_of(message)])["input"][1:]
    assert items[0] == {"role": "assistant", "content": "I look. Now."}
    assert items[1] == {
        "type": "function_call",
        "call_id": "toolu_1",
        "name": "get_weather",
        "arguments": '{"city":"Oslo"}',
    }
    assert items[2]["name"].startswith("files_read_")
    assert 1 <= len(items[2]["call_id"]) <= 64
    assert [item["call_id"] for item in items[3:]] == [item["call_id"] for item in items[1:3]]
    text = json.dumps(items)
    for secret in ("Secret", "sig", "thought", "refusal", "resp_9"):
        assert secret not in text


@pytest.mark.parametrize("owner", ["openai/responses", "generic@llm.example/v1", "generic@other.example/v1/responses"])
def test_items_of_another_endpoint_or_of_its_other_api_do_not_go_back(owner: str) -> None:
    message = plain(reasoning_item("Hm."), text_item("ok"), SEARCH, call_item(), asked={"provider": owner}).ai_message
    assert sent(message) == [
        {"role": "assistant", "content": "ok"},
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city":"Oslo"}'},
    ]


def openai_turn(*items: dict[str, Any], **fields: Any) -> AiMessage:
    """A turn that came from OpenAI's own address."""
    return plain(*items, asked={"provider": "openai/responses"}, **fields).ai_message


def test_a_model_that_does_not_reason_gets_no_reasoning_and_no_ids_that_ask_for_it() -> None:
    """A switch to another model of the same provider, in the middle of a conversation."""
    message = openai_turn(
        reasoning_item("Hm."), text_item("I ", "look.", phase="commentary"), SEARCH, call_item(namespace="w")
    )
    kept = [reasoning_item("Hm."), text_item("I ", "look.", phase="commentary"), SEARCH, call_item(namespace="w")]
    assert sent(message, vendor="openai", model="gpt-5-mini") == kept
    without_id = {key: value for key, value in call_item(namespace="w").items() if key != "id"}
    assert sent(message, vendor="openai", model="gpt-4o") == [
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        without_id,
    ]
    history = [ASK, message, *results_of(message)]
    assert notices_of(history, "openai", model="gpt-4o") == ["reasoning_left_out", "server_item_left_out"]
    assert notices_of(history, "openai", model="gpt-5-mini") == []
    assert sent(message, vendor="openai", model="gpt-4o", encrypted_reasoning=True) == kept


def test_reasoning_that_only_the_server_knows_goes_back_where_the_server_keeps_it() -> None:
    """A bare id of a response that was not kept is refused; so are the ids around it."""
    bare = reasoning_item(encrypted_content=None)
    kept = openai_turn(bare, call_item(), store=True)
    lost = openai_turn(bare, call_item(), store=False)
    options: dict[str, Any] = {"vendor": "openai", "model": "gpt-5"}
    assert sent(kept, **options) == [bare, call_item()]
    assert sent(lost, **options) == [{key: value for key, value in call_item().items() if key != "id"}]
    readable = reasoning_item(encrypted_content=None, content=[{"type": "reasoning_text", "text": "Hm."}])
    assert sent(openai_turn(readable, call_item()), **options) == [readable, call_item()]


def test_reasoning_that_led_to_nothing_stays_behind() -> None:
    """A reply that was cut while the model reasoned; alone it would be refused."""
    message = plain(text_item("ok"), reasoning_item(), reasoning_item(n=2), status="incomplete").ai_message
    assert body_of([ASK, message, UserMessage("Go on.")])["input"] == [
        {"role": "user", "content": "What is the weather?"},
        text_item("ok"),
        {"role": "user", "content": "Go on."},
    ]
    only = plain(reasoning_item(), status="incomplete").ai_message
    assert len(body_of([ASK, only, UserMessage("Go on.")])["input"]) == 2
    assert notices_of([ASK, only, UserMessage("Go on.")]) == ["reasoning_left_out"]


def test_an_empty_turn_leaves_no_item() -> None:
    body = body_of([ASK, AiMessage(""), AiMessage(), UserMessage("Well?")])
    assert [item["role"] for item in body["input"]] == ["user", "user"]


def test_unpacked_calls_go_back_as_calls_of_their_own() -> None:
    """Their ids are ours, so the items of the turn go without those of the server."""
    arguments = json.dumps({"tool_uses": [{"recipient_name": "functions.get_time", "parameters": {"zone": "CET"}}] * 2})
    message = plain(reasoning_item(), call_item("parallel", arguments)).ai_message
    call = {"type": "function_call", "name": "get_time", "arguments": '{"zone":"CET"}'}
    assert sent(message) == [
        {key: value for key, value in reasoning_item().items() if key != "id"},
        {**call, "call_id": "call_1-0"},
        {**call, "call_id": "call_1-1"},
    ]


def test_arguments_that_are_no_object_do_not_make_later_requests_fail() -> None:
    calls = [call_item(arguments="{oops"), call_item(arguments="", n=2), call_item(arguments='{"a":NaN}', n=3)]
    arguments = [item["arguments"] for item in sent(plain(*calls).ai_message)]
    assert arguments[:2] == ['{"invalid_arguments":"{oops"}', "{}"]
    assert all(isinstance(json.loads(text, parse_constant=pytest.fail), dict) for text in arguments)


def test_where_calls_must_follow_each_other_they_do() -> None:
    """DeepSeek: an item of the model between two calls would end the turn."""
    items = [
        reasoning_item(encrypted_content=None, content=[{"type": "reasoning_text", "text": "Hm."}]),
        call_item(),
        text_item("And"),
        call_item(n=2),
        text_item("now.", id="msg_2"),
    ]
    message = plain(*items, asked={"provider": "deepseek/responses"}).ai_message
    made = sent(message, vendor="deepseek", model="deepseek-v4-flash")
    assert made == [items[0], items[2], items[4], items[1], items[3]]


def test_a_row_can_say_that_items_go_without_ids() -> None:
    """And without the reasoning that an id alone stands for."""
    row = replace(VENDORS["generic"], responses=ResponsesForm(item_ids=False))
    items = [reasoning_item(), text_item("ok"), call_item()]
    made = sent(plain(*items).ai_message, vendor=row, base_url="https://llm.example/v1")
    assert all("id" not in item for item in made)
    assert made[1] == {"role": "assistant", "content": "ok"}


# -- what a user says, and what tools give back ------------------------------------------------------------------

MEDIA: list[tuple[Any, dict[str, Any]]] = [
    (IMAGE, {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}),
    (
        ImageContent(url="https://pic.example/a.png", detail="low"),
        {"type": "input_image", "detail": "low", "image_url": "https://pic.example/a.png"},
    ),
    (
        FileContent(data="BBBB"),
        {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,BBBB"},
    ),
    (
        FileContent(url="https://doc.example/a.pdf", name="a.pdf"),
        {"type": "input_file", "filename": "a.pdf", "file_url": "https://doc.example/a.pdf"},
    ),
]


@pytest.mark.parametrize(("part", "wire"), MEDIA)
def test_media_of_users_and_of_tools(part: Any, wire: dict[str, Any]) -> None:
    """Images and files may stand in a message and in a result alike."""
    call = ToolExecutionRequest("c1", "look")
    messages = [
        UserMessage(["See:", part]),
        AiMessage([call]),
        ToolExecutionResultMessage("c1", "look", ["Found:", part]),
    ]
    [asked, _, found] = body_of(messages)["input"]
    assert asked == {"role": "user", "content": [{"type": "input_text", "text": "See:"}, wire]}
    assert found == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_text", "text": "Found:"}, wire],
    }


def test_an_error_result_with_an_image_says_that_it_is_one() -> None:
    result = ToolExecutionResultMessage("c1", "look", [IMAGE], is_error=True)
    output = body_of([ASK, AiMessage([ToolExecutionRequest("c1", "look")]), result])["input"][-1]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image"]
    assert output[0]["text"] == "Error:"


def test_where_results_hold_text_only_their_media_follow_the_last_of_them() -> None:
    row = replace(VENDORS["generic"], responses=ResponsesForm(output_media=False))
    calls = [ToolExecutionRequest("c1", "look/here"), ToolExecutionRequest("c2", "look")]
    messages = [
        ASK,
        AiMessage(calls),
        ToolExecutionResultMessage("c1", "look/here", [IMAGE]),
        ToolExecutionResultMessage("c2", "look", "nothing"),
    ]
    called, _, *made = body_of(messages, vendor=row, base_url="https://llm.example/v1")["input"][1:]
    assert [item["output"] for item in made[:2]] == ["The result follows in the next user message.", "nothing"]
    assert made[2]["content"][0]["text"] == f"Attached to the result of {called['name']} (call c1):"
    assert called["name"].startswith("look_here")
    assert made[2]["content"][1]["type"] == "input_image"


REFUSED: list[tuple[Any, str, str]] = [
    (AudioContent(data="CCCC"), "generic", "audio"),
    (IMAGE, "deepseek", "images"),
    (FileContent(data="BBBB"), "deepseek", "files"),
    (ImageContent(url="https://pic.example/a.png"), "ollama", "image_urls"),
]


@pytest.mark.parametrize(("part", "vendor", "feature"), REFUSED)
def test_media_that_the_endpoint_cannot_take(part: Any, vendor: str, feature: str) -> None:
    """Refused before anything is sent, or a line of text in their place where the policy says so."""
    with pytest.raises(UnsupportedFeatureError, match=feature):
        body_of([UserMessage([part])], vendor=vendor)
    drop = {"unsupported": {feature: "drop"}}
    body = body_of([UserMessage([part])], vendor=vendor, profile_overrides=drop)
    assert body["input"][0]["content"][0]["type"] == "input_text"
    assert notices_of([UserMessage([part])], vendor, profile_overrides=drop) == ["feature_dropped"]


@pytest.mark.parametrize(("media_type", "form"), [("audio/wav", "wav"), ("audio/mpeg", "mp3"), ("audio/x-wav", "wav")])
def test_audio_has_a_form_for_endpoints_that_take_it(media_type: str, form: str) -> None:
    sound = AudioContent(data="CCCC", media_type=media_type)
    body = body_of([UserMessage([sound])], profile_overrides={"audio": True})
    assert body["input"][0]["content"] == [{"type": "input_audio", "input_audio": {"data": "CCCC", "format": form}}]


def test_media_and_names_that_have_no_place_are_left_out_with_a_notice() -> None:
    messages = [UserMessage("Draw.", name="ada"), AiMessage([TextContent("Here."), IMAGE]), UserMessage("More.")]
    assert body_of(messages)["input"][:2] == [
        {"role": "user", "content": "Draw."},
        {"role": "assistant", "content": "Here."},
    ]
    assert notices_of(messages) == ["user_name_left_out", "assistant_media_left_out"]


# -- state that the server keeps ---------------------------------------------------------------------------------

SERVER: dict[str, Any] = {"state": "previous_response", "vendor": "openai", "model": "gpt-5"}


def kept_turn(*items: dict[str, Any], id: str = "resp_1") -> AiMessage:
    """A turn that OpenAI keeps."""
    return openai_turn(*items, id=id, store=True)


def test_the_first_request_of_a_kept_conversation_is_whole() -> None:
    body = body_of([SystemMessage("Be brief."), ASK], **SERVER)
    assert (body["store"], body["instructions"], len(body["input"])) == (True, "Be brief.", 1)
    assert "previous_response_id" not in body
    assert "include" not in body


def test_later_ones_name_the_last_kept_turn_and_hold_what_is_new() -> None:
    """Instructions again, as they are not inherited; results of the turn's calls; later messages."""
    turn = kept_turn(reasoning_item(encrypted_content=None), call_item())
    messages = [SystemMessage("Be brief."), ASK, turn, *results_of(turn), UserMessage("And now?")]
    body = body_of(messages, **SERVER)
    assert (body["instructions"], body["previous_response_id"]) == ("Be brief.", "resp_1")
    assert body["input"] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
        {"role": "user", "content": "And now?"},
    ]


def test_turns_that_the_server_does_not_keep_are_sent_behind_the_last_that_it_keeps() -> None:
    """A turn of another model, or one that was replaced, has no id that the server knows."""
    messages = [
        ASK,
        kept_turn(text_item("First.")),
        UserMessage("Again."),
        AiMessage("Second.", provider_state=ProviderState("openai", {"response_id": "resp_7"})),
        UserMessage("And again."),
    ]
    body = body_of(messages, **SERVER)
    assert body["previous_response_id"] == "resp_1"
    assert [item["content"] for item in body["input"]] == ["Again.", "Second.", "And again."]


def test_the_result_of_a_custom_tool_keeps_its_form_when_its_call_is_not_sent() -> None:
    turn = kept_turn(custom_item())
    body = body_of([ASK, turn, *results_of(turn)], **SERVER)
    assert body["input"] == [{"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"}]


WHOLE: list[tuple[str, list[ChatMessage]]] = [
    ("no id is known", [ASK, openai_turn(text_item("First.")), UserMessage("Again.")]),
    ("nothing is new", [ASK, kept_turn(text_item("First."))]),
    ("the id is another's", [ASK, plain(text_item("First."), store=True).ai_message, UserMessage("Again.")]),
]


@pytest.mark.parametrize("messages", [row[1] for row in WHOLE], ids=[row[0] for row in WHOLE])
def test_the_whole_is_sent_where_the_server_cannot_go_on(messages: list[ChatMessage]) -> None:
    body = body_of(messages, **SERVER)
    assert "previous_response_id" not in body
    assert len(body["input"]) == len(messages)


def test_a_branch_goes_on_from_the_turn_where_it_left() -> None:
    first, second = kept_turn(text_item("First.")), kept_turn(text_item("Second."), id="resp_2")
    grown = [ASK, first, UserMessage("Again."), second, UserMessage("More.")]
    branch = [ASK, first, UserMessage("Otherwise.")]
    assert body_of(grown, **SERVER)["previous_response_id"] == "resp_2"
    assert body_of(branch, **SERVER)["previous_response_id"] == "resp_1"


def test_a_kept_conversation_can_be_replayed_and_the_other_way_round() -> None:
    """The setting may change between two requests."""
    turn = kept_turn(reasoning_item(), call_item())
    messages = [ASK, turn, *results_of(turn)]
    assert body_of(messages, vendor="openai", model="gpt-5")["input"][1:3] == [reasoning_item(), call_item()]
    assert body_of(messages, **SERVER)["previous_response_id"] == "resp_1"


def test_requests_of_a_growing_conversation_are_what_each_would_be_alone() -> None:
    """Earlier turns are taken from what was encoded before; nothing of it may be stale."""
    from agentforge.model import ChatRequest
    from plugins.openai.tests.responses.support import model_on

    first = kept_turn(reasoning_item(), call_item())
    second = kept_turn(custom_item(), id="resp_2")
    messages: list[ChatMessage] = [
        SystemMessage("Be brief."),
        SystemMessage("Be kind."),
        ASK,
        first,
        *results_of(first),
        SystemMessage("Now in verse."),
        second,
        *results_of(second),
        AiMessage(),
        UserMessage("Thanks."),
    ]
    whole_steps = [1, 2, 3, 5, 6, 8, 9, 10]
    for options in (SERVER, {"vendor": "openai", "model": "gpt-5"}):
        model, parameters = model_on(**options), ChatRequestParameters()
        for count in (*whole_steps, 3, 8, 10):
            body, _ = model.preview(ChatRequest(messages[:count], parameters))
            assert json.loads(body) == body_of(messages[:count], **options), count


def test_the_state_is_stamped_with_the_endpoint_and_the_api() -> None:
    from plugins.openai.tests.responses.support import answer, exchange

    message = exchange("Hello", answer(text_item("ok"))).ai_message
    [part] = message.contents
    assert isinstance(part, TextContent)
    assert part.provider_state is not None
    assert part.provider_state.provider == OWNER
