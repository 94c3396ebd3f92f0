"""What is asked against what an endpoint of this form can do: the common rules, and how thinking is switched."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentforge.model import ChatRequestParameters, Notice
from agentforge.provider import Endpoint, Settled, leave_out, settle
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
    _untaken(settled, endpoint)
    return settled


def is_thinking(parameters: ChatRequestParameters, row: VendorRow, model: str) -> bool:
    """Whether the model will think, by the vendor's own switch, by the effort that is asked for, or by its name."""
    rule = row.thinking
    if rule is None:
        return False
    if rule.always is not None and re.search(rule.always, model):
        return True
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
    if effort == "none" and settled.thinking:
        leave_out(
            settled,
            endpoint,
            "reasoning_effort.none",
            "an end of its thinking (reasoning_effort 'none')",
            "Leave reasoning_effort unset, or use another model.",
        )
        settled.sends_effort = False
        return
    leveled = rule.levels or (rule.levels_for is not None and re.search(rule.levels_for, endpoint.model))
    if effort == "none" or not leveled:
        on = effort != "none"
        settled.extra[rule.switch] = (
            on if rule.switch == "enable_thinking" else {"type": "enabled" if on else "disabled"}
        )
        settled.sends_effort = False
        if on:
            row, model = endpoint.row.name, endpoint.model
            level: object = effort
            for notice in [each for each in settled.notices if each.code == "reasoning_effort_mapped"]:
                settled.notices.remove(notice)  # it names a level of another model of this vendor
                level = notice.details["asked"]
            settled.notices.append(
                Notice(
                    "feature_dropped",
                    f"{row} model {model!r} has no levels of thinking: it was turned on, and the level {level!r} was "
                    "left out",
                    {"vendor": row, "model": model, "feature": "reasoning_effort.level"},
                )
            )


def _untaken(settled: Settled, endpoint: Endpoint[VendorRow]) -> None:
    """Leave out what this model of the vendor does not take, or refuse it."""
    for name, models in endpoint.row.untaken.items():
        custom = settled.parameters.custom_parameters
        ours = name in _PARAMETERS and bool(getattr(settled.parameters, name) not in (None, ()))
        if not (ours or name in custom) or not re.search(models, endpoint.model):
            continue
        leave_out(settled, endpoint, "parameters", f"the parameter {name}", f"Leave {name} unset.")
        if name in custom:
            settled.change(custom_parameters={key: value for key, value in custom.items() if key != name})
        if ours:
            settled.change(**{name: () if name == "stop" else None})


#: Parameters of ours that a vendor may not take at all.
_PARAMETERS = frozenset({"temperature", "top_p", "max_output_tokens", "stop", "seed"})
