"""What the parameters of an AI service's method are for: the message, values of prompts, parts, and what is hidden."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import Hidden, MemoryId, P, Run, ToolContext, system, tool, user
from agentforge.errors import RunArgumentError, RunStateError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    Content,
    FileContent,
    ImageContent,
    SystemMessage,
    TextContent,
    UserMessage,
)
from agentforge.testing import call
from tests.unit.client.served import served

CAT = ImageContent(url="https://pictures.example/cat.png")
DOG = ImageContent(url="https://pictures.example/dog.png")
PURR = AudioContent(url="https://sounds.example/purr.wav")
PAPER = FileContent(url="https://papers.example/1.pdf")


@dataclass
class Order:
    """A value that is no text."""

    item: str
    count: int = 1


class Plain(Protocol):
    """The one parameter that is left is the message, whatever its name and type."""

    async def ask(self, question: str) -> str: ...


class Optional(Protocol):
    """A message that may be left out, beside a picture that may be too."""

    async def ask(self, message: str | None = None, picture: ImageContent | None = None) -> str: ...


class Anything(Protocol):
    """A message of no declared type."""

    async def ask(self, message) -> str: ...  # type: ignore[no-untyped-def]


class History(Protocol):
    """Messages as the message, and a part for the last of them."""

    async def ask(self, messages: list[ChatMessage] | UserMessage, more: ImageContent | None = None) -> str: ...


class Parts(Protocol):
    """Parts as the message."""

    async def ask(self, parts: Sequence[Content | str]) -> str: ...


class Prompted(Protocol):
    """Prompts of which each names what it needs."""

    @system("You sell {goods} at {shop}.")
    @user("{name} wants {count} of {goods}.")
    async def ask(self, name: str, goods: str, *, count: int = 1, shop: str | None = None) -> str: ...


class HalfPrompted(Protocol):
    """What the system prompt names is no message; what it leaves is."""

    @system("You sell {goods}.")
    async def ask(self, goods: str, /, message: Order) -> str: ...


class Positional(Protocol):
    """Parameters of each kind."""

    @user("{a} {b} {c}")
    async def ask(self, a: str, /, b: str, *, c: str = "c") -> str: ...


class Seeing(Protocol):
    """Parts of every kind, alone and in lists, in the order of the parameters."""

    async def ask(
        self,
        pictures: list[ImageContent],
        message: str,
        sound: AudioContent | None = None,
        papers: Iterable[FileContent] | None = None,
        either: ImageContent | AudioContent | None = None,
        noted: Annotated[ImageContent | None, P("a picture")] = None,
    ) -> str: ...


class OnlySeeing(Protocol):
    """A picture is a message by itself."""

    async def ask(self, picture: ImageContent) -> str: ...


class PromptAndPicture(Protocol):
    """A prompt, and a picture behind it."""

    @user("What is {what}?")
    async def ask(self, picture: ImageContent, what: str) -> str: ...


def said(*parts: Any) -> UserMessage:
    """The user's message of these parts."""
    return UserMessage([TextContent(part) if isinstance(part, str) else part for part in parts])


# the interface, the arguments, what is sent
SENT: list[tuple[type, tuple[Any, ...], dict[str, Any], list[ChatMessage]]] = [
    (Plain, ("Hello.",), {}, [said("Hello.")]),
    (Plain, (), {"question": "{braces} are no prompt"}, [said("{braces} are no prompt")]),
    (Plain, ("",), {}, [said("")]),
    (Anything, (3.5,), {}, [said("3.5")]),
    (Anything, ({"a": [1]},), {}, [said('{"a": [1]}')]),
    (Anything, ([1, 2],), {}, [said("[1, 2]")]),
    (Anything, (Order("pen"),), {}, [said('{"item": "pen", "count": 1}')]),
    (Anything, (CAT,), {}, [said(CAT)]),
    (Anything, (UserMessage("Hello."),), {}, [said("Hello.")]),
    (Optional, ("Hello.",), {}, [said("Hello.")]),
    (Optional, ("Hello.", CAT), {}, [said("Hello.", CAT)]),
    (Optional, (), {"picture": CAT}, [said(CAT)]),
    (History, (UserMessage("Hello.", name="ada"),), {}, [UserMessage("Hello.", name="ada")]),
    (History, ([said("a"), AiMessage("b"), said("c")],), {}, [said("a"), AiMessage("b"), said("c")]),
    (History, ((said("a"), AiMessage("b"), "c"),), {}, [said("a"), AiMessage("b"), said("c")]),
    (History, ([SystemMessage("s"), said("a")],), {}, [SystemMessage("s"), said("a")]),
    (
        History,
        ([said("a"), UserMessage("c", name="ada")], CAT),
        {},
        [said("a"), UserMessage([TextContent("c"), CAT], name="ada")],
    ),
    (Parts, (["See", CAT, "and", DOG],), {}, [said("See", CAT, "and", DOG)]),
    (Parts, ((CAT,),), {}, [said(CAT)]),
    (Prompted, ("Ada", "pens"), {}, [SystemMessage("You sell pens at ."), said("Ada wants 1 of pens.")]),
    (
        Prompted,
        ("{shop}", "{name}"),
        {"count": 2, "shop": "Tea"},
        [SystemMessage("You sell {name} at Tea."), said("{shop} wants 2 of {name}.")],
    ),
    (
        HalfPrompted,
        ("pens",),
        {"message": Order("pen", 2)},
        [SystemMessage("You sell pens."), said('{"item": "pen", "count": 2}')],
    ),
    (Positional, ("1", "2"), {}, [said("1 2 c")]),
    (Positional, ("1",), {"b": "2", "c": "3"}, [said("1 2 3")]),
    (Seeing, ([CAT, DOG], "See?"), {}, [said("See?", CAT, DOG)]),
    (Seeing, ((), "See?"), {}, [said("See?")]),
    (Seeing, ([CAT], "See?", PURR, [PAPER], DOG, CAT), {}, [said("See?", CAT, PURR, PAPER, DOG, CAT)]),
    (Seeing, (iter([CAT]), "See?"), {"papers": {PAPER}}, [said("See?", CAT, PAPER)]),
    (OnlySeeing, (CAT,), {}, [said(CAT)]),
    (PromptAndPicture, (CAT, "this"), {}, [said("What is this?", CAT)]),
]


@pytest.mark.parametrize(("interface", "args", "kwargs", "messages"), SENT)
async def test_what_is_sent(
    interface: Any, args: tuple[Any, ...], kwargs: dict[str, Any], messages: list[ChatMessage]
) -> None:
    """The messages of the request, whole and in order."""
    service, model = served(interface)
    assert await service.ask(*args, **kwargs) == "Done."

    assert list(model.requests[0].messages) == messages


def by_name_where_only_by_place() -> str:
    """Python's words for it, which are others by version."""
    try:
        inspect.signature(lambda a, /, b: None).bind(a="1", b="2")
    except TypeError as error:
        return str(error)
    raise AssertionError("it was taken")


# the interface, the arguments, the error and what it says
REFUSED: list[tuple[type, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    (Plain, (), {}, TypeError, "ask() missing a required argument: 'question'"),
    (Plain, ("a", "b"), {}, TypeError, "ask() too many positional arguments"),
    (Plain, ("a",), {"shop": "Tea"}, TypeError, "ask() got an unexpected keyword argument 'shop'"),
    (
        Positional,
        (),
        {"a": "1", "b": "2"},
        TypeError,
        f"ask() {by_name_where_only_by_place()}",
    ),
    (Optional, (), {}, RunArgumentError, "this call of 'ask' asks nothing"),
    (Optional, (None, None), {}, RunArgumentError, "this call of 'ask' asks nothing"),
    (Parts, ([],), {}, RunArgumentError, "this call of 'ask' asks nothing"),
    (OnlySeeing, ([],), {}, RunArgumentError, "this call of 'ask' asks nothing"),
    (OnlySeeing, ("cat.png",), {}, RunArgumentError, "'picture' of 'ask' is a part of a message, not str"),
    (Seeing, ([CAT, 1], "See?"), {}, RunArgumentError, "'pictures' of 'ask' is a part of a message, not int"),
    (
        Seeing,
        (TextContent("a"), "See?"),
        {},
        RunArgumentError,
        "'pictures' of 'ask' is a part of a message, not TextContent",
    ),
    (History, ([said("a"), 1],), {}, RunArgumentError, "'messages' of 'ask' has a int among messages"),
    (
        History,
        ([said("a"), AiMessage("b")], CAT),
        {},
        RunArgumentError,
        "the last message of 'ask' is not the user's, so nothing can be added",
    ),
    (
        Anything,
        (object(),),
        {},
        RunArgumentError,
        "the value of 'message' cannot be put into a text: it holds an object of type object, which has no JSON form",
    ),
    (
        Prompted,
        (CAT, "pens"),
        {},
        RunArgumentError,
        "the value of 'name' cannot be put into a text: it is of type ImageContent",
    ),
]


@pytest.mark.parametrize(("interface", "args", "kwargs", "kind", "message"), REFUSED)
async def test_arguments_that_do_not_fit_are_refused_before_the_model_is_asked(
    interface: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[Exception], message: str
) -> None:
    """As Python does it for a signature, and with our words for a message that is none."""
    service, model = served(interface)
    with pytest.raises(kind) as raised:
        await service.ask(*args, **kwargs)

    assert getattr(raised.value, "message", str(raised.value)) == message
    assert model.requests == []


@given(st.lists(st.tuples(st.sampled_from(["system", "user"]), st.text(max_size=8)), min_size=1, max_size=5))
def test_each_value_of_a_prompt_stands_where_its_name_does(values: list[tuple[str, str]]) -> None:
    """However many there are and whatever they hold."""
    by_name = {f"p{at}": text for at, (_, text) in enumerate(values)}
    prompts = {
        kind: "|".join(f"{{p{at}}}" for at, (where, _) in enumerate(values) if where == kind)
        for kind in ("system", "user")
    }
    namespace: dict[str, Any] = {"Protocol": Protocol, "__name__": __name__}
    parameters = "".join(f", {name}: str" for name in by_name)
    exec(f"class Made(Protocol):\n    async def ask(self{parameters}) -> str: ...", namespace)
    made = namespace["Made"]
    system(prompts["system"])(made.ask)
    user(prompts["user"])(made.ask)
    service, model = served(made)
    asyncio.run(service.ask(**by_name))

    expected = ["|".join(text for where, text in values if where == kind) for kind in ("system", "user")]
    assert [each.text for each in model.requests[0].messages] == expected


# -- what is hidden ------------------------------------------------------------------------------


#: What the tool knew of each call that led to it.
SEEN: list[str] = []


@tool("Orders of the user.")
def orders(
    user_id: Annotated[str, Hidden], context: ToolContext, place: Annotated[str, Hidden("shop")] = "nowhere"
) -> str:
    """Keeps what it knows to itself, so that no request has it from here."""
    newest = context.user_data.get("newest", "-")
    SEEN.append(f"{user_id} at {place} in {context.memory_id}, newest {newest}")
    return "noted"


class Clerk(Protocol):
    """Hidden values under their own and another name, with and without a default; a memory id."""

    async def ask(
        self,
        message: str,
        user_id: Annotated[str, Hidden],
        conversation: Annotated[str | None, MemoryId] = None,
        branch: Annotated[str, Hidden("shop")] = "Main Street",
        *,
        newest: Annotated[int | None, Hidden] = None,
    ) -> str: ...


CALLED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {}, "u-4711 at Main Street in None, newest None"),
    ({"conversation": "m-1", "branch": "Hill", "newest": 3}, {}, "u-4711 at Hill in m-1, newest 3"),
    ({}, {"memory_id": "m-0"}, "u-4711 at Main Street in m-0, newest None"),
    ({"conversation": "m-1"}, {"memory_id": "m-0"}, "u-4711 at Main Street in m-1, newest None"),
    # A default holds where nobody knows better; what is given goes over all.
    ({}, {"tool_context": {"shop": "Hill", "newest": 7}}, "u-4711 at Hill in None, newest 7"),
    (
        {"branch": "Lane", "newest": None},
        {"tool_context": {"shop": "Hill", "newest": 7}},
        "u-4711 at Lane in None, newest None",
    ),
    ({}, {"tool_context": {"user_id": "nobody"}}, "u-4711 at Main Street in None, newest None"),
]


@pytest.mark.parametrize(("given", "client", "seen"), CALLED)
async def test_hidden_values_reach_tools_and_no_request(
    given: dict[str, Any], client: dict[str, Any], seen: str
) -> None:
    """Not in messages, schemas or parameters, of the first request and of the one with the result."""
    service, model = served(Clerk, call("orders"), "Done.", tools=[orders], **client)
    assert await service.ask("Where is my parcel?", "u-4711", **given) == "Done."

    assert model.requests[1].messages[-1].text == "noted"
    assert SEEN.pop() == seen
    sent = repr([(request.messages, request.parameters) for request in model.requests])
    hidden = ("u-4711", "m-1", "m-0", "Main Street", "Hill", "Lane", "user_id", "newest", "nobody")
    assert [word for word in hidden if word in sent] == []


class WithRun(Protocol):
    """The run itself, which a program may make."""

    async def ask(
        self,
        message: str,
        run: Run | None = None,
        shop: Annotated[str, Hidden] = "Main Street",
        user_id: Annotated[str, Hidden] = "u-1",
    ) -> str: ...


async def test_a_run_of_the_caller_s_is_the_turn_s() -> None:
    """Its data, tenant and usage; a default of the method does not go over what the run has."""
    service, model = served(WithRun, call("orders"), "Done.", "Again.", tools=[orders])
    run = Run(memory_id="m-9", tenant="acme", user_data={"shop": "Hill"})
    assert await service.ask("Where?", run) == "Done."

    assert SEEN.pop() == "u-1 at Hill in m-9, newest -"
    assert len(run.tool_executions) == 1 and run.token_usage.total_tokens
    with pytest.raises(RunStateError, match="used already"):
        await service.ask("Where?", run)
    assert await service.ask("Where?") == "Again."
    with pytest.raises(RunArgumentError, match="'run' of 'ask' is a Run, not str"):
        await service.ask("Where?", "m-9")  # type: ignore[arg-type]
    assert len(model.requests) == 3
