"""``agentforge probe MODEL_BEAN``: the check of a key and an endpoint, and what the model behind them really can."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import compiled, one_bean
from agentforge.cli.console import Console
from agentforge.cli.ending import run_in_order
from agentforge.cli.text import count, table
from agentforge.cli.usage import Parser, UsageError, near_miss
from agentforge.errors import ConfigurationError
from agentforge.masking import Secrets

if TYPE_CHECKING:
    from agentforge.cli.probing.asker import Asker
    from agentforge.cli.probing.capability import Capability
    from agentforge.cli.probing.session import Verdict
    from agentforge.container import AgentForge, PlannedBean
    from agentforge.model import ChatModel

__all__ = ("arguments", "run")

_NOT_LIFTED = "it has no endpoint, so only what it lets through is asked"


def arguments(parser: Parser) -> None:
    """The model, what is asked of it, and where the row is written."""
    parser.add_argument("bean", metavar="MODEL_BEAN", help="the model: a bean of the configuration")
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="probe this capability alone; repeatable"
    )
    parser.add_argument("--write", metavar="FILE", help="write what was found as a vendor row, as a profile file")
    parser.add_argument("--force", action="store_true", help="overwrite the file")
    parser.add_argument(
        "--tries", metavar="N", type=_whole, default=3, help="ask so often while the model does not go along (3)"
    )
    parser.add_argument(
        "--max-tokens", metavar="N", type=_whole, default=2000, help="the most tokens of one reply (2000)"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=_seconds, default=60.0, help="the longest wait for one reply (60)"
    )


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _seconds(text: str) -> float:
    seconds = float(text.removesuffix("s"))
    if not 0 < seconds < 86_400:
        raise ValueError(text)
    return seconds


def run(options: argparse.Namespace, console: Console) -> int:
    """Ask, and print each capability beside what the profile says; 1 where they differ or nothing answers."""
    from agentforge.cli.probing.capability import CAPABILITIES

    names = [each.name for each in CAPABILITIES]
    for name in options.only:
        if name not in names:
            step = near_miss(name, names) or f"There is {', '.join(names)}."
            raise UsageError(f"agentforge probe: there is no capability {name!r}", next_step=step)
    return run_in_order(_probe(options, console))


async def _probe(options: argparse.Namespace, console: Console) -> int:
    from agentforge.cli.probing.allowing import bounded, is_endpoint, without_reservations
    from agentforge.cli.probing.asker import Asker
    from agentforge.cli.probing.claims import Claims
    from agentforge.cli.probing.found import NoAnswer
    from agentforge.cli.probing.session import Session, chosen
    from agentforge.cli.probing.steps import with_step
    from agentforge.container.alone import one_bean_alone
    from agentforge.model import ChatModel

    app = compiled(options, console)
    bean = app.plan.beans[one_bean(app, options.bean, "chat model", ChatModel)]
    target = _target(options, bean)
    endpoints = any(is_endpoint(app.plan.beans[each]) for each in app.plan.closure(bean.id))

    def as_it_is(each: PlannedBean) -> PlannedBean:
        return bounded(each, options.timeout)

    def lifted(each: PlannedBean) -> PlannedBean:
        return without_reservations(each, options.timeout)

    async with (
        one_bean_alone(app, bean.id, changed=as_it_is) as model,
        one_bean_alone(app, bean.id, changed=lifted if endpoints else as_it_is) as asked,
    ):
        for each in (model, asked):
            found = getattr(each, "secrets", None)
            console.secrets |= found if isinstance(found, Secrets) else Secrets()
        console.secrets |= app.plan.secrets
        asker = Asker(asked, max_tokens=options.max_tokens, timeout=options.timeout)
        capabilities = chosen(options.only, model.profile)
        _announce(model, bean, capabilities, options, console)
        if not endpoints and not console.json:
            console.say(f"{bean.id}: {_NOT_LIFTED}", style="dim")

        def told(number: int, verdict: Verdict) -> None:
            _progress(number, len(capabilities), verdict, console)

        session = Session(
            asker, capabilities, Claims(model, asker).of, tries=options.tries, native=endpoints, told=told
        )
        try:
            verdicts = await session.run()
        except NoAnswer as end:
            raise with_step(end.error, bean, options.timeout) from None
        return await _end(app, bean, model, asker, verdicts, target, console)


def _announce(
    model: ChatModel,
    bean: PlannedBean,
    capabilities: Sequence[Capability],
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Who is asked, and what it may cost."""
    from agentforge.cli.probing.session import MOST_UNANSWERED

    usual = sum(each.requests for each in capabilities)
    most = sum(each.requests + each.further for each in capabilities) * options.tries
    most += len(capabilities) // MOST_UNANSWERED
    if console.json:
        console.say_data({"bean": bean.id, "requests": usual, "at_most": most})
        return
    address = getattr(model, "base_url", None)
    name = getattr(model, "model_name", None) or model.profile.name
    who = f"{bean.id}: {name}{f' at {address}' if address else ''}, as {model.profile.name} ({bean.type_name})"
    console.say(console.secrets.mask(who), style="bold")
    each = f"each for at most {options.max_tokens:,} tokens"
    console.say(f"{count(usual, 'request')} if the model goes along, at most {most}, {each}")


def _progress(number: int, total: int, verdict: Verdict, console: Console) -> None:
    name, status = verdict.capability.name, verdict.found.status
    if console.json:
        console.say_data({"number": number, "of": total, "name": name, "found": status})
        return
    console.say(f"{number:>3}/{total} {name}: {status}", style="yellow" if verdict.agrees is False else "dim")


async def _end(
    app: AgentForge,
    bean: PlannedBean,
    model: ChatModel,
    asker: Asker,
    verdicts: Sequence[Verdict],
    target: Path | None,
    console: Console,
) -> int:
    differing = [verdict for verdict in verdicts if verdict.agrees is False]
    written = None
    if target is not None:
        from agentforge.cli.probing.writing import write_row

        written = await write_row(app, bean, model, asker, verdicts, target, console)
    if console.json:
        console.data(
            {
                "bean": bean.id,
                "type": bean.type_name,
                "model": getattr(model, "model_name", None),
                "endpoint": getattr(model, "base_url", None),
                "vendor": model.profile.name,
                "agrees": not differing,
                "requests": asker.sent,
                "capabilities": [_data(verdict) for verdict in verdicts],
                "file": str(target) if written is not None else None,
                "not_in_file": list(written.left_out) if written is not None else [],
            }
        )
    else:
        rows = [
            (each.capability.name, each.says, _shown(each), each.found.note or each.capability.asks)
            for each in verdicts
        ]
        console.out(console.secrets.mask(table(("capability", "profile", "found", "note"), rows)))
        console.out(_summary(verdicts, asker))
        if written is not None:
            console.out(f"{target}: written{'' if differing else ', though nothing differs from the profile'}")
    if written is not None:
        if written.left_out and not console.json:
            console.say(f"the row cannot say this: {', '.join(written.left_out)}", style="yellow")
        console.say(f"next: {written.use}")
    elif target is not None:
        console.say(f"{target}: not written, as nothing was found that a row could say", style="yellow")
    return 1 if differing else 0


def _shown(verdict: Verdict) -> str:
    return verdict.found.status if verdict.agrees is not False else f"{verdict.found.status} <-"


def _summary(verdicts: Sequence[Verdict], asker: Asker) -> str:
    differing = [verdict for verdict in verdicts if verdict.agrees is False]
    unsure = [each.capability.name for each in verdicts if each.found.status == "unsure"]
    asked = f"{count(asker.sent, 'request')} sent"
    open_ = f"; nothing can be said of {', '.join(unsure)}" if unsure else ""
    if not differing:
        return f"\nthe profile agrees{open_}; {asked}"
    less = [each.capability.name for each in differing if each.found.status != "yes"]
    more = [each.capability.name for each in differing if each.found.status == "yes"]
    parts = [f"less than the profile says: {', '.join(less)}"] if less else []
    parts += [f"more than it says: {', '.join(more)}"] if more else []
    return f"\n{count(len(differing), 'difference')}: {'; '.join(parts)}{open_}; {asked}"


def _data(verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.capability.name,
        "profile": verdict.says,
        "found": verdict.found.status,
        "agrees": verdict.agrees,
        "note": verdict.found.note,
    }


def _target(options: argparse.Namespace, bean: PlannedBean) -> Path | None:
    """Where the row goes. Raises `ConfigurationError` before anything is asked where it could not be written."""
    if options.write is None:
        return None
    from agentforge.cli.probing.allowing import is_endpoint

    path = Path(options.write)
    if not is_endpoint(bean):
        raise ConfigurationError(
            f"the bean '{bean.id}' has no vendor row that could be written: its type is {bean.type_name}",
            location=str(bean.mark),
            next_step="Leave out --write, or probe the models that it stands for.",
        )
    if path.exists() and not options.force:
        raise ConfigurationError(
            f"the file '{path}' is there already", next_step="Name another file, or overwrite it with --force."
        )
    return path
