"""The plugin: its bean types and commands, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentforge.plugin import hookimpl

if TYPE_CHECKING:
    from agentforge.plugin import BeanType, Command

__all__ = ("AGENTFORGE_API", "agentforge_bean_types", "agentforge_commands")

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    from agentforge_http.endpoint_types import HTTP_TOOL, HTTP_TOOLS
    from agentforge_http.openapi.bean import openapi_type
    from agentforge_http.token_type import CLIENT_CREDENTIALS

    for each in (HTTP_TOOL, HTTP_TOOLS, openapi_type(), CLIENT_CREDENTIALS):
        register(each)


@hookimpl
def agentforge_commands(register: Callable[[Command], None]) -> None:
    """The commands of this plugin."""
    from agentforge_http.openapi.command import import_command

    register(import_command())
