"""What was asked against what the endpoint can do, in what this form has of its own."""

from __future__ import annotations

from dataclasses import dataclass, fields

from agentforge.model import ChatRequestParameters
from agentforge.provider import Endpoint, Settled, leave_out, settle
from agentforge_gemini.rows import GeminiRow
from agentforge_gemini.wire.thinking import plan_thinking

__all__ = ("GeminiSettled", "settle_gemini")

#: Fields of a body that the API takes under two names; ours is the second.
_NAMES = {
    "cached_content": "cachedContent",
    "generation_config": "generationConfig",
    "safety_settings": "safetySettings",
    "system_instruction": "systemInstruction",
    "tool_config": "toolConfig",
}


@dataclass(slots=True)
class GeminiSettled(Settled):
    """What remains to be encoded, with how the model will think."""

    thinking_config: dict[str, object] | None = None


def settle_gemini(
    parameters: ChatRequestParameters,
    endpoint: Endpoint[GeminiRow],
    *,
    reserved: tuple[str, ...],
    include_thoughts: bool | None = None,
) -> GeminiSettled:
    """The parameters as this endpoint can take them. Raises `UnsupportedFeatureError`.

    ``reserved`` are body fields that no custom parameter may set; ``include_thoughts`` says whether the vendor returns
    the text of thoughts.
    """
    custom = parameters.custom_parameters
    if not _NAMES.keys().isdisjoint(custom):
        parameters = parameters.with_(
            custom_parameters={_NAMES.get(name, name): value for name, value in custom.items()}
        )
    family = endpoint.row.family(endpoint.model)
    if parameters.reasoning_effort == "none" and family.thinking == "none":
        parameters = parameters.with_(reasoning_effort=None)  # it is so anyhow
    common = settle(parameters, endpoint, thinking=False, reserved=reserved)
    settled = GeminiSettled(**{each.name: getattr(common, each.name) for each in fields(common)})
    if settled.own_tools and settled.parameters.tools and not family.combines:
        leave_out(
            settled,
            endpoint,
            "own_tools_with_tools",
            "tools of ours beside those that the vendor runs",
            "Offer one kind of tools, or use a model of Gemini 3 or newer.",
        )
        settled.change(custom_parameters=settled.without_own_tools())
    settled.thinking_config = plan_thinking(settled, endpoint, include_thoughts=include_thoughts)
    return settled
