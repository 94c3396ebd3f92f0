"""The slips of a user who is new to it: each is refused where it is made, by an error that says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentforge import (
    AgentForgeError,
    ChatRequestParameters,
    ReturnBehavior,
    Run,
    ScriptedChatModel,
    ToolParameters,
    ToolService,
    ToolSpecification,
    UserMessage,
    tool,
)
from agentforge.errors import (
    ConfigurationError,
    DuplicateToolError,
    ModelError,
    RunArgumentError,
    RunError,
    RunStateError,
    ToolDeclarationError,
)
from agentforge.model.scripted import call
from agentforge.tool.execution import ToolLoopState


@tool
def now() -> str:
    "The time."
    return "10:00"


DECLARATIONS: list[tuple[dict[str, Any], str]] = [
    ({"effect": "wirte"}, "'read' or 'write', not 'wirte'"),
    ({"return_behavior": "IMMEDIATE"}, "ReturnBehavior, not 'IMMEDIATE'"),
    ({"timeout": -3}, "seconds above 0, not -3"),
    ({"timeout": "3"}, "seconds above 0, not '3'"),
    ({"timeout": True}, "seconds above 0"),
    ({"name": 3}, "name must be a text"),
]


@pytest.mark.parametrize(("options", "told"), DECLARATIONS)
def test_a_slip_in_a_declaration_is_refused_where_it_stands(options: dict[str, Any], told: str) -> None:
    """It would otherwise switch a protection off without a word."""
    with pytest.raises(ToolDeclarationError, match=told):
        tool("x", **options)
    if "timeout" in options:
        with pytest.raises(ToolDeclarationError, match=told):
            ToolService().tool(ToolSpecification("x"), lambda request: "", **options)


@pytest.mark.parametrize(
    "options", [{"effect": "write"}, {"return_behavior": ReturnBehavior.IMMEDIATE}, {"timeout": 0.5}]
)
def test_what_is_right_is_taken(options: dict[str, Any]) -> None:
    def look() -> str:
        return "seen"

    assert len(ToolService(tool("x", **options)(look)).tool_specifications) == 1


SETTINGS: list[dict[str, Any]] = [
    {"max_threads": 0},
    {"max_threads": "8"},
    {"max_abandoned_threads": -1},
    {"max_concurrent_tools": 1.5},
    {"max_tool_calling_round_trips": True},
    {"tool_timeout": "10s"},
    {"tool_timeout": float("nan")},
    {"tool_timeout": True},
    {"max_threads": -1},
    {"execution_error_handler": 5},
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_cannot_hold_is_refused_when_the_service_is_made(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(setting)).replace("execution_error_handler", "strategy")):
        ToolService(**setting)


ARGUMENTS: list[tuple[Callable[[ToolService, Any], Any], str]] = [
    (lambda s, m: s.chat(m, None, [{"role": "user", "content": "x"}]), "dict is no message"),
    (lambda s, m: s.chat(m, None, {"role": "user"}), "dict is no message"),
    (lambda s, m: s.chat(m, None, ["hi"]), "str is no message"),
    (lambda s, m: s.chat(m, None, None), "NoneType is no message"),
    (lambda s, m: s.chat(m, None, []), "no message to answer"),
    (lambda s, m: s.chat(m, "hello", "x"), "the parameters are str"),
    (lambda s, m: s.chat(m, {"temperature": 0}, "x"), "the parameters are dict"),
    (lambda s, m: s.chat("gpt", None, "x"), "str is no chat model"),
    (lambda s, m: s.chat(ScriptedChatModel, None, "x"), "is no chat model"),
    (lambda s, m: s.chat(m, None, "x", timeout=0), "timeout must be above 0"),
    (lambda s, m: s.chat(m, None, "x", timeout="10"), "timeout must be above 0"),
    (lambda s, m: s.chat(m, None, "x", timeout=True), "timeout must be above 0"),
    (lambda s, m: s.chat(m, None, "x", timeout=float("nan")), "timeout must be above 0"),
    (lambda s, m: s.stream(type("M", (), {"chat": m.chat})(), None, "x"), "M is no chat model"),
    (lambda s, m: s.chat(m, None, "x", context="user"), "context must be a mapping or a Run"),
    (lambda s, m: s.resume("m", None, ToolLoopState()), "str is no chat model"),
]


@pytest.mark.parametrize(("ask", "told"), ARGUMENTS)
async def test_what_is_no_message_model_or_setting_is_named(ask: Callable[..., Any], told: str) -> None:
    with pytest.raises(RunArgumentError, match=told) as caught:
        await ask(ToolService(now), ScriptedChatModel(["x"]))
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("contents", [{"text": "x"}, [5], b"x", [None]])
def test_a_message_is_made_of_text_and_parts_only(contents: Any) -> None:
    with pytest.raises(TypeError, match="part"):
        UserMessage(contents)


def test_texts_among_the_parts_of_a_message_are_parts() -> None:
    assert UserMessage(["a", "b"]).text == "ab"


PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"temperature": "hot"}, "temperature must be int or float, not str"),
    ({"max_output_tokens": 1.5}, "max_output_tokens must be int"),
    ({"tool_choice": True}, "tool_choice must be"),
    ({"response_format": {"type": "json"}}, "response_format must be ResponseFormat, not dict"),
    ({"parallel_tool_calls": "no"}, "parallel_tool_calls must be bool"),
]


@pytest.mark.parametrize(("given", "told"), PARAMETERS)
def test_parameters_of_the_wrong_kind_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        ChatRequestParameters(**given)


def test_a_schema_may_be_given_as_a_plain_mapping_and_a_misspelt_type_is_refused() -> None:
    assert ToolSpecification("a", "b", {"type": "object"}).parameters == ToolParameters({"type": "object"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'strng' is no JSON type"):
        ToolParameters.builder().add_property("q", "strng")
    with pytest.raises(ValueError, match="name"):
        ToolSpecification("")


@pytest.mark.parametrize(
    ("choice", "tools", "told"),
    [("get_wether", [now], "'get_wether', which is not offered"), ("required", [], "no tool is offered")],
)
async def test_a_tool_choice_that_cannot_be_met_is_refused_before_the_request(
    choice: str, tools: list[Any], told: str
) -> None:
    model = ScriptedChatModel(["x"])
    with pytest.raises(ConfigurationError, match=told):
        await ToolService(*tools).chat(model, ChatRequestParameters(tool_choice=choice), "q")
    assert model.requests == []


class Wrong:
    def __init__(self, made: Any) -> None:
        self.made = made

    async def tools(self, run: Run) -> Any:
        return self.made


@pytest.mark.parametrize(("made", "told"), [([now], "function instead of a BoundTool"), (None, "Wrong gave NoneType")])
async def test_a_source_that_gives_no_tools_is_named(made: Any, told: str) -> None:
    with pytest.raises(ToolDeclarationError, match=told):
        await ToolService(Wrong(made)).chat(ScriptedChatModel(["x"]), None, "q")


async def test_a_model_that_returns_no_response_is_named() -> None:
    class Silent(ScriptedChatModel):
        async def chat(self, request: Any) -> Any:
            return None

    with pytest.raises(ModelError, match="the model returned NoneType, not a ChatResponse") as caught:
        await ToolService(now).chat(Silent([]), None, "q")
    assert len(caught.value.partial.messages) == 1


async def test_a_run_that_is_refused_a_second_turn_keeps_what_its_first_was_given() -> None:
    run = Run(memory_id="first")
    await ToolService(now).chat(ScriptedChatModel(["a"]), None, "q", context=run)
    with pytest.raises(RunStateError, match="used already"):
        await ToolService(now).chat(ScriptedChatModel(["b"]), None, "q", context=run, memory_id="second", timeout=1)
    assert (run.memory_id, run.deadline) == ("first", None)


async def test_one_run_is_one_turn_also_side_by_side_and_without_calls() -> None:
    run = Run()
    service = ToolService(now)
    first, second = await asyncio.gather(
        service.chat(ScriptedChatModel(["a"]), None, "q", context=run),
        service.chat(ScriptedChatModel(["b"]), None, "q", context=run),
        return_exceptions=True,
    )
    assert not isinstance(first, BaseException)
    assert isinstance(second, RunStateError)
    with pytest.raises(RunStateError, match="used already"):
        await service.chat(ScriptedChatModel(["c"]), None, "q", context=run)


async def test_a_result_that_is_not_there_yet_says_so() -> None:
    async with ToolService(now).stream(ScriptedChatModel([call("now"), "x"]), None, "q") as events:
        with pytest.raises(RunError, match="not over"):
            _ = events.result


def test_a_method_that_is_not_there_gets_the_nearest_name_and_a_duplicate_its_origin() -> None:
    class Clock:
        @tool
        def get_time(self) -> str:
            "The time."
            return "10:00"

    with pytest.raises(ToolDeclarationError, match="did you mean 'get_time'"):
        ToolService().tool(Clock(), "get_tiem")
    with pytest.raises(DuplicateToolError, match="source 'local'"):
        ToolService(Clock(), Clock())


def test_every_error_has_room_for_what_a_run_had_done() -> None:
    assert AgentForgeError("x").partial is None
