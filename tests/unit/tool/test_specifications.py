"""Specifications: which functions become tools, by what name and description, with which parameters."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest

from agentforge.errors import DuplicateToolError, ToolDeclarationError
from agentforge.model.specification import ToolParameters, ToolSpecification
from agentforge.tool.declare import MemoryId, P, tool
from agentforge.tool.execution.default_executor import bound_tools_from
from agentforge.tool.spec import (
    tool_methods_of,
    tool_name_from,
    tool_specification_from,
    tool_specifications_from,
    validate_specifications,
)
from tests.unit.tool.samples import Shop

if TYPE_CHECKING:
    from agentforge.tool.execution.run import Run, ToolContext


def properties(function: Any) -> list[str]:
    return list(tool_specification_from(function).parameters.properties)


def names(target: Any) -> list[str]:
    return [specification.name for specification in tool_specifications_from(target)]


# -- names and descriptions ----------------------------------------------------------------------


@tool("When the user asks for the weather.", "Celsius.", name="get_weather")
def weather(city: str) -> str:
    """Not shown."""
    return city


@tool
def documented(city: str) -> str:
    """Look a city up.

    At length.

    Args:
        city: where

    Returns:
        all of it
    """
    return city


@tool
def getOrderCount() -> int:  # noqa: N802
    return 1


def undecorated(a: int) -> int:
    """Plain."""
    return a


DESCRIBED: dict[str, tuple[Any, str, str]] = {
    "the decorator's texts, joined by newlines": (
        weather,
        "get_weather",
        "When the user asks for the weather.\nCelsius.",
    ),
    "else the docstring without its sections": (documented, "documented", "Look a city up.\n\nAt length."),
    "else the name split into words": (getOrderCount, "getOrderCount", "get order count"),
    "a function that is not decorated": (undecorated, "undecorated", "Plain."),
}


@pytest.mark.parametrize(("function", "name", "description"), DESCRIBED.values(), ids=DESCRIBED)
def test_name_and_description(function: Any, name: str, description: str) -> None:
    assert tool_name_from(function) == name
    made = tool_specification_from(function)
    assert (made.name, made.description) == (name, description)


def test_an_empty_name_counts_as_none() -> None:
    @tool("d", name="")
    def add(a: int) -> int:
        return a

    assert tool_name_from(add) == "add"


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ToolDeclarationError, match="lambda has no name"):
        tool_specification_from(lambda a: a)


def test_strict_and_metadata_are_carried() -> None:
    @tool("d", strict=True, metadata={"team": "shop"})
    def pay(amount: int) -> int:
        return amount

    made = tool_specification_from(pay)
    assert (made.strict, made.metadata) == (True, {"team": "shop"})
    assert tool_specification_from(weather).strict is None


# -- what is a parameter -------------------------------------------------------------------------


class Callable_:  # noqa: N801
    """Adds."""

    def __call__(self, item: str) -> str:
        return item


def context_by_text(*, ctx: "ToolContext", item: int) -> str:  # noqa: UP037  (as users write it)
    return str(item)


def context_optional(item: int, ctx: Optional[ToolContext] = None) -> str:  # noqa: UP045
    return str(item)


def run_and_memory(item: int, run: Run, memory: Annotated[str, MemoryId], owner: MemoryId) -> str:
    return str(item)


@functools.wraps(undecorated)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return undecorated(*args, **kwargs)


ONLY_ITEM: dict[str, Any] = {
    "a bound method": Shop(3).price,
    "a class method": Shop.kind,
    "a static method": Shop.ping,
    "a method reached through its class": Shop.price,
    "a callable object": Callable_(),
    "a context by its name as text": context_by_text,
    "an optional context": context_optional,
    "the run and the memory id": run_and_memory,
}


@pytest.mark.parametrize("function", ONLY_ITEM.values(), ids=ONLY_ITEM)
def test_self_and_injected_parameters_are_never_in_the_schema(function: Any) -> None:
    assert properties(function) == ["item"]


def test_a_partial_hides_what_it_fixes() -> None:
    def add(a: int, b: int, c: int = 0) -> int:
        return a + b + c

    assert properties(functools.partial(add, 1, c=2)) == ["b"]


def test_a_wrapper_shows_what_it_wraps() -> None:
    assert properties(wrapped) == ["a"]
    assert tool_name_from(wrapped) == "undecorated"


REFUSED: dict[str, tuple[str, str]] = {
    "positional rest": ("def f(*rest: int): ...", r"\*rest of tool 'f'"),
    "named rest": ("def f(**rest: int): ...", r"\*\*rest of tool 'f'"),
    "a callable": ("def f(on: Callable[[], int]): ...", "parameter 'on' of tool 'f' has type Callable"),
    "an optional callable": ("def f(on: Callable[[], int] | None = None): ...", "parameter 'on'"),
    "a future": ("def f(on: Future[int]): ...", "has type Future"),
    "an awaitable": ("def f(on: Awaitable[int]): ...", "has type Awaitable"),
    "a callable as result": ("def f() -> Callable[[], int]: ...", "the result of tool 'f' has type Callable"),
    "a future as result": ("def f() -> Future[int]: ...", "the result of tool 'f' has type Future"),
    "an awaitable as result": ("def f() -> Awaitable[int]: ...", "the result of tool 'f' has type Awaitable"),
    "items one by one": ("def f(n: int): yield n", "the function of tool 'f' yields"),
    "items one by one, later": ("async def f(n: int): yield n", "the function of tool 'f' yields"),
    "items of a result that is unknown": ("def f() -> Nowhere: yield 1", "the function of tool 'f' yields"),
    "an unknown name": ("def f(a: int, row: Row): ...", "parameter 'row' of tool 'f' .* name 'Row' is not defined"),
    "an annotation that fails": ("def f(a: 1 / 0): ...", "parameter 'a' of tool 'f' .*ZeroDivisionError"),
    "a type without a JSON form": ("def f(q: str, rt: Runtime): ...", "'rt' of tool 'f' has type Runtime"),
    "one inside a list": ("def f(rt: list[Runtime]): ...", "'rt' of tool 'f' has type list"),
    "one name twice": ("def f(a: int, b: Annotated[int, P(name='a')]): ...", "two parameters .* named 'a'"),
}


@pytest.mark.parametrize(("source", "fault"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_a_tool_is_refused_by_name(source: str, fault: str) -> None:
    class Runtime:
        pass

    space: dict[str, Any] = {"Runtime": Runtime, "Callable": Callable, "Future": Future, "Awaitable": Awaitable}
    space |= {"Annotated": Annotated, "P": P, "__name__": "sample"}
    exec("from __future__ import annotations\n" + source, space)
    with pytest.raises(ToolDeclarationError, match=fault) as caught:
        tool_specification_from(space["f"])
    assert caught.value.next_step


NOT_FUNCTIONS: dict[str, Any] = {"a class": Shop, "a text": "shop", "a number": 3, "an object": object()}


@pytest.mark.parametrize("value", NOT_FUNCTIONS.values(), ids=NOT_FUNCTIONS)
def test_only_callables_have_a_specification(value: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="is not a function"):
        tool_specification_from(value)


def test_a_result_may_be_unknown() -> None:
    def unknown() -> Nowhere: ...  # type: ignore[name-defined]  # noqa: F821

    assert properties(unknown) == []


def test_a_name_that_appears_later_makes_the_tool_work() -> None:
    space: dict[str, Any] = {"__name__": "late"}
    exec("from __future__ import annotations\ndef load(box: Box) -> str: ...", space)
    with pytest.raises(ToolDeclarationError, match="'Box'"):
        tool_specification_from(space["load"])
    space["Box"] = int
    assert properties(space["load"]) == ["box"]


def test_a_model_that_is_not_complete_is_refused_until_it_is() -> None:
    """The missing name is the model's, not the function's; an empty schema is never made."""
    module = types.ModuleType("incomplete_sample")
    sys.modules[module.__name__] = module
    try:
        source = (
            "from __future__ import annotations\n"
            "from pydantic import BaseModel\n"
            "class Box(BaseModel):\n    rows: list[Row] = []\n"
            "def load(box: Box) -> str: ...\n"
        )
        exec(source, vars(module))
        with pytest.raises(ToolDeclarationError, match=r"parameter 'box' of tool 'load' .*Row"):
            tool_specification_from(module.load)
        exec("class Row(BaseModel):\n    n: int", vars(module))
        made = tool_specification_from(module.load).parameters.schema
        assert set(made["$defs"]) == {"Box", "Row"}  # type: ignore[call-overload]
    finally:
        del sys.modules[module.__name__]


def test_types_of_an_enclosing_function_are_found() -> None:
    class Local(str):
        pass

    def build() -> Callable[..., Any]:
        wanted = int

        def inner(a: wanted) -> int:  # type: ignore[valid-type]
            return a + (0 if wanted else 1)

        return inner

    assert tool_specification_from(build()).parameters.properties == {"a": {"type": "integer"}}


# -- objects, classes, modules -------------------------------------------------------------------


class Base:
    @tool("Base a.")
    def a(self) -> str:
        return "base"

    @tool("Base b.")
    def b(self) -> str:
        return "base"

    @tool("Base c.")
    def c(self) -> str:
        return "base"


class Child(Base):
    @tool("Child a.")
    def a(self) -> str:
        return "child"

    def b(self) -> str:
        return "not a tool any more"

    @tool("Child d.")
    def d(self) -> str:
        return "child"

    again = d


def test_the_class_hierarchy_is_walked_and_overrides_win() -> None:
    made = {specification.name: specification.description for specification in tool_specifications_from(Child())}
    assert made == {"a": "Child a.", "d": "Child d.", "c": "Base c."}
    assert names(Child) == names(Child())


def test_private_and_all_other_kinds_of_methods_are_found_and_nothing_else() -> None:
    assert names(Shop(1)) == ["price", "kind", "ping_it", "__hidden"]


def test_a_private_method_declared_anew_by_a_child_is_one_tool() -> None:
    class Quiet(Shop):
        @tool("Child's own.", name="__hidden")
        def __hidden(self, item: str) -> str:
            return "child"

    made = [specification for specification in tool_specifications_from(Quiet(1)) if specification.name == "__hidden"]
    assert [specification.description for specification in made] == ["Child's own."]


def test_one_tool_name_twice_is_refused() -> None:
    class Twice:
        @tool("One.", name="same")
        def one(self) -> None: ...

        @tool("Two.", name="same")
        def two(self) -> None: ...

    with pytest.raises(DuplicateToolError, match="two tools named 'same'"):
        tool_specifications_from(Twice())


class NoTools:
    def helper(self) -> None: ...


@pytest.mark.parametrize("target", [NoTools(), NoTools, object(), [], "text", types.ModuleType("empty")])
def test_an_object_without_tools_is_refused_with_a_hint(target: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="has no method that is decorated") as caught:
        tool_specifications_from(target)
    assert "@tool" in str(caught.value.next_step)


def test_reading_tools_runs_no_property() -> None:
    class Careful:
        @property
        def connection(self) -> Any:
            raise AssertionError("read")

        @tool("Ok.")
        def ok(self) -> None: ...

    assert names(Careful()) == ["ok"]


def test_methods_come_bound_to_their_own_object() -> None:
    first, second = tool_methods_of(Shop(1))[0], tool_methods_of(Shop(2))[0]
    assert (first("x"), second("x")) == ("x1", "x2")


def test_a_module_gives_its_own_decorated_functions() -> None:
    module = types.ModuleType("desk")
    exec("from agentforge.tool import tool\n@tool\ndef a(): ...\ndef b(): ...", vars(module))
    vars(module)["imported"] = weather
    assert names(module) == ["a"]


def test_instance_methods_of_a_class_cannot_run_without_an_object() -> None:
    with pytest.raises(ToolDeclarationError, match="without its object") as caught:
        bound_tools_from(Shop)
    assert "Give an object" in str(caught.value.next_step)

    class Static:
        @staticmethod
        @tool("Ping.")
        def ping() -> str:
            return "pong"

    assert [bound.name for bound in bound_tools_from(Static)] == ["ping"]


# -- sets of specifications ----------------------------------------------------------------------

_DEEP: dict[str, Any] = {"type": "string"}
for _ in range(70):
    _DEEP = {"type": "array", "items": _DEEP}


def with_property(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


UNSOUND: dict[str, tuple[dict[str, Any], str]] = {
    "a root that is no object": ({"type": "array"}, "root type 'array'"),
    "a choice at the root": ({"anyOf": [{"type": "object"}]}, "root type None"),
    "parameters without a schema around them": ({"city": {"type": "string"}}, "has no type at its root"),
    "a remote reference": (with_property({"$ref": "https://127.0.0.1/x.json"}), "not inside the schema"),
    "a file reference": (with_property({"$ref": "other.json#/a"}), "not inside the schema"),
    "a reference to nothing": (with_property({"$ref": "#/$defs/gone"}), "which is not there"),
    "a reference to itself": (with_property({"$ref": "#/properties/a"}), "refers to itself"),
    "a circle of references": (
        {**with_property({"$ref": "#/$defs/b"}), "$defs": {"b": {"$ref": "#/$defs/c"}, "c": {"$ref": "#/$defs/b"}}},
        "refers to itself",
    ),
    "too deep": (with_property(_DEEP), "nested deeper than 64"),
    "too large": ({"type": "object", "properties": {str(n): {} for n in range(20_001)}}, "more than 20,000 parts"),
}


@pytest.mark.parametrize(("schema", "fault"), UNSOUND.values(), ids=UNSOUND)
def test_an_unsound_schema_is_refused_with_its_tool(schema: dict[str, Any], fault: str) -> None:
    with pytest.raises(ToolDeclarationError, match=fault) as caught:
        validate_specifications([ToolSpecification("remote", None, ToolParameters(schema))])
    assert "'remote'" in caught.value.message


SOUND: dict[str, dict[str, Any]] = {
    "no parameters": {"type": "object"},
    "nothing at all": {},
    "a recursive type": {
        **with_property({"$ref": "#/$defs/node"}),
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    },
    "a recursion to the root": with_property({"$ref": "#"}),
    "a property named $ref": {"type": "object", "properties": {"$ref": {"type": "string"}}},
    "data that looks like a reference": with_property({"enum": [{"$ref": "http://127.0.0.1/x"}]}),
}


@pytest.mark.parametrize("schema", SOUND.values(), ids=SOUND)
def test_a_sound_schema_passes(schema: dict[str, Any]) -> None:
    validate_specifications([ToolSpecification("remote", None, ToolParameters(schema))])


def test_names_are_given_and_unique() -> None:
    one, two = ToolSpecification("a"), ToolSpecification("a", "other")
    validate_specifications([one, ToolSpecification("b")])
    with pytest.raises(DuplicateToolError, match="two tools are named 'a'"):
        validate_specifications([one, two])
    with pytest.raises(ToolDeclarationError, match="empty name"):
        validate_specifications([ToolSpecification(" ")])
