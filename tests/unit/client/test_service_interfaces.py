"""What an AI service is made of: protocols, abstract and plain classes, dataclasses, and what is derived from them."""

from __future__ import annotations

import abc
import inspect
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import pytest

from agentforge import ChatClient, ScriptedChatModel, tool, user
from agentforge.client import implementation_of
from agentforge.testing import call
from tests.unit.client.served import served

T = TypeVar("T")


@runtime_checkable
class Desk(Protocol):
    """A protocol, with an attribute, a docstring as a body, and a private name."""

    greeting: ClassVar[str] = "Hello, "

    def ask(self, message: str) -> str: ...

    def describe(self, message: str) -> str:
        """Only a docstring."""

    def _private(self, x): ...  # type: ignore[no-untyped-def]


class AbstractDesk(abc.ABC):
    """An abstract class."""

    @abc.abstractmethod
    def ask(self, message: str) -> str:
        """Whatever stands here is not what is done."""
        raise AssertionError


class PlainDesk:
    """A plain class with a method of its own, which asks by another one."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, message: str) -> str:  # type: ignore[empty-body]
        pass

    def greet(self, name: str) -> str:
        """Stays as it is."""
        self.asked += 1
        return self.ask(f"Greet {name}.") + "!"

    async def greet_later(self, name: str) -> str:
        """Stays as well."""
        return self.greet(name)

    def names(self) -> Iterator[str]:
        """And so does this."""
        yield "Ada"

    @property
    def count(self) -> int:
        """How often it greeted."""
        return self.asked

    again = property(operator.attrgetter("asked"))

    @staticmethod
    def add(a: int, b: int) -> int:
        """No method of an object."""
        return a + b


class Derived(PlainDesk):
    """One method more, and one that was answered is done here."""

    def ask(self, message: str) -> str:
        """Now with a body."""
        return f"<{message}>"

    def tell(self, message: str) -> str: ...  # type: ignore[empty-body]


class Undone(Derived):
    """And without one again."""

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


class Both(Desk, AbstractDesk):
    """Several bases."""


@dataclass
class DataDesk:
    """A dataclass that needs nothing."""

    tries: int = 3

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


@dataclass(frozen=True, slots=True)
class FrozenDesk:
    """One that cannot be changed."""

    tries: int = 3

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


class Sized(Protocol):
    """Has a property that somebody has to say."""

    @property
    def size(self) -> int: ...

    def ask(self, message: str) -> str: ...


class SizedDesk(Sized):
    """And here it is said."""

    @property
    def size(self) -> int:
        """A body takes the place of none."""
        return 3


class GenericDesk(Generic[T]):
    """A generic class."""

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


KINDS = [Desk, AbstractDesk, PlainDesk, Undone, Both, DataDesk, FrozenDesk, SizedDesk, GenericDesk]


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_is_an_object_of_its_interface(kind: Any) -> None:
    """One class for all services of an interface, with its name and place; the interface itself is left alone."""
    before = {name for name in vars(kind) if not name.startswith("_")}
    service, model = served(kind)
    other, _ = served(kind)

    assert service.ask("Hello.") == "Done."
    assert [each.text for each in model.requests[0].messages] == ["Hello."]
    assert isinstance(service, kind) and type(service) is type(other) is implementation_of(kind)
    assert (type(service).__name__, type(service).__module__) == (kind.__name__, kind.__module__)
    assert {name for name in vars(kind) if not name.startswith("_")} == before
    assert repr(service) == f"ai_service({kind.__name__}(ChatClient(model={model!r})))"
    assert list(inspect.signature(service.ask).parameters) == ["message"]
    assert service.ask.__doc__ == kind.ask.__doc__


def written(of: Any, self: str, args: str) -> str: ...  # type: ignore[empty-body]


class Named(Protocol):
    """A function from elsewhere, with parameters of the names that are usual in a method's place."""

    ask = user("{self} says: {args}")(tool("Asks.")(written))


async def test_a_method_and_its_parameters_may_have_any_name() -> None:
    """The method's is the one that it stands under, as a tool too."""
    service, model = served(Named)
    service.ask(self="Ada", args="hello")
    assert [each.text for each in model.requests[0].messages] == ["Ada says: hello"]

    outer = ScriptedChatModel([call("ask", self="Ada", args="hi"), "Told."])
    result = await ChatClient(outer, tools=[service]).prompt("?").call()
    assert [each.result.text for each in result.tool_executions] == ["Done."]


def test_methods_with_a_body_stay_what_they_are() -> None:
    """They may ask by those without one; attributes and private names are no matter."""
    service, model = served(PlainDesk)

    assert service.greet("Ada") == "Done.!"
    assert (service.count, service.again, service.add(1, 2), list(service.names())) == (1, 1, 3, ["Ada"])
    assert [each.text for each in model.requests[0].messages] == ["Greet Ada."]
    desk, _ = served(Desk)
    assert (desk.greeting, desk.describe("Hello.")) == ("Hello, ", "Done.")


async def test_whether_a_method_is_answered_is_for_the_nearest_class_to_say() -> None:
    """A body given in a derived class is what is done; taken away again, the model answers."""
    derived, model = served(Derived)
    assert (derived.ask("a"), await derived.greet_later("Ada"), derived.tell("b")) == ("<a>", "<Greet Ada.>!", "Done.")
    assert [each.text for each in model.requests[0].messages] == ["b"]

    undone, model = served(Undone)
    assert undone.greet("Ada") == "Done.!"


def test_a_method_says_whether_it_is_async_as_the_interface_does() -> None:
    """So that callers and the container see what they have."""

    class Mixed(Protocol):
        async def later(self, message: str) -> str: ...

        def now(self, message: str) -> str: ...

    service, _ = served(Mixed)
    assert inspect.iscoroutinefunction(service.later) and not inspect.iscoroutinefunction(service.now)
    assert not inspect.isabstract(type(service))
