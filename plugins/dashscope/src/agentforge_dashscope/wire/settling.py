"""What was asked against what the endpoint can do, in what this form has of its own: how thinking is switched."""

from __future__ import annotations

from agentforge.errors import ConfigurationError
from agentforge.model import ChatRequestParameters, Notice
from agentforge.provider import Endpoint, Settled, leave_out, settle
from agentforge_dashscope.rows import DashScopeRow

__all__ = ("is_thinking", "settle_generation")


def settle_generation(
    parameters: ChatRequestParameters, endpoint: Endpoint[DashScopeRow], *, reserved: tuple[str, ...]
) -> Settled:
    """The parameters as this endpoint can take them; ``reserved`` are fields that no custom parameter may set. Raises
    `UnsupportedFeatureError`."""
    for name in ("enable_thinking", "incremental_output", "preserve_thinking"):
        said = parameters.custom_parameters.get(name)
        if said is not None and not isinstance(said, bool):
            raise ConfigurationError(
                f"custom_parameters.{name} must be true or false, not {said!r}",
                next_step="Leave it out for what the model's row says.",
            )
    if parameters.reasoning_effort == "none" and not _can_think(endpoint):
        parameters = parameters.with_(reasoning_effort=None)  # it is so anyhow
    effort, said = parameters.reasoning_effort, parameters.custom_parameters.get("enable_thinking")
    contradicted = effort is not None and isinstance(said, bool) and said != (effort != "none")
    if contradicted:
        parameters = parameters.with_(reasoning_effort=None)
    settled = settle(parameters, endpoint, thinking=is_thinking(parameters, endpoint), reserved=reserved)
    if contradicted:
        settled.dropped(endpoint, "reasoning_effort", f"reasoning_effort={effort!r} beside enable_thinking={said}")
    if settled.sends_effort and settled.parameters.reasoning_effort is not None:
        _switch(settled, settled.parameters.reasoning_effort, endpoint)
    return settled


def is_thinking(parameters: ChatRequestParameters, endpoint: Endpoint[DashScopeRow]) -> bool:
    """Whether the model will think: by the vendor's own switch, by the effort that is asked for, or by its family."""
    said = parameters.custom_parameters.get("enable_thinking")
    if isinstance(said, bool):
        return said
    family = endpoint.row.family(endpoint.model)
    if family.can == "always":
        return True
    if not _can_think(endpoint):
        return False
    effort = parameters.reasoning_effort
    return family.by_default if effort is None else effort != "none"


def _can_think(endpoint: Endpoint[DashScopeRow]) -> bool:
    return endpoint.profile.reasoning_effort or endpoint.row.family(endpoint.model).can != "never"


def _switch(settled: Settled, effort: str, endpoint: Endpoint[DashScopeRow]) -> None:
    family = endpoint.row.family(endpoint.model)
    settled.sends_effort = effort in family.levels
    if effort == "none":
        if family.can == "always":
            leave_out(
                settled,
                endpoint,
                "reasoning_effort.none",
                "reasoning_effort='none': it always thinks",
                "Leave it unset, or use another model.",
            )
        else:
            settled.extra["enable_thinking"] = False
        return
    if family.can != "always":
        settled.extra["enable_thinking"] = True
    if settled.sends_effort:
        return
    if not family.budget or effort not in endpoint.row.budgets:
        row, model = endpoint.row.name, endpoint.model
        settled.notices.append(
            Notice(
                "feature_dropped",
                f"{row} model {model!r} has no levels of thinking: it thinks, and the level {effort!r} was left out",
                {"vendor": row, "model": model, "feature": "reasoning_effort.level"},
            )
        )
    elif (budget := endpoint.row.budgets[effort]) is not None:
        settled.extra["thinking_budget"] = budget
