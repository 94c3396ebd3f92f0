"""A plugin that registers a type and an observer, and fails then."""

from agentforge.model import ChatModel
from agentforge.plugin import BeanSettings, BeanType, hookimpl


class Settings(BeanSettings):
    """Nothing to set."""


@hookimpl
def agentforge_bean_types(register):
    register(BeanType("halfway.model", Settings, lambda settings: object(), ChatModel, "Never there."))
    raise RuntimeError("no room for the second type")


@hookimpl
def agentforge_model_calling(model):
    raise AssertionError("a plugin that was set aside is told nothing")
