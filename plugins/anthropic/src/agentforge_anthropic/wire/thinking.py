"""How a request says whether and how much the model thinks, and what that forbids.

Models that decide themselves take an effort; older ones take a number of tokens, which comes on top of the answer's.
A ``thinking`` among the custom parameters is sent as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentforge.model import Notice
from agentforge.provider import Endpoint, Settled, leave_out, nearest_effort, policy_setting
from agentforge_anthropic.families import ModelFamily
from agentforge_anthropic.rows import MessagesRow

__all__ = ("ThinkingPlan", "plan_thinking", "settle_sampling")

_LEAST_BUDGET = 1024
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_000}


@dataclass(frozen=True, slots=True)
class ThinkingPlan:
    """``field`` is the member ``thinking``, where one has to be sent; ``on`` whether the model will think; ``budget``
    its tokens, 0 without a budget; ``effort`` the level for ``output_config``."""

    on: bool
    field: Mapping[str, object] | None = None
    budget: int = 0
    effort: str | None = None


def plan_thinking(settled: Settled, endpoint: Endpoint[MessagesRow], *, display: str | None) -> ThinkingPlan:
    """What the parameters mean for this model. Raises `UnsupportedFeatureError`.

    ``display`` says whether the provider returns the text of thinking (``summarized``, ``omitted``).
    """
    family = endpoint.row.family(endpoint.model)
    level = settled.parameters.reasoning_effort if settled.sends_effort else None
    said = settled.parameters.custom_parameters.get("thinking")
    if isinstance(said, Mapping):
        budget = said.get("budget_tokens") if said.get("type") == "enabled" else 0
        return ThinkingPlan(
            on=said.get("type") in ("enabled", "adaptive"),
            budget=budget if isinstance(budget, int) else 0,
            effort=_effort(level, family) if level not in (None, "none") else None,
        )
    shown: dict[str, object] = {"display": display} if display is not None else {}
    if level is None:
        if shown and family.thinks_by_default:
            return ThinkingPlan(on=True, field={"type": "adaptive", **shown})
        return ThinkingPlan(on=family.thinks_by_default)
    if level == "none":
        return _without(settled, endpoint, family)
    effort = _effort(level, family)
    if family.thinking == "adaptive":
        return ThinkingPlan(on=True, field={"type": "adaptive", **shown}, effort=effort)
    budget = _budget(_BUDGETS[nearest_effort(level, tuple(_BUDGETS))], settled, endpoint)
    return ThinkingPlan(
        on=True, field={"type": "enabled", "budget_tokens": budget, **shown}, budget=budget, effort=effort
    )


def settle_sampling(settled: Settled, endpoint: Endpoint[MessagesRow], plan: ThinkingPlan) -> None:
    """Leave out, or refuse, what the model does not take of temperature and top_p."""
    family = endpoint.row.family(endpoint.model)
    for name, usual, least in (("temperature", 1, 1), ("top_p", 1, 0.95)):
        value = getattr(settled.parameters, name)
        if value is None:
            continue
        if not family.sampling:
            if value != usual:
                leave_out(settled, endpoint, "sampling", name, f"Leave {name} unset.")
            settled.change(**{name: None})
        elif plan.on and value < least:
            leave_out(
                settled,
                endpoint,
                "sampling_with_thinking",
                f"{name}={value} while thinking",
                f"Leave {name} unset, or turn thinking off.",
            )
            settled.change(**{name: None})
    parameters = settled.parameters
    if parameters.temperature is not None and parameters.top_p is not None and not family.both_sampling:
        leave_out(settled, endpoint, "top_p_with_temperature", "top_p beside temperature", "Set one of them.")
        settled.change(top_p=None)


def _without(settled: Settled, endpoint: Endpoint[MessagesRow], family: ModelFamily) -> ThinkingPlan:
    """A request without thinking, as far as the model can do without."""
    if family.off is not None:
        return ThinkingPlan(on=False, field=None if family.off == "omit" else {"type": family.off})
    if family.efforts and endpoint.policy("reasoning_effort.none") == "map":
        least = family.efforts[0]
        settled.notices.append(
            Notice(
                "reasoning_effort_mapped",
                f"{endpoint.row.name} model {endpoint.model!r} does not know the effort 'none'; {least!r} was sent",
                {"vendor": endpoint.row.name, "model": endpoint.model, "asked": "none", "sent": least},
            )
        )
        return ThinkingPlan(on=True, effort=least)
    leave_out(
        settled,
        endpoint,
        "reasoning_effort.none",
        "a request without thinking",
        f"Use reasoning_effort='low', or set {policy_setting('reasoning_effort.none', 'map')} for the least there is.",
    )
    return ThinkingPlan(on=True)


def _effort(level: str, family: ModelFamily) -> str | None:
    """The level, which is one of the row's already, where the model takes one."""
    return nearest_effort(level, family.efforts) if family.efforts else None


def _budget(wanted: int, settled: Settled, endpoint: Endpoint[MessagesRow]) -> int:
    """The tokens to think, which stay below ``max_tokens`` where that was set."""
    limit = settled.parameters.max_output_tokens
    if limit is None or wanted < limit:
        return wanted
    if limit <= _LEAST_BUDGET:
        endpoint.refuse(
            "thinking_budget",
            f"thinking within max_output_tokens={limit}; it takes {_LEAST_BUDGET} tokens at least",
            "Raise max_output_tokens, or set reasoning_effort='none'.",
        )
    budget = max(_LEAST_BUDGET, limit // 2)
    settled.notices.append(
        Notice(
            "thinking_budget_reduced",
            f"the model may think for {budget} tokens instead of {wanted}, as max_output_tokens is {limit}",
            {"budget": budget, "wanted": wanted, "max_output_tokens": limit},
        )
    )
    return budget
