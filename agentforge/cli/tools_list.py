"""``agentforge tools list``: which tools models are offered, and by which bean."""

from __future__ import annotations

import argparse

from agentforge.cli.application import compiled
from agentforge.cli.console import Console
from agentforge.cli.ending import run_in_order
from agentforge.cli.offered import Offer, add_bean_option, offers
from agentforge.cli.text import table
from agentforge.cli.usage import Parser

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """``--bean``."""
    add_bean_option(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """List them, bean by bean."""
    found = run_in_order(_found(options, console))
    if console.json:
        console.data([offer.data_of(tool) for offer in found for tool in offer.tools])
        return 0
    rows = [
        (
            offer.bean,
            tool.name,
            offer.source_of(tool.name),
            ", ".join(tool.parameters.properties),
            (tool.description or "").partition("\n")[0],
        )
        for offer in found
        for tool in offer.tools
    ]
    if rows:
        console.out(table(("bean", "tool", "source", "parameters", "description"), rows))
    else:
        console.say(f"no tools are offered by {', '.join(offer.bean for offer in found)}")
    return 0


async def _found(options: argparse.Namespace, console: Console) -> tuple[Offer, ...]:
    async with compiled(options, console) as app:
        return await offers(app, options)
