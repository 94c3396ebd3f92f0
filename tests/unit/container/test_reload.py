"""A reload goes over to new beans without touching what runs on the old ones, or changes nothing at all."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import logging
import threading
import weakref
from typing import Any

import pytest

from agentforge import ScriptedChatModel, tool
from agentforge.client import ChatClient
from agentforge.config import ConfigurationFaults
from agentforge.container import (
    AgentForge,
    BeanCreationError,
    BeanNotFoundError,
    ContextStateError,
    Plan,
)
from agentforge.plugin import hookimpl
from tests.unit.container.kit import Kit, Plain, Thing


def _write(kit: Kit, text: str) -> None:
    kit.write("app.yaml", "beans:\n" + "".join(f"  {line}\n" for line in text.splitlines()))


async def _until_closed(kit: Kit, *beans: str) -> None:
    for bean in beans:
        await kit.until(f"close {bean}")


# -- going over ---------------------------------------------------------------------------------------


async def test_the_new_beans_are_there_and_the_old_ones_are_closed(kit: Kit) -> None:
    async with kit.beans("a: {type: t.thing, label: old}\nb: {type: t.thing, one: a}") as app:
        before = app.get("b")
        _write(kit, "a: {type: t.thing, label: new}\nc: {type: t.thing, one: a}")
        await app.reload()
        assert app.get("c").settings.one.settings.label == "new"
        assert app.bean_ids == ("a", "c")
        with pytest.raises(BeanNotFoundError):
            app.get("b")
        await _until_closed(kit, "b", "a")
        assert before.settings.one.settings.label == "old"
        assert kit.log[-2:] == ["close b", "close a"]
        kit.log.clear()

    assert kit.log == ["close c", "close a"]


def test_in_synchronous_use_as_well(kit: Kit) -> None:
    """From any thread."""
    with kit.beans("a: {type: t.thing, label: '1'}") as app:
        _write(kit, "a: {type: t.thing, label: '2'}")
        app.reload_sync()
        assert app.get("a").settings.label == "2"
        _write(kit, "a: {type: t.thing, label: '3'}")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(app.reload_sync).result(30)
        assert app.get("a").settings.label == "3"
        _write(kit, "a: {type: t.thing, label: '4'}")
        asyncio.run(app.reload())
        assert app.get("a").settings.label == "4"

    assert kit.log.count("close a") == 4


async def test_a_synchronous_reload_on_the_application_s_own_loop_is_refused(kit: Kit) -> None:
    """It would wait for itself; from another thread it goes."""
    async with kit.beans("a: {type: t.thing}") as app:
        with pytest.raises(ContextStateError, match="would keep this event loop") as raised:
            app.reload_sync()
        assert raised.value.next_step == "Use 'await app.reload()'."
        before = app.get("a")
        await asyncio.to_thread(app.reload_sync)
        assert app.get("a") is not before


async def test_what_python_gave_holds_for_the_new_beans(kit: Kit) -> None:
    """Overrides, which are never closed, ``--set`` and the environment."""
    path = kit.write("app.yaml", "beans:\n  a: {type: t.thing}\n  b: {type: t.thing, one: a, label: '${WORD}'}\n")
    mine = Plain("mine", kit.log)
    app = AgentForge.load(
        path, environment={"WORD": "given"}, sets=["beans.b.number=7"], plugins=kit.plugins()
    ).override("a", mine)
    async with app:
        _write(kit, "a: {type: t.thing}\nb: {type: t.thing, one: a, label: 'new ${WORD}'}")
        await app.reload()
        found = app.get("b")
        assert (found.settings.one, found.settings.label, found.settings.number) == (mine, "new given", 7)

    assert "close mine" not in kit.log


async def test_a_mapping_is_compiled_again(kit: Kit) -> None:
    beans: dict[str, Any] = {"a": {"type": "t.thing", "label": "old"}}
    async with kit.mapping(beans) as app:
        beans["a"]["label"] = "new"
        await app.reload()
        assert app.get("a").settings.label == "new"


async def test_includes_profiles_and_dotenv_are_read_again(kit: Kit) -> None:
    kit.write("common.yaml", "beans:\n  a: {type: t.thing, label: '${WORD}'}\n")
    kit.write("app-prod.yaml", "beans:\n  b: {type: t.thing, number: 1}\n")
    kit.write(".env", "WORD=old\n")
    path = kit.write("app.yaml", "include: [common.yaml]\nbeans: {}\n")
    app = AgentForge.load(path, environment={}, profiles=["prod"], plugins=kit.plugins())
    async with app:
        kit.write("common.yaml", "beans:\n  a: {type: t.thing, label: '${WORD}', number: 5}\n")
        kit.write("app-prod.yaml", "beans:\n  b: {type: t.thing, number: 2}\n")
        kit.write(".env", "WORD=new\n")
        await app.reload()
        found = app.get("a").settings
        assert (found.label, found.number, app.get("b").settings.number) == ("new", 5, 2)


# -- changing nothing ---------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, type[Exception], str]] = {
    "a fault": ("a: {type: t.thng}", ConfigurationFaults, "AF211"),
    "no YAML": ("a: {type: [}", ConfigurationFaults, "AF103"),
    "a factory that fails": (
        "b: {type: t.thing}\na: {type: t.thing, one: b, make: raises}",
        BeanCreationError,
        "AF204",
    ),
    "a start that fails": ("b: {type: t.thing}\na: {type: t.thing, one: b, start: raises}", BeanCreationError, "AF204"),
}


@pytest.mark.parametrize(("text", "error", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_cannot_be_started_leaves_the_beans_of_before(
    kit: Kit, text: str, error: type[Exception], code: str
) -> None:
    """New ones that were made are closed; the next reload that can be started is."""
    async with kit.beans("a: {type: t.thing, label: old}") as app:
        before = app.get("a")
        plan = app.plan
        _write(kit, text)
        with pytest.raises(error) as raised:
            await app.reload()
        assert code in str(raised.value)
        assert app.get("a") is before
        assert app.plan is plan
        assert kit.log.count("make b") == kit.log.count("close b")
        assert kit.log.count("close a") == kit.log.count("make a") - 1 - ("make: raises" in text)

        _write(kit, "a: {type: t.thing, label: new}")
        await app.reload()
        assert app.get("a").settings.label == "new"


async def test_a_plan_that_the_program_does_not_accept_is_not_started(kit: Kit) -> None:
    def accept(plan: Plan) -> None:
        if "bot" not in plan.declared:
            raise LookupError("there is no bot")

    async with kit.beans("a: {type: t.thing}") as app:
        before = app.get("a")
        with pytest.raises(LookupError):
            await app.reload(accept=accept)
        assert app.get("a") is before
        assert kit.log == ["make a", "start a"]


async def test_a_reload_that_is_cancelled_leaves_the_beans_of_before(kit: Kit) -> None:
    async with kit.beans("a: {type: t.thing}") as app:
        before = app.get("a")
        _write(kit, "a: {type: t.thing}\nb: {type: t.thing, one: a, start: hangs}")
        reloading = asyncio.create_task(app.reload())
        await kit.until("start b")
        reloading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reloading
        assert app.get("a") is before
        assert kit.log[-2:] == ["close b", "close a"]


@pytest.mark.parametrize("when", ["before the start", "after the end"])
async def test_only_a_running_application_can_be_reloaded(kit: Kit, when: str) -> None:
    app = kit.beans("a: {type: t.thing}")
    if when == "after the end":
        async with app:
            pass
    with pytest.raises(ContextStateError):
        await app.reload()
    with pytest.raises(ContextStateError):
        app.reload_sync()


async def test_an_application_that_is_still_starting_is_not_reloaded(kit: Kit) -> None:
    class Hasty(Thing):
        async def start(self) -> None:
            with pytest.raises(ContextStateError, match="is still starting"):
                await app.reload()
            self.note("start")

    kit.makers = {"a": lambda: Hasty("a", kit.log)}
    app = kit.beans("a: {type: t.own}")
    async with app:
        assert kit.log == ["make a", "start a"]


async def test_reloads_go_one_after_the_other(kit: Kit) -> None:
    async with kit.beans("a: {type: t.thing}") as app:
        await asyncio.gather(*(app.reload() for _ in range(3)))
        for _ in range(50):
            await asyncio.sleep(0)
        assert kit.log.count("make a") == 4
        assert kit.log.count("close a") == 3


async def test_an_application_that_ends_while_it_is_reloaded_leaves_nothing(kit: Kit) -> None:
    gate = asyncio.Event()

    class Slow(Thing):
        async def start(self) -> None:
            again = "start a" in kit.log
            self.note("start again" if again else "start")
            if again:
                await gate.wait()

    kit.makers = {"a": lambda: Slow("a", kit.log)}
    app = kit.beans("a: {type: t.own}")
    await app.start()
    reloading = asyncio.create_task(app.reload())
    await kit.until("start again a")
    await app.stop()
    gate.set()
    with pytest.raises(ContextStateError, match="has ended"):
        await reloading

    assert kit.log.count("close a") == 2


# -- what is under way --------------------------------------------------------------------------------


class Waiting:
    """A tool that waits until it is let go, and can tell whether it was closed meanwhile."""

    def __init__(self, name: str, kit: Kit) -> None:
        self.name = name
        self.kit = kit
        self.gate = asyncio.Event()
        self.began = asyncio.Event()

    @tool
    async def wait(self) -> str:
        """Waits."""
        self.began.set()
        await self.gate.wait()
        return f"{self.name} is {'closed' if f'close {self.name}' in self.kit.log else 'open'}"

    def close(self) -> None:
        """Note it."""
        self.kit.log.append(f"close {self.name}")


BOT = """
desk: {type: t.own}
model: {type: scripted, turns: [{calls: [{name: wait}]}, done]}
bot: {type: chat_client, model: model, tools: [desk]}
"""


def _bot(kit: Kit) -> tuple[AgentForge, list[Waiting]]:
    from agentforge.plugin.builtin_tools import source_of

    made: list[Waiting] = []

    def desk() -> object:
        made.append(Waiting(f"desk {len(made) + 1}", kit))
        return source_of(made[-1], "desk")

    kit.makers = {"desk": desk}
    return kit.beans(BOT.replace("desk: {type: t.own}", "desk: {type: d.tools}")), made


@pytest.fixture
def tools(kit: Kit) -> None:
    """The type ``d.tools``: a source of tools made by the test."""
    from agentforge.plugin import BeanContext, BeanSettings, BeanType
    from agentforge.tool import ToolSource

    class Plugin:
        @hookimpl
        def agentforge_bean_types(self, register: Any) -> None:
            def make(settings: BeanSettings, context: BeanContext) -> object:
                return kit.makers[context.bean_id]()

            register(BeanType("d.tools", BeanSettings, make, ToolSource, "Made by the test."))

    kit.add_plugin("d", Plugin())


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_a_conversation_that_is_under_way_ends_on_the_old_beans(kit: Kit, tools: None, streamed: bool) -> None:
    """Which are closed when it is over, and not before; a new one goes to the new beans."""
    app, desks = _bot(kit)

    async def converse(client: ChatClient) -> Any:
        if not streamed:
            return await client.chat("q")
        async with client.stream("q") as events:
            async for _ in events:
                pass
        return events.result

    async with app:
        first = asyncio.create_task(converse(app.get("bot")))
        await desks[0].began.wait()
        await app.reload()
        second = asyncio.create_task(converse(app.get("bot")))
        await desks[1].began.wait()
        await app.reload()
        for _ in range(20):
            await asyncio.sleep(0)
        assert kit.log == []

        desks[0].gate.set()
        assert (await first).tool_executions[0].result_text() == "desk 1 is open"
        await _until_closed(kit, "desk 1")
        desks[1].gate.set()
        assert (await second).tool_executions[0].result_text() == "desk 2 is open"
        await _until_closed(kit, "desk 2")
        assert kit.log == ["close desk 1", "close desk 2"]

    assert kit.log[2:] == ["close desk 3"]


def test_a_synchronous_conversation_too(kit: Kit) -> None:
    began, gate = threading.Event(), threading.Event()

    class Slow(ScriptedChatModel):
        async def chat(self, request: Any) -> Any:
            began.set()
            await asyncio.to_thread(gate.wait, 30)
            kit.log.append("answered")
            return await super().chat(request)

    beans = {"base": {"type": "t.thing"}, "bot": {"type": "chat_client", "model": Slow(["done"])}}
    with kit.mapping(beans) as app:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(app.get("bot").chat_sync, "q")
            assert began.wait(30)
            app.reload_sync()
            assert "close base" not in kit.log
            gate.set()
            assert answer.result(30).text == "done"
        app.reload_sync()

    assert kit.log.index("answered") < kit.log.index("close base")


async def test_a_run_without_a_conversation_keeps_its_beans(kit: Kit) -> None:
    """Once it has used one."""
    async with kit.beans("base: {type: t.thing}\na: {type: t.thing, one: base, bean: {scope: invocation}}") as app:
        async with app.invocation():
            before = await app.resolve("a")
            await app.reload()
            for _ in range(20):
                await asyncio.sleep(0)
            assert "close base" not in kit.log
            assert await app.resolve("a") is not before
        await _until_closed(kit, "a", "base")
        assert [each for each in kit.log if "close" in each] == ["close a", "close a", "close base"]


async def test_the_end_of_the_application_closes_former_beans_too(kit: Kit, tools: None) -> None:
    """Whatever is still under way on them."""
    app, desks = _bot(kit)
    await app.start()
    talk = asyncio.create_task(app.get("bot").chat("q"))
    await desks[0].began.wait()
    await app.reload()
    await app.stop()
    assert kit.log == ["close desk 2", "close desk 1"]

    desks[0].gate.set()
    assert (await talk).tool_executions[0].result_text() == "desk 1 is closed"


async def test_former_beans_that_fail_to_close_are_logged(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "agentforge"):
        async with kit.beans("a: {type: t.thing, close: raises}\nb: {type: t.thing}") as app:
            _write(kit, "a: {type: t.thing}")
            await app.reload()
            await _until_closed(kit, "a", "b")
            for _ in range(5):
                await asyncio.sleep(0)

    assert [each.message.partition(";")[0] for each in caplog.records] == ["ValueError: a fails"]


async def test_the_end_of_the_application_waits_for_former_beans_that_are_being_closed(kit: Kit) -> None:
    gate = asyncio.Event()

    class Slow(Thing):
        async def aclose(self) -> None:
            self.note("begin")
            await gate.wait()
            self.note("close")

    kit.makers = {"a": lambda: Slow("a", kit.log)}
    app = kit.beans("a: {type: t.own}")
    await app.start()
    _write(kit, "b: {type: t.thing}")
    await app.reload()
    await kit.until("begin a")
    stopping = asyncio.create_task(app.stop())
    await kit.until("close b")
    assert not stopping.done()
    gate.set()
    await stopping

    assert kit.log[-1] == "close a"


async def test_a_former_bean_that_ends_the_program_when_it_is_closed_ends_only_itself(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    class Ending(Thing):
        async def aclose(self) -> None:
            self.note("close")
            raise SystemExit(3)

    kit.makers = {"a": lambda: Ending("a", kit.log)}
    with caplog.at_level(logging.WARNING, "agentforge"):
        async with kit.beans("b: {type: t.thing}\na: {type: t.own, bean: {depends_on: [b]}}") as app:
            _write(kit, "c: {type: t.thing}")
            await app.reload()
            await _until_closed(kit, "a", "b")
            for _ in range(5):
                await asyncio.sleep(0)

    assert [each.message for each in caplog.records] == ["former beans have not all been closed well"]


async def test_the_end_of_the_application_tells_what_former_beans_could_not(kit: Kit, tools: None) -> None:
    app, desks = _bot(kit)
    await app.start()
    talk = asyncio.create_task(app.get("bot").chat("q"))
    await desks[0].began.wait()
    await app.reload()
    desks[0].close = _failing  # type: ignore[method-assign]
    with pytest.raises(ExceptionGroup) as raised:
        await app.stop()
    desks[0].gate.set()
    await talk

    assert [str(each) for each in raised.value.exceptions] == ["no"]


def _failing() -> None:
    raise ValueError("no")


async def test_what_ends_the_program_while_it_closes_leaves_no_former_bean_open(kit: Kit, tools: None) -> None:
    app, desks = _bot(kit)
    await app.start()
    talk = asyncio.create_task(app.get("bot").chat("q"))
    await desks[0].began.wait()
    _write(kit, "a: {type: t.thing, close: ends}")
    await app.reload()
    with pytest.raises(SystemExit):
        await app.stop()
    desks[0].gate.set()
    await talk

    assert kit.log[-2:] == ["close a", "close desk 1"]


async def test_former_beans_go_when_they_are_closed(kit: Kit) -> None:
    """Nothing of the application holds them, nor any task."""
    async with kit.beans("a: {type: t.thing}\nb: {type: t.thing, one: a}") as app:
        former = []
        for _ in range(3):
            former.append(weakref.ref(app.get("b")))
            await app.reload()
            for _ in range(50):
                await asyncio.sleep(0)
        assert kit.log.count("close a") == 3
        gc.collect()
        assert [each() for each in former] == [None] * 3
