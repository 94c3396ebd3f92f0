"""Writing what a probe found, and making sure that the bean then is what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.cli.probing.asker import Asker
from agentforge.cli.probing.claims import Claims
from agentforge.cli.probing.derived import found_capabilities, found_replay, found_while_thinking
from agentforge.cli.probing.row_file import profile_of_file, row_name, row_text
from agentforge.cli.probing.said import agree
from agentforge.cli.probing.session import Verdict
from agentforge.cli.writing import write_whole

if TYPE_CHECKING:
    from agentforge.cli.console import Console
    from agentforge.container import AgentForge, PlannedBean
    from agentforge.model import ChatModel, ModelProfile

__all__ = ("Written", "write_row")


@dataclass(frozen=True, slots=True)
class Written:
    """``use`` says how the file is used; ``left_out`` are the capabilities that differ and that no row can say."""

    use: str
    left_out: Sequence[str]


async def write_row(
    app: AgentForge,
    bean: PlannedBean,
    model: ChatModel,
    asker: Asker,
    verdicts: Sequence[Verdict],
    path: Path,
    console: Console,
) -> Written | None:
    """Write the row; ``None`` where nothing was found that one could say, and then there is no file. Raises
    `ConfigurationError` for a place that cannot be written."""
    settings: Any = bean.settings
    root = next(each for each in app.files if each.name != ".env")
    profile = profile_of_file(path, root)
    brought = app.plugins.vendor_profiles(settings.VENDORS.family)
    wanted = found_capabilities(verdicts, model.profile)
    row = _row(settings, brought, profile or path.stem, verdicts, asker, model.profile)
    if wanted:
        row["capabilities"] = wanted
    if not row.keys() - {"like", "name"}:
        return None
    further = _further(bean, row, wanted, app)
    left_out = await _left_out(_changed(bean, row, app, further), asker, verdicts, row)
    if profile is None:
        use = f"To use it name it {root.stem}-NAME{root.suffix} beside {root.name}: agentforge check --profile NAME."
    else:
        use = f"agentforge check --profile {profile}"
    name = getattr(model, "model_name", "")
    title = f"What agentforge probe found of the model {name!r} at {getattr(model, 'base_url', '')} on {date.today()}."
    text = row_text(
        bean.id,
        row,
        verdicts,
        further=further,
        title=title,
        use=f"Merged above {root.name}: {use}" if profile else use,
        left_out=left_out,
    )
    write_whole(path, console.secrets.mask(text))
    return Written(use, left_out)


async def _left_out(
    made: ChatModel, asker: Asker, verdicts: Sequence[Verdict], row: Mapping[str, object]
) -> Sequence[str]:
    """The capabilities that differ still, though the bean has the row."""
    claims = Claims(made, asker)
    differing = [each for each in verdicts if each.agrees is False]
    names: list[str] = []
    for each in differing:
        name = each.capability.name
        if name == "replay" and "replay_fields" in row:
            continue
        if each.found.lost or agree(await claims.of(each.capability), each.found) is False:
            names.append(name)
    return names


def _row(
    settings: Any,
    brought: Mapping[str, Mapping[str, object]],
    wanted: str,
    verdicts: Sequence[Verdict],
    asker: Asker,
    profile: ModelProfile,
) -> dict[str, object]:
    """The row's own fields: which one it starts from, its name, and what goes back of replies."""
    table, given = settings.VENDORS, settings.vendor
    before = table.row(table.named(given, brought, settings.base_url), base_url=settings.base_url)
    made: dict[str, object] = {}
    if isinstance(given, Mapping):
        made |= {key: given[key] for key in ("like", "name") if key in given}
    else:
        made |= {"like": before.name, "name": row_name(wanted, (*table.rows, *brought))}
    if before.thinking is not None and (lifted := found_while_thinking(verdicts, before.thinking)):
        made["thinking"] = lifted
    missing, required = found_replay(verdicts, asker, profile)
    if missing:
        made["replay_fields"] = [*before.replay_fields, *missing]
    fields = [*before.replay_fields, *missing]
    if required and fields and getattr(before, "replay_required", "") is None:
        made["replay_required"] = fields[0]
    return made


def _further(
    bean: PlannedBean, row: Mapping[str, object], wanted: Mapping[str, object], app: AgentForge
) -> dict[str, object]:
    """What the row cannot say, as something above it has another word: the bean's own overrides, or what the wire knows
    of a model by its name."""
    profile = _changed(bean, row, app).profile
    other = {
        name: value
        for name, value in wanted.items()
        if not _same(getattr(profile, name), value) and name != "tool_mode"
    }
    return {"profile_overrides": other} if other else {}


def _changed(
    bean: PlannedBean, row: Mapping[str, object], app: AgentForge, further: Mapping[str, Any] | None = None
) -> Any:
    """The model of the bean as it is with the row; it sends nothing."""
    from agentforge.plugin import BeanContext

    settings: Any = bean.settings
    assert bean.bean_type is not None
    vendor = {**settings.vendor, **row} if isinstance(settings.vendor, Mapping) else dict(row)
    overrides = {**settings.profile_overrides, **(further or {}).get("profile_overrides", {})}
    changed = settings.model_copy(update={"vendor": vendor, "profile_overrides": overrides})
    context = BeanContext(
        bean.id, bean.folder, app.plan.components, plugins=app.plugins, environment=app.plan.environment
    )
    return bean.bean_type.create(changed, context)


def _same(there: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(there.get(key) == value for key, value in wanted.items())
    return there == frozenset(wanted) if isinstance(wanted, list) else there == wanted
