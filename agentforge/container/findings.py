"""The checks of bean types, run over what is planned, and their findings made faults at their places."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from agentforge.config import Mark, Reporter, mark_of
from agentforge.config.codes import BAD_VALUE
from agentforge.container import codes
from agentforge.container.draft import Draft
from agentforge.container.known import Known
from agentforge.container.plan import Pending
from agentforge.errors import AgentForgeError
from agentforge.masking import Secrets
from agentforge.plugin import CheckContext, CheckedBean, Components, Finding

__all__ = ("run_checks",)


def run_checks(
    known: Known,
    *,
    whole: Collection[str],
    components: Components,
    environment: Mapping[str, str],
    folder_of: Callable[[Mark], Path],
    reporter: Reporter,
    secrets: Secrets,
    inside: Path | None = None,
    vendor_profiles: Callable[[str], Mapping[str, Any]],
) -> None:
    """Ask the type of every bean that has no faults so far; ``whole`` are those whose component is known,
    ``inside`` the folder that a stranger's files may not leave; ``vendor_profiles`` gives the vendors that plugins
    bring.

    A check that raises is reported as a fault of its type.
    """

    def look_up(value: object) -> CheckedBean | None:
        found = known.drafts.get(value.id) if isinstance(value, Pending) else None
        if found is None:
            return None
        usable = found.bean_type is None or found.bean_type.component is None or found.id in whole
        settings = found.settings if usable else None
        return CheckedBean(found.id, found.bean_type, found.provides, settings, found.given, folder_of(found.mark))

    shared: dict[object, object] = {}
    for draft in list(known.drafts.values()):
        kind = draft.bean_type
        if kind is None or draft.settings is None:
            continue
        common = getattr(draft.settings, "findings", None) if hasattr(kind.settings, "findings") else None
        if kind.check is None and common is None:
            continue
        if kind.component is not None and draft.id not in whole:
            continue
        context = CheckContext(
            draft.id,
            folder_of(draft.mark),
            components,
            environment,
            look_up,
            shared,
            inside=inside,
            vendor_profiles=vendor_profiles,
        )
        try:
            for finding in (common(context) or ()) if common is not None else ():
                _report(draft, finding, reporter, secrets)
            for finding in (kind.check(draft.settings, context) or ()) if kind.check is not None else ():
                _report(draft, finding, reporter, secrets)
            draft.arranged = dict(context.arranged)
        except AgentForgeError as error:
            _report(draft, Finding(error.message, next_step=error.next_step), reporter, secrets)
        except Exception as error:
            words = secrets.mask(f"{type(error).__name__}: {error}")
            message = f"the check of the bean type '{kind.name}' failed: {words}"
            step = "It is a mistake of the type's own; tell its author."
            reporter.report(codes.PLUGIN_UNUSABLE, message, draft.mark, next_step=step, path=f"beans.{draft.id}")


def _report(draft: Draft, finding: Finding, reporter: Reporter, secrets: Secrets) -> None:
    way = [int(step) if step.isdecimal() else step for step in finding.path.split(".") if step]
    mark = mark_of(draft.definition.settings, way) if draft.definition is not None and way else draft.mark
    where = ".".join(("beans", draft.id, *map(str, way)))
    code = finding.code or BAD_VALUE
    reporter.report(code, secrets.mask(finding.message), mark, next_step=finding.next_step, path=where)
