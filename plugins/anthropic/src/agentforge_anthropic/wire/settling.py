"""What was asked against what the endpoint can do, in what this form has of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from agentforge.model import ChatRequestParameters
from agentforge.provider import Endpoint, Settled, settle
from agentforge_anthropic.rows import MessagesRow
from agentforge_anthropic.wire.thinking import ThinkingPlan, plan_thinking, settle_sampling

__all__ = ("MessagesSettled", "settle_messages")


@dataclass(slots=True)
class MessagesSettled(Settled):
    """What remains to be encoded, with how the model will think."""

    plan: ThinkingPlan = field(default_factory=lambda: ThinkingPlan(on=False))


def settle_messages(
    parameters: ChatRequestParameters,
    endpoint: Endpoint[MessagesRow],
    *,
    reserved: tuple[str, ...],
    display: str | None = None,
) -> MessagesSettled:
    """The parameters as this endpoint can take them. Raises `UnsupportedFeatureError`.

    ``reserved`` are body fields that no custom parameter may set; ``display`` says whether the provider returns the
    text of thinking.
    """
    if parameters.reasoning_effort == "none" and endpoint.row.family(endpoint.model).thinking == "none":
        parameters = parameters.with_(reasoning_effort=None)  # it is so anyhow
    common = settle(parameters, endpoint, thinking=_has_budget(parameters, endpoint), reserved=reserved)
    settled = MessagesSettled(**{each.name: getattr(common, each.name) for each in fields(common)})
    settled.plan = plan_thinking(settled, endpoint, display=display)
    settle_sampling(settled, endpoint, settled.plan)
    return settled


def _has_budget(parameters: ChatRequestParameters, endpoint: Endpoint[MessagesRow]) -> bool:
    """Whether the model will think within a budget, which forbids to force a call."""
    said = parameters.custom_parameters.get("thinking")
    if isinstance(said, Mapping):
        return said.get("type") == "enabled"
    level = parameters.reasoning_effort
    return level not in (None, "none") and endpoint.row.family(endpoint.model).thinking == "budget"
