"""The bean type ``http.openapi``: the operations of an OpenAPI description as tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from agentforge.errors import AgentForgeError
from agentforge.plugin import BeanContext, BeanType, CheckContext, Finding
from agentforge.tool import ToolSource
from agentforge_http.openapi.documents import Documents, file_documents, is_url
from agentforge_http.openapi.importing import Imported, import_description
from agentforge_http.openapi.loading import faults_of, options_of
from agentforge_http.openapi.settings import OpenApiSettings
from agentforge_http.openapi.settings_findings import openapi_findings
from agentforge_http.openapi.source import OpenApiTools

__all__ = ("check_openapi", "openapi_endpoints", "openapi_tool_names", "openapi_type")

_DECISIVE = ("spec", "base_url", "allow_hosts")  # without them nothing can be imported


def openapi_type() -> BeanType:
    """The bean type."""
    return BeanType(
        "http.openapi",
        OpenApiSettings,
        OpenApiTools,
        ToolSource,
        "The operations of an OpenAPI 3.0, 3.1 or Swagger 2.0 description as tools.",
        check=check_openapi,
        endpoints=openapi_endpoints,
        tool_names=openapi_tool_names,
    )


def check_openapi(settings: OpenApiSettings, context: CheckContext) -> Iterator[Finding]:
    """All that is wrong between the settings and a description in a file; one at an address is seen at the start."""
    spec = None if is_url(settings.spec) else settings.spec
    named = (("spec", spec), ("ca_bundle", settings.ca_bundle))
    refused = [context.outside(file, path) for path, file in named if file is not None]
    found = [each for each in refused if each is not None]
    yield from found
    if found:
        return
    found = list(openapi_findings(settings))
    yield from found
    if is_url(settings.spec) or any(each.path.partition(".")[0] in _DECISIVE for each in found):
        return
    try:
        documents, imported = _imported(settings, context)
        yield from faults_of(documents, settings, imported)
    except AgentForgeError as error:
        yield Finding(error.message, "spec", error.next_step)


def openapi_tool_names(settings: OpenApiSettings, context: CheckContext) -> Iterable[str] | None:
    """The names of the tools of a description in a file; ``None`` where they are not known yet."""
    if is_url(settings.spec) or context.outside(settings.spec, "spec") is not None:
        return None
    try:
        _, imported = _imported(settings, context)
    except AgentForgeError:
        return None
    return [operation.name for operation in imported.operations]


def openapi_endpoints(settings: OpenApiSettings, context: BeanContext) -> Iterable[str]:
    """The addresses that are called: of the API, and of a description that is fetched."""
    found = [settings.spec.partition("?")[0]] if is_url(settings.spec) else []
    if settings.base_url is not None:
        return (*found, settings.base_url.rstrip("/"))
    if found:
        return found
    documents = file_documents(context.folder / settings.spec, max_bytes=settings.max_document_bytes)
    imported = import_description(documents, options_of(settings, trusted=context.trusted))
    return tuple(dict.fromkeys(operation.base_url for operation in imported.operations))


def _imported(settings: OpenApiSettings, context: CheckContext) -> tuple[Documents, Imported]:
    """The description, read once for all checks of one configuration, and imported once for those of one bean."""
    path = Path(context.folder / settings.spec)
    file_key = ("http.openapi", str(path), settings.max_document_bytes)
    if file_key not in context.shared:
        context.shared[file_key] = file_documents(path, max_bytes=settings.max_document_bytes)
    documents = cast("Documents", context.shared[file_key])
    bean_key = ("http.openapi", context.bean_id)
    known = context.shared.get(bean_key)
    if known is None or known[0] != settings:
        made = import_description(documents, options_of(settings, trusted=context.inside is None))
        known = context.shared[bean_key] = (settings, made)
    return documents, known[1]
