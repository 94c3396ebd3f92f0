"""What a plugin author declares: a settings model, its references, a factory, and the contract it provides."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import ScriptedChatModel, ToolService
from agentforge.client import ServiceMethod
from agentforge.model import ChatModel
from agentforge.plugin import (
    BeanContext,
    BeanSettings,
    BeanType,
    BeanTypeError,
    Components,
    Ref,
    RefField,
    Seconds,
    SecretStr,
    fits,
    references_of,
)
from agentforge.plugin.bean_settings import seconds_of
from agentforge.tool import StaticTools, ToolSource
from agentforge.tool.error import ToolErrorHandler


class Inner(BeanSettings):
    """Settings inside settings."""

    handler: Annotated[ToolErrorHandler, Ref(or_type=True)] | None = None
    """A bean, or a strategy's name."""
    depth: int = 1
    """A plain value."""


class Outer(BeanSettings):
    """One field of each kind."""

    model: Annotated[ChatModel, Ref()]
    """A bean."""
    spare: Annotated[ChatModel, Ref()] | None = None
    """A bean that may be missing."""
    tools: list[Annotated[ToolSource, Ref()]]
    """Beans."""
    more: tuple[Annotated[ToolSource, Ref()], ...] = ()
    """Beans that may be missing."""
    inner: Inner = Inner()
    """Settings."""
    maybe: Inner | None = None
    """Settings that may be missing."""
    key: SecretStr = SecretStr("")
    """A secret."""
    limit: Seconds | None = 60.0
    """A duration."""


class Empty(BeanSettings):
    """Nothing to set."""


CONTEXT = BeanContext("it", Path(), Components((), Path()))


def test_references_are_read_from_the_declared_types() -> None:
    """By field; those of settings inside settings by dotted path; in a list a type's name is always allowed."""
    assert references_of(Outer) == {
        "model": RefField(ChatModel, many=False, optional=False, or_type=False),
        "spare": RefField(ChatModel, many=False, optional=True, or_type=False),
        "tools": RefField(ToolSource, many=True, optional=False, or_type=True),
        "more": RefField(ToolSource, many=True, optional=True, or_type=True),
        "inner.handler": RefField(ToolErrorHandler, many=False, optional=True, or_type=True),
        "maybe.handler": RefField(ToolErrorHandler, many=False, optional=True, or_type=True),
    }


def test_a_reference_that_nothing_could_fill_is_a_fault_of_the_type() -> None:
    """Found when the type is declared, not when a file uses it."""

    class Nested(BeanSettings):
        models: list[list[Annotated[ChatModel, Ref()]]]
        """Lists in a list."""

    with pytest.raises(BeanTypeError, match=r"Nested\.models has a Ref where no bean can be put"):
        BeanType("x.y", Nested, lambda settings: object(), ChatModel, "Summary.")


@pytest.mark.parametrize(
    "annotation",
    [
        dict[int, Annotated[ChatModel, Ref()]],
        list[Annotated[Callable[[], ChatModel], Ref()]],
        dict[str, Annotated[Callable[[], ChatModel], Ref()]],
    ],
)
def test_a_mapping_has_names_and_a_callable_stands_alone(annotation: Any) -> None:
    """Whatever else would need a form of its own in the file."""
    holder = type("Holder", (BeanSettings,), {"__annotations__": {"parts": annotation}, "__module__": __name__})

    with pytest.raises(BeanTypeError, match=r"Holder\.parts has a Ref where no bean can be put"):
        BeanType("x.y", holder, lambda settings: object(), ChatModel, "Summary.")


def test_mappings_of_beans_and_callables_that_give_one_are_references() -> None:
    """With the contract that the beans fulfil."""

    class Forms(BeanSettings):
        models: dict[str, Annotated[ChatModel, Ref()]]
        """By name."""
        later: Annotated[Callable[[], ChatModel], Ref()] | None = None
        """Asked for when it is needed."""

    assert references_of(Forms) == {
        "models": RefField(ChatModel, False, False, True, by_name=True),
        "later": RefField(ChatModel, False, True, False, provider=True),
    }


@pytest.mark.parametrize("annotation", [list[Inner], tuple[Inner, ...], dict[str, Inner], Inner | str])
def test_settings_with_references_stand_alone(annotation: Any) -> None:
    """In a list, a mapping or a union nothing says which of the values holds the bean."""
    holder = type("Holder", (BeanSettings,), {"__annotations__": {"parts": annotation}, "__module__": __name__})

    with pytest.raises(BeanTypeError, match=r"Holder\.parts has a Ref where no bean can be put"):
        BeanType("x.y", holder, lambda settings: object(), ChatModel, "Summary.")


def test_an_editor_is_told_what_a_reference_may_be() -> None:
    """A name, or a definition in place."""
    schema = Outer.model_json_schema()["properties"]["model"]

    assert schema["anyOf"] == [{"type": "string"}, {"type": "object"}]
    assert schema["description"] == "A bean."


def test_settings_hold_the_beans_themselves() -> None:
    """The same objects, whatever they are: their contract was checked by the container."""
    model, source = ScriptedChatModel(["x"]), StaticTools(())
    settings = Outer(model=model, tools=[source], inner=Inner(handler=print))

    assert settings.model is model and settings.tools[0] is source and settings.inner.handler is print


@pytest.mark.parametrize(
    "values",
    [{"modle": 1}, {"inner": {"dept": 1}}, {"inner": {"depth": "deep"}}, {"limit": 0}, {"limit": "-1s"}, {"tools": 1}],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any]) -> None:
    """Unknown keys at every level, wrong types, durations that are not above 0."""
    with pytest.raises(ValueError, match="validation error"):
        Outer(**{"model": object(), "tools": [], **values})


def test_settings_are_frozen_and_keep_their_secrets() -> None:
    """Neither the settings' text nor the error of a bad neighbour shows a secret."""
    settings = Outer(model=object(), tools=[], key="sk-secret")  # type: ignore[arg-type]
    assert "sk-secret" not in repr(settings) and "sk-secret" not in str(settings.model_dump())
    with pytest.raises(ValueError, match="frozen"):
        settings.limit = 1.0
    with pytest.raises(ValueError, match="validation error") as caught:
        Outer(model=object(), tools=[], key=["sk-secret"])  # type: ignore[arg-type]
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("500ms", 0.5),
        ("2m", 120.0),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("30d", 2_592_000.0),
        ("1.5", 1.5),
        (" 3 S ", 3.0),
        (7, 7),
    ],
)
def test_a_duration_is_a_number_or_a_text_with_a_unit(text: object, seconds: float) -> None:
    """Seconds where there is no unit."""
    assert seconds_of(text) == seconds
    assert Outer(model=object(), tools=[], limit=text).limit == seconds  # type: ignore[arg-type]


@given(st.text())
def test_any_other_text_is_no_duration(text: str) -> None:
    """It is either a number with a known unit or refused; nothing is guessed."""
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*(ms|s|m|min|h|d)?\s*", text, re.IGNORECASE):
        assert seconds_of(text) >= 0
    else:
        with pytest.raises(ValueError, match="10s, 500ms, 2m or 1h"):
            seconds_of(text)


async def _later(settings: Empty) -> object:
    return settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Model"}, "a name is lower-case words"),
        ({"name": "x."}, "a name is lower-case words"),
        ({"name": "x-y.z"}, "a name is lower-case words"),
        ({"settings": dict}, "settings must be a subclass of BeanSettings"),
        ({"factory": "module:function"}, "factory must be callable"),
        ({"factory": _later}, "factory must not be async"),
        ({"provides": "ChatModel"}, "provides must be a class or protocol"),
        ({"summary": " "}, "it has no summary"),
        ({"component": "module"}, "no field 'module'"),
        ({"implements": type}, "implements needs a component that names the interface"),
        ({"settings": Inner, "component": "depth", "implements": type, "called": True}, "and is not called"),
    ],
)
def test_a_type_that_cannot_work_is_refused(changes: dict[str, Any], message: str) -> None:
    """When it is declared."""
    declared = {
        "name": "x.y",
        "settings": Empty,
        "factory": lambda settings: object(),
        "provides": object,
        "summary": "A thing.",
    }
    with pytest.raises(BeanTypeError) as caught:
        BeanType(**{**declared, **changes})

    assert message in caught.value.message


@pytest.mark.parametrize(
    "factory",
    [
        lambda settings: ["made", settings],
        lambda settings, context: ["made", settings, context.bean_id],
        lambda settings, name="default": ["made", settings, name],
        list,
    ],
)
def test_a_factory_takes_the_settings_and_may_take_the_context(factory: Callable[..., object]) -> None:
    """A second parameter without a default is the context."""
    settings = Empty()
    item = BeanType("x.y", Empty, factory, list, "A list.")

    made = item.create(settings, CONTEXT)

    assert isinstance(made, list)
    assert made[2:] in ([], ["it"], ["default"])


def test_a_factory_may_be_something_that_cannot_be_inspected() -> None:
    """It is called with the settings alone."""
    assert BeanType("x.y", Inner, dict, dict, "A mapping.").create(Inner(), CONTEXT) == {"handler": None, "depth": 1}


@pytest.mark.parametrize("factory", [lambda settings: None, lambda settings: _later(settings)])
def test_a_factory_that_gives_no_object_is_an_error(factory: Callable[..., object]) -> None:
    """Nothing, or something that would have to be awaited."""
    with pytest.raises(BeanTypeError, match="gave no object"):
        BeanType("x.y", Empty, factory, object, "Nothing.").create(Empty(), CONTEXT)


def test_a_type_knows_whether_its_name_is_enough() -> None:
    """A type whose settings all have defaults can stand in a list by its name."""
    assert BeanType("x.y", Outer, print, object, "Needs some.").needs_settings
    assert not BeanType("x.y", Empty, print, object, "Needs none.").needs_settings


class _Model:
    profile: Any
    chat = stream = aclose = None


class _Promises:
    def tools(self, run: Any) -> Awaitable[list[Any]]:
        raise AssertionError("only its shape is looked at")


class _Untold:
    def tools(self, run):  # type: ignore[no-untyped-def]
        raise AssertionError("only its shape is looked at")


class _Holds:
    tools: tuple[Any, ...] = ()


class _Gives:
    @property
    def tools(self) -> Callable[[Any], Awaitable[list[Any]]]:
        raise AssertionError("only its shape is looked at")


@pytest.mark.parametrize(
    ("provided", "wanted", "expected"),
    [
        (ChatModel, ChatModel, True),
        (ScriptedChatModel, ChatModel, True),
        (_Model, ChatModel, True),
        (StaticTools, ToolSource, True),
        (ToolErrorHandler, ToolErrorHandler, True),
        (bool, int, True),
        (int, object, True),
        (ChatModel, ToolSource, False),
        (StaticTools, ChatModel, False),
        (str, ToolErrorHandler, False),
        (object, ChatModel, False),
        (int, bool, False),
        (ToolService, ToolSource, False),  # its `tools` registers, and is not awaited
        (_Promises, ToolSource, True),
        (_Untold, ToolSource, True),
        (ServiceMethod, ToolSource, False),  # its `tools` are a list
        (_Holds, ToolSource, False),
        (_Gives, ToolSource, True),
    ],
)
def test_one_contract_fits_another(provided: type, wanted: type, expected: bool) -> None:
    """The same, a subclass, or every member of a protocol, runtime-checkable or not."""
    assert fits(provided, wanted) is expected
