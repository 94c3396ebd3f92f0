"""A history that grows: a wire encodes what is new in a round, and the request is that of the whole all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentforge.model import (
    AiMessage,
    ChatMessage,
    SystemMessage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.testing.contracts.model_suite import WEATHER, offering
from agentforge.testing.contracts.running import must
from agentforge.testing.contracts.wire_suite import Refused, Sent, WireSuite

if TYPE_CHECKING:
    from agentforge.provider import WireModel

__all__ = ("WireGrowthSuite",)


class WireGrowthSuite(WireSuite):
    """The part of `WireModelContract` about requests that follow each other."""

    def test_a_history_that_grows_is_sent_as_if_it_were_new(self) -> None:
        """Round by round, with texts, calls, failures and instructions: the body is that of a fresh model, which joins
        the whole. Where it is not, look at `join` and `extended` of the wire."""
        self._grown(tools=False)

    def test_a_history_with_tools_that_grows_is_sent_as_if_it_were_new(self) -> None:
        """The same with calls and results, which a loop sends again in every round."""
        self._grown(tools=True)

    def test_a_history_that_was_cut_or_changed_is_sent_as_if_it_were_new(self) -> None:
        """A conversation is trimmed, taken up at an earlier point, or goes on in two ways; nothing of what was sent
        before comes in."""

        async def work() -> None:
            first, said, more = UserMessage("First."), AiMessage("Said."), UserMessage("Second.")
            whole: list[ChatMessage] = [first, said, more, AiMessage("Said again."), UserMessage("Third.")]
            ways: list[tuple[str, list[ChatMessage]]] = [
                ("that was cut at its end", whole[:3]),
                ("that was cut at its beginning", whole[2:]),
                ("that went on in another way", [first, said, UserMessage("Something else.")]),
                ("in which a reply was changed", [first, AiMessage("Corrected."), *whole[2:]]),
                ("that is back at its end", whole),
            ]
            async with self.wire() as model:
                self.sent_whole(model, "a conversation", whole)
                for what, messages in ways:
                    await self._is_as_new(model, f"a history {what}", messages, tools=False)

        self.run(work())

    def test_the_same_request_has_the_same_body(self) -> None:
        """Providers keep what they have read before; a body that changes by itself is paid for in full."""

        async def work() -> None:
            messages = [message for step in _steps(tools=False) for message in step]
            bodies = set()
            for _ in range(2):
                async with self.wire() as model:
                    for _ in range(2):
                        found = self.sent(model, messages)
                        if isinstance(found, Sent):
                            bodies.add(found.body)
            must(len(bodies) <= 1, "the same request has another body each time")

        self.run(work())

    # -- inside ----------------------------------------------------------------------------------

    def _grown(self, *, tools: bool) -> None:
        async def work() -> None:
            for begins_with_instructions in (True, False):
                async with self.wire(tools=tools) as model:
                    messages: list[ChatMessage] = []
                    if begins_with_instructions:
                        messages.append(SystemMessage("Answer shortly."))
                    for number, step in enumerate(_steps(tools=tools), 1):
                        messages += step
                        what = f"round {number} of a history that grows"
                        await self._is_as_new(model, what, messages, tools=tools)

        self.run(work())

    async def _is_as_new(
        self, model: WireModel[Any], what: str, messages: Sequence[ChatMessage], *, tools: bool
    ) -> None:
        parameters = offering() if tools else None
        for stream in (False, True):
            grown = self.sent(model, messages, parameters, stream=stream)
            async with self.wire() as fresh:
                new = self.sent(fresh, messages, parameters, stream=stream)
            if isinstance(new, Refused) or isinstance(grown, Refused):
                must(
                    type(new) is type(grown), f"{what} is refused by a fresh model or by the one that grew, not by both"
                )
                continue
            must(grown.body == new.body, f"{what} is sent otherwise than by a fresh model: {_difference(grown, new)}")
            must(grown.notices == new.notices, f"{what} has other notices than with a fresh model")


def _steps(*, tools: bool) -> list[list[ChatMessage]]:
    """What each round adds: all neighbours that messages may have."""
    talk: list[list[ChatMessage]] = [
        [UserMessage("First question.")],
        [AiMessage("First answer."), UserMessage("Second question.")],
        [UserMessage("It is urgent."), UserMessage("Very urgent.")],
        [AiMessage("Second answer.")],
        [UserMessage("Third question."), SystemMessage("Later instructions.")],
        [AiMessage("Third answer."), AiMessage("And more of it.")],
        [SystemMessage("Instructions behind an answer.")],
        [UserMessage("Last question.")],
    ]
    if not tools:
        return talk
    return [
        *talk[:1],
        _round("1", "I look it up.", "Rain."),
        _round("2", None, "Snow."),
        [AiMessage("Rain and snow."), UserMessage("And there?")],
        _round("3", None, "no such city", failed=True),
        [UserMessage("Then leave it.")],
        _round("3", "Once more.", "Sun."),
        [SystemMessage("Be brief.")],
        [AiMessage("Sun.")],
        *talk[1:],
    ]


def _round(stem: str, text: str | None, said: str, *, failed: bool = False) -> list[ChatMessage]:
    ids = [f"call_{stem}_{number}" for number in (1, 2)]
    calls = [ToolExecutionRequest(identity, WEATHER.name, f'{{"city":"{identity}"}}') for identity in ids]
    results = [
        ToolExecutionResultMessage(identity, WEATHER.name, f"{identity}: {said}", is_error=failed) for identity in ids
    ]
    return [AiMessage(text, tool_execution_requests=calls), *results]


def _difference(grown: Sent, new: Sent) -> str:
    lost = [text for text in new.texts if text not in grown.texts]
    more = [text for text in grown.texts if text not in new.texts]
    if lost:
        return f"it lacks {lost[0]!r}"
    if more:
        return f"it holds {more[0]!r}, which is not in the history"
    at = next((n for n, (a, b) in enumerate(zip(grown.body, new.body, strict=False)) if a != b), 0)
    begin = max(at - 40, 0)
    one, other = (body[begin : at + 40].decode("utf-8", "replace") for body in (grown.body, new.body))
    return f"…{one}… where …{other}… is right"
