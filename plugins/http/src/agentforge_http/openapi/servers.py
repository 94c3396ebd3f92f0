"""Where requests go: the setting, else the first server of the operation, of its path or of the description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from agentforge.errors import ConfigurationError
from agentforge.http import parse_base_url
from agentforge_http.guard import HostList, is_public
from agentforge_http.openapi.description import DescribedOperation, Description
from agentforge_http.sender import origin_of

__all__ = ("Server", "Servers")

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_STEP = "Write the address of the API as base_url."


@dataclass(frozen=True, slots=True)
class Server:
    """A base URL without a slash at its end; ``is_trusted`` when the host was written in the configuration."""

    url: str
    is_trusted: bool
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Servers:
    """Finds the server of each operation.

    ``base_url`` replaces what the description says. ``trusted`` is whether the configuration's own words count as
    trusted, ``allow`` are internal hosts that may be called. ``carries_credentials`` is whether requests hold some:
    they never go to a host that only a fetched description names.
    """

    description: Description
    base_url: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = True
    carries_credentials: bool = False
    allow: HostList = field(default_factory=HostList)
    used_variables: set[str] = field(default_factory=set)

    def of(self, operation: DescribedOperation) -> Server:
        """The server. Raises `ConfigurationError` that says what is wrong and which setting helps."""
        if self.base_url is not None:
            notes = []
            if operation.servers and not self.description.is_swagger:
                notes.append("the description names servers of its own for it; base_url goes before them")
            return Server(parse_base_url(self.base_url), self.trusted, tuple(notes))
        own_url = self.description.documents.url
        written = self._written(operation)
        try:
            url = written if own_url is None else urljoin(own_url, written)
        except ValueError:
            raise ConfigurationError(
                f"the server {written[:100]!r} of the description is no address", next_step=_STEP
            ) from None
        if url.startswith("//"):
            url = f"https:{url}"
        if "://" not in url:
            what = f"only the relative server {written!r}" if written.strip("/") else "no server"
            raise ConfigurationError(f"the description names {what}", next_step=_STEP)
        return self._checked(url, own_url)

    def _checked(self, url: str, own_url: str | None) -> Server:
        notes: list[str] = []
        for mark in "#?":
            if mark in url:
                url = url.partition(mark)[0]
                notes.append(f"what stands behind {mark!r} in the address of its server was left out")
        try:
            made = parse_base_url(url, "the server of the description")
        except ConfigurationError as error:
            raise ConfigurationError(error.message, next_step=_STEP) from None
        parts = urlsplit(made)
        same_host = own_url is not None and origin_of(own_url) == origin_of(made)
        if not same_host:
            if _is_internal(parts.hostname or "", self.allow):
                raise ConfigurationError(
                    f"the server {parts.hostname!r} of the description is not on the public Internet",
                    next_step=f"If it is meant, {_STEP[0].lower()}{_STEP[1:]}",
                )
            if own_url is not None and self.carries_credentials:
                raise ConfigurationError(
                    f"the fetched description names the server {parts.hostname!r}, which the configuration does not, "
                    "and credentials are not sent to it",
                    next_step=f"If it is meant, {_STEP[0].lower()}{_STEP[1:]}",
                )
        return Server(made, same_host and self.trusted, tuple(notes))

    def _written(self, operation: DescribedOperation) -> str:
        value = self.description.value
        if self.description.is_swagger:
            return _swagger_url(operation.value, value)
        for servers in (operation.servers, value.get("servers")):
            first = servers[0] if isinstance(servers, list) and servers else None
            if isinstance(first, dict) and isinstance(first.get("url"), str):
                return self._filled(first["url"].strip(), first.get("variables"))
        return "/"

    def _filled(self, url: str, declared: Any) -> str:
        variables = declared if isinstance(declared, dict) else {}

        def value_of(match: re.Match[str]) -> str:
            name = match[1]
            told = variables.get(name)
            told = told if isinstance(told, dict) else {}
            allowed = told.get("enum")
            if name in self.variables:
                self.used_variables.add(name)
                given = self.variables[name]
                if isinstance(allowed, list) and allowed and given not in [str(each) for each in allowed]:
                    listed = ", ".join(str(each) for each in allowed[:20])
                    raise ConfigurationError(
                        f"the server variable {name!r} cannot be {given!r}",
                        next_step=f"server_variables.{name} takes one of {listed}.",
                    )
                return given
            default = told.get("default", allowed[0] if isinstance(allowed, list) and allowed else None)
            if default is None:
                raise ConfigurationError(
                    f"the server {url[:100]!r} has the variable {name!r}, which has no default",
                    next_step=f"Give it in server_variables.{name}, or write base_url.",
                )
            return str(default)

        return _VARIABLE.sub(value_of, url)


def _swagger_url(operation: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    host, base = root.get("host"), root.get("basePath")
    path = base.strip() if isinstance(base, str) else ""
    path = path if path.startswith("/") or not path else f"/{path}"
    schemes = operation.get("schemes") or root.get("schemes")
    known = [each for each in schemes if each in ("https", "http")] if isinstance(schemes, list) else []
    host = host.strip().rpartition("://")[2].rstrip("/") if isinstance(host, str) else ""  # some write a whole address
    if not host:
        return path or "/"
    scheme = "https" if "https" in known else known[0] if known else None
    return f"{scheme}://{host}{path}" if scheme is not None else f"//{host}{path}"


def _is_internal(host: str, allow: HostList) -> bool:
    """Whether the name itself says that it is not on the public Internet; what it resolves to is checked at each
    call."""
    name = host.lower().rstrip(".")
    if allow.has_name(name):
        return False
    if ":" not in name and ("." not in name or name.endswith((".localhost", ".local", ".internal"))):
        return True
    try:
        return not is_public(name) and not allow.has_address(name)
    except ValueError:
        return False
