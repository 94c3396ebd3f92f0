"""What ``agentforge explain`` tells, as data: beans and their uses, order, conditions, every value with its layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentforge.cli.explain_values import Origins, Privacy, is_private, leaves, plain
from agentforge.config import MappingNode, Mark, Node, SequenceNode, did_you_mean
from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    from agentforge.container import Plan, PlannedBean

__all__ = ("Explained",)


class Explained:
    """A compiled configuration, told. ``environment`` are the process's variables; all results are data for JSON."""

    def __init__(self, plan: Plan, file: str, environment: Mapping[str, str]) -> None:
        self._plan = plan
        self._file = file
        self._tree = plan.tree if plan.tree is not None else MappingNode({}, Mark(file, 1, 1), "file")
        self._origins = Origins(environment, plan.environment)

    # -- all -------------------------------------------------------------------------------------

    def whole(self) -> dict[str, Any]:
        """The graph, the reasons for each place in a list, the conditions and every value."""
        graph = self.graph()
        return {
            **graph,
            "build_order": list(self._plan.beans),
            "lists": [made for bean in self._plan.beans.values() for made in _lists(bean)],
            "conditions": [
                {
                    "bean": found.bean_id,
                    "included": found.included,
                    "reasons": list(found.reasons),
                    "place": str(found.mark),
                }
                for found in self._plan.conditions
            ],
            "values": list(self._values()),
        }

    def graph(self) -> dict[str, Any]:
        """The beans with what they use; ``roots`` are those that nobody uses."""
        beans = [self._bean(bean) for bean in self._plan.beans.values()]
        used = {use["bean"] for bean in beans for use in bean["uses"]}
        roots = [bean["id"] for bean in beans if bean["id"] not in used]
        return {"file": self._file, "beans": beans, "roots": roots}

    def _bean(self, bean: PlannedBean) -> dict[str, Any]:
        options = bean.options
        return {
            "id": bean.id,
            "type": bean.type_name,
            "place": str(bean.mark),
            "in_place": bean.anonymous,
            "scope": options.scope,
            "lazy": options.lazy,
            "primary": options.primary,
            "provider": options.provider,
            "order": options.order,
            "aliases": [name for name, _ in options.aliases],
            "uses": list(_uses(bean)),
        }

    def _values(self) -> Iterator[dict[str, Any]]:
        for key, entry in self._tree.entries.items():
            if key != "beans":
                yield from (self._told((key, *path), node) for path, node in leaves(entry.node))
        for bean_id, node in _items(self._tree.get("beans")):
            yield from (self._told(("beans", bean_id, *path), leaf) for path, leaf in leaves(node))
            for bean in self._plan.beans.values():
                if bean.id.partition(".")[0] == bean_id:
                    yield from self._defaults(bean)

    def _defaults(self, bean: PlannedBean) -> Iterator[dict[str, Any]]:
        """The settings of a bean that nobody set, those inside others too."""
        if bean.settings is None:
            return
        base = ("beans", *bean.id.split("."))
        for path, default in _unset(bean.settings, _node_at(self._tree, base)):
            yield {"path": ".".join((*base, *path)), "value": default, "layer": "default", "place": None, "through": []}

    def _told(self, path: Sequence[str], node: Node) -> dict[str, Any]:
        return {
            "path": ".".join(path),
            "value": plain(node, tuple(path), self._privacy),
            "layer": node.layer,
            "place": str(node.mark),
            "through": self._origins.of(node.mark),
        }

    def _privacy(self, path: Sequence[str]) -> Privacy:
        bean, rest = self._bean_at(path)
        if bean is None or bean.settings is None:  # one that is out, or only there to be extended
            return "unknown" if path[:1] == ("beans",) else "plain"
        value: Any = bean.settings
        free = False
        for step in rest:
            free = free or isinstance(value, Mapping)
            value = _step(value, step)
            if is_private(value):
                return "secret"
        return "unknown" if free else "plain"

    # -- one -------------------------------------------------------------------------------------

    def at(self, path: str) -> dict[str, Any]:
        """One bean (``beans.model``) or one value (``beans.model.base_url``), also one that nobody set.

        Raises `ConfigurationError` with the nearest name for a path that leads nowhere.
        """
        keys = tuple(path.split("."))
        named = self._plan.id_of(keys[0]) is not None or _node_at(self._tree, ("beans", keys[0])) is not None
        if keys[0] not in self._tree.entries and named:
            keys = ("beans", *keys)
        if len(keys) > 1 and keys[0] == "beans":
            keys = ("beans", self._plan.aliases.get(keys[1], keys[1]), *keys[2:])
        bean, rest = self._bean_at(keys)
        if bean is not None and not rest:
            return self._one_bean(bean)
        out = next((found for found in self._plan.conditions if keys[:2] == ("beans", found.bean_id)), None)
        node = _node_at(self._tree, keys)
        about = _field_at(bean, rest)
        if node is None and about is None:
            raise self._unknown(path, keys, bean, rest)
        told = (
            self._told(keys, node)
            if node is not None
            else {
                "path": ".".join(keys),
                "value": about["default"] if about else None,
                "layer": "default",
                "place": None,
                "through": [],
            }
        )
        if out is not None and not out.included:
            told["out"] = list(out.reasons)
        if node is not None and keys[0] == "beans" and len(keys) == 2:  # out, or only there to be extended
            told["values"] = [self._told((*keys, *path), leaf) for path, leaf in leaves(node)]
        return {**told, **(about or {"default": None, "required": False, "description": None})}

    def _one_bean(self, bean: PlannedBean) -> dict[str, Any]:
        base = ("beans", *bean.id.split("."))
        node = _node_at(self._tree, base)
        values = [] if node is None else [self._told((*base, *path), leaf) for path, leaf in leaves(node)]
        values += self._defaults(bean)
        return {
            **self._bean(bean),
            "summary": bean.bean_type.summary if bean.bean_type is not None else None,
            "used_by": [
                {"bean": other.id, "setting": use["setting"]}
                for other in self._plan.beans.values()
                for use in _uses(other)
                if use["bean"] == bean.id
            ],
            "built": list(self._plan.beans).index(bean.id) + 1,
            "lists": list(_lists(bean)),
            "conditions": [list(found.reasons) for found in self._plan.conditions if found.bean_id == bean.id],
            "values": values,
        }

    def _bean_at(self, path: Sequence[str]) -> tuple[PlannedBean | None, tuple[str, ...]]:
        """The innermost bean on a path, and the rest of it."""
        if not path or path[0] != "beans":
            return None, ()
        for length in range(len(path), 1, -1):
            bean = self._plan.beans.get(".".join(path[1:length]))
            if bean is not None:
                return bean, tuple(path[length:])
        return None, ()

    def _unknown(
        self, path: str, keys: Sequence[str], bean: PlannedBean | None, rest: Sequence[str]
    ) -> ConfigurationError:
        if bean is not None:
            place, wrong, known = ".".join(keys[: len(keys) - len(rest)]), rest[0], ["type", *_fields(bean.settings)]
            node: Node | None = bean.definition.settings if bean.definition is not None else None
            for number, step in enumerate(rest):
                inner = _step(node, step)
                if inner is None and number:
                    place, wrong = ".".join(keys[: len(keys) - len(rest) + number]), step
                    about = _field_at(bean, rest[:number])
                    known = _keys(node) or (about or {}).get("settings", [])
                    break
                node = inner
            message = f"'{place}' has nothing called '{wrong}'"
        else:
            at, known = self._tree, list(self._tree.entries)
            wrong = keys[0]
            for step in keys:
                following = _step(at, step)
                if following is None:
                    wrong, known = step, _keys(at)
                    break
                at = following
            message = f"the configuration has nothing called '{path}'"
        return ConfigurationError(message, next_step=did_you_mean(wrong, known))


def _uses(bean: PlannedBean) -> Iterator[dict[str, Any]]:
    for setting, target in (*bean.uses.items(), *((f"arguments.{name}", to) for name, to in bean.arguments.items())):
        yield from _targets(setting, target)
    for name, _ in bean.options.depends_on:
        yield {"setting": "bean.depends_on", "bean": name, "provider": False}


def _targets(setting: str, target: Any) -> Iterator[dict[str, Any]]:
    if isinstance(target, str):
        yield {"setting": setting, "bean": target, "provider": False}
    elif isinstance(target, Mapping):
        for key, inner in target.items():
            yield from _targets(f"{setting}.{key}", inner)
    elif isinstance(target, tuple):
        for number, inner in enumerate(target):
            yield from _targets(f"{setting}.{number}", inner)
    else:
        yield {"setting": setting, "bean": target.id, "provider": True}


def _lists(bean: PlannedBean) -> Iterator[dict[str, Any]]:
    """Why the beans of each list stand in their order."""
    for setting, order in bean.arranged.items():
        arranged = [{"bean": name, "reason": reason} for name, reason in order]
        yield {"bean": bean.id, "setting": setting, "items": arranged}
    for setting, reasons in bean.reasons.items():
        if setting in bean.arranged:
            continue
        target = bean.arguments.get(setting.removeprefix("arguments."), ()) if setting not in bean.uses else ()
        items = bean.uses.get(setting, target)
        names = list(items) if isinstance(items, tuple) else list(items.values()) if isinstance(items, Mapping) else []
        yield {
            "bean": bean.id,
            "setting": setting,
            "items": [
                {"bean": getattr(name, "id", name), "reason": reason}
                for name, reason in zip(names, reasons, strict=False)
            ],
        }


def _step(value: Any, step: str) -> Any:
    """One step into a node or into checked settings; ``None`` where there is nothing."""
    if isinstance(value, MappingNode):
        return value.get(step)
    if isinstance(value, SequenceNode):
        value = value.items
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list | tuple):
        return value[int(step)] if step.isdecimal() and int(step) < len(value) else None
    found = _fields(value)
    return getattr(value, found[step], None) if step in found else None


def _items(node: Node | None) -> list[tuple[str, Node]]:
    return [(key, entry.node) for key, entry in node.entries.items()] if isinstance(node, MappingNode) else []


def _keys(value: Any) -> list[str]:
    return list(value.entries) if isinstance(value, MappingNode) else []


def _fields(settings: Any) -> Mapping[str, str]:
    """The settings by the names that a file uses, each with its attribute."""
    found = getattr(type(settings), "model_fields", {})
    return {field.alias or name: name for name, field in found.items()} if isinstance(found, Mapping) else {}


def _node_at(node: Node | None, path: Sequence[str]) -> Node | None:
    for step in path:
        node = _step(node, step)
    return node


def _unset(settings: Any, node: Node | None) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in ((key, getattr(settings, name)) for key, name in _fields(settings).items()):
        there = _step(node, name) if node is not None else None
        if _fields(value) and not isinstance(there, SequenceNode):
            yield from (((name, *path), default) for path, default in _unset(value, there))
        elif there is None:
            yield (name,), _default(value)


def _default(value: Any) -> Any:
    if is_private(value):
        return "***"
    if isinstance(value, Mapping):
        return {str(key): _default(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_default(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _field_at(bean: PlannedBean | None, path: Sequence[str]) -> dict[str, Any] | None:
    """What the settings model says of a setting: its default, whether it must be given, its description."""
    if bean is None or bean.bean_type is None or not path:
        return None
    model: Any = bean.bean_type.settings
    field = None
    for step in path:
        fields = {each.alias or name: each for name, each in getattr(model, "model_fields", {}).items()}
        if step not in fields:
            return None
        field = fields[step]
        model = _model_in(field.annotation)
    assert field is not None
    required = field.is_required()
    default = None if required else _default(field.get_default(call_default_factory=True))
    if model is not None:
        default = None  # its own settings have theirs
    return {
        "default": default,
        "required": required,
        "description": " ".join((field.description or "").split()) or None,
        "settings": list(getattr(model, "model_fields", ())),
    }


def _model_in(annotation: Any) -> Any:
    """The settings inside settings that a declared type holds."""
    from typing import get_args

    if hasattr(annotation, "model_fields"):
        return annotation
    return next((each for each in get_args(annotation) if hasattr(each, "model_fields")), None)
