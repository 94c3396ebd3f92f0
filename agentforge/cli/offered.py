"""The tools of an application's services, as a model is offered them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import beans_of, one_bean
from agentforge.cli.usage import Parser, near_miss
from agentforge.errors import ConfigurationError, UnknownToolError

if TYPE_CHECKING:
    from agentforge.client import ChatClient
    from agentforge.container import AgentForge
    from agentforge.model import ToolSpecification
    from agentforge.tool import BoundTool
    from agentforge.tool.execution import Run, ToolService

__all__ = ("Offer", "add_bean_option", "find", "offers", "run_for")


@dataclass(frozen=True, slots=True)
class Offer:
    """What one bean offers: the bean's id, its service, the client where it is one, the tools as a model gets them, and
    by name what stands behind them."""

    bean: str
    service: ToolService
    client: ChatClient | None
    tools: tuple[ToolSpecification, ...]
    bound: Mapping[str, BoundTool] = field(default_factory=dict)

    def named(self, name: str) -> ToolSpecification | None:
        """The tool of this name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def source_of(self, name: str) -> str:
        """Where a tool comes from, in words: the name of its source, and what it is where it is no function here."""
        tool = self.bound.get(name)
        if tool is None:
            return "-"
        return tool.source_name if tool.origin is None else f"{tool.source_name} ({tool.origin})"

    def data_of(self, tool: ToolSpecification) -> dict[str, Any]:
        """All that is known of a tool, as JSON values."""
        found: dict[str, Any] = {"bean": self.bean, **tool.to_json()}
        bound = self.bound.get(tool.name)
        if bound is not None:
            found |= {"source": bound.source_name, "effect": bound.effect}
            if bound.origin is not None:
                found["origin"] = asdict(bound.origin)
        return found


def add_bean_option(parser: Parser) -> None:
    """``--bean NAME``."""
    parser.add_argument(
        "--bean", metavar="NAME", help="the tool service or chat client whose tools are meant (default: all of them)"
    )


async def offers(app: AgentForge, options: argparse.Namespace) -> tuple[Offer, ...]:
    """What the services and clients of a started application offer, in the order of the file.

    Raises `ConfigurationError` when there is none.
    """
    from agentforge.client import ChatClient
    from agentforge.tool.execution import ToolService

    kinds = (ToolService, ChatClient)
    if options.bean is not None:
        ids: Sequence[str] = (one_bean(app, options.bean, "tool service or chat client", *kinds),)
    else:
        ids = tuple(beans_of(app, *kinds))
    if not ids:
        raise ConfigurationError(
            "the configuration has neither a tool service nor a chat client",
            next_step="Add a bean of type tool_service or chat_client with tools.",
        )
    made = []
    for id_ in ids:
        bean = await app.resolve(id_)
        client = bean if isinstance(bean, ChatClient) else None
        service: ToolService = bean if client is None else client.service
        made.append(Offer(id_, service, client, *await _tools(service, run_for(client))))
    return tuple(made)


def run_for(client: ChatClient | None) -> Run:
    """A run as a turn of the client has it, with its tool context, tenant, roles and memory id."""
    from agentforge.tool.execution import Run

    return Run() if client is None else client.prompt().run()


def find(found: Sequence[Offer], name: str) -> tuple[Offer, ToolSpecification]:
    """The first offer of a tool of this name, of clients before services: theirs is what a model would call.

    Raises `UnknownToolError`, and `ConfigurationError` when beans offer different tools under it.
    """
    having = [(offer, tool) for offer in found if (tool := offer.named(name)) is not None]
    if not having:
        known = tuple(dict.fromkeys(tool.name for offer in found for tool in offer.tools))
        error = UnknownToolError(f"there is no tool {name!r}", tool=name, known=known)
        error.next_step = near_miss(name, known) or f"There is {', '.join(known) or 'none'}."
        raise error
    if any(tool != having[0][1] for _, tool in having):
        beans = ", ".join(offer.bean for offer, _ in having)
        raise ConfigurationError(
            f"several beans offer different tools named {name!r}: {beans}", next_step="Add --bean NAME."
        )
    return next((each for each in having if each[0].client is not None), having[0])


async def _tools(service: ToolService, run: Run) -> tuple[tuple[ToolSpecification, ...], dict[str, BoundTool]]:
    """What a model gets in the first request of a turn: a scripted one is asked, and its request looked at."""
    from agentforge.model.scripted import ScriptedChatModel

    seen: dict[str, BoundTool] = {}

    def look(tools: Sequence[BoundTool], run: Run) -> Sequence[BoundTool]:
        seen.update((tool.name, tool) for tool in tools)
        return tools

    model = ScriptedChatModel(["No more."])
    run.selectors = (look, *run.selectors)
    await service.chat(model, None, "Which tools are there?", context=run)
    return tuple(model.requests[0].parameters.tools), seen
