"""Hooks that observe: told what happened, never able to change or break it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentforge import ScriptedChatModel
from agentforge.advisor import AdvisorObserver, LoggerAdvisor, SystemPromptAdvisor, ToolCallingAdvisor
from agentforge.client import ChatClient
from agentforge.errors import ModelError
from agentforge.model.scripted import call
from agentforge.plugin import BeanContext, Catalogue, Components, Found, Plugins
from agentforge.plugin.observing import observer_of

SEEING = """
from agentforge.plugin import hookimpl
seen = []

@hookimpl
def agentforge_bean_created(bean_id):
    seen.append(("bean", bean_id))

@hookimpl
def agentforge_context_started(app):
    seen.append(("started", app))

@hookimpl
def agentforge_model_calling(model, request):
    seen.append(("asking", type(model).__name__, len(request.messages)))

@hookimpl
def agentforge_tool_calling(request):
    seen.append(("calling", request.name))

@hookimpl
def agentforge_model_called(response, error, seconds):
    seen.append(("model", response.ai_message.text if response else type(error).__name__, seconds >= 0))

@hookimpl
def agentforge_tool_called(execution):
    seen.append(("tool", execution.request.name, execution.outcome.value))
"""
RAISING = """
from agentforge.plugin import hookimpl

@hookimpl
def agentforge_bean_created(bean_id, bean):
    raise RuntimeError("no beans")

@hookimpl
def agentforge_tool_called(execution):
    raise RuntimeError("no tools")
"""


def get_weather(city: str) -> str:
    "Current weather of a city."
    return f"{city}: 22 degrees"


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    """One that raises, loaded first, and one that notes what it sees."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "fake_raising.py").write_text(RAISING, "utf-8")
    (tmp_path / "fake_seeing.py").write_text(SEEING, "utf-8")
    made = Plugins(
        entry_points=[
            Found("raising", "fake_raising", "fake-raising", "1"),
            Found("seeing", "fake_seeing", "fake", "1"),
        ]
    )
    made.load_all()
    yield made
    for module in ("fake_raising", "fake_seeing"):
        sys.modules.pop(module, None)


def seen() -> list[Any]:
    return sys.modules["fake_seeing"].seen  # type: ignore[no-any-return]


def client_of(plugins: Plugins, model: ScriptedChatModel) -> ChatClient:
    """A `chat_client` bean with one tool, as the container would make it."""
    found = Catalogue(plugins).find("chat_client")
    settings = found.settings(model=model)  # type: ignore[union-attr]
    context = BeanContext("assistant", Path(), Components((), Path()), plugins=plugins)
    client = found.create(settings, context)  # type: ignore[union-attr]
    assert isinstance(client, ChatClient)
    client.service.tools(get_weather)
    return client


def test_an_observer_that_raises_is_named_once_and_the_next_is_told(
    plugins: Plugins, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever one plugin does, all others are called."""
    caplog.set_level(logging.WARNING, "agentforge.plugin")
    for bean_id in ("a", "b"):
        plugins.call_observers("agentforge_bean_created", bean_id=bean_id, bean=object())

    assert seen() == [("bean", "a"), ("bean", "b")]
    assert [record.getMessage() for record in caplog.records] == [
        "plugin 'raising' failed in its hook agentforge_bean_created: RuntimeError: no beans"
    ]


def test_a_hook_that_nobody_implements_costs_nothing(plugins: Plugins) -> None:
    """`observes` tells it beforehand, and calling it is harmless."""
    assert not plugins.observes("agentforge_context_stopped")
    plugins.call_observers("agentforge_context_stopped", app=None)
    Plugins(entry_points=()).call_observers("agentforge_context_stopped", app=None)


def test_a_plugin_loaded_later_is_told_too(tmp_path: Path, plugins: Plugins) -> None:
    """What was found for a hook before is looked up again."""
    fresh = Plugins(entry_points=[Found("seeing", "fake_seeing", "fake", "1")])
    fresh.call_observers("agentforge_bean_created", bean_id="early", bean=object())
    fresh.load("seeing")
    fresh.call_observers("agentforge_bean_created", bean_id="late", bean=object())

    assert seen() == [("bean", "late")]


WHOLE = [
    ("asking", "ScriptedChatModel", 1),
    ("model", None, True),
    ("calling", "get_weather"),
    ("tool", "get_weather", "ok"),
    ("asking", "ScriptedChatModel", 3),
    ("model", "It is 22 degrees.", True),
]


def _turns() -> list[Any]:
    return [call("get_weather", city="Hangzhou"), "It is 22 degrees."]


async def test_a_plain_turn_is_told(plugins: Plugins) -> None:
    """Two model calls and one tool call, each before and after, though another observer raises; what is told before
    a call comes before it also where the outcome is told at the end."""
    with client_of(plugins, ScriptedChatModel(_turns())) as client:
        result = await client.chat("Weather?")

    assert result.text == "It is 22 degrees."
    assert seen() == [each for each in WHOLE if each[0] != "tool"] + [each for each in WHOLE if each[0] == "tool"]


async def test_a_plugin_that_listens_to_tools_alone_is_told(plugins: Plugins, caplog: pytest.LogCaptureFixture) -> None:
    """No other hook has to be there; this one says in the log that it was called."""
    alone = Plugins(entry_points=[Found("raising", "fake_raising", "fake-raising", "1")])
    alone.load_all()
    with client_of(alone, ScriptedChatModel(_turns())) as client:
        await client.chat("Weather?")

    assert [record.getMessage() for record in caplog.records] == [
        "plugin 'raising' failed in its hook agentforge_tool_called: RuntimeError: no tools"
    ]


async def test_a_refused_call_is_told_by_its_outcome_alone(plugins: Plugins) -> None:
    """Nothing is about to run: the arguments do not fit, so only the end is told."""
    with client_of(plugins, ScriptedChatModel([call("get_weather", town="Hangzhou"), "Sorry."])) as client:
        client.service.arguments_error_handler("return_to_model")
        await client.chat("Weather?")

    assert [each for each in seen() if each[0] in ("calling", "tool")] == [("tool", "get_weather", "invalid_arguments")]


async def test_a_streamed_turn_is_told(plugins: Plugins) -> None:
    """In the order of the events, which are those of an unobserved client."""
    with client_of(plugins, ScriptedChatModel(_turns())) as client:
        async with client.stream("Weather?") as events:
            kinds = [type(event).__name__ async for event in events]
        text = events.result.text
    with ChatClient(ScriptedChatModel(_turns()), tools=[get_weather]) as plain:
        async with plain.stream("Weather?") as unobserved:
            expected = [type(event).__name__ async for event in unobserved]

    assert kinds == expected and text == "It is 22 degrees."
    # An outcome is told when its event passes, while the run may already be asking the model again.
    told = seen()
    assert [each for each in told if each[0] != "tool"] == [each for each in WHOLE if each[0] != "tool"]
    assert sorted(map(str, told)) == sorted(map(str, WHOLE))
    assert told.index(WHOLE[2]) < told.index(WHOLE[3]) < told.index(WHOLE[5])


def test_synchronous_turns_are_told(plugins: Plugins) -> None:
    """Both twins."""
    with client_of(plugins, ScriptedChatModel([*_turns(), *_turns()])) as client:
        assert client.chat_sync("Weather?").text == "It is 22 degrees."
        with client.stream_sync("Weather?") as events:
            assert type(list(events)[-1]).__name__ == "RunFinished"

    assert sorted(map(str, seen())) == sorted(map(str, [*WHOLE, *WHOLE]))


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_failed_turn_is_told_with_the_tools_that_ran(plugins: Plugins, streamed: bool) -> None:
    """The error reaches the caller and the observer."""
    model = ScriptedChatModel([call("get_weather", city="Hangzhou"), ModelError("down")])
    with client_of(plugins, model) as client:
        if streamed:
            async with client.stream("Weather?") as events:
                with pytest.raises(ModelError, match="down"):
                    [event async for event in events]
        else:
            with pytest.raises(ModelError, match="down"):
                await client.chat("Weather?")

    assert sorted(map(str, seen())) == sorted(map(str, [*WHOLE[:5], ("model", "ModelError", True)]))


async def test_a_stream_that_is_left_early_ends_its_run(plugins: Plugins) -> None:
    """Leaving the block ends the inner run as well; its one model call is told."""
    with client_of(plugins, ScriptedChatModel(["A long answer in several pieces."])) as client:
        async with client.stream("Tell me.") as events:
            async for _ in events:
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert [kind for kind, *_ in seen()] == ["asking", "model"]


def test_without_listeners_a_client_is_not_observed() -> None:
    """The model that is asked is the model itself."""
    model = ScriptedChatModel(["Hello."])
    with client_of(Plugins(entry_points=()), model) as client:
        assert client.model is model
        assert client.service.settings.interceptors == ()
        assert client.chat_sync("Hi").text == "Hello."


LISTENING = """
from agentforge.plugin import hookimpl
passed = []

@hookimpl
def agentforge_advisor_called(name, place, seconds, error):
    assert seconds >= 0
    passed.append((name, place, type(error).__name__))
"""


async def test_passes_through_advisors_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those outside the tool loop once a turn, those inside it once a round; one that fails with its error. A plugin
    that listens to nothing else is told all the same."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "fake_listening.py").write_text(LISTENING, "utf-8")
    plugins = Plugins(entry_points=[Found("listening", "fake_listening", "fake", "1")])
    plugins.load_all()
    try:
        observer = observer_of(plugins)
        model = ScriptedChatModel([*_turns(), ModelError("down")])
        chain = [LoggerAdvisor(), ToolCallingAdvisor(), SystemPromptAdvisor("Be brief.")]
        async with ChatClient(model, tools=[get_weather], advisors=chain, observer=observer) as client:
            await client.chat("Weather?")
            async with client.stream("Weather?") as events:
                with pytest.raises(ModelError):
                    [event async for event in events]
        passed = sys.modules["fake_listening"].passed
    finally:
        sys.modules.pop("fake_listening", None)

    assert passed == [
        ("system_prompt", 2, "NoneType"),
        ("system_prompt", 2, "NoneType"),
        ("tool_calling", 1, "NoneType"),
        ("logger", 0, "NoneType"),
        ("system_prompt", 2, "ModelError"),
        ("tool_calling", 1, "ModelError"),
        ("logger", 0, "ModelError"),
    ]


def test_where_nobody_hears_of_advisors_nobody_measures_them(plugins: Plugins) -> None:
    """Other hooks alone make no observer of advisors, and none at all make no observer."""
    assert not isinstance(observer_of(plugins), AdvisorObserver)
    assert observer_of(Plugins(entry_points=())) is None


@pytest.mark.parametrize("raised", ["SystemExit(3)", "asyncio.CancelledError()", "GeneratorExit()", "Sly('out')"])
def test_nothing_that_an_observer_raises_reaches_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, raised: str
) -> None:
    """What no `except Exception` catches is its own affair as well."""
    caplog.set_level(logging.WARNING, "agentforge.plugin")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = f"import asyncio\nclass Sly(BaseException): ...\n{RAISING}"
    (tmp_path / "fake_leaving.py").write_text(source.replace('RuntimeError("no beans")', raised), "utf-8")
    plugins = Plugins(entry_points=[Found("leaving", "fake_leaving", "fake", "1")])
    plugins.load("leaving")
    sys.modules.pop("fake_leaving")

    plugins.call_observers("agentforge_bean_created", bean_id="a", bean=object())

    assert "plugin 'leaving' failed in its hook agentforge_bean_created: " in caplog.text


class _EndedBySignal(SystemExit):
    """As the program's own handlers raise it, wherever the program is."""


@pytest.mark.parametrize("end", [KeyboardInterrupt, _EndedBySignal])
def test_an_interrupt_or_a_signal_during_a_hook_reaches_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
) -> None:
    """It is no plugin's failure that it was there when the program was told to end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    source = "from agentforge.plugin import hookimpl\n@hookimpl\ndef agentforge_bean_created(bean):\n    bean()\n"
    (tmp_path / "fake_calling.py").write_text(source, "utf-8")
    plugins = Plugins(entry_points=[Found("calling", "fake_calling", "fake", "1")])
    plugins.load("calling")
    sys.modules.pop("fake_calling")

    def bean() -> None:
        raise end

    with pytest.raises(end):
        plugins.call_observers("agentforge_bean_created", bean_id="a", bean=bean)
