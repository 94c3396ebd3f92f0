"""What to do about an error that ends a probe: where the error itself does not say, or would name a limit that is the
probe's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentforge.cli.probing.allowing import is_endpoint
from agentforge.errors import (
    AgentForgeError,
    InvalidRequestError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
)

if TYPE_CHECKING:
    from agentforge.container import PlannedBean

__all__ = ("with_step",)

_STEPS: tuple[tuple[type[ModelError], str], ...] = (
    (
        OverloadedError,
        "The endpoint itself fails, and the settings are not the cause: probe again later, or ask who runs it.",
    ),
    (
        ModelConnectionError,
        "Something answers and then hangs up: look at the log of the server, and at proxies on the way to it.",
    ),
    (RateLimitError, "Probe again later; --only asks less."),
    (ProtocolError, "Check base_url, and that this endpoint speaks the API of the bean's type."),
    (InvalidRequestError, "Correct the bean's settings; agentforge explain shows where each one comes from."),
)
_ELSE = "Probe again; where it stays so, ask who runs the endpoint what this error means."
_LIMITS = ("total", "connect", "read", "write", "pool")


def with_step(error: Exception, bean: PlannedBean, timeout: float) -> Exception:
    """The error, with the bean as its place and what to do. ``timeout`` is the limit of the probe for a reply."""
    if not isinstance(error, AgentForgeError):
        return error
    error.location = error.location or f"bean '{bean.id}', {bean.mark}"
    if isinstance(error, ModelTimeoutError) and _is_of_the_probe(error, bean, timeout):
        error.next_step = f"Check that the endpoint is up; --timeout gives it longer than these {timeout:g} s."
    elif isinstance(error, ModelError) and error.next_step is None:
        error.next_step = next((step for kind, step in _STEPS if isinstance(error, kind)), _ELSE)
    return error


def _is_of_the_probe(error: ModelTimeoutError, bean: PlannedBean, timeout: float) -> bool:
    """Whether the limit that was reached is the probe's, and not a shorter one of the bean."""
    reached = next((name for name in _LIMITS if f"(the {name} limit)" in error.message), "total")
    settings: Any = bean.settings
    own = getattr(settings.timeouts, reached) if is_endpoint(bean) else None
    return own is None or own > timeout
