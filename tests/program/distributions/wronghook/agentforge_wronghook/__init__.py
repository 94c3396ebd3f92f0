"""A plugin with a good hook, and one whose argument the hook does not have."""

from agentforge.model import ChatModel
from agentforge.plugin import BeanSettings, BeanType, hookimpl


class Settings(BeanSettings):
    """Nothing to set."""


@hookimpl
def agentforge_bean_types(register):
    register(BeanType("wronghook.model", Settings, lambda settings: object(), ChatModel, "Never there."))


@hookimpl
def agentforge_tool_called(call):
    """The argument is called `execution`."""
