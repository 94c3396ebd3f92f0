"""The bean type ``refreshing_tools``: tools that are data of somebody else's, read from an address or a database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

from agentforge.errors import ConfigurationError
from agentforge.plugin.bean_settings import BeanSettings, Count, Field, Seconds, SecretStr, as_value_error
from agentforge.plugin.bean_type import BeanContext, BeanType
from agentforge.plugin.builtin_sources import check_executor
from agentforge.plugin.checking import CheckContext, Finding
from agentforge.plugin.reference import Ref
from agentforge.tool import LoadTools, RefreshingTools, ToolSource

__all__ = (
    "REFRESHING_TYPES",
    "RefreshingToolsSettings",
    "ToolQuerySettings",
    "check_refreshing_tools",
    "document_endpoints",
    "make_refreshing_tools",
)

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class ToolQuerySettings(BeanSettings):
    """Where the rows come from: a database file or a connection, and the query."""

    query: str
    """A select whose columns are fields of a declared tool (name, description, parameters as JSON, effect, …), or the
    one column specification, a whole tool as JSON."""
    database: str | None = None
    """A file of SQLite, relative to the file the bean stands in; it is opened to be read only."""
    connection: Annotated[Any, Ref()] | None = None
    """A function that opens a connection of DB-API 2.0, which is closed after the query."""

    def model_post_init(self, context: object) -> None:
        """One database, and a query that is none of blanks."""
        if (self.database is None) == (self.connection is None):
            raise ValueError("give either database or connection")
        if not self.query.strip():
            raise ValueError("the query is empty")


class RefreshingToolsSettings(BeanSettings):
    """What `refreshing_tools` takes: ``url`` or ``sql``."""

    executor: Annotated[Any, Ref()]
    """What runs them: a function or object that takes the request, or the request and the context, or one with a
    method execute."""
    url: str | None = None
    """The address of a JSON or YAML document: a list of declared tools, or a mapping with it as tools."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of the request for it."""
    ca_bundle: str | None = None
    """A file of certificates to trust there, relative to the file the bean stands in."""
    sql: ToolQuerySettings | None = None
    """The query whose rows are the tools."""
    interval: Seconds = 60.0
    """After how long the first run that asks begins to load them anew."""
    timeout: Seconds = 30.0
    """How long a load may take."""
    allow_empty: bool = False
    """Whether there may be none; else that is a failure, and the last good set stays."""
    max_tools: Count = 1_000
    """How many there may be."""
    max_body_bytes: Count = 4 * 1024 * 1024
    """The largest answer that is read, or what all texts of the rows may come to, in bytes."""

    def model_post_init(self, context: object) -> None:
        """One place, and an address and headers that can be sent."""
        if (self.url is None) == (self.sql is None):
            raise ValueError("give either url or sql")
        if self.url is None:
            if self.headers or self.ca_bundle is not None:
                raise ValueError("headers and ca_bundle go with url alone")
            return
        from agentforge.plugin.tool_document import document_address

        with as_value_error():
            document_address(self.url)
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or not _VALUE.fullmatch(value.get_secret_value()):
                raise ValueError(f"the header {name!r} cannot be sent: its name or value is not valid HTTP")


def make_refreshing_tools(settings: RefreshingToolsSettings, context: BeanContext) -> RefreshingTools:
    """The source; nothing is loaded yet. Raises `ToolDeclarationError` for an executor, and `ConfigurationError` for a
    connection, that cannot be called."""
    return RefreshingTools(
        _document(settings, context) if settings.sql is None else _query(settings, settings.sql, context),
        settings.executor,
        interval=settings.interval,
        timeout=settings.timeout,
        allow_empty=settings.allow_empty,
        max_tools=settings.max_tools,
        source_name=context.bean_id,
        secrets=context.secrets,
    )


def _document(settings: RefreshingToolsSettings, context: BeanContext) -> LoadTools:
    from agentforge.plugin.tool_document import ToolDocument

    assert settings.url is not None
    headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
    for value in headers.values():
        context.secrets.add(value)
        context.secrets.add(value.rpartition(" ")[2])  # without the word Bearer
    return ToolDocument(
        settings.url,
        headers,
        timeout=settings.timeout,
        max_bytes=settings.max_body_bytes,
        secrets=context.secrets,
        ca_bundle=str(context.folder / settings.ca_bundle) if settings.ca_bundle is not None else None,
    )


def _query(settings: RefreshingToolsSettings, sql: ToolQuerySettings, context: BeanContext) -> Callable[[], Any]:
    from agentforge.plugin.tool_query import ToolQuery

    rows, size = settings.max_tools, settings.max_body_bytes
    if sql.database is not None:
        path = context.folder / sql.database
        return ToolQuery.of_file(sql.query, path, timeout=settings.timeout, max_rows=rows, max_bytes=size)
    if not callable(sql.connection) or hasattr(sql.connection, "cursor"):
        raise ConfigurationError(
            f"connection must be a function that opens one, not {type(sql.connection).__name__}",
            next_step="Name a function of the scan roots: {type: component, component: open_database}.",
        )
    return ToolQuery(sql.query, sql.connection, max_rows=rows, max_bytes=size)


def check_refreshing_tools(settings: RefreshingToolsSettings, context: CheckContext) -> Iterator[Finding]:
    """Files that a stranger's configuration may not name, and an executor that is none. Whether files are there is seen
    when they are needed."""
    yield from check_executor(settings.executor, context)
    named = (("sql.database", settings.sql.database if settings.sql else None), ("ca_bundle", settings.ca_bundle))
    for path, file in named:
        refused = context.outside(file, path) if file is not None else None
        if refused is not None:
            yield refused


def document_endpoints(settings: RefreshingToolsSettings, context: BeanContext) -> Iterable[str]:
    """The address, without its query."""
    from agentforge.plugin.tool_document import document_address

    return (document_address(settings.url),) if settings.url is not None else ()


REFRESHING_TYPES = (
    BeanType(
        "refreshing_tools",
        RefreshingToolsSettings,
        make_refreshing_tools,
        ToolSource,
        "Tools that are data and change while the program runs: loaded again from an address or a database.",
        check=check_refreshing_tools,
        endpoints=document_endpoints,
    ),
)
