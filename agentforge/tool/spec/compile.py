"""The strict form of a schema: brought into the subset that a provider's strict mode can hold a model to.

Objects are closed and, where the subset wants it, every property is required and optional ones become nullable; the
nulls that models then send are dropped again when arguments are bound. What the subset lacks is moved into the
description or left out and reported. Arguments are always checked against the original schema, so nothing is lost; but
what is reported is not held by the provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.tool.spec.heads import Heads
from agentforge.tool.spec.measure import SchemaSize, beyond_limits, size_of
from agentforge.tool.spec.merging import SchemaFaultError, types_of
from agentforge.tool.spec.noting import SchemaNote
from agentforge.tool.spec.plain import PlainSchemas, described
from agentforge.tool.spec.subset import STANDARD, SchemaSubset
from agentforge.tool.spec.walk import escaped_step, steps_of

__all__ = ("CompiledSchema", "compile_schema")

_DEEPEST, _MOST_PARTS = 128, 8_000


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """``schema`` in the subset, if there are no ``problems``; with any, send the original as not strict.

    ``notices`` say what the strict form does not carry: codes ``told`` (said in the description), ``left_out``,
    ``one_of`` (more than one alternative may hold), ``order`` (of a list's places) and ``narrowed``. ``size`` is for
    the limits of a whole request (`agentforge.tool.spec.beyond_request_limits`).
    """

    schema: dict[str, Any]
    problems: tuple[SchemaNote, ...]
    notices: tuple[SchemaNote, ...]
    size: SchemaSize


def compile_schema(schema: Mapping[str, Any], subset: SchemaSubset = STANDARD) -> CompiledSchema:
    """The strict form of a tool's parameters in ``subset``; the argument is not changed.

    >>> made = compile_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    >>> made.schema["required"], made.schema["properties"]["a"]["type"], made.problems
    (['a'], ['string', 'null'], ())
    """
    compiler = _Compiler(schema, subset)
    try:
        made = compiler.root()
    except (RecursionError, _TooLargeError):
        compiler.problem((), "too_large", "the schema is too large to be brought into a strict form")
        made = {"type": "object", "properties": {}}
    size = size_of(made)
    for text in beyond_limits(size, subset.limits):
        compiler.problem((), "limit", text)
    return CompiledSchema(made, tuple(dict.fromkeys(compiler.problems)), tuple(dict.fromkeys(compiler.notices)), size)


class _TooLargeError(Exception):
    pass


class _Compiler(PlainSchemas):
    def __init__(self, schema: Mapping[str, Any], subset: SchemaSubset) -> None:
        super().__init__(Heads(schema), subset)
        self._root = schema
        self._names: dict[str, str] = {}
        #: The names of definitions that are taken, each with the last number that was tried behind it.
        self._taken: dict[str, int] = {}
        self._left: list[str] = []
        self._inside: list[str] = []
        self._parts = 0
        # Far beyond the limit, that is: what is a little beyond it is counted.
        self._deepest = 2 * (subset.limits.levels or 32)

    # -- the root and its definitions ------------------------------------------------------------

    def root(self) -> dict[str, Any]:
        made = self._whole()
        definitions: dict[str, Any] = {}
        while self._left:
            reference = self._left.pop(0)
            definitions[self._names[reference]] = self.schema(self._heads.target(reference), steps_of(reference))
        return _without_aliases({**made, "$defs": definitions}) if definitions else made

    def _whole(self) -> dict[str, Any]:
        """The root, which is always an object: what else it might be is of no use for arguments."""
        try:
            head = self._heads.head(self._root, through=True)
            if head is not None and "anyOf" in head:
                branches = [self._heads.head(branch, through=True) for branch in head["anyOf"]]
                objects = [one for one in branches if one is not None and self._may_be_object(one)]
                if len(objects) == 1:
                    head = self._heads.merge({**head, "anyOf": objects}, {"type": ("object",)})
        except SchemaFaultError as fault:
            self.problem((), fault.code, str(fault))
            return {"type": "object", "properties": {}}
        if head is None:
            self.problem((), "unsatisfiable", "no value fits")
            return {"type": "object", "properties": {}}
        if "anyOf" in head:
            self.problem((), "not_an_object", "the root must be an object, not a choice")
            return self._choice(head, ())
        kinds = types_of(head) or ("object",)
        if "object" not in kinds:
            self.problem((), "not_an_object", f"the root must be an object, not {' or '.join(kinds)}")
            return self.plain(head, ())
        return self.plain({"properties": {}, **head, "type": ("object",)}, ())

    def _may_be_object(self, head: dict[str, Any]) -> bool:
        return "anyOf" in head or not types_of(head) or "object" in types_of(head)

    # -- any schema ------------------------------------------------------------------------------

    def schema(self, node: Any, path: tuple[str, ...], *, in_choice: bool = False) -> dict[str, Any]:
        self._parts += 1
        if self._parts > _MOST_PARTS or len(path) > _DEEPEST or path.count("properties") > self._deepest:
            raise _TooLargeError
        try:
            head = self._heads.head(node)
            if head is not None and "$ref" in head:
                return self._reference(head, path, in_choice)
        except SchemaFaultError as fault:
            self.problem(path, fault.code, str(fault))
            return {}
        if head is None:
            self.problem(path, "unsatisfiable", "no value fits")
            return {}
        return self._choice(head, path) if "anyOf" in head else self.plain(head, path)

    def _head_or_itself(self, node: Any) -> Any:
        """The head, which is a schema too and costs less to look at again; what has none is looked at for its fault."""
        try:
            return self._heads.head(node)
        except SchemaFaultError:
            return node

    def _reference(self, head: dict[str, Any], path: tuple[str, ...], in_choice: bool) -> dict[str, Any]:
        reference, target = head["$ref"], self._heads.target(head["$ref"])
        seen = {reference}
        while (next_head := self._heads.head(target)) is not None and next_head.keys() == {"$ref"}:
            reference = next_head["$ref"]
            if reference in seen:
                raise SchemaFaultError("recursion", f"the reference {reference[:200]!r} leads back to itself")
            seen.add(reference)
            target = self._heads.target(reference)
        description = self.description(head, path)
        alone = self._subset.references == "$defs" and (self._subset.references_in_choices or not in_choice)
        if not alone or (description and not self._subset.references_in_choices):
            return described(self._written_out(reference, target, path, in_choice), description)
        if not self._subset.recursion and self._is_recursive(reference):
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
            raise SchemaFaultError("recursion", f"{reference} holds itself, recursive schemas are not supported")
        self._inside.append(reference)
        try:
            return self.schema(target, path, in_choice=in_choice)
        finally:
            self._inside.pop()

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
        """A name for a definition, its own where no other has it."""
        own = steps_of(reference)[-1] or "definition"
        name = own
        while name in self._taken:
            self._taken[own] += 1
            name = f"{own}_{self._taken[own]}"
        self._taken[name] = 1
        return name

    def _choice(self, head: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        branches: list[dict[str, Any]] = []
        for index, branch in enumerate(head["anyOf"]):
            made_head = self._head_or_itself(branch)
            if made_head is None:
                continue
            made = self.schema(made_head, (*path, "anyOf", str(index)), in_choice=True)
            for each in made["anyOf"] if made.keys() == {"anyOf"} else [made]:
                if each not in branches:
                    branches.append(each)
        if not branches:
            self.problem(path, "unsatisfiable", "no value fits")
            return {}
        nullable = self._subset.null == "nullable" and {"type": "null"} in branches and len(branches) > 1
        if nullable:
            branches.remove({"type": "null"})
        description = self.description(head, path)
        if len(branches) == 1 and not (description and "$ref" in branches[0]):
            made = described(branches[0], description)
        else:
            made = {"anyOf": branches, **({"description": description} if description else {})}
        return {**made, "nullable": True} if nullable else made


def _without_aliases(made: dict[str, Any]) -> dict[str, Any]:
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
