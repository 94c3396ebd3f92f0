"""What a setting that is a bean means: a declared bean by its name, a type by its name, a definition in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentforge.config import (
    BeanDefinition,
    BeanOptions,
    MappingNode,
    Node,
    ObjectNode,
    Reporter,
    ScalarNode,
    did_you_mean,
    nearest,
    read_bean,
    to_value,
)
from agentforge.config.codes import BAD_VALUE
from agentforge.container import codes
from agentforge.container.draft import Draft, Reference
from agentforge.container.plan import Pending
from agentforge.plugin import BeanType, Catalogue, NotFound, RefField, fits

__all__ = ("Resolver",)


class Resolver:
    """Finds the beans that settings name and adds those that stand in place.

    ``declare`` plans a bean that was found in place, with its dotted path for reports.
    """

    def __init__(
        self,
        drafts: dict[str, Draft],
        aliases: Mapping[str, str],
        catalogue: Catalogue,
        reporter: Reporter,
        declare: Callable[[Draft, BeanDefinition, str], None],
    ) -> None:
        self._drafts = drafts
        self._aliases = aliases
        self._catalogue = catalogue
        self._reporter = reporter
        self._declare = declare

    def refer(self, draft: Draft, path: str, node: Node, wanted: RefField, bean_path: str) -> Pending | None:
        """The bean that the setting at ``path`` means; ``None`` when it means none.

        What is wrong is reported, and something pending returned all the same: the settings model has nothing to add.
        """
        where = f"{bean_path}.{path}"
        if isinstance(node, ScalarNode) and to_value(node) is None and not wanted.many:
            if wanted.optional:
                return None
            step = "Give the name of a bean, or a mapping with a 'type'."
            self._reporter.report(
                BAD_VALUE, f"'{path}' is a bean and not nothing", node.mark, next_step=step, path=where
            )
            return Pending("")
        target = self._target(draft, path, node, wanted, where)
        if target is None:
            return Pending("")
        draft.references.append(Reference(path, target, node.mark, wanted.kind))
        return Pending(target)

    def _target(self, draft: Draft, path: str, node: Node, wanted: RefField, where: str) -> str | None:
        in_place = f"{draft.id}.{path}"
        match node:
            case ScalarNode():
                return self._named(draft, in_place, node, wanted, where)
            case MappingNode():
                definition = read_bean(in_place, node, self._reporter, path=where, anonymous=True)
                return None if definition is None else self._add(definition, where)
            case ObjectNode():
                self._drafts[in_place] = Draft.of_object(in_place, node.value, node.mark, anonymous=True)
                return in_place
            case _:
                message = f"'{path}' is a bean: the name of one, or a mapping with a 'type'"
                self._reporter.report(BAD_VALUE, message, node.mark, path=where)
                return None

    def _named(self, draft: Draft, in_place: str, node: ScalarNode, wanted: RefField, where: str) -> str | None:
        name = node.text
        known = self._aliases.get(name, name)
        if known in self._drafts and not self._drafts[known].anonymous:
            return known
        if not (wanted.or_type and name):
            self._report_unknown(draft, node, wanted, where)
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
        self._drafts[definition.id] = draft
        self._declare(draft, definition, where)
        return definition.id

    def _report_unknown(self, draft: Draft, node: ScalarNode, wanted: RefField, where: str) -> None:
        declared = {bean_id: each for bean_id, each in self._drafts.items() if not each.anonymous and each is not draft}
        fitting = [
            bean_id for bean_id, each in declared.items() if each.provides is None or fits(each.provides, wanted.kind)
        ]
        message = f"no bean is called '{node.text}'"
        if wanted.or_type:
            message += ", and no type that needs no settings"
            types = self._catalogue.plugins.builtin_types().values()
            fitting += [each.name for each in types if fits(each.provides, wanted.kind)]
        near = nearest(node.text, [*fitting, *declared, *self._aliases])
        step = f"Did you mean '{near}'?" if near else did_you_mean(node.text, fitting or declared)
        self._reporter.report(codes.UNKNOWN_BEAN, message, node.mark, next_step=step, path=where)
