"""What was asked against what the endpoint can do, in what this form has of its own: how thinking is switched, and that
nothing can make it choose a tool."""

from __future__ import annotations

import re

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, Notice
from agentforge.provider import Endpoint, Settled, leave_out, policy_setting, settle
from agentforge_ollama.rows import OllamaRow

__all__ = ("settle_chat",)

_FORCED = ("tool_choice.required", "tool_choice.tool")


def settle_chat(
    parameters: ChatRequestParameters, endpoint: Endpoint[OllamaRow], *, reserved: tuple[str, ...]
) -> Settled:
    """The parameters as this endpoint can take them; ``think`` is in ``extra``. Raises `UnsupportedFeatureError`."""
    try:
        settled = settle(parameters, endpoint, thinking=False, reserved=reserved)
    except UnsupportedFeatureError as error:
        feature = str(error.details.get("feature"))
        if feature in _FORCED:  # no override adds what the API has no word for
            error.next_step = (
                "Use tool_choice: auto and say in a message that the tool is to be called. With "
                f"{policy_setting(feature, 'drop')} it is left out."
            )
        raise
    level = settled.parameters.reasoning_effort
    if level is None or not settled.sends_effort:
        return settled
    if level != "none":
        settled.extra["think"] = level
    elif endpoint.row.always_thinks and re.search(endpoint.row.always_thinks, endpoint.model):
        _cannot_stop(settled, endpoint)
    else:
        settled.extra["think"] = False
    return settled


def _cannot_stop(settled: Settled, endpoint: Endpoint[OllamaRow]) -> None:
    """The model passes over what it is told: the least there is, or a refusal."""
    if endpoint.row.efforts and endpoint.policy("reasoning_effort.none") == "map":
        least = endpoint.row.efforts[0]
        settled.extra["think"] = least
        settled.notices.append(
            Notice(
                "reasoning_effort_mapped",
                f"{endpoint.row.name} model {endpoint.model!r} does not know the effort 'none'; {least!r} was sent",
                {"vendor": endpoint.row.name, "model": endpoint.model, "asked": "none", "sent": least},
            )
        )
        return
    leave_out(
        settled,
        endpoint,
        "reasoning_effort.none",
        "a request without thinking",
        f"Use reasoning_effort: low, or set {policy_setting('reasoning_effort.none', 'map')} for the least there is.",
    )
