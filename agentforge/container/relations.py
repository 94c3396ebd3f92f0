"""What has to hold between beans: each is what the place that names it wants, and none needs itself."""

from __future__ import annotations

from itertools import pairwise

from agentforge.config import Reporter, with_article
from agentforge.container import codes
from agentforge.container.advice import words_for_misfit
from agentforge.container.draft import Draft, Reference
from agentforge.container.known import Known
from agentforge.container.ordering import build_order, circles
from agentforge.plugin import fits

__all__ = ("Relations",)


class Relations:
    """Checks the references of all drafts."""

    def __init__(self, known: Known, reporter: Reporter) -> None:
        self._known = known
        self._drafts = known.drafts
        self._reporter = reporter
        self._fitting: dict[tuple[type, type], bool] = {}

    def check_contracts(self) -> None:
        """Report every setting whose bean is of another kind than the setting."""
        for draft in self._drafts.values():
            for reference in draft.references:
                provided = self._drafts[reference.target].provides
                if provided is None or reference.wanted is object:
                    continue
                if not self._fits(provided, reference.wanted):
                    self._report_wrong(draft, reference, provided)

    def order(self) -> tuple[str, ...]:
        """The order of building; nothing when there is a circle, which is reported. No circle ever gets further."""
        needs: dict[str, list[str]] = {}
        for bean_id, draft in self._drafts.items():
            found = [reference.target for reference in draft.everything_needed]
            for name, mark in draft.options.depends_on:
                target = self._known.id_of(name)
                if target is not None:
                    found.append(target)
                    continue
                where = f"beans.{bean_id}.bean.depends_on"
                message, step = self._known.unknown(name, draft, suggest=not self._reporter.has_enough)
                self._reporter.report(codes.UNKNOWN_BEAN, message, mark, next_step=step, path=where)
            needs[bean_id] = found
        found_circles = list(circles(needs))
        for circle in found_circles:
            self._report_circle(circle)
        return () if found_circles else build_order(needs)

    # -- inside ----------------------------------------------------------------------------------

    def _fits(self, provided: type, wanted: type) -> bool:
        pair = provided, wanted
        if pair not in self._fitting:
            self._fitting[pair] = fits(*pair)
        return self._fitting[pair]

    def _report_wrong(self, draft: Draft, reference: Reference, provided: type) -> None:
        wanted = reference.wanted.__name__
        choices = sorted(
            bean_id
            for bean_id, each in ({} if self._reporter.has_enough else self._known.declared(but=draft)).items()
            if each.provides is not None and self._fits(each.provides, reference.wanted)
        )
        target = self._drafts[reference.target]
        more, step = words_for_misfit(target, provided, reference.wanted, choices)
        message = (
            f"'{reference.path}' needs {with_article(wanted)}, and '{reference.target}' is "
            f"{with_article(provided.__name__)}{more}"
        )
        if isinstance(target.given, type):
            name = target.given.__name__
            message = f"'{reference.path}' needs {with_article(wanted)}, and '{name}' is a class"
            step = f"Give an object: {name}(…)."
        where = f"beans.{draft.id}.{reference.path}"
        self._reporter.report(codes.WRONG_BEAN, message, reference.mark, next_step=step, path=where)

    def _report_circle(self, circle: tuple[str, ...]) -> None:
        last = self._drafts[circle[-2]]
        marks = [reference.mark for reference in last.everything_needed if reference.target == circle[-1]]
        marks += [mark for name, mark in last.options.depends_on if self._known.id_of(name) == circle[-1]]
        self._reporter.report(
            codes.BEAN_CYCLE,
            f"{'beans need each other' if len(circle) > 2 else 'a bean needs itself'}: {' -> '.join(circle)}",
            (marks or [last.mark])[0],
            next_step=self._way_out(circle),
            path=f"beans.{last.id}",
        )

    def _way_out(self, circle: tuple[str, ...]) -> str:
        """What breaks the circle: a component of it can ask for its bean later, else a reference has to go."""
        for bean_id, target in pairwise(circle):
            draft = self._drafts[bean_id]
            kind = self._drafts[target].provides
            name = kind.__name__ if kind is not None else "…"
            parameter = next((each.slot for each in draft.arguments if each.target == target), None)
            if parameter is not None:
                return (
                    f"Let '{bean_id}' ask for '{target}' when it needs it: declare its parameter as "
                    f"'{parameter}: Callable[[], {name}]' and call it there; where the parameter takes anything, write "
                    f"{{ref: {target}, provider: true}}."
                )
            if any(each.target == target and each.slot.startswith("arguments.") for each in draft.references):
                return (
                    f"Let '{bean_id}' ask for '{target}' when it needs it: write {{ref: {target}, provider: true}} "
                    "in its arguments, for a callable that gives the bean."
                )
        plain = "Take one of these references away; no bean can be built before itself."
        if not any(
            each.target == target for bean_id, target in pairwise(circle) for each in self._drafts[bean_id].references
        ):
            return plain
        return (
            f"{plain} A component can ask for a bean later, with {{ref: {circle[-1]}, provider: true}} or a parameter "
            "that is a Callable[[], …]."
        )
