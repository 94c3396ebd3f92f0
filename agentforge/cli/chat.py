"""``agentforge chat``: one question to a client, or a session with it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agentforge.cli.application import compiled, one_bean
from agentforge.cli.console import Console, not_text
from agentforge.cli.ending import run_in_order
from agentforge.cli.text import is_text
from agentforge.cli.usage import Parser, UsageError

if TYPE_CHECKING:
    from agentforge.cli.view import TurnView
    from agentforge.client import ChatClient

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """The question and how it is asked."""
    parser.surplus_hint = "Put the whole question into quotes."
    parser.add_argument(
        "text",
        nargs="?",
        metavar="TEXT",
        help="the question; - reads standard input; without it a session on a terminal, else standard input",
    )
    parser.add_argument("--bean", metavar="NAME", help="the chat client to ask (default: the only or primary one)")
    parser.add_argument("--memory-id", metavar="ID", help="the conversation's id, for memory and tools (default: new)")
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="ask for the answer in pieces (default: yes for text, no with --json)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="in a session: when a file of the configuration has changed, reload it before the next turn",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Ask once, or hold a session; the answer is the result."""
    question = _question(options, console)
    return run_in_order(_chat(options, console, question))


def _question(options: argparse.Namespace, console: Console) -> str | None:
    text: str | None = options.text
    if text is None and console.interactive:
        if console.json:
            raise UsageError("agentforge chat: --json needs a question", next_step="Give it as TEXT, or pipe it in.")
        return None
    if options.watch:
        step = "Leave the question out for a session, or leave out --watch."
        raise UsageError("agentforge chat: --watch is for a session, not for one question", next_step=step)
    where = "the question"
    if text in (None, "-"):
        text, where = console.read_all(), "standard input"
    if not is_text(text or ""):
        raise not_text(where)
    if not text or not text.strip():
        raise UsageError(f"agentforge chat: {where} is empty", next_step='Write agentforge chat "your question".')
    return text.strip()


async def _chat(options: argparse.Namespace, console: Console, question: str | None) -> int:
    from agentforge.cli.conversation import Conversation, memory_of, model_name
    from agentforge.client import ChatClient

    app = compiled(options, console)
    bean = one_bean(app, options.bean, "chat client", ChatClient)
    streamed: bool = not console.json if options.stream is None else options.stream
    async with app:
        client = await app.resolve(bean)
        view = _view(client, console, streamed=streamed)
        conversation = Conversation(client, view, streamed=streamed, memory_id=options.memory_id)
        if question is not None:
            result = await conversation.ask(question)
            return 1 if result.suspended is not None else 0
        from agentforge.cli.reloading import Reloader
        from agentforge.cli.session import Session
        from agentforge.container import FileWatch

        reloader = Reloader(
            app,
            conversation,
            console,
            wanted=options.bean,
            show=lambda client: _view(client, console, streamed=streamed),
            watch=FileWatch(app) if options.watch else None,
        )
        console.say(f"{bean}, model {model_name(client)}", style="bold")
        if memory_of(client) is not None:
            console.say(f"memory id {conversation.memory_id}", style="dim")
        return await Session(conversation, console, reloader=reloader).run()


def _view(client: ChatClient, console: Console, *, streamed: bool) -> TurnView:
    """How the turns of a client are shown; its secrets are masked."""
    from agentforge.cli.conversation import model_name
    from agentforge.cli.view import JsonView, TextView
    from agentforge.masking import Secrets

    found = getattr(client.model, "secrets", None)
    console.secrets |= client.service.secrets | (found if isinstance(found, Secrets) else Secrets())
    model = model_name(client)
    return JsonView(console, model, streamed=streamed) if console.json else TextView(console, model)
