"""Which bean a program means: by its id or alias, or by its contract or class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentforge.config import did_you_mean, listed, with_article
from agentforge.container.faults import BeanNotFoundError
from agentforge.container.plan import Plan, PlannedBean

__all__ = ("find_bean",)


def find_bean(plan: Plan, key: str | type[Any], made: Callable[[PlannedBean], object]) -> PlannedBean:
    """The bean of this id, alias, contract or class. ``made`` gives a bean's object, whose class may be more than its
    contract. Raises `BeanNotFoundError`."""
    if isinstance(key, str):
        found = plan.id_of(key)
        if found is None:
            names = [*plan.declared, *plan.aliases]
            raise BeanNotFoundError(f"no bean is called '{key}'", next_step=did_you_mean(key, names))
        return plan.beans[found]
    from agentforge.plugin import fits

    candidates = [plan.beans[bean_id] for bean_id in plan.declared]
    fitting = [bean for bean in candidates if fits(bean.provides, key)]
    if not fitting:
        # The class itself, which only a bean that is there can show.
        fitting = [
            bean
            for bean in candidates
            if not bean.lazy and bean.options.scope == "singleton" and key in type(made(bean)).__mro__
        ]
    fitting = (
        [bean for bean in fitting if bean.options.primary]
        or [bean for bean in fitting if bean.bean_type is not None and bean.bean_type.answers(bean.provides, key)]
        or fitting
    )
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise BeanNotFoundError(
            f"several beans are {with_article(key.__name__)}: {listed(bean.id for bean in fitting)}",
            next_step="Ask by id, or mark one with 'bean: {primary: true}'.",
        )
    there = listed(f"{bean.id} ({bean.provides.__name__})" for bean in candidates)
    raise BeanNotFoundError(f"no bean is {with_article(key.__name__)}", next_step=f"There are: {there or 'none'}.")
