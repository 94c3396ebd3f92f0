"""What the tests of structured output share: a type, answers, and a turn that gives one in each mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from agentforge import ScriptedChatModel
from agentforge.model import (
    ChatRequest,
    ModelProfile,
    UserMessage,
)
from agentforge.model.scripted import call


@dataclass
class Weather:
    city: str
    degrees: int


GOOD = '{"city":"Oslo","degrees":4}'
MISSING = '{"city":"Oslo"}'
FINAL = "final_answer"
WORDS = "degrees: is required and was not given"
QUESTION = ChatRequest((UserMessage("How warm is it in Oslo?"),))
MODES = pytest.mark.parametrize("mode", ["native", "tool", "prompt"])


def get_degrees(city: str) -> int:
    "How warm it is in a city."
    return 4


def said(mode: str, text: str) -> Any:
    """A turn of a script in which the model answers with this JSON."""
    if mode == "tool":
        return call("final_answer", text)
    return text if mode == "native" else f"Here it is:\n```json\n{text}\n```\nAnything else?"


def profile(**more: Any) -> ModelProfile:
    return ModelProfile(name="small", **more)


def last_user(model: ScriptedChatModel) -> str:
    return next(each.text for each in reversed(model.requests[-1].messages) if isinstance(each, UserMessage))
