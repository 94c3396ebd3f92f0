"""The methods that ``init`` and ``destroy`` name, looked for on users' classes before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Collection

from agentforge.config import MappingNode, Mark, Reporter, did_you_mean
from agentforge.config.codes import BAD_VALUE
from agentforge.config.nodes import node_at
from agentforge.container.draft import Draft
from agentforge.container.known import Known
from agentforge.plugin import Components

__all__ = ("check_methods",)


def check_methods(
    known: Known, *, whole: Collection[str], components: Components, tree: MappingNode, reporter: Reporter
) -> None:
    """Report each named method that the component of a bean cannot have; ``whole`` are those whose component is known.

    Of the beans of other types and of what functions make, the class is not known; it is found out at the start.
    """
    for draft in known.drafts.values():
        kind = _class_of(draft, components) if draft.id in whole else None
        if kind is None:
            continue
        for option in ("init", "destroy"):
            name = getattr(draft.options, option)
            if name is None or _may_have(kind, name):
                continue
            reporter.report(
                BAD_VALUE,
                f"'{option}' of '{draft.id}' is '{name}', and {kind.__name__} has no such method",
                _mark(draft, option, tree),
                next_step=did_you_mean(name, _methods(kind)),
                path=f"beans.{draft.id}.bean.{option}",
            )


def _class_of(draft: Draft, components: Components) -> type | None:
    """The class whose object is started: that of the bean, or the one behind a source of tools."""
    if draft.bean_type is None or draft.bean_type.called or draft.component is None:
        return None
    if draft.bean_type.implements is not None:
        return draft.provides
    found = components.find(draft.component)
    is_it = draft.provides is found or draft.bean_type.name == "python_tools"
    return found if isinstance(found, type) and is_it else None


def _may_have(kind: type, name: str) -> bool:
    """Whether objects of the class may have this attribute: a class's own, one that some method sets or gives."""
    if callable(getattr(kind, name, None)) or hasattr(kind, "__getattr__"):
        return True
    for each in kind.__mro__[:-1]:
        if name in inspect.get_annotations(each):
            return True
        functions = (value for value in vars(each).values() if inspect.isfunction(value))
        if any(name in function.__code__.co_names for function in functions):
            return True
    return False


def _methods(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]


def _mark(draft: Draft, option: str, tree: MappingNode) -> Mark:
    found = node_at(tree, ("beans", draft.id, "bean", option))
    return draft.mark if found is None else found.mark
