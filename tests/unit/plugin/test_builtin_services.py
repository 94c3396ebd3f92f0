"""AI services from a file: an interface of the ``scan`` roots with a client, and how its methods ask."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ChatClient, ScriptedChatModel
from agentforge.client import ServiceMethod
from agentforge.errors import RunTimeoutError
from agentforge.model.scripted import call
from tests.unit.plugin.service_files import Files


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Files(tmp_path)


async def test_a_service_is_found_by_its_interface_and_by_its_name(files: Files) -> None:
    """And is put where a component wants one."""
    model = ScriptedChatModel(["Hi.", '{"value": "order"}'])
    app = files.app(
        """
assistant: {type: ai_service, interface: Assistant, client: client}
front: {type: component, component: Front}
"""
    )
    async with app.override("model", model) as running:
        assistant = running.get("assistant")
        assert running.get(files.part("Assistant")) is assistant is running.get("front").assistant
        assert running.get("front").second is None
        assert isinstance(assistant, files.part("Assistant"))
        assert await assistant.chat("Hello.") == "Hi."
        assert assistant.classify("Tea!") == "order"

    assert [each.text for each in model.requests[0].messages] == ["At Tea.", "Hello."]


async def test_a_method_asks_as_its_bean_says(files: Files) -> None:
    """Prompts, one out of a file, tools, advisors, parameters, mode and reprompts; the other method asks as ever."""
    (files.folder / "prompt.txt").write_text("You are at {shop}, $SHOP.\n", "utf-8")
    model = ScriptedChatModel([call("in_stock", item="tea"), "Yes.", "no", '{"value": "order"}'])
    app = files.app(
        """
desk: {type: python_tools, component: Desk}
noting: {type: component, component: Noting}
assistant:
  type: ai_service
  interface: Assistant
  client: client
  methods:
    chat:
      type: service_method
      system: "${file:prompt.txt}"
      user: "${SHOP} says: {message}"
      tools: [desk]
      advisors: [noting]
      parameters: {temperature: 0.5, max_output_tokens: 7}
    classify: {type: service_method, mode: prompt, max_reprompts: 1}
"""
    )
    async with app.override("model", model) as running:
        assistant = running.get("assistant")
        assert await assistant.chat("Is there tea?", "u-7") == "Yes."
        assert assistant.classify("Tea!") == "order"
        assert running.get("noting").count == 1

    first, second, *rest = model.requests
    assert [each.text for each in first.messages] == ["You are at Tea, $SHOP.", "Hill says: Is there tea?"]
    assert second.messages[-1].text == "tea for u-7"
    assert [each.name for each in first.parameters.tools] == ["in_stock"]
    assert (first.parameters.temperature, first.parameters.max_output_tokens) == (0.5, 7)
    assert [len(each.parameters.tools) for each in rest] == [0, 0]
    assert all(each.parameters.temperature is None for each in rest)
    assert "JSON" in (rest[0].messages[0].text or "")


async def test_a_method_s_time_out_comes_from_the_file(files: Files) -> None:
    """As a duration."""
    how = files.app("how: {type: service_method, timeout: 2m}")
    async with how as running:
        assert running.get(ServiceMethod).timeout == 120
    app = files.app(
        """
second:
  type: ai_service
  interface: Second
  client: client
  methods: {answer: {type: service_method, timeout: 0.000000001}}
"""
    )
    async with app as running:
        with pytest.raises(RunTimeoutError):
            await running.get("second").answer("?")


async def test_two_services_share_how_a_method_asks(files: Files) -> None:
    """One bean, named by both; each service has its own interface."""
    model = ScriptedChatModel(["Hi.", '{"value": 3}'])
    app = files.app(
        """
how: {type: service_method, user: "Briefly: {message}", parameters: {seed: 7}}
brief: {type: ai_service, interface: Brief, client: client, methods: {chat: how}}
second: {type: ai_service, interface: Second, client: client, methods: {answer: how}}
"""
    )
    async with app.override("model", model) as running:
        assert await running.get("brief").chat("Hello.") == "Hi."
        assert await running.get("second").answer("How many?") == 3

    assert [each.messages[-1].text for each in model.requests] == ["Briefly: Hello.", "Briefly: How many?"]
    assert [each.parameters.seed for each in model.requests] == [7, 7]


async def test_a_service_is_a_tool_of_another_client(files: Files) -> None:
    """Of those methods that are declared; a view may rename them."""
    outer, inner = ScriptedChatModel([call("tea_ask", question="Which tea?"), "Green."]), ScriptedChatModel(["Green!"])
    app = files.app(
        """
inner: {type: scripted, turns: [Hello.]}
expert_client: {type: chat_client, model: inner, system: "You know tea."}
expert: {type: ai_service, interface: Expert, client: expert_client}
tea: {type: tool_view, source: expert, prefix: tea_}
router: {type: chat_client, model: model, tools: [tea]}
"""
    )
    async with app.override("model", outer).override("inner", inner) as running:
        result = await running.get("router").prompt("Tea?").call()

    assert (result.content, result.tool_executions[0].result_text()) == ("Green.", "Green!")
    assert [each.name for each in outer.requests[0].parameters.tools] == ["tea_ask"]
    assert [each.text for each in inner.requests[0].messages] == ["You know tea.", "Which tea?"]


async def test_a_service_may_be_so_deep_as_the_file_says(files: Files) -> None:
    """Its own call would be the second run inside another."""
    turns: list[Any] = [
        call("ask", question="Tea?"),
        call("deep_ask", question="Really?"),
        "I do not know.",
        "Nobody knows.",
    ]
    app = files.app(
        """
deepest: {type: ai_service, interface: Expert, client: client, max_depth: 1}
deep: {type: tool_view, source: deepest, prefix: deep_}
middle: {type: chat_client, model: model, tools: [deep]}
expert: {type: ai_service, interface: Expert, client: middle, max_depth: 1}
outer: {type: chat_client, model: model, tools: [expert]}
"""
    )
    model = ScriptedChatModel(turns)
    async with app.override("model", model) as running:
        result = await running.get("outer").prompt("Tea?").call()

    assert model.requests[2].messages[-1].text == "not run: 2 runs inside one another are more than 1"
    assert (result.content, result.tool_executions[0].result_text()) == ("Nobody knows.", "I do not know.")


async def test_a_test_puts_something_else_in_its_place(files: Files) -> None:
    """The service, whose interface any class may fulfil, or the model below it."""

    class Fake:
        async def chat(self, message: str, user_id: str = "", shop: str = "") -> str:
            return f"fake {message}"

        def classify(self, message: str) -> str:
            return "other"

    beans = """
assistant: {type: ai_service, interface: Assistant, client: client}
front: {type: component, component: Front}
"""
    async with files.app(beans).override("assistant", Fake()) as running:
        assert await running.get("front").assistant.chat("Hello.") == "fake Hello."
    async with files.app(beans).override("client", ChatClient(ScriptedChatModel(["Hi."]))) as running:
        assert await running.get("front").assistant.chat("Hello.") == "Hi."


async def test_a_reload_gives_a_new_service_and_the_old_one_goes_on(files: Files) -> None:
    """What asks meanwhile ends on what it began with."""
    go_on, arrived = asyncio.Event(), asyncio.Event()

    async def slow(request: Any) -> str:
        arrived.set()
        await go_on.wait()
        return "Late."

    model = ScriptedChatModel([slow, "Hi."])
    beans = """
assistant:
  type: ai_service
  interface: Assistant
  client: client
  methods: {chat: {type: service_method, system: "OLD {shop}"}}
"""
    async with files.app(beans).override("model", model) as running:
        old = running.get("assistant")
        task = asyncio.create_task(old.chat("Hello."))
        await arrived.wait()
        files.write(beans.replace("OLD", "NEW"))
        await running.reload()
        new = running.get("assistant")
        assert new is not old and isinstance(new, files.part("Assistant"))
        assert await new.chat("Hello.") == "Hi."
        go_on.set()
        assert await task == "Late."

    assert [each.messages[0].text for each in model.requests] == ["OLD Tea", "NEW Tea"]


async def test_the_container_calls_no_method_that_a_model_answers(files: Files) -> None:
    """Whatever it is called; `init` and `destroy` name others."""
    model = ScriptedChatModel([])
    app = files.app("lively: {type: ai_service, interface: Lively, client: client, bean: {init: warm, destroy: cool}}")
    async with app.override("model", model) as running:
        lively = running.get("lively")
        assert lively.events == ["warm"]
    async with files.app("lively: {type: ai_service, interface: Lively, client: client}").override("model", model):
        pass

    assert (lively.events, model.requests) == (["warm", "cool"], [])


TALKING = """
from typing import Protocol


class Talker(Protocol):
    async def chat(self, message: str) -> str: ...


class Stand:
    def __init__(self, talker: Talker) -> None:
        self.talker = talker


class Parrot:
    async def chat(self, message: str) -> str:
        return message
"""


@pytest.mark.parametrize("other", ["", "parrot: {type: component, component: Parrot, bean: {primary: true}}\n"])
async def test_a_service_goes_before_what_has_its_methods_by_chance(tmp_path: Path, other: str) -> None:
    """Models and clients have a ``chat`` as well; what the file marks as meant goes before all."""
    module = f"talking_parts_{bool(other):d}"
    (tmp_path / f"{module}.py").write_text(TALKING, "utf-8")
    (tmp_path / "agentforge.yaml").write_text(
        f"scan: [{module}]\nbeans:\n"
        "  model: {type: scripted, turns: [Hi.]}\n"
        "  client: {type: chat_client, model: model}\n"
        "  talker: {type: ai_service, interface: Talker, client: client}\n"
        "  stand: {type: component, component: Stand}\n" + (f"  {other}" if other else ""),
        "utf-8",
    )
    async with AgentForge.load(tmp_path / "agentforge.yaml", environment={}) as running:
        meant = running.get("parrot" if other else "talker")
        assert running.get("stand").talker is meant
        assert running.get(type(running.get("stand")).__init__.__annotations__["talker"]) is meant
