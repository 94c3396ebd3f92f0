"""A schema brought into the subset that a provider takes: as a strict form, or as advice.

A strict form holds a model to the schema. Objects are closed and, where the subset wants it, every property is required
and optional ones become nullable; the nulls that models then send are dropped again when arguments are bound. Advice
leaves properties as they are declared, and what the subset cannot say becomes wider.

In both, what the subset lacks is moved into the description or left out and reported. Arguments are always checked
against the original schema, so nothing is lost; but what is reported is not held by the provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentforge.tool.spec.heads import Heads
from agentforge.tool.spec.measure import SchemaSize, beyond_limits, size_of
from agentforge.tool.spec.merging import SchemaFaultError, types_of, united
from agentforge.tool.spec.noting import SchemaNote
from agentforge.tool.spec.plain import described
from agentforge.tool.spec.references import References, TooLargeError, without_aliases
from agentforge.tool.spec.subset import STANDARD, SchemaSubset
from agentforge.tool.spec.typed import ALL_TYPES
from agentforge.tool.spec.walk import steps_of

__all__ = ("CompiledSchema", "compile_schema")

#: How many schemas may be inside of each other.
_DEEPEST = 64
#: How many definitions may be written out inside of each other, and schemas at all, where no model is held to the
#: schema; tried in this order.
_ATTEMPTS = ((None, 32), *((nested, 32) for nested in (5, 4, 3, 2, 1, 0)), (0, 12), (0, 3))


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """``schema`` in the subset, if there are no ``problems``. With any there is no strict form; what is advice is in
    the subset all the same, with something wider in the place of a part that is broken.

    ``notices`` say what the schema does not carry: codes ``told`` (said in the description), ``left_out``, ``one_of``
    (more than one alternative may hold), ``order`` (of a list's places), ``narrowed`` and ``widened``. ``size`` is for
    the limits of a whole request (`agentforge.tool.spec.beyond_request_limits`).
    """

    schema: dict[str, Any]
    problems: tuple[SchemaNote, ...]
    notices: tuple[SchemaNote, ...]
    size: SchemaSize


def compile_schema(
    schema: Mapping[str, Any], subset: SchemaSubset = STANDARD, *, strict: bool = True
) -> CompiledSchema:
    """A tool's parameters in ``subset``; the argument is not changed.

    ``strict``: a model will be held to them, so that what the subset cannot say is a problem. Else they are advice:
    properties stay optional, and what cannot be said becomes wider, with a notice.

    >>> made = compile_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    >>> made.schema["required"], made.schema["properties"]["a"]["type"], made.problems
    (['a'], ['string', 'null'], ())
    >>> made = compile_schema({"type": "object", "properties": {"a": {"type": "string"}}}, strict=False)
    >>> made.schema["required"], made.schema["properties"]["a"]["type"], made.problems
    ([], 'string', ())
    """
    if not strict:
        subset = replace(subset, optional="stay")
    made: dict[str, Any] | None = None
    heads = Heads(schema)
    nested = 0
    for most_nested, deepest in ((None, _DEEPEST),) if strict else _ATTEMPTS:
        is_last = (most_nested, deepest) == _ATTEMPTS[-1]
        if (heads.is_spent and not is_last) or (most_nested is not None and most_nested >= max(nested, 1)):
            continue  # it would end in the same way
        compiler = _Compiler(schema, heads, subset, strict, most_nested, deepest)
        try:
            made = compiler.root()
            break
        except (RecursionError, TooLargeError):
            nested = compiler.nested
    if made is None:
        compiler.problem((), "too_large", "the schema is too large to be brought into another form")
        made = {"type": "object", "properties": {}}
    size = size_of(made)
    for text in beyond_limits(size, subset.limits):
        compiler.problem((), "limit", text)
    return CompiledSchema(made, tuple(dict.fromkeys(compiler.problems)), tuple(dict.fromkeys(compiler.notices)), size)


class _Compiler(References):
    # -- the root and its definitions ------------------------------------------------------------

    def root(self) -> dict[str, Any]:
        made = self._whole()
        definitions: dict[str, Any] = {}
        while self._left:
            reference = self._left.pop(0)
            definitions[self._names[reference]] = self.schema(self._heads.target(reference), steps_of(reference))
        return without_aliases({**made, "$defs": definitions}) if definitions else made

    def _whole(self) -> dict[str, Any]:
        """The root, which is always an object: what else it might be is of no use for arguments."""
        try:
            head = self._heads.head(self._root, through=True)
            if head is not None and "anyOf" in head:
                branches = [self._heads.head(branch, through=True) for branch in head["anyOf"]]
                objects = [one for one in branches if one is not None and self._may_be_object(one)]
                if len(objects) == 1 or (objects and not self._strict):
                    head = self._heads.merge({**head, "anyOf": objects}, {"type": ("object",)})
                    if head is not None and "anyOf" in head and not self._strict:
                        self.notice((), "widened", "its alternatives were sent as one object")
                        head = united(self._heads.alternatives(head), head)
        except SchemaFaultError as fault:
            if self._strict or fault.code == "reference":
                self.problem((), fault.code, str(fault))
                return {"type": "object", "properties": {}}
            self.notice((), "widened", f"only its own properties were sent, as {fault}")
            own = {key: self._root[key] for key in ("description", "properties", "required") if key in self._root}
            return self.plain({"properties": {}, **own, "type": ("object",), "additionalProperties": True}, ())
        if head is None:
            self.problem((), "unsatisfiable", "no value fits")
            return {"type": "object", "properties": {}}
        if "anyOf" in head:
            self.problem((), "not_an_object", "the root must be an object, not a choice")
            return self._choice(head, ()) if self._strict else {"type": "object", "properties": {}}
        kinds = types_of(head) or ("object",)
        if "object" not in kinds:
            self.problem((), "not_an_object", f"the root must be an object, not {' or '.join(kinds)}")
            return self.plain(head, ()) if self._strict else {"type": "object", "properties": {}}
        return self.plain({"properties": {}, **head, "type": ("object",)}, ())

    def _may_be_object(self, head: dict[str, Any]) -> bool:
        return "anyOf" in head or not types_of(head) or "object" in types_of(head)

    # -- any schema ------------------------------------------------------------------------------

    def schema(self, node: Any, path: tuple[str, ...], *, in_choice: bool = False) -> dict[str, Any]:
        self.count_part()
        if not self._strict and self._depth >= self._deepest:
            self.notice(path, "widened", f"what is deeper than {self._deepest} levels was left out")
            return self.any_value()
        self._depth += 1
        try:
            head = self._heads.head(node)
            if head is not None and "$ref" in head:
                return self.reference(head, path, in_choice)
            if head is None:
                return self._unsatisfiable(path)
            return self._choice(head, path) if "anyOf" in head else self.plain(head, path)
        except SchemaFaultError as fault:
            return self._faulty(node, path, fault)
        finally:
            self._depth -= 1

    def _unsatisfiable(self, path: tuple[str, ...]) -> dict[str, Any]:
        if self._strict:
            self.problem(path, "unsatisfiable", "no value fits")
        else:
            self.notice(path, "widened", "no value fits, any was sent")
        return self.any_value()

    def _faulty(self, node: Any, path: tuple[str, ...], fault: SchemaFaultError) -> dict[str, Any]:
        """What stands for a schema that is not understood: what it says of its type, at least."""
        if self._strict or fault.code == "reference":
            self.problem(path, fault.code, str(fault))
        else:
            self.notice(path, "widened", f"only its type was sent, as {fault}")
        if self._strict or not isinstance(node, Mapping):
            return self.any_value()
        text, kind = node.get("description"), node.get("type")
        kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, (list, tuple)) else ()
        known = [each for each in kinds if each in ALL_TYPES or each == "integer"]
        return self.any_value(text if isinstance(text, str) else "", known or ALL_TYPES)

    def _head_or_itself(self, node: Any) -> Any:
        """The head, which is a schema too and costs less to look at again; what has none is looked at for its fault."""
        try:
            return self._heads.head(node)
        except SchemaFaultError:
            return node

    def _choice(self, head: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        branches: list[dict[str, Any]] = []
        for index, branch in enumerate(head["anyOf"]):
            made_head = self._head_or_itself(branch)
            if made_head is None or self._is_never_whole(made_head):
                continue
            made = self.schema(made_head, (*path, "anyOf", str(index)), in_choice=True)
            inner = list(made["anyOf"]) if "anyOf" in made and made.keys() <= {"anyOf", "nullable"} else [made]
            if inner != [made] and "nullable" in made:
                inner.append({"type": "null"})
            for each in inner:
                if each not in branches:
                    branches.append(each)
        if not branches:
            return self._unsatisfiable(path)
        nullable = self._subset.null == "nullable" and {"type": "null"} in branches and len(branches) > 1
        if nullable:
            branches.remove({"type": "null"})
        description = self.description(head, path)
        if len(branches) == 1 and not (description and "$ref" in branches[0]):
            made = described(branches[0], description)
        else:
            made = {"anyOf": branches, **({"description": description} if description else {})}
        return {**made, "nullable": True} if nullable else made

    def _is_never_whole(self, head: Any) -> bool:
        """Whether an object needs a property that no value fits."""
        if not isinstance(head, Mapping) or "$ref" in head or types_of(head) != ("object",):
            return False
        properties = head.get("properties") or {}
        return any(name in properties and self._is_impossible(properties[name]) for name in head.get("required", ()))
