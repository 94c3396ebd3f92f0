"""``agentforge chat``: one question to a client, or a session with it."""

from __future__ import annotations

import argparse
import asyncio

from agentforge.cli.application import compiled, one_bean
from agentforge.cli.console import Console, not_text
from agentforge.cli.text import is_text
from agentforge.cli.usage import Parser, UsageError

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
    parser.add_argument("--memory-id", metavar="ID", help="the conversation's id, for memory and tools")
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="ask for the answer in pieces (default: yes for text, no with --json)",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Ask once, or hold a session; the answer is the result."""
    question = _question(options, console)
    return asyncio.run(_chat(options, console, question))


def _question(options: argparse.Namespace, console: Console) -> str | None:
    text: str | None = options.text
    if text is None and console.interactive:
        if console.json:
            raise UsageError("agentforge chat: --json needs a question", next_step="Give it as TEXT, or pipe it in.")
        return None
    where = "the question"
    if text in (None, "-"):
        text, where = console.read_all(), "standard input"
    if not is_text(text or ""):
        raise not_text(where)
    if not text or not text.strip():
        raise UsageError(f"agentforge chat: {where} is empty", next_step='Write agentforge chat "your question".')
    return text.strip()


async def _chat(options: argparse.Namespace, console: Console, question: str | None) -> int:
    from agentforge.cli.conversation import Conversation
    from agentforge.cli.view import JsonView, TextView
    from agentforge.client import ChatClient
    from agentforge.masking import Secrets

    app = compiled(options, console)
    bean = one_bean(app, options.bean, "chat client", ChatClient)
    streamed: bool = not console.json if options.stream is None else options.stream
    async with app:
        client = await app.resolve(bean)
        found = getattr(client.model, "secrets", None)
        console.secrets |= client.service.secrets | (found if isinstance(found, Secrets) else Secrets())
        model = client.model.profile.name
        view = JsonView(console, model, streamed=streamed) if console.json else TextView(console, model)
        conversation = Conversation(client, view, streamed=streamed, memory_id=options.memory_id)
        if question is not None:
            result = await conversation.ask(question)
            return 1 if result.suspended is not None else 0
        from agentforge.cli.session import Session

        console.say(f"{bean}, model {model}", style="bold")
        return await Session(conversation, console).run()
