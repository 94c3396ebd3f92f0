"""Tokens by OAuth 2's client credentials grant (RFC 6749 section 4.4): the program's own access, no user's."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import quote_plus, urlsplit

from agentforge.errors import ModelError, ProtocolError, ToolExecutionError
from agentforge.http import HttpClient, HttpRequest, HttpTimeouts, HttpTransport, RetryPolicy, parse_base_url
from agentforge.masking import Secrets
from agentforge_http.call_secrets import CallSecrets
from agentforge_http.guard import AddressGuard
from agentforge_http.header_text import is_token
from agentforge_http.refusals import StatusRefused
from agentforge_http.shared_work import SharedWork

__all__ = ("ClientCredentials",)

_EARLY = 30.0  # seconds before its end at which a token counts as ended, for the way of the request
_MAX_ANSWER = 64 * 1024
_NO_ENDPOINT = "Check token_url: it is the address of the token endpoint."


class ClientCredentials:
    """A `TokenProvider`: fetches a token, keeps it until shortly before its end, and fetches another when the API
    refuses it.

    ``token_url`` is the authorization server's; ``scope``, ``audience`` and ``parameters`` go with the request, the
    client's id and secret as ``basic`` (RFC 6749 section 2.3.1) or in the body (``post``). Calls that need a token at
    once share one fetch. A token whose end is not told is kept until it is refused. The id and the secret go to
    ``token_url`` alone: redirects are not followed. With ``guard`` it has to be public. ``clock`` is monotonic
    seconds, for tests.

    Raises `ConfigurationError` for an address that is none.
    """

    def __init__(
        self,
        token_url: str,
        client_id: str,
        client_secret: str,
        *,
        scope: str | None = None,
        audience: str | None = None,
        parameters: Mapping[str, str] | None = None,
        client_authentication: Literal["basic", "post"] = "basic",
        timeouts: HttpTimeouts | None = None,
        retry: RetryPolicy = RetryPolicy(max_retries=1),  # noqa: B008  (frozen)
        secrets: Secrets | None = None,
        guard: AddressGuard | None = None,
        transport: str | HttpTransport | Callable[[], HttpTransport] = "httpx",
        transport_options: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parse_base_url(token_url.partition("?")[0], "token_url")
        self._url = token_url
        self._host = urlsplit(token_url).netloc
        self._secrets = CallSecrets(secrets if secrets is not None else Secrets(), [client_secret])
        form = {"grant_type": "client_credentials", "scope": scope, "audience": audience, **(parameters or {})}
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        if client_authentication == "basic":
            # Both are form-encoded first, so that a colon in one of them is none between them.
            pair = base64.b64encode(f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()).decode("ascii")
            self._secrets.add(pair)
            headers["authorization"] = f"Basic {pair}"
        else:
            form |= {"client_id": client_id, "client_secret": client_secret}
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        pairs = (f"{quote_plus(name)}={quote_plus(value)}" for name, value in form.items() if value is not None)
        self._content = "&".join(pairs).encode()
        self._timeouts = timeouts if timeouts is not None else HttpTimeouts(read=30.0, total=30.0)
        options = dict(transport_options or {})
        if isinstance(transport, str):
            options.setdefault("max_body_bytes", _MAX_ANSWER)
        self._client = HttpClient(
            transport=transport,
            transport_options=options,
            retry=retry,
            secrets=self._secrets,
            error_parser=StatusRefused,
        )
        self._guard = guard
        self._clock = clock
        self._token: str | None = None
        self._ends: float | None = None
        self._fetch = SharedWork(self._fetched)

    async def token(self, refused: str | None = None) -> str:
        """A token that is good now. Raises `ToolExecutionError` where none is given."""
        if refused is not None and refused == self._token:
            self._token = None
        if self._token is not None and (self._ends is None or self._clock() < self._ends):
            return self._token
        return await self._fetch.result()

    async def aclose(self) -> None:
        """End a fetch that is under way, and close the connections."""
        self._fetch.cancel()
        await self._client.aclose()

    def __repr__(self) -> str:
        return f"ClientCredentials({self._host!r})"

    async def _fetched(self) -> str:
        asked = self._clock()
        address = await self._guard.check(self._url, trusted=False) if self._guard is not None else None
        request = HttpRequest("POST", self._url, self._headers, self._content, self._timeouts, address)
        failed: ToolExecutionError
        try:
            answer = await self._client.send(request)
            token, lasts = _read(answer.content)
        except StatusRefused as error:
            failed = self._failure(_refusal(error), "Check client_id, client_secret, scope and audience.")
        except ProtocolError as error:
            failed = self._failure(error.message, _NO_ENDPOINT)
        except ModelError as error:
            failed = self._failure(error.message, error.next_step)
        except ValueError as error:
            failed = self._failure(str(error), _NO_ENDPOINT)
        else:
            self._secrets.add_token(token)
            self._token = token
            self._ends = None if lasts is None else asked + max(lasts - min(_EARLY, lasts / 10), 0.0)
            return token
        raise failed

    def _failure(self, reason: str, step: str | None) -> ToolExecutionError:
        text = " ".join(self._secrets.mask_members(reason).split())[:500]
        return ToolExecutionError(f"no token for the API from {self._host}: {text}", next_step=step)


def _refusal(error: StatusRefused) -> str:
    """Status and the error's code and words (RFC 6749 section 5.2)."""
    told = ""
    try:
        found = json.loads(error.content)
        words = [found.get("error"), found.get("error_description")] if isinstance(found, dict) else []
        told = ": ".join(word for word in words if isinstance(word, str))
    except (ValueError, RecursionError):
        pass
    return f"status {error.status}" + (f": {told}" if told else "")


def _read(content: bytes) -> tuple[str, float | None]:
    """The token and how long it lasts. Raises ``ValueError`` for an answer that holds none."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("the answer is not JSON") from None
    if not isinstance(found, dict) or not isinstance(token := found.get("access_token"), str) or not token:
        raise ValueError("the answer holds no access_token")
    kind = found.get("token_type", "bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise ValueError("the token is not of the type Bearer")
    if not is_token(token):
        raise ValueError("the token holds characters that no header can carry")
    try:
        lasts = float(found["expires_in"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return token, None
    return token, lasts if 0 <= lasts < float("inf") else None
