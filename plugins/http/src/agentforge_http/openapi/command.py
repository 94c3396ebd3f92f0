"""``agentforge http import SPEC``: what would be imported of a description, and what not, and why."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agentforge.cli import Console, Parser, count, run_in_order, table
from agentforge.errors import ConfigurationError
from agentforge.http import parse_base_url
from agentforge.plugin import Command
from agentforge_http.openapi.description import METHODS, described
from agentforge_http.openapi.documents import Documents, file_documents, is_url
from agentforge_http.openapi.importing import ImportOptions, import_description, named_operations
from agentforge_http.openapi.loading import unknown_names
from agentforge_http.openapi.report import ImportReport
from agentforge_http.sender import HttpSender

__all__ = ("import_arguments", "import_command", "run_import")

_MAX_BYTES = 32 * 1024 * 1024


def import_command() -> Command:
    """The command."""
    return Command(
        "import",
        "print what of an OpenAPI description would become tools, and what not, and why",
        run_import,
        "SPEC",
        import_arguments,
    )


def import_arguments(parser: Parser) -> None:
    """``SPEC`` and what chooses of it."""
    parser.add_argument("spec", metavar="SPEC", help="a file or an http or https address")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="operations to import; * and ? fit")
    parser.add_argument(
        "--except", dest="without", action="append", default=[], metavar="NAME", help="operations to leave out"
    )
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="only operations with this tag")
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="METHOD",
        type=str.upper,
        choices=[method.upper() for method in METHODS],
        help="only operations with this method",
    )
    parser.add_argument(
        "--rename", action="append", default=[], metavar="OLD=NEW", type=_pair, help="another name for a tool"
    )
    parser.add_argument("--prefix", default="", metavar="TEXT", help="put in front of every tool's name")
    parser.add_argument(
        "--effect",
        action="append",
        default=[],
        metavar="NAME=read|write",
        type=_effect,
        help="what operations do to the world; * and ? fit",
    )
    parser.add_argument("--base-url", metavar="URL", help="the address of the API; default: the description's server")
    parser.add_argument("--schemas", action="store_true", help="with --json: the schemas of the arguments, too")


def run_import(options: argparse.Namespace, console: Console) -> int:
    """Print the report; 1 when nothing could be imported. Raises `ConfigurationError` for what cannot be read."""
    if options.base_url is not None:
        parse_base_url(options.base_url, "--base-url")
    documents = run_in_order(_fetched(options.spec)) if is_url(options.spec) else _read(options.spec)
    imported = import_description(
        documents,
        ImportOptions(
            base_url=options.base_url,
            only=tuple(options.only),
            without=tuple(options.without),
            tags=tuple(options.tag),
            methods=tuple(options.method),
            rename=dict(options.rename),
            prefix=options.prefix,
            effects=dict(options.effect),
            has_auth=True,
            needs_server=False,
        ),
    )
    report = replace(imported.report, notes=(*imported.report.notes, *_unknown(options, documents)))
    if console.json:
        data = report.to_json()
        if options.schemas:
            data["schemas"] = {each.name: dict(each.schema) for each in imported.operations}
        console.data(data)
    else:
        _print(report, console)
    return 0 if imported.operations else 1


def _unknown(options: argparse.Namespace, documents: Documents) -> Iterator[str]:
    """What was said of operations that are not there."""
    patterns = [*options.only, *options.without, *(name for name, _ in options.effect)]
    named = named_operations(described(documents))
    names = list(dict.fromkeys(name for each in named for name in (each.name, each.own_name)))
    wanted = [(name, "") for name in dict.fromkeys(patterns)]
    found = [*unknown_names(wanted, names, are_patterns=True)]
    found += unknown_names([(name, "") for name, _ in options.rename], names)
    return (f"{each.message}. {each.next_step}" for each in found)


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.rpartition("=")
    if not (mark and name and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not written as OLD=NEW")
    return name, value


def _effect(text: str) -> tuple[str, str]:
    name, mark, value = text.rpartition("=")
    if not (mark and name and value in ("read", "write")):
        raise argparse.ArgumentTypeError(f"{text!r} is not written as NAME=read or NAME=write")
    return name, value


def _read(spec: str) -> Documents:
    path = Path(spec)
    if not path.exists():
        step = "It is relative to the folder you are in; an address begins with http:// or https://."
        raise ConfigurationError(f"there is no file {spec!r}", next_step=step)
    return file_documents(path, max_bytes=_MAX_BYTES)


async def _fetched(url: str) -> Documents:
    from agentforge_http.openapi.fetching import fetch_description

    sender = HttpSender(max_response_bytes=_MAX_BYTES, follow_redirects=True)
    try:
        return await fetch_description(url, sender, max_bytes=_MAX_BYTES, trusted=True)
    finally:
        await sender.aclose()


def _print(report: ImportReport, console: Console) -> None:
    version = f" {report.version}" if report.version else ""
    console.out(f"{report.title}{version} ({report.format})")
    if report.operations:
        tools = [
            (each.name, f"{each.method} {each.path}", each.effect, " or ".join(each.security), "; ".join(each.notes))
            for each in report.operations
        ]
        console.out("")
        console.out(table(("tool", "operation", "effect", "security", "notes"), tools))
    unwanted = [each for each in report.left_out if each.is_unwanted]
    broken = [each for each in report.left_out if not each.is_unwanted]
    if broken:
        rows = [(each.kind, each.name or "", each.place, each.reason) for each in broken]
        console.out("")
        console.out(table(("left out", "name", "what", "why"), rows))
    console.out("")
    told = [f"{count(len(report.operations), 'operation')} imported"]
    if broken:
        told.append(f"{len(broken)} left out")
    if unwanted:
        told.append(f"{len(unwanted)} not chosen")
    console.out(", ".join(told))
    for name, scheme in report.schemes.items():
        console.out(f"security scheme {name}: {scheme}")
    servers = list(dict.fromkeys(each.server for each in report.operations if each.server))
    if servers:
        console.out(f"requests go to {', '.join(servers)}")
    if report.keywords:
        console.out(f"keywords left out of schemas: {', '.join(report.keywords)}")
    for note in report.notes:
        console.out(f"note: {note}")
