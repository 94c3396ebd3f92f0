"""The bean type ``scripted``: a model that answers from turns in the file or in one beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentforge.model import ModelProfile
from agentforge.model.script import ScriptError, read_turn
from agentforge.model.scripted import ScriptedChatModel
from agentforge.plugin.bean_settings import BeanSettings
from agentforge.plugin.bean_type import BeanContext
from agentforge.plugin.checking import CheckContext, Finding

__all__ = ("ScriptedSettings", "check_scripted", "make_scripted")


class ScriptedSettings(BeanSettings):
    """What `scripted` takes: either ``turns`` or ``file``."""

    turns: list[Any] | None = None
    """The replies in order: a text, or a mapping with text, thinking, calls, finish_reason, usage, error."""
    file: str | None = None
    """A YAML file of turns, relative to the file the bean stands in."""
    repeat: bool = False
    """Whether the script starts over after its last turn; else a further request is an error."""
    name: str = "scripted"
    """The name the model answers under."""

    def model_post_init(self, context: object) -> None:
        """Refuse a script that is in two places or in none."""
        if (self.turns is None) == (self.file is None):
            raise ValueError("give either turns or file")


def check_scripted(settings: ScriptedSettings, context: CheckContext) -> Iterator[Finding]:
    """The first mistake of each turn, before anything is built."""
    for position, turn in enumerate(settings.turns or ()):
        try:
            read_turn(turn, ("turns", position))
        except ScriptError as error:
            place = f"{error.location}: " if error.location else ""
            yield Finding(f"{place}{error.message}", ".".join(map(str, error.path)), error.next_step)


def make_scripted(settings: ScriptedSettings, context: BeanContext) -> ScriptedChatModel:
    """The model. Raises `ConfigurationError` with file and line for a script file that cannot be read."""
    profile = ModelProfile(name=settings.name)
    if settings.file is not None:
        return ScriptedChatModel.from_yaml(context.folder / settings.file, profile=profile, repeat=settings.repeat)
    return ScriptedChatModel(settings.turns or (), profile=profile, repeat=settings.repeat)
