"""The prompts of an AI service: where they are written, which of several holds, and prompts in files."""

from __future__ import annotations

import abc
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest

from agentforge import ChatClient, ScriptedChatModel, ai_service, system, tool, user
from agentforge.client import ServiceDeclarationError, ServiceMethod, service_method
from agentforge.model import ChatRequestParameters, SystemMessage, UserMessage
from tests.unit.client.served import served


async def sent_by(interface: Any, *args: Any, **more: Any) -> tuple[str | None, str]:
    """The system and the user's text that the method ``ask`` sends."""
    model = ScriptedChatModel(["Done."])
    await ai_service(interface, ChatClient(model, system="The client's."), **more).ask(*args)
    first, *rest = model.requests[0].messages
    assert isinstance(first, SystemMessage) and [type(each) for each in rest] == [UserMessage]
    return first.text, rest[0].text or ""


class Bare(Protocol):
    """Nothing is noted."""

    async def ask(self, message: str) -> str: ...


class OnMethod(Protocol):
    """Both prompts on the method."""

    @system("The method's.")
    @user("Say: {message}")
    async def ask(self, message: str) -> str: ...


@system("The class's.")
class OnClass(Protocol):
    """For all methods that say nothing else."""

    async def ask(self, message: str) -> str: ...


@system("The class's.")
@user("Class: {message}")
class OnBoth(Protocol):
    """What the method says goes over what the class says."""

    @system("The method's.")
    async def ask(self, message: str) -> str: ...


class Inheriting(OnClass, Protocol):
    """What its base says holds."""


@user("Derived: {message}")
class Adding(OnClass, Protocol):
    """Beside what its base says."""


@system("The nearest.")
class Nearer(Adding, Protocol):
    """The nearest class wins."""


class Overriding(OnMethod, Protocol):
    """A method that is declared anew has what is noted on it, and what its classes say."""

    async def ask(self, message: str) -> str: ...


class Abstract(abc.ABC):
    """An abstract class; its method may even have a body."""

    @abc.abstractmethod
    @system("The abstract one's.")
    async def ask(self, message: str) -> str:
        """Not what is done."""
        raise AssertionError


WRITTEN: list[tuple[type, str, str]] = [
    (Bare, "The client's.", "Hello."),
    (OnMethod, "The method's.", "Say: Hello."),
    (OnClass, "The class's.", "Hello."),
    (OnBoth, "The method's.", "Class: Hello."),
    (Inheriting, "The class's.", "Hello."),
    (Adding, "The class's.", "Derived: Hello."),
    (Nearer, "The nearest.", "Derived: Hello."),
    (Overriding, "The client's.", "Hello."),
    (Abstract, "The abstract one's.", "Hello."),
]


@pytest.mark.parametrize(("interface", "in_front", "question"), WRITTEN)
async def test_the_nearest_prompt_holds(interface: type, in_front: str, question: str) -> None:
    """That of the method, else of its class, else of the classes below, else the client's."""
    assert await sent_by(interface, "Hello.") == (in_front, question)


@pytest.mark.parametrize("interface", [row[0] for row in WRITTEN])
async def test_what_is_given_beside_the_interface_goes_over_all(interface: type) -> None:
    """Part by part: what it leaves open stays as it is noted."""
    in_front, question = await sent_by(interface, "Hello.")

    given = {"ask": ServiceMethod(system="Given.")}
    assert await sent_by(interface, "Hello.", methods=given) == ("Given.", question)
    given = {"ask": ServiceMethod(user="<{message}>")}
    assert await sent_by(interface, "Hello.", methods=given) == (in_front, "<Hello.>")


NOTES: list[Callable[[Any], Any]] = [
    system("Be brief."),
    user("Say: {message}"),
    tool("Says it."),
    service_method(parameters=ChatRequestParameters(temperature=0.5)),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_decorators_stand_in_any_order(order: tuple[int, ...]) -> None:
    """Each notes its own and leaves the function as it is."""

    class Desk(Protocol):
        async def ask(self, message: str) -> str: ...

    function = Desk.ask
    for at in order:
        assert NOTES[at](Desk.ask) is function
    desk, model = served(Desk)

    assert await desk.ask("Hello.") == "Done."
    [request] = model.requests
    assert [each.text for each in request.messages] == ["Be brief.", "Say: Hello."]
    assert request.parameters.temperature == 0.5
    assert hasattr(desk, "tools")


async def test_notes_of_one_kind_add_up() -> None:
    """The one further out goes over the others."""

    class Desk(Protocol):
        @system("Outer.")
        @service_method(parameters=ChatRequestParameters(temperature=0.5))
        @service_method(parameters=ChatRequestParameters(temperature=0.1, seed=7))
        @system("Inner.")
        async def ask(self, message: str) -> str: ...

    desk, model = served(Desk)
    await desk.ask("Hello.")

    [request] = model.requests
    assert request.messages[0].text == "Outer."
    assert (request.parameters.temperature, request.parameters.seed) == (0.5, 7)


async def test_a_prompt_may_repeat_and_leave_out_parameters_of_the_other() -> None:
    """Of both prompts together every visible parameter is in one at least."""

    class Desk(Protocol):
        @system("{shop}, {shop} and {goods}")
        @user("{shop}?")
        async def ask(self, shop: str, goods: str) -> str: ...

    assert await sent_by(Desk, "Tea", "pens") == ("Tea, Tea and pens", "Tea?")


# -- what decorators refuse ----------------------------------------------------------------------

WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: system(), "@system takes either a text or a file"),
    (lambda: user("a", file="b"), "@user takes either a text or a file"),
    (lambda: system(3), "@system takes a text, not int"),  # type: ignore[arg-type]
    (lambda: system(lambda self: ""), "@system takes a text, not function"),  # type: ignore[arg-type]
    (lambda: user("a")(property(len)), "a prompt stands above a method or a class, not above property"),  # type: ignore[type-var]
    (lambda: service_method(tools="a"), "tools is a list, not str"),
    (lambda: service_method(tools=len), "tools is a list, not builtin_function_or_method"),  # type: ignore[arg-type]
    (lambda: service_method(advisors={}), "advisors is a list, not dict"),  # type: ignore[arg-type]
    (lambda: service_method(parameters={}), "parameters are ChatRequestParameters, not dict"),  # type: ignore[arg-type]
    (lambda: service_method(timeout=0), "timeout is seconds above 0, not 0"),
    (lambda: service_method(timeout=True), "timeout is seconds above 0, not True"),
    (lambda: service_method(mode="often"), "mode is one of 'auto', 'native', 'tool', 'prompt', not 'often'"),  # type: ignore[arg-type]
    (lambda: service_method(max_reprompts=-1), "max_reprompts is a whole number from 0, not -1"),
    (lambda: service_method(max_reprompts=True), "max_reprompts is a whole number from 0, not True"),
    (lambda: ServiceMethod(system=3), "the system prompt is a text or a path, not int"),  # type: ignore[arg-type]
    (lambda: ServiceMethod(user=b"a"), "the user prompt is a text or a path, not bytes"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("note", "message"), WRONG)
def test_a_note_that_means_nothing_is_refused_where_it_stands(note: Callable[[], object], message: str) -> None:
    """Before there is a service."""
    with pytest.raises(ServiceDeclarationError) as raised:
        note()

    assert raised.value.message == message


# -- prompts in files ----------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """A module with a file of its own, for interfaces that lie in it."""
    made = ModuleType("desk_with_prompts")
    made.__file__ = str(tmp_path / "desk_with_prompts.py")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def interface_in(module: ModuleType, path: str | Path) -> Any:
    """An interface of that module, with a system prompt from a file."""

    class Desk(Protocol):
        @system(file=path)
        async def ask(self, message: str) -> str: ...

    Desk.__module__ = module.__name__
    return Desk


async def test_a_relative_path_begins_where_the_interface_s_module_lies(module: ModuleType, tmp_path: Path) -> None:
    """Not where the program runs; an absolute one stays as it is. A mark of UTF-8 is no part of the text."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "desk.txt").write_text("Sei höflich.\n", "utf-8-sig")

    for path in ("prompts/desk.txt", Path("prompts") / "desk.txt", tmp_path / "prompts" / "desk.txt"):
        assert await sent_by(interface_in(module, path), "Hi") == ("Sei höflich.\n", "Hi")


async def test_names_in_a_file_are_parameters(module: ModuleType, tmp_path: Path) -> None:
    """As in a text that stands in place."""
    (tmp_path / "desk.txt").write_text("You sell {goods}.", "utf-8")

    class Desk(Protocol):
        @system(file="desk.txt")
        async def ask(self, message: str, goods: str) -> str: ...

    Desk.__module__ = module.__name__
    assert await sent_by(Desk, "Hi", "pens") == ("You sell pens.", "Hi")


async def test_a_file_lies_beside_the_class_that_names_it(module: ModuleType, tmp_path: Path) -> None:
    """Which may be another than that of the method, and for `methods` is the interface itself."""
    (tmp_path / "here.txt").write_text("Here.", "utf-8")

    @system(file="here.txt")
    class Derived(Bare, Protocol):
        """Its method is that of another module."""

    Derived.__module__ = module.__name__
    assert await sent_by(Derived, "Hi") == ("Here.", "Hi")
    given = {"ask": ServiceMethod(system=Path("here.txt"))}
    assert await sent_by(interface_in(module, "not there.txt"), "Hi", methods=given) == ("Here.", "Hi")
    with pytest.raises(ServiceDeclarationError, match="cannot be read"):
        ai_service(Bare, ChatClient(ScriptedChatModel(["Done."])), methods=given)


async def test_without_a_module_s_file_a_path_begins_where_the_program_runs(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook."""
    (tmp_path / "here.txt").write_text("Here.", "utf-8")
    module.__file__ = None
    monkeypatch.chdir(tmp_path)

    assert await sent_by(interface_in(module, "here.txt"), "Hi") == ("Here.", "Hi")


FILES: list[tuple[bytes | None, str, str | None, str]] = [
    (None, "the file '{path}' cannot be read: No such file or directory", None, "Correct the path."),
    (b"caf\xe9", "the file '{path}' is not UTF-8", None, "Save it as UTF-8."),
    (b" " * (1024 * 1024 + 1), "the file '{path}' is larger than 1 MiB", None, "Name the file of the prompt."),
    (b"Hi.\n {0}", "has '{0}', which is no name", "{path}:2:2", "Write a parameter's name in braces, as in {name}, …"),
    (b"{mesage}", "names 'mesage', which is no parameter", None, "Did you mean {message}?"),
]  # fmt: skip


@pytest.mark.parametrize(("held", "fault", "place", "step"), FILES)
def test_what_is_wrong_with_a_file_is_said_when_the_service_is_made(
    module: ModuleType, tmp_path: Path, held: bytes | None, fault: str, place: str | None, step: str
) -> None:
    """With its whole path, and for a mistake in it line and column."""
    path = tmp_path / "desk.txt"
    if held is not None:
        path.write_bytes(held)
    with pytest.raises(ServiceDeclarationError) as raised:
        ai_service(interface_in(module, "desk.txt"), ChatClient(ScriptedChatModel(["Done."])))

    join = ": " if fault.startswith("the file") else " "
    assert raised.value.message == f"the system prompt of 'ask'{join}{fault.replace('{path}', str(path))}"
    assert raised.value.location == (place.replace("{path}", str(path)) if place else None)
    assert str(raised.value.next_step).startswith(step.removesuffix("…"))


def test_a_path_that_no_file_can_have_is_refused(module: ModuleType) -> None:
    """The operating system is not even asked."""
    with pytest.raises(ServiceDeclarationError, match="cannot be read: embedded null byte"):
        ai_service(interface_in(module, "desk\0.txt"), ChatClient(ScriptedChatModel(["Done."])))


async def test_a_file_of_the_largest_size_is_read(module: ModuleType, tmp_path: Path) -> None:
    """One MiB exactly."""
    (tmp_path / "desk.txt").write_bytes(b"x" * (1024 * 1024))

    in_front, _ = await sent_by(interface_in(module, "desk.txt"), "Hi")
    assert in_front == "x" * (1024 * 1024)
