"""From the settings of a bean to its operations, and every way in which the two do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

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
from agentforge_http.settings_findings import near_miss, no_argument, place_of, readable_run_values, refuse

if TYPE_CHECKING:
    from agentforge_http.openapi.settings import OpenApiSettings

__all__ = ("faults_of", "load_operations", "options_of", "unknown_names")


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
    refuse(faults_of(documents, settings, imported))
    return imported


def faults_of(documents: Documents, settings: OpenApiSettings, imported: Imported) -> Iterator[Finding]:
    """What in the settings fits nothing in the description, and what of it cannot be."""
    named = named_operations(described(documents))
    names = list(dict.fromkeys(name for each in named for name in (each.name, each.own_name)))
    found = [*_unknown(settings, names), *_tags(settings, named)]
    if imported.operations or imported.server_fault is None:
        found += _broken(settings, imported)
    yield from found
    if imported.operations or not found:
        yield from _tools(settings, imported)


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
    for key, value in readable_run_values(settings):
        if value.place is None and value.name not in arguments:
            yield no_argument(key, arguments)
    schemes: Mapping[str, str] = report.schemes
    for key, given in (("auth_by_scheme", settings.auth_by_scheme), ("tokens_by_scheme", settings.tokens_by_scheme)):
        for name in given:
            if name not in schemes:
                step = _near(name, schemes) or f"It has {', '.join(schemes) or 'none'}."
                yield Finding(f"the description has no security scheme {name!r}", place_of(key, name), step)


def _unknown(settings: OpenApiSettings, names: list[str]) -> Iterator[Finding]:
    lists = (("only", settings.only), ("without", settings.without), ("except", settings.except_))
    patterns = [(pattern, f"{key}.{number}") for key, given in lists for number, pattern in enumerate(given)]
    patterns += [(pattern, place_of("effects", pattern)) for pattern in settings.effects]
    patterns += [(pattern, place_of("pick", pattern)) for pattern in settings.pick]
    yield from unknown_names(patterns, names, are_patterns=True)
    whole = (("rename", settings.rename), ("describe", settings.describe))
    yield from unknown_names([(name, place_of(key, name)) for key, given in whole for name in given], names)


def unknown_names(
    wanted: Iterable[tuple[str, str]], names: Sequence[str], *, are_patterns: bool = False
) -> Iterator[Finding]:
    """Names, or patterns, each with its path, that fit none of the names of operations."""
    for name, path in wanted:
        if name not in names and not (are_patterns and any(matches(each, name) for each in names)):
            yield Finding(f"no operation of the description is named {name!r}", path, _known(name, names))


def _known(name: str, names: Sequence[str]) -> str:
    near = _near(name, names)
    if near is not None:
        return near
    listed = ", ".join(names[:20])
    return f"It has {listed}{' and others' if len(names) > 20 else ''}." if names else "It has no operations."


def _near(name: str, names: Iterable[str]) -> str | None:
    near = near_miss(name, names)
    return f"Did you mean {near!r}?" if near is not None else None
