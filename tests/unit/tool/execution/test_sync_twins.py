"""The synchronous twins: from plain code, from inside a running loop, interrupted, and closed."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import weakref
from typing import Any

import pytest

from agentforge import ChatRequest, ChatResponse, RunFinished, ScriptedChatModel, ToolService, tool
from agentforge.errors import UnknownToolError
from agentforge.model.scripted import call, calls

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")


@tool
async def whose() -> str:
    "Whose conversation this is."
    return tenant.get()


def turns() -> ScriptedChatModel:
    return ScriptedChatModel([call("whose"), "done"])


def test_a_conversation_from_plain_code_sees_the_callers_context() -> None:
    tenant.set("acme")
    with ToolService(whose) as service:
        result = service.chat_sync(turns(), None, "q")
    assert (result.text, result.tool_executions[0].result_text()) == ("done", "acme")


async def test_it_works_inside_a_running_loop_as_in_a_notebook() -> None:
    with ToolService(whose) as service:
        assert service.chat_sync(turns(), None, "q").text == "done"


def test_errors_pass_as_they_are() -> None:
    with ToolService(whose) as service, pytest.raises(UnknownToolError):
        service.chat_sync(ScriptedChatModel([call("nothing")]), None, "q")


def test_a_stream_is_read_as_a_plain_iterator() -> None:
    with ToolService(whose) as service, service.stream_sync(turns(), None, "q") as events:
        seen = list(events)
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].result.text == "done"


def test_a_stream_that_is_left_early_ends_its_run() -> None:
    with ToolService(whose) as service:
        with service.stream_sync(turns(), None, "q") as events:
            next(events)
        assert service.chat_sync(turns(), None, "q").text == "done"


def test_closing_ends_the_loops_thread_and_closes_the_models_used_on_it() -> None:
    closed: list[str] = []

    class Model(ScriptedChatModel):
        async def aclose(self) -> None:
            closed.append(threading.current_thread().name)

    before = threading.active_count()
    service, model = ToolService(whose), Model([call("whose"), "done"])
    service.chat_sync(model, None, "q")
    service.close()
    service.close()
    assert closed == ["agentforge-sync"]
    assert threading.active_count() == before


def test_a_model_that_fails_to_close_keeps_no_other_and_no_thread_open() -> None:
    closed: list[str] = []

    class Model(ScriptedChatModel):
        async def aclose(self) -> None:
            closed.append("tried")
            raise OSError("the connection was gone")

    before = threading.active_count()
    service, models = ToolService(whose), [Model([call("whose"), "done"]) for _ in range(2)]
    for model in models:
        service.chat_sync(model, None, "q")
    with pytest.raises(OSError, match="the connection was gone"):
        service.close()
    assert closed == ["tried", "tried"]
    assert threading.active_count() == before


@pytest.mark.parametrize("slotted", [False, True])
def test_a_model_that_nobody_holds_any_more_is_not_held_by_the_service(slotted: bool) -> None:
    """One that allows no weak reference is held, and closed, until the service is."""
    closed: list[int] = []

    class Slotted:
        __slots__ = ("number",)
        profile = ScriptedChatModel([]).profile

        async def chat(self, request: ChatRequest) -> ChatResponse:
            return await ScriptedChatModel(["done"]).chat(request)

        async def aclose(self) -> None:
            closed.append(1)

    service, models = ToolService(whose), []
    for _ in range(5):
        model: Any = Slotted() if slotted else turns()
        service.chat_sync(model, None, "q")
        if not slotted:
            models.append(weakref.ref(model))
        del model
    gc.collect()
    assert [found for found in models if found() is not None] == []
    service.close()
    assert len(closed) == (5 if slotted else 0)


def test_after_closing_a_service_can_be_used_again() -> None:
    service = ToolService(whose)
    service.chat_sync(turns(), None, "q")
    service.close()
    assert service.chat_sync(turns(), None, "q").text == "done"
    service.close()


def test_a_synchronous_call_from_within_its_own_loop_is_refused_instead_of_waiting_for_itself() -> None:
    service = ToolService()

    @tool
    async def nested() -> str:
        "Calls the service synchronously."
        return service.chat_sync(ScriptedChatModel(["inner"]), None, "q").text or ""

    service.tools(nested)
    result = service.chat_sync(ScriptedChatModel([call("nested"), "outer"]), None, "q")
    assert "wait for itself" in result.tool_executions[0].result_text()
    service.close()


def test_a_synchronous_call_from_a_sync_tool_is_served() -> None:
    service = ToolService()

    @tool
    def nested() -> str:
        "Holds a conversation of its own."
        return service.chat_sync(ScriptedChatModel(["inner"]), None, "q").text or ""

    service.tools(nested)
    result = service.chat_sync(ScriptedChatModel([call("nested"), "outer"]), None, "q")
    assert result.tool_executions[0].result_text() == "inner"
    service.close()


@pytest.mark.parametrize(("side_by_side", "depth"), [(6, 1), (1, 12), (3, 4)])
def test_nested_conversations_of_sync_tools_find_threads_however_few_there_are(side_by_side: int, depth: int) -> None:
    """A tool that waits for a conversation of its own lends its thread to that one's tools."""
    service = ToolService(max_threads=2, tool_timeout=20)
    together = threading.Barrier(min(side_by_side, 2), timeout=10)

    @tool
    def dig(n: int) -> str:
        "Asks again, one level further down."
        if n == depth and side_by_side % 2 == 0:
            together.wait()  # both threads are taken when the nested calls come
        if n == 0:
            return "bottom"
        inner = service.chat_sync(ScriptedChatModel([call("dig", n=n - 1), "up"]), None, "q")
        return inner.tool_executions[0].result_text()

    service.tools(dig)
    batch = calls(*[call("dig", n=depth)] * side_by_side)
    result = service.chat_sync(ScriptedChatModel([batch, "done"]), None, "q")
    assert [e.result_text() for e in result.tool_executions] == ["bottom"] * side_by_side
    counts = service.thread_counts
    assert counts.busy + counts.idle <= 2 and counts.abandoned == 0
    service.close()


@pytest.mark.parametrize("sync", [True, False])
def test_an_interrupt_raised_by_a_tool_reaches_the_caller_and_the_service_goes_on(sync: bool) -> None:
    @tool(name="stops")
    def on_thread() -> str:
        "Interrupts."
        raise KeyboardInterrupt

    @tool(name="stops")
    async def in_loop() -> str:
        "Interrupts."
        raise KeyboardInterrupt

    service = ToolService(on_thread if sync else in_loop, whose)
    with pytest.raises(KeyboardInterrupt):
        service.chat_sync(ScriptedChatModel([call("stops"), "x"]), None, "q")
    assert service.chat_sync(turns(), None, "q").text == "done"
    service.close()


def test_an_interrupted_caller_cancels_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()
    begun = threading.Event()

    @tool
    async def hangs() -> str:
        "Never ends."
        begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "x"

    import concurrent.futures

    original = concurrent.futures.Future.result

    def interrupted(self: concurrent.futures.Future[object], timeout: float | None = None) -> object:
        if begun.wait(5) and not cancelled.is_set():
            raise KeyboardInterrupt
        return original(self, timeout)

    service = ToolService(hangs)
    monkeypatch.setattr(concurrent.futures.Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        service.chat_sync(ScriptedChatModel([call("hangs")]), None, "q")
    monkeypatch.undo()
    assert cancelled.is_set()
    service.close()
