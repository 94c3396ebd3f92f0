"""A shop with a basket for each conversation: beans of the scope ``invocation`` and what uses them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any

from agentforge import Run
from agentforge.container import AgentForge
from agentforge.model import ChatModel
from agentforge.plugin import BeanContext, BeanSettings, BeanType, Ref, hookimpl
from agentforge.tool import BoundTool, ToolSource
from agentforge.tool.error import ToolErrorHandler
from agentforge.tool.execution import ToolGate, ToolInterceptor, bound_tools_from
from tests.unit.container.kit import Kit, NoSettings, Thing

__all__ = ("FRESH", "SHOP", "Basket", "Desk", "Eager", "Shop", "User", "shop_of", "texts")

FRESH = ", bean: {scope: invocation}"


class Basket(Thing):
    """What one conversation gathers."""

    kind = "basket"

    def __init__(self, number: int, log: list[str]) -> None:
        super().__init__(f"basket {number}", log)
        self.number = number
        self.items: list[str] = []

    start = None  # type: ignore[assignment]

    @property
    def size(self) -> int:
        """How much is in it."""
        return len(self.items)

    def put(self, item: str) -> str:
        """Put one in."""
        self.items.append(item)
        return f"{self.number}: {', '.join(self.items)}"

    async def take(self) -> str:
        """Take the last one out."""
        return self.items.pop()

    async def stream(self) -> AsyncIterator[str]:
        """One after the other."""
        for item in self.items:
            yield item

    def __len__(self) -> int:
        return len(self.items)


class Eager(Basket):
    """One whose start has to be awaited."""

    async def start(self) -> None:  # type: ignore[override]
        """Note it."""
        await asyncio.sleep(0)
        self.note("start")


class ShopSettings(BeanSettings):
    """A shop holds a basket."""

    basket: Annotated[Basket, Ref()]


class UserSettings(BeanSettings):
    """Uses any bean."""

    one: Annotated[object, Ref()]


class User:
    """A singleton that keeps what it is given."""

    def __init__(self, one: Any) -> None:
        self.one = one


class Shop:
    """A singleton with tools that use the basket of the conversation."""

    def __init__(self, basket: Basket) -> None:
        self.basket = basket
        self.offered = (*bound_tools_from(self.buy), *bound_tools_from(self.buy_later))

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """Its tools."""
        return self.offered

    def buy(self, what: str) -> str:
        "Buys."
        return self.basket.put(what)

    async def buy_later(self, what: str) -> str:
        "Buys."
        return self.basket.put(what)


class Desk:
    """The plugin ``d``: beans of every kind, which note their making."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.made = 0
        self.basket: Callable[[int, list[str]], Any] = Basket
        self.makers: dict[str, Callable[[], object]] = {}

    def number(self) -> int:
        """Of the next object."""
        self.made += 1
        return self.made

    @hookimpl
    def agentforge_bean_types(self, register: Callable[[BeanType], None]) -> None:
        """Register them."""

        def own(settings: NoSettings, context: BeanContext) -> object:
            return self.makers[context.bean_id]()

        register(
            BeanType("d.basket", NoSettings, lambda _: self.basket(self.number(), self.kit.log), Basket, "A basket.")
        )
        register(BeanType("d.shop", ShopSettings, lambda found: Shop(found.basket), ToolSource, "A shop."))
        register(BeanType("d.user", UserSettings, lambda found: User(found.one), User, "Uses any bean."))
        for kind in (ToolSource, ToolGate, ToolInterceptor, ToolErrorHandler, ChatModel):
            name = f"d.{kind.__name__.lower()}"
            register(BeanType(name, NoSettings, own, kind, "Made by the test."))


SHOP = """
basket: {type: d.basket, bean: {scope: invocation}}
shop: {type: d.shop, basket: basket}
model: {type: scripted, turns: TURNS, bean: {scope: invocation}}
bot: {type: chat_client, model: model, tools: [shop]}
"""


def shop_of(kit: Kit, *turns: str, more: str = "") -> AgentForge:
    """The shop, where every conversation makes these calls."""
    listed = ", ".join(f'{{calls: [{{name: {name}, arguments: \'{{"what": "{name}"}}\'}}]}}' for name in turns)
    return kit.beans(SHOP.replace("TURNS", f"[{listed}, done]" if turns else "[done]") + more)


def texts(result: Any) -> list[str]:
    """What the calls of a conversation gave."""
    return [each.result_text() for each in result.tool_executions]
