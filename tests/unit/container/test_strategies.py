"""Strategies of one's own from the file: error handlers, unknown-tool strategies, gates, interceptors, converters,
sources and models, each a class or function of the ``scan`` roots, what a function makes, or a plugin's type."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from textwrap import indent
from types import ModuleType

import pytest

from agentforge.container import AgentForge
from agentforge.plugin import BeanSettings, BeanType, hookimpl
from agentforge.tool.error import ToolErrorContext, ToolErrorHandler
from agentforge.tool.execution import ToolExecutionResult, ToolResultConverter
from tests.unit.container.kit import Kit, faults_of, marked

PARTS = '''
from __future__ import annotations

from collections.abc import Sequence

from agentforge import tool
from agentforge.model import ToolExecutionRequest
from agentforge.tool.error import ToolErrorContext, ToolErrorHandler, ToolErrorHandlerResult
from agentforge.tool.execution import (
    PlannedCall, Proceed, Refuse, Run, ToolExecutionResult, ToolInterceptor, ToolOutcome, Verdict,
)


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents


class Shop:
    @tool
    def price(self, item: str) -> Money:
        "The price of an item."
        return Money(1250)

    @tool
    def fail(self) -> str:
        "Fails."
        raise ValueError("out of stock")


# -- error handlers
class Explains:
    def __init__(self, words: str = "explained") -> None:
        self.words = words

    def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        return ToolErrorHandlerResult.text(f"{self.words}: {context.request.name}")

class ExplainsLater:
    async def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        return ToolErrorHandlerResult.text(f"later: {context.request.name}")

def explain(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
    return ToolErrorHandlerResult.text(f"function: {context.request.name}")

def unknown(request: ToolExecutionRequest) -> str:
    return f"no {request.name} here"

def explainer(words: str) -> ToolErrorHandler:
    return Explains(words)


# -- gates, interceptors, converters
class NoSecondCall:
    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        return [
            Refuse(ToolOutcome.DENIED, "one at a time") if number else Proceed() for number in range(len(batch))
        ]

class Loud:
    def __init__(self, mark: str = "!") -> None:
        self.mark = mark

    async def around(self, call: PlannedCall, run: Run, next) -> ToolExecutionResult:
        result = await next(call, run)
        return ToolExecutionResult.success(result.text.upper() + self.mark)

def louder(mark: str) -> ToolInterceptor:
    return Loud(mark)

class InEuros:
    def convert(self, value: object, tool: str) -> ToolExecutionResult | None:
        return ToolExecutionResult.success(f"{value.cents / 100:.2f} EUR") if isinstance(value, Money) else None

class Nothing:
    """None of these."""

class AlmostAGate:
    def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        return []
'''


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """With a module of strategies beside the file, which is forgotten afterwards."""
    kit.write("container_strategies.py", PARTS)
    before = set(sys.modules)
    yield kit
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


def client(kit: Kit, beans: str, settings: str, calls: str) -> AgentForge:
    """The application of a client with these settings, whose model makes these calls and then ends."""
    text = (
        "converter: {type: component, component: InEuros}\n"
        "shop: {type: python_tools, component: Shop}\n"
        f"{beans}\n"
        "bot:\n"
        "  type: chat_client\n"
        "  tools: [shop]\n"
        f"  model: {{type: scripted, turns: [{{calls: [{calls}]}}, Done.]}}\n"
        f"  {settings}\n"
    )
    return kit.load("scan: [container_strategies]\nbeans:\n" + indent(text, "  "))


PRICE = "{name: price, args: {item: tea}}"
WORKS = {
    "a class for failed tools": (
        "it: {type: component, component: Explains}",
        "error_handlers: {execution: it}",
        "{name: fail}",
        ["explained: fail"],
    ),
    "a class with words of the file": (
        "it: {type: component, component: Explains, arguments: {words: sorry}}",
        "error_handlers: {arguments: it}",
        "{name: price}",
        ["sorry: price"],
    ),
    "an async class": (
        "it: {type: component, component: ExplainsLater}",
        "error_handlers: {execution: {ref: it}}",
        "{name: fail}",
        ["later: fail"],
    ),
    "a class in place": (
        "",
        "error_handlers: {unknown_tool: {type: component, component: Explains}}",
        "{name: nope}",
        ["explained: nope"],
    ),
    "a function": (
        "it: {type: component, component: explain}",
        "error_handlers: {arguments: it, execution: it, unknown_tool: it}",
        "{name: price}, {name: fail}, {name: nope}",
        ["function: price", "function: nope", "function: fail"],
    ),
    "a function of the request alone": (
        "it: {type: component, component: unknown}",
        "error_handlers: {unknown_tool: it}",
        "{name: nope}",
        ["no nope here"],
    ),
    "what a function makes": (
        "it: {type: factory, function: explainer, arguments: {words: made}}",
        "error_handlers: {execution: it}",
        "{name: fail}",
        ["made: fail"],
    ),
    "a gate": (
        "it: {type: component, component: NoSecondCall}",
        "gates: [it]\n  converters: [converter]",
        f"{PRICE}, {PRICE}",
        ["one at a time", "12.50 EUR"],
    ),
    "interceptors, the first outermost": (
        "a: {type: component, component: Loud}\nb: {type: factory, function: louder, arguments: {mark: '?'}}",
        "interceptors: [a, b]\n  converters: [converter]",
        PRICE,
        ["12.50 EUR?!"],
    ),
    "a converter": ("", "converters: [converter]", PRICE, ["12.50 EUR"]),
    "a converter in place": ("", "converters: [{type: component, component: InEuros}]", PRICE, ["12.50 EUR"]),
}


@pytest.mark.parametrize(("beans", "settings", "calls", "results"), WORKS.values(), ids=WORKS.keys())
async def test_a_strategy_of_the_scan_roots_works_in_a_conversation(
    kit: Kit, beans: str, settings: str, calls: str, results: list[str]
) -> None:
    async with client(kit, beans, settings, calls) as app:
        answer = await app.get("bot").chat("?")

    assert sorted(each.result_text() for each in answer.tool_executions) == sorted(results)
    assert answer.text == "Done."


async def test_a_tool_service_takes_the_same_strategies(kit: Kit) -> None:
    from agentforge import ScriptedChatModel
    from agentforge.model.scripted import call

    text = """
        scan: [container_strategies]
        beans:
          shop: {type: python_tools, component: Shop}
          converter: {type: component, component: InEuros}
          service: {type: tool_service, tools: [shop], converters: [converter]}
    """
    async with kit.load(text) as app:
        answer = await app.get("service").chat(ScriptedChatModel([call("price", item="tea"), "Done."]), None, "?")

    assert answer.tool_executions[0].result_text() == "12.50 EUR"


class NoSettings(BeanSettings):
    """Nothing to set."""


class _Plain:
    def convert(self, value: object, tool: str) -> ToolExecutionResult | None:
        return ToolExecutionResult.success(f"{tool} gave a {type(value).__name__}")


def _says(error: BaseException, context: ToolErrorContext) -> str:
    return f"the plugin says: {type(error).__name__}"


async def test_a_plugin_brings_strategies_as_types(kit: Kit) -> None:
    """Named alone where they need no settings, as the core's own are."""
    module = ModuleType("strategies")

    @hookimpl
    def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
        register(BeanType("s.says", NoSettings, lambda settings: _says, ToolErrorHandler, "Says so."))
        register(BeanType("s.plain", NoSettings, lambda settings: _Plain(), ToolResultConverter, "Plain words."))

    module.agentforge_bean_types = agentforge_bean_types  # type: ignore[attr-defined]
    kit.add_plugin("s", module)
    settings = "converters: [s.plain]\n  error_handlers: {execution: s.says}"

    async with client(kit, "", settings, f"{PRICE}, {{name: fail}}") as app:
        answer = await app.get("bot").chat("?")

    assert sorted(each.result_text() for each in answer.tool_executions) == [
        "price gave a Money",
        "the plugin says: ValueError",
    ]


REFUSED = {
    "what is no gate": (
        "it: {type: component, component: Nothing}",
        "gates: [«it]",
        "'gates.0' needs a ToolGate, and 'it' is a Nothing",
    ),
    "a gate that does not wait": (
        "it: {type: component, component: AlmostAGate}",
        "gates: [«it]",
        "'gates.0' needs a ToolGate, and 'it' is an AlmostAGate",
    ),
    "a function for an interceptor": (
        "it: {type: component, component: explain}",
        "interceptors: [«it]",
        "'interceptors.0' needs a ToolInterceptor, and 'it' is a function",
    ),
    "a gate for a converter": (
        "it: {type: component, component: NoSecondCall}",
        "converters: [«it]",
        "'converters.0' needs a ToolResultConverter, and 'it' is a NoSecondCall",
    ),
    "a class that cannot be called for a handler": (
        "it: {type: component, component: Nothing}",
        "error_handlers: {execution: «it}",
        "'error_handlers.execution' needs a ToolErrorHandler, and 'it' is a Nothing",
    ),
}


@pytest.mark.parametrize(("beans", "settings", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_such_strategy_is_refused_where_it_is_named(
    kit: Kit, beans: str, settings: str, message: str
) -> None:
    text, [place] = marked(
        "scan: [container_strategies]\nbeans:\n"
        + indent(f"{beans}\nservice:\n  type: tool_service\n  {settings}\n", "  ")
    )

    [fault] = faults_of(kit.load(text))

    assert (fault.code, fault.message) == ("AF213", message)
    assert str(fault.mark) == f"{kit.folder / 'app.yaml'}:{place}"
