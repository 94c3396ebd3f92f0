"""The configuration as it meets the machine: its faults, the files and programs it names, who can read its secrets.

Programs and files are found by the names of settings, of any bean type: ``command`` is a program, or a list that begins
with one; ``file``, ``NAME_file`` and ``ca_bundle`` are files, relative to the file the bean stands in. What a bean
calls, its type says (`BeanType.endpoints`).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.cli.finding import Finding
from agentforge.cli.text import count
from agentforge.config import to_value
from agentforge.errors import AgentForgeError
from agentforge.masking import Secrets

if TYPE_CHECKING:
    from agentforge.container import AgentForge, Plan, PlannedBean

__all__ = ("configuration", "secrets_of", "used_plugins")

_FILE = re.compile(r"(?:.*_)?file|ca_bundle")


def configuration(app: AgentForge, folder: Path, *, online: bool) -> Iterator[Finding]:
    """All there is to say of a configuration in a folder; with faults in it, nothing of its beans."""
    yield from _readable(app, folder)
    try:
        plan = app.plan
    except AgentForgeError as error:
        found = getattr(error, "diagnostics", None)
        if found is None:
            yield Finding("fault", error.code, error.message, error.location, error.next_step)
        else:
            yield from (Finding("fault", one.code, one.message, str(one.mark), one.next_step) for one in found)
        return
    yield Finding("ok", "configuration", f"{count(len(plan.beans), 'bean')}, no faults")
    yield from (Finding("warning", "no-effect", warning) for warning in plan.warnings)
    for bean in plan.beans.values():
        yield from _named(bean, plan)
    yield from _endpoints(app, plan, online=online)


def secrets_of(app: AgentForge) -> Secrets:
    """What must be in no output; of a configuration with faults nothing is known, and its values are in none."""
    try:
        return app.plan.secrets
    except AgentForgeError:
        return Secrets()


def used_plugins(app: AgentForge) -> frozenset[str] | None:
    """The plugins that the types of a configuration and its ``plugins`` name; ``None`` where it has faults."""
    try:
        plan = app.plan
    except AgentForgeError:
        return None
    listed = plan.tree.get("plugins") if plan.tree is not None else None
    value = to_value(listed) if listed is not None else ()
    if isinstance(value, Mapping):
        value = [*(value.get("required") or ()), *(value.get("optional") or ())]
    types = {bean.type_name.partition(".")[0] for bean in plan.beans.values() if "." in bean.type_name}
    return frozenset(types) | frozenset(map(str, value or ()))


def _readable(app: AgentForge, folder: Path) -> Iterator[Finding]:
    """Files with secrets that others on this machine may read."""
    if os.name != "posix":
        return
    files = [folder / ".env"]
    try:
        secrets = app.settings.secrets_dir
    except AgentForgeError:  # reported with the configuration
        secrets = None
    if secrets is not None and secrets.is_dir():
        files += [secrets, *sorted(secrets.iterdir())]
    for path in files:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & 0o077:
            step = f"Take the rights of others away: chmod go= {path}."
            yield Finding("warning", "secrets-readable", "others on this machine may read it", str(path), step)


def _named(bean: PlannedBean, plan: Plan) -> Iterator[Finding]:
    """Programs and files that a bean's settings name and that are not there."""
    for name, value in _settings(bean.settings):
        last = name.rpartition(".")[2]
        where = f"beans.{bean.id}.{name} ({bean.mark})"
        if last == "command":
            words = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
            program = str(words[0]).split()[0] if words and str(words[0]).split() else None
            path = plan.environment.get("PATH", os.environ.get("PATH", ""))
            if program and shutil.which(program, path=path) is None and not _runs(bean.folder / program, program):
                step = f"Install it, or give its path; it is looked for in PATH and from {bean.folder.resolve()}."
                yield Finding("fault", "program-missing", f"there is no program '{program}'", where, step)
        elif (_FILE.fullmatch(last) and isinstance(value, str | Path)) or isinstance(value, Path):
            path_there = bean.folder / Path(str(value)).expanduser()
            if not path_there.exists():
                step = "Correct the path; a relative one starts at the file the bean stands in."
                yield Finding("fault", "file-missing", f"there is no file '{path_there}'", where, step)


def _runs(path: Path, program: str) -> bool:
    return "/" in program and path.is_file() and os.access(path, os.X_OK)


def _settings(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    fields = getattr(type(settings), "model_fields", None)
    if not isinstance(fields, Mapping):
        return
    for name in fields:
        value = getattr(settings, name)
        if isinstance(getattr(type(value), "model_fields", None), Mapping):
            yield from _settings(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _endpoints(app: AgentForge, plan: Plan, *, online: bool) -> Iterator[Finding]:
    from agentforge.plugin import BeanContext

    found: dict[str, str] = {}
    for bean in plan.beans.values():
        hook = bean.bean_type.endpoints if bean.bean_type is not None else None
        if hook is None:
            continue
        context = BeanContext(
            bean.id,
            bean.folder,
            plan.components,
            plan.secrets,
            plugins=app.plugins,
            environment=plan.environment,
            trusted=plan.trust == "code",
        )
        where = f"beans.{bean.id} ({bean.mark})"
        try:
            found.update((str(address), where) for address in hook(bean.settings, context) if address not in found)
        except Exception as error:  # a plugin's: it must not hide what else there is to say
            what = f"{bean.type_name} cannot say what it calls: {type(error).__name__}: {error}"
            yield Finding("warning", "endpoint-unknown", what, where, "Correct the plugin's endpoints.")
    if online and found:
        from agentforge.cli.reaching import reached

        yield from reached(found)
        return
    for address, where in found.items():
        yield Finding("ok", "endpoint", f"{address} was not tried (--online tries it)", where)
