"""Several models as one: when the first cannot answer the next is asked, and nobody has to know.

Retry of one request is the HTTP seam's; this is for what stays broken, or for another model's answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Literal, TypeAlias

from agentforge.errors import (
    AuthenticationError,
    CircuitOpenError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
    UnsupportedFeatureError,
)
from agentforge.masking import Secrets
from agentforge.model.chat_model import ChatModel, label_of
from agentforge.model.events import ChatEvent, Notice, ResponseDone
from agentforge.model.profile import ModelProfile
from agentforge.model.request import ChatRequest
from agentforge.model.response import ChatResponse

__all__ = ("FALLBACK_DEFAULT", "FallbackChatModel", "FallbackReason")

FallbackReason: TypeAlias = Literal[
    "rate_limit",
    "overloaded",
    "timeout",
    "connection",
    "authentication",
    "permission",
    "not_found",
    "context_length",
    "content_filter",
    "protocol",
    "unsupported",
    "any",
]
"""What may make the next model answer, in words of the error taxonomy; ``any`` is every `ModelError`."""

_ERRORS: Mapping[str, type[ModelError]] = {
    "rate_limit": RateLimitError,
    "overloaded": OverloadedError,
    "timeout": ModelTimeoutError,
    "connection": ModelConnectionError,
    "authentication": AuthenticationError,
    "permission": PermissionDeniedError,
    "not_found": NotFoundError,
    "context_length": ContextLengthError,
    "content_filter": ContentFilterError,
    "protocol": ProtocolError,
    "unsupported": UnsupportedFeatureError,
    "any": ModelError,
}
FALLBACK_DEFAULT: tuple[FallbackReason, ...] = ("rate_limit", "overloaded", "timeout", "connection")
"""What another endpoint may be better at; a request that is wrong stays wrong everywhere."""


class FallbackChatModel:
    """A `ChatModel` over others, asked in their order.

    Each member keeps its own profile and maps the request by it; the group's profile is the first one's. A member's
    failure leads to the next only if it is one of ``on`` (or ``when`` says so), and never once events of its answer
    were shown. The reply then carries the notice ``model_fallback``. The members are not closed here.

    Raises `ConfigurationError` without members or for an unknown word, and what the last model that was asked raised,
    with a note for each before it.

    >>> import asyncio
    >>> from agentforge.errors import OverloadedError
    >>> from agentforge.model.scripted import ScriptedChatModel
    >>> model = FallbackChatModel([ScriptedChatModel([OverloadedError("busy")]), ScriptedChatModel(["Hello."])])
    >>> response = asyncio.run(model.chat(ChatRequest("Hi")))
    >>> response.ai_message.text, response.notices[0].code
    ('Hello.', 'model_fallback')
    """

    def __init__(
        self,
        members: Iterable[ChatModel],
        *,
        on: Iterable[FallbackReason] = FALLBACK_DEFAULT,
        when: Callable[[ModelError], bool] | None = None,
    ) -> None:
        self.members: tuple[ChatModel, ...] = tuple(members)
        if not self.members:
            raise ConfigurationError("a fallback needs at least one model", next_step="Give the models in their order.")
        words = (on,) if isinstance(on, str) else tuple(on)
        for word in words:
            if word not in _ERRORS:
                step = f"There are {', '.join(_ERRORS)}."
                raise ConfigurationError(f"a fallback knows no reason {word!r}", next_step=step)
        self._on = tuple(_ERRORS[word] for word in words)
        self._when = when

    @property
    def profile(self) -> ModelProfile:
        """The first member's."""
        return self.members[0].profile

    @property
    def secrets(self) -> Secrets:
        """Those of all members."""
        found = Secrets()
        for member in self.members:
            theirs = getattr(member, "secrets", None)
            if isinstance(theirs, Secrets):
                found = found | theirs
        return found

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The reply of the first member that gives one."""
        failures: list[ModelError] = []
        for member in self.members:
            try:
                return _noted(await member.chat(request), self._notice(failures))
            except ModelError as error:
                if not self._goes_on(error, failures):
                    raise
        raise AssertionError("the last member answers or raises")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The events of the first member that shows any."""
        failures: list[ModelError] = []
        for member in self.members:
            shown = done = False
            notice = self._notice(failures)
            # What a member has to say of itself is told with what it answers: it may fail yet.
            waiting: list[ChatEvent] = [] if notice is None else [notice]
            try:
                async with aclosing(member.stream(request)) as events:
                    async for event in events:
                        if type(event) is Notice and not shown:
                            waiting.append(event)
                            continue
                        shown = True
                        for earlier in waiting:
                            yield earlier
                        waiting.clear()
                        done = done or type(event) is ResponseDone
                        yield event if type(event) is not ResponseDone else ResponseDone(_noted(event.response, notice))
                if done:
                    return
                raise StreamTruncatedError("the model's stream ended without a response")
            except ModelError as error:
                if shown or not self._goes_on(error, failures):
                    raise

    async def aclose(self) -> None:
        """Nothing: the members belong to whoever made them."""

    def _goes_on(self, error: ModelError, failures: list[ModelError]) -> bool:
        """Whether the next member is asked; if not, the error tells what came before it."""
        failures.append(error)
        kinds: tuple[type[ModelError], ...] = (type(error),)
        if isinstance(error, CircuitOpenError):  # as good as an overload, and as the failure that opened it
            kinds = (OverloadedError, error.opened_by)
        fits = any(issubclass(kind, self._on) for kind in kinds) or (self._when is not None and self._when(error))
        if fits and len(failures) < len(self.members):
            return True
        for member, earlier in zip(self.members, failures[:-1], strict=False):
            error.add_note(f"before it, model {label_of(member)!r} failed: [{earlier.code}] {earlier.message}")
        return False

    def _notice(self, failures: Sequence[ModelError]) -> Notice | None:
        if not failures:
            return None
        answering = label_of(self.members[len(failures)])
        failed = [
            {"model": label_of(member), "code": error.code}
            for member, error in zip(self.members, failures, strict=False)
        ]
        words = ", ".join(f"{each['model']} ({each['code']})" for each in failed)
        return Notice("model_fallback", f"{answering} answered in the place of {words}", {"failed": failed})

    def __repr__(self) -> str:
        return f"FallbackChatModel({', '.join(map(label_of, self.members))})"


def _noted(response: ChatResponse, notice: Notice | None) -> ChatResponse:
    return response if notice is None else replace(response, notices=(notice, *response.notices))
