"""``agentforge schema``: a JSON Schema of the configuration file, with the bean types that are installed."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentforge.cli.application import config_file, plugins_of
from agentforge.cli.console import Console
from agentforge.cli.text import count
from agentforge.cli.usage import Parser

if TYPE_CHECKING:
    from agentforge.plugin import BeanType, Plugins

__all__ = ("arguments", "installed_types", "run")


def arguments(parser: Parser) -> None:
    """``-o FILE``."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write it to FILE (default: standard output)")


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the schema, or write it and say so; plugins that cannot be used are named and left out."""
    from agentforge.plugin.json_schema import configuration_schema

    plugins = plugins_of(console.environment)
    types = installed_types(plugins)
    for state in plugins.states():
        if not state.usable and state.state != "blocked":
            console.say(f"warning: {state}; its types are left out", style="yellow")
    schema = configuration_schema(types)
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    if options.output is None:
        console.data(schema) if console.json else console.out(text, end="")
        return 0
    from agentforge.cli.writing import write_whole

    path = Path(options.output)
    write_whole(path, text)
    if console.json:
        console.data({"file": str(path), "types": list(types)})
        return 0
    console.out(f"{path}: written, with {count(len(types), 'bean type')}")
    # The editor reads the path from the configuration's folder.
    folder = Path(config_file(options, console.environment)).resolve().parent
    line = f"# yaml-language-server: $schema={Path(os.path.relpath(path.resolve(), folder)).as_posix()}"
    console.out(f"For an editor, as the first line of the configuration: {line}")
    return 0


def installed_types(plugins: Plugins) -> dict[str, BeanType]:
    """The core's bean types and those of every plugin that can be used; each plugin is loaded."""
    plugins.load_all()
    found = dict(plugins.builtin_types())
    for name in plugins.names:
        found |= plugins.types_of(name)
    return found
