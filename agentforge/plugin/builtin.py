"""The core's own bean types, registered through the same hook as a plugin's."""

from __future__ import annotations

from collections.abc import Callable

from agentforge.client import ChatClient
from agentforge.model import ChatModel
from agentforge.plugin.bean_settings import BeanSettings, as_value_error
from agentforge.plugin.bean_type import BeanType
from agentforge.plugin.builtin_advisors import ADVISOR_TYPES
from agentforge.plugin.builtin_clients import (
    ChatClientSettings,
    ToolServiceSettings,
    check_chat_client,
    check_tool_service,
    make_chat_client,
    make_tool_service,
)
from agentforge.plugin.builtin_memory import MEMORY_TYPES
from agentforge.plugin.builtin_models import ScriptedSettings, check_scripted, make_scripted
from agentforge.plugin.builtin_refreshing import REFRESHING_TYPES
from agentforge.plugin.builtin_search import SEARCH_TYPES
from agentforge.plugin.builtin_services import SERVICE_TYPES
from agentforge.plugin.builtin_sources import SOURCE_TYPES
from agentforge.plugin.builtin_tools import (
    ComponentSettings,
    FactorySettings,
    PythonToolsSettings,
    check_python_tools,
    make_by_function,
    make_component,
    make_python_tools,
    tool_names_of,
)
from agentforge.plugin.hooks import hookimpl
from agentforge.tool import ToolSource
from agentforge.tool.error import ListKnownTools, Mask, Rethrow, ReturnToModel, Template, ToolErrorHandler
from agentforge.tool.execution import ToolService

__all__ = ("NoSettings", "ReturnToModelSettings", "TemplateSettings", "agentforge_bean_types")


class NoSettings(BeanSettings):
    """Of types that have nothing to set."""


class ReturnToModelSettings(BeanSettings):
    """What `return_to_model` takes."""

    log: bool = False
    """Whether each error is also logged as a warning."""


class TemplateSettings(BeanSettings):
    """What `template` takes."""

    text: str
    """What the model is told; {tool}, {id}, {error} and {message} are filled in, {{ and }} stand for braces."""

    def model_post_init(self, context: object) -> None:
        """Refuse a text that cannot be filled."""
        with as_value_error():
            Template(self.text)


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """Models, tools, services, clients, advisors, memory and the error strategies."""
    register(
        BeanType(
            "scripted",
            ScriptedSettings,
            make_scripted,
            ChatModel,
            "A model that answers from a script: for tests and demonstrations.",
            check=check_scripted,
        )
    )
    register(
        BeanType(
            "python_tools",
            PythonToolsSettings,
            make_python_tools,
            ToolSource,
            "The @tool functions and methods of a component of the scan roots.",
            component="component",
            check=check_python_tools,
            tool_names=tool_names_of,
        )
    )
    register(
        BeanType(
            "component",
            ComponentSettings,
            make_component,
            object,
            "An object of a class of the scan roots, such as a gate, an interceptor or what your tools need.",
            component="component",
        )
    )
    register(
        BeanType(
            "factory",
            FactorySettings,
            make_by_function,
            object,
            "What a function of the scan roots makes.",
            component="function",
            called=True,
        )
    )
    register(
        BeanType(
            "tool_service",
            ToolServiceSettings,
            make_tool_service,
            ToolService,
            "Tools, limits and error strategies, to be used with any model.",
            check=check_tool_service,
        )
    )
    register(
        BeanType(
            "chat_client",
            ChatClientSettings,
            make_chat_client,
            ChatClient,
            "A model with its tools, limits, error strategies and system prompt.",
            check=check_chat_client,
        )
    )
    groups = (SOURCE_TYPES, REFRESHING_TYPES, SERVICE_TYPES, ADVISOR_TYPES, SEARCH_TYPES, MEMORY_TYPES)
    for bean_type in (each for group in groups for each in group):
        register(bean_type)
    for name, settings, make, summary in (
        ("rethrow", NoSettings, lambda _: Rethrow(), "Ends the run with the error."),
        (
            "return_to_model",
            ReturnToModelSettings,
            lambda settings: ReturnToModel(log=settings.log),
            "Tells the model the error's message, so that it can correct itself.",
        ),
        ("list_known_tools", NoSettings, lambda _: ListKnownTools(), "Tells the model which tools there are."),
        ("mask", NoSettings, lambda _: Mask(), "Tells the model only the error's class and an id for the log."),
        (
            "template",
            TemplateSettings,
            lambda settings: Template(settings.text),
            "Tells the model a text of your own.",
        ),
    ):
        register(BeanType(name, settings, make, ToolErrorHandler, summary))
