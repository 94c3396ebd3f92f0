"""Tools of one argument, whose type or schema is given apart; and the other word for IMMEDIATE."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from pydantic import BaseModel, Field, RootModel

from agentforge import (
    MemoryId,
    ReturnBehavior,
    Run,
    ScriptedChatModel,
    ToolContext,
    ToolOutcome,
    ToolParameters,
    ToolService,
    ToolSpecification,
    tool,
)
from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model import ToolExecutionRequest
from agentforge.model.scripted import call
from agentforge.tool import declaration_of, function_tool
from agentforge.tool.execution import bound_tool_from


@dataclass
class Stay:
    city: str
    nights: int = 1


class Guest(BaseModel):
    name: str = Field(description="the full name")
    stay: Stay


class Plain(TypedDict):
    city: str


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


class Nothing(BaseModel):
    pass


def describe_stay(stay: Stay) -> str:
    """Describe a stay."""
    return f"{stay.nights} in {stay.city}"


async def later(stay: Stay) -> str:
    await asyncio.sleep(0)
    return f"later {stay.city}"


class Describer:
    """An object that is called."""

    def __call__(self, stay: Stay) -> str:
        return f"object {stay.city}"


def with_context(stay: Stay, context: ToolContext) -> str:
    return f"{stay.city} for {context.tenant}"


def with_anything_second(stay: Any, second: Any) -> str:
    return f"{stay.city} for {second.tenant}"


def with_all(stay: Stay, *, memory: Annotated[str, MemoryId], run: Run, loud: bool = False) -> str:
    return f"{stay.city} {memory} {run.tenant} {loud}"


CALLABLES: dict[str, tuple[Any, str]] = {
    "a function": (describe_stay, "2 in Oslo"),
    "an async function": (later, "later Oslo"),
    "a lambda": (lambda stay: stay.city, "Oslo"),
    "an object": (Describer(), "object Oslo"),
    "a partial": (partial(with_all, loud=True), "Oslo m-1 acme True"),
    "with the context": (with_context, "Oslo for acme"),
    "a second parameter": (with_anything_second, "Oslo for acme"),
    "hidden parameters": (with_all, "Oslo m-1 acme False"),
}


@pytest.mark.parametrize(("function", "expected"), CALLABLES.values(), ids=CALLABLES)
async def test_the_function_gets_one_object(function: Any, expected: str) -> None:
    service = ToolService(function_tool(function, name="stay", input_type=Stay))
    model = ScriptedChatModel([call("stay", city="Oslo", nights="2"), "ok"])
    result = await service.chat(model, None, "q", context=Run(tenant="acme", memory_id="m-1"))

    assert result.tool_executions[0].result_text() == expected


INPUTS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "a dataclass": (Stay, {"city": "Oslo"}, Stay("Oslo")),
    "a model": (
        Guest,
        {"name": "Ann", "stay": {"city": "Oslo", "nights": 2}},
        Guest(name="Ann", stay=Stay("Oslo", 2)),
    ),
    "a typed dict": (Plain, {"city": "Oslo"}, {"city": "Oslo"}),
    "a recursive model": (Tree, {"name": "a", "kids": [{"name": "b"}]}, Tree(name="a", kids=[Tree(name="b")])),
    "a model without fields": (Nothing, {}, Nothing()),
}


@pytest.mark.parametrize(("kind", "arguments", "expected"), INPUTS.values(), ids=INPUTS)
def test_the_type_is_the_schema_and_makes_the_object(kind: Any, arguments: dict[str, Any], expected: Any) -> None:
    made = function_tool(lambda it: "", name="it", input_type=kind)
    schema = made.specification.parameters.schema

    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert made.bind(arguments) == expected
    with pytest.raises(ToolArgumentsError, match="surplus"):
        made.bind({**arguments, "surplus": 1})


def test_the_schema_stands_at_the_root() -> None:
    schema = function_tool(describe_stay, input_type=Guest).specification.parameters.schema

    assert schema["properties"]["name"] == {"type": "string", "description": "the full name"}  # type: ignore[index]
    assert schema["required"] == ["name", "stay"]
    assert list(schema["$defs"]) == ["Stay"]  # type: ignore[call-overload]
    assert "Tree" in function_tool(describe_stay, input_type=Tree).specification.parameters.schema["$defs"]  # type: ignore[operator]


def test_every_problem_is_told_by_its_field() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        function_tool(describe_stay, input_type=Guest).bind({"stay": {"city": 1, "nights": "x"}})

    assert {problem.path for problem in caught.value.problems} == {"name", "stay.city", "stay.nights"}


def _rooted(kind: Any) -> Any:
    return RootModel[kind]


class Row(NamedTuple):
    city: str


REFUSED_TYPES: dict[str, Any] = {
    "a text": str,
    "a number": int,
    "a truth value": bool,
    "nothing": type(None),
    "a list": list[str],
    "a bare list": list,
    "a list of models": list[Stay],
    "a map": dict[str, int],
    "a mapping": Mapping[str, Any],
    "a literal": Literal["a"],
    "a named tuple": Row,
    "anything": Any,
    "an optional model": Stay | None,
    "a choice of models": Stay | Tree,
    "a root model of a list": _rooted(list[int]),
    "a root model of a map": _rooted(dict[str, int]),
}


@pytest.mark.parametrize("kind", REFUSED_TYPES.values(), ids=REFUSED_TYPES)
def test_a_bare_primitive_list_or_map_is_refused_with_the_reason(kind: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="arguments of a call are an object with named fields") as caught:
        function_tool(describe_stay, input_type=kind)
    assert "'describe_stay'" in caught.value.message and caught.value.next_step


SCHEMA = ToolParameters.builder().add_property("city", "string", required=True).add_property("n", "integer").build()


@pytest.mark.parametrize("schema", [SCHEMA, SCHEMA.schema], ids=["parameters", "mapping"])
async def test_with_a_schema_the_function_gets_the_checked_arguments(schema: Any) -> None:
    seen: list[Any] = []
    service = ToolService(function_tool(seen.append, name="note", description="Note.", schema=schema))
    model = ScriptedChatModel([call("note", city="Oslo", n="3"), "ok"])
    await service.chat(model, None, "q")

    assert seen == [{"city": "Oslo", "n": 3}]
    assert model.requests[0].parameters.tools[0] == ToolSpecification("note", "Note.", SCHEMA)


def no_input() -> str:
    return ""


def three(a: Any, b: Any, c: Any) -> str:
    return ""


def needs_more(a: Any, *, key: str) -> str:
    return ""


def gives_a_function(stay: Stay) -> Callable[[], str]:
    return str


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "neither type nor schema": (describe_stay, {}, "needs either an input type or a schema"),
    "both": (describe_stay, {"input_type": Stay, "schema": SCHEMA}, "needs either an input type or a schema"),
    "no callable": (3, {"input_type": Stay}, "needs a callable, not int"),
    "a lambda without a name": (lambda stay: "", {"input_type": Stay}, "a lambda has no name"),
    "a schema of a list": (describe_stay, {"schema": {"type": "array"}}, "has the root type 'array'"),
    "a schema that is none": (describe_stay, {"schema": "object"}, "must be a mapping or ToolParameters, not str"),
    "no argument": (no_input, {"input_type": Stay}, "takes no argument for the input"),
    "three arguments": (three, {"input_type": Stay}, "nothing for its parameter 'c'"),
    "an argument by name": (needs_more, {"input_type": Stay}, "nothing for its parameter 'key'"),
    "a callable as result": (gives_a_function, {"input_type": Stay}, "the result of tool .* has type Callable"),
    "a wrong effect": (describe_stay, {"input_type": Stay, "effect": "wreck"}, "effect"),
    "a wrong timeout": (describe_stay, {"input_type": Stay, "timeout": -1}, "timeout"),
}


@pytest.mark.parametrize(("function", "given", "fault"), WRONG.values(), ids=WRONG)
def test_what_cannot_work_is_refused(function: Any, given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ToolDeclarationError, match=fault):
        function_tool(function, **given)


def test_everything_that_a_tool_may_say_is_kept() -> None:
    made = function_tool(
        describe_stay,
        name="n",
        description="d",
        input_type=Stay,
        effect="write",
        strict=True,
        metadata={"a": 1},
        timeout=3.0,
        serial="k",
        sequential=True,
        source_name="s",
    )

    assert (made.name, made.specification.description, made.specification.strict) == ("n", "d", True)
    assert dict(made.specification.metadata) == {"a": 1}
    assert (made.effect, made.timeout, made.serial, made.sequential, made.source_name) == ("write", 3.0, "k", True, "s")
    assert made.blocking and not function_tool(later, input_type=Stay).blocking


def test_name_and_description_are_the_functions_own() -> None:
    made = function_tool(describe_stay, input_type=Stay)

    assert (made.name, made.specification.description) == ("describe_stay", "Describe a stay.")
    assert function_tool(later, name="bookNow", input_type=Stay).specification.description == "book now"


def test_a_declared_write_takes_values_in_their_own_type_only() -> None:
    assert function_tool(describe_stay, input_type=Stay).bind({"city": "a", "nights": "2"}) == Stay("a", 2)
    with pytest.raises(ToolArgumentsError, match="nights"):
        function_tool(describe_stay, input_type=Stay, effect="write").bind({"city": "a", "nights": "2"})


async def test_what_it_raises_is_a_failure_of_the_tool() -> None:
    def fail(stay: Stay) -> str:
        raise LookupError("no room")

    service = ToolService(function_tool(fail, input_type=Stay))
    result = await service.chat(ScriptedChatModel([call("fail", city="a"), "ok"]), None, "q")

    assert result.tool_executions[0].outcome is ToolOutcome.FAILED


# -- return_direct -------------------------------------------------------------------------------


def _by_decorator(**given: Any) -> ReturnBehavior:
    @tool("d", **given)
    def sample() -> str:
        return ""

    declared = declaration_of(sample)
    assert declared is not None
    return declared.return_behavior


def _by_function_tool(**given: Any) -> ReturnBehavior:
    return function_tool(describe_stay, input_type=Stay, **given).return_behavior


def _by_executor(**given: Any) -> ReturnBehavior:
    def run(request: ToolExecutionRequest) -> str:
        return ""

    return bound_tool_from(ToolSpecification("run"), run, **given).return_behavior


WAYS: Sequence[Callable[..., ReturnBehavior]] = (_by_decorator, _by_function_tool, _by_executor)
TO_LLM, IMMEDIATE, IF_LAST = ReturnBehavior.TO_LLM, ReturnBehavior.IMMEDIATE, ReturnBehavior.IMMEDIATE_IF_LAST
MEANT: list[tuple[dict[str, Any], ReturnBehavior]] = [
    ({}, TO_LLM),
    ({"return_direct": True}, IMMEDIATE),
    ({"return_direct": False}, TO_LLM),
    ({"return_direct": True, "return_behavior": IMMEDIATE}, IMMEDIATE),
    ({"return_direct": False, "return_behavior": TO_LLM}, TO_LLM),
    ({"return_behavior": IF_LAST}, IF_LAST),
]
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"return_direct": True, "return_behavior": TO_LLM}, "contradict"),
    ({"return_direct": True, "return_behavior": IF_LAST}, "contradict"),
    ({"return_direct": False, "return_behavior": IMMEDIATE}, "contradict"),
    ({"return_direct": False, "return_behavior": IF_LAST}, "contradict"),
    ({"return_direct": "yes"}, "must be True or False"),
    ({"return_behavior": "immediate"}, "must be a ReturnBehavior"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("given_", "expected"), MEANT)
def test_return_direct_is_another_word_for_immediate(
    way: Any, given_: dict[str, Any], expected: ReturnBehavior
) -> None:
    assert way(**given_) is expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("given_", "fault"), CONTRADICTIONS)
def test_the_two_words_may_not_contradict_each_other(way: Any, given_: dict[str, Any], fault: str) -> None:
    with pytest.raises(ToolDeclarationError, match=fault):
        way(**given_)
