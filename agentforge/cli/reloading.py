"""``/reload`` and ``--watch``: the session goes on with the beans of the configuration as it is now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import one_bean
from agentforge.cli.console import Console
from agentforge.cli.conversation import Conversation, model_name
from agentforge.cli.faults import report

if TYPE_CHECKING:
    from agentforge.cli.view import TurnView
    from agentforge.client import ChatClient
    from agentforge.container import AgentForge, FileWatch, Plan

__all__ = ("Reloader",)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A plan that nothing is built from yet, to choose a bean of."""

    plan: Plan


class Reloader:
    """Reloads the application of a conversation and puts the conversation, with its history, on the new client.

    ``wanted`` is the bean that the user named; ``show`` makes the view for a client. With ``watch`` changes are
    noticed. Whatever goes wrong is shown, and the conversation goes on with the beans of before.
    """

    def __init__(
        self,
        app: AgentForge,
        conversation: Conversation,
        console: Console,
        *,
        wanted: str | None,
        show: Callable[[ChatClient], TurnView],
        watch: FileWatch | None = None,
    ) -> None:
        self._app = app
        self._conversation = conversation
        self._console = console
        self._wanted = wanted
        self._show = show
        self._watch = watch

    async def reload(self) -> None:
        """Read the configuration again."""
        if self._watch is not None:
            self._watch.changed()  # these changes are seen to now
        await self._reload()

    async def reload_if_changed(self) -> None:
        """Read the configuration again where one of its files has changed; says which."""
        changed = self._watch.changed() if self._watch is not None else ()
        if changed:
            names = ", ".join(path.name for path in changed)
            self._console.say(f"{names} changed", style="dim")
            await self._reload()

    async def _reload(self) -> None:
        from agentforge.client import ChatClient

        app, console = self._app, self._console
        found: list[str] = []
        clients: list[ChatClient] = []

        async def ready(resolve: Callable[[str], Awaitable[Any]]) -> None:
            clients.append(await resolve(found[0]))

        try:
            await app.reload(
                accept=lambda plan: found.append(one_bean(_Planned(plan), self._wanted, "chat client", ChatClient)),
                ready=ready,
            )
        except Exception as error:
            if self._watch is not None:
                self._watch.widen()
            report(error, console)
            console.say("not reloaded; the conversation goes on with the beans of before", style="yellow")
            return
        client = clients[0]
        if self._watch is not None:
            self._watch.renew()
        console.secrets |= app.plan.secrets
        console.loggers = app.plan.components.roots
        for warning in app.warnings:
            console.say(f"warning: {warning}", style="yellow")
        self._conversation.use(client, self._show(client))
        console.say(f"reloaded: {found[0]}, model {model_name(client)}", style="green")
