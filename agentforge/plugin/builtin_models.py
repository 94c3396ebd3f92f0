"""The bean type ``scripted``: a model that answers from turns in the file or in one beside it."""

from __future__ import annotations

from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.model import ModelProfile
from agentforge.model.script import read_turn
from agentforge.model.scripted import ScriptedChatModel
from agentforge.plugin.bean_settings import BeanSettings
from agentforge.plugin.bean_type import BeanContext

__all__ = ("ScriptedSettings", "make_scripted")


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
        """Find the mistakes of a script before anything is built."""
        if (self.turns is None) == (self.file is None):
            raise ValueError("give either turns or file")
        for position, turn in enumerate(self.turns or ()):
            try:
                read_turn(turn, ("turns", position))
            except ConfigurationError as error:
                place = f"{error.location}: " if error.location else ""
                step = f" {error.next_step}" if error.next_step else ""
                raise ValueError(f"{place}{error.message}.{step}") from None


def make_scripted(settings: ScriptedSettings, context: BeanContext) -> ScriptedChatModel:
    """The model. Raises `ConfigurationError` with file and line for a script file that cannot be read."""
    profile = ModelProfile(name=settings.name)
    if settings.file is not None:
        return ScriptedChatModel.from_yaml(context.folder / settings.file, profile=profile, repeat=settings.repeat)
    return ScriptedChatModel(settings.turns or (), profile=profile, repeat=settings.repeat)
