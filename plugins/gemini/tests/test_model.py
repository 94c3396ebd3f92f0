"""The model over its transport: addresses, headers, retries, streams and their ends."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from agentforge import ToolService
from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    OverloadedError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.model import (
    AiMessage,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    FinishReason,
    ResponseDone,
    TextDelta,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge_gemini import GEMINI, VENDORS, GeminiChatModel, GeminiRow, ModelFamily, vendor_row
from plugins.gemini.tests.support import GOOD, MODEL, FakeTransport, body, body_of, call_part, model_on, piece
from tests.support.wire_exchange import AT_ONCE, WEATHER

STREAM = piece({"text": "Hel"}) + piece({"text": "lo"}, finish="STOP")
BUSY = {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}


def test_it_is_a_chat_model() -> None:
    assert isinstance(model_on(), ChatModel)


# -- where requests go, and what they carry -------------------------------------------------------

GOOGLE = "https://generativelanguage.googleapis.com"
VERTEX = "aiplatform.googleapis.com/v1beta1/projects/shop/locations"
ADDRESSES: dict[str, tuple[dict[str, Any], str]] = {
    "the vendor's": ({}, f"{GOOGLE}/v1beta/models/{MODEL}"),
    "another version": ({"base_url": f"{GOOGLE}/v1/"}, f"{GOOGLE}/v1/models/{MODEL}"),
    "of the environment": (
        {"environment": {"GOOGLE_GEMINI_BASE_URL": "https://proxy.example"}},
        f"https://proxy.example/v1beta/models/{MODEL}",
    ),
    "another host": (
        {"vendor": "generic", "base_url": "https://llm.example/gemini"},
        f"https://llm.example/gemini/v1beta/models/{MODEL}",
    ),
    "a resource of its own": ({"model": "tunedModels/mine"}, f"{GOOGLE}/v1beta/tunedModels/mine"),
    "a project": ({"vendor": "vertexai"}, f"https://{VERTEX}/global/publishers/google/models/{MODEL}"),
    "a region": (
        {"vendor": "vertexai", "location": "europe-west4"},
        f"https://europe-west4-{VERTEX}/europe-west4/publishers/google/models/{MODEL}",
    ),
    "several regions": (
        {"vendor": "vertexai", "location": "eu"},
        f"https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/shop/locations/eu/publishers/google/models/{MODEL}",
    ),
    "a project of the environment": (
        {
            "vendor": "vertexai",
            "project": None,
            "environment": {"GOOGLE_CLOUD_PROJECT": "shop", "GOOGLE_CLOUD_LOCATION": "us-central1"},
        },
        f"https://us-central1-{VERTEX}/us-central1/publishers/google/models/{MODEL}",
    ),
    "a whole address": (
        {"vendor": None, "base_url": f"https://us-central1-{VERTEX}/us-central1".replace("v1beta1", "v1")},
        f"https://us-central1-{VERTEX}/us-central1/publishers/google/models/{MODEL}".replace("v1beta1", "v1"),
    ),
    "a proxy before a project": (
        {"vendor": "vertexai", "base_url": "https://proxy.example"},
        f"https://proxy.example/v1beta1/projects/shop/locations/global/publishers/google/models/{MODEL}",
    ),
    "a key without a project": (
        {"vendor": "vertexai", "project": None, "auth": "x-goog-api-key"},
        f"https://aiplatform.googleapis.com/v1beta1/publishers/google/models/{MODEL}",
    ),
    "another publisher": (
        {"vendor": "vertexai", "model": "publishers/acme/models/m"},
        f"https://{VERTEX}/global/publishers/acme/models/m",
    ),
    "another publisher's model by its short name": (
        {"vendor": "vertexai", "model": "acme/m"},
        f"https://{VERTEX}/global/publishers/acme/models/m",
    ),
    "an endpoint of the project": (
        {"vendor": "vertexai", "model": "endpoints/7"},
        f"https://{VERTEX}/global/endpoints/7",
    ),
    "the region of a host": (
        {"vendor": None, "base_url": "https://us-central1-aiplatform.googleapis.com", "project": "shop"},
        f"https://us-central1-{VERTEX}/us-central1/publishers/google/models/{MODEL}",
    ),
    "an endpoint of one's own": (
        {"vendor": "vertexai", "model": "projects/1/locations/eu/endpoints/7"},
        "https://aiplatform.googleapis.com/v1beta1/projects/1/locations/eu/endpoints/7",
    ),
}


@pytest.mark.parametrize(("options", "url"), ADDRESSES.values(), ids=ADDRESSES)
async def test_the_address_holds_the_model_and_what_it_is_asked(options: dict[str, Any], url: str) -> None:
    transport = FakeTransport(GOOD, [STREAM])
    model = model_on(transport, **options)
    await model.chat(ChatRequest("q"))
    async for _ in model.stream(ChatRequest("q")):
        pass
    assert [request.url for request in transport.requests] == [
        f"{url}:generateContent",
        f"{url}:streamGenerateContent?alt=sse",
    ]


@pytest.mark.parametrize(
    ("options", "present", "absent"),
    [
        ({}, {"x-goog-api-key": "key-for-tests"}, "authorization"),
        ({"auth": "bearer"}, {"authorization": "Bearer key-for-tests"}, "x-goog-api-key"),
        ({"vendor": "vertexai"}, {"authorization": "Bearer key-for-tests"}, "x-goog-api-key"),
        (
            {"vendor": "vertexai", "auth": "x-goog-api-key"},
            {"x-goog-api-key": "key-for-tests"},
            "authorization",
        ),
        ({"headers": {"x-goog-user-project": "shop"}}, {"x-goog-user-project": "shop"}, "authorization"),
    ],
)
async def test_headers_carry_the_key(options: dict[str, Any], present: dict[str, str], absent: str) -> None:
    """Never the address, which ends up in logs."""
    transport = FakeTransport()
    await model_on(transport, **options).chat(ChatRequest("q"))
    assert {name: transport.header(name) for name in present} == present
    assert transport.header(absent) is None
    assert "key-for-tests" not in transport.requests[0].url


def test_the_key_comes_from_the_vendors_variable_and_never_goes_elsewhere() -> None:
    environment = {"GEMINI_API_KEY": "sk-1", "VERTEX_ACCESS_TOKEN": "sk-2"}
    assert GeminiChatModel(model="m", environment=environment).secrets.mask("sk-1 sk-2") == "*** sk-2"
    vertex = GeminiChatModel(model="m", project="shop", environment=environment)
    assert vertex.secrets.mask("sk-1 sk-2") == "sk-1 ***"
    other = GeminiChatModel(model="m", base_url="https://llm.example", environment=environment)
    assert other.secrets.mask("sk-1 sk-2") == "sk-1 sk-2"
    with pytest.raises(ConfigurationError) as caught:
        GeminiChatModel(model="m", environment={})
    assert "GEMINI_API_KEY" in (caught.value.next_step or "")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"vendor": "nobody"}, "there is no vendor row 'nobody'"),
        ({"auth": "basic"}, "auth must be"),
        ({"vendor": "vertexai", "project": ""}, "needs a project"),
        ({"vendor": "vertexai", "project": "a/b"}, "project 'a/b' is no part of an address"),
        ({"vendor": "vertexai", "location": "eu?x"}, "location 'eu\\?x' is no part of an address"),
        ({"project": "shop"}, "project and location are of vendor 'vertexai'"),
        ({"location": "eu"}, "project and location are of vendor 'vertexai'"),
        ({"model": ""}, "model is empty"),
        ({"model": "../other"}, "model '../other' is no part of an address"),
        ({"model": "tunedModels//mine"}, "is no part of an address"),
        ({"vendor": "vertexai", "project": None, "location": "eu", "auth": "x-goog-api-key"}, "needs a project"),
        (
            {"vendor": "vertexai", "project": None, "base_url": "https://eu-aiplatform.googleapis.com"},
            "needs a project",
        ),
        ({"vendor": "vertexai", "base_url": f"https://{VERTEX}/eu"}, "base_url holds a project already"),
    ],
)
def test_settings_that_cannot_be_honoured(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigurationError, match=what) as caught:
        model_on(**options)
    assert caught.value.next_step


def test_the_model_of_a_request_is_no_way_to_another_address() -> None:
    with pytest.raises(ConfigurationError, match="no part of an address"):
        body_of("q", ChatRequestParameters(model_name="../../x"))


def test_the_vendor_follows_from_the_address_or_the_project() -> None:
    environment = {"GEMINI_API_KEY": "a", "VERTEX_ACCESS_TOKEN": "b"}
    given: dict[str, dict[str, Any]] = {
        "gemini": {},
        "vertexai": {"project": "shop"},
        "generic": {"base_url": "https://llm.example"},
    }
    for name, options in given.items():
        assert f"vendor='{name}'" in repr(GeminiChatModel(model="m", environment=environment, **options))
    model = GeminiChatModel(model="m", base_url=f"https://eu-{VERTEX}/eu", environment=environment)
    assert "vendor='vertexai'" in repr(model)


def test_a_row_of_ones_own() -> None:
    """Another host with models of its own."""
    family = ModelFamily(models="^house-", thinking="none", signatures=False, json_schema=False)
    row = replace(VENDORS["generic"], name="house", base_url="https://house.example", families=(family,))
    assert isinstance(row, GeminiRow) and vendor_row(row) is row
    sent = body_of("q", ChatRequestParameters(tools=[WEATHER]), vendor=row, model="house-large")
    assert "parameters" in sent["tools"][0]["functionDeclarations"][0]
    mapping = {"like": "gemini", "name": "desk", "base_url": "https://desk.example", "resource": "m/{model}"}
    model = GeminiChatModel(model="gemini-3.5-flash", vendor=mapping, environment={})
    assert model._url(model.base_url, "x", stream=False) == "https://desk.example/v1beta/m/x:generateContent"
    with pytest.raises(ConfigurationError, match="no regular expression"):
        ModelFamily(models="(")
    assert row.family("other") is not family and GEMINI[-1].models == "gemini-"


# -- failures --------------------------------------------------------------------------------------


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    transport = FakeTransport((503, BUSY), GOOD)
    response = await model_on(transport, retry=AT_ONCE).chat(ChatRequest("q"))
    assert response.ai_message.text == "ok" and len(transport.requests) == 2


async def test_a_refused_key_is_not() -> None:
    """Though its status is that of a bad request."""
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    said = {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT", "details": details}}
    transport = FakeTransport((400, said))
    with pytest.raises(AuthenticationError):
        await model_on(transport, retry=AT_ONCE).chat(ChatRequest("q"))
    assert len(transport.requests) == 1


async def test_the_body_of_a_stream_that_failed_may_be_a_list() -> None:
    transport = FakeTransport((503, [BUSY]))
    transport.answers = [(503, b'[{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]')]
    with pytest.raises(OverloadedError, match="busy"):
        async for _ in model_on(transport).stream(ChatRequest("q")):
            pass


async def test_a_stream_shows_its_texts_and_the_whole_reply() -> None:
    events = [event async for event in model_on(FakeTransport([STREAM])).stream(ChatRequest("q"))]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]
    last = events[-1]
    assert isinstance(last, ResponseDone) and last.response.ai_message == AiMessage("Hello")


async def test_a_list_in_place_of_events_is_a_whole_reply() -> None:
    """As the API answers without ``alt=sse``, or a proxy that dropped it."""
    content = b'[{"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]}\n,\n'
    rest = b'{"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}]}]'
    events = [event async for event in model_on(FakeTransport([content, rest])).stream(ChatRequest("q"))]
    last = events[-1]
    assert isinstance(last, ResponseDone) and last.response.ai_message.text == "Hello"


async def test_a_cut_stream_is_an_error_with_the_text_so_far() -> None:
    model = model_on(FakeTransport([piece({"text": "so far"})]), retry=AT_ONCE)
    with pytest.raises(StreamTruncatedError) as caught:
        [event async for event in model.stream(ChatRequest("q"))]
    assert caught.value.partial_text == "so far"


# -- a conversation --------------------------------------------------------------------------------


async def test_a_conversation_goes_on_with_what_the_model_said() -> None:
    """Its signature goes back; a name that the wire does not take is taken back in the answer."""
    tool = ToolSpecification("weather/now", "current weather")
    parameters = ChatRequestParameters(tools=[tool])
    first = FakeTransport()
    await model_on(first).chat(ChatRequest("q", parameters))
    alias = first.bodies[0]["tools"][0]["functionDeclarations"][0]["name"]
    transport = FakeTransport(body(call_part(alias, args={}, thoughtSignature="c2ln")), GOOD)
    model = model_on(transport)
    reply = await model.chat(ChatRequest("q", parameters))
    [call] = reply.ai_message.tool_execution_requests
    assert call.name == tool.name and reply.finish_reason is FinishReason.TOOL_EXECUTION
    result = ToolExecutionResultMessage(call.id, call.name, "fine")
    await model.chat(ChatRequest([UserMessage("q"), reply.ai_message, result], parameters))
    [_, said, answered] = transport.bodies[1]["contents"]
    assert said["parts"] == [call_part(alias, args={}, thoughtSignature="c2ln")]
    assert answered["parts"][0]["functionResponse"]["name"] == alias


async def test_what_a_reply_costs() -> None:
    """By the model that answered, at the vendor's own endpoint."""
    usage = {"promptTokenCount": 1_000_000, "candidatesTokenCount": 0, "totalTokenCount": 1_000_000}
    answer = {**GOOD, "usageMetadata": usage, "modelVersion": "gemini-3.8-flash"}
    response = await model_on(FakeTransport(answer)).chat(ChatRequest("q"))
    assert response.token_usage.cost == Decimal("0.75")
    other = await model_on(FakeTransport(answer), vendor="vertexai").chat(ChatRequest("q"))
    assert other.token_usage.cost is None


async def test_a_call_that_the_vendor_did_not_expect_never_runs() -> None:
    """The run ends with the vendor's words; the same call with an ordinary end runs."""
    runs: list[str] = []
    for finish, expected in (("UNEXPECTED_TOOL_CALL", []), ("STOP", ["get_weather"])):
        runs.clear()
        service = ToolService()
        service.tool(WEATHER, lambda request: runs.append(request.name) or "fine")
        transport = FakeTransport(body(call_part(args={"city": "Oslo"}), finish=finish, finishMessage="why"), GOOD)
        result = await service.chat(model_on(transport), None, "q")
        assert runs == expected
    assert len(transport.requests) == 2 and result.text == "ok"


async def test_a_rate_limit_is_waited_out_as_long_as_its_details_say() -> None:
    """There is no header for it on this API."""
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "61s"}
    said = {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [retry]}}
    with pytest.raises(RateLimitError, match="m") as caught:
        await model_on(FakeTransport((429, said)), retry=AT_ONCE).chat(ChatRequest("q"))
    assert caught.value.retry_after == 61 and caught.value.attempts == 1, "longer than anybody waits"
