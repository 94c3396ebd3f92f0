"""What models tell of circuits and rate limits, over each wire, plain and streamed, and what the beans of one
application share."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import pytest

from agentforge import AgentForge, ChatModel, ChatRequest, ChatResponse, ToolService, tool
from agentforge.errors import (
    CircuitOpenError,
    ConfigurationError,
    LocalRateLimitError,
    ModelConnectionError,
    ModelError,
    OverloadedError,
    StreamTruncatedError,
)
from agentforge.http import (
    CircuitBreaker,
    HttpRequest,
    HttpResponse,
    HttpStream,
    HttpTimeouts,
    Outages,
    RateLimit,
    RateLimiter,
    RetryBudget,
)
from agentforge.model import ChatEvent, ChatRequestParameters, Notice, ResponseDone
from agentforge.model.fallback import FallbackChatModel, FallbackReason
from agentforge.testing import ScriptedEndpoint, call
from agentforge_anthropic import AnthropicChatModel
from agentforge_dashscope import DashScopeChatModel
from agentforge_gemini import GeminiChatModel
from agentforge_ollama import OllamaChatModel
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel

MODELS: Mapping[str, type[Any]] = {
    "chat": OpenAiChatModel,
    "responses": OpenAiResponsesModel,
    "messages": AnthropicChatModel,
    "gemini": GeminiChatModel,
    "ollama": OllamaChatModel,
    "dashscope": DashScopeChatModel,
}
DOWN: Mapping[str, Any] = {"status": 503, "body": {"error": {"message": "down"}}}
TWO = CircuitBreaker(failures=2, open_for=5.0)

each_wire = pytest.mark.parametrize("wire", MODELS)
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def ask(
    model: ChatModel, streamed: bool, parameters: ChatRequestParameters | None = None
) -> tuple[ChatResponse, list[ChatEvent]]:
    """The response, and the events where there are any."""
    request = ChatRequest("Hello", parameters) if parameters is not None else ChatRequest("Hello")
    if not streamed:
        return await model.chat(request), []
    events = [event async for event in model.stream(request)]
    assert isinstance(events[-1], ResponseDone)
    return events[-1].response, events


async def fail(model: ChatModel, streamed: bool = False) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model, streamed)
    return caught.value


class Street:
    """Endpoints and models, closed at the end; models that ask the same endpoint learn from each other."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.clock = Clock()
        self.outages = Outages(clock=self.clock)

    async def endpoint(self, *turns: Any) -> ScriptedEndpoint:
        return await self._stack.enter_async_context(ScriptedEndpoint(turns))

    async def model(self, wire: str, endpoint: ScriptedEndpoint, **settings: Any) -> Any:
        given = {"model": "m", "max_retries": 0, "circuit_breaker": TWO, **settings}
        model = await self._stack.enter_async_context(MODELS[wire](base_url=endpoint.base_url, **given))
        model.share(self.outages)
        return model


def in_a_street(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The test with a `Street` as its first argument."""

    @wraps(test)
    async def run(**given: Any) -> None:
        async with AsyncExitStack() as stack:
            await test(Street(stack), **given)

    signature = inspect.signature(test)
    run.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    return run


# -- circuits ------------------------------------------------------------------------------------


@each_wire
@both_ways
@in_a_street
async def test_the_answer_that_closed_a_circuit_says_so(street: Street, wire: str, streamed: bool) -> None:
    """On the response, and in a stream as an event before the text; the next one says nothing."""
    endpoint = await street.endpoint(DOWN, DOWN, "Here again.", "Still here.")
    model = await street.model(wire, endpoint)
    for _ in range(2):
        await fail(model, streamed)
    assert isinstance(await fail(model, streamed), CircuitOpenError)
    assert len(endpoint.requests) == 2
    street.clock.now += 5.0

    response, events = await ask(model, streamed)
    assert response.ai_message.text == "Here again."
    notice = Notice(
        "circuit_closed",
        f"{endpoint.base_url} (model m) answers again: its circuit closed after 5.0 s",
        {"endpoint": endpoint.base_url, "model": "m", "open_seconds": 5.0},
    )
    assert [each for each in response.notices if each.code.startswith("circuit_")] == [notice]
    if streamed:
        assert events[0] == notice and sum(type(event) is Notice for event in events) == 1
    response, events = await ask(model, streamed)
    assert not any(each.code.startswith("circuit_") for each in (*response.notices, *events) if type(each) is Notice)


@both_ways
@in_a_street
async def test_a_run_tells_it_to_whoever_listens(street: Street, streamed: bool) -> None:
    """In the notices of its result, and among its events."""
    endpoint = await street.endpoint(DOWN, DOWN, call("look"), "Done.")
    model = await street.model("chat", endpoint)
    for _ in range(2):
        await fail(model)
    street.clock.now += 5.0
    service = ToolService(tool("Looks.", name="look")(lambda: "nothing"))
    if streamed:
        async with service.stream(model, None, "Go") as stream:
            events = [event async for event in stream]
        assert [event.code for event in events if isinstance(event, Notice)] == ["circuit_closed"]
        result = stream.result
    else:
        result = await service.chat(model, None, "Go")
    assert [notice.code for notice in result.notices] == ["circuit_closed"]


@both_ways
@in_a_street
async def test_a_model_with_tools_over_a_schema_tells_it_too(street: Street, streamed: bool) -> None:
    """The translation keeps what the request's way had to tell."""
    endpoint = await street.endpoint(DOWN, DOWN, '{"answer": "Done."}')
    model = await street.model("chat", endpoint, tool_mode="json_schema")
    tools = ChatRequestParameters(tools=ToolService(tool("Looks.", name="look")(lambda: "")).tool_specifications)
    for _ in range(2):
        with pytest.raises(OverloadedError):
            await ask(model, streamed, tools)
    street.clock.now += 5.0
    response, events = await ask(model, streamed, tools)
    assert [each.code for each in response.notices] == ["circuit_closed"]
    assert [each.code for each in events if type(each) is Notice] == ["circuit_closed"] * streamed


@each_wire
@both_ways
@in_a_street
async def test_an_open_circuit_makes_the_next_model_answer_at_once(street: Street, wire: str, streamed: bool) -> None:
    """A fallback finds out without asking, and says whom it passed over."""
    broken, sound = await street.endpoint(DOWN, DOWN), await street.endpoint("One.", "Two.", "Three.")
    group = FallbackChatModel([await street.model(wire, broken), await street.model(wire, sound)])
    codes = []
    for text in ("One.", "Two.", "Three."):
        response, _ = await ask(group, streamed)
        assert response.ai_message.text == text
        codes += [notice.details["failed"][0]["code"] for notice in response.notices]  # type: ignore[index]
    assert codes == ["AF308", "AF308", "AF315"]
    assert len(broken.requests) == 2


@pytest.mark.parametrize(
    ("on", "goes_on"),
    [
        (("overloaded",), True),
        (("connection",), False),
        (("any",), True),
        (("rate_limit", "timeout"), False),
    ],
)
@in_a_street
async def test_an_open_circuit_counts_as_an_overload_and_as_what_opened_it(
    street: Street, on: Sequence[FallbackReason], goes_on: bool
) -> None:
    broken, sound = await street.endpoint(DOWN, DOWN), await street.endpoint("Here.")
    first = await street.model("chat", broken)
    for _ in range(2):
        await fail(first)
    group = FallbackChatModel([first, await street.model("chat", sound)], on=on)
    if goes_on:
        assert (await group.chat(ChatRequest("Hello"))).ai_message.text == "Here."
    else:
        assert isinstance(await fail(group), CircuitOpenError)


@in_a_street
async def test_an_overloaded_model_does_not_take_its_smaller_sister_with_it(street: Street) -> None:
    """At one provider, what fails with 503 is one model; the one that stands in for it there still answers."""
    endpoint = await street.endpoint(DOWN, DOWN, "From the small one.")
    large = await street.model("chat", endpoint, model="large")
    small = await street.model("chat", endpoint, model="small")
    for _ in range(2):
        await fail(large)
    response = await FallbackChatModel([large, small]).chat(ChatRequest("Hello"))
    assert response.ai_message.text == "From the small one."


@each_wire
@in_a_street
async def test_an_error_within_a_good_answer_counts(street: Street, wire: str) -> None:
    """Overloaded after 200, in the middle of a stream, where the wire has a word for it; and a stream that is cut."""
    busy = {"type": "overloaded", "message": "busy", "provider_code": "overloaded"}
    cut = {"text": "Hello", "truncate_after": 1}
    turns = [{"text": "Hel", "error": busy} if wire != "ollama" else cut, cut]
    model = await street.model(wire, await street.endpoint(*turns))
    kinds = [type(await fail(model, streamed=True)) for _ in range(3)]
    assert kinds == [
        OverloadedError if wire != "ollama" else StreamTruncatedError,
        StreamTruncatedError,
        CircuitOpenError,
    ]


@in_a_street
async def test_an_error_in_a_plain_body_under_200_counts(street: Street) -> None:
    """As a failure alone, and not as the good answer that its status promised."""
    body = {"error": {"message": "queue is full", "code": 503}}
    endpoint = await street.endpoint(*[{"status": 200, "body": body}] * 2)
    model = await street.model("chat", endpoint, circuit_breaker=CircuitBreaker(failures=2, failure_ratio=1.0))
    for _ in range(2):
        assert isinstance(await fail(model), OverloadedError)
    assert isinstance(await fail(model), CircuitOpenError)


@both_ways
@in_a_street
async def test_a_probe_that_gets_an_error_under_200_keeps_the_circuit_open(street: Street, streamed: bool) -> None:
    """Nor does the comment line before it, that some providers send while a request waits."""
    body = {"error": {"message": "queue is full", "code": 503}}
    text = f": processing\n\ndata: {json.dumps(body)}\n\n"
    refused = {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": text} if streamed else None
    refused = refused or {"status": 200, "body": body}
    model = await street.model("chat", await street.endpoint(*[refused] * 3, "Here again."))
    for _ in range(2):
        assert isinstance(await fail(model, streamed), OverloadedError)
    street.clock.now += 5.0
    assert isinstance(await fail(model, streamed), OverloadedError)
    assert isinstance(await fail(model, streamed), CircuitOpenError)
    street.clock.now += 10.0
    response, events = await ask(model, streamed)
    assert [notice.code for notice in response.notices] == ["circuit_closed"]
    if streamed:
        assert [type(event) for event in events].index(Notice) == 0


class Resetting:
    """A transport whose every streamed answer is whole, and whose connection breaks behind it."""

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        yield HttpStream(200, {"content-type": "text/event-stream"}, self._chunks())

    async def _chunks(self) -> AsyncIterator[bytes]:
        yield b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}\n\n'
        yield b"data: [DONE]\n\n"
        raise ModelConnectionError("broke")

    async def send(self, request: HttpRequest) -> HttpResponse:
        raise AssertionError("it is asked for streams")

    async def aclose(self) -> None:
        pass


async def test_a_connection_that_breaks_behind_a_whole_reply_is_no_failure() -> None:
    model = OpenAiChatModel(
        base_url="http://llm.example/v1", model="m", transport=Resetting(), circuit_breaker=TWO, max_retries=0
    )
    for _ in range(5):
        response, _ = await ask(model, streamed=True)
        assert response.ai_message.text == "Hello."


@in_a_street
async def test_without_a_circuit_breaker_every_request_is_sent(street: Street) -> None:
    endpoint = await street.endpoint(*[DOWN] * 5)
    model = await street.model("chat", endpoint, circuit_breaker=False)
    for _ in range(5):
        assert isinstance(await fail(model), OverloadedError)


async def test_a_model_in_python_is_on_its_own_until_it_shares() -> None:
    """What another one found out is its own affair."""
    async with ScriptedEndpoint([DOWN, DOWN, "Here."]) as endpoint:
        settings: dict[str, Any] = {"base_url": endpoint.base_url, "model": "m", "max_retries": 0}
        async with (
            OpenAiChatModel(**settings, circuit_breaker=TWO) as first,
            OpenAiChatModel(**settings, circuit_breaker=TWO) as second,
        ):
            for _ in range(2):
                await fail(first)
            assert isinstance(await fail(first), CircuitOpenError)
            assert (await ask(second, streamed=False))[0].ai_message.text == "Here."


async def test_the_models_of_an_application_share_what_they_know() -> None:
    """Those that ask the same endpoint; also another type of bean there, where it is the connection that fails."""
    async with ScriptedEndpoint([DOWN, DOWN, "Here."]) as endpoint, ScriptedEndpoint(["There."]) as other:
        bean = {
            "type": "openai.chat",
            "model": "m",
            "base_url": endpoint.base_url,
            "max_retries": 0,
            "circuit_breaker": {"failures": 2, "open_for": "1h", "open_cap": "1h"},
        }
        beans = {
            "first": bean,
            "second": {**bean, "headers": {"x-team": "blue"}},
            "elsewhere": {**bean, "base_url": other.base_url},
            "without": {**bean, "circuit_breaker": False},
        }
        async with AgentForge.from_mapping({"beans": beans}, environment={}) as app:
            for _ in range(2):
                await fail(app.get("first"))
            assert isinstance(await fail(app.get("second")), CircuitOpenError)
            for name, text in (("elsewhere", "There."), ("without", "Here.")):
                assert (await ask(app.get(name), streamed=False))[0].ai_message.text == text


async def test_an_endpoint_that_is_not_there_is_known_to_every_model_that_asks_it() -> None:
    """Of whatever name and protocol."""
    async with ScriptedEndpoint([]) as gone:
        address = gone.base_url
    settings = {"base_url": address, "max_retries": 0, "circuit_breaker": {"failures": 2}}
    beans = {
        "chat": {"type": "openai.chat", "model": "large", **settings},
        "responses": {"type": "openai.responses", "model": "small", **settings},
        "vectors": {"type": "openai.embeddings", "model": "vectors", **settings},
    }
    async with AgentForge.from_mapping({"beans": beans}, environment={}) as app:
        for _ in range(2):
            await fail(app.get("chat"))
        error = await fail(app.get("responses"))
        with pytest.raises(CircuitOpenError):
            await app.get("vectors").embed(["text"])
    assert isinstance(error, CircuitOpenError) and error.details["endpoint"] == address


# -- retry budget --------------------------------------------------------------------------------


@each_wire
@in_a_street
async def test_the_retry_budget_is_shared_and_can_be_set(street: Street, wire: str) -> None:
    endpoint = await street.endpoint(*[{**DOWN, "headers": {"retry-after": "0.001"}}] * 10)
    budget = RetryBudget(ratio=0.0, reserve=3)
    settings: dict[str, Any] = {"circuit_breaker": False, "max_retries": 2, "retry_budget": budget}
    first, second = [await street.model(wire, endpoint, **settings) for _ in range(2)]
    errors = [await fail(first), await fail(second)]
    assert [error.attempts for error in errors] == [3, 2]
    assert "retry budget of this endpoint" in (errors[1].next_step or "")


# -- rate limits ---------------------------------------------------------------------------------


@each_wire
@both_ways
@in_a_street
async def test_a_reply_settles_what_its_request_was_thought_to_cost(street: Street, wire: str, streamed: bool) -> None:
    """With what it reported the next one would have to wait, and says how long."""
    reply = {"text": "Hi.", "usage": {"input": 900, "output": 100}}
    endpoint = await street.endpoint(reply, "Hi.")
    limit = RateLimit(tokens_per_minute=1100, max_wait=1.0)
    model = await street.model(wire, endpoint, rate_limit=RateLimiter(limit, clock=street.clock))
    await ask(model, streamed)
    error = await fail(model, streamed)
    assert isinstance(error, LocalRateLimitError)
    assert "would have this request wait 60.0 s, and its max_wait is 1.0 s" in error.message
    street.clock.now += 60.0
    assert (await ask(model, streamed))[0].ai_message.text == "Hi."


@in_a_street
async def test_a_request_that_costs_little_makes_room_at_once(street: Street) -> None:
    """Guessed at several hundred tokens each, twelve would be; they cost ten."""
    reply = {"text": "Hi.", "usage": {"input": 8, "output": 2}}
    endpoint = await street.endpoint(*[reply] * 12)
    limit = RateLimit(tokens_per_minute=1100, max_wait=1.0)
    model = await street.model("chat", endpoint, rate_limit=RateLimiter(limit, clock=street.clock))
    for _ in range(12):
        await ask(model, streamed=False)


@in_a_street
async def test_a_limit_is_of_its_model_or_of_those_that_have_it(street: Street) -> None:
    """A `RateLimit` is each model's own; a `RateLimiter` is one for all that are given it."""
    endpoint = await street.endpoint(*["Hi."] * 3)
    limit = RateLimit(requests_per_minute=1, max_wait=1.0)
    for model in [await street.model("chat", endpoint, rate_limit=limit) for _ in range(2)]:
        await ask(model, streamed=False)
    limiter = RateLimiter(limit)
    first, second = [await street.model("chat", endpoint, rate_limit=limiter) for _ in range(2)]
    await ask(first, streamed=False)
    assert isinstance(await fail(second), LocalRateLimitError)


@in_a_street
async def test_both_apis_of_one_model_are_one(street: Street) -> None:
    """A model that sends some requests to Responses has one circuit, one budget and one rate limit for both."""
    endpoint = await street.endpoint(*["Hi."] * 2)
    model = OpenAiChatModel(
        base_url=endpoint.base_url,
        vendor="openai",
        api_key="sk-example",
        model="gpt-5.4",
        tools_need_responses="responses",
        rate_limit=RateLimit(requests_per_minute=1, max_wait=1.0),
    )
    tools = ToolService(tool("Looks.", name="look")(lambda: "")).tool_specifications
    async with model:
        await model.chat(ChatRequest("Hello"))
        with pytest.raises(LocalRateLimitError):
            await model.chat(ChatRequest("Hello", ChatRequestParameters(tools=tools, reasoning_effort="high")))
    assert [request.path for request in endpoint.requests] == ["/v1/chat/completions"]


@in_a_street
async def test_the_wait_must_fit_into_the_time_of_the_request(street: Street) -> None:
    """It fails before it waits, not when the time is over."""
    endpoint = await street.endpoint("Hi.")
    model = await street.model(
        "chat", endpoint, rate_limit=RateLimit(requests_per_minute=1), timeouts=HttpTimeouts(total=5.0)
    )
    await ask(model, streamed=False)
    error = await fail(model)
    assert isinstance(error, LocalRateLimitError) and "raise timeouts.total" in (error.next_step or "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"circuit_breaker": {"failures": 5}}, "circuit_breaker must be a CircuitBreaker, True or False"),
        ({"retry_budget": 5}, "retry_budget must be a RetryBudget, True or False, not 5"),
        ({"rate_limit": 60}, "rate_limit must be a RateLimit, not int"),
    ],
)
@each_wire
def test_an_argument_that_is_none(wire: str, settings: dict[str, Any], message: str) -> None:
    """Refused when the model is made, with what to give."""
    with pytest.raises(ConfigurationError, match=message) as caught:
        MODELS[wire](model="m", base_url="http://127.0.0.1:9/v1", **settings)
    assert (caught.value.next_step or "").startswith("Give ")
