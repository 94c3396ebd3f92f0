"""A plugin that loads, and whose hooks raise when they are called."""

from agentforge.plugin import hookimpl


@hookimpl
def agentforge_secret(name):
    raise ConnectionError("the vault said: token=hunter2")


@hookimpl
def agentforge_model_called(response):
    raise RuntimeError("no place to write to")
