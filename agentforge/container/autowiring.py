"""Parameters of users' components, filled with beans by their type hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.config import Mark, Reporter, RootDefinition, did_you_mean, listed, mark_of, with_article
from agentforge.container import codes
from agentforge.container.advice import implementing, words_for_misfit
from agentforge.container.arguments import PlainValues
from agentforge.container.draft import Draft, Reference
from agentforge.container.known import Known, takes_callable
from agentforge.container.plan import Pending
from agentforge.errors import ConfigurationError
from agentforge.masking import Secrets
from agentforge.plugin import Catalogue, ComponentError, Components, Need, fits

__all__ = ("Autowiring",)


class Autowiring:
    """Fills the arguments of all drafts whose type makes a component."""

    def __init__(
        self,
        known: Known,
        components: Components,
        catalogue: Catalogue,
        root: RootDefinition,
        reporter: Reporter,
        secrets: Secrets,
    ) -> None:
        self._known = known
        self._components = components
        self._catalogue = catalogue
        self._root = root
        self._reporter = reporter
        self._plain = PlainValues(known, components, reporter, secrets)
        self._whole: set[str] = set()
        self._fitting_of: dict[type, list[Draft]] = {}

    def run(self) -> frozenset[str]:
        """Find what each component is, then what its parameters need: the beans' own types count too.

        Returns the ids of the beans whose component was found and can be filled.
        """
        components = [
            draft
            for draft in self._known.drafts.values()
            if draft.bean_type is not None and draft.bean_type.component is not None
        ]
        for draft in components:
            if draft.provides is object:  # the type makes whatever the component is, if that can be found
                draft.provides = None
        waiting = [draft for draft in components if draft.settings is not None]
        # The roots are read also when no bean names a component: a wrong one is a fault all the same.
        if not (waiting or self._root.scan) or not self._roots_load():
            return frozenset()
        needs = {draft.id: found for draft in waiting if (found := self._needs_of(draft)) is not None}
        for draft in waiting:
            if draft.id in needs:
                before = len(self._reporter.diagnostics)
                self._fill(draft, needs[draft.id])
                if len(self._reporter.diagnostics) == before:
                    self._whole.add(draft.id)
        return frozenset(self._whole)

    def _roots_load(self) -> bool:
        """Import the roots once, so that one broken module is one fault."""
        try:
            self._components.names()
        except ComponentError as error:
            marks = [mark for name, mark in self._root.scan if repr(name) in error.message] or [
                mark for name, mark in self._root.scan if f"'{name}." in error.message
            ]
            mark = marks[0] if marks else self._root.scan[0][1]
            self._reporter.report(codes.BAD_COMPONENT, error.message, mark, next_step=error.next_step, path="scan")
            return False
        return True

    def _needs_of(self, draft: Draft) -> Mapping[str, Need] | None:
        name, kind = _component(draft), draft.bean_type
        assert kind is not None
        try:
            provided = kind.provided_by(self._components, name)
            needs = kind.needs_of(self._components, name)
        except ConfigurationError as error:
            code = codes.BAD_COMPONENT if isinstance(error, ComponentError) else error.code
            self._report(draft, code, error.message, error.next_step, kind.component)
            return None
        if draft.provides is None:
            draft.provides = provided
        return needs

    # -- parameters ------------------------------------------------------------------------------

    def _fill(self, draft: Draft, needs: Mapping[str, Need]) -> None:
        given = getattr(draft.settings, "arguments", {})
        values: dict[str, Any] = dict(given)
        for name, need in needs.items():
            if name in values:
                if need.kind is None or not self._named(draft, need, values):
                    self._plain.check(draft, need, values)
            elif need.kind is not None:
                self._by_type(draft, need)
        missing = [name for name, need in needs.items() if need.kind is None and need.required and name not in values]
        if missing:
            message = f"{_maker(draft)} needs {', '.join(map(repr, missing))}"
            step = f"Write 'arguments: {{{', '.join(f'{name}: …' for name in missing)}}}'."
            self._report(draft, codes.BAD_COMPONENT, message, step)
        for name in values:
            if name not in needs:
                message = f"{_maker(draft)} has no parameter '{name}'"
                self._report(draft, codes.BAD_COMPONENT, message, did_you_mean(name, needs), f"arguments.{name}")
        if draft.settings is not None and values != given:
            draft.settings = draft.settings.model_copy(update={"arguments": values})

    def _by_type(self, draft: Draft, need: Need) -> None:
        """A parameter that nothing in the file fills."""
        assert need.kind is not None
        if need.qualifier is not None:
            self._qualified(draft, need, need.qualifier)
            return
        fitting = self._fitting(draft, need)
        if need.many or need.by_name:
            if fitting or need.required:
                (draft.lists if need.many else draft.mappings).add(need.name)
            for each in fitting:
                order = each.options.order
                reason = f"no order; declared at {each.mark}" if order is None else f"order {order}"
                self._use(draft, need, each.id, draft.mark, reason=reason)
        elif len(fitting) == 1:
            self._use(draft, need, fitting[0].id, draft.mark)
        elif fitting:
            self._report_several(draft, need, fitting)
        elif need.required and not self._unknown:
            self._report_none(draft, need)

    def _qualified(self, draft: Draft, need: Need, name: str) -> None:
        target = self._known.id_of(name)
        if target is not None:
            self._bean(draft, need, name, target, draft.mark, None)
        elif need.required:
            message, step = self._known.unknown(name, draft, suggest=not self._reporter.has_enough)
            message = f"'{need.name}' of {_component(draft)} needs the bean '{name}': {message}"
            self._report(draft, codes.UNKNOWN_BEAN, message, step)

    def _named(self, draft: Draft, need: Need, values: dict[str, Any]) -> bool:
        """A parameter that is a bean, named in ``arguments``; false for a value of another kind."""
        path = f"arguments.{need.name}"
        found = list(_named_in(need, values[need.name], path))
        if not all(isinstance(each, str | Pending) for _, _, each in found):
            return False  # the hint says whether it fits
        del values[need.name]
        if need.many:
            draft.lists.add(need.name)
        if need.by_name:
            draft.mappings.add(need.name)
        for key, where, each in found:
            written = None
            if isinstance(each, Pending) and not each.id:
                continue  # which is reported
            if isinstance(each, Pending):
                # A reference in data is one of the settings; here it is known which parameter it fills.
                written = next(it for it in draft.references if it.slot == each.slot)
                draft.references.remove(written)
            name = each.id if isinstance(each, Pending) else each
            target = self._known.id_of(name)
            if target is None:
                message, step = self._known.unknown(name, draft, suggest=not self._reporter.has_enough)
                self._report(draft, codes.UNKNOWN_BEAN, message, step, where)
            else:
                self._bean(draft, need, name, target, self._place(draft, where), where, key=key, written=written)
        return True

    def _bean(
        self,
        draft: Draft,
        need: Need,
        name: str,
        target: str,
        mark: Mark,
        path: str | None,
        *,
        key: str = "",
        written: Reference | None = None,
    ) -> None:
        """One bean that is named for a parameter."""
        assert need.kind is not None
        there = self._known.drafts[target]
        kind = need.kind.__name__
        comes_callable = there.options.provider or (written is not None and written.provider)
        if comes_callable and not need.provider and (need.many or need.by_name or not takes_callable(need.kind)):
            message = f"'{need.name}' needs {with_article(kind)}, and '{name}' comes as a callable that gives it"
            step = f"Take 'provider: true' away, or declare the parameter as Callable[[], {kind}]."
            self._report(draft, codes.WRONG_BEAN, message, step, path)
            return
        misfit = there.provides is not None and not fits(there.provides, need.kind)
        if there.provides is not None and misfit and (need.provider or not comes_callable):
            given = with_article(there.provides.__name__)
            fitting = [each.id for each in self._fitting(draft, need)]
            more, step = words_for_misfit(there, there.provides, need.kind, fitting)
            message = f"'{need.name}' needs {with_article(kind)}, and '{name}' is {given}{more}"
            self._report(draft, codes.WRONG_BEAN, message, step, path)
            return
        reason = f"listed at {mark}" if need.many else ""
        self._use(draft, need, target, mark, key=key, provider=comes_callable, reason=reason)

    def _use(
        self,
        draft: Draft,
        need: Need,
        target: str,
        mark: Mark,
        *,
        key: str = "",
        provider: bool = False,
        reason: str = "",
    ) -> None:
        assert need.kind is not None
        path = f"arguments.{need.name}"
        draft.arguments.append(
            Reference(path, target, mark, need.kind, need.name, key or target, provider or need.provider, reason)
        )

    # -- inside ----------------------------------------------------------------------------------

    def _fitting(self, draft: Draft, need: Need) -> list[Draft]:
        """The declared beans that a parameter can take: by ``order``, then as in the file; a primary one stands for
        all where one is wanted."""
        kind = need.kind
        assert kind is not None
        if kind not in self._fitting_of:
            found = [
                each
                for each in self._known.declared().values()
                if each.provides is not None and fits(each.provides, kind)
            ]
            found.sort(key=lambda each: (each.options.order is None, each.options.order or 0))
            self._fitting_of[kind] = found
        # A bean that gives its users a callable is none of its kind for them.
        fitting = [
            each
            for each in self._fitting_of[kind]
            if each is not draft and (need.provider or not each.options.provider)
        ]
        if need.many or need.by_name:
            return fitting
        primary = [each for each in fitting if each.options.primary]
        return primary or [each for each in fitting if _answers(each, kind)] or fitting

    def _report_several(self, draft: Draft, need: Need, fitting: list[Draft]) -> None:
        kind = need.kind
        assert kind is not None
        names = listed(each.id for each in fitting)
        message = f"'{need.name}' of {_component(draft)} needs one {kind.__name__}, and several fit: {names}"
        # Of a protocol many are one by chance; those that were made for it come first.
        meant = [each.id for each in fitting if each.provides is not None and kind in each.provides.__mro__]
        declare = None if meant else implementing(kind, self._components, self._catalogue)
        if declare is None:
            name = (meant or [fitting[0].id])[0]
            step = f"Mark one with 'bean: {{primary: true}}', or write 'arguments: {{{need.name}: {name}}}'."
        else:
            step = f"Declare a bean for it, such as {declare}, and mark that one with 'bean: {{primary: true}}'."
        self._report(draft, codes.AMBIGUOUS_BEAN, message, step)

    def _report_none(self, draft: Draft, need: Need) -> None:
        assert need.kind is not None
        kind = need.kind.__name__
        message = f"'{need.name}' of {_component(draft)} needs {with_article(kind)}, and no bean is one"
        behind = [each.id for each in self._fitting_of.get(need.kind, ()) if each.options.provider]
        if behind:
            step = f"'{behind[0]}' gives its users a callable: declare the parameter as Callable[[], {kind}]."
        else:
            declare = implementing(need.kind, self._components, self._catalogue)
            step = f"Declare a bean that is {with_article(kind)}" + (f", such as {declare}" if declare else "")
            # One of these could have been meant.
            out = [name for name, absent in self._known.absent.items() if not absent.abstract]
            step += f"; out by their conditions are {listed(out)}." if out else "."
        self._report(draft, codes.NO_BEAN, message, step)

    @property
    def _unknown(self) -> bool:
        """Whether a bean's kind could not be found out, so that it might be the one that is missed."""
        return any(each.provides is None for each in self._known.drafts.values())

    def _place(self, draft: Draft, path: str | None) -> Mark:
        if draft.definition is None or path is None:
            return draft.mark
        way = [int(step) if step.isdecimal() else step for step in path.split(".")]
        return mark_of(draft.definition.settings, way)

    def _report(self, draft: Draft, code: str, message: str, next_step: str | None, path: str | None = None) -> None:
        where = f"beans.{draft.id}" + (f".{path}" if path else "")
        self._reporter.report(code, message, self._place(draft, path), next_step=next_step, path=where)


def _answers(draft: Draft, kind: type) -> bool:
    return draft.bean_type is not None and draft.provides is not None and draft.bean_type.answers(draft.provides, kind)


def _component(draft: Draft) -> str:
    name = draft.component
    assert name is not None
    return name


def _maker(draft: Draft) -> str:
    called = draft.bean_type is not None and draft.bean_type.called
    return f"the {'function' if called else 'constructor of'} {_component(draft)}"


def _named_in(need: Need, value: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """The beans that a value names for a parameter: each with its key and its path."""
    if need.by_name and isinstance(value, Mapping):
        yield from ((key, f"{path}.{key}", each) for key, each in value.items())
    elif (need.many or need.by_name) and isinstance(value, list | tuple):
        yield from (("", f"{path}.{number}", each) for number, each in enumerate(value))
    else:
        yield "", path, value
