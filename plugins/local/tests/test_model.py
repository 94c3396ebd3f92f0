"""The contract of a model, kept by the real weights: replies, streams, limits, cancellation, tools."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from agentforge import ToolService, tool
from agentforge.errors import (
    ConfigurationError,
    ContextLengthError,
    InvalidRequestError,
    ModelError,
    UnsupportedFeatureError,
)
from agentforge.model import (
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    FinishReason,
    ResponseDone,
    ResponseFormat,
    TextDelta,
    UsageEvent,
)
from agentforge_local import LocalLlamaModel
from agentforge_local.engine import Engine


@pytest.fixture(scope="module")
def model() -> Iterator[LocalLlamaModel]:
    """One model for the tests that leave it as it was."""
    made = LocalLlamaModel(context_size=1024, max_output_tokens=8)
    yield made
    asyncio.run(made.aclose())


def request(text: str = "Say hello.", **parameters: object) -> ChatRequest:
    return ChatRequest(text, ChatRequestParameters(**parameters))  # type: ignore[arg-type]


def test_it_is_a_chat_model_with_tools_over_a_schema(model: LocalLlamaModel) -> None:
    assert isinstance(model, ChatModel) and model.profile.tool_mode == "json_schema"


async def test_the_same_request_gives_the_same_answer_plain_streamed_and_after_others(model: LocalLlamaModel) -> None:
    first = await model.chat(request())
    await model.chat(request("What is two and two?", max_output_tokens=4))
    events = [event async for event in model.stream(request())]
    assert isinstance(events[-1], ResponseDone)
    assert first.ai_message.text == events[-1].response.ai_message.text
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == first.ai_message.text
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1


async def test_a_seed_decides_what_is_drawn(model: LocalLlamaModel) -> None:
    one, again, other = [
        (await model.chat(request("Tell a story.", temperature=1.5, seed=seed))).ai_message.text for seed in (1, 1, 2)
    ]
    assert one == again != other


async def test_tokens_are_counted_and_the_limit_ends_the_reply(model: LocalLlamaModel) -> None:
    events = [event async for event in model.stream(request("Tell a story.", max_output_tokens=5))]
    response = events[-1].response  # type: ignore[union-attr]
    assert response.finish_reason is FinishReason.LENGTH and response.raw_finish_reason == "length"
    read = response.token_usage.input_tokens or 0
    assert response.token_usage.output_tokens == 5 and read > 5
    assert response.token_usage.total_tokens == 5 + read
    assert any(isinstance(event, UsageEvent) and event.usage == response.token_usage for event in events)


async def test_a_stop_text_ends_the_reply_before_it(model: LocalLlamaModel) -> None:
    whole = (await model.chat(request("Count: one, two, three, four."))).ai_message.text or ""
    word = whole.split()[2]
    cut = await model.chat(request("Count: one, two, three, four.", stop=(word,)))
    assert cut.finish_reason is FinishReason.STOP and word not in (cut.ai_message.text or "")


async def test_a_schema_holds_the_answer(model: LocalLlamaModel) -> None:
    schema = {
        "type": "object",
        "properties": {"big": {"type": "boolean"}, "kind": {"enum": ["cat", "dog"]}},
        "required": ["big", "kind"],
        "additionalProperties": False,
    }
    response = await model.chat(
        request("A small cat.", response_format=ResponseFormat.json_schema(schema), max_output_tokens=24)
    )
    answer = json.loads(response.ai_message.text or "")
    assert answer["kind"] in ("cat", "dog") and type(answer["big"]) is bool


async def test_a_schema_that_the_engine_cannot_hold_is_an_error_and_not_an_answer(model: LocalLlamaModel) -> None:
    wanted = ResponseFormat.json_schema({"$ref": "http://127.0.0.1/schema"})
    with pytest.raises(InvalidRequestError, match="could not be held to the schema"):
        await model.chat(request("Say yes.", response_format=wanted, stop=(" ",)))


async def test_a_conversation_that_does_not_fit_says_its_size(model: LocalLlamaModel) -> None:
    with pytest.raises(ContextLengthError, match="1024"):
        await model.chat(request("word " * 2000))
    assert (await model.chat(request())).ai_message.text


@pytest.mark.parametrize("parameters", [{"model_name": "other"}, {"reasoning_effort": "high"}])
async def test_what_it_cannot_do_is_refused(model: LocalLlamaModel, parameters: dict[str, object]) -> None:
    with pytest.raises(UnsupportedFeatureError):
        await model.chat(request(**parameters))  # type: ignore[arg-type]


# -- the event loop, cancellation, closing ---------------------------------------------------------


async def test_the_event_loop_runs_on_while_the_model_works(model: LocalLlamaModel) -> None:
    turns = 0
    working = asyncio.create_task(model.chat(request()))
    while not working.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10 and (await working).ai_message.text


async def test_leaving_a_stream_stops_the_engine_and_frees_it_for_the_next(
    model: LocalLlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    generate = Engine.generate

    def counted(self: Engine, body: dict[str, object], on_chunk: object) -> None:
        def count(chunk: object) -> bool:
            nonlocal made
            made += 1
            return on_chunk(chunk)  # type: ignore[operator, no-any-return]

        generate(self, body, count)

    monkeypatch.setattr(Engine, "generate", counted)
    async with aclosing(model.stream(request("Tell a long story.", max_output_tokens=500))) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert (await model.chat(request(max_output_tokens=1))).finish_reason is FinishReason.LENGTH
    assert made < 400


async def test_a_waiting_request_can_be_cancelled_and_never_runs(
    model: LocalLlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    await model.start()
    asked: list[object] = []
    began, go = threading.Event(), threading.Event()
    generate = Engine.generate

    def held(self: Engine, body: dict[str, object], on_chunk: object) -> None:
        asked.append(body)
        began.set()
        go.wait(30)
        generate(self, body, on_chunk)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "generate", held)
    first = asyncio.create_task(model.chat(request(max_output_tokens=2)))
    await asyncio.to_thread(began.wait, 30)
    second = asyncio.create_task(model.chat(request("Never asked.")))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    go.set()
    assert (await first).token_usage.output_tokens == 2 and len(asked) == 1


async def test_closing_ends_what_runs_and_refuses_what_follows() -> None:
    model = LocalLlamaModel(context_size=1024, max_output_tokens=900)
    events = model.stream(request("Tell a long story."))
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await model.aclose()
    with pytest.raises(ModelError, match="closed while it answered"):
        async for _ in events:
            pass
    with pytest.raises(ModelError, match="was closed"):
        await model.chat(request())
    await model.aclose()


async def test_loading_leaves_the_programs_signal_handlers_as_they_were() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        async with LocalLlamaModel() as model:
            await model.start()
            signal.raise_signal(signal.SIGINT)
            assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


# -- tools ---------------------------------------------------------------------------------------


@tool("current weather of a city 城市天气")
def get_weather(city: str) -> str:
    return {"Paris": "22 degrees and clear", "杭州": "22度，晴"}[city]


@pytest.fixture
def generated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked a second time is answered as the first time; at temperature 0 the engine would do the same, in
    seconds."""
    known: dict[str, list[dict[str, Any]]] = {}
    generate = Engine.generate

    def once(self: Engine, body: dict[str, object], on_chunk: Callable[[dict[str, Any]], bool]) -> None:
        asked = json.dumps(body)
        assert body["temperature"] == 0
        if asked in known:
            assert not any(on_chunk(chunk) for chunk in known[asked])
        else:
            chunks: list[dict[str, Any]] = []
            generate(self, body, lambda chunk: chunks.append(chunk) or on_chunk(chunk))  # type: ignore[func-returns-value, arg-type]
            known[asked] = chunks

    monkeypatch.setattr(Engine, "generate", once)


@pytest.mark.parametrize(
    ("question", "city", "facts"),
    [("What is the weather in Paris?", "Paris", "22 degrees and clear"), ("杭州今天天气怎么样？", "杭州", "22度，晴")],
)
async def test_a_tool_is_called_with_the_right_city_and_the_answer_says_what_it_found(
    model: LocalLlamaModel, generated_once: None, question: str, city: str, facts: str
) -> None:
    """Whether the call is forced or the choice left open."""
    for choice in ("required", None):
        parameters = ChatRequestParameters(tool_choice=choice, max_output_tokens=160)
        result = await ToolService(get_weather).chat(model, parameters, question)
        assert [execution.request.arguments_as_map() for execution in result.tool_executions] == [{"city": city}]
        assert facts in (result.final_response.ai_message.text or "")
        assert result.final_response.finish_reason is FinishReason.STOP


@pytest.mark.parametrize(
    "wrong",
    [
        {"context_size": 0},
        {"context_size": 63},
        {"context_size": 2**31},
        {"threads": 100_000},
        {"threads": 0},
        {"temperature": -3.0},
        {"temperature": float("nan")},
        {"seed": 2**70},
        {"max_output_tokens": 0},
    ],
)
def test_numbers_at_which_the_engine_would_end_the_process_are_refused(wrong: dict[str, Any]) -> None:
    """Before the engine is loaded."""
    [name] = wrong
    with pytest.raises(ConfigurationError, match=f"{name} must be from"):
        LocalLlamaModel(**wrong)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (request(top_p=float("nan")), "top_p must be from"),
        (request(temperature=-1.0), "temperature must be from"),
        (request(custom_parameters={"messages": 5}), "cannot set messages"),
        (request(custom_parameters={"stream": False}), "cannot set stream"),
        (request("half \ud800"), "half of a surrogate pair"),
    ],
)
async def test_a_request_that_the_engine_cannot_read_is_refused(
    model: LocalLlamaModel, asked: ChatRequest, message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        await model.chat(asked)
