"""HTTP endpoints and OpenAPI documents as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.later import loaded_later

if TYPE_CHECKING:
    from agentforge_http.auth import Auth, Credentials
    from agentforge_http.client_credentials import ClientCredentials
    from agentforge_http.executor import HttpToolExecutor, bound_http_tool
    from agentforge_http.guard import AddressGuard, HostList
    from agentforge_http.operation import BodyEncoding, HttpBody, HttpOperation, HttpParameter
    from agentforge_http.refusals import HttpStatusError, HttpTimeoutError
    from agentforge_http.run_values import RunValue
    from agentforge_http.sender import HttpSender
    from agentforge_http.source import HttpTools
    from agentforge_http.tokens import TokenProvider

__all__ = (
    "AddressGuard",
    "Auth",
    "BodyEncoding",
    "ClientCredentials",
    "Credentials",
    "HostList",
    "HttpBody",
    "HttpOperation",
    "HttpParameter",
    "HttpSender",
    "HttpStatusError",
    "HttpTimeoutError",
    "HttpToolExecutor",
    "HttpTools",
    "RunValue",
    "TokenProvider",
    "bound_http_tool",
)

_HOME = {
    "AddressGuard": "guard",
    "Auth": "auth",
    "BodyEncoding": "operation",
    "ClientCredentials": "client_credentials",
    "Credentials": "auth",
    "HostList": "guard",
    "HttpBody": "operation",
    "HttpOperation": "operation",
    "HttpParameter": "operation",
    "HttpSender": "sender",
    "HttpStatusError": "refusals",
    "HttpTimeoutError": "refusals",
    "HttpToolExecutor": "executor",
    "HttpTools": "source",
    "RunValue": "run_values",
    "TokenProvider": "tokens",
    "bound_http_tool": "executor",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
