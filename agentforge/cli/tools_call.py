"""``agentforge tools call NAME [JSON]``: one call on the way a model's call takes, without a model."""

from __future__ import annotations

import argparse

from agentforge.cli.application import compiled
from agentforge.cli.console import Console
from agentforge.cli.ending import run_in_order
from agentforge.cli.offered import add_bean_option, find, offers, run_for
from agentforge.cli.one_call import call_tool, error_of, json_text, show_execution
from agentforge.cli.usage import Parser

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """The tool's name, its arguments and ``--bean``."""
    parser.surplus_hint = 'Put the JSON into quotes: \'{"city": "Paris"}\'.'
    parser.add_argument("name", metavar="NAME", help="the tool")
    parser.add_argument(
        "json_text", nargs="?", metavar="JSON", help="its arguments, a JSON object; - reads standard input"
    )
    add_bean_option(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Call it through validation, gates, limits and interceptors. Its result is the result, its error the error,
    whatever the service's error handlers would tell a model."""
    run_in_order(_call(options, console, json_text(options, console)))
    return 0


async def _call(options: argparse.Namespace, console: Console, text: str) -> None:
    async with compiled(options, console) as app:
        offer, _ = find(await offers(app, options), options.name)
        # In a turn of the client whose tool it is.
        execution = await call_tool(offer.service, options.name, text, run_for(offer.client))
        if execution.has_failed():
            raise error_of(execution)
        # Before the beans are closed: the tool has run, whatever becomes of them.
        show_execution(execution, console)
