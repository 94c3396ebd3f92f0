"""The source of the tools of one description: read when it is a file, fetched at the start when it is an address."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.plugin import BeanContext
from agentforge.tool import BoundTool
from agentforge_http.auth import Auth, auth_of
from agentforge_http.executor import bound_http_tool
from agentforge_http.openapi.documents import Documents, file_documents, is_url
from agentforge_http.openapi.fetching import NotFetchedError, description_sender, fetch_description
from agentforge_http.openapi.importing import Imported
from agentforge_http.openapi.loading import load_operations
from agentforge_http.openapi.report import ImportReport
from agentforge_http.openapi.schemes import auth_for
from agentforge_http.openapi.settings import OpenApiSettings
from agentforge_http.openapi.settings_findings import openapi_findings
from agentforge_http.operation import HttpOperation
from agentforge_http.sender import HttpSender
from agentforge_http.settings_findings import refuse
from agentforge_http.shared_work import SharedWork

if TYPE_CHECKING:
    from agentforge.tool.execution import Run

__all__ = ("OpenApiTools",)

_log = logging.getLogger("agentforge.http")
_AGAIN = 10.0  # seconds before a description that was away is fetched again


class OpenApiTools:
    """A `ToolSource` of the operations of an OpenAPI description.

    One in a file is read at once; one at an address by `start`, or where the bean is lazy when its tools are first
    asked for. One that is not ``required`` and cannot be fetched is reported once and tried again, beside the runs that
    ask for its tools and get none. ``sender``, ``fetcher`` and ``now`` are for tests. Raises `ConfigurationError` for a
    description that cannot be read, or that the settings do not fit.
    """

    def __init__(
        self,
        settings: OpenApiSettings,
        context: BeanContext,
        *,
        sender: HttpSender | None = None,
        fetcher: HttpSender | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        refuse(openapi_findings(settings))
        self._settings = settings
        self._context = context
        self._sender = sender if sender is not None else HttpSender.of(settings, context)
        self._fetcher = fetcher
        self._now = now
        self._not_before: float | None = None  # of a description that was away
        self._said: str | None = None
        self._by_scheme = self._schemes()
        self._tools: tuple[BoundTool, ...] | None = None
        self._report: ImportReport | None = None
        self._loading = SharedWork(self._load)
        if not is_url(settings.spec):
            path = context.folder / settings.spec
            self._take(file_documents(path, max_bytes=settings.max_document_bytes))

    async def start(self) -> None:
        """Fetch the description, unless the bean is lazy. Raises `ConfigurationError`."""
        if self._tools is not None or self._context.lazy:
            return
        try:
            await self._load()
        except NotFetchedError as error:
            if self._settings.required:
                raise
            self._missed(error)

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The tools; none while an optional description is away. Raises `ConfigurationError`, with the bean's name."""
        if self._tools is not None:
            return self._tools
        if self._not_before is not None:
            if self._now() >= self._not_before:
                self._loading.task().add_done_callback(self._tried)  # no run waits for what it may never get
            return ()
        try:
            return await self._loading.result()
        except NotFetchedError as error:
            if not self._settings.required:
                self._missed(error)
                return ()
            raise self._named(error) from None
        except ConfigurationError as error:
            raise self._named(error) from None

    def known_tools(self) -> Sequence[BoundTool] | None:
        """The tools; ``None`` before the description was fetched."""
        return self._tools

    @property
    def report(self) -> ImportReport | None:
        """What was imported and what not; ``None`` before the description was fetched."""
        return self._report

    async def aclose(self) -> None:
        """Close the connections, and end a load that is under way."""
        self._loading.cancel()
        await self._sender.aclose()

    def __repr__(self) -> str:
        told = "not yet fetched" if self._tools is None else f"{len(self._tools)} tools"
        return f"OpenApiTools({self._settings.spec.partition('?')[0]!r}, {told})"

    def _tried(self, task: asyncio.Task[tuple[BoundTool, ...]]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, AgentForgeError):
            self._missed(error)

    def _missed(self, error: AgentForgeError) -> None:
        """Say why there are no tools, once for each reason, and when to try again."""
        self._not_before = self._now() + _AGAIN
        if error.message != self._said:
            self._said = error.message
            _log.warning("bean %r has no tools for now: %s", self._context.bean_id, error.message)

    def _named(self, error: ConfigurationError) -> ConfigurationError:
        """The error as one of this bean; at the start it is the container that says whose it is."""
        where = f"bean '{self._context.bean_id}'"
        return type(error)(error.message, location=where, next_step=error.next_step)

    async def _load(self) -> tuple[BoundTool, ...]:
        settings = self._settings
        fetcher = self._fetcher if self._fetcher is not None else description_sender(settings, self._context)
        try:
            documents = await fetch_description(
                settings.spec, fetcher, max_bytes=settings.max_document_bytes, trusted=self._context.trusted
            )
            return self._take(documents)
        except ConfigurationError as error:
            if error.location is not None:  # a place in the description; that of the bean is more to whoever reads it
                error.message, error.location = f"{error.message} ({error.location})", None
            raise
        finally:
            if self._fetcher is None:
                await fetcher.aclose()

    def _take(self, documents: Documents) -> tuple[BoundTool, ...]:
        imported = load_operations(documents, self._settings, trusted=self._context.trusted)
        self._tools = tuple(self._bound(each, imported.picks.get(each.name)) for each in imported.operations)
        self._report = imported.report
        self._tell(imported)
        return self._tools

    def _tell(self, imported: Imported) -> None:
        broken = [each for each in imported.report.left_out if each.kind == "operation" and not each.is_unwanted]
        if broken:
            _log.info(
                "bean %r: %d of the operations of its description were left out, the first, %s, as %s; see agentforge "
                "http import",
                self._context.bean_id,
                len(broken),
                broken[0].place,
                broken[0].reason,
            )
        for note in imported.report.notes:
            _log.info("bean %r: %s", self._context.bean_id, note)

    def _bound(self, operation: HttpOperation, pick: str | None) -> BoundTool:
        settings = self._settings
        return bound_http_tool(
            operation,
            self._sender,
            source_name=self._context.bean_id,
            from_context=settings.run_values(),
            pick=pick,
            idempotency_header=settings.idempotency_header,
            idempotency_argument=settings.idempotency_argument,
            auth=auth_for(operation.security, self._by_scheme),
            timeout=settings.timeout,
        )

    def _schemes(self) -> dict[str, Auth]:
        """The credentials by scheme, which are masked like the sender's own."""
        made = {name: auth_of(each) for name, each in self._settings.auth_by_scheme.items()}
        made.update({name: Auth(tokens=each) for name, each in self._settings.tokens_by_scheme.items()})
        for auth in made.values():
            for secret in auth.secrets():
                self._context.secrets.add(secret)
                self._sender.secrets.add(secret)
        return made
