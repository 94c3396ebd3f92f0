"""What any chat model does, whatever it answers: whole replies, streams that can be left, closing, histories."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import aclosing
from typing import Any

from agentforge.errors import ModelError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ModelProfile,
    Notice,
    SystemMessage,
    TokenUsage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.testing.contracts.model_suite import STILL_HERE, WEATHER, ModelSuite, events_of, offering
from agentforge.testing.contracts.running import must, skip
from agentforge.testing.contracts.streams import check_stream, same_reply

__all__ = ("AnyModelSuite",)

_COUNTS = ("input_tokens", "output_tokens", "total_tokens", "cached_input_tokens", "reasoning_tokens")
_TEXTS = ("One.", "Two.", "Three.", "Four.", "Five.")


class AnyModelSuite(ModelSuite):
    """The part of `ChatModelContract` that needs no script."""

    def test_it_is_a_chat_model(self) -> None:
        """It has the members of `ChatModel`, `chat` is awaited, `stream` gives an asynchronous generator."""

        async def work() -> None:
            async with self.opened() as model:
                must(isinstance(model, ChatModel), f"{type(model).__name__} lacks a member of ChatModel")
                profile = model.profile
                must(isinstance(profile, ModelProfile), f"profile is {type(profile).__name__}, not a ModelProfile")
                must(inspect.iscoroutinefunction(model.chat), "chat must be async")
                events = model.stream(ChatRequest("Hello"))
                must(hasattr(events, "aclose"), "stream must be an async generator, which can be closed early")
                await events.aclose()

        self.run(work())

    def test_a_reply_is_whole(self) -> None:
        """`chat` gives a `ChatResponse` with a message, a finish reason, a usage and notices."""

        async def work() -> None:
            async with self.opened("Hello, how are you?") as model:
                response = await model.chat(ChatRequest("Hello"))
                must(isinstance(response, ChatResponse), f"chat gave {type(response).__name__}, not a ChatResponse")
                message, reason = response.ai_message, response.finish_reason
                must(isinstance(message, AiMessage), f"ai_message is {type(message).__name__}, not an AiMessage")
                must(isinstance(reason, FinishReason), f"finish_reason is {reason!r}, not a FinishReason")
                must(message.contents, "the message is empty")
                must(all(isinstance(notice, Notice) for notice in response.notices), "a notice is no Notice")

        self.run(work())

    def test_a_stream_ends_with_its_response(self) -> None:
        """Events of the closed set; the pieces joined are the parts of the response, which is the last event."""

        async def work() -> None:
            async with self.opened({"thinking": "A greeting.", "text": "Hello, how are you? 🌤 你好"}) as model:
                check_stream(await events_of(model, ChatRequest("Hello")))

        self.run(work())

    def test_a_streamed_reply_equals_a_plain_one(self) -> None:
        """The same text, reasoning, calls, finish reason and counted tokens, however the reply came."""
        if not self.deterministic:
            skip("the model answers the same request in different ways")

        async def work() -> None:
            turn = {
                "thinking": "Either way.",
                "text": "The same either way. 🌤 你好",
                "usage": {"input": 30, "output": 5},
            }
            async with self.opened(turn) as model:
                plain = await model.chat(ChatRequest("Say the same."))
            async with self.opened(turn) as model:
                streamed = check_stream(await events_of(model, ChatRequest("Say the same.")))
            same_reply(plain, streamed)

        self.run(work())

    def test_counted_tokens_make_sense(self) -> None:
        """Each number is from 0 or not reported; cached tokens are part of the input, reasoning of the output."""

        async def work() -> None:
            async with self.opened("Hello.") as model:
                usage = (await model.chat(ChatRequest("Hello"))).token_usage
                must(isinstance(usage, TokenUsage), f"token_usage is {type(usage).__name__}, not a TokenUsage")
                for name in (
                    "input_tokens",
                    "output_tokens",
                    "total_tokens",
                    "cached_input_tokens",
                    "reasoning_tokens",
                ):
                    value = getattr(usage, name)
                    must(value is None or (type(value) is int and value >= 0), f"{name} is {value!r}")
                for part, whole in (
                    ("cached_input_tokens", "input_tokens"),
                    ("reasoning_tokens", "output_tokens"),
                    ("input_tokens", "total_tokens"),
                    ("output_tokens", "total_tokens"),
                ):
                    a, b = getattr(usage, part), getattr(usage, whole)
                    must(a is None or b is None or a <= b, f"{part} is {a}, more than {whole}, which is {b}")

        self.run(work())

    def test_a_stream_can_be_left_early(self) -> None:
        """Closing it after the first event raises nothing, leaves no task, and the model answers the next request."""

        async def work() -> None:
            async with self.opened("A long answer that comes in several pieces.", STILL_HERE) as model:
                async with aclosing(model.stream(ChatRequest("Tell me."))) as events:
                    async for _ in events:
                        break
                await self.still_answers(model)

        self.run(work())

    def test_many_requests_at_once_get_an_answer_each(self) -> None:
        """A model is shared between tasks."""

        async def work() -> None:
            async with self.opened(*_TEXTS) as model:
                made = await asyncio.gather(*(model.chat(ChatRequest(f"Question {n}")) for n in range(len(_TEXTS))))
                must(all(isinstance(each, ChatResponse) for each in made), "not every request got a ChatResponse")
                if self.answers_by_script:
                    texts = sorted(str(each.ai_message.text) for each in made)
                    must(texts == sorted(_TEXTS), f"the answers got mixed up: {texts}")

        self.run(work())

    def test_closing_twice_is_safe(self) -> None:
        """After use and without any use; the second time nothing happens."""

        async def work() -> None:
            async with self.opened("Hello.") as model:
                await model.chat(ChatRequest("Hello"))
                await model.aclose()
                await model.aclose()
            async with self.opened() as model:
                await model.aclose()
                await model.aclose()

        self.run(work())

    def test_a_history_with_calls_and_results_is_taken(self) -> None:
        """System, user, call, result and answer of earlier turns: the model goes on from there."""

        async def work() -> None:
            async with self.opened("It is sunny.") as model:
                if model.profile.tool_mode == "none":
                    skip("the model has no tools")
                response = await model.chat(ChatRequest(_conversation(), offering()))
                must(response.ai_message.contents, "the model answered nothing")

        self.run(work())

    def test_a_broken_history_is_mended_or_refused(self) -> None:
        """A call without its result: an answer, or a `ModelError`; never an error of another kind."""

        async def work() -> None:
            asked = AiMessage([ToolExecutionRequest("c1", WEATHER.name, "{}")])
            broken: list[ChatMessage] = [UserMessage("Weather?"), asked, UserMessage("Well?")]
            async with self.opened("I do not know.") as model:
                if model.profile.tool_mode == "none":
                    skip("the model has no tools")
                try:
                    response = await model.chat(ChatRequest(broken, offering()))
                except ModelError as error:
                    must(error.message, "the error has no message")
                else:
                    must(isinstance(response, ChatResponse), f"chat gave {type(response).__name__}")

        self.run(work())

    # -- cancellation ----------------------------------------------------------------------------

    def test_a_call_can_be_cancelled(self) -> None:
        """A request in flight ends with `CancelledError` and nothing else, and the model answers the next one."""
        self._cancelled(stream=False)

    def test_a_stream_can_be_cancelled(self) -> None:
        """As a plain request."""
        self._cancelled(stream=True)

    def _cancelled(self, *, stream: bool) -> None:
        async def work() -> None:
            asked = asyncio.Event()

            async def never(request: object) -> str:
                asked.set()
                await asyncio.Event().wait()
                return "too late"

            async with self.opened(never, STILL_HERE) as model:
                work = events_of(model, ChatRequest("Wait.")) if stream else model.chat(ChatRequest("Wait."))
                task = asyncio.ensure_future(work)
                if self.answers_by_script:
                    await asked.wait()
                else:
                    await asyncio.sleep(0)
                was_over = task.done()
                task.cancel()
                await asyncio.wait((task,))
                must(was_over or task.cancelled(), f"the cancelled request ended with {_end_of(task)}")
                await self.still_answers(model)

        self.run(work())


def _conversation() -> list[ChatMessage]:
    return [
        SystemMessage("Answer shortly."),
        UserMessage("Weather in Oslo and 杭州?"),
        AiMessage(
            "I look it up.",
            tool_execution_requests=[
                ToolExecutionRequest("call_1", WEATHER.name, '{"city": "Oslo"}'),
                ToolExecutionRequest("call_2", WEATHER.name, '{"city": "杭州"}'),
            ],
        ),
        ToolExecutionResultMessage("call_1", WEATHER.name, "Oslo: rain"),
        ToolExecutionResultMessage("call_2", WEATHER.name, "no such city", is_error=True),
        AiMessage("Rain in Oslo."),
        UserMessage("And now?"),
    ]


def _end_of(task: asyncio.Task[Any]) -> str:
    if task.cancelled():
        return "CancelledError"
    error = task.exception()
    return f"a {type(task.result()).__name__}" if error is None else f"{type(error).__name__}: {error}"
