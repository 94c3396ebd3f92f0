"""What an endpoint and model can do, as data, and what to do where it cannot.

Nothing is dropped in silence: a feature outside the profile is mapped, refused before the request, or dropped
with a notice on the response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

__all__ = ("Degradation", "ModelProfile", "ToolMode")

ToolMode: TypeAlias = Literal["native", "json_schema", "none"]
Degradation: TypeAlias = Literal["map", "drop", "error", "custom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """The capabilities of one endpoint and model. Defaults describe an endpoint that does all of it.

    ``tool_mode``: ``native`` (the wire has tools), ``json_schema`` (tools are described in the prompt and the answer
    is held to a schema), ``none``. ``parallel_tool_calls``: whether the flag can be set, or is always on or off.
    ``strict_subset`` names the schema subset that strict tools must stay in. ``response_format_with_tools``: whether a
    model that is held to a form of its answer can call tools instead. ``replay`` names the fields of earlier
    turns that must go back. ``unsupported`` says, by feature, what happens where the model cannot; ``error`` is the
    default.
    """

    name: str = "generic"
    tool_mode: ToolMode = "native"
    tool_choice: frozenset[str] = frozenset({"auto", "none", "required", "tool", "allowed"})
    parallel_tool_calls: Literal["settable", "always", "never"] = "settable"
    strict_tools: bool = True
    strict_subset: str = "standard"
    response_formats: frozenset[str] = frozenset({"text", "json", "json_schema"})
    response_format_with_tools: bool = True
    streamed_tool_deltas: bool = True
    tools_with_thinking: bool = True
    images: bool = True
    audio: bool = True
    files: bool = True
    seed: bool = True
    reasoning_effort: bool = True
    tool_name_pattern: str = r"^[a-zA-Z0-9_-]{1,64}$"
    max_tools: int | None = 128
    replay: frozenset[str] = frozenset()
    unsupported: Mapping[str, Degradation] = field(default_factory=dict, hash=False)

    def when_unsupported(self, feature: str) -> Degradation:
        """What to do where the model cannot do ``feature``."""
        return self.unsupported.get(feature, "error")

    def with_(self, **changes: object) -> ModelProfile:
        """A copy with some capabilities changed, as a user's override does."""
        return replace(self, **changes)  # type: ignore[arg-type]
