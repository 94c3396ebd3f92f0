"""From the settings of a bean to its operations, and every way in which the two do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError
from agentforge.plugin import Finding
from agentforge_http.openapi.description import described
from agentforge_http.openapi.documents import Documents
from agentforge_http.openapi.importing import (
    Imported,
    ImportOptions,
    NamedOperation,
    import_description,
    matches,
    named_operations,
)
from agentforge_http.picking import pick_of

if TYPE_CHECKING:
    from agentforge_http.openapi.settings import OpenApiSettings

__all__ = ("faults_of", "load_operations", "options_of", "pick_faults")


def options_of(settings: OpenApiSettings, *, trusted: bool) -> ImportOptions:
    """What the settings want of a description."""
    return ImportOptions(
        base_url=settings.base_url,
        server_variables=settings.server_variables,
        only=settings.only,
        without=settings.left_out,
        tags=settings.tags,
        methods=tuple(method.upper() for method in settings.methods),
        rename=settings.rename,
        describe=settings.describe,
        prefix=settings.prefix,
        effects=settings.effects,
        pick=settings.pick,
        trusted=trusted,
        carries_credentials=settings.carries_credentials,
        has_auth=settings.has_auth,
        auth_schemes=frozenset((*settings.auth_by_scheme, *settings.tokens_by_scheme)),
        allow_hosts=settings.allow_hosts,
        given=settings.given,
        idempotency_header=settings.idempotency_header,
    )


def load_operations(documents: Documents, settings: OpenApiSettings, *, trusted: bool) -> Imported:
    """The operations. Raises `ConfigurationError` for the first thing that does not fit."""
    imported = import_description(documents, options_of(settings, trusted=trusted))
    for fault in faults_of(documents, settings, imported):
        place = f"{fault.path}: " if fault.path else ""
        raise ConfigurationError(f"{place}{fault.message}", next_step=fault.next_step)
    return imported


def faults_of(documents: Documents, settings: OpenApiSettings, imported: Imported) -> Iterator[Finding]:
    """What in the settings fits nothing in the description, and what of it cannot be."""
    named = named_operations(described(documents))
    names = list(dict.fromkeys(name for each in named for name in (each.name, each.own_name)))
    found = [*_unknown(settings, names), *_tags(settings, named)]
    if imported.operations or imported.server_fault is None:
        found += _broken(settings, imported)
    yield from found
    yield from pick_faults(settings)
    if imported.operations or not found:
        yield from _tools(settings, imported)


def pick_faults(settings: OpenApiSettings) -> Iterator[Finding]:
    """Expressions of ``pick`` that cannot be parsed."""
    for pattern, expression in settings.pick.items():
        try:
            pick_of(expression)
        except ConfigurationError as error:
            yield Finding(error.message, f"pick.{pattern}", error.next_step)


def _broken(settings: OpenApiSettings, imported: Imported) -> Iterator[Finding]:
    """Operations that are named, and cannot be imported."""
    left_out = [each for each in imported.report.left_out if each.kind == "operation" and not each.is_unwanted]
    for number, name in enumerate(settings.only):
        for each in left_out:
            if name in (each.name, each.own_name):
                yield Finding(f"the operation {name!r} cannot be imported: {each.reason}", f"only.{number}")


def _tags(settings: OpenApiSettings, named: Iterable[NamedOperation]) -> Iterator[Finding]:
    tags = {tag for each in named for tag in each.operation.tags}
    for number, tag in enumerate(settings.tags):
        if tag not in tags:
            step = _near(tag, tags) or f"It has {', '.join(sorted(tags)[:20]) or 'no tags'}."
            yield Finding(f"no operation of the description has the tag {tag!r}", f"tags.{number}", step)


def _tools(settings: OpenApiSettings, imported: Imported) -> Iterator[Finding]:
    """What is wrong with the tools that came of it."""
    operations, report = imported.operations, imported.report
    if not operations:
        if imported.server_fault is not None:
            yield Finding(imported.server_fault.message, "base_url", imported.server_fault.next_step)
            return
        reasons = list(dict.fromkeys(each.reason for each in report.left_out if each.kind == "operation"))
        why = f": {'; '.join(reasons[:3])}" if reasons else ", as it has none"
        yield Finding(f"no operation of the description was imported{why}", "spec", "See agentforge http import SPEC.")
        return
    if len(operations) > settings.max_tools:
        message = f"the description gives {len(operations):,} tools, more than {settings.max_tools:,}"
        yield Finding(message, "max_tools", "Choose with only, tags or methods, or raise max_tools.")
    seen: dict[str, str] = {}
    for each in operations:
        own = each.own_name or each.name
        if each.name in seen:
            message = f"two operations get the name {each.name!r}: {seen[each.name]!r} and {own!r}"
            yield Finding(message, "rename", "Give one of them another name.")
        seen.setdefault(each.name, own)
    arguments = {name for each in operations for name in each.schema.get("properties", ())}
    for value in settings.run_values():
        if value.place is None and value.name not in arguments:
            step = _near(value.name, arguments) or "Name an argument, or header.NAME, query.NAME or cookie.NAME."
            yield Finding(f"no tool has the argument {value.name!r}", f"from_context.{value.name}", step)
    schemes: Mapping[str, str] = report.schemes
    for key, given in (("auth_by_scheme", settings.auth_by_scheme), ("tokens_by_scheme", settings.tokens_by_scheme)):
        for name in given:
            if name not in schemes:
                step = _near(name, schemes) or f"It has {', '.join(schemes) or 'none'}."
                yield Finding(f"the description has no security scheme {name!r}", f"{key}.{name}", step)


def _unknown(settings: OpenApiSettings, names: list[str]) -> Iterator[Finding]:
    patterns = [
        *((pattern, f"only.{number}") for number, pattern in enumerate(settings.only)),
        *((pattern, f"without.{number}") for number, pattern in enumerate(settings.without)),
        *((pattern, f"except.{number}") for number, pattern in enumerate(settings.except_)),
        *((pattern, f"effects.{pattern}") for pattern in settings.effects),
        *((pattern, f"pick.{pattern}") for pattern in settings.pick),
    ]
    for pattern, path in patterns:
        if not any(matches(name, pattern) for name in names):
            yield Finding(f"no operation of the description is named {pattern!r}", path, _known(pattern, names))
    for key, mapping in (("rename", settings.rename), ("describe", settings.describe)):
        for name in mapping:
            if name not in names:
                message = f"no operation of the description is named {name!r}"
                yield Finding(message, f"{key}.{name}", _known(name, names))


def _known(name: str, names: list[str]) -> str:
    near = _near(name, names)
    if near is not None:
        return near
    listed = ", ".join(names[:20])
    return f"It has {listed}{' and others' if len(names) > 20 else ''}." if names else "It has no operations."


def _near(name: str, names: Iterable[str]) -> str | None:
    lower = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), list(lower), 1)
    return f"Did you mean {lower[found[0]]!r}?" if found else None
