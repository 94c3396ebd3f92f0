"""From what was found to the fields of a profile, as far as something was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentforge.cli.probing.asker import Asker
from agentforge.cli.probing.found import Found
from agentforge.cli.probing.session import Verdict
from agentforge.model import ModelProfile, ThinkingContent
from agentforge.provider import ThinkingLimits

__all__ = ("found_capabilities", "found_replay", "found_while_thinking")

_CHOICES = ("auto", "none", "required", "tool", "allowed")
_FORMATS = ("text", "json", "json_schema")
_FLAGS = ("strict_tools", "streamed_tool_deltas", "tools_with_thinking", "images", "seed", "reasoning_effort")
_WITH_TOOLS = ("json_with_tools", "json_schema_with_tools")


def found_capabilities(verdicts: Sequence[Verdict], profile: ModelProfile) -> dict[str, object]:
    """The fields that something was found for, with their values; modes and formats that nothing was found for stay as
    in ``profile``."""
    known = {verdict.capability.name: value for verdict in verdicts if (value := _can(verdict.found)) is not None}
    made: dict[str, object] = {}
    if "tools" in known:
        made["tool_mode"] = "native" if known["tools"] or known.get("tool_choice.required") else "none"
    modes = _members(known, "tool_choice", _CHOICES, profile.tool_choice)
    if modes is not None:
        made["tool_choice"] = modes
        if mapped := _mapped(modes, profile):
            made["unsupported"] = mapped
    parallel = _parallel(known)
    if parallel is not None:
        made["parallel_tool_calls"] = parallel
    formats = _members(known, "response_format", _FORMATS, profile.response_formats)
    if formats is not None:
        made["response_formats"] = formats
    beside = [known[name] for name in _WITH_TOOLS if name in known]
    if beside:
        made["response_format_with_tools"] = all(beside)
    made |= {name: known[name] for name in _FLAGS if name in known}
    return made


def found_replay(verdicts: Sequence[Verdict], asker: Asker, profile: ModelProfile) -> tuple[list[str], bool]:
    """The fields of reasoning that have to go back and do not yet, and whether one must."""
    states = {verdict.capability.name: verdict.found.status for verdict in verdicts}
    parts = asker.reasoned.response.ai_message.contents if asker.reasoned is not None else ()
    fields: list[str] = []
    for part in parts:
        if isinstance(part, ThinkingContent) and part.provider_state is not None:
            fields += [name for name in part.provider_state.data if name not in fields]
    refused = states.get("replay") == "refused"
    missing = [name for name in fields if name not in profile.replay] if refused else []
    return missing, states.get("replay.required") == "yes"


def found_while_thinking(verdicts: Sequence[Verdict], limits: ThinkingLimits) -> dict[str, object]:
    """The limits of thinking in a row that do not hold: what they refuse, and was found to be taken."""
    taken = {each.capability.name for each in verdicts if each.says == "no" and each.found.status == "yes"}
    lifted: dict[str, object] = {}
    if not limits.forced_choice and taken & {"tool_choice.required", "tool_choice.tool"}:
        lifted["forced_choice"] = True
    if not limits.json_formats and taken & {"response_format.json", "response_format.json_schema"}:
        lifted["json_formats"] = True
    return lifted


def _can(found: Found) -> bool | None:
    return {"yes": True, "no": False, "refused": False}.get(found.status)


def _members(known: Mapping[str, bool], prefix: str, names: Sequence[str], before: frozenset[str]) -> list[str] | None:
    """The members of a field that is a set, in a steady order; ``None`` where none was looked at."""
    found = {name: known.get(f"{prefix}.{name}") for name in names}
    if all(value is None for value in found.values()):
        return None
    return [name for name in names if (name in before if found[name] is None else found[name])]


def _mapped(modes: Sequence[str], profile: ModelProfile) -> dict[str, str]:
    """The choices that lose nothing without a word of their own, as fewer tools, or none, are offered instead."""
    features = [f"tool_choice.{mode}" for mode in ("none", "allowed") if mode not in modes]
    return {feature: "map" for feature in features if feature not in profile.unsupported}


def _parallel(known: Mapping[str, bool]) -> str | None:
    several, off = known.get("parallel_tool_calls"), known.get("parallel_tool_calls.off")
    if several is None:
        return None
    if not several:
        return "never"
    return None if off is None else "settable" if off else "always"
