"""What a chat model makes of what the other side says: calls, counted tokens, finish reasons, errors, pieces."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from agentforge import errors
from agentforge.model import ChatModel, ChatRequest, ChatResponse, FinishReason, ResponseDone, TextDelta
from agentforge.model.scripted import call, calls
from agentforge.testing.contracts.model_suite import WEATHER, ModelSuite, events_of, offering
from agentforge.testing.contracts.running import must, skip
from agentforge.testing.contracts.streams import check_stream, same_reply
from agentforge.tool.execution import ToolOutcome, ToolService

__all__ = ("ScriptedModelSuite",)

_ERRORS: tuple[errors.ModelError, ...] = (
    errors.AuthenticationError("scripted failure", status=401),
    errors.PermissionDeniedError("scripted failure", status=403),
    errors.NotFoundError("scripted failure", status=404),
    errors.InvalidRequestError("scripted failure", status=400),
    errors.ContextLengthError("scripted failure", status=400),
    errors.ContentFilterError("scripted failure", status=400),
    errors.RateLimitError("scripted failure", status=429, retry_after=2.0),
    errors.OverloadedError("scripted failure", status=503),
    errors.ModelConnectionError("scripted failure"),
    errors.ProtocolError("scripted failure"),
)


class ScriptedModelSuite(ModelSuite):
    """The part of `ChatModelContract` that chooses what the model is answered with."""

    def test_a_text_arrives_as_it_was_sent(self) -> None:
        """Every character of it, plain and streamed."""
        self.script_needed()
        text = '杭州: 22 ℃ 🌤\n"quoted" \\ {braces} \u200d end '

        async def work() -> None:
            for reply in await self._both_ways(text):
                must(reply.ai_message.text == text, f"{text!r} became {reply.ai_message.text!r}")

        self.run(work())

    def test_a_call_arrives_with_its_name_and_arguments(self) -> None:
        """As a request with an id; the finish reason says that a tool is to run."""
        self.script_needed()

        async def work() -> None:
            for reply in await self._both_ways(call(WEATHER.name, city="杭州"), tools=True):
                [made] = self._calls_of(reply, 1)
                must(made.name == WEATHER.name, f"the call's name is {made.name!r}")
                must(made.arguments_as_map() == {"city": "杭州"}, f"its arguments are {made.arguments!r}")
                reason = reply.finish_reason
                must(reason is FinishReason.TOOL_EXECUTION, f"the finish reason is {reason}, not TOOL_EXECUTION")

        self.run(work())

    def test_several_calls_keep_their_order_and_have_ids_of_their_own(self) -> None:
        """One reply may ask for more than one tool, after a text."""
        self.script_needed()

        async def work() -> None:
            cities = ("Oslo", "Paris", "Rome")
            turn = calls(*(call(WEATHER.name, city=city) for city in cities), text="I look it up.")
            for reply in await self._both_ways(turn, tools=True):
                made = self._calls_of(reply, len(cities))
                asked = tuple(each.arguments_as_map()["city"] for each in made)
                must(asked == cities, f"the calls came as {asked}")
                must(len({each.id for each in made}) == len(cities), "two calls of one reply have the same id")
                must(reply.ai_message.text == "I look it up.", f"the text beside them is {reply.ai_message.text!r}")

        self.run(work())

    def test_arguments_that_are_no_json_arrive_as_they_were_written(self) -> None:
        """What to do about them is the error strategy's to say, so the text is neither mended nor refused."""
        self.script_needed()

        async def work() -> None:
            broken = '{"city": "Ro'
            for reply in await self._both_ways(call(WEATHER.name, broken), tools=True):
                [made] = self._calls_of(reply, 1)
                must(made.arguments == broken, f"{broken!r} became {made.arguments!r}")

        self.run(work())

    def test_the_counted_tokens_arrive(self) -> None:
        """The numbers of the other side, plain and streamed."""
        self.script_needed()

        async def work() -> None:
            for reply in await self._both_ways({"text": "Hello.", "usage": {"input": 30, "output": 2}}):
                usage = reply.token_usage
                found = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
                must(found == (30, 2, 32), f"30 in and 2 out, together 32, became {found}")

        self.run(work())

    def test_a_reply_that_was_cut_off_says_so(self) -> None:
        """The finish reason of the output limit is not that of an end."""
        self.script_needed()

        async def work() -> None:
            for reply in await self._both_ways({"text": "This is cut", "finish_reason": "length"}):
                reason = reply.finish_reason
                must(reason is FinishReason.LENGTH, f"the finish reason is {reason}, not LENGTH")

        self.run(work())

    def test_errors_are_those_of_the_taxonomy(self) -> None:
        """Each failure of the other side is raised as its own class, plain and streamed, with status and wait."""
        self.script_needed()

        async def work() -> None:
            for error in _ERRORS:
                for streamed in (False, True):
                    async with self.opened(error) as model:
                        raised = await _raised(model, streamed)
                    kind, how = type(error).__name__, "streamed" if streamed else "plain"
                    must(isinstance(raised, errors.ModelError), f"{kind} {how} came as {raised!r}")
                    assert isinstance(raised, errors.ModelError)
                    must(isinstance(raised, type(error)), f"{kind} {how} came as {type(raised).__name__}")
                    must(raised.message, f"{kind} {how} has no message")
                    if error.retry_after is not None:
                        wait = raised.retry_after
                        must(wait == error.retry_after, f"the wait of {kind} {how} is {wait}, not {error.retry_after}")

        self.run(work())

    def test_a_stream_that_fails_raises_after_what_it_showed(self) -> None:
        """No `ResponseDone` comes, so nothing of the broken reply is taken for whole."""
        self.script_needed()

        async def work() -> None:
            turn = {"text": "Half of an answer", "error": errors.OverloadedError("scripted failure", status=503)}
            async with self.opened(turn) as model:
                seen: list[Any] = []
                failed: BaseException | None = None
                try:
                    async with aclosing(model.stream(ChatRequest("Hello"))) as events:
                        async for event in events:
                            seen.append(event)
                except Exception as error:
                    failed = error
                must(isinstance(failed, errors.ModelError), f"the stream ended with {failed!r}, not a ModelError")
                must(
                    not any(isinstance(each, ResponseDone) for each in seen), "a stream that failed had a ResponseDone"
                )
                must(any(isinstance(each, TextDelta) for each in seen), "what came before the failure was not shown")

        self.run(work())

    def test_a_whole_turn_with_a_tool_comes_to_its_end(self) -> None:
        """The call runs, its result goes back, the second answer is the turn's; plain and streamed."""
        self.script_needed()

        async def work() -> None:
            for streamed in (False, True):
                async with self.opened(call("_weather_of", city="Oslo"), "It is sunny.") as model:
                    self._tools_needed(model)
                    with ToolService(_weather_of) as service:
                        if streamed:
                            async with service.stream(model, None, "Weather?") as events:
                                async for _ in events:
                                    pass
                            result = events.result
                        else:
                            result = await service.chat(model, None, "Weather?")
                outcomes = [execution.outcome for execution in result.tool_executions]
                must(outcomes == [ToolOutcome.OK], f"the call ended as {outcomes}")
                must(result.text == "It is sunny.", f"the answer is {result.text!r}")

        self.run(work())

    # -- inside ----------------------------------------------------------------------------------

    async def _both_ways(self, turn: Any, *, tools: bool = False) -> tuple[ChatResponse, ChatResponse]:
        request = ChatRequest("Weather?", offering() if tools else None)
        async with self.opened(turn) as model:
            if tools:
                self._tools_needed(model)
            plain = await model.chat(request)
        async with self.opened(turn) as model:
            streamed = check_stream(await events_of(model, request))
        same_reply(plain, streamed)
        return plain, streamed

    def _tools_needed(self, model: ChatModel) -> None:
        if model.profile.tool_mode != "native":
            skip("the model's wire has no tools")

    def _calls_of(self, reply: ChatResponse, count: int) -> Any:
        made = reply.ai_message.tool_execution_requests
        must(len(made) == count, f"the reply has {len(made)} calls, not {count}")
        must(all(each.id for each in made), "a call has no id")
        return made


def _weather_of(city: str) -> str:
    """The weather of a city."""
    return f"{city}: sunny"


async def _raised(model: ChatModel, streamed: bool) -> BaseException | None:
    try:
        if streamed:
            await events_of(model, ChatRequest("Hello"))
        else:
            await model.chat(ChatRequest("Hello"))
    except Exception as error:
        return error
    return None
