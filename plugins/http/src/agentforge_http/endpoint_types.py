"""The bean types ``http.tool`` and ``http.tools``: endpoints of a file, as a source of tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.plugin import BeanContext, BeanType, CheckContext, Finding
from agentforge.tool import ReturnBehavior, ToolSource
from agentforge_http.address_template import AddressTemplate
from agentforge_http.endpoint import Endpoint, shared_findings
from agentforge_http.endpoint_settings import HttpToolSettings, HttpToolsSettings
from agentforge_http.executor import bound_http_tool
from agentforge_http.sender import HttpSender
from agentforge_http.settings import ConnectionSettings
from agentforge_http.settings_findings import http_findings, refuse
from agentforge_http.source import HttpTools

__all__ = ("HTTP_TOOL", "HTTP_TOOLS", "outside_files")

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def outside_files(settings: ConnectionSettings, context: CheckContext) -> Iterator[Finding]:
    """Files that a stranger's configuration may not name."""
    refused = context.outside(settings.ca_bundle, "ca_bundle") if settings.ca_bundle is not None else None
    if refused is not None:
        yield refused


def _endpoints(
    settings: HttpToolSettings | HttpToolsSettings, bean_id: str, trusted: bool = True
) -> tuple[list[Endpoint], list[Finding]]:
    """The endpoints, and what keeps one from being read at all."""
    found: list[Endpoint] = []
    findings: list[Finding] = []
    if isinstance(settings, HttpToolSettings):
        try:
            address = AddressTemplate.of_url(settings.url)
        except ConfigurationError as error:
            return [], [Finding(error.message, "url", error.next_step)]
        name = settings.name or bean_id
        return [Endpoint(settings, name, address, headers=settings.headers, trusted=trusted)], []
    try:
        base = AddressTemplate.of_url(settings.base_url.rstrip("/"), "base_url")
        if base.in_path or base.in_query or base.constants:
            raise ConfigurationError("base_url holds placeholders or a query", next_step="Put them into the paths.")
    except ConfigurationError as error:
        return [], [Finding(error.message, "base_url", error.next_step)]
    for number, each in enumerate(settings.tools):
        place = f"tools.{number}"
        try:
            address = AddressTemplate.of_path(base.base_url + base.path, each.path)
        except ConfigurationError as error:
            findings.append(Finding(error.message, f"{place}.path", error.next_step))
            continue
        headers = settings.headers
        made = Endpoint(each, each.name, address, place=place, address_key="path", headers=headers, trusted=trusted)
        found.append(made)
    return found, findings


def _check(settings: HttpToolSettings | HttpToolsSettings, context: CheckContext) -> Iterator[Finding]:
    """Everything that would keep a tool from being made or from working."""
    yield from outside_files(settings, context)
    endpoints, findings = _endpoints(settings, context.bean_id)
    yield from findings
    yield from http_findings(settings)
    listed: Iterable[Any] = settings.tools if isinstance(settings, HttpToolsSettings) else (settings,)
    seen: set[str] = set()
    for number, each in enumerate(listed):
        name, path = each.name or context.bean_id, "name" if each is settings else f"tools.{number}.name"
        if not _NAME.fullmatch(name):
            step = "Use letters, digits, _ and -, at most 64, the first a letter or _."
            yield Finding(f"{name!r} is no name for a tool", path, step)
        if name in seen:
            yield Finding(f"two tools are named {name!r}", path, "Give one of them another name.")
        seen.add(name)
    for endpoint in endpoints:
        yield from endpoint.findings
    if not findings:
        yield from shared_findings(settings, endpoints)


def _make(settings: HttpToolSettings | HttpToolsSettings, context: BeanContext) -> HttpTools:
    """The source. Raises `ConfigurationError` for what the check finds."""
    endpoints, findings = _endpoints(settings, context.bean_id, context.trusted)
    refuse((*findings, *http_findings(settings)))
    listed: Iterable[Any] = settings.tools if isinstance(settings, HttpToolsSettings) else (settings,)
    operations = [endpoint.operation for endpoint in endpoints]
    sender = HttpSender.of(settings, context)
    tools = [
        bound_http_tool(
            operation,
            sender,
            source_name=context.bean_id,
            from_context=settings.run_values(),
            pick=each.pick,
            idempotency_header=settings.idempotency_header,
            idempotency_argument=settings.idempotency_argument,
            timeout=settings.timeout,
            serial=each.serial,
            sequential=each.sequential,
            return_behavior=ReturnBehavior[each.return_behavior.upper()],
        )
        for operation, each in zip(operations, listed, strict=True)
    ]
    return HttpTools(tools, sender)


def _addresses(settings: HttpToolSettings | HttpToolsSettings, context: BeanContext) -> Iterable[str]:
    """What is called, without its path; behind a proxy only the proxy can tell whether it is there."""
    if settings.proxy is not None:
        return ()
    endpoints, _ = _endpoints(settings, context.bean_id)
    return tuple(dict.fromkeys(endpoint.operation.base_url for endpoint in endpoints))


def _names(settings: HttpToolSettings | HttpToolsSettings, context: CheckContext) -> Iterable[str]:
    if isinstance(settings, HttpToolSettings):
        return (settings.name or context.bean_id,)
    # Two of one name are a finding of `_check`, and no second one of whoever takes the source.
    return dict.fromkeys(each.name for each in settings.tools)


HTTP_TOOL = BeanType(
    "http.tool",
    HttpToolSettings,
    _make,
    ToolSource,
    "One HTTP endpoint as a tool.",
    check=_check,
    endpoints=_addresses,
    tool_names=_names,
)
"""The type of one endpoint."""
HTTP_TOOLS = BeanType(
    "http.tools",
    HttpToolsSettings,
    _make,
    ToolSource,
    "Several endpoints of one API as tools, which share its address, credentials and connections.",
    check=_check,
    endpoints=_addresses,
    tool_names=_names,
)
"""The type of several."""
