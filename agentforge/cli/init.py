"""``agentforge init``: a project, or with ``--plugin`` a plugin, that runs and passes its tests at once."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from agentforge.cli.console import Console
from agentforge.cli.scaffold import rendered, write_new
from agentforge.cli.usage import Parser, UsageError

__all__ = ("arguments", "run")

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def arguments(parser: Parser) -> None:
    """The folder, and ``--plugin``."""
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        help="where to (default: this folder; for a plugin agentforge-plugin-NAME in it)",
    )
    parser.add_argument("--plugin", metavar="NAME", help="a plugin distribution instead, whose types are NAME.*")


def run(options: argparse.Namespace, console: Console) -> int:
    """Write the files and say what to do next; 1 when one of them is there already, and then none is written.

    Raises `UsageError` for a name that a plugin cannot have.
    """
    if options.plugin is None:
        folder, texts = Path(options.folder or "."), rendered("project", {})
        steps = ["agentforge check", 'agentforge chat "What is tea?"', "python -m pytest"]
    else:
        name = _checked(options.plugin)
        folder, texts = _plugin(name, options.folder)
        steps = ['python -m pip install -e ".[test]"', "python -m pytest", "agentforge plugins"]
    write_new(folder, texts)
    if options.plugin is not None:
        _warn_of_its_name(options.plugin, console)
    if folder != Path("."):
        steps.insert(0, f"cd {shlex.quote(str(folder))}")
    if console.json:
        console.data({"folder": str(folder), "files": list(texts), "next": steps})
        return 0
    for path in texts:
        console.out(str(folder / path))
    console.say("\nnext:\n" + "\n".join(f"  {step}" for step in steps))
    return 0


def _warn_of_its_name(name: str, console: Console) -> None:
    from agentforge.plugin.discovery import discover

    taken = next((found.distribution for found in discover() if found.name == name), None)
    if taken is not None:
        console.say(
            f"warning: {taken} brings a plugin {name!r} already; of two distributions with one name none is loaded",
            style="yellow",
        )


def _plugin(name: str, folder: str | None) -> tuple[Path, dict[str, str]]:
    from agentforge import __version__
    from agentforge.plugin.discovery import usual_distribution

    distribution = usual_distribution(name)
    marks = {
        "__NAME__": name,
        "__MODULE__": f"agentforge_{name}",
        "__DISTRIBUTION__": distribution,
        "__VERSION__": __version__,
    }
    return Path(folder or distribution), rendered("plugin", marks)


def _checked(name: str) -> str:
    """The name; raises `UsageError` when no plugin can have it."""
    from agentforge.cli.commands import COMMANDS

    if not _NAME.fullmatch(name):
        words = re.findall(r"[a-z0-9]+", name.lower().removeprefix("agentforge-plugin-").removeprefix("agentforge_"))
        like = re.sub(r"^[^a-z]+", "", "_".join(words))
        step = f"Use --plugin {like}." if like else "Use a name such as --plugin notes."
        raise UsageError(
            f"agentforge init: {name!r} is no name of a plugin: small letters, digits and _, a letter first",
            next_step=step,
        )
    if name in {command.split()[0] for command in COMMANDS}:
        raise UsageError(
            f"agentforge init: {name!r} is a command of the program, so a plugin's own commands could not be called",
            next_step=f"Use another name, such as --plugin my_{name}.",
        )
    return name
