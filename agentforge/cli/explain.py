"""``agentforge explain``: the beans and their order, who set which value, why a bean is out, what a code means."""

from __future__ import annotations

import argparse

from agentforge.cli.application import compiled, config_file
from agentforge.cli.console import Console
from agentforge.cli.error_codes import is_code
from agentforge.cli.usage import Parser, UsageError

__all__ = ("arguments", "run")

_FORMATS = ("text", "mermaid", "dot", "json")


def arguments(parser: Parser) -> None:
    """``PATH`` and ``--format``."""
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        help="a bean (beans.model), a value (beans.model.base_url) or an error code (AF107); default: all beans",
    )
    parser.add_argument("--format", choices=_FORMATS, default="text", help="how all beans are drawn (default: text)")


def run(options: argparse.Namespace, console: Console) -> int:
    """Print what is known of a code, of one value, of one bean, or of all. Raises what `AgentForge.check` raises."""
    console.json = console.json or options.format == "json"
    if options.json and options.format in ("mermaid", "dot"):
        raise UsageError(
            f"agentforge explain: --json and --format {options.format} ask for two things",
            next_step="Give one of them.",
        )
    if options.path is not None and is_code(options.path):
        from agentforge.cli.explain_code import explain_code

        explain_code(options.path.upper(), console)
        return 0
    app = compiled(options, console)
    from agentforge.cli.explain_data import Explained
    from agentforge.cli.explain_text import bean_text, graph_text, value_text

    explained = Explained(app.plan, config_file(options, console.environment), console.environment)
    if options.path is None:
        if options.format in ("mermaid", "dot"):
            from agentforge.cli.explain_graph import drawn

            _show(drawn(explained.graph(), options.format), console)
        elif console.json:
            console.data(explained.whole())
        else:
            _show(graph_text(explained.whole()), console)
        return 0
    found = explained.at(options.path)
    if console.json:
        console.data(found)
    else:
        _show(bean_text(found) if "uses" in found else value_text(found), console)
    return 0


def _show(text: str, console: Console) -> None:
    console.out(console.secrets.mask(text))
