"""The chain from a file: the list is the chain, each advisor a bean type, and what cannot be is found by `check`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ScriptedChatModel
from agentforge.advisor import BudgetAdvisor, BudgetExceededError, MessageMemoryAdvisor, ToolCallingAdvisor
from agentforge.client import ChatClient
from agentforge.config import ConfigurationFaults
from agentforge.errors import OverloadedError
from agentforge.memory import ChatMemory, InMemoryStore, MemoryKey, MessageWindow, SqliteStore, Summarising, TokenWindow
from agentforge.model import SystemMessage, UserMessage
from agentforge.model.scripted import call

MODEL = {"type": "scripted", "turns": ["One.", "Two."], "repeat": True}
TOOLS = '''
from agentforge import tool
from agentforge.advisor import Advised, Advisor, Chain


class Desk:
    @tool("Current weather of a city.")
    def get_weather(self, city: str) -> str:
        return f"{city}: sunny"


class Politely:
    """An advisor of the application's own."""

    before = ("tool_calling",)

    async def advise(self, run, request, chain):
        run.attributes["politely"] = True
        return await chain.next(run, request)


def some_advisor() -> Advisor:
    return Politely()


class Innermost:
    innermost = True

    async def advise(self, run, request, chain):
        return await chain.next(run, request)
'''


def beans(advisors: list[Any], **more: Any) -> dict[str, Any]:
    client = {"type": "chat_client", "model": "model", "advisors": advisors}
    return {"beans": {"model": MODEL, "assistant": client, **more}}


def faults_of(data: Mapping[str, Any], folder: Path | None = None) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationFaults) as raised:
        AgentForge.from_mapping(data, folder=folder).check()
    return [(fault.path, fault.message) for fault in raised.value.diagnostics]


async def test_the_list_in_the_file_is_the_chain() -> None:
    """Types without settings by their name, others in place, declared beans by theirs."""
    listed = ["limits", {"type": "system_prompt", "text": "Be kind."}, {"type": "message_memory", "required": False}]
    data = beans([*listed, "logger"], limits={"type": "budget", "tokens": "50k"})
    async with AgentForge.from_mapping(data) as app:
        client = app.get(ChatClient)

    assert [link.name for link in client.chain] == [
        "budget",
        "system_prompt",
        "message_memory",
        "logger",
        "tool_calling",
    ]
    assert [link.reason for link in client.chain][-2:] == ["place 4 of the list", "added: innermost"]


async def test_the_chain_works_as_it_is_written() -> None:
    """The system message, the memory of the turn before, and the tool loop with its own bound."""
    data = beans(
        [
            {"type": "message_memory", "memory": {"type": "chat_memory", "window": "message_window"}},
            {"type": "system_prompt", "text": "Be kind."},
            {"type": "tool_calling", "max_tool_calling_round_trips": 8, "intermediate_text": "hide"},
        ]
    )
    model = ScriptedChatModel(["One.", "Two."])
    async with AgentForge.from_mapping(data).override("model", model) as app:
        client = app.get(ChatClient)
        for question in ("Hello", "And?"):
            await client.prompt(question).memory_id("m1").call()
        tool_advisor = client.chain[-1].advisor

    assert [message.text for message in model.requests[1].messages] == ["Be kind.", "Hello", "One.", "And?"]
    assert isinstance(tool_advisor, ToolCallingAdvisor) and tool_advisor.max_tool_calling_round_trips == 8


async def test_a_budget_of_the_file_bounds_calls(tmp_path: Path) -> None:
    """Its gate stands in the client without a word about it."""
    (tmp_path / "budget_desk.py").write_text(TOOLS)
    desk = {"type": "python_tools", "component": "Desk"}
    data = {"scan": ["budget_desk"], **beans([{"type": "budget", "calls": 1}], desk=desk)}
    data["beans"]["assistant"]["tools"] = ["desk"]
    model = ScriptedChatModel([call("get_weather", city="Rome")], repeat=True)
    async with AgentForge.from_mapping(data, folder=tmp_path).override("model", model) as app:
        with pytest.raises(BudgetExceededError) as raised:
            await app.get(ChatClient).prompt("Weather?").call()

    assert [each.outcome.value for each in raised.value.partial.tool_executions] == ["ok", "limited"]


async def test_an_advisor_of_the_application_is_a_component_in_the_list(tmp_path: Path) -> None:
    (tmp_path / "polite_desk.py").write_text(TOOLS)
    own = {"type": "component", "component": "Politely"}
    data = {"scan": ["polite_desk"], **beans(["own", "logger"], own=own)}
    async with AgentForge.from_mapping(data, folder=tmp_path) as app:
        client = app.get(ChatClient)
        prompt = client.prompt("Hello")
        run = prompt.run()
        await client.hold(prompt, run)

    assert [link.name for link in client.chain] == ["politely", "logger", "tool_calling"]
    assert run.attributes["politely"] is True


@pytest.mark.parametrize(
    ("advisors", "more", "expected"),
    [
        (
            ["tool_calling", "two"],
            {"two": {"type": "tool_calling"}},
            [
                (
                    "beans.assistant.advisors.1",
                    "a chain has one tool advisor at most, and 'assistant.advisors.0' and 'two' both are",
                )
            ],
        ),
        (
            ["tool_calling", "own"],
            {"own": {"type": "component", "component": "Politely"}},
            [
                (
                    "beans.assistant.advisors",
                    "advisors cannot be put in an order: 'tool_calling' is listed before 'politely', "
                    "and 'politely' wants to stand before 'tool_calling'",
                )
            ],
        ),
        (
            ["tool_calling", "logger", "message_memory", "own"],
            {"own": {"type": "component", "component": "Politely"}},
            [
                (
                    "beans.assistant.advisors",
                    "advisors cannot be put in an order: 'tool_calling' is listed before 'politely', "
                    "and 'politely' wants to stand before 'tool_calling'",
                )
            ],
        ),
        (
            ["own", "logger"],
            {"own": {"type": "component", "component": "Innermost"}},
            [
                (
                    "beans.assistant.advisors",
                    "advisors cannot be put in an order: 'innermost' is listed before 'logger', "
                    "and 'innermost' wants to be innermost",
                )
            ],
        ),
        (
            ["model"],
            {},
            [("beans.assistant.advisors.0", "'advisors.0' needs an Advisor, and 'model' is a ChatModel")],
        ),
        (
            ["loger"],
            {},
            [("beans.assistant.advisors.0", "no bean is called 'loger', and no type that needs no settings")],
        ),
    ],
)
def test_advisors_that_cannot_stand_so_are_found_by_check(
    advisors: list[Any], more: dict[str, Any], expected: list[Any], tmp_path: Path
) -> None:
    """Located, with both sides."""
    name = f"placed_desk_{'_'.join(advisors)}"
    (tmp_path / f"{name}.py").write_text(TOOLS)
    assert faults_of({"scan": [name], **beans(advisors, **more)}, tmp_path) == expected


@pytest.mark.parametrize(
    ("advisor", "message"),
    [
        ({"type": "budget"}, "a budget without a limit limits nothing"),
        ({"type": "budget", "cost": 1, "currency": "dollars"}, "the currency of a price is a code such as 'USD'"),
        (
            {"type": "budget", "cost": 1, "prices": {"x": {"input": 1, "output": 1, "currency": "EUR"}}},
            "the budget is in 'USD', and of its prices that of 'x' in EUR",
        ),
        ({"type": "budget", "tokens": "50x"}, "'tokens'"),
        ({"type": "budget", "calls": 1, "on_limit": "stop"}, "'on_limit'"),
        ({"type": "safeguard"}, "a safeguard without words, patterns and checks looks for nothing"),
        ({"type": "safeguard", "patterns": ["(a+)+"]}, "pattern"),
        (
            {"type": "safeguard", "words": ["no"], "text": "no way"},
            "text is a text without what the safeguard looks for",
        ),
        ({"type": "tool_calling", "history": "none"}, "'history'"),
        ({"type": "system_prompt"}, "'text' is missing"),
        ({"type": "logger", "level": "loud"}, "'level'"),
        ({"type": "message_memory", "transcript": "all"}, "'transcript'"),
    ],
)
def test_settings_that_make_no_sense_are_found_by_check(advisor: dict[str, Any], message: str) -> None:
    [(path, found)] = faults_of(beans([advisor]))

    assert path.startswith("beans.assistant.advisors.0") and message in found


@pytest.mark.parametrize(
    ("written", "tokens"), [("50k", 50_000), ("2M", 2_000_000), ("1.5k", 1_500), (800, 800), ("800", 800)]
)
async def test_amounts_may_be_written_short(written: Any, tokens: int) -> None:
    async with AgentForge.from_mapping(beans([{"type": "budget", "tokens": written}])) as app:
        [budget, _] = [link.advisor for link in app.get(ChatClient).chain]

    assert isinstance(budget, BudgetAdvisor) and budget.limits.tokens == tokens


# -- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        (None, MessageWindow),
        ({"type": "message_window", "max_messages": 4}, MessageWindow),
        ({"type": "token_window", "max_tokens": "4k"}, TokenWindow),
        ({"type": "summarising_window", "window": {"type": "message_window"}, "model": "model"}, Summarising),
    ],
)
async def test_a_memory_is_a_store_and_a_window(window: Any, kind: type) -> None:
    memory = {"type": "chat_memory", **({} if window is None else {"window": window})}
    data = beans([{"type": "message_memory", "memory": "memory"}], memory=memory)
    async with AgentForge.from_mapping(data) as app:
        made = app.get(ChatMemory)
        [advisor, _] = [link.advisor for link in app.get(ChatClient).chain]

    assert isinstance(advisor, MessageMemoryAdvisor) and advisor.memory is made
    assert isinstance(made.store, InMemoryStore) and isinstance(made._settings.window, kind)


async def test_a_conversation_outlives_the_application(tmp_path: Path) -> None:
    """In a file beside the configuration; the next application goes on with it."""
    memory = {"type": "chat_memory", "store": {"type": "sqlite_store", "path": "talks.db"}}
    data = beans([{"type": "message_memory", "memory": "memory"}], memory=memory)
    model = ScriptedChatModel(["One.", "Two."])
    for question in ("Hello", "And?"):
        async with AgentForge.from_mapping(data, folder=tmp_path).override("model", model) as app:
            await app.get(ChatClient).prompt(question).memory_id("m1").tenant("acme").call()
            assert isinstance(app.get(ChatMemory).store, SqliteStore)
            assert await app.get(ChatMemory).list("acme") == (MemoryKey("acme", "m1"),)

    assert [message.text for message in model.requests[1].messages] == ["Hello", "One.", "And?"]


async def test_a_model_that_stands_in_for_another_is_a_bean_like_any() -> None:
    first, second = ScriptedChatModel([OverloadedError("busy")]), ScriptedChatModel(["Hello."])
    data = beans(
        ["logger"],
        first=first,
        second=second,
        both={"type": "fallback", "models": ["first", "second"], "on": ["overloaded"]},
    )
    data["beans"]["assistant"]["model"] = "both"
    async with AgentForge.from_mapping(data) as app:
        reply = await app.get(ChatClient).prompt("Hi").call()

    assert reply.content == "Hello." and "model_fallback" in [notice.code for notice in reply.notices]


async def test_values_for_tools_stand_in_the_file_and_reach_no_model(tmp_path: Path) -> None:
    data = beans([])
    data["beans"]["assistant"]["tool_context"] = {"tenant_id": "acme-4711"}
    model = ScriptedChatModel(["One."])
    async with AgentForge.from_mapping(data).override("model", model) as app:
        client = app.get(ChatClient)
        run = client.prompt("Hi").system("Short.").run()
        await client.prompt("Hi").system("Short.").call()

    assert run.user_data == {"tenant_id": "acme-4711"}
    assert model.requests[0].messages == (SystemMessage("Short."), UserMessage("Hi"))


def test_an_advisor_of_which_only_the_contract_is_known_goes_by_its_bean(tmp_path: Path) -> None:
    """A factory that says no more than that it makes an advisor: its bean's id, or in place its type, stands for it."""
    (tmp_path / "contract_desk.py").write_text(TOOLS)
    made = {"type": "factory", "function": "some_advisor"}
    data = {"scan": ["contract_desk"], **beans(["own", made, "logger"], own=made)}
    plan = AgentForge.from_mapping(data, folder=tmp_path).plan
    order = plan.beans["assistant"].arranged["advisors"]

    assert [name for name, _ in order] == ["own", "factory", "logger", "tool_calling"]


async def test_what_a_call_does_not_say_stands_in_the_file() -> None:
    """Parameters, examples, the conversation, and for whom it is."""
    data = beans([{"type": "message_memory"}])
    data["beans"]["assistant"] |= {
        "parameters": {"temperature": 0.2, "max_output_tokens": 50},
        "messages": [{"user": "2+2?"}, {"assistant": "4"}],
        "memory_id": "desk",
        "tenant": "acme",
        "roles": ["clerk"],
    }
    model = ScriptedChatModel(["One.", "Two."])
    async with AgentForge.from_mapping(data).override("model", model) as app:
        client = app.get(ChatClient)
        await client.prompt("3+3?").call()
        await client.prompt("4+4?").parameters(temperature=0.9).call()
        run = client.prompt("5+5?").run()

    assert [request.parameters.temperature for request in model.requests] == [0.2, 0.9]
    assert [request.parameters.max_output_tokens for request in model.requests] == [50, 50]
    assert [[message.text for message in request.messages] for request in model.requests] == [
        ["2+2?", "4", "3+3?"],
        ["2+2?", "4", "3+3?", "One.", "4+4?"],
    ]
    assert (run.memory_id, run.tenant, sorted(run.roles)) == ("desk", "acme", ["clerk"])


@pytest.mark.parametrize("message", [{}, {"user": "a", "assistant": "b"}])
def test_a_message_of_nobody_or_of_two_is_found_by_check(message: dict[str, Any]) -> None:
    data = beans([])
    data["beans"]["assistant"]["messages"] = [message]
    [(path, found)] = faults_of(data)

    assert path == "beans.assistant.messages.0" and "a message is either 'user: …' or 'assistant: …'" in found
