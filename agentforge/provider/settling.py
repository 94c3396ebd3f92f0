"""Before anything is sent: what was asked against what the endpoint can do.

Each rule has three ends. What the row says ``error`` raises `UnsupportedFeatureError` that names vendor, model, feature
and the ways out; ``drop`` leaves it out and says so in a notice; ``map`` says the same thing in the vendor's own way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.model import ChatRequestParameters, Notice, ToolChoice, ToolSpecification
from agentforge.provider.endpoint import Endpoint, policy_setting

__all__ = ("Settled", "leave_out", "parallel_beside_strict", "settle")

_BY_ADVISOR = "use the advisor structured_output (in Python prompt(…).entity(Type))"


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

    @property
    def own_tools(self) -> Sequence[object]:
        """The vendor's own tools, which stand among the custom parameters."""
        return self.parameters.custom_parameters.get("tools") or ()  # type: ignore[return-value]

    def without_own_tools(self) -> Mapping[str, object]:
        """The custom parameters without them."""
        return {name: value for name, value in self.parameters.custom_parameters.items() if name != "tools"}

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
            f"Ask for one of them, or set {policy_setting('strict_with_parallel', 'drop')} to send both.",
        )
    notices.append(
        Notice("strict_with_parallel", "strict is not guaranteed for calls that the model makes in parallel")
    )
    return parallel


def leave_out(settled: Settled, endpoint: Endpoint[Any], feature: str, what: str, next_step: str) -> None:
    """Leave ``feature`` out with a notice where the policy says ``drop``, else refuse it; how to set the policy is
    added to ``next_step``."""
    if endpoint.policy(feature) != "drop":
        endpoint.refuse(feature, what, f"{next_step} With {policy_setting(feature, 'drop')} it is left out.")
    settled.dropped(endpoint, feature, what)


def _custom(settled: Settled, endpoint: Endpoint[Any], reserved: tuple[str, ...]) -> None:
    for name in settled.parameters.custom_parameters:
        if not isinstance(name, str):
            raise ConfigurationError(
                f"custom_parameters has the key {name!r}, and the fields of a request have texts as names",
                next_step="Give the field's name as a text.",
            )
    tools = settled.parameters.custom_parameters.get("tools")
    if tools is not None and not isinstance(tools, (list, tuple)):
        raise ConfigurationError(
            f"custom_parameters.tools must be a list of the vendor's own tools, not {type(tools).__name__}",
            next_step="Give a list, also of one tool.",
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
        leave_out(settled, endpoint, "tools", "tools", "Use a model with tools, or tool_mode: json_schema.")
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
        by_row = endpoint.row.capabilities.unsupported.get("tool_name") != "map"
        cure = "set names: alias" if by_row else "leave names out,"
        for tool in tools:
            if not re.fullmatch(profile.tool_name_pattern, tool.name):
                endpoint.refuse(
                    "tool_name",
                    f"the tool name {tool.name!r}; names must match {profile.tool_name_pattern}",
                    f"Rename the tool, or {cure} to send an alias.",
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
            f"Describe the tool, or set {policy_setting('tool_description', 'map')} to send its name instead.",
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
    needs_none, elsewhere = endpoint.row.tools_need_effort_none, endpoint.row.tools_elsewhere
    by_default = bool(needs_none and re.search(needs_none, endpoint.model))
    if effort == "none" or (effort is None and not by_default):
        return
    if endpoint.policy("tools_with_thinking") not in ("map", "drop"):
        endpoint.refuse(
            "tools_with_thinking",
            "tools beside a reasoning effort on this API",
            f"Set reasoning_effort: none{f', or {elsewhere}' if elsewhere else ''}.",
        )
    settled.change(reasoning_effort="none")
    settled.dropped(endpoint, "tools_with_thinking", "tools beside a reasoning effort on this API")


def _tool_choice(settled: Settled, endpoint: Endpoint[Any]) -> None:
    choice = settled.parameters.tool_choice
    if choice is None:
        return
    tools, own = settled.parameters.tools, settled.own_tools
    _check_names(choice, tools, own, endpoint)
    if not tools and not own:
        settled.change(tool_choice=None)
        return
    if choice.mode not in endpoint.profile.tool_choice:
        _other_choice(settled, endpoint, choice)
        return
    rule = endpoint.row.thinking
    if settled.thinking and rule is not None and not rule.forced_choice and choice.forces_a_call:
        leave_out(
            settled,
            endpoint,
            "forced_choice_with_thinking",
            f"tool_choice {choice.mode!r} while thinking",
            "Turn thinking off for this request (reasoning_effort: none), or use tool_choice: auto.",
        )
        settled.change(tool_choice=None)


def _check_names(
    choice: ToolChoice, tools: Sequence[ToolSpecification], own: Sequence[object], endpoint: Endpoint[Any]
) -> None:
    """Refuse a choice of what is not offered; that is the request's fault, whatever the model can do."""
    names = [tool.name for tool in tools]
    for name in choice.names:
        if name in names:
            continue
        if name in map(_name_of, own):
            step = "Choose one of the vendor's own tools with custom_parameters: {tool_choice: …}, in its form."
        else:
            from agentforge.config import did_you_mean

            step = f"{did_you_mean(name, names)} A chosen tool is offered in the same request."
        raise endpoint.error("tool_choice", f"tool_choice names {name!r}, which is not among the tools", step)
    if choice.forces_a_call and not tools and not own:
        raise endpoint.error(
            "tool_choice",
            f"tool_choice {choice.mode!r} forces a call, and the request offers no tools",
            "Offer a tool in the same request, or leave tool_choice unset.",
        )


def _name_of(tool: object) -> object:
    return tool.get("name") if isinstance(tool, Mapping) else None


def _other_choice(settled: Settled, endpoint: Endpoint[Any], choice: ToolChoice) -> None:
    feature = f"tool_choice.{choice.mode}"
    policy = endpoint.policy(feature)
    if policy == "map" and choice.mode == "none":
        settled.change(
            tools=(), tool_choice=None, parallel_tool_calls=None, custom_parameters=settled.without_own_tools()
        )
    elif policy == "map" and choice.mode == "allowed":
        _narrow(settled, choice)
        _tool_choice(settled, endpoint)
    else:
        known = endpoint.row.FORM.get("tool_choice")
        leave_out(
            settled,
            endpoint,
            feature,
            f"tool_choice {choice.mode!r}",
            "Use tool_choice: auto, or add the mode to profile_overrides: {tool_choice: […]} for a model that can."
            if known is None or choice.mode in known
            else "Use tool_choice: auto; this API has no field for another.",
        )
        settled.change(tool_choice=None)


def _narrow(settled: Settled, choice: ToolChoice) -> None:
    """Offer the allowed tools only, and say so: what a provider has cached begins with its tools."""
    offered, own = settled.parameters.tools, settled.own_tools
    kept = tuple(tool for tool in offered if tool.name in choice.names)
    settled.change(tools=kept, tool_choice=ToolChoice.REQUIRED if choice.required else None)
    if len(kept) != len(offered):
        names = [tool.name for tool in kept]
        listed = ", ".join(names) or "none"
        settled.notices.append(
            Notice(
                "tools_narrowed",
                f"only the allowed tools were offered ({listed}), as the API has no list of allowed ones; a "
                "prompt that was cached with all of them does not count",
                {"offered": names},
            )
        )
    if own:
        settled.change(custom_parameters=settled.without_own_tools())
        settled.notices.append(
            Notice(
                "tools_narrowed",
                "the vendor's own tools were left out, as they are not among the allowed ones",
                {"left_out": [_name_of(tool) for tool in own]},
            )
        )


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
        f"Use base_url: {endpoint.base_url.rstrip('/') + base}, or set {policy_setting('strict_tools', 'map')} to "
        "move such requests there."
        if base
        else "Leave strict unset, or use strict: auto.",
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
    offers = settled.parameters.tools or settled.own_tools
    if not offers or (can == "always" and wanted) or (can == "never" and not wanted):
        settled.change(parallel_tool_calls=None)  # it is so anyhow
    elif can != "settable":
        leave_out(
            settled,
            endpoint,
            "parallel_tool_calls",
            f"parallel_tool_calls={str(wanted).lower()}; parallel calls are {can} on",
            "Leave it unset and run the calls one after another.",
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
            f"Use one of {', '.join(sorted(endpoint.profile.response_formats))}, or {_BY_ADVISOR}.",
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
            f"Turn thinking off for this request (reasoning_effort: none), or {_BY_ADVISOR}.",
        )
        settled.change(response_format=None)
    elif (settled.parameters.tools or settled.own_tools) and not endpoint.profile.response_format_with_tools:
        leave_out(
            settled,
            endpoint,
            "response_format_with_tools",
            f"the response format {wanted.type!r} beside tools; the model would never call one",
            f"Leave it unset and {_BY_ADVISOR}, which asks by a tool; or offer no tools (tool_choice: none).",
        )
        settled.change(response_format=None)


def _effort(settled: Settled, endpoint: Endpoint[Any]) -> None:
    level = settled.parameters.reasoning_effort
    if level is None:
        return
    if not endpoint.profile.reasoning_effort:
        leave_out(settled, endpoint, "reasoning_effort", "a reasoning effort", "Leave reasoning_effort unset.")
        settled.sends_effort = False
        return
    known = endpoint.row.efforts
    if level == "none" or not known or level in known:
        return
    from agentforge.provider.efforts import nearest_effort

    found = nearest_effort(level, known)
    settled.change(reasoning_effort=found)
    settled.notices.append(
        Notice(
            "reasoning_effort_mapped",
            f"{endpoint.row.name} model {endpoint.model!r} does not know the effort {level!r}; {found!r} was sent",
            {"vendor": endpoint.row.name, "model": endpoint.model, "asked": level, "sent": found},
        )
    )


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
                f"Leave {name} unset, or turn thinking off.",
            )
            if name in custom:
                custom = {key: value for key, value in custom.items() if key != name}
                settled.change(custom_parameters=custom)
            if hasattr(settled.parameters, name):
                settled.change(**{name: None})
