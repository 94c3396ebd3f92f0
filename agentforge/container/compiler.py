"""From checked definitions to a plan: types found, references resolved, settings validated, circles refused.

Everything is looked at before anything is said, so that one run shows every fault of a configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agentforge.config import (
    BeanDefinition,
    BeanOptions,
    Layers,
    MappingNode,
    Node,
    Reporter,
    ScalarNode,
    SequenceNode,
    folder_of,
    hide_secrets,
    report_validation,
    to_value,
    value_for,
)
from agentforge.config.codes import BAD_VALUE
from agentforge.config.nodes import node_at
from agentforge.container import codes
from agentforge.container.autowiring import Autowiring
from agentforge.container.draft import Draft, grouped, reasons_of, references_in, with_node, with_pending
from agentforge.container.filling import secrets_in
from agentforge.container.findings import run_checks
from agentforge.container.known import Known
from agentforge.container.methods import check_methods
from agentforge.container.placed import report_misplaced
from agentforge.container.plan import Pending, Plan, PlannedBean
from agentforge.container.reading import read_configuration
from agentforge.container.references import written_references
from agentforge.container.relations import Relations
from agentforge.container.resolving import Resolver
from agentforge.plugin import BeanType, Catalogue, NotFound, RefField

__all__ = ("compile_plan",)


def compile_plan(
    layers: Layers,
    *,
    catalogue: Catalogue,
    overrides: Mapping[str, object],
    secrets_dir: Path | None,
    strict: bool = False,
) -> Plan:
    """The plan of a configuration.

    Args:
        layers: The merged tree.
        catalogue: Where types are found; loads plugins, and those that the file switches off can be loaded no more.
        overrides: Objects that take the place of declared beans, whose own definitions are then not looked at.
        secrets_dir: A folder with one file for each secret.
        strict: Whether every plugin that may be loaded is, and each that cannot is an error.

    Raises:
        ConfigurationFaults: All faults at once.
        PluginError: A broken plugin, where that is not accepted.
    """
    return _Compiler(layers, catalogue, overrides, secrets_dir, strict).run()


class _Compiler:
    def __init__(
        self,
        layers: Layers,
        catalogue: Catalogue,
        overrides: Mapping[str, object],
        secrets_dir: Path | None,
        strict: bool,
    ) -> None:
        self._layers = layers
        self._catalogue = catalogue
        self._reporter = Reporter(layers.files)
        self._known = Known()
        self._read = read_configuration(
            layers,
            self._known,
            catalogue=catalogue,
            overrides=overrides,
            secrets_dir=secrets_dir,
            strict=strict,
            reporter=self._reporter,
        )
        self._secrets = self._read.variables.secrets
        self._resolver = Resolver(self._known, catalogue, self._reporter, self._declare)
        self._references: dict[BeanType, Mapping[str, RefField]] = {}
        self._context = {"environment": layers.environment, "vendor_profiles": catalogue.plugins.vendor_profiles}

    def run(self) -> Plan:
        # Names first, then what stands under them: a reference may point at a bean further down.
        read, known = self._read, self._known
        self._check_names()
        for bean_id, definition in read.definition.beans.items():
            self._declare(known.drafts[bean_id], definition, f"beans.{bean_id}")
        whole = Autowiring(
            known, read.components, self._catalogue, read.definition, self._reporter, self._secrets
        ).run()
        check_methods(known, whole=whole, components=read.components, tree=read.tree, reporter=self._reporter)
        relations = Relations(known, self._reporter)
        relations.check_contracts()
        order = relations.order()
        run_checks(
            known,
            whole=whole,
            components=read.components,
            environment=self._layers.environment,
            folder_of=lambda mark: folder_of(mark, self._layers),
            reporter=self._reporter,
            secrets=self._secrets,
            inside=self._layers.folder if self._layers.trust == "data" else None,
            vendor_profiles=self._catalogue.plugins.vendor_profiles,
        )
        self._reporter.raise_if_any()
        return Plan(
            beans={bean_id: self._planned(known.drafts[bean_id]) for bean_id in order},
            declared=tuple(known.declared()),
            aliases=dict(known.aliases),
            components=read.components,
            secrets=self._secrets,
            warnings=(*self._layers.warnings, *read.warnings),
            conditions=read.conditions,
            tree=read.tree,
            environment=self._layers.environment,
            trust=self._layers.trust,
        )

    # -- what is declared ------------------------------------------------------------------------

    def _check_names(self) -> None:
        types = self._catalogue.plugins.builtin_types()
        drafts, aliases = self._known.drafts, self._known.aliases
        for bean_id, draft in drafts.items():
            if bean_id in types:
                message = f"the bean '{bean_id}' has the name of a bean type"
                step = f"Give it another name, such as 'my_{bean_id}'."
                self._reporter.report(codes.NAME_CLASH, message, draft.mark, next_step=step, path=f"beans.{bean_id}")
        for bean_id, draft in drafts.items():
            for alias, mark in draft.options.aliases:
                other = alias if alias in drafts else aliases.get(alias)
                if other is not None or alias in types:
                    whose = f"is a name of the bean '{other}' already" if other else "has the name of a bean type"
                    message = f"the alias '{alias}' {whose}"
                    where = f"beans.{bean_id}.bean.aliases"
                    self._reporter.report(codes.NAME_CLASH, message, mark, next_step="Choose another.", path=where)
                else:
                    aliases[alias] = bean_id

    # -- types and settings ----------------------------------------------------------------------

    def _declare(self, draft: Draft, definition: BeanDefinition, path: str) -> None:
        if not definition.type:
            return  # which is reported
        found = self._catalogue.find(definition.type)
        if isinstance(found, NotFound):
            code = codes.UNKNOWN_TYPE if found.reason == "unknown" else codes.PLUGIN_UNUSABLE
            where = f"{path}.type"
            self._reporter.report(code, found.detail, definition.type_mark, next_step=found.next_step, path=where)
            return
        draft.bean_type = found
        draft.provides = found.provides
        if found not in self._references:
            self._references[found] = found.references
        node: Node = definition.settings
        for field_path, reference in self._references[found].items():
            if reference.many or reference.by_name:
                (draft.many if reference.many else draft.named).add(field_path)
                node = self._several(node, field_path, reference, path)
            for item_path, key, item in references_in(definition.settings, field_path, reference):
                pending = self._resolver.refer(draft, field_path, item_path, key, item, reference, path)
                if pending is not None:
                    way = [*field_path.split("."), *([key] if key else [])]
                    node = with_pending(node, way, pending, item)
        if found.component is not None:
            node = self._in_arguments(draft, node, path)
        assert isinstance(node, MappingNode)
        draft.node = node
        self._validate(draft, found, node, path)

    def _in_arguments(self, draft: Draft, node: Node, path: str) -> Node:
        """The settings of a component, with every reference in its arguments resolved."""
        arguments = node.get("arguments") if isinstance(node, MappingNode) else None
        if not isinstance(arguments, MappingNode):
            return node
        # The mapping itself is none, whatever its parameters are called.
        inside = [
            each
            for key, entry in arguments.entries.items()
            for each in written_references(entry.node, ("arguments", key))
        ]
        for way, item in inside:
            pending = self._resolver.refer_in_data(draft, ".".join(way), item, path)
            node = with_pending(node, way, pending or Pending(""), item)
        return node

    def _validate(self, draft: Draft, found: BeanType, node: MappingNode, path: str) -> None:
        from pydantic import ValidationError

        hide_secrets(node, found.settings, self._reporter)
        report_misplaced(node, found.settings, self._layers.trust, self._reporter, path)
        try:
            draft.settings = found.settings.model_validate(value_for(node, found.settings), context=self._context)
            for secret in secrets_in(draft.settings):
                self._secrets.add(secret)
        except ValidationError as error:
            report_validation(
                error,
                node,
                found.settings,
                self._reporter,
                path=path,
                mark=draft.mark,
                secrets=self._secrets,
                of_bean=True,
                anew=None if draft.anonymous else self._layers.anew.get(draft.id),
            )

    def _several(self, node: Node, field_path: str, reference: RefField, bean_path: str) -> Node:
        """The settings, with a list or mapping where a single bean stands in the place of one, which is reported."""
        found = node_at(node, field_path.split("."))
        if found is None or isinstance(found, MappingNode if reference.by_name else SequenceNode):
            return node
        name = field_path.rpartition(".")[2]
        shown = found.text if isinstance(found, ScalarNode) and to_value(found) is not None else ""
        if reference.by_name:
            message, step = f"'{name}' is a mapping of names to beans", f"Write {name}: {{one: {shown or 'first'}}}."
            empty: Node = MappingNode({}, found.mark, found.layer)
        else:
            message = f"'{name}' is a list of beans"
            step = f"Write a list: {name}: [{shown}]." if shown else f"Write a list: {name}: [first, second]."
            empty = SequenceNode((), found.mark, found.layer)
        self._reporter.report(BAD_VALUE, message, found.mark, next_step=step, path=f"{bean_path}.{field_path}")
        return with_node(node, field_path.split("."), empty)

    # -- the plan --------------------------------------------------------------------------------

    def _planned(self, draft: Draft) -> PlannedBean:
        assert draft.provides is not None
        return PlannedBean(
            id=draft.id,
            bean_type=draft.bean_type,
            provides=draft.provides,
            mark=draft.mark,
            folder=folder_of(draft.mark, self._layers),
            options=self._resolved(draft.options),
            settings=draft.settings,
            uses=grouped(draft.references, draft.many, draft.named),
            arguments={
                **dict.fromkeys(draft.lists, ()),
                **{name: {} for name in draft.mappings},
                **grouped(draft.arguments, draft.lists, draft.mappings),
            },
            given=draft.given,
            anonymous=draft.anonymous,
            definition=draft.definition,
            reasons=reasons_of(draft),
            arranged=draft.arranged,
        )

    def _resolved(self, options: BeanOptions) -> BeanOptions:
        aliases = self._known.aliases
        found = tuple((aliases.get(name, name), mark) for name, mark in options.depends_on)
        return replace(options, depends_on=found) if found != options.depends_on else options
