"""A model of any kind in front of an endpoint that answers from a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from agentforge.provider import WireModel
from agentforge.testing import ScriptedEndpoint

__all__ = ("answering",)

Model = TypeVar("Model", bound=WireModel[Any])


@asynccontextmanager
async def answering(kind: Callable[..., Model], turns: Sequence[Any], **settings: Any) -> AsyncIterator[Model]:
    """A model that gets these turns through the HTTP client and a socket; without retries, so that each failure is
    seen."""
    async with (
        ScriptedEndpoint(turns) as endpoint,
        kind(base_url=endpoint.base_url, **{"model": "m", "max_retries": 0, **settings}) as model,
    ):
        yield model
