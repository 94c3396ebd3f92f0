"""A model bean as it is, and the same one without its reservations: what a profile would refuse before it is sent is
what a probe has to send."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentforge.container import PlannedBean
    from agentforge.plugin import BeanSettings
    from agentforge.provider import ChatSettings, EndpointRow

__all__ = ("bounded", "is_endpoint", "without_reservations")

#: Everything there is. What a wire has no words for it still refuses, and that is then said of it.
_EVERYTHING: Mapping[str, object] = {
    "tool_mode": "native",
    "tool_choice": ("auto", "none", "required", "tool", "allowed"),
    "parallel_tool_calls": "settable",
    "strict_tools": True,
    "response_formats": ("text", "json", "json_schema"),
    "response_format_with_tools": True,
    "streamed_tool_deltas": True,
    "tools_with_thinking": True,
    "images": True,
    "seed": True,
    "reasoning_effort": True,
}
#: What is asked is either sent or refused: left out, it would seem to be taken. Where a list of allowed tools has no
#: form of its own, fewer tools are the usual way, and a notice tells of it.
_POLICIES: Mapping[str, str] = {
    "forced_choice_with_thinking": "error",
    "images": "error",
    "parallel_tool_calls": "error",
    "reasoning_effort": "error",
    "response_format": "error",
    "response_format.json": "error",
    "response_format.json_schema": "error",
    "response_format_with_thinking": "error",
    "response_format_with_tools": "error",
    "seed": "error",
    "strict_schema": "error",
    "strict_tools": "error",
    "tool_choice": "error",
    "tool_choice.none": "error",
    "tool_choice.required": "error",
    "tool_choice.tool": "error",
    "tools": "error",
    "tools_with_thinking": "error",
}
#: Forms of rows that make up for reasoning that is not there, which hides whether it has to be.
_FORMS: Mapping[str, object] = {"replay_required": None, "loop_needs_thinking": False}
#: Defaults of a bean that would be part of every question.
_NOT_ASKED: Mapping[str, object] = {
    "max_output_tokens": None,
    "stop": None,
    "seed": None,
    "tool_choice": None,
    "parallel_tool_calls": None,
    "response_format": None,
}


def is_endpoint(bean: PlannedBean) -> bool:
    """Whether it is a model behind an endpoint, whose profile can be lifted."""
    from agentforge.provider import ChatSettings

    return isinstance(bean.settings, ChatSettings)


def bounded(bean: PlannedBean, timeout: float) -> PlannedBean:
    """The bean; one that asks an endpoint takes no longer than that for an exchange, its retries included, and its
    defaults are no part of the questions."""
    if not is_endpoint(bean):
        return bean
    settings: Any = bean.settings
    times = settings.timeouts
    shorter = {name: min(getattr(times, name), timeout) for name in ("connect", "read", "write", "pool")}
    total = timeout if times.total is None else min(times.total, timeout)
    within = times.model_copy(update={**shorter, "total": total})
    defaults = settings.defaults.model_copy(update=_NOT_ASKED)
    return dataclasses.replace(bean, settings=settings.model_copy(update={"timeouts": within, "defaults": defaults}))


def without_reservations(bean: PlannedBean, timeout: float) -> PlannedBean:
    """The bean, bounded; of one that asks an endpoint the profile allows everything, and no rule of its row keeps a
    question back."""
    if not is_endpoint(bean):
        return bean
    bean = bounded(bean, timeout)
    return dataclasses.replace(bean, settings=_lifted(bean.settings))


def _lifted(settings: Any) -> BeanSettings:
    kind: type[ChatSettings] = type(settings)

    class Probing(kind):  # type: ignore[misc, valid-type]
        """The same settings, whose model has a row without rules."""

        def model_of(self, endpoint: Mapping[str, Any]) -> Any:
            row = self.VENDORS.row(endpoint["vendor"], base_url=endpoint["base_url"])
            return super().model_of({**endpoint, "vendor": _without_rules(row)})

    own = settings.profile_overrides
    values = {
        **dict(settings),
        "tool_mode": "native",
        "profile_overrides": {
            **own,
            **_within(settings.VENDORS.kind.FORM),
            "unsupported": {**(own.get("unsupported") or {}), **_POLICIES},
        },
    }
    made: BeanSettings = Probing.model_construct(_fields_set=set(values), **values)
    return made


def _within(form: Mapping[str, tuple[object, ...]]) -> dict[str, object]:
    """Everything that the form of the request has a place for, as no override may go beyond it."""
    made = dict(_EVERYTHING)
    for name, known in form.items():
        value = made.get(name)
        if isinstance(value, tuple):
            made[name] = tuple(each for each in value if each in known)
        elif value is not None and value not in known:
            made[name] = known[0]
    return made


def _without_rules(row: EndpointRow) -> EndpointRow:
    changes = {name: value for name, value in _FORMS.items() if hasattr(row, name)}
    if row.thinking is not None:
        changes["thinking"] = dataclasses.replace(row.thinking, forced_choice=True, json_formats=True)
    return dataclasses.replace(row, **changes)  # type: ignore[arg-type]
