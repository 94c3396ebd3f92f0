"""Tools that are declared at an address: one JSON or YAML document, asked for again only when it changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import NoReturn
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError, ModelError
from agentforge.http import HttpClient, HttpRequest, HttpResponse, HttpTimeouts, RetryPolicy, parse_base_url
from agentforge.masking import Secrets
from agentforge.plugin.declared_tool import DeclaredToolSettings, node_of, tool_of, tools_in
from agentforge.tool import DeclaredTool

__all__ = ("ToolDocument", "document_address")

_NOT_MODIFIED = 304
_SHAPE = 'Answer with a list of tools, or with {"tools": [...]}.'


def document_address(url: str) -> str:
    """The address without its query, which may hold a key. Raises `ConfigurationError` for one that is not http or
    https, or that holds credentials."""
    return parse_base_url(url.partition("?")[0], "url")


class ToolDocument:
    """A callable that gives the tools of the document at ``url``, for `RefreshingTools`.

    An answer with an ``ETag`` or ``Last-Modified`` is asked for with it the next time; if it did not change, the tools
    are those of before. ``max_bytes`` bounds the answer; ``ca_bundle`` are certificates to trust. It raises
    `ConfigurationError`, and `ModelError` where nothing comes; failures are not tried again.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        max_bytes: int,
        secrets: Secrets,
        ca_bundle: str | None = None,
    ) -> None:
        self._url = url
        self._shown = document_address(url)
        own = {name.lower(): value for name, value in headers.items()}
        given = {"accept": "application/json, application/yaml;q=0.9, */*;q=0.5", **own}
        self._headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in given.items()]
        self._timeouts = HttpTimeouts(min(10.0, timeout), timeout, timeout, timeout, timeout)
        self._http = HttpClient(
            transport_options={"max_body_bytes": max_bytes, "ca_bundle": ca_bundle},
            retry=RetryPolicy(max_retries=0),
            secrets=secrets,
            error_parser=_refused,
        )
        #: What the last good answer may be asked for by, and its tools.
        self._condition: Sequence[tuple[bytes, bytes]] = ()
        self._last: list[DeclaredTool] = []

    async def __call__(self) -> list[DeclaredTool]:
        """The tools."""
        request = HttpRequest("GET", self._url, [*self._headers, *self._condition], b"", self._timeouts)
        try:
            answer = await self._http.send(request)
        except ModelError as error:
            if error.status == _NOT_MODIFIED and self._condition:
                return self._last
            raise
        found = [each.declared for each in self._tools(answer)]
        self._condition, self._last = _condition_of(answer.headers), found
        return found

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _tools(self, answer: HttpResponse) -> list[DeclaredToolSettings]:
        try:
            text = answer.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ConfigurationError("the answer is not UTF-8", location=self._shown) from None
        if not self._is_json(answer.headers.get("content-type", ""), text):
            node = node_of(text, self._shown)
            listed = getattr(node, "entries", {}).get("tools")
            return tools_in(node if listed is None else listed.node, f"the answer of {self._shown}")
        try:
            found = json.loads(text, parse_constant=_no_json)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"the answer is not JSON: {error}", location=self._shown) from None
        if isinstance(found, dict):
            found = found.get("tools")
        if not isinstance(found, list):
            raise ConfigurationError("the answer holds no list of tools", location=self._shown, next_step=_SHAPE)
        return [tool_of(each, f"tool {number}") for number, each in enumerate(found, 1)]

    def _is_json(self, kind: str, text: str) -> bool:
        for told in (kind.partition(";")[0].strip().lower(), PurePosixPath(urlsplit(self._url).path).suffix.lower()):
            if told.endswith("json"):
                return True
            if told.endswith(("yaml", "yml")):
                return False
        return text.lstrip()[:1] in ("[", "{")


def _condition_of(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    pairs = (("if-none-match", headers.get("etag")), ("if-modified-since", headers.get("last-modified")))
    return [(name.encode(), value.encode("latin-1")) for name, value in pairs if value]


def _refused(status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
    return ModelError(
        f"the answer has the status {status}", status=status, next_step="See that url and headers are right."
    )


def _no_json(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
