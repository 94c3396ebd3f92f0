"""Models that take tools on the Responses API only: which requests are meant, and what to do about a refusal."""

from __future__ import annotations

import re
from typing import Any

from agentforge.errors import InvalidRequestError, ModelError, NotFoundError
from agentforge.model import ChatRequestParameters
from agentforge.provider import Endpoint

__all__ = ("needs_responses", "with_way_out")

_OTHER_API = "v1/responses"
_WAYS_OUT = (
    "Set reasoning_effort='none', or ask this model through the Responses API (the type openai.responses); with "
    "vendor: openai, tools_need_responses: responses does that by itself."
)


def needs_responses(parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> bool:
    """Whether Chat Completions would refuse these tools beside the effort that was asked for, or that the model has by
    default; an effort of ``none`` is taken."""
    if not parameters.tools or endpoint.profile.tools_with_thinking:
        return False
    if parameters.reasoning_effort is not None:
        return parameters.reasoning_effort != "none"
    by_default = endpoint.row.tools_need_effort_none
    return bool(by_default and re.search(by_default, endpoint.model))


def with_way_out(error: ModelError) -> ModelError:
    """The error; where a server, such as a gateway in front of such a model, names the other API, with the ways there.

    >>> with_way_out(InvalidRequestError("Please use /v1/responses instead.")).next_step[:27]
    "Set reasoning_effort='none'"
    """
    if isinstance(error, (InvalidRequestError, NotFoundError)) and _OTHER_API in error.message:
        error.next_step = _WAYS_OUT
    return error
