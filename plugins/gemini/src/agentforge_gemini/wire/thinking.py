"""How a request says whether and how much the model thinks, and whether its thoughts come back.

Models of Gemini 3 and newer have levels; those of 2.5 take a number of tokens. A ``thinkingConfig`` among the custom
parameters goes out on top of this.
"""

from __future__ import annotations

from agentforge.model import Notice
from agentforge.provider import Endpoint, Settled, leave_out, policy_setting
from agentforge_gemini.rows import GeminiRow

__all__ = ("plan_thinking",)


def plan_thinking(
    settled: Settled, endpoint: Endpoint[GeminiRow], *, include_thoughts: bool | None
) -> dict[str, object] | None:
    """The member ``thinkingConfig``, where one has to be sent. Raises `UnsupportedFeatureError`."""
    family = endpoint.row.family(endpoint.model)
    level: str | None = settled.parameters.reasoning_effort if settled.sends_effort else None
    config: dict[str, object] = {}
    if level == "none":
        level = _least(settled, endpoint)
        if level is None and family.off:
            config["thinkingBudget"] = 0
            return config
    if level is not None:
        if family.thinking == "budget":
            config["thinkingBudget"] = family.budgets[level]
        else:
            config["thinkingLevel"] = level
    if include_thoughts is not None:
        if family.thinking != "none":
            config["includeThoughts"] = include_thoughts
        elif include_thoughts:
            settled.dropped(endpoint, "include_thoughts", "thoughts in its replies")
    return config or None


def _least(settled: Settled, endpoint: Endpoint[GeminiRow]) -> str | None:
    """What stands for no thinking, where it cannot be turned off."""
    family = endpoint.row.family(endpoint.model)
    if family.off or family.thinking == "none":
        return None
    if endpoint.policy("reasoning_effort.none") == "map":
        least = family.efforts[0]
        settled.notices.append(
            Notice(
                "reasoning_effort_mapped",
                f"{endpoint.row.name} model {endpoint.model!r} does not know the effort 'none'; {least!r} was sent",
                {"vendor": endpoint.row.name, "model": endpoint.model, "asked": "none", "sent": least},
            )
        )
        return least
    leave_out(
        settled,
        endpoint,
        "reasoning_effort.none",
        "a request without thinking",
        f"Use reasoning_effort={family.efforts[0]!r}, or set {policy_setting('reasoning_effort.none', 'map')} for the "
        "least there is.",
    )
    return None
