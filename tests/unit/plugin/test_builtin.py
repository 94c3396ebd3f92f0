"""The core's own bean types: what each takes from a file, and the object that it makes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentforge import ChatRequest, Run, ScriptedChatModel, ToolService, tool
from agentforge.client import ChatClient
from agentforge.errors import AgentForgeError, ConfigurationError, DuplicateToolError, ToolDeclarationError
from agentforge.masking import Secrets
from agentforge.model import ArgumentLimits, SystemMessage, ToolChoice
from agentforge.model.scripted import call
from agentforge.plugin import BeanContext, BeanType, Catalogue, Components, Plugins
from agentforge.plugin.builtin_tools import source_of
from agentforge.tool.error import ListKnownTools, Mask, Rethrow, ReturnToModel, Template

CATALOGUE = Catalogue(Plugins(entry_points=()))
MODULE = '''
from agentforge import tool

class WeatherTools:
    """Tools with a life of their own."""

    def __init__(self, unit: str = "celsius", log: list | None = None) -> None:
        self.unit = unit
        self.events = []

    @tool
    def get_weather(self, city: str) -> str:
        "Current weather of a city."
        return f"{city}: 22 {self.unit}"

    @tool
    def get_time(self) -> str:
        "The time."
        return "noon"

    async def start(self) -> None:
        self.events.append("start")

    def close(self) -> None:
        self.events.append("close")

class Engine:
    """Its start and end are its own: they cannot be called without arguments."""

    def start(self, key: str) -> None:
        raise AssertionError("started without a key")

    async def aclose(self, account: str) -> None:
        raise AssertionError("closed without an account")

    def close(self) -> None:
        self.closed = True

    @tool
    def honk(self) -> str:
        "Honks."
        return "honk"

class Toolless:
    """Nothing for a model."""

class Door:
    """Its verbs are the model's, not the container's."""

    @tool
    def close(self) -> str:
        "Closes the door."
        raise AssertionError("the container pressed the model's button")

def add(a: int, b: int) -> int:
    "Adds two numbers."
    return a + b
'''


@pytest.fixture
def context(tmp_path: Path) -> Iterator[BeanContext]:
    (tmp_path / "fake_tools.py").write_text(MODULE, "utf-8")
    yield BeanContext("it", tmp_path, Components(["fake_tools"], tmp_path), Secrets(["sk-123456"]))
    sys.modules.pop("fake_tools", None)


def made(context: BeanContext, type_name: str, **settings: Any) -> Any:
    """The bean of this type with these settings."""
    found = CATALOGUE.find(type_name)
    assert isinstance(found, BeanType)
    return found.create(found.settings(**settings), context)


async def names_of(source: Any) -> list[str]:
    return [item.name for item in await source.tools(Run())]


# -- scripted ------------------------------------------------------------------------------------


async def test_a_scripted_model_answers_from_its_turns(context: BeanContext) -> None:
    """A text, calls, and from the start again with `repeat`."""
    turns = ["One.", {"calls": [{"name": "add", "args": {"a": 1}}]}]
    model = made(context, "scripted", turns=turns, repeat=True, name="demo")

    replies = [(await model.chat(ChatRequest("?"))).ai_message for _ in range(3)]

    assert [reply.text for reply in replies] == ["One.", None, "One."]
    assert replies[1].tool_execution_requests[0].arguments == '{"a":1}' and model.profile.name == "demo"


async def test_a_scripted_model_reads_a_file_beside_the_configuration(context: BeanContext) -> None:
    """The path is relative to the file that the bean stands in."""
    (context.folder / "turns.yaml").write_text("- From a file.\n", "utf-8")

    reply = await made(context, "scripted", file="turns.yaml").chat(ChatRequest("?"))

    assert reply.ai_message.text == "From a file."


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "give either turns or file"),
        ({"turns": ["a"], "file": "b.yaml"}, "give either turns or file"),
    ],
)
def test_a_script_stands_in_one_place(settings: dict[str, Any], message: str) -> None:
    """Which is found with the settings; the mistakes of its turns are found by the type's check."""
    found = CATALOGUE.find("scripted")
    assert isinstance(found, BeanType)
    with pytest.raises(ValueError, match="validation error") as caught:
        found.settings(**settings)

    assert message in str(caught.value)


# -- python_tools --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"component": "WeatherTools"}, ["get_time", "get_weather"]),
        ({"component": "add"}, ["add"]),
        ({"component": "WeatherTools", "only": ["get_w*"]}, ["get_weather"]),
        ({"component": "WeatherTools", "without": ["get_time"]}, ["get_weather"]),
        ({"component": "WeatherTools", "prefix": "desk_"}, ["desk_get_time", "desk_get_weather"]),
        ({"component": "WeatherTools", "only": ["get_time"], "prefix": "x_"}, ["x_get_time"]),
    ],
)
async def test_python_tools_offers_the_tools_of_a_component(
    context: BeanContext, settings: dict[str, Any], expected: list[str]
) -> None:
    """All of them, or those that the names leave, under their names or with a prefix."""
    assert sorted(await names_of(made(context, "python_tools", **settings))) == expected


async def test_python_tools_hands_the_constructor_its_values(context: BeanContext) -> None:
    """And the tool is really called."""
    source = made(context, "python_tools", component="WeatherTools", arguments={"unit": "kelvin"})
    with ToolService(*source.bound) as service:
        model = ScriptedChatModel([call("get_weather", city="Hangzhou"), "Done."])
        result = await service.chat(model, None, "?")

    assert result.tool_executions[0].result_text() == "Hangzhou: 22 kelvin"
    assert repr(source) == "PythonTools(WeatherTools)" and source.bound[0].source_name == "it"


async def test_python_tools_starts_and_closes_its_object(context: BeanContext) -> None:
    """What the object has of `start`, `aclose` and `close` without arguments; a tool of such a name is the model's."""
    source = made(context, "python_tools", component="WeatherTools")
    door = made(context, "python_tools", component="Door")
    engine = made(context, "python_tools", component="Engine")
    for item in (source, door, engine):
        await item.start()
        await item.aclose()

    assert source.target.events == ["start", "close"]
    assert engine.target.closed
    assert await names_of(door) == ["close"]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"component": "Toolless"}, ToolDeclarationError, "'Toolless'"),
        ({"component": "WeatherTool"}, ConfigurationError, "no component 'WeatherTool'"),
        ({"component": "os.system"}, ConfigurationError, "is no name of a component"),
        ({"component": "WeatherTools", "only": ["gte_*"]}, ConfigurationError, "is named 'gte_*'"),
        ({"component": "WeatherTools", "without": ["gte"]}, ConfigurationError, "is named 'gte'"),
        ({"component": "WeatherTools", "arguments": {"units": "x"}}, ConfigurationError, "no parameter 'units'"),
    ],
)
def test_python_tools_refuses_what_it_cannot_offer(
    context: BeanContext, settings: dict[str, Any], error: type[AgentForgeError], message: str
) -> None:
    """A filter that fits nothing is a slip, not an empty list."""
    with pytest.raises(error) as caught:
        made(context, "python_tools", **settings)

    assert message in caught.value.message and caught.value.next_step


def test_a_component_is_the_object_itself_or_the_function(context: BeanContext) -> None:
    """With the values for its constructor; whatever a bean of another type needs can be one."""
    tools = made(context, "component", component="WeatherTools", arguments={"unit": "kelvin"})
    add = made(context, "component", component="add")

    assert (type(tools).__name__, tools.unit) == ("WeatherTools", "kelvin")
    assert add(1, 2) == 3


def test_an_object_with_tools_becomes_their_source(context: BeanContext) -> None:
    """An object or function that declares tools; a class, a source and anything else stay what they are."""
    tools = made(context, "component", component="WeatherTools")
    source = source_of(tools, "desk")

    assert source is not None and source.target is tools
    assert [(each.name, each.source_name) for each in source.bound] == [
        ("get_weather", "desk"),
        ("get_time", "desk"),
    ]
    for other in (type(tools), source, made(context, "component", component="add"), "text"):
        assert source_of(other, "desk") is None


# -- services and clients ------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_service(context: BeanContext) -> None:
    """A bean without settings is a service without arguments."""
    bean, plain = made(context, "tool_service"), ToolService()
    with bean, plain:
        for name in ("max_tool_calling_round_trips", "max_concurrent_tools", "tool_timeout", "max_result_bytes"):
            assert getattr(bean.settings, name) == getattr(plain.settings, name)
        assert bean.settings.argument_limits == plain.settings.argument_limits
        for kind in ("arguments", "execution", "unknown_tool"):
            mine, theirs = (getattr(one.settings.error_handlers, kind) for one in (bean, plain))
            assert type(mine) is type(theirs) and vars(mine) == vars(theirs)
        assert bean.settings.threads.counts == plain.settings.threads.counts


class _Gate:
    async def check(self, batch: Any, run: Any) -> Any:
        return batch


class _Interceptor:
    async def around(self, call: Any, run: Any, next: Any) -> Any:
        return await next(call, run)


def test_every_setting_reaches_the_service(context: BeanContext) -> None:
    """Numbers, durations, handlers, gates and interceptors."""
    gate, interceptor, handler = _Gate(), _Interceptor(), Mask()
    service = made(
        context,
        "tool_service",
        max_tool_calling_round_trips="8",
        max_concurrent_tools=2,
        tool_timeout="500ms",
        max_result_bytes=1000,
        argument_limits={"max_bytes": 10, "max_depth": 3, "max_members": 5},
        error_handlers={"arguments": handler, "execution": handler, "unknown_tool": handler},
        gates=[gate],
        interceptors=[interceptor],
    )
    settings = service.settings

    assert (settings.max_tool_calling_round_trips, settings.max_concurrent_tools) == (8, 2)
    assert (settings.tool_timeout, settings.max_result_bytes) == (0.5, 1000)
    assert settings.argument_limits == ArgumentLimits(10, 3, 5)
    handlers = settings.error_handlers
    assert handlers.arguments is handlers.execution is handlers.unknown_tool is handler
    assert list(settings.gates) == [gate] and list(settings.interceptors) == [interceptor]
    assert service.secrets is context.secrets
    service.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"max_tool_calling_round_trips": -1},
        {"max_concurrent_tools": 0},
        {"tool_timeout": 0},
        {"tool_timeout": "soon"},
        {"max_result_bytes": 0},
        {"max_threads": 0},
        {"argument_limits": {"max_depth": 0}},
        {"max_rounds": 3},
        {"error_handlers": {"argument": None}},
    ],
)
def test_limits_that_cannot_hold_are_refused(settings: dict[str, Any]) -> None:
    """With the settings, before anything is built."""
    found = CATALOGUE.find("tool_service")
    assert isinstance(found, BeanType)
    with pytest.raises(ValueError, match="1 validation error"):
        found.settings(**settings)


def test_no_time_limit_is_null(context: BeanContext) -> None:
    """As in the service itself."""
    with made(context, "tool_service", tool_timeout=None) as service:
        assert service.settings.tool_timeout is None


@tool
def add(a: int, b: int) -> int:
    "Adds two numbers."
    return a + b


class _Changing:
    async def tools(self, run: Run) -> Any:
        from agentforge.tool.execution.default_executor import bound_tools_from

        return bound_tools_from(add)


async def test_a_chat_client_asks_its_model_with_its_tools(context: BeanContext) -> None:
    """Tools of a component and of a source that looks at the run, the prompt, and the forced first call."""
    model = ScriptedChatModel([call("add", a=1, b=2), call("get_time"), "Three."])
    client = made(
        context,
        "chat_client",
        model=model,
        tools=[made(context, "python_tools", component="WeatherTools"), _Changing()],
        system="Answer shortly.",
        tool_choice="required",
    )
    assert isinstance(client, ChatClient)
    async with client:
        result = await client.chat("What is 1 + 2?")

    assert result.text == "Three."
    assert [item.result_text() for item in result.tool_executions] == ["3", "noon"]
    first, second, _ = model.requests
    assert first.messages[0] == SystemMessage("Answer shortly.")
    assert {item.name for item in first.parameters.tools} == {"get_weather", "get_time", "add"}
    assert first.parameters.tool_choice == ToolChoice.REQUIRED
    assert second.parameters.tool_choice != ToolChoice.REQUIRED


def test_a_chat_client_closes_the_service_that_it_made(context: BeanContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its threads go with it."""
    client = made(context, "chat_client", model=ScriptedChatModel(["x"]))
    closed: list[ToolService] = []
    monkeypatch.setattr(ToolService, "close", lambda service: closed.append(service))
    client.close()

    assert closed == [client.service]


def test_two_tools_of_one_name_are_found_when_the_client_is_made(context: BeanContext) -> None:
    """Not when the model is first asked."""
    sources = [made(context, "python_tools", component="WeatherTools") for _ in range(2)]
    with pytest.raises(DuplicateToolError, match="get_"):
        made(context, "chat_client", model=ScriptedChatModel(["x"]), tools=sources)


# -- error strategies ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_name", "settings", "expected"),
    [
        ("rethrow", {}, Rethrow),
        ("return_to_model", {}, ReturnToModel),
        ("list_known_tools", {}, ListKnownTools),
        ("mask", {}, Mask),
        ("template", {"text": "{tool} failed: {message}"}, Template),
    ],
)
def test_every_named_strategy_is_a_bean_type(
    context: BeanContext, type_name: str, settings: dict[str, Any], expected: type
) -> None:
    """Under the name that it has in Python."""
    assert type(made(context, type_name, **settings)) is expected


def test_the_strategies_take_their_settings(context: BeanContext) -> None:
    """Whether an error is logged, and the text of a template."""
    assert made(context, "return_to_model", log=True).log is True
    assert made(context, "return_to_model").log is False
    assert made(context, "template", text="{tool}!").text == "{tool}!"


@pytest.mark.parametrize("text", ["{toool}", "{0}", "{", "{tool.name.x}"])
def test_a_template_that_cannot_be_filled_is_refused(text: str) -> None:
    """With the settings."""
    found = CATALOGUE.find("template")
    assert isinstance(found, BeanType)
    with pytest.raises(ValueError, match="validation error"):
        found.settings(text=text)


async def test_the_strategies_of_a_client_answer_the_model(
    context: BeanContext, caplog: pytest.LogCaptureFixture
) -> None:
    """An unknown tool and unfit arguments come back to the model, which corrects itself."""
    caplog.set_level(logging.ERROR)
    model = ScriptedChatModel([call("get_wether", city="x"), call("get_weather", town="x"), "Sorry."])
    client = made(
        context,
        "chat_client",
        model=model,
        tools=[made(context, "python_tools", component="WeatherTools")],
        error_handlers={
            "arguments": made(context, "return_to_model"),
            "unknown_tool": made(context, "list_known_tools"),
        },
    )
    async with client:
        result = await client.chat("?")

    assert "Did you mean get_weather" in result.tool_executions[0].result_text()
    assert "city" in result.tool_executions[1].result_text() and result.text == "Sorry."
