"""What a setting that is a bean means: a declared bean by its name, a type by its name, a definition in place."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentforge.config import (
    BeanDefinition,
    BeanOptions,
    MappingNode,
    Mark,
    Node,
    ObjectNode,
    Reporter,
    ScalarNode,
    read_bean,
    to_value,
    with_article,
)
from agentforge.config.codes import BAD_VALUE
from agentforge.container import codes
from agentforge.container.advice import types_for
from agentforge.container.draft import Draft, Reference
from agentforge.container.known import Known, takes_callable
from agentforge.container.plan import Pending
from agentforge.container.references import is_reference, read_reference
from agentforge.plugin import BeanType, Catalogue, NotFound, RefField, fits

__all__ = ("Resolver",)

_ANY = RefField(object, False, False, False)
#: What a name may be of, or be meant to be of; any other text is no misspelt one.
_LIKE_A_NAME = re.compile(r"[\w.-]+")


class Resolver:
    """Finds the beans that settings name and adds those that stand in place.

    ``declare`` plans a bean that was found in place, with its dotted path for reports.
    """

    def __init__(
        self,
        known: Known,
        catalogue: Catalogue,
        reporter: Reporter,
        declare: Callable[[Draft, BeanDefinition, str], None],
    ) -> None:
        self._known = known
        self._catalogue = catalogue
        self._reporter = reporter
        self._declare = declare

    def refer(
        self, draft: Draft, field_path: str, path: str, key: str, node: Node, wanted: RefField, bean_path: str
    ) -> Pending | None:
        """The bean that the setting at ``path`` means; ``None`` when it means none.

        ``field_path`` is the field, ``key`` the place in its list or mapping. What is wrong is reported, and something
        pending returned all the same: the settings model has nothing to add.
        """
        where = f"{bean_path}.{path}"
        several = wanted.many or wanted.by_name
        if isinstance(node, ScalarNode) and to_value(node) is None and not several:
            if wanted.optional:
                return None
            step = "Give the name of a bean, or a mapping with a 'type'."
            self._reporter.report(
                BAD_VALUE, f"'{path}' is a bean and not nothing", node.mark, next_step=step, path=where
            )
            return Pending("")
        target, provider = self._target(draft, path, node, wanted, where)
        if target is None:
            return Pending("")
        if not wanted.provider and self._gives_callable(target, provider):
            if several or not takes_callable(wanted.kind):
                self.report_callable(path, target, wanted.kind, node.mark, where, asked=provider)
                return Pending("")
            provider = True
        reason = f"listed at {node.mark}" if wanted.many else ""
        draft.references.append(
            Reference(path, target, node.mark, wanted.kind, field_path, key, provider or wanted.provider, reason)
        )
        return Pending(target, field_path)

    def refer_in_data(self, draft: Draft, path: str, node: MappingNode, bean_path: str) -> Pending | None:
        """The bean that a reference inside plain data means, as anything; ``None`` for one that is faulty."""
        where = f"{bean_path}.{path}"
        target, provider = self._target(draft, path, node, _ANY, where)
        if target is None:
            return None
        provider = self._gives_callable(target, provider)
        slot = path
        while any(each.slot == slot for each in draft.references):  # a key may hold a dot
            slot += "'"
        draft.references.append(Reference(path, target, node.mark, object, slot, provider=provider))
        return Pending(target, slot)

    def report_callable(self, path: str, target: str, kind: type, mark: Mark, where: str, *, asked: bool) -> None:
        """Report a callable where a bean is wanted."""
        if asked:
            message = (
                f"'{path}' needs {with_article(kind.__name__)}, and a reference with 'provider: true' gives a callable"
            )
            step = f"Write {{ref: {target}}}; only a field or parameter that is a Callable[[], …] takes a callable."
        else:
            message = f"'{path}' needs {with_article(kind.__name__)}, and '{target}' gives its users a callable"
            step = f"Take 'provider: true' from the bean '{target}', or have a Callable[[], {kind.__name__}] here."
        self._reporter.report(codes.WRONG_BEAN, message, mark, next_step=step, path=where)

    # -- inside ----------------------------------------------------------------------------------

    def _gives_callable(self, target: str, asked: bool) -> bool:
        return asked or self._known.drafts[target].options.provider

    def _target(self, draft: Draft, path: str, node: Node, wanted: RefField, where: str) -> tuple[str | None, bool]:
        """The bean's id, and whether a callable that gives it is asked for."""
        in_place = f"{draft.id}.{path}"
        while in_place in self._known.drafts:  # a key may hold a dot
            in_place += "'"
        match node:
            case ScalarNode():
                return self._named(draft, path, in_place, node, wanted, where), False
            case MappingNode() if is_reference(node):
                found = read_reference(node, where, self._reporter)
                if found is None:
                    return None, False
                target = self._known.id_of(found.node.text)
                if target is None:
                    self._report_unknown(draft, found.node, wanted, where, types=False)
                return target, found.provider
            case MappingNode():
                usual = () if "type" in node.entries else types_for(wanted.kind, self._catalogue)
                definition = read_bean(in_place, node, self._reporter, path=where, anonymous=True, usual=usual)
                return (None if definition is None else self._add(definition, where)), False
            case ObjectNode():
                self._known.drafts[in_place] = Draft.of_object(in_place, node.value, node.mark, anonymous=True)
                return in_place, False
            case _:
                message = f"'{path}' is a bean: the name of one, or a mapping with a 'type'"
                self._reporter.report(BAD_VALUE, message, node.mark, path=where)
                return None, False

    def _named(
        self, draft: Draft, path: str, in_place: str, node: ScalarNode, wanted: RefField, where: str
    ) -> str | None:
        name = node.text
        known = self._known.id_of(name)
        if known is not None:
            return known
        if not (wanted.or_type and name) or name in self._known.absent:
            self._report_unknown(draft, node, wanted, where)
            return None
        if not _LIKE_A_NAME.fullmatch(name):
            self._report_no_name(path, node, wanted, where)
            return None
        found = self._catalogue.find(name)
        if isinstance(found, BeanType) and not found.needs_settings:
            empty = MappingNode({}, node.mark, node.layer)
            return self._add(
                BeanDefinition(in_place, name, node.mark, empty, BeanOptions(), node.mark, anonymous=True), where
            )
        if isinstance(found, BeanType):
            message = f"the type '{name}' needs settings and cannot be named alone"
            needed = [f"{key}: …" for key, item in found.settings.model_fields.items() if item.is_required()]
            step = f"Write {{type: {name}, {', '.join(needed)}}}."
            self._reporter.report(codes.UNKNOWN_BEAN, message, node.mark, next_step=step, path=where)
        elif found.reason != "unknown" and self._installed(found, name):
            code = codes.PLUGIN_UNUSABLE
            self._reporter.report(code, found.detail, node.mark, next_step=found.next_step, path=where)
        else:
            self._report_unknown(draft, node, wanted, where)
        return None

    def _installed(self, found: NotFound, name: str) -> bool:
        """Whether a plugin of the name's prefix is there, so that its state is the news and not the name."""
        return found.reason != "plugin missing" or "." in name

    def _add(self, definition: BeanDefinition, where: str) -> str:
        draft = Draft(definition.id, definition.mark, definition.options, definition, anonymous=True)
        self._known.drafts[definition.id] = draft
        self._declare(draft, definition, where)
        return definition.id

    def _report_no_name(self, path: str, node: ScalarNode, wanted: RefField, where: str) -> None:
        usual = types_for(wanted.kind, self._catalogue)
        message = f"'{path}' is a bean, and no bean and no type can have this text as its name"
        step = f"Name a bean, or write one here: {{type: {usual[0] if len(usual) == 1 else '…'}, …}}."
        self._reporter.report(codes.UNKNOWN_BEAN, message, node.mark, next_step=step, path=where)

    def _report_unknown(
        self, draft: Draft, node: ScalarNode, wanted: RefField, where: str, *, types: bool = True
    ) -> None:
        suggest = not self._reporter.has_enough
        fitting = [
            bean_id
            for bean_id, each in (self._known.declared(but=draft).items() if suggest else ())
            if each.provides is None or fits(each.provides, wanted.kind)
        ]
        more = ""
        if wanted.or_type and types:
            more = ", and no type that needs no settings"
            builtin = self._catalogue.plugins.builtin_types().values()
            fitting += [each.name for each in builtin if fits(each.provides, wanted.kind)]
        message, step = self._known.unknown(node.text, draft, fitting, more, suggest=suggest)
        self._reporter.report(codes.UNKNOWN_BEAN, message, node.mark, next_step=step, path=where)
