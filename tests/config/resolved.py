"""A plan as text: what every bean of a configuration became, in the order in which they are built."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from agentforge.config import BeanOptions, Condition
from agentforge.container.plan import Pending, Plan, PlannedBean, ProviderOf

__all__ = ("resolved",)


def resolved(plan: Plan) -> str:
    """Each bean with its type, the settings that were given, the beans it uses, and the container's options; then why
    conditional beans are in or out, and what is warned about."""
    lines = [line for bean in plan.beans.values() for line in _bean(bean)]
    for result in plan.conditions:
        lines.append(f"{result.bean_id} is {'in' if result.included else 'out'}: {'; '.join(result.reasons)}")
    lines += [f"alias {alias} -> {bean_id}" for alias, bean_id in plan.aliases.items()]
    lines += [f"warning: {warning}" for warning in plan.warnings]
    return "\n".join(lines or ["no beans"])


def _bean(bean: PlannedBean) -> Iterator[str]:
    yield f"{bean.id}: {bean.type_name}"
    for path, value in _given(bean.settings):
        yield f"  {path} = {_text(value)}"
    for path, target in {**bean.uses, **bean.arguments}.items():
        yield f"  {path} -> {_target(target)}"
    options = {
        each.name: _option(getattr(bean.options, each.name))
        for each in fields(BeanOptions)
        if getattr(bean.options, each.name) != each.default
    }
    if options:
        yield f"  bean: {', '.join(f'{key} {value}' for key, value in options.items())}"


def _given(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The settings that somebody set, those of settings inside by dotted paths, without the beans among them."""
    from pydantic import BaseModel

    if settings is None:
        return
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if name not in settings.model_fields_set:
            continue
        if isinstance(value, BaseModel):
            yield from _given(value, f"{prefix}{name}.")
        elif not _holds_beans(value):
            yield f"{prefix}{name}", value


def _holds_beans(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return isinstance(value, Pending) or (isinstance(value, tuple | list) and any(map(_holds_beans, value)))


def _text(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def _target(target: Any) -> str:
    if isinstance(target, ProviderOf):
        return f"a provider of {target.id}"
    if isinstance(target, Mapping):
        return "{" + ", ".join(f"{key}: {_target(value)}" for key, value in target.items()) + "}"
    return f"[{', '.join(map(_target, target))}]" if isinstance(target, tuple) else str(target)


def _option(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], Condition):
        return " and ".join(f"{each.kind} {' '.join(each.values)}" for each in value)
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        return str(value[0])
    if isinstance(value, tuple):
        return "[" + ", ".join(name for name, _ in value) + "]"
    return json.dumps(value)
