"""``agentforge tools show NAME``: a tool as a model sees it, and as a provider would get it."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import compiled
from agentforge.cli.console import Console
from agentforge.cli.ending import run_in_order
from agentforge.cli.offered import Offer, add_bean_option, find, offers
from agentforge.cli.provider_view import ProviderView, provider_views
from agentforge.cli.usage import Parser

if TYPE_CHECKING:
    from agentforge.model import ToolSpecification

__all__ = ("arguments", "run")

_STRICT: dict[object, object] = {True: "yes", False: "no"}


def arguments(parser: Parser) -> None:
    """The tool's name, ``--bean`` and ``--provider``."""
    parser.add_argument("name", metavar="NAME", help="the tool")
    add_bean_option(parser)
    parser.add_argument(
        "--provider",
        metavar="NAME",
        help="show what a provider would get: a model of the file, a plugin, a type of model, or a vendor",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Print its name, description and JSON Schema, or what the provider would get; 1 where one would refuse it."""
    offer, tool, views = run_in_order(_found(options, console))
    code = 1 if any(view.refused for view in views) else 0
    if console.json:
        data = offer.data_of(tool)
        console.data(data | {"providers": [_data(view) for view in views]} if options.provider else data)
        return code
    console.out(f"{tool.name} (bean {offer.bean})")
    bound = offer.bound.get(tool.name)
    if bound is not None and bound.origin is not None:
        console.out(f"from {offer.source_of(tool.name)}")
    if options.provider:
        for view in views:
            _show(view, console)
        return code
    if tool.description:
        console.out(f"\n{tool.description}")
    # ASCII only where a terminal may not show more is the stream's affair: it writes out what it cannot show.
    console.out(f"\n{json.dumps(tool.parameters.schema, ensure_ascii=False, indent=2)}")
    if bound is not None and bound.effect is not None:
        console.out(f"\neffect: {bound.effect}")
    if tool.strict is not None:
        console.out(f"\nstrict: {_STRICT.get(tool.strict, tool.strict)}")
    return 0


def _show(view: ProviderView, console: Console) -> None:
    console.out(f"\nas {view.model} gets it:")
    if view.refused is not None:
        console.out(f"refused: {view.refused}")
        if view.next_step:
            console.out(f"  {view.next_step}")
    if view.tool is not None:
        console.out(json.dumps(view.tool, ensure_ascii=False, indent=2))
    for change in view.changed:
        console.out(f"{change['code']}: {change['message']}")


def _data(view: ProviderView) -> dict[str, Any]:
    data = {"model": view.model, "tool": view.tool, "changed": list(view.changed), "refused": view.refused}
    return data | {"next_step": view.next_step} if view.refused is not None else data


async def _found(
    options: argparse.Namespace, console: Console
) -> tuple[Offer, ToolSpecification, tuple[ProviderView, ...]]:
    async with compiled(options, console) as app:
        offer, tool = find(await offers(app, options), options.name)
        views = await provider_views(app, options.provider, tool) if options.provider else ()
        return offer, tool, views
