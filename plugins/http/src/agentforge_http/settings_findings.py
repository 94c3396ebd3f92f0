"""What is wrong between the settings that every bean of this plugin has, each with its place, and all of it at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError
from agentforge.http import parse_base_url
from agentforge.plugin import Finding
from agentforge_http.guard import HostList
from agentforge_http.header_text import header_fault
from agentforge_http.run_values import PLACES, RunValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentforge.plugin import SecretStr
    from agentforge_http.settings import ConnectionSettings, HttpSettings

__all__ = (
    "address_findings",
    "connection_findings",
    "header_findings",
    "http_findings",
    "near_miss",
    "no_argument",
    "place_of",
    "readable_run_values",
    "refuse",
)


def refuse(findings: Iterable[Finding]) -> None:
    """For settings that nobody checked: raises `ConfigurationError` with the first of the findings."""
    for each in findings:
        place = f"{each.path}: " if each.path else ""
        raise ConfigurationError(f"{place}{each.message}", next_step=each.next_step)


def connection_findings(settings: ConnectionSettings) -> Iterator[Finding]:
    """Certificates are either checked or not."""
    if settings.insecure_skip_tls_verification and settings.ca_bundle is not None:
        message = "ca_bundle and insecure_skip_tls_verification contradict each other"
        yield Finding(message, "ca_bundle", "Give one of the two.")


def http_findings(settings: HttpSettings) -> Iterator[Finding]:
    """Headers, hosts and values of the run that cannot be, and what goes only together."""
    yield from connection_findings(settings)
    yield from header_findings("headers", settings.headers)
    given = settings.auth.header_names()
    for name in settings.headers:
        if name.lower() in given:
            yield Finding(f"headers and auth both give {name}", place_of("headers", name), "Leave it out of headers.")
    for number, host in enumerate(settings.allow_hosts):
        try:
            HostList((host,))
        except ConfigurationError as error:
            yield Finding(error.message, f"allow_hosts.{number}", error.next_step)
    for key in settings.from_context:
        try:
            settings.run_value(key)
        except ConfigurationError as error:
            yield Finding(error.message, place_of("from_context", key), error.next_step)
    if settings.idempotency_header is not None:
        if (fault := header_fault(settings.idempotency_header, "", credentials=False)) is not None:
            message = f"the header {settings.idempotency_header!r} of idempotency_header {fault}"
            yield Finding(message, "idempotency_header", "Write the name that the API documents.")
    elif settings.idempotency_argument is not None:
        message = "idempotency_argument goes with idempotency_header, which is not set"
        yield Finding(message, "idempotency_argument", "Set idempotency_header, too.")


def header_findings(setting: str, headers: Mapping[str, SecretStr]) -> Iterator[Finding]:
    """Headers that cannot be sent; their values are not told."""
    for name, value in headers.items():
        if (fault := header_fault(name, value.get_secret_value(), credentials=True)) is not None:
            step = "Leave it out." if "belongs to the connection" in fault else "Look for blanks and line breaks in it."
            yield Finding(f"the header {name!r} of {setting} {fault}", place_of(setting, name), step)


def address_findings(setting: str, url: str) -> Iterator[Finding]:
    """An address that is none."""
    try:
        parse_base_url(url, setting)
    except ConfigurationError as error:
        yield Finding(error.message, setting, error.next_step)


def readable_run_values(settings: HttpSettings) -> Iterator[tuple[str, RunValue]]:
    """The entries of ``from_context`` that say something, each with its key; the others are findings."""
    for key in settings.from_context:
        try:
            yield key, settings.run_value(key)
        except ConfigurationError:
            continue


def no_argument(key: str, known: Iterable[str]) -> Finding:
    """The finding for an entry of ``from_context`` that names an argument which is not there."""
    known = sorted(known)
    first, dot, rest = key.partition(".")
    place = near_miss(first, PLACES) if dot else None
    near = f"{place}.{rest}" if place is not None else near_miss(key, known)
    if near is not None:
        step = f"Did you mean {near!r}?"
    else:
        step = f"header.{key} sends it as a header; query. and cookie. do alike. The arguments are: "
        step += f"{', '.join(known[:20])}{' and others' if len(known) > 20 else ''}." if known else "none."
    return Finding(f"there is no argument {key!r}", place_of("from_context", key), step)


def place_of(setting: str, key: str) -> str:
    """The path of an entry; that of the whole setting where dots in the key would be read as further steps.

    >>> place_of("headers", "X-Team"), place_of("from_context", "header.X-Team")
    ('headers.X-Team', 'from_context')
    """
    return f"{setting}.{key}" if key and "." not in key else setting


def near_miss(name: str, known: Iterable[str]) -> str | None:
    """What is known and resembles the name, whatever its case."""
    lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), list(lower), 1)
    return lower[found[0]] if found else None
