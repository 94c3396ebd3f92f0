"""Models that take tools on the Responses API only: which requests are meant."""

from __future__ import annotations

import re
from typing import Any

from agentforge.model import ChatRequestParameters
from agentforge.provider import Endpoint

__all__ = ("needs_responses",)


def needs_responses(parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> bool:
    """Whether Chat Completions would refuse these tools beside the effort that was asked for, or that the model has by
    default; an effort of ``none`` is taken."""
    if not parameters.tools or endpoint.profile.tools_with_thinking:
        return False
    if parameters.reasoning_effort is not None:
        return parameters.reasoning_effort != "none"
    by_default = endpoint.row.tools_need_effort_none
    return bool(by_default and re.search(by_default, endpoint.model))
