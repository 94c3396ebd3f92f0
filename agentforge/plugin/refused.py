"""Parameters that a file sets and that its model would refuse in every request, found when the file is checked.

A model that can tell has a method ``refusal(parameters)``, and the settings of one that is not made yet a method
``judge(context)`` that gives the same; others are not asked. What only a real request shows stays for it to find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, TypeAlias

from agentforge.errors import AgentForgeError, UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, ToolSpecification
from agentforge.plugin.checking import CheckContext, CheckedBean, Finding
from agentforge.plugin.request_settings import ParameterSettings

__all__ = ("Judge", "judge_of", "refused_parameters")

Judge: TypeAlias = Callable[[ChatRequestParameters], AgentForgeError | None]
"""Why no request with these parameters could be sent; ``None`` where one could be."""

#: These say something only beside tools, and the others have to hold without.
_OF_TOOLS = ("tool_choice", "parallel_tool_calls")
#: Of two that exclude each other the first of these is named; what is not here comes behind.
_ORDER = ("tool_choice", "parallel_tool_calls", "response_format", "seed", "stop", "temperature", "top_p")
_UNSET = ChatRequestParameters()


def judge_of(bean: CheckedBean | None, context: CheckContext) -> Judge | None:
    """What judges for the model behind a setting; ``None`` where nothing can."""
    if bean is None:
        return None
    if bean.given is not None:
        given: Any = getattr(bean.given, "refusal", None)
        return given if callable(given) else None
    judge: Any = getattr(type(bean.settings), "judge", None)
    return judge(bean.settings, context.at(bean)) if callable(judge) else None


def refused_parameters(
    judge: Judge, settings: ParameterSettings, *, at: str, with_tools: bool | None = None, choice: Any = None
) -> Iterator[Finding]:
    """A finding for every one of the parameters that ``judge`` refuses. ``at`` is the setting that they stand in;
    ``choice`` is a tool choice that stands beside it and goes before theirs. ``with_tools``: whether every request
    offers tools; unset: one may or may not, and what is refused in one of these cases only is then left alone."""
    asked = settings.made()
    beside = choice is not None
    if beside:
        asked = asked.with_(tool_choice=choice)
    found = {} if with_tools is False else dict(_refused(judge, _with_tools(asked)))
    if not with_tools:
        alone = dict(_refused(judge, asked.with_(**dict.fromkeys(_OF_TOOLS))))
        if with_tools is None:
            alone = {name: error for name, error in found.items() if name in alone or name in _OF_TOOLS}
        found = alone
    for name, error in found.items():
        path = name if beside and name == "tool_choice" else f"{at}.{name}"
        code = error.code if isinstance(error, UnsupportedFeatureError) else None
        yield Finding(error.message, path, error.next_step, code)


def _with_tools(asked: ChatRequestParameters) -> ChatRequestParameters:
    """The same with tools; which ones is of no matter, but a choice has to find its own."""
    names = asked.tool_choice.names if asked.tool_choice is not None else ()
    return asked.with_(tools=tuple(ToolSpecification(name, "A tool.") for name in names or ("tool",)))


def _refused(judge: Judge, asked: ChatRequestParameters) -> Iterator[tuple[str, AgentForgeError]]:
    """Each parameter without which a refusal does not come, until none is left."""
    error = judge(asked)
    while error is not None:
        for name in _set_in(asked, str(_feature_of(error)).partition(".")[0]):
            rest = asked.with_(**{name: getattr(_UNSET, name)})
            further = judge(rest)
            if further is None or _told(further) != _told(error):
                yield _place(name, error), error
                asked, error = rest, further
                break
        else:
            return  # something else is refused, which is no part of these


def _set_in(asked: ChatRequestParameters, first: str) -> list[str]:
    names = [
        each.name
        for each in fields(asked)
        if each.name != "tools" and getattr(asked, each.name) != getattr(_UNSET, each.name)
    ]
    return sorted(names, key=lambda name: (name != first, _ORDER.index(name) if name in _ORDER else len(_ORDER)))


def _told(error: AgentForgeError) -> tuple[object, str]:
    return _feature_of(error), error.message


def _feature_of(error: AgentForgeError) -> object:
    return getattr(error, "details", {}).get("feature")


def _place(name: str, error: AgentForgeError) -> str:
    feature = str(_feature_of(error))
    return feature if name == "custom_parameters" and feature.startswith("custom_parameters.") else name
