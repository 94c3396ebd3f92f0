"""Fetching a description from its address, with the bounds and the address guard of every other request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError, ToolExecutionError
from agentforge.http import RetryPolicy, safe_url
from agentforge_http.auth import Auth
from agentforge_http.encoding import PreparedRequest
from agentforge_http.openapi.documents import Documents, fetched_documents, url_fault
from agentforge_http.operation import HttpOperation
from agentforge_http.sender import HttpSender, origin_of

if TYPE_CHECKING:
    from agentforge.plugin import BeanContext
    from agentforge_http.openapi.settings import OpenApiSettings

__all__ = ("NotFetchedError", "description_sender", "fetch_description")

_TOTAL = 120.0  # seconds for all of its documents, however slowly they come
_ACCEPT = "application/json, application/yaml;q=0.9, application/vnd.oai.openapi;q=0.9, */*;q=0.5"


class NotFetchedError(ConfigurationError):
    """The description is not to be had at its address now; it may be later."""


def description_sender(settings: OpenApiSettings, context: BeanContext) -> HttpSender:
    """What fetches the description: connected as the API is, with headers of its own and no credentials of the API."""
    return HttpSender.of(
        settings,
        context,
        auth=Auth(),
        headers={name: value.get_secret_value() for name, value in settings.spec_headers.items()},
        query={},
        # The program's start waits for one that is required alone; the other is tried again later anyway.
        retry=RetryPolicy(max_retries=2 if settings.required else 0),
        max_response_bytes=settings.max_document_bytes,
        follow_redirects=True,
    )


async def fetch_description(url: str, sender: HttpSender, *, max_bytes: int, trusted: bool) -> Documents:
    """The description with what it refers to on its host; ``trusted``: the address was written in a trusted file.

    Raises `NotFetchedError` where it does not come, `ConfigurationError` where it can never be used.
    """
    if (fault := url_fault(url)) is not None:
        raise ConfigurationError(
            f"the address of the description {fault}",
            next_step="Write it as https://host/path; credentials go into spec_headers.",
        )
    try:
        async with asyncio.timeout(_TOTAL):
            return await fetched_documents(url, _fetcher(url, sender, trusted), max_bytes=max_bytes)
    except TimeoutError:
        raise NotFetchedError(
            f"the description at {safe_url(url)} was not there within {_TOTAL:g} s",
            next_step="Save it as a file and give that as spec.",
        ) from None


def _fetcher(root: str, sender: HttpSender, trusted: bool) -> Callable[[str], Awaitable[bytes]]:
    async def fetch(url: str) -> bytes:
        parts = urlsplit(url)
        shown = safe_url(url)
        operation = HttpOperation(
            "the description",
            "GET",
            f"{parts.scheme}://{parts.netloc}",
            parts.path,
            effect="read",
            host_is_trusted=trusted and origin_of(url) == origin_of(root),
        )
        try:
            answer = await sender.send(PreparedRequest("GET", url, headers=[("accept", _ACCEPT)]), operation)
        except ToolExecutionError as error:
            raise NotFetchedError(
                f"the description at {shown} cannot be fetched: {error.message}",
                next_step=error.next_step or "See that spec is right, and that its server can be reached.",
            ) from error
        if answer.is_cut:
            raise ConfigurationError(
                f"the description at {shown} has more than {answer.limit:,} bytes",
                next_step="Import a smaller one, or raise max_document_bytes.",
            )
        return answer.content

    return fetch
