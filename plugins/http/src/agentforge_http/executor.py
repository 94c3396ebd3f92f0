"""The executor of an HTTP tool: one call, one request (seed A 3.1.2), behind the contract of every other tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from agentforge.errors import ToolExecutionError
from agentforge.model import ToolExecutionRequest
from agentforge.tool import BoundTool, ReturnBehavior, ToolOrigin
from agentforge.tool.execution import ToolContext, ToolExecutionResult, bound_tool_from
from agentforge_http.auth import Auth
from agentforge_http.encoding import RUN_ARGUMENT, prepare
from agentforge_http.operation import HttpOperation
from agentforge_http.picking import pick_of
from agentforge_http.responses import read_result
from agentforge_http.run_arguments import with_run_values
from agentforge_http.run_values import RunValue
from agentforge_http.sender import HttpSender

__all__ = ("HttpToolExecutor", "bound_http_tool")


class HttpToolExecutor:
    """An executor ``(request, context)`` that sends what an `HttpOperation` describes.

    ``pick`` chooses from the answer (a JSON pointer or JMESPath). ``run_values`` are arguments that come from the run,
    by their names (see `with_run_values`). ``idempotency_header`` is the header for the call's key, whose action
    ``idempotency_argument`` names. ``auth`` takes the place of the sender's own.

    Raises `ConfigurationError` for a ``pick`` that cannot be parsed.
    """

    def __init__(
        self,
        operation: HttpOperation,
        sender: HttpSender,
        *,
        pick: str | None = None,
        run_values: Mapping[str, RunValue] | None = None,
        idempotency_header: str | None = None,
        idempotency_argument: str | None = None,
        auth: Auth | None = None,
    ) -> None:
        self.operation = operation
        self._sender = sender
        self._pick = pick_of(pick) if pick else None
        self._run_values = dict(run_values or {})
        self._key_header = idempotency_header if not operation.reads else None
        self._key_argument = idempotency_argument
        # An operation that says that it takes no credentials gets none.
        self._auth = Auth() if operation.security == () else auth

    async def __call__(self, request: ToolExecutionRequest, context: ToolContext | None) -> ToolExecutionResult:
        """One call. Raises `ToolArgumentsError` before anything is sent, `ToolExecutionError` for what fails."""
        given = request.arguments_as_map()
        arguments: dict[str, Any] = {name: value for name, value in given.items() if not name.startswith(RUN_ARGUMENT)}
        hidden: list[str] = []
        for name, value in self._run_values.items():
            found = value.of(context, self.operation.name)
            if found is not None:
                arguments[name] = found
            if found is not None and value.is_secret:
                hidden += _texts_of(found)
        if context is not None:
            for text in hidden:
                context.secrets.add(text)
        try:
            return await self._called(arguments, hidden, context)
        except ToolExecutionError as error:
            error.tool = error.tool or self.operation.name
            raise

    async def _called(
        self, arguments: dict[str, Any], hidden: list[str], context: ToolContext | None
    ) -> ToolExecutionResult:
        with self._sender.secrets.during_call(hidden):
            prepared = prepare(self.operation, arguments)
            if self._key_header is not None and context is not None:
                name = self._key_argument or ""
                action = arguments.get(f"{RUN_ARGUMENT}{name}", arguments.get(name))
                prepared.headers.append((self._key_header, context.idempotency_key(action)))
            answer = await self._sender.send(prepared, self.operation, self._auth)
            reads = self.operation.reads
            try:
                result = read_result(answer, self.operation.name, self._sender.secrets, self._pick)
                if reads or "nothing_picked" not in result.attributes:
                    return result
                missing, attributes = result.text, dict(result.attributes)
            except ToolExecutionError as error:
                if reads:
                    raise
                missing, attributes = error.message, {"http_status": answer.status}
            # It was done: a model that is told of a failure does it again.
            text = f"Success (status {answer.status}); but {missing}"
            return ToolExecutionResult(text, attributes=attributes)

    def __repr__(self) -> str:
        return f"HttpToolExecutor({self.operation.method} {self.operation.base_url}{self.operation.path})"


def bound_http_tool(
    operation: HttpOperation,
    sender: HttpSender,
    *,
    source_name: str = "http",
    from_context: Iterable[RunValue] = (),
    pick: str | None = None,
    idempotency_header: str | None = None,
    idempotency_argument: str | None = None,
    auth: Auth | None = None,
    timeout: float | None = None,
    serial: str | None = None,
    sequential: bool = False,
    return_behavior: ReturnBehavior | None = None,
) -> BoundTool:
    """The tool of an operation: arguments are checked against its schema before anything is sent.

    The effect is the operation's, else ``read`` for GET, HEAD and OPTIONS and ``write`` for all others. Entries of
    ``from_context`` that the operation knows nothing of add a header, a query member or a cookie, or do nothing where
    they name an argument. Raises `ToolDeclarationError` for a schema that cannot be used, `ConfigurationError` for a
    ``pick`` that cannot be parsed.
    """
    for secret in auth.secrets() if auth is not None else ():
        sender.secrets.add(secret)
    bound, values = with_run_values(operation, from_context)
    executor = HttpToolExecutor(
        bound,
        sender,
        pick=pick,
        run_values=values,
        idempotency_header=idempotency_header,
        idempotency_argument=idempotency_argument,
        auth=auth,
    )
    return bound_tool_from(
        bound.specification,
        executor,
        return_behavior=return_behavior,
        effect="read" if operation.reads else "write",
        source_name=source_name,
        timeout=timeout,
        serial=serial,
        sequential=sequential,
        origin=ToolOrigin(
            "http",
            server=urlsplit(operation.base_url).netloc,
            version=operation.version,
            name=operation.own_name or operation.name,
            digest=_digest(operation),
        ),
    )


def _texts_of(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts_of(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts_of(inner)]
    if isinstance(value, bool):  # every other true would be masked
        return []
    text = str(value)
    return [text, text.rpartition(" ")[2]]


def _digest(operation: HttpOperation) -> str:
    said = (operation.method, operation.base_url, operation.path, operation.description, operation.schema)
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:16]
