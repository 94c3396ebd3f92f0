"""Every error AgentForge raises: one hierarchy, one place that renders it, stable codes.

```
AgentForgeError
├── ConfigurationError                     AF100   a setting that cannot be honoured
│   ├── ConfigurationFaults                AF1xx   a file's faults, all at once, each with its own code
│   ├── AdvisorOrderError                  AF124   advisors that cannot stand in one chain
│   ├── ServiceDeclarationError (TypeError)  AF125  an interface that no AI service can be made of
│   ├── PluginError                        AF201   a plugin that cannot be used
│   ├── BeanTypeError                      AF202   a bean type that is declared wrongly
│   ├── ComponentError                     AF203   a component that is not there or cannot be made
│   ├── BeanCreationError                  AF204   a bean's factory or start raised
│   ├── BeanNotFoundError (LookupError)    AF205   no bean of this name or type, or several
│   └── ContextStateError (RuntimeError)   AF206   an application that has not started, or has ended
│       └── InvocationError (AttributeError)  AF207   a bean of a run where no run is
├── ModelError                             AF300   the model or its endpoint
│   ├── AuthenticationError                AF301   the key was refused
│   ├── PermissionDeniedError              AF302   the key may not do this
│   ├── NotFoundError                      AF303   no such model, deployment or path
│   ├── InvalidRequestError                AF304   the provider refused the request
│   │   ├── ContextLengthError             AF305   the conversation is too long
│   │   └── ToolUseFailedError             AF317   the provider refused the call that the model made
│   ├── ContentFilterError                 AF306   the provider's filter blocked the request
│   ├── RateLimitError                     AF307   too many requests or no quota
│   │   └── LocalRateLimitError            AF316   a limit of the model's own, on this side
│   ├── OverloadedError                    AF308   the provider failed or is overloaded
│   ├── ModelTimeoutError (TimeoutError)   AF309   no answer in time
│   ├── ModelConnectionError               AF310   the connection could not be made or broke
│   ├── ProtocolError                      AF311   the answer does not fit the wire form
│   │   └── StreamTruncatedError           AF312   the stream ended before the reply did
│   ├── UnsupportedFeatureError            AF313   refused before the request was sent
│   ├── ToolChoiceError                    AF314   a call was required and none came
│   └── CircuitOpenError                   AF315   not sent, as the endpoint fails for all
├── ToolError                              AF400
│   ├── ToolArgumentsError                 AF401   arguments that do not fit the tool
│   ├── ToolExecutionError                 AF402   the tool failed
│   │   └── ToolInDoubtError               AF408   it may or may not have acted
│   ├── UnknownToolError                   AF403   the model named a tool that was not offered
│   ├── DuplicateToolError (ValueError)    AF404   two tools of one name
│   ├── ToolDeclarationError (TypeError)   AF405   a function that cannot become a tool
│   ├── ToolTimeoutError (TimeoutError)    AF406   a tool took too long
│   └── ToolLimitedError                   AF407   a bound kept the call from starting
├── RunError                               AF500   carries ``partial``, a valid history
│   ├── ToolRoundTripLimitError (RuntimeError)  AF501
│   ├── RunTimeoutError (TimeoutError)     AF502
│   ├── RunCancelledError                  AF503
│   ├── RunStateError (ValueError)         AF504   a saved state that cannot be taken up
│   ├── RunArgumentError (TypeError)       AF505   an argument of a run that is not what it must be
│   ├── AdvisorError                       AF510   an advisor did what a chain cannot go on with
│   ├── BudgetExceededError                AF511   a limit of a budget is used up
│   ├── StructuredOutputError              AF512   an answer that has not the form it was to have
│   └── ServiceSuspendedError              AF513   a service's turn waits for a decision
└── ChatMemoryError                        AF600   the memory of conversations
    ├── MemoryConflictError                AF601   somebody else stored the conversation meanwhile
    ├── ConversationSuspendedError         AF602   a new turn while one waits for a decision
    ├── UnreadableConversationError        AF603   what is stored cannot be read
    ├── MemoryKeyError (ValueError)        AF604   no memory id, or one that cannot be
    ├── MemoryLimitError (ValueError)      AF605   a conversation's state map is too large
    ├── TurnStateError (RuntimeError)      AF606   a turn that has ended, or one inside itself
    └── MemoryStoreError                   AF607   the store itself cannot be used
```

Codes never change their meaning. ``message`` says what was wrong and where; ``next_step`` says what
to do. Neither ever holds a secret: whoever raises masks first (see `agentforge.masking`). The classes below
`ConfigurationError` are where they are raised: in `agentforge.config`, `agentforge.plugin`, `agentforge.container` and
`agentforge.advisor`; those of AI services in `agentforge.client`, those of memory in `agentforge.memory`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = (
    "AgentForgeError",
    "ArgumentProblem",
    "AuthenticationError",
    "CircuitOpenError",
    "ConfigurationError",
    "ContentFilterError",
    "ContextLengthError",
    "DuplicateToolError",
    "InvalidRequestError",
    "LocalRateLimitError",
    "ModelConnectionError",
    "ModelError",
    "ModelTimeoutError",
    "NotFoundError",
    "OverloadedError",
    "PermissionDeniedError",
    "ProtocolError",
    "RateLimitError",
    "RunArgumentError",
    "RunCancelledError",
    "RunError",
    "RunStateError",
    "RunTimeoutError",
    "StreamTruncatedError",
    "ToolArgumentsError",
    "ToolChoiceError",
    "ToolDeclarationError",
    "ToolError",
    "ToolExecutionError",
    "ToolInDoubtError",
    "ToolLimitedError",
    "ToolRoundTripLimitError",
    "ToolTimeoutError",
    "ToolUseFailedError",
    "UnknownToolError",
    "UnsupportedFeatureError",
)


class AgentForgeError(Exception):
    """The base of all errors: data first (``code``, ``message``, ``location``, ``next_step``), text from it.

    >>> print(ConfigurationError("timeout must be positive", next_step="Give seconds above 0."))
    [AF100] timeout must be positive
      next: Give seconds above 0.
    """

    code = "AF000"
    #: Where the error ended a run: a `PartialRun`, with a valid history and all executions so far; else ``None``.
    partial: Any = None

    def __init__(self, message: str, *, location: str | None = None, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.next_step = next_step

    def __str__(self) -> str:
        place = f" ({self.location})" if self.location else ""
        step = f"\n  next: {self.next_step}" if self.next_step else ""
        return f"[{self.code}] {self.message}{place}{step}"


class ConfigurationError(AgentForgeError):
    """A setting that cannot be honoured as it stands."""

    code = "AF100"


# -- the model and its endpoint ------------------------------------------------------------------


class ModelError(AgentForgeError):
    """A model call failed. ``status`` is the HTTP status, ``request_id`` the provider's own id for the request,
    ``provider_code`` the provider's error code, ``retryable`` whether the same request may succeed later."""

    code = "AF300"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        provider_code: str | None = None,
        retry_after: float | None = None,
        details: Mapping[str, object] | None = None,
        location: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, location=location, next_step=next_step)
        self.status = status
        self.request_id = request_id
        self.provider_code = provider_code
        #: Seconds the provider asked to wait; ``None`` when it named none.
        self.retry_after = retry_after
        #: Further parts of the provider's error (``failed_generation``, filter results), masked.
        self.details = details or {}
        #: How many times the request was sent, the retries included.
        self.attempts = 1
        #: Whether the endpoint may have seen the request: not where no connection could be made.
        self.sent = True
        #: Whether this side alone kept the request back, so that it says nothing of the endpoint.
        self.local = False

    def __str__(self) -> str:
        first, *rest = super().__str__().split("\n", 1)
        tried = f" (tried {self.attempts} times)" if self.attempts > 1 else ""
        return "\n".join((first + tried, *rest))


class AuthenticationError(ModelError):
    """The provider refused the credentials."""

    code = "AF301"


class PermissionDeniedError(ModelError):
    """The credentials are good but may not do this."""

    code = "AF302"


class NotFoundError(ModelError):
    """No such model, deployment or path at this endpoint."""

    code = "AF303"


class InvalidRequestError(ModelError):
    """The provider refused the request as malformed or unsupported."""

    code = "AF304"


class ContextLengthError(InvalidRequestError):
    """The conversation does not fit into the model's context."""

    code = "AF305"


class ToolUseFailedError(InvalidRequestError):
    """The provider checked what the model made and refused it: arguments that do not fit, no call where one was
    required, an unknown tool. A tool loop tells the model and asks again; see `failed_generation`."""

    code = "AF317"

    @property
    def failed_generation(self) -> str:
        """What the model had made, as far as the provider tells or the stream showed it; may be empty."""
        for name in ("failed_generation", "partial_text"):
            found = self.details.get(name)
            if isinstance(found, str) and found:
                return found
        return ""


class ContentFilterError(ModelError):
    """The provider's content filter blocked the request before an answer was made."""

    code = "AF306"


class RateLimitError(ModelError):
    """Too many requests, or the quota is used up (then ``retryable`` is false)."""

    code = "AF307"
    retryable = True


class OverloadedError(ModelError):
    """The provider failed on its side or is overloaded (5xx, 529)."""

    code = "AF308"
    retryable = True


class ModelTimeoutError(ModelError, TimeoutError):
    """No answer, or no further part of it, came in time."""

    code = "AF309"
    retryable = True


class ModelConnectionError(ModelError):
    """The connection could not be made, or broke."""

    code = "AF310"
    retryable = True


class ProtocolError(ModelError):
    """The answer does not fit the wire form: not JSON, an HTML page, an empty body, a broken event."""

    code = "AF311"


class StreamTruncatedError(ProtocolError):
    """The stream ended before the reply did. ``partial_text`` is what had been shown; no call of the reply ran."""

    code = "AF312"

    def __init__(self, message: str, *, partial_text: str = "", request_id: str | None = None) -> None:
        super().__init__(message, request_id=request_id)
        self.partial_text = partial_text


class UnsupportedFeatureError(ModelError):
    """What was asked cannot be done by this vendor or model; nothing was sent."""

    code = "AF313"


class ToolChoiceError(ModelError):
    """``tool_choice`` asked for a call and the model made none."""

    code = "AF314"


class CircuitOpenError(ModelError):
    """Not sent: so many requests to this endpoint failed that only a probe goes there now and then. ``retry_after`` are
    the seconds until the next one, ``opened_by`` is the class of the failure that it stands for."""

    code = "AF315"
    retryable = True

    def __init__(self, message: str, *, opened_by: type[ModelError] = ModelError, **further: Any) -> None:
        super().__init__(message, **further)
        self.opened_by = opened_by
        self.attempts = 0
        self.sent = False
        self.local = True


class LocalRateLimitError(RateLimitError):
    """Not sent: the model's own rate limit would have it wait longer than it may; ``retry_after`` is that wait."""

    code = "AF316"

    def __init__(self, message: str, **further: Any) -> None:
        super().__init__(message, **further)
        self.attempts = 0
        self.sent = False
        self.local = True


# -- tools ---------------------------------------------------------------------------------------


class ToolError(AgentForgeError):
    """The base of what goes wrong with tools; ``tool`` is the tool's name when it is known."""

    code = "AF400"

    def __init__(
        self,
        message: str,
        *,
        tool: str | None = None,
        location: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, location=location, next_step=next_step)
        self.tool = tool


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """One thing wrong with the arguments: ``path`` is dotted (empty for the whole), ``message`` a sentence part."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ToolArgumentsError(ToolError):
    """Arguments that are not JSON, not an object, or do not fit the tool; the tool did not run."""

    code = "AF401"

    def __init__(
        self,
        message: str,
        *,
        tool: str | None = None,
        problems: Sequence[ArgumentProblem] = (),
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, tool=tool, next_step=next_step)
        self.problems = tuple(problems)


class ToolExecutionError(ToolError):
    """The tool itself failed; ``__cause__`` is what it raised."""

    code = "AF402"


class ToolInDoubtError(ToolExecutionError):
    """The tool failed and may have acted all the same: the way to it was lost after it had been asked."""

    code = "AF408"


class UnknownToolError(ToolError):
    """The model named a tool that this request did not offer; ``known`` are the names it did offer."""

    code = "AF403"

    def __init__(self, message: str, *, tool: str | None = None, known: Sequence[str] = ()) -> None:
        super().__init__(
            message,
            tool=tool,
            next_step="Use the unknown-tool strategy list_known_tools to let the model correct itself.",
        )
        self.known = tuple(known)


class DuplicateToolError(ToolError, ValueError):
    """Two tools of one name in one request."""

    code = "AF404"


class ToolDeclarationError(ToolError, TypeError):
    """A function or specification that cannot become a tool; names the parameter and what to change."""

    code = "AF405"


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool did not end in its time; whether its effect happened is unknown."""

    code = "AF406"


class ToolLimitedError(ToolError):
    """A bound (threads, calls, tokens) kept a call from starting; the tool did not run."""

    code = "AF407"


# -- runs ----------------------------------------------------------------------------------------


class RunError(AgentForgeError):
    """A run ended early. ``partial`` (a `PartialRun`) holds a valid history and all executions so far.

    An exception of another class that an error handler raises gets the same attribute.
    """

    code = "AF500"


class ToolRoundTripLimitError(RunError, RuntimeError):
    """The model asked for more rounds than ``max_tool_calling_round_trips`` allows."""

    code = "AF501"


class RunTimeoutError(RunError, TimeoutError):
    """The run's own time limit passed."""

    code = "AF502"


class RunCancelledError(RunError):
    """The run was cancelled through `Run.cancel`."""

    code = "AF503"


class RunStateError(RunError, ValueError):
    """A saved state or message that cannot be read: another version, or not ours."""

    code = "AF504"


class RunArgumentError(RunError, TypeError):
    """What was given to a run is not what it must be: a dict where a message is due, a model's name for a model."""

    code = "AF505"
