"""Before anything is sent: what was asked against what the endpoint can do.

Each rule has three ends. What the row says ``error`` raises `UnsupportedFeatureError` that names vendor, model, feature
and the ways out; ``drop`` leaves it out and says so in a notice; ``map`` says the same thing in the vendor's own way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, ModelProfile, Notice, ToolChoice, ToolSpecification
from agentforge_openai.profile import VendorRow

__all__ = ("Endpoint", "Settled", "settle")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Who is asked: the row, the capabilities, the model and where it lives."""

    row: VendorRow
    profile: ModelProfile
    model: str
    base_url: str

    def policy(self, feature: str) -> str:
        """What to do without ``feature``; ``a.b`` falls back to ``a``."""
        unsupported = self.profile.unsupported
        return unsupported.get(feature) or self.profile.when_unsupported(feature.partition(".")[0])

    def refuse(self, feature: str, what: str, next_step: str) -> NoReturn:
        """Raise `UnsupportedFeatureError` for ``feature``."""
        raise UnsupportedFeatureError(
            f"{self.row.name} model {self.model!r} does not support {what} ({feature})",
            provider_code="unsupported_feature",
            details={"vendor": self.row.name, "model": self.model, "feature": feature},
            next_step=next_step,
        )


@dataclass(slots=True)
class Settled:
    """What remains to be encoded: the parameters, body fields added by mappings, and what was dropped."""

    parameters: ChatRequestParameters
    extra: dict[str, object] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    thinking: bool = False
    base_url: str | None = None
    #: Whether the reasoning effort goes out under its own name.
    sends_effort: bool = True

    def change(self, **changes: Any) -> None:
        """Change parameters."""
        self.parameters = self.parameters.with_(**changes)

    def dropped(self, endpoint: Endpoint, feature: str, what: str) -> None:
        """Note that ``feature`` was left out."""
        self.notices.append(
            Notice(
                "feature_dropped",
                f"{endpoint.row.name} model {endpoint.model!r} does not support {what}; it was left out",
                {"vendor": endpoint.row.name, "model": endpoint.model, "feature": feature},
            )
        )


def settle(parameters: ChatRequestParameters, endpoint: Endpoint) -> Settled:
    """The parameters as this endpoint can take them. Raises `UnsupportedFeatureError`."""
    settled = Settled(parameters)
    settled.thinking = _is_thinking(parameters, endpoint.row, endpoint.model)
    _custom(settled, endpoint)
    _tools(settled, endpoint)
    _tool_choice(settled, endpoint)
    _strict(settled, endpoint)
    _parallel(settled, endpoint)
    _response_format(settled, endpoint)
    _effort(settled, endpoint)
    _sampling(settled, endpoint)
    return settled


def _leave_out(settled: Settled, endpoint: Endpoint, feature: str, what: str, next_step: str) -> None:
    if endpoint.policy(feature) != "drop":
        endpoint.refuse(feature, what, next_step)
    settled.dropped(endpoint, feature, what)


def _is_thinking(parameters: ChatRequestParameters, row: VendorRow, model: str) -> bool:
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


def _custom(settled: Settled, endpoint: Endpoint) -> None:
    for name in settled.parameters.custom_parameters:
        if not isinstance(name, str):
            raise ConfigurationError(
                f"custom_parameters has the key {name!r}, and the fields of a request have texts as names",
                next_step="Give the field's name as a text.",
            )
    for name in ("messages", "stream", "stream_options"):
        if name in settled.parameters.custom_parameters:
            endpoint.refuse(
                f"custom_parameters.{name}", f"{name!r} as a custom parameter", "Leave it out; the wire sets it."
            )


def _tools(settled: Settled, endpoint: Endpoint) -> None:
    tools = settled.parameters.tools
    profile = endpoint.profile
    if not tools:
        return
    if profile.tool_mode == "none":
        _leave_out(settled, endpoint, "tools", "tools", "Use a model with tools, or tool_mode='json_schema'.")
        settled.change(tools=(), tool_choice=None, parallel_tool_calls=None)
        return
    if profile.max_tools is not None and len(tools) > profile.max_tools:
        endpoint.refuse(
            "max_tools",
            f"{len(tools)} tools in one request; the limit is {profile.max_tools}",
            "Offer fewer, by tool search (the advisor tool_search) or a selection (selecting of agentforge.tool); or "
            "raise max_tools in profile_overrides where the endpoint takes more.",
        )
    if endpoint.policy("tool_name") != "map":
        for tool in tools:
            if not re.fullmatch(profile.tool_name_pattern, tool.name):
                endpoint.refuse(
                    "tool_name",
                    f"the tool name {tool.name!r}; names must match {profile.tool_name_pattern}",
                    "Rename the tool, or set unsupported={'tool_name': 'map'} to send an alias.",
                )
    if endpoint.row.description_required:
        _descriptions(settled, endpoint)
    if not profile.tools_with_thinking:
        _tools_beside_effort(settled, endpoint)


def _descriptions(settled: Settled, endpoint: Endpoint) -> None:
    missing = [tool.name for tool in settled.parameters.tools if not (tool.description or "").strip()]
    if not missing:
        return
    if endpoint.policy("tool_description") != "map":
        endpoint.refuse(
            "tool_description",
            f"the tool {missing[0]!r} without a description",
            "Describe the tool, or set unsupported={'tool_description': 'map'} to send its name instead.",
        )
    described = tuple(
        ToolSpecification(tool.name, tool.name, tool.parameters, tool.strict, tool.metadata)
        if tool.name in missing
        else tool
        for tool in settled.parameters.tools
    )
    settled.change(tools=described)


def _tools_beside_effort(settled: Settled, endpoint: Endpoint) -> None:
    effort = settled.parameters.reasoning_effort
    needs_none = endpoint.row.tools_need_effort_none
    by_default = bool(needs_none and re.search(needs_none, endpoint.model))
    if effort == "none" or (effort is None and not by_default):
        return
    if endpoint.policy("tools_with_thinking") not in ("map", "drop"):
        endpoint.refuse(
            "tools_with_thinking",
            "tools beside a reasoning effort on this API",
            "Set reasoning_effort='none', or call the model through the vendor's Responses API, which takes both.",
        )
    settled.change(reasoning_effort="none")
    settled.dropped(endpoint, "tools_with_thinking", "tools beside a reasoning effort on this API")


def _tool_choice(settled: Settled, endpoint: Endpoint) -> None:
    choice = settled.parameters.tool_choice
    if choice is None:
        return
    tools = settled.parameters.tools
    names = {tool.name for tool in tools}
    unknown = [name for name in choice.names if name not in names]
    if unknown or (choice.forces_a_call and not tools):
        endpoint.refuse(
            "tool_choice",
            f"a tool_choice of {unknown[0]!r}, which is not among the tools"
            if unknown
            else "a forced call without tools",
            "Offer the tool in the same request.",
        )
    if not tools:
        settled.change(tool_choice=None)
        return
    rule = endpoint.row.thinking
    if settled.thinking and rule is not None and not rule.forced_choice and choice.forces_a_call:
        _leave_out(
            settled,
            endpoint,
            "forced_choice_with_thinking",
            f"tool_choice {choice.mode!r} while thinking",
            "Turn thinking off for this request (reasoning_effort='none'), or use tool_choice='auto'.",
        )
        settled.change(tool_choice=None)
        return
    if choice.mode not in endpoint.profile.tool_choice:
        _other_choice(settled, endpoint, choice)


def _other_choice(settled: Settled, endpoint: Endpoint, choice: ToolChoice) -> None:
    feature = f"tool_choice.{choice.mode}"
    policy = endpoint.policy(feature)
    if policy == "map" and choice.mode == "none":
        settled.change(tools=(), tool_choice=None, parallel_tool_calls=None)
    elif policy == "map" and choice.mode == "allowed":
        kept = tuple(tool for tool in settled.parameters.tools if tool.name in choice.names)
        settled.change(tools=kept, tool_choice=ToolChoice.REQUIRED if choice.required else None)
        _tool_choice(settled, endpoint)
    else:
        _leave_out(
            settled,
            endpoint,
            feature,
            f"tool_choice {choice.mode!r}",
            "Use tool_choice='auto', or add the mode to tool_choice in profile_overrides for a model that can.",
        )
        settled.change(tool_choice=None)


def _strict(settled: Settled, endpoint: Endpoint) -> None:
    if endpoint.profile.strict_tools or not any(tool.strict for tool in settled.parameters.tools):
        return
    base = endpoint.row.strict_base
    if base is not None and endpoint.policy("strict_tools") == "map":
        settled.base_url = endpoint.base_url.rstrip("/") + base
        return
    where = f" except below a base URL that ends in {base!r}" if base else ""
    _leave_out(
        settled,
        endpoint,
        "strict_tools",
        f"strict tools{where}",
        f"Use base_url={endpoint.base_url.rstrip('/') + base!r}, or set unsupported={{'strict_tools': 'map'}}."
        if base
        else "Leave strict unset, or set unsupported={'strict_tools': 'drop'}.",
    )
    loose = tuple(
        ToolSpecification(tool.name, tool.description, tool.parameters, None, tool.metadata)
        for tool in settled.parameters.tools
    )
    settled.change(tools=loose)


def _parallel(settled: Settled, endpoint: Endpoint) -> None:
    wanted = settled.parameters.parallel_tool_calls
    if wanted is None:
        return
    can = endpoint.profile.parallel_tool_calls
    if not settled.parameters.tools or (can == "always" and wanted) or (can == "never" and not wanted):
        settled.change(parallel_tool_calls=None)  # it is so anyhow
    elif can != "settable":
        _leave_out(
            settled,
            endpoint,
            "parallel_tool_calls",
            f"parallel_tool_calls={str(wanted).lower()}; parallel calls are {can} on",
            "Leave it unset and run the calls one after another, or set unsupported={'parallel_tool_calls': 'drop'}.",
        )
        settled.change(parallel_tool_calls=None)


def _response_format(settled: Settled, endpoint: Endpoint) -> None:
    wanted = settled.parameters.response_format
    if wanted is not None and wanted.type not in endpoint.profile.response_formats:
        _leave_out(
            settled,
            endpoint,
            f"response_format.{wanted.type}",
            f"the response format {wanted.type!r}",
            f"Use one of {', '.join(sorted(endpoint.profile.response_formats))}, or state the form in the prompt.",
        )
        settled.change(response_format=None)


def _effort(settled: Settled, endpoint: Endpoint) -> None:
    effort = settled.parameters.reasoning_effort
    if effort is None:
        return
    if not endpoint.profile.reasoning_effort:
        _leave_out(settled, endpoint, "reasoning_effort", "a reasoning effort", "Leave reasoning_effort unset.")
        settled.sends_effort = False
        return
    rule = endpoint.row.thinking
    if rule is None:
        return
    if effort == "none" or not rule.levels:
        on = effort != "none"
        settled.extra[rule.switch] = (
            on if rule.switch == "enable_thinking" else {"type": "enabled" if on else "disabled"}
        )
        settled.sends_effort = False
        if on:
            settled.dropped(
                endpoint, "reasoning_effort.level", f"the level {effort!r}; thinking was turned on and the level"
            )


def _sampling(settled: Settled, endpoint: Endpoint) -> None:
    parameters = settled.parameters
    if parameters.seed is not None and not endpoint.profile.seed:
        _leave_out(settled, endpoint, "seed", "a seed", "Leave seed unset.")
        settled.change(seed=None)
    rule = endpoint.row.thinking
    if not settled.thinking or rule is None:
        return
    for name in sorted(rule.ignores):
        if getattr(settled.parameters, name) is not None:
            _leave_out(
                settled,
                endpoint,
                "thinking_ignores",
                f"{name} while thinking",
                f"Leave {name} unset or turn thinking off.",
            )
            settled.change(**{name: None})
