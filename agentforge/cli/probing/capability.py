"""Every capability that is probed, in the order in which it is: one row each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agentforge.cli.probing import call_questions as calls
from agentforge.cli.probing import format_questions as formats
from agentforge.cli.probing import plain_questions as plain
from agentforge.cli.probing import round_questions as rounds
from agentforge.cli.probing.asker import Asker
from agentforge.cli.probing.found import Found
from agentforge.cli.probing.said import Claim, claim, claim_of_choice, claim_of_format
from agentforge.model import ModelProfile

__all__ = ("CAPABILITIES", "Capability")


@dataclass(frozen=True, slots=True)
class Capability:
    """``asks`` says in a few words what is asked, ``look`` asks and judges, ``says`` is what a profile says of it.

    ``requests`` is how many a try takes, ``further`` how many more it may need. ``tools``: it is one of native tools,
    which a model that describes them in the prompt has not. ``claimed_only``: it is asked only where the profile claims
    it, or it was named. ``needs`` is another one without which there is no use in asking.
    """

    name: str
    asks: str
    look: Callable[[Asker], Awaitable[Found]]
    says: Callable[[ModelProfile], Claim]
    requests: int = 1
    tools: bool = False
    claimed_only: bool = False
    needs: str | None = None
    further: int = 0


def _always(profile: ModelProfile) -> Claim:
    """What every model is taken to do, as no profile has a field for it."""
    return "yes"


def _tools(profile: ModelProfile) -> Claim:
    return {"native": "yes", "json_schema": "by schema"}.get(profile.tool_mode, "no")  # type: ignore[return-value]


def _of_tools(says: Callable[[ModelProfile], Claim]) -> Callable[[ModelProfile], Claim]:
    """The same, where there are tools at all."""
    return lambda profile: says(profile) if profile.tool_mode != "none" else "no"


def _choice(mode: str) -> Callable[[ModelProfile], Claim]:
    return _of_tools(lambda profile: claim_of_choice(profile, mode))


def _row(
    name: str,
    asks: str,
    look: Callable[[Asker], Awaitable[Found]],
    says: Callable[[ModelProfile], Claim] = _always,
    *,
    claimed_only: bool = False,
    further: int = 0,
) -> Capability:
    return Capability(name, asks, look, says, claimed_only=claimed_only, further=further)


def _tool_row(
    name: str,
    asks: str,
    look: Callable[[Asker], Awaitable[Found]],
    says: Callable[[ModelProfile], Claim] = _always,
    *,
    requests: int = 1,
    needs: str | None = None,
    further: int = 0,
) -> Capability:
    return Capability(name, asks, look, _of_tools(says), requests, tools=True, needs=needs, further=further)


CAPABILITIES: tuple[Capability, ...] = (
    _row("answer", "whether address, key and model give an answer at all", plain.answers, further=1),
    _row("stream", "whether text comes in pieces", plain.streams),
    _row("system", "whether a system message is followed", plain.takes_system),
    Capability("tools", "whether a call comes that fits the tool", calls.calls_tools, _tools, tools=True),
    _tool_row("tool_choice.auto", "whether the choice can be left to the model", calls.honours_auto, _choice("auto")),
    _tool_row("tool_choice.none", "whether calls can be forbidden", calls.honours_none, _choice("none")),
    _tool_row("tool_choice.required", "whether a call can be forced", calls.honours_required, _choice("required")),
    _tool_row("tool_choice.tool", "whether one tool can be forced", calls.honours_tool, _choice("tool")),
    _tool_row("tool_choice.allowed", "whether some tools can be allowed", calls.honours_allowed, _choice("allowed")),
    _tool_row(
        "parallel_tool_calls",
        "whether one reply has several calls",
        calls.calls_in_parallel,
        lambda profile: "no" if profile.parallel_tool_calls == "never" else "yes",
    ),
    _tool_row(
        "parallel_tool_calls.off",
        "whether that can be turned off",
        calls.calls_one_at_a_time,
        lambda profile: claim(profile, "parallel_tool_calls", profile.parallel_tool_calls != "always"),
    ),
    _tool_row("streamed_calls", "whether a streamed call comes whole", rounds.streams_calls, further=1),
    _tool_row(
        "streamed_tool_deltas",
        "whether it comes in pieces",
        rounds.streams_calls_in_pieces,
        lambda profile: "yes" if profile.streamed_tool_deltas else "no",
        requests=0,
        needs="streamed_calls",
        further=1,
    ),
    _tool_row("tool_result", "whether the result of a call is read", rounds.reads_results, further=1),
    _tool_row(
        "strict_tools",
        "whether arguments are held to the schema",
        calls.holds_strict,
        lambda profile: claim(profile, "strict_tools", profile.strict_tools),
    ),
    _row(
        "response_format.json",
        "whether an answer can be any JSON",
        formats.answers_in_json,
        lambda profile: claim_of_format(profile, "json"),
    ),
    _row(
        "response_format.json_schema",
        "whether an answer is held to a schema",
        formats.answers_in_schema,
        lambda profile: claim_of_format(profile, "json_schema"),
    ),
    _tool_row(
        "json_with_tools",
        "whether tools are called beside JSON",
        formats.calls_beside_json,
        lambda profile: _beside(profile, "json"),
        needs="response_format.json",
    ),
    _tool_row(
        "json_schema_with_tools",
        "whether tools are called beside a schema",
        formats.calls_beside_schema,
        lambda profile: _beside(profile, "json_schema"),
        needs="response_format.json_schema",
    ),
    _row(
        "reasoning_effort",
        "whether it reasons when told to",
        rounds.reasons,
        lambda profile: claim(profile, "reasoning_effort", profile.reasoning_effort),
    ),
    _tool_row(
        "tools_with_thinking",
        "whether it calls tools while it reasons",
        rounds.calls_while_thinking,
        lambda profile: claim(profile, "tools_with_thinking", profile.tools_with_thinking),
        needs="reasoning_effort",
    ),
    _tool_row("replay", "whether its reasoning can go back", rounds.takes_reasoning_back, further=1),
    _tool_row(
        "replay.required",
        "whether its reasoning must go back",
        rounds.needs_reasoning_back,
        lambda profile: "-",
        further=1,
    ),
    Capability(
        "seed",
        "whether a seed repeats an answer",
        plain.takes_seed,
        lambda profile: claim(profile, "seed", profile.seed),
        requests=3,
    ),
    _row(
        "images",
        "whether it sees a picture",
        plain.sees_images,
        lambda profile: claim(profile, "images", profile.images),
        claimed_only=True,
    ),
)
"""All of them. Later ones go on from what earlier ones found, so the order counts."""


def _beside(profile: ModelProfile, kind: str) -> Claim:
    """A format beside tools; of one that there is not, nothing is said."""
    if kind not in profile.response_formats:
        return "-"
    return claim(profile, "response_format_with_tools", profile.response_format_with_tools)
