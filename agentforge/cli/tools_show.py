"""``agentforge tools show NAME``: a tool as a model sees it."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from agentforge.cli.application import compiled
from agentforge.cli.console import Console
from agentforge.cli.ending import run_in_order
from agentforge.cli.offered import Offer, add_bean_option, find, offers
from agentforge.cli.usage import Parser

if TYPE_CHECKING:
    from agentforge.model import ToolSpecification

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """The tool's name and ``--bean``."""
    parser.add_argument("name", metavar="NAME", help="the tool")
    add_bean_option(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print its name, description and JSON Schema."""
    offer, tool = run_in_order(_found(options, console))
    if console.json:
        console.data(offer.data_of(tool))
        return 0
    console.out(f"{tool.name} (bean {offer.bean})")
    bound = offer.bound.get(tool.name)
    if bound is not None and bound.origin is not None:
        console.out(f"from {offer.source_of(tool.name)}")
    if tool.description:
        console.out(f"\n{tool.description}")
    # ASCII only where a terminal may not show more is the stream's affair: it writes out what it cannot show.
    console.out(f"\n{json.dumps(tool.parameters.schema, ensure_ascii=False, indent=2)}")
    if bound is not None and bound.effect is not None:
        console.out(f"\neffect: {bound.effect}")
    if tool.strict is not None:
        console.out(f"\nstrict: {'yes' if tool.strict else 'no'}")
    return 0


async def _found(options: argparse.Namespace, console: Console) -> tuple[Offer, ToolSpecification]:
    async with compiled(options, console) as app:
        return find(await offers(app, options), options.name)
