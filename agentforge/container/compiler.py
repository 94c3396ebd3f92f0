"""From checked definitions to a plan: types found, references resolved, settings validated, circles refused.

Everything is looked at before anything is said, so that one run shows every fault of a configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from agentforge.config import (
    BeanDefinition,
    BeanOptions,
    Entry,
    Layers,
    MappingNode,
    Mark,
    Node,
    ObjectNode,
    Reporter,
    RootDefinition,
    ScalarNode,
    SequenceNode,
    Variables,
    did_you_mean,
    folder_of,
    hide_secrets,
    interpolate,
    read_root,
    report_validation,
    to_value,
    value_for,
)
from agentforge.config.bean_options import read_options
from agentforge.config.codes import BAD_VALUE, NOT_FROM_HERE
from agentforge.config.nodes import node_at
from agentforge.config.overrides import FILE_ONLY_KEYS
from agentforge.container import codes
from agentforge.container.autowiring import Autowiring
from agentforge.container.draft import Draft, grouped, references_in, with_node, with_pending
from agentforge.container.ordering import build_order, circles
from agentforge.container.plan import Plan, PlannedBean
from agentforge.container.resolving import Resolver
from agentforge.plugin import BeanType, Catalogue, Components, NotFound, fits

__all__ = ("compile_plan",)


def compile_plan(
    layers: Layers, *, catalogue: Catalogue, overrides: Mapping[str, object], secrets_dir: Path | None
) -> Plan:
    """The plan of a configuration.

    Args:
        layers: The merged tree.
        catalogue: Where types are found; loads plugins.
        overrides: Objects that take the place of declared beans, whose own definitions are then not looked at.
        secrets_dir: A folder with one file for each secret.

    Raises:
        ConfigurationFaults: All faults at once.
    """
    return _Compiler(layers, catalogue, overrides, Variables(layers.environment, secrets_dir)).run()


class _Compiler:
    def __init__(
        self, layers: Layers, catalogue: Catalogue, overrides: Mapping[str, object], variables: Variables
    ) -> None:
        self._layers = layers
        self._catalogue = catalogue
        self._overrides = overrides
        self._variables = variables
        self._reporter = Reporter(layers.files)
        self._drafts: dict[str, Draft] = {}
        self._aliases: dict[str, str] = {}
        self._ids: set[str] = set()
        self._in_file: tuple[str, ...] = ()
        self._resolver = Resolver(self._drafts, self._aliases, catalogue, self._reporter, self._declare)

    def run(self) -> Plan:
        # Names first, then what stands under them: a reference may point at a bean further down.
        root = self._read()
        for name, mark in root.plugins:
            self._load_plugin(name, mark)
        self._ids = {*self._drafts}
        self._check_names()
        for bean_id, definition in root.beans.items():
            self._declare(self._drafts[bean_id], definition, f"beans.{bean_id}")
        components = self._components(root)
        Autowiring(self._drafts, self._aliases, components, root, self._reporter).run()
        self._check_contracts()
        declared = tuple(bean_id for bean_id in self._in_file if bean_id in self._ids)
        order = self._order()
        self._reporter.raise_if_any()
        return Plan(
            beans={bean_id: self._planned(self._drafts[bean_id]) for bean_id in order},
            declared=declared,
            aliases=dict(self._aliases),
            components=components,
            secrets=self._variables.secrets,
            warnings=self._layers.warnings,
        )

    # -- what is declared ------------------------------------------------------------------------

    def _read(self) -> RootDefinition:
        """The root without overridden beans and given objects, and a draft for every bean, in the file's order."""
        root = self._layers.root
        beans = root.get("beans")
        given: dict[str, tuple[object, Mark, BeanOptions]] = {}
        if isinstance(beans, MappingNode):
            self._in_file = tuple(beans.entries)
            kept = {}
            for bean_id, entry in beans.entries.items():
                if bean_id in self._overrides:
                    given[bean_id] = self._overrides[bean_id], entry.key_mark, self._options_of(entry.node)
                elif isinstance(entry.node, ObjectNode):
                    given[bean_id] = entry.node.value, entry.key_mark, BeanOptions()
                else:
                    kept[bean_id] = entry
            entries = dict(root.entries)
            entries["beans"] = Entry(root.entries["beans"].key_mark, MappingNode(kept, beans.mark, beans.layer))
            root = MappingNode(entries, root.mark, root.layer)
        root = self._without_chosen_code(root)
        node = interpolate(root, self._variables, self._reporter)
        assert isinstance(node, MappingNode)
        definition = read_root(node, self._reporter)
        for bean_id, (value, mark, options) in given.items():
            self._drafts[bean_id] = Draft.of_object(bean_id, value, mark)
            self._drafts[bean_id].options = options
        for bean_id, found in definition.beans.items():
            self._drafts[bean_id] = Draft(bean_id, found.mark, found.options, found)
        in_order = [(bean_id, self._drafts[bean_id]) for bean_id in self._in_file if bean_id in self._drafts]
        self._drafts.clear()
        self._drafts.update(in_order)
        return definition

    def _without_chosen_code(self, root: MappingNode) -> MappingNode:
        """The root without placeholders where it says what is loaded: the environment may not choose code."""
        entries = dict(root.entries)
        for key in FILE_ONLY_KEYS & entries.keys():
            node = entries[key].node
            items = node.items if isinstance(node, SequenceNode) else ()
            chosen = [item for item in items if isinstance(item, ScalarNode) and "${" in item.text]
            for item in chosen:
                message = f"'{key}' takes no placeholder: the environment may not choose what is loaded"
                step = "Write the name itself, or choose with a profile."
                self._reporter.report(NOT_FROM_HERE, message, item.mark, next_step=step, path=key)
            if chosen:
                kept = tuple(item for item in items if item not in chosen)
                entries[key] = Entry(entries[key].key_mark, SequenceNode(kept, node.mark, node.layer))
        return MappingNode(entries, root.mark, root.layer)

    def _options_of(self, node: Node) -> BeanOptions:
        # What else is wrong with an overridden bean does not matter: its names and its rank stay.
        found = read_options(node.get("bean") if isinstance(node, MappingNode) else None, "", Reporter())
        return BeanOptions(primary=found.primary, aliases=found.aliases, order=found.order)

    def _check_names(self) -> None:
        types = self._catalogue.plugins.builtin_types()
        for bean_id, draft in self._drafts.items():
            if bean_id in types:
                message = f"the bean '{bean_id}' has the name of a bean type"
                step = f"Give it another name, such as 'my_{bean_id}'."
                self._reporter.report(codes.NAME_CLASH, message, draft.mark, next_step=step, path=f"beans.{bean_id}")
        for bean_id, draft in self._drafts.items():
            for alias, mark in draft.options.aliases:
                other = alias if alias in self._ids else self._aliases.get(alias)
                if other is not None or alias in types:
                    whose = f"is a name of the bean '{other}' already" if other else "has the name of a bean type"
                    message = f"the alias '{alias}' {whose}"
                    where = f"beans.{bean_id}.bean.aliases"
                    self._reporter.report(codes.NAME_CLASH, message, mark, next_step="Choose another.", path=where)
                else:
                    self._aliases[alias] = bean_id

    # -- types and settings ----------------------------------------------------------------------

    def _declare(self, draft: Draft, definition: BeanDefinition, path: str) -> None:
        found = self._catalogue.find(definition.type)
        if isinstance(found, NotFound):
            code = codes.UNKNOWN_TYPE if found.reason == "unknown" else codes.PLUGIN_UNUSABLE
            where = f"{path}.type"
            self._reporter.report(code, found.detail, definition.type_mark, next_step=found.next_step, path=where)
            return
        draft.bean_type = found
        draft.provides = found.provides
        node: Node = definition.settings
        for field_path, reference in found.references.items():
            if reference.many:
                draft.many.add(field_path)
                node = self._listed(node, field_path, path)
            for item_path, item in list(references_in(definition.settings, field_path, reference)):
                pending = self._resolver.refer(draft, item_path, item, reference, path)
                if pending is not None:
                    node = with_pending(node, item_path.split("."), pending)
        assert isinstance(node, MappingNode)
        self._validate(draft, found, node, path)

    def _validate(self, draft: Draft, found: BeanType, node: MappingNode, path: str) -> None:
        from pydantic import ValidationError

        hide_secrets(node, found.settings, self._reporter)
        try:
            draft.settings = found.settings.model_validate(value_for(node, found.settings))
            for secret in _secrets_in(draft.settings):
                self._variables.secrets.add(secret)
        except ValidationError as error:
            report_validation(
                error,
                node,
                found.settings,
                self._reporter,
                path=path,
                mark=draft.mark,
                secrets=self._variables.secrets,
            )

    def _listed(self, node: Node, field_path: str, bean_path: str) -> Node:
        """The settings, with a list where a single bean stands in the place of one, which is reported."""
        found = node_at(node, field_path.split("."))
        if found is None or isinstance(found, SequenceNode):
            return node
        name = field_path.rpartition(".")[2]
        shown = found.text if isinstance(found, ScalarNode) and to_value(found) is not None else ""
        self._reporter.report(
            BAD_VALUE,
            f"'{name}' is a list of beans",
            found.mark,
            next_step=f"Write a list: {name}: [{shown}]." if shown else f"Write a list: {name}: [first, second].",
            path=f"{bean_path}.{field_path}",
        )
        return with_node(node, field_path.split("."), SequenceNode((), found.mark, found.layer))

    def _load_plugin(self, name: str, mark: Mark) -> None:
        plugins = self._catalogue.plugins
        plugins.load(name)
        state = plugins.state(name)
        if state is not None and state.state == "active":
            return
        if state is None:
            message = f"no plugin '{name}' is installed"
            step = did_you_mean(name, plugins.names)
        else:
            message, step = str(state), "Correct or remove it, or take it out of 'plugins'."
        self._reporter.report(codes.PLUGIN_UNUSABLE, message, mark, next_step=step, path="plugins")

    # -- what holds between beans ----------------------------------------------------------------

    def _components(self, root: RootDefinition) -> Components:
        folder = folder_of(root.scan[0][1], self._layers) if root.scan else self._layers.folder
        return Components([name for name, _ in root.scan], folder)

    def _check_contracts(self) -> None:
        for draft in self._drafts.values():
            for reference in draft.references:
                provided = self._drafts[reference.target].provides
                if provided is None or fits(provided, reference.wanted):
                    continue
                choices = sorted(
                    bean_id
                    for bean_id in self._ids
                    if bean_id != draft.id
                    and (there := self._drafts[bean_id].provides) is not None
                    and fits(there, reference.wanted)
                )
                message = (
                    f"'{reference.path}' needs a {reference.wanted.__name__}, and '{reference.target}' is a "
                    f"{provided.__name__}"
                )
                step = f"Beans that fit: {', '.join(choices)}." if choices else "No bean here fits; declare one."
                target = self._drafts[reference.target]
                if isinstance(target.given, type):
                    name = target.given.__name__
                    message = f"'{reference.path}' needs a {reference.wanted.__name__}, and '{name}' is a class"
                    step = f"Give an object: {name}(…)."
                where = f"beans.{draft.id}.{reference.path}"
                self._reporter.report(codes.WRONG_BEAN, message, reference.mark, next_step=step, path=where)

    def _order(self) -> tuple[str, ...]:
        needs: dict[str, list[str]] = {}
        for bean_id, draft in self._drafts.items():
            found = [reference.target for reference in draft.everything_needed]
            for name, mark in draft.options.depends_on:
                target = self._aliases.get(name, name)
                if target in self._ids:
                    found.append(target)
                    continue
                where = f"beans.{bean_id}.bean.depends_on"
                step = did_you_mean(name, sorted(self._ids - {bean_id}))
                self._reporter.report(
                    codes.UNKNOWN_BEAN, f"no bean is called '{name}'", mark, next_step=step, path=where
                )
            needs[bean_id] = found
        found_circles = list(circles(needs))
        for circle in found_circles:
            self._report_circle(circle)
        return () if found_circles else build_order(needs)

    def _report_circle(self, circle: tuple[str, ...]) -> None:
        last = self._drafts[circle[-2]]
        marks = [reference.mark for reference in last.everything_needed if reference.target == circle[-1]]
        marks += [mark for name, mark in last.options.depends_on if self._aliases.get(name, name) == circle[-1]]
        self._reporter.report(
            codes.BEAN_CYCLE,
            f"beans need each other: {' -> '.join(circle)}",
            (marks or [last.mark])[0],
            next_step="Take one of these references away; no bean can be built before itself.",
            path=f"beans.{last.id}",
        )

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
            uses=grouped(draft.references, draft.many),
            arguments={**dict.fromkeys(draft.lists, ()), **grouped(draft.arguments, draft.lists)},
            given=draft.given,
            anonymous=draft.anonymous,
            definition=draft.definition,
        )

    def _resolved(self, options: BeanOptions) -> BeanOptions:
        found = tuple((self._aliases.get(name, name), mark) for name, mark in options.depends_on)
        return replace(options, depends_on=found) if found != options.depends_on else options


def _secrets_in(value: object) -> Iterator[str]:
    """What settings hold in fields for secrets, wherever it came from."""
    from pydantic import BaseModel, SecretStr

    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for _, inner in value:
            yield from _secrets_in(inner)
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _secrets_in(inner)
