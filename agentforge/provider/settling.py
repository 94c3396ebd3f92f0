"""Before anything is sent: what was asked against what the endpoint can do.

Each rule has three ends. What the row says ``error`` raises `UnsupportedFeatureError` that names vendor, model, feature
and the ways out; ``drop`` leaves it out and says so in a notice; ``map`` says the same thing in the vendor's own way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.model import ChatRequestParameters, Notice, ToolChoice, ToolSpecification
from agentforge.provider.endpoint import Endpoint

__all__ = ("Settled", "leave_out", "parallel_beside_strict", "settle")


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

    def dropped(self, endpoint: Endpoint[Any], feature: str, what: str) -> None:
        """Note that ``feature`` was left out."""
        self.notices.append(
            Notice(
                "feature_dropped",
                f"{endpoint.row.name} model {endpoint.model!r} does not support {what}; it was left out",
                {"vendor": endpoint.row.name, "model": endpoint.model, "feature": feature},
            )
        )


def settle(
    parameters: ChatRequestParameters, endpoint: Endpoint[Any], *, thinking: bool, reserved: tuple[str, ...] = ()
) -> Settled:
    """The parameters as this endpoint can take them, in all that wires have in common. ``thinking``: whether the model
    will think; ``reserved`` are body fields that no custom parameter may set. Raises `UnsupportedFeatureError`."""
    settled = Settled(parameters, thinking=thinking)
    _custom(settled, endpoint, reserved)
    _tools(settled, endpoint)
    _tool_choice(settled, endpoint)
    _strict(settled, endpoint)
    _parallel(settled, endpoint)
    _response_format(settled, endpoint)
    _effort(settled, endpoint)
    _sampling(settled, endpoint)
    return settled


def parallel_beside_strict(
    settled: Settled, endpoint: Endpoint[Any], strict: bool, notices: list[Notice]
) -> bool | None:
    """The flag for parallel calls, which excludes ``strict`` tools at some endpoints. Raises `UnsupportedFeatureError`
    where both were asked for."""
    parallel = settled.parameters.parallel_tool_calls
    if not strict or not endpoint.row.strict_excludes_parallel or parallel is False:
        return parallel
    if parallel is None:
        return False  # strict is not honoured for parallel calls
    if endpoint.policy("strict_with_parallel") != "drop":
        endpoint.refuse(
            "strict_with_parallel",
            "strict tools together with parallel_tool_calls=true",
            "Ask for one of them, or set unsupported={'strict_with_parallel': 'drop'} to send both.",
        )
    notices.append(
        Notice("strict_with_parallel", "strict is not guaranteed for calls that the model makes in parallel")
    )
    return parallel


def leave_out(settled: Settled, endpoint: Endpoint[Any], feature: str, what: str, next_step: str) -> None:
    """Leave ``feature`` out with a notice where the policy says ``drop``, else refuse it."""
    if endpoint.policy(feature) != "drop":
        endpoint.refuse(feature, what, next_step)
    settled.dropped(endpoint, feature, what)


def _custom(settled: Settled, endpoint: Endpoint[Any], reserved: tuple[str, ...]) -> None:
    for name in settled.parameters.custom_parameters:
        if not isinstance(name, str):
            raise ConfigurationError(
                f"custom_parameters has the key {name!r}, and the fields of a request have texts as names",
                next_step="Give the field's name as a text.",
            )
    for name in reserved:
        if name in settled.parameters.custom_parameters:
            endpoint.refuse(
                f"custom_parameters.{name}", f"{name!r} as a custom parameter", "Leave it out; the wire sets it."
            )


def _tools(settled: Settled, endpoint: Endpoint[Any]) -> None:
    tools = settled.parameters.tools
    profile = endpoint.profile
    if not tools:
        return
    if profile.tool_mode == "none":
        leave_out(settled, endpoint, "tools", "tools", "Use a model with tools, or tool_mode='json_schema'.")
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


def _descriptions(settled: Settled, endpoint: Endpoint[Any]) -> None:
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


def _tools_beside_effort(settled: Settled, endpoint: Endpoint[Any]) -> None:
    effort = settled.parameters.reasoning_effort
    needs_none = endpoint.row.tools_need_effort_none
    by_default = bool(needs_none and re.search(needs_none, endpoint.model))
    if effort == "none" or (effort is None and not by_default):
        return
    if endpoint.policy("tools_with_thinking") not in ("map", "drop"):
        endpoint.refuse(
            "tools_with_thinking",
            "tools beside a reasoning effort on this API",
            "Set reasoning_effort='none', or call the model through the vendor's Responses API, which takes both; "
            "tools_need_responses='responses' does that by itself.",
        )
    settled.change(reasoning_effort="none")
    settled.dropped(endpoint, "tools_with_thinking", "tools beside a reasoning effort on this API")


def _tool_choice(settled: Settled, endpoint: Endpoint[Any]) -> None:
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
        leave_out(
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


def _other_choice(settled: Settled, endpoint: Endpoint[Any], choice: ToolChoice) -> None:
    feature = f"tool_choice.{choice.mode}"
    policy = endpoint.policy(feature)
    if policy == "map" and choice.mode == "none":
        settled.change(tools=(), tool_choice=None, parallel_tool_calls=None)
    elif policy == "map" and choice.mode == "allowed":
        kept = tuple(tool for tool in settled.parameters.tools if tool.name in choice.names)
        settled.change(tools=kept, tool_choice=ToolChoice.REQUIRED if choice.required else None)
        _tool_choice(settled, endpoint)
    else:
        leave_out(
            settled,
            endpoint,
            feature,
            f"tool_choice {choice.mode!r}",
            "Use tool_choice='auto', or add the mode to tool_choice in profile_overrides for a model that can.",
        )
        settled.change(tool_choice=None)


def _strict(settled: Settled, endpoint: Endpoint[Any]) -> None:
    if endpoint.profile.strict_tools or not any(tool.strict is True for tool in settled.parameters.tools):
        return
    base = endpoint.row.strict_base
    if base is not None and endpoint.policy("strict_tools") == "map":
        settled.base_url = endpoint.base_url.rstrip("/") + base
        return
    where = f" except below a base URL that ends in {base!r}" if base else ""
    leave_out(
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
        if tool.strict is True
        else tool
        for tool in settled.parameters.tools
    )
    settled.change(tools=loose)


def _parallel(settled: Settled, endpoint: Endpoint[Any]) -> None:
    wanted = settled.parameters.parallel_tool_calls
    if wanted is None:
        return
    can = endpoint.profile.parallel_tool_calls
    if not settled.parameters.tools or (can == "always" and wanted) or (can == "never" and not wanted):
        settled.change(parallel_tool_calls=None)  # it is so anyhow
    elif can != "settable":
        leave_out(
            settled,
            endpoint,
            "parallel_tool_calls",
            f"parallel_tool_calls={str(wanted).lower()}; parallel calls are {can} on",
            "Leave it unset and run the calls one after another, or set unsupported={'parallel_tool_calls': 'drop'}.",
        )
        settled.change(parallel_tool_calls=None)


def _response_format(settled: Settled, endpoint: Endpoint[Any]) -> None:
    wanted = settled.parameters.response_format
    if wanted is None:
        return
    if wanted.type not in endpoint.profile.response_formats:
        leave_out(
            settled,
            endpoint,
            f"response_format.{wanted.type}",
            f"the response format {wanted.type!r}",
            f"Use one of {', '.join(sorted(endpoint.profile.response_formats))}, or state the form in the prompt.",
        )
        settled.change(response_format=None)
        return
    if wanted.type == "text":
        return
    rule = endpoint.row.thinking
    if settled.thinking and rule is not None and not rule.json_formats:
        leave_out(
            settled,
            endpoint,
            "response_format_with_thinking",
            f"the response format {wanted.type!r} while thinking",
            "Turn thinking off for this request (reasoning_effort='none'), or state the form in the prompt.",
        )
        settled.change(response_format=None)
    elif settled.parameters.tools and not endpoint.profile.response_format_with_tools:
        leave_out(
            settled,
            endpoint,
            "response_format_with_tools",
            f"the response format {wanted.type!r} beside tools; the model would never call one",
            "Leave it unset and use the advisor structured_output, which asks by a tool; or offer no tools "
            "(tool_choice='none').",
        )
        settled.change(response_format=None)


def _effort(settled: Settled, endpoint: Endpoint[Any]) -> None:
    if settled.parameters.reasoning_effort is not None and not endpoint.profile.reasoning_effort:
        leave_out(settled, endpoint, "reasoning_effort", "a reasoning effort", "Leave reasoning_effort unset.")
        settled.sends_effort = False


def _sampling(settled: Settled, endpoint: Endpoint[Any]) -> None:
    parameters = settled.parameters
    if parameters.seed is not None and not endpoint.profile.seed:
        leave_out(settled, endpoint, "seed", "a seed", "Leave seed unset.")
        settled.change(seed=None)
    rule = endpoint.row.thinking
    if not settled.thinking or rule is None:
        return
    custom = settled.parameters.custom_parameters
    for name in sorted(rule.ignores):
        if name in custom or getattr(settled.parameters, name, None) is not None:
            leave_out(
                settled,
                endpoint,
                "thinking_ignores",
                f"{name} while thinking",
                f"Leave {name} unset or turn thinking off.",
            )
            if name in custom:
                custom = {key: value for key, value in custom.items() if key != name}
                settled.change(custom_parameters=custom)
            if hasattr(settled.parameters, name):
                settled.change(**{name: None})
