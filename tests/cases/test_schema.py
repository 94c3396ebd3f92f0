"""From a module's source to the declaration that is sent, and from the arguments to what the function gets."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Annotated, Any

import pytest

from agentforge import (
    MemoryId,
    ScriptedChatModel,
    ToolContext,
    ToolExecutionRequest,
    ToolParameters,
    ToolService,
    ToolSpecification,
    tool,
)
from agentforge.errors import ToolDeclarationError
from agentforge.model import ChatRequest, ChatRequestParameters
from agentforge.model.scripted import call, calls
from agentforge.tool.execution.default_executor import DefaultToolExecutor
from plugins.openai.tests.support import FakeTransport, model_on
from tests.cases.support import rows, valid

MODULE = "field_case_module"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An importable module for the source of a row."""
    made = ModuleType(MODULE)
    made.__dict__["ToolContext"] = ToolContext
    monkeypatch.setitem(sys.modules, MODULE, made)
    return made


def run_source(module: ModuleType, source: str) -> list[Any]:
    """Run the source; ``tools`` or ``tool`` of the module, else its last function."""
    exec(compile(source, f"{MODULE}.py", "exec", dont_inherit=True), module.__dict__)
    if "tools" in vars(module):
        return list(module.tools)
    functions = [value for value in vars(module).values() if getattr(value, "__module__", None) == MODULE]
    return [vars(module).get("tool", [value for value in functions if not isinstance(value, type)][-1])]


def functions_of(row: Any, module: ModuleType) -> list[Any]:
    """The row's tools, with its parameters for injection marked as hidden, whatever their type."""
    found = run_source(module, row["input"]["code"])
    for name in row["input"].get("injected", ()):
        found[0].__annotations__[name] = Annotated[found[0].__annotations__[name], MemoryId]
    if row["input"].get("strict"):
        found = [tool(strict=True)(function) for function in found]
    return found


def sent(specifications: Any) -> tuple[dict[str, Any], Any]:
    """The first tool as it goes on the wire, and the response with its notices."""
    transport = FakeTransport()
    parameters = ChatRequestParameters(tools=tuple(specifications))
    response = asyncio.run(model_on(transport).chat(ChatRequest("go", parameters)))
    function: dict[str, Any] = transport.bodies[0]["tools"][0]["function"]
    return function, response


def described(schema: Mapping[str, Any], values: Mapping[str, Any], checks: Mapping[str, Any]) -> None:
    """Whether a schema says what the row wants of it."""
    properties = schema["properties"]
    assert schema["type"] == "object"
    if "properties" in values:
        assert list(properties) == values["properties"]
    if "required" in values:
        assert list(schema.get("required", ())) == values["required"]
    for name, text in values.get("descriptions", {}).items():
        assert properties[name]["description"] == text
    for name, words in checks.get("descriptions", {}).items():
        assert [word for word in words if word not in properties[name]["description"]] == []
    if "enum_unit" in values:
        assert properties["unit"]["enum"] == values["enum_unit"]
        assert properties["unit"]["type"] == "string"
    if "type_level" in values:
        assert properties["level"]["type"] == values["type_level"]
        assert all(isinstance(value, int) for value in properties["level"]["enum"])


@pytest.mark.parametrize("row", rows("schema", "accept", "execute", form="python_tool"))
def test_the_declaration_says_what_the_signature_says(row: Any, module: ModuleType) -> None:
    """What is registered and, for strict tools, what is sent."""
    service = ToolService(*functions_of(row, module))
    values, checks = row["expected"]["values"], row.get("checks", {})
    for specification in service.tool_specifications:
        if row["input"].get("strict"):
            wire, _ = sent([specification])
            assert wire["strict"] is True
            described(wire["parameters"], values, checks)
        else:
            described(specification.parameters.schema, values, checks)


@pytest.mark.parametrize("row", rows("schema", "execute", form="python_tool"))
async def test_a_call_reaches_the_function_with_the_values_it_was_written_for(row: Any, module: ModuleType) -> None:
    functions = functions_of(row, module)
    service = ToolService(*functions)
    arguments = row["input"].get("call", row["input"].get("call_each"))
    asked = [call(specification.name, arguments) for specification in service.tool_specifications]
    result = await service.chat(ScriptedChatModel([calls(*asked), "done"]), None, "go")

    texts = [execution.result_text() for execution in result.tool_executions]
    values = row["expected"].get("values", {})
    if "result" in values:
        assert texts == [str(values["result"])]
    else:
        assert texts == values["results"]
    assert "object at 0x" not in "".join(texts)
    assert result.text == "done" and valid(result.messages)


@pytest.mark.parametrize("row", rows("schema", "accept_or_reject", form="python_tool"))
def test_a_function_whose_items_nobody_would_draw_is_refused_at_registration(row: Any, module: ModuleType) -> None:
    """By name, with what to return instead; no repr of a generator can reach the model."""
    (function,) = functions_of(row, module)
    with pytest.raises(ToolDeclarationError, match="the function of tool 'lines' yields") as caught:
        ToolService(function)
    assert "list[T]" in str(caught.value.next_step)


@pytest.mark.parametrize("row", rows("schema", "reject_at_build"))
def test_a_name_that_cannot_be_resolved_is_refused_at_registration(row: Any, module: ModuleType) -> None:
    """By tool, parameter and missing name; an empty schema is never sent."""
    (function,) = functions_of(row, module)
    with pytest.raises(ToolDeclarationError) as caught:
        ToolService(function)
    assert [name for name in row["checks"]["error_names"] if name not in str(caught.value)] == []

    run_source(module, row["checks"]["works_after"])
    described(ToolService(function).tool_specifications[0].parameters.schema, {"properties": ["box"]}, {})
    assert ToolService(function).tool_specifications[0].parameters.properties["box"]


@pytest.mark.parametrize("row", [param for param in rows("schema", "accept") if "injected" in param.values[0]["input"]])
def test_a_parameter_without_a_json_form_is_refused_by_name_unless_it_is_injected(row: Any, module: ModuleType) -> None:
    (function,) = run_source(module, row["input"]["code"])
    with pytest.raises(ToolDeclarationError) as caught:
        ToolService(function)

    assert [name for name in row["checks"]["error_names"] if name not in str(caught.value)] == []


@pytest.mark.parametrize("row", rows("schema", "degrade", form="json_schema"))
def test_a_schema_that_strict_mode_cannot_hold_goes_out_as_not_strict_with_a_notice(row: Any) -> None:
    specification = ToolSpecification("remote", None, ToolParameters(row["input"]["schema"]), row["input"]["strict"])
    wire, response = sent([specification])

    assert wire.get("strict", False) is row["expected"]["values"]["strict_sent"]
    assert wire["parameters"] == row["input"]["schema"]
    assert [notice.code for notice in response.notices] == ["not_strict"]


@pytest.mark.parametrize("row", rows("schema", "accept", form="json_schema"))
def test_in_strict_mode_every_object_is_closed_and_every_property_required(row: Any) -> None:
    specification = ToolSpecification("remote", None, ToolParameters(row["input"]["schema"]), row["input"]["strict"])
    wire, _ = sent([specification])

    assert wire["strict"] is True
    closed = dict(objects_in(wire["parameters"]))
    assert list(closed) == row["expected"]["values"]["closed_paths"]
    for node in closed.values():
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def objects_in(node: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All nodes that describe an object, by their paths."""
    if isinstance(node, Mapping):
        kinds = node.get("type")
        if "properties" in node or kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
            yield path, node
        for name, inner in node.get("properties", {}).items():
            yield from objects_in(inner, f"{path}/properties/{name}")


# -- what single rows say beyond their values ------------------------------------------------------------------


def row_of(identity: str) -> Any:
    """A row by its id."""
    every = rows("schema", "accept", "execute", "accept_or_reject", "reject_at_build", "degrade")
    return next(param.values[0] for param in every if param.id == identity)


def test_postponed_annotations_change_nothing(module: ModuleType) -> None:
    """SC-01: schema and call are the same without the future import."""
    source = row_of("SC-01")["input"]["code"]
    (postponed,) = run_source(module, source)
    first = DefaultToolExecutor(postponed)
    (immediate,) = run_source(module, source.replace("from __future__ import annotations\n", ""))
    second = DefaultToolExecutor(immediate)

    assert isinstance(postponed.__annotations__["m"], str) and isinstance(immediate.__annotations__["m"], type)
    assert first.specification == second.specification
    arguments = row_of("SC-01")["input"]["call"]
    assert repr(first.bind(arguments)) == repr(second.bind(arguments))


def test_a_recursive_model_is_sent_by_reference(module: ModuleType) -> None:
    """SC-13: its definitions stay, plain and strict."""
    (function,) = run_source(module, row_of("SC-13")["input"]["code"])
    for strict in (None, True):
        wire, _ = sent(ToolService(tool(strict=strict)(function)).tool_specifications)
        assert "$defs" in wire["parameters"]
        assert "$ref" in repr(wire["parameters"]["properties"]["root"])


def test_two_objects_of_one_class_keep_their_own_state(module: ModuleType) -> None:
    """SC-16: the method is bound to the object it was taken from."""
    run_source(module, row_of("SC-16")["input"]["code"])
    executors = [DefaultToolExecutor(module.Shop(number).price) for number in (3, 4)]
    request = ToolExecutionRequest("c1", "price", '{"item": "x"}')

    assert [executor.execute(request) for executor in executors] == ["x3", "x4"]


def test_a_default_factory_makes_a_fresh_value_for_each_call(module: ModuleType) -> None:
    """SC-20: no two calls share their list."""
    (function,) = run_source(module, row_of("SC-20")["input"]["code"])
    executor = DefaultToolExecutor(function)
    first, second = executor.bind({}), executor.bind({})

    assert first == second == {"items": []}
    assert first["items"] is not second["items"]
