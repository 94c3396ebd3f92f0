"""A plugin that is right: a model, a command, a secret and an observer."""

import os

from agentforge.model import ChatModel
from agentforge.model.scripted import ScriptedChatModel
from agentforge.plugin import BeanSettings, BeanType, Command, SecretStr, hookimpl

AGENTFORGE_API = (1, 0)


class EchoSettings(BeanSettings):
    """What `good.echo` takes."""

    answer: str = "good"
    """What it answers."""
    key: SecretStr = SecretStr("")
    """A key; how long it is stands in the answer."""


@hookimpl
def agentforge_bean_types(register):
    def make(settings):
        length = len(settings.key.get_secret_value())
        return ScriptedChatModel([settings.answer + (f", {length} characters" if length else "")], repeat=True)

    register(BeanType("good.echo", EchoSettings, make, ChatModel, "Says the same every time."))


@hookimpl
def agentforge_commands(register):
    register(Command("hello", "says hello", lambda words: print("hello", *words) or 0))


@hookimpl
def agentforge_secret(name):
    return {"ANSWER": "forty-two"}.get(name)


@hookimpl
def agentforge_model_calling(model):
    if "SEEN_FILE" in os.environ:
        with open(os.environ["SEEN_FILE"], "a", encoding="utf-8") as file:
            file.write("asked\n")
