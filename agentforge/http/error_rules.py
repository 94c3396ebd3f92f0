"""What providers mean by certain codes and words, where their status does not say it: rules as data.

The rules here hold whoever speaks; a provider's plugin has a table of its own for what only its vendors say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agentforge.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    ModelError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    RateLimitError,
    ToolUseFailedError,
)

__all__ = ("COMMON_RULES", "NO_QUOTA", "ErrorRule", "next_step_of", "reclassed", "ruled")

NO_QUOTA = "The quota is used up: waiting does not help. Check the plan and billing of this key."
_NEXT_STEPS: dict[type[ModelError], str] = {
    AuthenticationError: "Check the API key of this model: is it set, whole, and for this endpoint?",
    PermissionDeniedError: "The key is known but may not do this: check its rights, project and region.",
    NotFoundError: "Check the model's name and base_url; some endpoints need a path such as /v1.",
    ContextLengthError: "Send less: trim the memory, cap results of tools, or take a model with a larger context.",
    ContentFilterError: "The provider's filter blocked the request; see details for what it found.",
    ToolUseFailedError: "The model made a call that its tools do not allow: ask again, or loosen tool_choice.",
}


@dataclass(frozen=True)
class ErrorRule:
    """An error that has one of ``codes`` (lower case; a provider's code or type), or whose message holds ``words`` (a
    regular expression, in any case), and whose class is one of ``among`` (empty: any), becomes a ``kind``.

    ``kind=None`` keeps the class. ``next_step`` and ``retryable`` go before those that the error has; a new class
    brings its own next step.
    """

    kind: type[ModelError] | None = None
    codes: tuple[str, ...] = ()
    words: str = ""
    among: tuple[type[ModelError], ...] = ()
    next_step: str | None = None
    retryable: bool | None = None

    def fits(self, error: ModelError) -> bool:
        """Whether this rule is about the error."""
        if self.among and type(error) not in self.among:
            return False
        if self.codes and not self.codes_of(error).isdisjoint(self.codes):
            return True
        return bool(self.words) and self._pattern.search(error.message) is not None

    @staticmethod
    def codes_of(error: ModelError) -> set[str]:
        """Everything that names the kind of the failure, lower case."""
        named = (error.provider_code, error.details.get("type"), error.details.get("code"))
        return {text.lower() for text in named if isinstance(text, str)}

    def made(self, error: ModelError) -> ModelError:
        """The error as this rule has it."""
        if self.kind is not None and type(error) is not self.kind:
            error = reclassed(error, self.kind)
        if self.next_step is not None:
            error.next_step = self.next_step
        if self.retryable is not None:
            error.retryable = self.retryable
        return error

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.words, re.IGNORECASE)


def ruled(error: ModelError, rules: Sequence[ErrorRule]) -> ModelError:
    """The error as the first rule that fits has it; as it is where none does.

    >>> rule = ErrorRule(ContextLengthError, words="too many words")
    >>> type(ruled(InvalidRequestError("Too many words: 5"), [rule])).__name__
    'ContextLengthError'
    """
    for rule in rules:
        if rule.fits(error):
            return rule.made(error)
    return error


def reclassed(error: ModelError, kind: type[ModelError]) -> ModelError:
    """The same error as one of another class, with that class's next step."""
    made = kind(
        error.message,
        status=error.status,
        request_id=error.request_id,
        provider_code=error.provider_code,
        retry_after=error.retry_after,
        details=error.details,
        location=error.location,
        next_step=next_step_of(kind),
    )
    made.attempts, made.sent, made.local = error.attempts, error.sent, error.local
    return made


def next_step_of(kind: type[ModelError]) -> str | None:
    """What to do about any error of this class; ``None`` where that hangs on the error."""
    return _NEXT_STEPS.get(kind)


# Classes that say little, so that words go before them; of a stream there is no status at all.
_VAGUE = (ModelError, InvalidRequestError, OverloadedError)
_TOO_LONG = (
    r"context[_ ](?:length|window)[_ ](?:is )?exceed|exceed\w*(?: the)?(?: max(?:imum)?)?(?: model's?)? context"
    r"|exceeds? the (?:model's )?maximum context|maximum (?:context|prompt) length is|context length is only"
    r"|with [\d,]+ maximum context length|prompt (?:is )?too long|input is too long"
    r"|(?:longer|greater) than the (?:model'?s )?context|exceeds the available context|available context size"
    r"|configured context size|exceeded model token limit|exceeds the maximum (?:number of tokens|allowed input length)"
    r"|prompt exceeds max(?:imum)? length|range of input length should be"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|too many tokens: size limit|`inputs` (?:tokens|must have)"
)
_BAD_KEY = r"(?:incorrect|invalid)(?: |%20)api(?: |%20)(?:key|token)|api[ _]key(?: is)?(?: not valid|[ _]invalid)"
_NO_CREDIT = (
    r"insufficient[ _](?:balance|credits?|funds)|credit balance is too low|requires more credits"
    r"|exceeded your monthly (?:included )?credits|used all available credits|in arrears|overdue[ -]payment"
)
COMMON_RULES = (
    ErrorRule(ContextLengthError, words=_TOO_LONG, among=_VAGUE),
    ErrorRule(AuthenticationError, words=_BAD_KEY, among=(ModelError, InvalidRequestError)),
    ErrorRule(
        RateLimitError,
        codes=("insufficient_quota",),
        words=_NO_CREDIT,
        among=(*_VAGUE, RateLimitError, PermissionDeniedError),
        next_step=NO_QUOTA,
        retryable=False,
    ),
)
"""What holds whoever speaks: a conversation that is too long, a key that is refused as a bad request, no credit."""
