"""What ships with the core keeps the contracts that plugins have to keep; the plugins here have such a file as well."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agentforge import ScriptedChatModel, tool
from agentforge.advisor import (
    Advisor,
    BudgetAdvisor,
    LoggerAdvisor,
    MessageMemoryAdvisor,
    SafeguardAdvisor,
    SystemPromptAdvisor,
    ToolCallingAdvisor,
    ToolSearchAdvisor,
)
from agentforge.client import CallObserver
from agentforge.memory import ChatMemory, InMemoryStore, SqliteStore
from agentforge.plugin.builtin_tools import PythonTools
from agentforge.testing import (
    AdvisorContract,
    ChatModelContract,
    ErrorHandlerContract,
    ToolInterceptorContract,
    ToolSourceContract,
)
from agentforge.tool import StaticTools, ToolSource, only, prefix, rename, without
from agentforge.tool.error import ListKnownTools, Mask, Rethrow, ReturnToModel, Template, ToolErrorHandler
from agentforge.tool.execution import ToolInterceptor
from agentforge.tool.execution.default_executor import bound_tools_from
from agentforge.tool.execution.interceptors import TimeLimit


class Desk:
    """Two tools."""

    @tool("Current weather of a city.", effect="read")
    def get_weather(self, city: str) -> str:
        return f"{city}: sunny"

    @tool("The time now.")
    def get_time(self) -> str:
        return "noon"


def desk() -> PythonTools:
    """As the bean type `python_tools` makes it."""
    target = Desk()
    return PythonTools(target, bound_tools_from(target))


class TestScriptedChatModel(ChatModelContract):
    def model_answering(self, turns: Sequence[Any]) -> ScriptedChatModel:
        return ScriptedChatModel(turns)


class TestScriptedChatModelWithoutAScript(ChatModelContract):
    def model(self) -> ScriptedChatModel:
        return ScriptedChatModel(["Always the same."], repeat=True)


class TestPythonTools(ToolSourceContract):
    def source(self) -> ToolSource:
        return desk()

    def examples(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        return [("get_weather", {"city": "Oslo"}), ("get_time", {})]


class TestStaticTools(ToolSourceContract):
    def source(self) -> ToolSource:
        return StaticTools(bound_tools_from(Desk()))


class TestOnly(ToolSourceContract):
    def source(self) -> ToolSource:
        return only(desk(), "get_w*")

    def examples(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        return [("get_weather", {"city": "Oslo"})]


class TestWithout(ToolSourceContract):
    def source(self) -> ToolSource:
        return without(desk(), "get_time")


class TestPrefix(ToolSourceContract):
    def source(self) -> ToolSource:
        return prefix(desk(), "desk_")

    def examples(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        return [("desk_get_weather", {"city": "Oslo"})]


class TestRename(ToolSourceContract):
    def source(self) -> ToolSource:
        return rename(desk(), {"get_time": "clock"})

    def examples(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        return [("clock", {})]


class TestRethrow(ErrorHandlerContract):
    def handler(self) -> ToolErrorHandler:
        return Rethrow()


class TestReturnToModel(ErrorHandlerContract):
    def handler(self) -> ToolErrorHandler:
        return ReturnToModel(log=True)


class TestReturnToModelThatRethrowsSome(ErrorHandlerContract):
    def handler(self) -> ToolErrorHandler:
        return ReturnToModel(rethrow=(RuntimeError, OSError))


class TestListKnownTools(ErrorHandlerContract):
    def handler(self) -> ToolErrorHandler:
        return ListKnownTools()


class TestMask(ErrorHandlerContract):
    def handler(self) -> ToolErrorHandler:
        return Mask()


class TestTemplate(ErrorHandlerContract):
    def handler(self) -> ToolErrorHandler:
        return Template("{tool} {id} failed: {error}: {message}")


class _Told:
    def tool_calling(self, request: object) -> None:
        """Nothing."""


class TestCallObserver(ToolInterceptorContract):
    def interceptor(self) -> ToolInterceptor:
        return CallObserver(_Told())  # type: ignore[arg-type]


class TestTimeLimit(ToolInterceptorContract):
    def interceptor(self) -> ToolInterceptor:
        return TimeLimit(None)


class TestToolCallingAdvisor(AdvisorContract):
    def advisor(self) -> Advisor:
        return ToolCallingAdvisor()


class TestToolCallingAdvisorThatHidesItsRounds(AdvisorContract):
    def advisor(self) -> Advisor:
        return ToolCallingAdvisor(intermediate_text="hide")


class TestMessageMemoryAdvisor(AdvisorContract):
    def advisor(self) -> Advisor:
        return MessageMemoryAdvisor(ChatMemory(InMemoryStore()))


class TestMessageMemoryAdvisorThatKeepsAll(AdvisorContract):
    @asynccontextmanager
    async def advisor(self) -> AsyncIterator[Advisor]:
        store = SqliteStore(":memory:")
        try:
            yield MessageMemoryAdvisor(ChatMemory(store, on_failure="keep"), transcript="full")
        finally:
            await store.aclose()


class TestSystemPromptAdvisor(AdvisorContract):
    def advisor(self) -> Advisor:
        return SystemPromptAdvisor("Be brief.", "replace")


class TestToolSearchAdvisor(AdvisorContract):
    def advisor(self) -> Advisor:
        return ToolSearchAdvisor(always=["*"])


class TestLoggerAdvisor(AdvisorContract):
    def advisor(self) -> Advisor:
        return LoggerAdvisor("debug")


class TestSafeguardAdvisor(AdvisorContract):
    def advisor(self) -> Advisor:
        return SafeguardAdvisor(["bomb"], patterns=[r"\d{16}"], action="reprompt")


class TestSafeguardAdvisorThatMasks(AdvisorContract):
    def advisor(self) -> Advisor:
        return SafeguardAdvisor(["bomb"], action="mask")


class TestBudgetAdvisor(AdvisorContract):
    def advisor(self) -> Advisor:
        return BudgetAdvisor(calls=1_000, model_calls=1_000, tokens=10**6, time=10**6)


class TestBudgetAdvisorOfAConversation(AdvisorContract):
    def advisor(self) -> Advisor:
        return BudgetAdvisor(calls=1_000, tokens=10**6, per="conversation", on_limit="finish")
