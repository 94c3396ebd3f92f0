"""The names of the tools that a source will offer, as far as they are known before it is made."""

from __future__ import annotations

from agentforge.plugin.checking import CheckContext, CheckedBean

__all__ = ("known_tool_names",)

_ASKED = "sources that are asked for their names"


def known_tool_names(bean: CheckedBean | None, context: CheckContext) -> tuple[str, ...] | None:
    """What the type of the bean says (`BeanType.tool_names`), or the object that the program gave; ``None`` where the
    names are not known before it is made, or its own check finds something wrong."""
    if bean is None:
        return None
    if bean.given is not None:
        offered = getattr(bean.given, "known_tools", None)
        tools = offered() if offered is not None else None
        return None if tools is None else tuple(tool.name for tool in tools)
    kind = bean.bean_type
    asked: set[str] = context.shared.setdefault(_ASKED, set())
    if kind is None or kind.tool_names is None or bean.settings is None or bean.id in asked:
        return None  # of a circle of views the circle is told
    asked.add(bean.id)
    try:
        names = kind.tool_names(bean.settings, context.at(bean))
    finally:
        asked.discard(bean.id)
    return None if names is None else tuple(names)
