"""What no AI service can be made of: with the method, what of it is wrong, and what to write instead."""

from __future__ import annotations

import abc
import enum
import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Annotated, Any, Protocol, TypeVar, final

import pytest

from agentforge import (
    AiMessage,
    ChatClient,
    ChatResponse,
    Hidden,
    ImageContent,
    MemoryId,
    Result,
    Run,
    ScriptedChatModel,
    ToolContext,
    ai_service,
    system,
    tool,
    user,
)
from agentforge.client import ServiceDeclarationError, ServiceMethod, service_faults
from agentforge.model import UserMessage
from agentforge.tool.execution import RunStream, ToolChatResult

T_co = TypeVar("T_co", covariant=True)


class Plain:
    """One that can be."""

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]

    def _private(self, message: str) -> None: ...


def made_with(**methods: Any) -> type:
    """A class of these methods, which are named as they are there."""
    for name, method in methods.items():
        if inspect.isfunction(method):
            method.__name__ = name
    return type("Made", (), {**methods, "__module__": __name__})


def asking(give: Any, *, is_async: bool = False, **parameters: Any) -> type:
    """A class whose method ``ask`` has these parameters and gives that."""

    def ask(self: Any) -> Any: ...

    async def ask_later(self: Any) -> Any: ...

    function: Any = ask_later if is_async else ask
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rows = [inspect.Parameter("self", kind), *(inspect.Parameter(n, kind, annotation=a) for n, a in parameters.items())]
    function.__signature__ = inspect.Signature(rows, return_annotation=give)
    return made_with(ask=function)


class Needing:
    """Cannot be made of nothing."""

    def __init__(self, size: int) -> None:
        self.size = size

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


@final
class Final:
    """Takes no subclass."""

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


class Half(abc.ABC):
    """Abstract in what no model answers."""

    @abc.abstractmethod
    def _size(self) -> int:
        """Nobody says it."""

    @abc.abstractmethod
    def ask(self, message: str) -> str: ...


class Typed(Protocol[T_co]):
    """Gives what nobody knows."""

    def ask(self, message: str) -> T_co: ...


class ToolsMethod(Protocol):
    """A tool by the name under which others ask for tools."""

    @tool
    def tools(self, message: str) -> str: ...


def plain(self: Any, message: str) -> str: ...  # type: ignore[empty-body]


def empty(self: Any) -> str: ...  # type: ignore[empty-body]


def spread(self: Any, *message: str) -> str: ...  # type: ignore[empty-body]


def spread_names(self: Any, **message: str) -> str: ...  # type: ignore[empty-body]


def unknown(self: Any, message: Nowhere) -> str: ...  # type: ignore[empty-body,name-defined]  # noqa: F821


def unknown_result(self: Any, message: str) -> Nowhere: ...  # type: ignore[name-defined]  # noqa: F821


WRITE = "Write ai_service(Interface, client)."
OVER = "Write ai_service(Interface, ChatClient(model))."
BARE = "Give it one without a body: async def chat(self, message: str) -> str: ..."
PLAIN = "Make it a plain method, with a public name, or give it a body."
MESSAGE = 'Give it a message: a parameter that stands in no prompt, or @user("...").'
MARK = 'Write @user("... {name} ...") with their names, or mark some with Annotated[..., Hidden].'
DEFINE = "Define or import 'Nowhere' there, outside of a TYPE_CHECKING block."
SAY = "Return str, or the type of the value."
JSON = "Use a JSON type, an enum, a dataclass, a typed dict or a model."
REPLY = "Return Result[str]: result.turn has the reply and all messages."
LIST = "Return list[T] for several values: they are there when the answer is whole."

# what is given for an interface, what is said of it, and what to do
NO_INTERFACES: list[tuple[Any, str, str]] = [
    (Plain(), "an AI service is made of a class, not of Plain", WRITE),
    ("Plain", "an AI service is made of a class, not of str", WRITE),
    (lambda: None, "an AI service is made of a class, not of function", WRITE),
    (list[int], "an AI service is made of a class, not of GenericAlias", WRITE),
    (int, "'int' has no method for a model to answer", BARE),
    (made_with(), "'Made' has no method for a model to answer", BARE),
    (made_with(ask=lambda self, message: message), "'Made' has no method for a model to answer", BARE),
    (made_with(ask=staticmethod(plain)), "'Made' has no method for a model to answer", BARE),
    (made_with(_ask=plain), "'Made' has no method for a model to answer", BARE),
    (
        made_with(ask=plain, size=property(empty)),
        "'size' of 'Made' is a property without a body, which no model can answer",
        PLAIN,
    ),
    (
        made_with(ask=plain, size=staticmethod(plain)),
        "'size' of 'Made' is a staticmethod without a body, which no model can answer",
        PLAIN,
    ),
    (
        made_with(ask=plain, size=classmethod(plain)),
        "'size' of 'Made' is a classmethod without a body, which no model can answer",
        PLAIN,
    ),
    (
        made_with(ask=plain, _size=plain),
        "'_size' of 'Made' is a private method without a body, which no model can answer",
        PLAIN,
    ),
    (Final, "'Final' is final, so that nothing can implement it", "Take @final off, or name a protocol."),
    (
        Needing,
        "no object of 'Needing' can be made: Needing.__init__() missing 1 required positional argument: 'size'",
        "An interface has methods without bodies, and needs nothing to be made.",
    ),
    (
        ToolsMethod,
        "the method 'tools' of 'ToolsMethod' has the name under which other clients ask a service for its tools",
        "Give it another name.",
    ),
]

# the method, what is said of it, and what to do
PARAMETERS: list[tuple[type, str, str]] = [
    (made_with(ask=spread), "takes *message", "Name each parameter."),
    (made_with(ask=spread_names), "takes **message", "Name each parameter."),
    (asking(str), "has no message for the model", MESSAGE),
    (asking(str, user_id=Annotated[str, Hidden], m=MemoryId, run=Run), "has no message for the model", MESSAGE),
    (asking(str, a=str, b=int), "has several parameters that could be the message: 'a' and 'b'", MARK),
    (
        asking(str, a=UserMessage, b=list[UserMessage], c=str),
        "has several parameters that could be the message: 'a' and 'b' and 'c'",
        MARK,
    ),
    (
        asking(str, message=str, context=ToolContext),
        "takes a ToolContext as 'context', which only tools are given",
        "Take a Run, or values marked with Annotated[..., Hidden].",
    ),
    (
        asking(str, message=str, a=MemoryId, b=Annotated[str, MemoryId]),
        "has two parameters for the memory id",
        "Leave one of them out.",
    ),
    (asking(str, message=str, a=Run, b=Run | None), "has two parameters for the run", "Leave one of them out."),
    (
        asking(str, message=str, a=Annotated[str, Hidden("id")], id=Annotated[str, Hidden]),
        "has two hidden values of the name 'id'",
        'Give one of them another name: Annotated[..., Hidden("name")].',
    ),
]

RESULTS: list[tuple[type, str, str]] = [
    (
        asking(inspect.Signature.empty, message=str),
        "does not say what it returns",
        "Write 'def ask(...) -> str', or another type.",
    ),
    (asking(Any, message=str), "does not say what it returns: Any", SAY),
    (asking(object, message=str), "does not say what it returns: object", SAY),
    (asking(Result[Any], message=str), "does not say what it returns: Any", SAY),
    (Typed, "does not say what it returns: T_co", SAY),
    (
        asking(Result[None], message=str),
        "returns a Result of nothing",
        "Return ToolChatResult: it has what led to it.",
    ),
    (asking(AiMessage, message=str), "returns AiMessage, which is no value that a model writes", REPLY),
    (asking(ChatResponse, message=str), "returns ChatResponse, which is no value that a model writes", REPLY),
    (asking(ImageContent, message=str), "returns ImageContent, which is no value that a model writes", REPLY),
    (asking(Result[UserMessage], message=str), "returns UserMessage, which is no value that a model writes", REPLY),
    *(
        (
            asking(hint, message=str),
            f"returns what no answer can be: {name} cannot be the type of an answer: "
            f"it has type {name}, which has no JSON form",
            JSON,
        )
        for hint, name in (
            (Plain, "Plain"),
            (Awaitable[str], "Awaitable"),
            (Result[ToolChatResult], "ToolChatResult"),
            (Result[RunStream], "RunStream"),
            (Result[Result[str]], "Result"),
        )
    ),
    (asking(Iterator[int], message=str), "gives an iterator of int; it may be one of str, or of events", LIST),
    (
        asking(AsyncIterator[str | int], message=str),
        "gives an iterator of str | int; it may be one of str, or of events",
        LIST,
    ),
    (
        asking(Iterator[str], is_async=True, message=str),
        "is async and gives a plain iterator",
        "Return AsyncIterator[str], or leave out 'async'.",
    ),
]

NAMES: list[tuple[type, str, str]] = [
    (made_with(ask=unknown), "parameter 'message' of method 'ask' cannot be read", DEFINE),
    (made_with(ask=unknown_result), "the result of method 'ask' cannot be read", DEFINE),
]
REFUSED = [
    *NO_INTERFACES,
    *((kind, f"the method 'ask' {said}", step) for kind, said, step in (*PARAMETERS, *RESULTS)),
    *((kind, f"{said}: the name 'Nowhere' is not defined in {__name__}", step) for kind, said, step in NAMES),
]


@pytest.mark.parametrize(("interface", "message", "step"), REFUSED)
def test_an_interface_that_cannot_be_implemented_is_refused(interface: Any, message: str, step: str | None) -> None:
    """With the method, what of it is wrong, and what to write instead; no model is asked."""
    model = ScriptedChatModel([])
    with pytest.raises(ServiceDeclarationError) as raised:
        ai_service(interface, ChatClient(model))

    assert (raised.value.message, raised.value.next_step) == (message, step)
    assert raised.value.code == "AF125" and isinstance(raised.value, TypeError)


class Sealed:
    """Wants a word of whoever derives from it."""

    def __init_subclass__(cls, *, word: str) -> None:
        """Only so."""

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


class Choice(enum.Enum):
    """Has members, so that nothing is derived from it."""

    ONE = 1

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


class Failing:
    """Cannot be made today."""

    def __init__(self) -> None:
        raise RuntimeError("closed today")

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


class Other:
    """Makes something else."""

    def __new__(cls) -> Any:
        """A number."""
        return 5

    def ask(self, message: str) -> str: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("interface", "message"),
    [
        (Sealed, "nothing can be derived from 'Sealed': .*'word'"),
        (Choice, "nothing can be derived from 'Choice': "),
        (Failing, "no object of 'Failing' can be made: RuntimeError: closed today"),
        (Other, "no object of 'Other' can be made: there came one of int"),
    ],
)
def test_a_class_that_does_not_let_itself_be_implemented_is_refused(interface: Any, message: str) -> None:
    """Whatever it raises itself."""
    with pytest.raises(ServiceDeclarationError, match=message):
        ai_service(interface, ChatClient(ScriptedChatModel([])))


def test_a_class_that_stays_abstract_is_refused() -> None:
    """Python's own words say what is missing."""
    with pytest.raises(ServiceDeclarationError, match=r"no object of 'Half' can be made: .*abstract.*_size"):
        ai_service(Half, ChatClient(ScriptedChatModel([])))


class Prompts(Protocol):
    """For prompts of all kinds."""

    async def ask(
        self,
        message: str,
        picture: ImageContent,
        history: list[UserMessage],
        user_id: Annotated[str, Hidden],
        memory: MemoryId,
        run: Run,
    ) -> str: ...


SHOW = "Leave it out, or take a parameter that is not hidden."
LEAVE = "Leave it out: it is the message, or a part of it."
# the prompt, what is said of it, and what to do
PROMPTS: list[tuple[str, str, str]] = [
    ("{mesage}", "names 'mesage', which is no parameter", "Did you mean {message}?"),
    ("{weather}", "names 'weather', which is no parameter", "Its parameters are: message, history."),
    ("{self}", "names 'self', which is no parameter", "Its parameters are: message, history."),
    ("{user_id}", "names 'user_id', which is hidden and goes into no request", SHOW),
    ("{memory}", "names 'memory', which is hidden and goes into no request", SHOW),
    ("{run}", "names 'run', which is hidden and goes into no request", SHOW),
    ("{picture}", "names 'picture', which is no text", LEAVE),
    ("{history}", "names 'history', which is no text", LEAVE),
    (
        "Answer {{message}}.",
        "has '{{message}}', which is the text {message} and not the parameter's value",
        "Write {message}, in single braces.",
    ),
    (
        "{{ message }}",
        "has '{{ message }}', which is the text {message} and not the parameter's value",
        "Write {message}, in single braces.",
    ),
]


@pytest.mark.parametrize("what", ["system", "user"])
@pytest.mark.parametrize(("prompt", "message", "step"), PROMPTS)
def test_a_prompt_that_names_what_it_may_not_is_refused(prompt: str, message: str, step: str, what: str) -> None:
    """Wherever it is written."""
    given = {"ask": ServiceMethod(**{what: prompt})}  # type: ignore[arg-type]
    with pytest.raises(ServiceDeclarationError) as raised:
        ai_service(Prompts, ChatClient(ScriptedChatModel([])), methods=given)

    assert (raised.value.message, raised.value.next_step) == (f"the {what} prompt of 'ask' {message}", step)


@pytest.mark.parametrize("what", ["system", "user"])
def test_a_prompt_that_is_no_template_is_refused_with_its_place(what: str) -> None:
    """Line and column of the text."""
    given = {"ask": ServiceMethod(**{what: 'Answer:\n  {"a": 1}'})}  # type: ignore[arg-type]
    with pytest.raises(ServiceDeclarationError) as raised:
        ai_service(Plain, ChatClient(ScriptedChatModel([])), methods=given)

    assert raised.value.location == "2:3"
    assert raised.value.message == f"the {what} prompt of 'ask' has '{{\"a\": 1}}', which is no name"


def test_doubled_braces_around_what_is_no_parameter_are_braces() -> None:
    """A form of an answer, say; and three of them are a brace beside a value."""
    given = ServiceMethod(system='Answer {{"ask": {{answer}}}}.', user="{{{message}}}")
    model = ScriptedChatModel(["Yes."])
    with ChatClient(model) as client:
        ai_service(Plain, client, methods={"ask": given}).ask("tea")
    assert [each.text for each in model.requests[0].messages] == ['Answer {"ask": {answer}}.', "{tea}"]


def test_an_id_that_is_not_marked_is_said_to_be_one() -> None:
    """The slip that is nearest: the conversation's id as a plain text."""

    class Unmarked(Protocol):
        def ask(self, message: str, memory_id: str) -> str: ...

    with pytest.raises(ServiceDeclarationError) as raised:
        ai_service(Unmarked, ChatClient(ScriptedChatModel([])))
    assert raised.value.next_step == "Mark the conversation's id: memory_id: MemoryId, or Annotated[str, MemoryId]."


def test_a_parameter_that_a_user_prompt_leaves_out_is_refused() -> None:
    """It would go nowhere."""

    class Leaving(Protocol):
        @user("Hello.")
        @system("At {shop}.")
        def ask(self, shop: str, city: str) -> str: ...

    with pytest.raises(ServiceDeclarationError) as raised:
        ai_service(Leaving, ChatClient(ScriptedChatModel([])))

    assert raised.value.message == "the method 'ask' has the parameter 'city', which stands in no prompt"
    assert raised.value.next_step == "Write {city} in a prompt, or mark it with Annotated[..., Hidden]."


# what else is given, what is said of it, and what to do
GIVEN: list[tuple[Any, dict[str, Any], str, str | None]] = [
    (ScriptedChatModel([]), {}, "a service asks a ChatClient, not ScriptedChatModel", OVER),
    (
        None,
        {"methods": [ServiceMethod()]},
        "methods is a mapping of names to ServiceMethod, not list",
        'Write methods={"chat": ServiceMethod(...)}.',
    ),
    (None, {"max_depth": 0}, "max_depth is a whole number from 1, not 0", None),
    (None, {"max_depth": True}, "max_depth is a whole number from 1, not True", None),
    (None, {"max_depth": 1.0}, "max_depth is a whole number from 1, not 1.0", None),
    (
        None,
        {"methods": {"aks": ServiceMethod()}},
        "'Plain' has no method 'aks' that asks a model",
        "Did you mean 'ask'?",
    ),
    (
        None,
        {"methods": {"_private": ServiceMethod()}},
        "'Plain' has no method '_private' that asks a model",
        "It has ask.",
    ),
    (None, {"methods": {"ask": "Be brief."}}, "'ask' in methods is a ServiceMethod, not str", None),
]


@pytest.mark.parametrize(("client", "more", "message", "step"), GIVEN)
def test_what_is_given_beside_the_interface_is_looked_at(
    client: Any, more: dict[str, Any], message: str, step: str | None
) -> None:
    """Before anything is asked."""
    with pytest.raises(ServiceDeclarationError) as raised:
        ai_service(Plain, client or ChatClient(ScriptedChatModel([])), **more)

    assert (raised.value.message, raised.value.next_step) == (message, step)


def test_all_that_is_wrong_with_an_interface_can_be_asked_for() -> None:
    """Each fault with its method, in the order of the interface; none for one that can be."""

    class Several(Protocol):
        def first(self) -> str: ...

        def second(self, message: str) -> str: ...

        def third(self, message: str) -> Any: ...

    given = {"fourth": ServiceMethod(), "second": ServiceMethod(user="{mesage}")}
    assert [(name, error.message) for name, error in service_faults(Several, given)] == [
        ("first", "the method 'first' has no message for the model"),
        ("second", "the user prompt of 'second' names 'mesage', which is no parameter"),
        ("third", "the method 'third' does not say what it returns: Any"),
        ("fourth", "'Several' has no method 'fourth' that asks a model"),
    ]
    assert list(service_faults(Plain, {})) == []
