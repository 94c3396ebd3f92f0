"""References of a schema: bundled below ``$defs``, or what they name written out in their place.

Written out, a small schema can mean a very large one, and one that holds itself has no end. So each definition is
compiled once, whatever the number of its uses; what is made is counted as often as it is used; and a schema that no
model is held to is cut where it would have no end, or where it would grow beyond what anybody wants to read.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping
from typing import Any

from agentforge.tool.spec.heads import Heads
from agentforge.tool.spec.merging import SchemaFaultError, types_of
from agentforge.tool.spec.plain import PlainSchemas, described
from agentforge.tool.spec.subset import SchemaSubset
from agentforge.tool.spec.typed import ALL_TYPES
from agentforge.tool.spec.walk import escaped_step, steps_of, subschemas

__all__ = ("References", "TooLargeError", "without_aliases")

_MOST_PARTS = 8_000
_ENOUGH_PARTS = 1_000
_NO_NAME = re.compile(r"[^\w.-]", re.ASCII)


class TooLargeError(Exception):
    """A schema has more parts than any that is of use."""


class References(PlainSchemas, ABC):
    """Compiles references. ``most_nested``: how many definitions are written out inside of each other (``None``: all),
    and ``deepest`` how many schemas there are, as long as all does not grow too much."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        heads: Heads,
        subset: SchemaSubset,
        strict: bool,
        most_nested: int | None,
        deepest: int,
    ) -> None:
        super().__init__(heads, subset, strict)
        heads.start()
        self._root = schema
        self._most_nested = most_nested
        self._names: dict[str, str] = {}
        #: The names of definitions that are taken, each with the last number that was tried behind it.
        self._taken: dict[str, int] = {}
        self._left: list[str] = []
        #: The references that are being written out, and those of them that were met again since.
        self._inside: list[str] = []
        self._met: set[str] = set()
        self._written: dict[tuple[str, bool, int, int], tuple[dict[str, Any], int]] = {}
        #: How many definitions were really inside of each other.
        self.nested = 0
        self._parts = 0
        self._most_parts = _MOST_PARTS
        if not strict and subset.references == "inline":
            self._most_parts = min(_MOST_PARTS, max(_ENOUGH_PARTS, 2 * _parts_of(schema)))
        self._depth = 0
        self._deepest = deepest
        # Far beyond the limit, that is: what is a little beyond it is counted.
        self._most_levels = 2 * (subset.limits.levels or 32) if strict else deepest + 1

    def count_part(self, parts: int = 1) -> None:
        """Count what was made; raises `TooLargeError` when it is too much."""
        self._parts += parts
        if self._parts > self._most_parts or self._depth > self._deepest or self._level > self._most_levels:
            raise TooLargeError

    def reference(self, head: dict[str, Any], path: tuple[str, ...], in_choice: bool) -> dict[str, Any]:
        """The form of a head that is a reference; raises `SchemaFaultError` where it has none."""
        reference, target = head["$ref"], self._heads.target(head["$ref"])
        seen = {reference}
        while (next_head := self._heads.head(target)) is not None and next_head.keys() == {"$ref"}:
            reference = next_head["$ref"]
            if reference in seen:
                raise SchemaFaultError("recursion", f"the reference {reference[:200]!r} leads back to itself")
            seen.add(reference)
            target = self._heads.target(reference)
        description = self.description(head, path)
        subset = self._subset
        alone = subset.references == "$defs" and (subset.references_in_choices or not in_choice)
        if not alone or (description and not subset.references_in_choices):
            return described(self._written_out(reference, target, path, in_choice), description)
        if not subset.recursion and self._is_recursive(reference):
            if not self._strict:
                return described(self._written_out(reference, target, path, in_choice), description)
            raise SchemaFaultError("recursion", f"{reference} holds itself, recursive schemas are not supported")
        if reference != "#" and reference not in self._names:
            if self._is_only_itself(reference):
                raise SchemaFaultError("recursion", f"{reference[:200]!r} is, among others, itself")
            self._names[reference] = self._name_of(reference)
            self._left.append(reference)
        made = {"$ref": f"#/$defs/{escaped_step(self._names[reference])}" if reference != "#" else "#"}
        return {"anyOf": [made], "description": description} if description else made

    def _written_out(self, reference: str, target: Any, path: tuple[str, ...], in_choice: bool) -> dict[str, Any]:
        if reference in self._inside or reference == "#":
            self._met.add(reference)
            if self._strict:
                raise SchemaFaultError("recursion", f"{reference} holds itself, recursive schemas are not supported")
            return self._cut(target, path, f"{reference} holds itself, and was written out once")
        nested = len(self._inside)
        self.nested = max(self.nested, nested + 1)
        if self._most_nested is not None and nested >= self._most_nested:
            return self._cut(target, path, f"what {reference} names was left out, as all of it would be too large")
        # Where nothing counts what is around it, it is the same everywhere.
        around = self._level if not self._strict and self._subset.limits.levels is not None else 0
        key = (reference, in_choice, around, nested if self._most_nested is not None else 0)
        known = self._written.get(key)
        if known is not None:
            self.count_part(known[1])
            return known[0]
        before, met, self._met = self._parts, self._met, set()
        self._inside.append(reference)
        try:
            made = self.schema(target, steps_of(reference), in_choice=in_choice)
        finally:
            self._inside.pop()
            self._met.discard(reference)
            found, self._met = self._met, met | self._met
        if not found:
            self._written[key] = made, self._parts - before
        return made

    def _cut(self, target: Any, path: tuple[str, ...], reason: str) -> dict[str, Any]:
        """Any value of the types that the definition has, with its description."""
        self.notice(path, "widened", reason)
        head = self._heads.head(target, through=True)
        branches = head["anyOf"] if head is not None and "anyOf" in head else [head]
        kinds = tuple(dict.fromkeys(kind for branch in branches for kind in self._kinds_of(branch)))
        text = target.get("description") if isinstance(target, Mapping) else None
        return self.any_value(text if isinstance(text, str) else "", kinds or ALL_TYPES)

    def _kinds_of(self, node: Any) -> tuple[str, ...]:
        head = None if node is None else self._heads.head(node, through=True)
        if head is None:
            return ()
        return ALL_TYPES if "anyOf" in head else types_of(head) or ALL_TYPES

    def _is_only_itself(self, reference: str) -> bool:
        """Whether a definition leads back to itself without a step into a value: it says of one only that it fits."""
        left, seen = [self._heads.target(reference)], {reference}
        while left:
            part = left.pop()
            if not isinstance(part, Mapping):
                continue
            found = part.get("$ref")
            if found == reference:
                return True
            if isinstance(found, str) and found not in seen:
                seen.add(found)
                left.append(self._heads.target(found))
            for key in ("anyOf", "oneOf", "allOf"):
                alternatives = part.get(key)
                left.extend(alternatives if isinstance(alternatives, (list, tuple)) else ())
        return False

    def _is_recursive(self, reference: str) -> bool:
        left, seen = [reference], set[str]()
        while left:
            node: Any = self._heads.target(left.pop())
            parts = [node]
            while parts:
                part = parts.pop()
                if isinstance(part, Mapping):
                    found = part.get("$ref")
                    if found in (reference, "#"):
                        return True
                    if isinstance(found, str) and found not in seen:
                        seen.add(found)
                        left.append(found)
                parts.extend(part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ())
        return False

    def _name_of(self, reference: str) -> str:
        """A name for a definition, its own where no other has it; of characters that every provider reads."""
        own = _NO_NAME.sub("_", steps_of(reference)[-1]) or "definition"
        name = own
        while name in self._taken:
            self._taken[own] += 1
            name = f"{own}_{self._taken[own]}"
        self._taken[name] = 1
        return name


def _parts_of(schema: Mapping[str, Any]) -> int:
    left, parts = [schema], 0
    while left and parts < _MOST_PARTS:
        parts += 1
        left.extend(inner for _, inner in subschemas(left.pop()))
    return parts


def without_aliases(made: dict[str, Any]) -> dict[str, Any]:
    """The schema without definitions that are, after all, only another name of one: a chain of references has no end
    that is known at a glance."""
    definitions: dict[str, Any] = made["$defs"]
    while found := next(((name, body) for name, body in definitions.items() if body.keys() == {"$ref"}), None):
        name, body = found
        old = f"#/$defs/{escaped_step(name)}"
        if body["$ref"] == old:
            break
        del definitions[name]
        made = _renamed(made, old, body["$ref"])
        definitions = made["$defs"]
    if not definitions:
        del made["$defs"]
    return made


def _renamed(node: Any, old: str, new: str) -> Any:
    """A copy in which one reference is another; an alternative that then stands there twice stands there once."""
    if isinstance(node, list):
        return [_renamed(item, old, new) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("$ref") == old:
        return {**node, "$ref": new}
    made = {key: _renamed(value, old, new) for key, value in node.items()}
    branches = made.get("anyOf")
    if isinstance(branches, list):
        made["anyOf"] = [branch for at, branch in enumerate(branches) if branch not in branches[:at]]
        if len(made["anyOf"]) == 1 and made.keys() == {"anyOf"}:
            only: dict[str, Any] = made["anyOf"][0]
            return only
    return made
