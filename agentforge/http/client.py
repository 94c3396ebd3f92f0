"""The HTTP client of a model: a transport for each event loop, retries, the total limit, errors, the debug log.

One object a provider. It may be made anywhere and used from several loops: connections belong to the loop that opened
them, so each running loop gets a transport of its own, made at its first request and never again.
"""

from __future__ import annotations

import asyncio
import random as _random
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

from agentforge.errors import ModelError, ModelTimeoutError
from agentforge.http.deadline import StreamGuard
from agentforge.http.display import safe_url
from agentforge.http.error_taxonomy import error_from_response, request_id_of
from agentforge.http.exchange_log import ExchangeLog
from agentforge.http.factory import check_transport, make_transport
from agentforge.http.passage import Gate, Passage
from agentforge.http.retry import RetryPolicy, parse_retry_after, parse_should_retry
from agentforge.http.transport import HttpRequest, HttpResponse, HttpStream, HttpTransport
from agentforge.masking import Secrets

__all__ = ("ErrorParser", "HttpClient")

#: From status, headers (lower case) and body of an answer that is not 2xx to the error to raise.
ErrorParser = Callable[[int, Mapping[str, str], bytes], ModelError]

_MAX_ERROR_BODY = 64 * 1024  # bytes read of the body of a refused stream
_OPEN_GATE = Gate(lambda subject: ())


class HttpClient:
    """Sends requests and gives back good answers only; everything else is a `ModelError`, after the retries.

    ``transport``: a name (see `make_transport`, which also gets ``transport_options``), a function that makes one for
    each event loop, or a transport of your own, which is used as it is and never closed here. ``retry``: see
    `RetryPolicy`. ``secrets``: values to mask in errors and logs. ``error_parser``: a provider's own reading of failed
    answers (default: `error_from_response`). ``gate``: the circuits, the retry budget and the rate limit that each
    request has to pass, see `Outages.gate`. ``sleep``, ``random`` and ``now`` are for tests.

    Raises `ConfigurationError` at once for an unknown transport or option, or a library that is not installed.
    """

    def __init__(
        self,
        *,
        transport: str | HttpTransport | Callable[[], HttpTransport] = "httpx",
        transport_options: Mapping[str, Any] | None = None,
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008  (frozen)
        secrets: Secrets | None = None,
        error_parser: ErrorParser | None = None,
        gate: Gate | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = _random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._given: HttpTransport | None = None
        self._factory: Callable[[], HttpTransport]
        options = dict(transport_options or {})
        if isinstance(transport, str):
            name = transport
            check_transport(name, options)
            self._factory = lambda: make_transport(name, **options)
        elif isinstance(transport, HttpTransport) and not isinstance(transport, type):
            self._given = transport
        else:
            self._factory = transport
        self._retry = retry
        self._secrets = secrets if secrets is not None else Secrets()
        self._parse_error = error_parser
        #: What each request passes first.
        self.gate = gate if gate is not None else _OPEN_GATE
        self._sleep = sleep
        self._random = random
        self._now = now
        self._log = ExchangeLog(self._secrets)
        self._transports: WeakKeyDictionary[asyncio.AbstractEventLoop, HttpTransport] = WeakKeyDictionary()
        # Loops of several threads may make their first request at once.
        self._changing = threading.Lock()

    async def send(self, request: HttpRequest) -> HttpResponse:
        """The whole answer, if its status is 2xx.

        Failures that may pass are retried by the policy, all within ``timeouts.total``. Raises a `ModelError` of the
        taxonomy, whose ``attempts`` counts the sendings.
        """
        transport = self._transport()
        passage = self.gate.passage(request.subject, len(request.content))
        attempt = 0
        try:
            async with asyncio.timeout(request.timeouts.total) as limit:
                while True:
                    if not passage.enter_at_once():
                        await self._enter(request, passage, attempt, limit.when())
                    attempt += 1
                    try:
                        if self._log.enabled():
                            response = await self._send_logged(transport, request, attempt)
                        else:
                            response = await transport.send(request)
                            if not 200 <= response.status < 300:
                                raise self._refused(request, response.status, response.headers, response.content)
                        if not request.judged:
                            passage.succeeded()
                        response.passage = passage
                        return response
                    except ModelError as error:
                        await self._wait(request, passage, error, attempt, limit.when())
        except TimeoutError as error:
            if isinstance(error, ModelError) or not limit.expired():
                raise
            raise self._late(request, passage, attempt) from None
        except BaseException:
            passage.left()
            raise

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        """The answer while it arrives, if its status is 2xx: ``async with client.stream(request) as answer``.

        Retried like `send`, but only until a good answer has begun. Leaving the block closes the exchange; a limit or
        a break after the beginning is raised where the chunks are read.
        """
        transport = self._transport()
        passage = self.gate.passage(request.subject, len(request.content))
        attempt = 0
        try:
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(request.timeouts.total) as limit:
                        while True:
                            if not passage.enter_at_once():
                                await self._enter(request, passage, attempt, limit.when())
                            attempt += 1
                            try:
                                answer = await self._open_once(stack, transport, request, attempt)
                                break
                            except ModelError as error:
                                await stack.aclose()
                                await self._wait(request, passage, error, attempt, limit.when())
                except TimeoutError as error:
                    if isinstance(error, ModelError) or not limit.expired():
                        raise
                    raise self._late(request, passage, attempt) from None
                sent = attempt
                guard = StreamGuard(
                    limit.when(),
                    lambda: self._late(request, passage, sent, begun=True),
                    lambda error: self._failed(passage, error, sent),
                    None if request.judged else passage.begun,
                )
                chunks = guard.watch(answer.chunks)
                if self._log.enabled():
                    chunks = self._log.watch(request, chunks, sent)
                try:
                    yield HttpStream(answer.status, answer.headers, chunks, passage)
                except ModelError as error:  # what the answer turned out to be
                    self._failed(passage, error, sent)
                    raise
                finally:
                    guard.cancel()
                    with suppress(RuntimeError):  # another task is still waiting in it: closing the exchange ends that
                        await chunks.aclose()
                if guard.seen:
                    passage.succeeded()
        finally:
            passage.left()

    async def aclose(self) -> None:
        """Close the running loop's connections and let go of those of others; safe to call twice.

        A transport that was given as an object stays open. A request after this makes a new transport.
        """
        with self._changing:
            mine = self._transports.pop(asyncio.get_running_loop(), None)
            others = dict(self._transports)
            self._transports.clear()
        for loop, transport in others.items():
            self._let_go(loop, transport)
        if mine is not None:
            await mine.aclose()

    # -- transports ------------------------------------------------------------------------------

    def _transport(self) -> HttpTransport:
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        transport = self._transports.get(loop)
        if transport is None:
            with self._changing:
                for other in [other for other in self._transports if other.is_closed()]:
                    self._let_go(other, self._transports.pop(other))
                transport = self._transports[loop] = self._factory()
        return transport

    def _let_go(self, loop: asyncio.AbstractEventLoop, transport: HttpTransport) -> None:
        if not loop.is_closed():
            with suppress(RuntimeError):  # closed in between
                asyncio.run_coroutine_threadsafe(transport.aclose(), loop)
        elif (abandon := getattr(transport, "abandon", None)) is not None:
            abandon()

    # -- one sending -----------------------------------------------------------------------------

    async def _send_logged(self, transport: HttpTransport, request: HttpRequest, attempt: int) -> HttpResponse:
        start = time.monotonic()
        try:
            response = await transport.send(request)
        except ModelError as error:
            self._log.failed(request, error, time.monotonic() - start, attempt)
            raise
        passed = time.monotonic() - start
        self._log.answered(request, response.status, response.headers, response.content, passed, attempt)
        if 200 <= response.status < 300:
            return response
        raise self._refused(request, response.status, response.headers, response.content)

    async def _open_once(
        self, stack: AsyncExitStack, transport: HttpTransport, request: HttpRequest, attempt: int
    ) -> HttpStream:
        logged = self._log.enabled()
        start = time.monotonic() if logged else 0.0
        try:
            answer = await stack.enter_async_context(transport.stream(request))
            good = 200 <= answer.status < 300
            content = None if good else await _beginning(answer.chunks)
        except ModelError as error:
            if logged:
                self._log.failed(request, error, time.monotonic() - start, attempt)
            raise
        if logged:
            self._log.answered(request, answer.status, answer.headers, content, time.monotonic() - start, attempt)
        if content is None:
            return answer
        raise self._refused(request, answer.status, answer.headers, content)

    # -- failures --------------------------------------------------------------------------------

    def _refused(self, request: HttpRequest, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        now = self._now()
        if self._parse_error is None:
            error = error_from_response(status, headers, content, secrets=self._secrets, now=now)
        else:
            error = self._parse_error(status, headers, content)
        # A parser of a provider's own need not repeat what holds for all.
        if error.status is None:
            error.status = status
        if error.request_id is None:
            error.request_id = request_id_of(headers)
        if error.retry_after is None:
            error.retry_after = parse_retry_after(headers, now)
        if (wish := parse_should_retry(headers)) is not None:
            error.retryable = wish
        if error.location is None:
            error.location = f"{request.method} {safe_url(request.url)}"
        return error

    async def _enter(self, request: HttpRequest, passage: Passage, attempt: int, until: float | None) -> None:
        """Pass before the sending that comes after ``attempt`` others."""
        try:
            await passage.enter(until)
        except ModelError as error:
            error.location = f"{request.method} {safe_url(request.url)}"
            self._settle(error, attempt)
            raise

    async def _wait(
        self, request: HttpRequest, passage: Passage, error: ModelError, attempt: int, until: float | None
    ) -> None:
        """Sleep before the next sending, or raise the error for good."""
        self._failed(passage, error, attempt)
        delay = self._retry.delay(attempt, error, self._random)
        if delay is None:
            if error.retryable and self._retry.too_long(error):
                error.next_step = (
                    f"The provider asks to wait {error.retry_after:g} s, longer than retry_after_cap "
                    f"({self._retry.retry_after_cap:g} s): try again after that, or raise the cap."
                )
            raise error
        if until is not None and asyncio.get_running_loop().time() + delay >= until:
            raise error  # the total limit would end the wait: this error says more than a time-out
        if (refused := passage.refusal()) is not None:
            error.next_step = f"It was not sent again, as so many requests fail there now. {refused.next_step}"
            raise error
        if not passage.may_retry():
            error.next_step = (
                f"It was not sent again: the retry budget of this endpoint ({passage.budget}) is used up, as many "
                "requests to it fail now. Ask again later, or raise retry_budget."
            )
            raise error
        if self._log.enabled():
            self._log.waiting(request, error, delay, attempt)
        await self._sleep(delay)

    def _late(self, request: HttpRequest, passage: Passage, attempt: int, *, begun: bool = False) -> ModelTimeoutError:
        error = ModelTimeoutError(
            f"the exchange was not done within {request.timeouts.total:g} s (the total limit)",
            location=f"{request.method} {safe_url(request.url)}",
            next_step="Raise timeouts.total if answers may take longer than this.",
        )
        error.local = not passage.under_way  # it was waiting for its turn, or to be sent again
        self._settle(error, attempt)
        passage.failed(error, reached=begun)
        return error

    def _failed(self, passage: Passage, error: ModelError, attempt: int) -> None:
        """Count the sendings, and tell the circuits."""
        self._settle(error, attempt)
        passage.failed(error)

    def _settle(self, error: ModelError, attempt: int) -> None:
        """Count the sendings, and mask what a transport or a parser could not know to be secret."""
        error.attempts = attempt
        if not self._secrets:
            return
        mask = self._secrets.mask
        error.message = mask(error.message)
        error.args = (error.message,)
        error.location = mask(error.location) if error.location else error.location
        error.next_step = mask(error.next_step) if error.next_step else error.next_step


async def _beginning(chunks: AsyncIterator[bytes]) -> bytes:
    """The first part of a body that only has to say what went wrong."""
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= _MAX_ERROR_BODY:
            break
    return b"".join(parts)[:_MAX_ERROR_BODY]
