"""Constructor parameters of users' components, filled with beans by their type hints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.config import Mark, Reporter, RootDefinition, did_you_mean, mark_of
from agentforge.container import codes
from agentforge.container.draft import Draft, Reference
from agentforge.plugin import ComponentError, Components, Need, fits

__all__ = ("Autowiring",)


class Autowiring:
    """Fills the arguments of all drafts whose type makes a component."""

    def __init__(
        self,
        drafts: Mapping[str, Draft],
        aliases: Mapping[str, str],
        components: Components,
        root: RootDefinition,
        reporter: Reporter,
    ) -> None:
        self._drafts = drafts
        self._aliases = aliases
        self._components = components
        self._root = root
        self._reporter = reporter

    def run(self) -> None:
        """Find what each component is, then what its constructor needs: the beans' own types count too."""
        components = [
            draft
            for draft in self._drafts.values()
            if draft.bean_type is not None and draft.bean_type.component is not None
        ]
        for draft in components:
            if draft.provides is object:  # the type makes whatever the component is, if that can be found
                draft.provides = None
        waiting = [draft for draft in components if draft.settings is not None]
        # The roots are read also when no bean names a component: a wrong one is a fault all the same.
        if not (waiting or self._root.scan) or not self._roots_load():
            return
        needs = {draft.id: found for draft in waiting if (found := self._needs_of(draft)) is not None}
        for draft in waiting:
            if draft.id in needs:
                self._fill(draft, needs[draft.id])

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
        name = self._component(draft)
        try:
            found = self._components.find(name)
            needs = self._components.needs(name)
        except ComponentError as error:
            field = draft.bean_type.component if draft.bean_type is not None else None
            self._report(draft, codes.BAD_COMPONENT, error.message, error.next_step, field)
            return None
        if draft.provides is None:
            draft.provides = found if isinstance(found, type) else type(found)
        return needs

    def _fill(self, draft: Draft, needs: Mapping[str, Need]) -> None:
        values = dict(getattr(draft.settings, "arguments", {}))
        for name, need in needs.items():
            if need.kind is None:
                continue
            if name in values:
                self._named(draft, need, values)
                continue
            fitting = self._fitting(draft, need.kind, all_of_them=need.many)
            if need.many:
                if fitting or need.required:
                    draft.lists.add(name)
                draft.arguments += [Reference(name, each, draft.mark, need.kind) for each in fitting]
            elif len(fitting) == 1:
                draft.arguments.append(Reference(name, fitting[0], draft.mark, need.kind))
            elif fitting:
                message = f"'{name}' of {self._component(draft)} needs one {need.kind.__name__}, and several fit: " + (
                    ", ".join(fitting)
                )
                step = f"Mark one with 'bean: {{primary: true}}', or write 'arguments: {{{name}: {fitting[0]}}}'."
                self._report(draft, codes.AMBIGUOUS_BEAN, message, step)
            elif need.required and not self._unknown:
                message = f"'{name}' of {self._component(draft)} needs a {need.kind.__name__}, and no bean is one"
                self._report(draft, codes.NO_BEAN, message, f"Declare a bean that is a {need.kind.__name__}.")
        missing = [name for name, need in needs.items() if need.kind is None and need.required and name not in values]
        if missing:
            message = f"the constructor of {self._component(draft)} needs {', '.join(map(repr, missing))}"
            step = f"Write 'arguments: {{{', '.join(f'{name}: …' for name in missing)}}}'."
            self._report(draft, codes.BAD_COMPONENT, message, step)
        for name in values:
            if name not in needs:
                message = f"the constructor of {self._component(draft)} has no parameter '{name}'"
                self._report(draft, codes.BAD_COMPONENT, message, did_you_mean(name, needs), f"arguments.{name}")
        if draft.settings is not None and len(values) != len(getattr(draft.settings, "arguments", values)):
            draft.settings = draft.settings.model_copy(update={"arguments": values})

    def _named(self, draft: Draft, need: Need, values: dict[str, Any]) -> None:
        """A parameter that is a bean, named in ``arguments``."""
        given = values[need.name]
        names = list(given) if need.many and isinstance(given, list | tuple) else [given]
        if not all(isinstance(name, str) for name in names):
            return  # a value of another kind is the constructor's to check
        del values[need.name]
        if need.many:
            draft.lists.add(need.name)
        for name in names:
            target = self._aliases.get(name, name)
            path = f"arguments.{need.name}"
            there = self._drafts.get(target)
            if there is None or there.anonymous:
                known = sorted(bean_id for bean_id, each in self._drafts.items() if not each.anonymous)
                step = did_you_mean(name, [each for each in known if each != draft.id])
                self._report(draft, codes.UNKNOWN_BEAN, f"no bean is called '{name}'", step, path)
            elif need.kind is not None and there.provides is not None and not fits(there.provides, need.kind):
                message = f"'{need.name}' needs a {need.kind.__name__}, and '{name}' is a {there.provides.__name__}"
                fitting = ", ".join(self._fitting(draft, need.kind))
                step = f"Beans that fit: {fitting}." if fitting else "No bean here fits; declare one."
                self._report(draft, codes.WRONG_BEAN, message, step, path)
            else:
                draft.arguments.append(
                    Reference(need.name, target, self._place(draft, path), need.kind if need.kind else object)
                )

    def _fitting(self, draft: Draft, kind: type, *, all_of_them: bool = False) -> list[str]:
        """The declared beans of a kind: by ``order``, then as in the file; a primary one stands for all."""
        found = [
            each
            for each in self._drafts.values()
            if each is not draft and not each.anonymous and each.provides is not None and fits(each.provides, kind)
        ]
        found.sort(key=lambda each: (each.options.order is None, each.options.order or 0))
        primary = [] if all_of_them else [each.id for each in found if each.options.primary]
        return primary or [each.id for each in found]

    @property
    def _unknown(self) -> bool:
        """Whether a bean's kind could not be found out, so that it might be the one that is missed."""
        return any(each.provides is None for each in self._drafts.values())

    def _component(self, draft: Draft) -> str:
        assert draft.bean_type is not None
        assert draft.bean_type.component is not None
        return str(getattr(draft.settings, draft.bean_type.component))

    def _place(self, draft: Draft, path: str | None) -> Mark:
        if draft.definition is None or path is None:
            return draft.mark
        return mark_of(draft.definition.settings, path.split("."))

    def _report(self, draft: Draft, code: str, message: str, next_step: str | None, path: str | None = None) -> None:
        where = f"beans.{draft.id}" + (f".{path}" if path else "")
        self._reporter.report(code, message, self._place(draft, path), next_step=next_step, path=where)
