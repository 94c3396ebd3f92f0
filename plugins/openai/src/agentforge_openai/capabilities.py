"""What is asked against what an endpoint of this form can do: the common rules, and how thinking is switched."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentforge.model import ChatRequestParameters, Notice
from agentforge.provider import Endpoint, Settled, settle
from agentforge_openai.profile import VendorRow

__all__ = ("is_thinking", "settle_chat")


def settle_chat(
    parameters: ChatRequestParameters, endpoint: Endpoint[VendorRow], *, reserved: tuple[str, ...]
) -> Settled:
    """The parameters as this endpoint can take them. Raises `UnsupportedFeatureError`."""
    thinking = is_thinking(parameters, endpoint.row, endpoint.model)
    settled = settle(parameters, endpoint, thinking=thinking, reserved=reserved)
    if settled.sends_effort:
        _switch(settled, endpoint)
    return settled


def is_thinking(parameters: ChatRequestParameters, row: VendorRow, model: str) -> bool:
    """Whether the model will think, by the vendor's own switch, by the effort that is asked for, or by its name."""
    rule = row.thinking
    if rule is None:
        return False
    custom: Mapping[str, object] = parameters.custom_parameters
    switch = custom.get("thinking")
    if isinstance(switch, Mapping) and "type" in switch:
        return bool(switch["type"] != "disabled")
    if "enable_thinking" in custom:
        return bool(custom["enable_thinking"])
    if parameters.reasoning_effort is not None:
        return parameters.reasoning_effort != "none"
    return re.search(rule.models, model) is not None


def _switch(settled: Settled, endpoint: Endpoint[VendorRow]) -> None:
    effort, rule = settled.parameters.reasoning_effort, endpoint.row.thinking
    if effort is None or rule is None:
        return
    if effort == "none" or not rule.levels:
        on = effort != "none"
        settled.extra[rule.switch] = (
            on if rule.switch == "enable_thinking" else {"type": "enabled" if on else "disabled"}
        )
        settled.sends_effort = False
        if on:
            row, model = endpoint.row.name, endpoint.model
            settled.notices.append(
                Notice(
                    "feature_dropped",
                    f"{row} model {model!r} has no levels of thinking: it was turned on, and the level {effort!r} was "
                    "left out",
                    {"vendor": row, "model": model, "feature": "reasoning_effort.level"},
                )
            )
