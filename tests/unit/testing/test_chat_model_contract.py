"""Every test of the suite for chat models catches a model that is wrong in just that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from agentforge import errors
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    Citation,
    FinishReason,
    ResponseDone,
    TextDelta,
    TokenUsage,
)
from agentforge.model.scripted import ScriptedChatModel
from agentforge.testing import ChatModelContract
from tests.unit.testing.wrong import caught, names_of


class Good(ScriptedChatModel):
    """A model that is right, to be spoiled in one thing."""

    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return response

    async def chat(self, request: ChatRequest) -> ChatResponse:
        return self.changed(await super().chat(request), streamed=False)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        async for event in super().stream(request):
            if isinstance(event, ResponseDone):
                yield ResponseDone(self.changed(event.response, streamed=True))
            else:
                yield event


class NotAsync(Good):
    def chat(self, request: ChatRequest) -> Any:  # type: ignore[override]
        return super().chat(request)


class EmptyReply(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, ai_message=AiMessage())


class SaysMoreAtTheEnd(Good):
    """The response has a text that no piece showed."""

    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, ai_message=AiMessage("Something else.")) if streamed else response


class NoEnd(Good):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        async for event in super().stream(request):
            if not isinstance(event, ResponseDone):
                yield event


class GoesOnAfterTheEnd(Good):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        async for event in super().stream(request):
            yield event
        yield TextDelta("")


class GivesTexts(Good):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        yield "Hello"
        async for event in super().stream(request):
            yield event


class CountsNothingInStreams(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, token_usage=TokenUsage()) if streamed else response

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        async for event in super().stream(request):
            if type(event).__name__ != "UsageEvent":
                yield event


class NamesItsSourcesInStreamsOnly(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, citations=(Citation("https://a.example"),)) if streamed else response


class CountsLessThanNothing(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, token_usage=TokenUsage(-1, 2, 1))


class CountsMorePartsThanAll(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, token_usage=TokenUsage(1, 2, 3, cached_input_tokens=5))


class BreaksWhenLeft(Good):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        try:
            async for event in super().stream(request):
                yield event
        except GeneratorExit:
            raise AssertionError("left early") from None


class LeavesATask(Good):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        self.task = asyncio.create_task(asyncio.Event().wait(), name="reader")
        async for event in super().stream(request):
            yield event
        self.task.cancel()


class AnswersTheSameToAll(Good):
    """The first reply is everybody's."""

    first: ChatResponse | None = None

    async def chat(self, request: ChatRequest) -> ChatResponse:
        found = await super().chat(request)
        self.first = self.first or found
        return self.first


class ClosesOnce(Good):
    async def aclose(self) -> None:
        if self.closed:
            raise AssertionError("closed twice")
        self.closed = True


class TakesNoTools(Good):
    async def chat(self, request: ChatRequest) -> ChatResponse:
        assert all(not isinstance(message, AiMessage) for message in request.messages), "no calls, please"
        return await super().chat(request)


class ChokesOnABrokenHistory(Good):
    async def chat(self, request: ChatRequest) -> ChatResponse:
        calls = [m for m in request.messages if isinstance(m, AiMessage) and m.tool_execution_requests]
        results = [m for m in request.messages if type(m).__name__ == "ToolExecutionResultMessage"]
        assert not calls or results, "KeyError"
        return await super().chat(request)


class SwallowsCancellation(Good):
    async def chat(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().chat(request)
        except asyncio.CancelledError:
            return ChatResponse(AiMessage("Never mind."))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        try:
            async for event in super().stream(request):
                yield event
        except asyncio.CancelledError:
            yield ResponseDone(ChatResponse(AiMessage()))


class IsBrokenAfterACancellation(Good):
    broken = False

    async def chat(self, request: ChatRequest) -> ChatResponse:
        if self.broken:
            return ChatResponse(AiMessage("The connection is in an unknown state."))
        try:
            return await super().chat(request)
        except asyncio.CancelledError:
            self.broken = True
            raise


class Shouts(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        text = response.ai_message.text
        return replace(response, ai_message=AiMessage(text.upper())) if text else response

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        async for event in super().stream(request):
            yield TextDelta(event.text.upper()) if isinstance(event, TextDelta) else event


class ChangesCalls(Good):
    """Each call of a reply becomes what ``change`` makes of it; streamed, no piece is shown."""

    def change(self, calls: list[Any]) -> list[Any]:
        return calls

    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        calls = list(response.ai_message.tool_execution_requests)
        if not calls:
            return response
        message = AiMessage(response.ai_message.text or None, tool_execution_requests=self.change(calls))
        return replace(response, ai_message=message)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        async for event in super().stream(request):
            if not type(event).__name__.startswith("ToolCall"):
                yield event


class LosesArguments(ChangesCalls):
    def change(self, calls: list[Any]) -> list[Any]:
        return [call.with_arguments("{}") for call in calls]


class SameIds(ChangesCalls):
    def change(self, calls: list[Any]) -> list[Any]:
        return [replace(call, id="call_0") for call in calls]


class BackToFront(ChangesCalls):
    def change(self, calls: list[Any]) -> list[Any]:
        return calls[::-1]


class MendsArguments(ChangesCalls):
    def change(self, calls: list[Any]) -> list[Any]:
        return [call if call.arguments.endswith("}") else call.with_arguments(call.arguments + '"}') for call in calls]


class AlwaysStops(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, finish_reason=FinishReason.STOP)


class CountsInWords(Good):
    def changed(self, response: ChatResponse, *, streamed: bool) -> ChatResponse:
        return replace(response, token_usage=TokenUsage(3, 1, 4))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        async for event in super().stream(request):
            if type(event).__name__ != "UsageEvent":
                yield event


class OneErrorForAll(Good):
    async def chat(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().chat(request)
        except errors.ModelError as error:
            raise errors.ModelError(error.message) from error


class ForgetsTheWait(Good):
    async def chat(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().chat(request)
        except errors.RateLimitError as error:
            raise errors.RateLimitError(error.message) from error


class EndsBrokenStreamsWell(Good):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        shown = ""
        try:
            async for event in super().stream(request):
                shown += getattr(event, "text", "")
                yield event
        except errors.ModelError:
            yield ResponseDone(ChatResponse(AiMessage(shown)))


class HoldsBackUntilItIsWhole(Good):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        for event in [event async for event in super().stream(request)]:
            yield event


class CallsNoTool(ChangesCalls):
    def change(self, calls: list[Any]) -> list[Any]:
        return []


#: The test, the model that is wrong, and a part of what the test says of it.
WRONG = [
    ("test_it_is_a_chat_model", NotAsync, "chat must be async"),
    ("test_a_reply_is_whole", EmptyReply, "the message is empty"),
    ("test_a_stream_ends_with_its_response", SaysMoreAtTheEnd, "the pieces of text make"),
    ("test_a_stream_ends_with_its_response", NoEnd, "this one has 0"),
    ("test_a_stream_ends_with_its_response", GoesOnAfterTheEnd, "came after ResponseDone"),
    ("test_a_stream_ends_with_its_response", GivesTexts, "the stream gave str"),
    ("test_a_streamed_reply_equals_a_plain_one", CountsNothingInStreams, "the usage differs"),
    ("test_a_streamed_reply_equals_a_plain_one", NamesItsSourcesInStreamsOnly, "the citations differs"),
    ("test_counted_tokens_make_sense", CountsLessThanNothing, "input_tokens is -1"),
    ("test_counted_tokens_make_sense", CountsMorePartsThanAll, "cached_input_tokens is 5, more than input_tokens"),
    ("test_a_stream_can_be_left_early", BreaksWhenLeft, "left early"),
    ("test_a_stream_can_be_left_early", LeavesATask, "it leaves tasks behind: reader"),
    ("test_many_requests_at_once_get_an_answer_each", AnswersTheSameToAll, "the answers got mixed up"),
    ("test_closing_twice_is_safe", ClosesOnce, "closed twice"),
    ("test_a_history_with_calls_and_results_is_taken", TakesNoTools, "no calls, please"),
    ("test_a_broken_history_is_mended_or_refused", ChokesOnABrokenHistory, "KeyError"),
    ("test_a_call_can_be_cancelled", SwallowsCancellation, "ended with a ChatResponse"),
    ("test_a_call_can_be_cancelled", IsBrokenAfterACancellation, "not its own answer"),
    ("test_a_stream_can_be_cancelled", SwallowsCancellation, "ended with a list"),
    ("test_a_text_arrives_as_it_was_sent", Shouts, "became"),
    ("test_a_call_arrives_with_its_name_and_arguments", LosesArguments, "its arguments are '{}'"),
    ("test_a_call_arrives_with_its_name_and_arguments", AlwaysStops, "not TOOL_EXECUTION"),
    ("test_several_calls_keep_their_order_and_have_ids_of_their_own", SameIds, "the same id"),
    ("test_several_calls_keep_their_order_and_have_ids_of_their_own", BackToFront, "the calls came as"),
    ("test_arguments_that_are_no_json_arrive_as_they_were_written", MendsArguments, "became"),
    ("test_the_counted_tokens_arrive", CountsInWords, "became (3, 1, 4)"),
    ("test_a_reply_that_was_cut_off_says_so", AlwaysStops, "not LENGTH"),
    ("test_errors_are_those_of_the_taxonomy", OneErrorForAll, "AuthenticationError plain came as ModelError"),
    ("test_errors_are_those_of_the_taxonomy", ForgetsTheWait, "the wait of RateLimitError plain is None"),
    ("test_a_stream_that_fails_raises_after_what_it_showed", EndsBrokenStreamsWell, "not a ModelError"),
    ("test_a_stream_that_fails_raises_after_what_it_showed", HoldsBackUntilItIsWhole, "was not shown"),
    ("test_a_whole_turn_with_a_tool_comes_to_its_end", CallsNoTool, "the call ended as []"),
]


@pytest.mark.parametrize(("test", "model", "words"), WRONG, ids=lambda each: getattr(each, "__name__", None))
def test_a_wrong_model_is_caught(test: str, model: type[Good], words: str) -> None:
    """With a sentence that says what is wrong."""
    assert words in caught(ChatModelContract, test, model_answering=lambda self, turns: model(turns))


@pytest.mark.parametrize("test", sorted(names_of(ChatModelContract)))
def test_a_right_model_passes(test: str) -> None:
    """So that it is the fault that is caught, and nothing else."""
    made = type("Right", (ChatModelContract,), {"model_answering": lambda self, turns: Good(turns)})()

    getattr(made, test)()


def test_every_test_of_the_suite_is_shown_to_fail() -> None:
    """None of them is there only for show."""
    assert {test for test, *_ in WRONG} == names_of(ChatModelContract)


def test_a_model_that_never_answers_is_caught() -> None:
    """Each test has a bound, and says so when it is over."""

    class Hangs(Good):
        async def chat(self, request: ChatRequest) -> ChatResponse:
            await asyncio.Event().wait()
            raise AssertionError

    words = caught(
        ChatModelContract, "test_a_reply_is_whole", patience=0.01, model_answering=lambda self, turns: Hangs(turns)
    )
    assert words == "it did not end within 0.01 s"


def test_without_a_script_what_needs_one_is_skipped() -> None:
    """The reason says what to override."""
    import unittest

    made = type("Plain", (ChatModelContract,), {"model": lambda self: Good(["Hi."], repeat=True)})()
    with pytest.raises(unittest.SkipTest, match="model_answering"):
        made.test_the_counted_tokens_arrive()


def test_a_suite_without_its_method_says_what_to_override() -> None:
    """Rather than to pass for nothing."""
    with pytest.raises(TypeError, match=r"must override model\(\) or model_answering\(\)"):
        ChatModelContract().test_a_reply_is_whole()
