"""What a wire makes of one history: nothing of it is lost without a word, and what differs is sent differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    Content,
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
from agentforge.testing.contracts.model_suite import WEATHER, offering
from agentforge.testing.contracts.running import must, skip
from agentforge.testing.contracts.wire_suite import HELLO, Refused, Sent, WireSuite, marked

__all__ = ("WireHistorySuite",)

_Arrived: TypeAlias = Callable[[Sent], bool]
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
_PDF = "JVBERi0xLjQKJSBhIGZpbGUgb2YgdGhlIHN1aXRlCiUlRU9GCg=="
_URL = "https://pictures.example/cat-0815.png"
_ARGUMENTS = '{"city": "Oslo 杭州", "days": 3, "deep": {"list": [1.5, true, null]}}'
_BROKEN = '{"city": "Ro'


@dataclass(frozen=True)
class _Thing:
    """A thing of a history, the history that holds it, and how it is found in a request."""

    what: str
    messages: Sequence[ChatMessage]
    arrived: _Arrived
    always: bool = False


class WireHistorySuite(WireSuite):
    """The part of `WireModelContract` about the messages of a request."""

    #: Whether the protocol has ids for calls; false for one that pairs results with calls by their order or name.
    sends_ids = True

    def test_every_text_is_sent(self) -> None:
        """Of users, of earlier replies, beside calls, in several parts: each is found in the body, character by
        character. Every model must take these."""
        self._all_arrive(_texts(), tools=False)

    def test_system_messages_are_sent(self) -> None:
        """At the beginning, several of them, and later ones; refused, or left out with a notice, where they cannot."""
        self._all_arrive(_instructions(), tools=False)

    def test_names_of_users_are_sent(self) -> None:
        """Or refused, or left out with a notice."""
        self._all_arrive(_names(), tools=False)

    def test_calls_and_results_are_sent(self) -> None:
        """Names, arguments and the texts of results; arguments that are no JSON stay readable for the model."""
        self._all_arrive(_turns_with_tools(), tools=True)

    def test_media_are_sent(self) -> None:
        """Images, sound and files of users, as data and by address, with the texts around them."""
        self._all_arrive(_media("of a user", lambda parts: [UserMessage(parts)]), tools=False)

    def test_media_of_results_are_sent(self) -> None:
        """In the result, or behind it (`encode_follow_up`)."""
        self._all_arrive(_media("of a result", _turn_with), tools=True)

    def test_histories_that_differ_become_requests_that_differ(self) -> None:
        """The role, the order, which result is whose, and whether a call failed: the model must be able to tell."""

        async def work() -> None:
            async with self.wire() as model:
                has_tools = model.profile.tool_mode == "native"
                for what, one, other, needs_tools in _pairs():
                    if needs_tools and not has_tools:
                        continue
                    parameters = offering() if needs_tools else None
                    first = self.sent(model, one, parameters)
                    second = self.sent(model, other, parameters)
                    if isinstance(first, Refused) or isinstance(second, Refused):
                        continue
                    told = first.notices != second.notices
                    must(
                        told or first.body != second.body,
                        f"{what} makes no difference in the request, and no notice says so",
                    )

        self.run(work())

    def test_a_result_names_its_call(self) -> None:
        """The id of a call comes again in its result, as it is or in the form that the provider wants."""
        if not self.sends_ids:
            skip("sends_ids is false: the protocol has no ids of calls")

        async def work() -> None:
            async with self.wire(tools=True) as model:
                bodies = []
                for stem in ("first", "other"):
                    messages = _turn(ids=(f"call_{stem}_1", f"call_{stem}_2"))
                    bodies.append(Counter(self.sent_whole(model, "a turn with two calls", messages, offering()).texts))
                ids = bodies[0] - bodies[1]
                must(len(ids) == 2, f"two calls have {len(ids)} ids in the request: {sorted(ids)}")
                for identity, count in ids.items():
                    must(count >= 2, f"the id {identity!r} comes once: the call or its result is sent without it")

        self.run(work())

    def test_what_only_another_provider_can_read_stays_behind(self) -> None:
        """Opaque state goes to the provider that it is of and to nobody else: ``state.provider == shape.provider``."""
        secret = "signature-of-somebody-else-0815"
        state = ProviderState("somebody-else", {"type": "thinking", "signature": secret, "id": secret, "data": secret})

        async def work() -> None:
            async with self.wire(tools=True) as model:
                call = ToolExecutionRequest("c1", WEATHER.name, _ARGUMENTS, provider_state=state)
                parts: list[Content | ToolExecutionRequest] = [
                    ThinkingContent("Hm.", state),
                    TextContent("I look it up.", state),
                    call,
                ]
                result = ToolExecutionResultMessage("c1", WEATHER.name, "Rain.")
                messages = [*HELLO, AiMessage(parts, provider_state=state), result]
                found = self.sent_whole(model, "a turn of another provider", messages, offering())
                must(secret.encode() not in found.body, "the opaque state of another provider is in the request")

        self.run(work())

    # -- inside ----------------------------------------------------------------------------------

    def _all_arrive(self, things: Sequence[_Thing], *, tools: bool) -> None:
        async def work() -> None:
            async with self.wire(tools=tools) as model:
                parameters = offering() if tools else None
                known = self.sent_whole(model, "a greeting", HELLO, parameters).notices

                def check(thing: _Thing) -> None:
                    sent = self.sent(model, thing.messages, parameters)
                    self.arrives(thing.what, sent, thing.arrived, known=known, always=thing.always)

                self.all_hold(partial(check, thing) for thing in things)

        self.run(work())


def _saying(text: str) -> _Arrived:
    return lambda sent: sent.says(text)


def _texts() -> list[_Thing]:
    asked, answered, again = marked("question"), marked("answer"), marked("second question")
    talk: list[ChatMessage] = [UserMessage(asked), AiMessage(answered), UserMessage(again)]
    parts = (marked("first part"), marked("second part"))
    followed = [UserMessage(asked), UserMessage(again)]
    return [
        _Thing("the text of a user", talk, _saying(asked), True),
        _Thing("the text of an earlier reply", talk, _saying(answered), True),
        _Thing("the text of the last message", talk, _saying(again), True),
        *(
            _Thing("a part of a user's text", [UserMessage(map(TextContent, parts))], _saying(part), True)
            for part in parts
        ),
        *(_Thing("the text of one of two users' messages", followed, _saying(text), True) for text in (asked, again)),
    ]


def _instructions() -> list[_Thing]:
    first, second, later = marked("instructions"), marked("more instructions"), marked("later instructions")
    begun = [SystemMessage(first), SystemMessage(second), *HELLO]
    during = [*HELLO, AiMessage("Hi."), UserMessage("Well?"), SystemMessage(later)]
    between = [*HELLO, SystemMessage(later), AiMessage("Hi."), UserMessage("Well?")]
    return [
        _Thing("a system message", [SystemMessage(first), *HELLO], _saying(first)),
        _Thing("the first of two system messages", begun, _saying(first)),
        _Thing("the second of two system messages", begun, _saying(second)),
        _Thing("a system message at the end", during, _saying(later)),
        _Thing("a system message between turns", between, _saying(later)),
    ]


def _names() -> list[_Thing]:
    asked = marked("question")
    named = [UserMessage(asked, name="anna-0815")]
    return [
        _Thing("the name of a user", named, _saying("anna-0815")),
        _Thing("the text of a user with a name", named, _saying(asked)),
    ]


def _turn(
    *,
    ids: tuple[str, str] = ("call_1", "call_2"),
    arguments: str = _ARGUMENTS,
    results: tuple[str, str] = ("Rain.", "Snow."),
    failed: bool = False,
    text: str | None = None,
    called: str = WEATHER.name,
) -> list[ChatMessage]:
    calls = [
        ToolExecutionRequest(ids[0], called, arguments),
        ToolExecutionRequest(ids[1], WEATHER.name, '{"city": "Bergen"}'),
    ]
    return [
        UserMessage("Weather?"),
        AiMessage(text, tool_execution_requests=calls),
        ToolExecutionResultMessage(ids[0], WEATHER.name, results[0]),
        ToolExecutionResultMessage(ids[1], WEATHER.name, results[1], is_error=failed),
    ]


def _turn_with(parts: Sequence[Content]) -> list[ChatMessage]:
    call = ToolExecutionRequest("call_1", WEATHER.name, '{"city": "Oslo"}')
    return [*HELLO, AiMessage([call]), ToolExecutionResultMessage("call_1", WEATHER.name, parts)]


def _turns_with_tools() -> list[_Thing]:
    from agentforge.model import parse_arguments

    text, one, two = marked("text beside calls"), marked("first result"), marked("second result")
    whole = _turn(results=(one, two), text=text)
    empty = _turn(arguments="")
    return [
        _Thing(
            "the name of a called tool", _turn(called="called_0815"), lambda sent: "called_0815" in sent.texts, True
        ),
        _Thing("the arguments of a call", _turn(), lambda sent: sent.has_object(parse_arguments(_ARGUMENTS)), True),
        _Thing("the arguments of a second call", _turn(), lambda sent: sent.has_object({"city": "Bergen"}), True),
        _Thing("a call without arguments", empty, lambda sent: sent.texts.count(WEATHER.name) >= 3, True),
        _Thing("the text of arguments that are no JSON", _turn(arguments=_BROKEN), _saying(_BROKEN)),
        _Thing("the text beside calls", whole, _saying(text), True),
        _Thing("the text of a result", whole, _saying(one), True),
        _Thing("the text of a second result", whole, _saying(two), True),
        _Thing("the text of a failed call", _turn(results=(one, two), failed=True), _saying(two), True),
    ]


def _media(whose: str, history: Callable[[Sequence[Content]], list[ChatMessage]]) -> list[_Thing]:
    kinds: list[tuple[str, Content, str]] = [
        ("an image", ImageContent(data=_PNG), _PNG),
        ("an image by its address", ImageContent(url=_URL), _URL),
        ("sound", AudioContent(data=_WAV), _WAV),
        ("a file", FileContent(data=_PDF, name="report-0815.pdf"), _PDF),
        ("the name of a file", FileContent(data=_PDF, name="report-0815.pdf"), "report-0815"),
    ]
    before, behind = marked("text before it"), marked("text behind it")
    things = []
    for what, part, found in kinds:
        messages = history([TextContent(before), part, TextContent(behind)])
        things.append(_Thing(f"{what} {whose}", messages, _saying(found)))
        things += [_Thing(f"the text beside {what} {whose}", messages, _saying(text)) for text in (before, behind)]
    return things


def _pairs() -> list[tuple[str, Sequence[ChatMessage], Sequence[ChatMessage], bool]]:
    """What differs, two histories that differ in it, and whether they need tools."""
    one, other = UserMessage("First."), UserMessage("Second.")
    swapped = ("Snow.", "Rain.")
    two: list[Any] = [TextContent("First."), TextContent("Second.")]
    return [
        ("who said a text, user or model,", [one, AiMessage("Hm."), other], [one, UserMessage("Hm."), other], False),
        ("whether a text is an instruction or a user's", [SystemMessage("Hm."), one], [UserMessage("Hm."), one], False),
        ("the order of a user's messages", [one, other], [other, one], False),
        ("the order of the parts of a message", [UserMessage(two)], [UserMessage(two[::-1])], False),
        ("whether a call failed", _turn(), _turn(failed=True), True),
        ("which result is whose", _turn(), _turn(results=swapped), True),
        ("a value in the arguments of a call", _turn(), _turn(arguments=_ARGUMENTS.replace("3", "4")), True),
        ("a text beside calls", _turn(), _turn(text="I look it up."), True),
    ]  # fmt: skip
