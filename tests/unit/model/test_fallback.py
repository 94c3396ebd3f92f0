"""Several models as one: who answers, what does not lead on, and what the caller learns of it."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    ModelConnectionError,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
    UnsupportedFeatureError,
)
from agentforge.masking import Secrets
from agentforge.model import ChatRequest, ModelProfile, Notice, ResponseDone, TextDelta
from agentforge.model.fallback import FallbackChatModel
from agentforge.model.scripted import call

REQUEST = ChatRequest("Hi")


def named(name: str, *turns: Any) -> ScriptedChatModel:
    return ScriptedChatModel(list(turns), profile=ModelProfile(name=name))


def told(notices: Any) -> list[str]:
    return [notice.message for notice in notices if notice.code == "model_fallback"]


@pytest.mark.parametrize(
    ("error", "on", "leads_on"),
    [
        (RateLimitError("x"), None, True),
        (OverloadedError("x"), None, True),
        (ModelTimeoutError("x"), None, True),
        (ModelConnectionError("x"), None, True),
        (AuthenticationError("x"), None, False),
        (PermissionDeniedError("x"), None, False),
        (NotFoundError("x"), None, False),
        (InvalidRequestError("x"), None, False),
        (ContextLengthError("x"), None, False),
        (ContentFilterError("x"), None, False),
        (ProtocolError("x"), None, False),
        (UnsupportedFeatureError("x"), None, False),
        (AuthenticationError("x"), ["authentication"], True),
        (PermissionDeniedError("x"), ["permission"], True),
        (NotFoundError("x"), ["not_found"], True),
        (ContextLengthError("x"), ["context_length"], True),
        (InvalidRequestError("x"), ["context_length"], False),
        (ContentFilterError("x"), ["content_filter"], True),
        (StreamTruncatedError("x"), ["protocol"], True),
        (UnsupportedFeatureError("x"), ["unsupported"], True),
        (OverloadedError("x"), ["authentication"], False),
        (InvalidRequestError("x"), ["any"], True),
        (ValueError("x"), ["any"], False),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_leads_on(error: Exception, on: Any, leads_on: bool, streamed: bool) -> None:
    second = named("second", "Hello.")
    model = FallbackChatModel([named("first", error), second], **({} if on is None else {"on": on}))

    async def ask() -> str | None:
        if not streamed:
            return (await model.chat(REQUEST)).ai_message.text
        return "".join([event.text async for event in model.stream(REQUEST) if isinstance(event, TextDelta)])

    if leads_on:
        assert await ask() == "Hello."
    else:
        with pytest.raises(type(error)):
            await ask()
        assert second.requests == []


async def test_a_condition_of_ones_own_counts_beside_the_words() -> None:
    model = FallbackChatModel(
        [named("first", InvalidRequestError("no images")), named("second", "Hello.")],
        on=(),
        when=lambda error: "images" in error.message,
    )

    assert (await model.chat(REQUEST)).ai_message.text == "Hello."


async def test_the_reply_says_who_answered_for_whom() -> None:
    models = [named("a", OverloadedError("x")), named("b", RateLimitError("x")), named("c", "Hello.")]
    expected = "c answered in the place of a (AF308), b (AF307)"

    assert told((await FallbackChatModel(models).chat(REQUEST)).notices) == [expected]

    models = [named("a", OverloadedError("x")), named("b", RateLimitError("x")), named("c", "Hello.")]
    events = [event async for event in FallbackChatModel(models).stream(REQUEST)]
    assert told([event for event in events if isinstance(event, Notice)]) == [expected]
    assert isinstance(events[-1], ResponseDone) and told(events[-1].response.notices) == [expected]


async def test_the_first_model_answers_as_it_would_alone() -> None:
    alone, grouped = named("a", "Hello."), FallbackChatModel([named("a", "Hello."), named("b")])

    assert await grouped.chat(REQUEST) == await alone.chat(REQUEST)
    assert grouped.profile.name == "a"


async def test_nobody_answers_once_events_were_shown() -> None:
    """The second would begin a text whose beginning somebody has read already."""
    second = named("second", "Hello.")
    first = named("first", {"text": "Hel", "error": OverloadedError("broke off")})
    seen: list[str] = []

    async def read() -> None:
        async for event in FallbackChatModel([first, second]).stream(REQUEST):
            if isinstance(event, TextDelta):
                seen.append(event.text)

    with pytest.raises(OverloadedError, match="broke off"):
        await read()
    assert "".join(seen) == "Hel" and second.requests == []


async def test_when_all_fail_the_last_error_tells_of_the_others() -> None:
    model = FallbackChatModel([named("a", OverloadedError("busy")), named("b", RateLimitError("slow down"))])

    with pytest.raises(RateLimitError, match="slow down") as raised:
        await model.chat(REQUEST)

    assert raised.value.__notes__ == ["before it, model 'a' failed: [AF308] busy"]


async def test_it_stands_wherever_a_model_does() -> None:
    """A whole tool conversation, whose second round falls back."""

    def now() -> str:
        "The time."
        return "noon"

    model = FallbackChatModel([named("a", call("now"), OverloadedError("x")), named("b", "It is noon.")])
    with ToolService(now) as service:
        result = await service.chat(model, None, "What time is it?")

    assert result.text == "It is noon."
    assert told(result.notices) == ["b answered in the place of a (AF308)"]


def test_its_secrets_are_those_of_all() -> None:
    class Keyed(ScriptedChatModel):
        secrets = Secrets(("sk-one-two-three",))

    model = FallbackChatModel([named("a", "x"), Keyed(["x"])])

    assert model.secrets.mask("sk-one-two-three") == "***"


async def test_closing_it_closes_no_member() -> None:
    member = named("a", "x")
    await FallbackChatModel([member]).aclose()

    assert not member.closed


@pytest.mark.parametrize(
    ("members", "on", "message"),
    [([], ["any"], "at least one model"), ([named("a", "x")], ["rate_limits"], "no reason 'rate_limits'")],
)
def test_what_cannot_be_a_group_is_refused(members: Any, on: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FallbackChatModel(members, on=on)


class Saying(ScriptedChatModel):
    """Says something of itself before it answers, or fails."""

    async def stream(self, request: ChatRequest) -> Any:
        yield Notice("dropped", "the seed was dropped")
        async for event in super().stream(request):
            yield event


class Silent(ScriptedChatModel):
    """Its stream ends without a response."""

    async def stream(self, request: ChatRequest) -> Any:
        return
        yield


async def events_of(model: FallbackChatModel) -> list[Any]:
    return [event async for event in model.stream(REQUEST)]


async def test_what_a_member_says_of_itself_is_no_part_of_an_answer_yet() -> None:
    """One that then fails leads on, and its notice goes with it; one that answers is told with its notice first."""
    failing, answering = Saying([OverloadedError("busy")]), Saying(["Hello."])
    events = await events_of(FallbackChatModel([failing, answering]))

    assert [event.code for event in events if isinstance(event, Notice)] == ["model_fallback", "dropped"]
    assert isinstance(events[-1], ResponseDone) and told(events[-1].response.notices) != []


async def test_a_stream_without_a_response_is_a_failure_as_any() -> None:
    """It leads on where failures of its kind do, and is raised where they do not."""
    events = await events_of(FallbackChatModel([Silent([]), named("b", "Hello.")], on=["protocol"]))
    assert isinstance(events[-1], ResponseDone)
    with pytest.raises(StreamTruncatedError):
        await events_of(FallbackChatModel([Silent([]), named("b", "Hello.")]))


class Called(ScriptedChatModel):
    """A model with a name, as those behind an endpoint have."""

    def __init__(self, name: str, *turns: Any) -> None:
        super().__init__(turns, profile=ModelProfile(name="generic"))
        self.model_name = name


async def test_models_of_one_vendor_are_told_apart() -> None:
    model = FallbackChatModel([Called("large", OverloadedError("busy")), Called("small", "22 degrees.")])
    response = await model.chat(REQUEST)

    [notice] = response.notices
    assert notice.message == "small (generic) answered in the place of large (generic) (AF308)"
    assert notice.details["failed"] == [{"model": "large (generic)", "code": "AF308"}]
    assert repr(model) == "FallbackChatModel(large (generic), small (generic))"
