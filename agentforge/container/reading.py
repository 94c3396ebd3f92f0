"""From the merged tree to the beans that are there: switches, inheritance, conditions, placeholders, shape.

A bean that is abstract, out, or replaced by an object of the program is not looked at any further: its placeholders are
not filled and its settings not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentforge.config import (
    BeanOptions,
    Entry,
    Layers,
    MappingNode,
    Mark,
    Node,
    ObjectNode,
    PluginSwitches,
    Reporter,
    RootDefinition,
    ScalarNode,
    Variables,
    did_you_mean,
    folder_of,
    inherit,
    interpolate,
    read_root,
)
from agentforge.config.bean_options import read_options
from agentforge.config.nodes import node_at
from agentforge.container import codes
from agentforge.container.conditions import Candidate, Conditions
from agentforge.container.draft import Draft
from agentforge.container.known import Absent, Known
from agentforge.container.plan import ConditionResult
from agentforge.errors import ConfigurationError
from agentforge.plugin import BeanType, Catalogue, Components, PluginError, fits

__all__ = ("Reading", "read_configuration")


@dataclass(frozen=True, slots=True)
class Reading:
    """A configuration as far as it can be read without looking at settings.

    ``definition`` is the root with the beans that are there, ``tree`` is the whole configuration, with placeholders
    filled in the beans that are there.
    """

    definition: RootDefinition
    components: Components
    conditions: tuple[ConditionResult, ...]
    variables: Variables
    tree: MappingNode
    warnings: tuple[str, ...]


def read_configuration(
    layers: Layers,
    known: Known,
    *,
    catalogue: Catalogue,
    overrides: Mapping[str, object],
    secrets_dir: Path | None,
    strict: bool,
    reporter: Reporter,
) -> Reading:
    """Read the configuration; every bean that is there becomes a draft of ``known``, every other an absent one.

    Plugins that the root names are loaded, and those that it switches off or does not allow can be loaded no more.
    ``strict``: all others are loaded as well, and `PluginError` is raised for those that cannot be.
    """
    return _Reader(layers, known, catalogue, overrides, secrets_dir, strict, reporter).run()


class _Reader:
    def __init__(
        self,
        layers: Layers,
        known: Known,
        catalogue: Catalogue,
        overrides: Mapping[str, object],
        secrets_dir: Path | None,
        strict: bool,
        reporter: Reporter,
    ) -> None:
        self._layers = layers
        self._known = known
        self._catalogue = catalogue
        self._overrides = overrides
        self._strict = strict
        self._reporter = reporter
        self._warnings: list[str] = []
        #: The ids of the beans that are abstract or out.
        self._out: set[str] = set()
        self._variables = Variables(
            layers.environment,
            secrets_dir,
            catalogue.plugins.secret,
            folder=layers.folder,
            trust=layers.trust,
        )

    def run(self) -> Reading:
        root = inherit(self._without_unused_bases(self._layers.root), self._reporter)
        head = self._head(root)
        definition = self._definition(head)
        self._switch(definition.plugins)
        folder = folder_of(definition.scan[0][1], self._layers) if definition.scan else self._layers.folder
        components = Components([name for name, _ in definition.scan], folder)
        beans = root.get("beans")
        declared = beans.entries if isinstance(beans, MappingNode) else {}
        options = {bean_id: self._options(bean_id, entry.node) for bean_id, entry in declared.items()}
        for bean_id, found in options.items():
            if found.abstract:
                self._leave_out(bean_id, found, Absent("it is abstract", abstract=True))
        candidates = [
            Candidate(bean_id, entry.key_mark, options[bean_id], self._fulfils(bean_id, entry.node, components))
            for bean_id, entry in declared.items()
            if bean_id not in self._out
        ]
        conditions = self._decided(candidates, root)
        tree = self._filled(root, head, declared)
        definition = self._with_definitions(definition, tree)
        for bean_id, entry in declared.items():
            if self._is_given(bean_id, entry.node):
                self._known.drafts[bean_id] = self._object(bean_id, entry, options[bean_id])
            elif bean_id in definition.beans:
                bean = definition.beans[bean_id]
                self._known.drafts[bean_id] = Draft(bean_id, bean.mark, bean.options, bean)
        return Reading(definition, components, conditions, self._variables, tree, tuple(self._warnings))

    # -- the root --------------------------------------------------------------------------------

    def _without_unused_bases(self, root: MappingNode) -> MappingNode:
        """The root in which an overridden bean that nobody extends has no base: it is not looked at."""
        beans = root.get("beans")
        if not self._overrides or not isinstance(beans, MappingNode):
            return root
        bases = {
            base.text
            for entry in beans.entries.values()
            if isinstance(base := node_at(entry.node, ("bean", "extends")), ScalarNode)
        }
        entries = dict(beans.entries)
        for bean_id in self._overrides.keys() - bases:
            entry = entries.get(bean_id)
            block = entry.node.get("bean") if entry is not None and isinstance(entry.node, MappingNode) else None
            if entry is not None and isinstance(entry.node, MappingNode) and isinstance(block, MappingNode):
                kept = {key: each for key, each in block.entries.items() if key != "extends"}
                changed = MappingNode(kept, block.mark, block.layer)
                whole = {**entry.node.entries, "bean": Entry(entry.node.entries["bean"].key_mark, changed)}
                entries[bean_id] = Entry(entry.key_mark, MappingNode(whole, entry.node.mark, entry.node.layer))
        return _with_beans(root, entries)

    def _head(self, root: MappingNode) -> MappingNode:
        """All of the root but its beans, with placeholders filled."""
        entries = {key: entry for key, entry in root.entries.items() if key != "beans"}
        node = interpolate(MappingNode(entries, root.mark, root.layer), self._variables, self._reporter)
        assert isinstance(node, MappingNode)
        return node

    def _definition(self, head: MappingNode) -> RootDefinition:
        found = read_root(head, self._reporter)
        # A placeholder may not choose what is loaded, which is reported already.
        switches = found.plugins
        return replace(
            found,
            scan=_literal(found.scan),
            plugins=PluginSwitches(
                _literal(switches.required),
                _literal(switches.optional),
                _literal(switches.disabled),
                None if switches.only is None else _literal(switches.only),
            ),
        )

    def _switch(self, switches: PluginSwitches) -> None:
        plugins = self._catalogue.plugins
        allowed = None if switches.only is None else [name for name, _ in switches.only]
        plugins.restrict(allowed, [name for name, _ in switches.disabled])
        for key, names in (("disabled", switches.disabled), ("only", switches.only or ())):
            for name, mark in names:
                if plugins.state(name) is None:
                    step = did_you_mean(name, plugins.names)
                    self._warnings.append(f"{mark}: 'plugins.{key}' names '{name}', which is not installed. {step}")
        if self._strict:
            plugins.load_all()
            broken = [state for state in plugins.states() if not state.usable and state.state != "blocked"]
            if broken:
                step = "Correct, remove or block it, or do not be strict."
                raise PluginError("; ".join(map(str, broken)), next_step=step)
        for name, mark in switches.required:
            self._load(name, mark, needed=True)
        for name, mark in switches.optional:
            self._load(name, mark, needed=False)

    def _load(self, name: str, mark: Mark, *, needed: bool) -> None:
        plugins = self._catalogue.plugins
        plugins.load(name)
        state = plugins.state(name)
        if state is not None and state.state == "active":
            return
        if state is None:
            message, step = f"no plugin '{name}' is installed", did_you_mean(name, plugins.names)
        else:
            message, step = str(state), "Correct or remove it, or take it out of 'plugins'."
        if needed:
            self._reporter.report(codes.PLUGIN_UNUSABLE, message, mark, next_step=step, path="plugins")
        else:
            self._warnings.append(f"{mark}: {message}")

    # -- beans -----------------------------------------------------------------------------------

    def _is_given(self, bean_id: str, node: Node) -> bool:
        return bean_id in self._overrides or isinstance(node, ObjectNode)

    def _options(self, bean_id: str, node: Node) -> BeanOptions:
        """The container's options before it is known whether the bean is there; faults are told when it is."""
        block = node.get("bean") if isinstance(node, MappingNode) else None
        if block is None:
            return BeanOptions()
        problems = Reporter()
        found = read_options(self._quietly(block, problems), "", problems)
        if self._is_given(bean_id, node):
            # What else is wrong with an overridden bean does not matter: its names and its rank stay.
            return BeanOptions(primary=found.primary, aliases=found.aliases, order=found.order)
        return found

    def _decided(self, candidates: list[Candidate], root: MappingNode) -> tuple[ConditionResult, ...]:
        def value_of(path: str) -> Node | None:
            found = node_at(root, path.split("."))
            return None if found is None else self._quietly(found, Reporter())

        layers = self._layers
        conditions = Conditions(layers.profiles, layers.environment, self._catalogue.plugins, value_of)
        results = conditions.decide(candidates)
        options = {each.id: each.options for each in candidates}
        for result, why in results:
            if not result.included:
                self._leave_out(result.bean_id, options[result.bean_id], Absent(why))
        return tuple(result for result, _ in results)

    def _leave_out(self, bean_id: str, options: BeanOptions, absent: Absent) -> None:
        self._out.add(bean_id)
        for name in (bean_id, *(alias for alias, _ in options.aliases)):
            self._known.absent[name] = absent

    def _filled(self, root: MappingNode, head: MappingNode, declared: Mapping[str, Entry]) -> MappingNode:
        """The whole tree, with placeholders filled in the beans that are there."""
        beans = root.entries.get("beans")
        if beans is None or not isinstance(beans.node, MappingNode):
            # Whatever stands there is no mapping, which reading it says.
            return head if beans is None else MappingNode({**head.entries, "beans": beans}, root.mark, root.layer)
        there = {
            bean_id: entry
            for bean_id, entry in declared.items()
            if bean_id not in self._out and not self._is_given(bean_id, entry.node)
        }
        part = MappingNode({"beans": _with_beans(root, there).entries["beans"]}, root.mark, root.layer)
        filled = node_at(interpolate(part, self._variables, self._reporter), ("beans",))
        assert isinstance(filled, MappingNode)
        whole = _with_beans(root, {**declared, **filled.entries})
        return MappingNode({**head.entries, "beans": whole.entries["beans"]}, root.mark, root.layer)

    def _with_definitions(self, definition: RootDefinition, tree: MappingNode) -> RootDefinition:
        """The root with the beans that are there and are no objects of the program."""
        beans = tree.entries.get("beans")
        if beans is None:
            return definition
        node = beans.node
        if isinstance(node, MappingNode):
            for bean_id in self._out:
                self._check_block(bean_id, node.entries[bean_id].node)
            kept = {
                bean_id: entry
                for bean_id, entry in node.entries.items()
                if bean_id not in self._out and not self._is_given(bean_id, entry.node)
            }
            node = MappingNode(kept, node.mark, node.layer)
        found = read_root(MappingNode({"beans": Entry(beans.key_mark, node)}, tree.mark, tree.layer), self._reporter)
        return replace(definition, beans=found.beans)

    def _check_block(self, bean_id: str, node: Node) -> None:
        """Tell the faults of the options of a bean that is not there: they may be why it is not."""
        block = node.get("bean") if isinstance(node, MappingNode) else None
        problems = Reporter()
        if block is not None:
            block = self._quietly(block, problems)
            if not problems.diagnostics:
                read_options(block, f"beans.{bean_id}.bean", self._reporter)

    def _object(self, bean_id: str, entry: Entry, options: BeanOptions) -> Draft:
        draft = Draft.of_object(bean_id, self._value_of(bean_id, entry.node), entry.key_mark)
        draft.options = options
        return draft

    def _value_of(self, bean_id: str, node: Node) -> object:
        """The object that the program gave for a bean."""
        return self._overrides[bean_id] if bean_id in self._overrides else getattr(node, "value", None)

    def _quietly(self, node: Node, problems: Reporter) -> Node:
        """The node with its placeholders filled, as far as they can be."""
        return interpolate(node, self._variables, problems)

    def _fulfils(self, bean_id: str, node: Node, components: Components) -> Callable[[str], bool]:
        """Whether the bean is what a contract's name means; found out when a condition asks."""

        def fulfils(name: str) -> bool:
            kind = self._kind_of(bean_id, node, components)
            if kind is None:
                return False
            contracts = {each.provides for each in self._catalogue.plugins.builtin_types().values()}
            meant = [each for each in contracts if each.__name__ == name]
            return any(each.__name__ == name for each in kind.__mro__) or any(fits(kind, each) for each in meant)

        return fulfils

    def _kind_of(self, bean_id: str, node: Node, components: Components) -> type | None:
        if self._is_given(bean_id, node):
            return Draft.of_object(bean_id, self._value_of(bean_id, node), node.mark).provides
        text = self._text_at(node, "type")
        found = self._catalogue.find(text) if text else None
        if not isinstance(found, BeanType):
            return None
        if found.component is None or found.provides is not object:
            return found.provides
        try:
            return found.provided_by(components, self._text_at(node, found.component))
        except ConfigurationError:
            return None  # which is told where the bean is checked

    def _text_at(self, node: Node, key: str) -> str:
        found = node_at(node, (key,))
        filled = None if found is None else self._quietly(found, Reporter())
        return filled.text if isinstance(filled, ScalarNode) else ""


def _literal(names: tuple[tuple[str, Mark], ...]) -> tuple[tuple[str, Mark], ...]:
    return tuple((name, mark) for name, mark in names if "${" not in name)


def _with_beans(root: MappingNode, entries: Mapping[str, Any]) -> MappingNode:
    """The root with other beans."""
    beans = root.entries["beans"]
    changed = MappingNode(entries, beans.node.mark, beans.node.layer)
    return MappingNode({**root.entries, "beans": Entry(beans.key_mark, changed)}, root.mark, root.layer)
