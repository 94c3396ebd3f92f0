"""The head of a schema: what it says of a value itself, in one form, whatever ways it was written in.

A head has no ``allOf``, ``oneOf``, ``const`` beside ``enum`` or ``nullable``; a reference or ``anyOf`` stands in it
with nothing but a description. Schemas inside it (of properties and items) are left as they are: their heads are made
when they are looked at, so that recursion ends. A head is a schema again; its head is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from agentforge.tool.spec.merging import (
    ANNOTATIONS,
    LOST,
    Head,
    SchemaFaultError,
    merge_plain,
    types_of,
    values_of,
)
from agentforge.tool.spec.walk import resolve_reference

__all__ = ("Heads",)

Refs: TypeAlias = frozenset[str]

_NONE: Refs = frozenset()
_NOTES = ANNOTATIONS | {LOST}
_MOST_BRANCHES = 64
_MOST_LOOKED_AT = 256
_MOST_MERGED = 3_000
_MOST_TOLD_APART = 1_000
_DEEPEST = 4
_APPLIED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "nullable", "unevaluatedProperties", "$defs", "definitions"})
_CONSTRAINING = frozenset(
    {
        *("type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties"),
        *("items", "prefixItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "contains"),
        *("minContains", "maxContains", "unevaluatedItems", "minProperties", "maxProperties", "propertyNames"),
        *("dependentRequired", "dependentSchemas", "dependencies", "not", "if", "then", "else"),
        *("contentEncoding", "contentMediaType", "contentSchema", LOST),
    }
)
_PRESENCE = frozenset({"required", "type", "description", "title", "not"})


class Heads:
    """Makes heads of the schemas below ``root``, which their references are resolved in. ``reads_nullable``:
    ``nullable`` of OpenAPI counts, which JSON Schema does not know."""

    def __init__(self, root: Mapping[str, Any], *, reads_nullable: bool = True) -> None:
        self._root = root
        self._reads_nullable = reads_nullable
        self._known: dict[tuple[int, bool], tuple[Any, Head]] = {}
        self.start()

    def start(self) -> None:
        """Begin anew to count what is merged."""
        self._left = _MOST_MERGED
        #: How much of that may be merged to tell alternatives apart, without which a notice is said.
        self._left_apart = _MOST_TOLD_APART

    def head(self, node: Any, *, through: bool = False, inside: Refs = _NONE) -> Head:
        """The head of ``node``; ``through``: of what it refers to. Raises `SchemaFaultError` where it has none.

        A ``oneOf`` of branches that could hold together is listed in the head's `LOST`. A head is not to be changed.
        """
        if isinstance(node, bool):
            return {} if node else None
        if inside:
            return self._made(node, through, inside)
        known = self._known.get((id(node), through))
        if known is None:  # with the node, so that no other one has its id
            known = self._known[id(node), through] = node, self._made(node, through, inside)
        return known[1]

    def _made(self, node: Any, through: bool, inside: Refs) -> Head:
        if not isinstance(node, Mapping):
            raise SchemaFaultError("any_value", "any value is allowed, strict schemas need a type")
        own = self._own(node)
        if own is None:
            return None
        notes = {key: own.pop(key) for key in tuple(own) if key in ANNOTATIONS}
        parts, choices = self._applied(node, own)
        made: Head = own
        if len(parts) == 1 and not own and not choices:
            made = self._reference(parts[0], through, inside)
        else:
            for part in parts:
                made = self.merge(made, self._reference(part, True, inside), inside)
            made = self._chosen(made, choices, inside, closes="unevaluatedProperties" in node)
            made = _closed(made, node)
        if self._reads_nullable and node.get("nullable") is True:
            made = _with_null(made)
        return None if made is None else {**made, **notes}

    @property
    def is_spent(self) -> bool:
        """Whether all was merged that may be: then nothing smaller would come of trying again."""
        return self._left < 0

    def target(self, reference: str) -> Any:
        """The schema that a reference names; raises `SchemaFaultError` for one that is not there."""
        found = resolve_reference(self._root, reference)
        if found is None:
            raise SchemaFaultError("reference", f"the reference {reference[:200]!r} is not inside the schema")
        return found

    def takes_null(self, node: Any) -> bool:
        """Whether null fits, as far as heads tell; where there is none, it may."""
        left, seen = [node], [node]
        while left:
            try:
                found = self.head(left.pop(), through=True)
            except (SchemaFaultError, RecursionError):
                return True
            if found is None:
                continue
            if "anyOf" not in found:
                kinds = types_of(found)
                if not kinds or "null" in kinds:
                    return True
                continue
            for branch in found["anyOf"]:
                # One that was looked at leads back here, or says nothing new.
                if len(seen) < _MOST_LOOKED_AT and not any(branch is one for one in seen):
                    seen.append(branch)
                    left.append(branch)
        return False

    def merge(self, a: Head, b: Head, inside: Refs = _NONE) -> Head:
        """One head that says what both say."""
        if a is None or b is None:
            return None
        self._left -= 1
        if self._left < 0:  # parts that hold each other have no end
            raise SchemaFaultError("too_large", "its parts lead to too many combinations")
        if "anyOf" not in a and "anyOf" not in b:
            return merge_plain(a, b)
        if not (a.keys() - _NOTES and b.keys() - _NOTES):  # nothing to be said in each branch
            return _noted({**b, **a}, a, b)
        pairs = itertools.product(self._branches(a, inside), self._branches(b, inside))
        found = [each for each in (merge_plain(x, y) for x, y in pairs) if each is not None]
        if not found:
            return None
        if len(found) > _MOST_BRANCHES:
            raise SchemaFaultError("too_large", f"there are more than {_MOST_BRANCHES} combinations of alternatives")
        noted = [each for each in (a, b) if "anyOf" in each]
        return _noted(found[0], *noted, found[0]) if len(found) == 1 else _noted({"anyOf": found}, *noted)

    def apart(self, a: Head, b: Head, depth: int = 0) -> bool:
        """Whether no value fits both, told by types, constants, and the keys of closed objects."""
        if a is None or b is None:
            return True
        if "anyOf" in a or "anyOf" in b:
            pairs = itertools.product(self._branches(a, _NONE), self._branches(b, _NONE))
            return all(self.apart(x, y, depth) for x, y in pairs)
        if merge_plain(a, b) is None:
            return True
        kinds = set(types_of(a)) & set(types_of(b))
        numbers = {"integer", "number"}
        if types_of(a) and types_of(b) and not kinds and not (numbers & {*types_of(a)} and numbers & {*types_of(b)}):
            return True
        if kinds != {"object"} or depth > _DEEPEST:
            return False
        named = (a.get("properties") or {}), (b.get("properties") or {})
        needed = set(a.get("required", ())), set(b.get("required", ()))
        for mine, other, head in ((0, 1, b), (1, 0, a)):
            if head.get("additionalProperties") is False and needed[mine] - named[other].keys():
                return True
        return any(
            self.apart(self.head(named[0][key], through=True), self.head(named[1][key], through=True), depth + 1)
            for key in needed[0] & needed[1] & named[0].keys() & named[1].keys()
        )

    def alternatives(self, head: dict[str, Any]) -> list[dict[str, Any]]:
        """The heads without alternatives of which one holds; raises `SchemaFaultError` where they have no end."""
        return self._branches(head, _NONE)

    def _own(self, node: Mapping[str, Any]) -> Head:
        """What the node says itself, types as a tuple."""
        made = {key: node[key] for key in node if key in _CONSTRAINING or key in ANNOTATIONS}
        if not isinstance(made.get("description", ""), str):
            del made["description"]
        kind = made.pop("type", None)
        if isinstance(kind, str):
            made["type"] = (kind,)
        elif isinstance(kind, (list, tuple)) and any(isinstance(each, str) for each in kind):
            made["type"] = tuple(dict.fromkeys(each for each in kind if isinstance(each, str)))
        if isinstance(made.get("items"), (list, tuple)):  # how older dialects wrote prefixItems
            made["prefixItems"] = made.pop("items")
            if "additionalItems" in node:
                made["items"] = node["additionalItems"]
        if made.get("not") is True or made.get("not") == {}:
            return None
        if not isinstance(made.get("properties", {}), Mapping):
            del made["properties"]
        needed = made.pop("required", None)
        if isinstance(needed, (list, tuple)) and needed:
            made["required"] = [name for name in needed if isinstance(name, str)]
        return merge_plain(made, {}) if values_of(made) is not None else made

    def _applied(self, node: Mapping[str, Any], own: dict[str, Any]) -> tuple[list[Any], list[tuple[str, list[Any]]]]:
        """What else holds of the value: schemas that all do, and lists of which one does."""
        parts: list[Any] = []
        if isinstance(node.get("$ref"), str):
            parts.append({"$ref": node["$ref"]})
        parts.extend(_listed(node, "allOf"))
        choices: list[tuple[str, list[Any]]] = []
        for key in ("anyOf", "oneOf"):
            branches = _listed(node, key)
            if key == "anyOf":  # said twice, an alternative is none
                branches = [branch for at, branch in enumerate(branches) if branch not in branches[:at]]
            if branches and "properties" in own and all(_is_presence(branch) for branch in branches):
                own[LOST] = [*own.get(LOST, ()), ("presence", _presence_in_words(branches))]
            elif len(branches) == 1:
                parts.append(branches[0])
            elif branches:
                choices.append((key, branches))
        return parts, choices

    def _reference(self, part: Any, through: bool, inside: Refs) -> Head:
        """The head of a part, which may be a reference."""
        if not (isinstance(part, Mapping) and isinstance(part.get("$ref"), str) and part.keys() <= {"$ref"}):
            return self.head(part, through=through, inside=inside)
        reference = part["$ref"]
        target = self.target(reference)
        if not through:
            return {"$ref": reference}
        if reference in inside:
            raise SchemaFaultError("recursion", f"the reference {reference[:200]!r} leads back to itself")
        return self.head(target, through=True, inside=inside | {reference})

    def _chosen(self, made: Head, choices: list[tuple[str, list[Any]]], inside: Refs, *, closes: bool) -> Head:
        """The head with its lists of alternatives: as they are where it says nothing else, else said in each."""
        for key, branches in choices:
            if made is None:
                return None
            notes = {name: made[name] for name in made if name in ANNOTATIONS}
            rest = {name: made[name] for name in made if name not in ANNOTATIONS}
            lost = [] if key == "anyOf" or self._are_apart(rest, branches, inside) else [("oneOf", None)]
            merged: Head = {"anyOf": branches}
            if closes or rest.keys() - _NOTES:
                merged = self.merge(rest, merged, inside)
            if merged is None:
                return None
            # Of its alternatives only one may be left, which then is the head, with what it lost.
            made = _noted({**merged, **notes}, rest, {LOST: [*merged.get(LOST, ()), *lost]})
        return made

    def _are_apart(self, rest: dict[str, Any], branches: list[Any], inside: Refs) -> bool:
        if self._left_apart <= 0:
            return False
        left, self._left = self._left, min(self._left, self._left_apart)
        before = self._left
        try:
            heads = [self.merge(rest, self.head(branch, through=True, inside=inside), inside) for branch in branches]
            return all(self.apart(a, b) for a, b in itertools.combinations(heads, 2))
        except (SchemaFaultError, RecursionError):
            return False
        finally:
            self._left_apart -= before - self._left
            self._left = left

    def _branches(self, head: dict[str, Any], inside: Refs) -> list[dict[str, Any]]:
        """The alternatives of a head as heads without alternatives."""
        if "anyOf" not in head:
            return [head]
        found: list[dict[str, Any]] = []
        for branch in head["anyOf"]:
            # Told by the object: it may be behind any number of references and alternatives of one.
            mark = f"branch {id(branch)}"
            if mark in inside or len(inside) > _MOST_BRANCHES:
                raise SchemaFaultError("recursion", "an alternative leads back to itself")
            within = inside | {mark}
            each = self.head(branch, through=True, inside=within)
            if each is not None:
                lost = {LOST: each.get(LOST, ())} if "anyOf" in each else {}
                found.extend(_noted(one, one, lost) for one in self._branches(each, within))
            if len(found) > _MOST_BRANCHES:
                raise SchemaFaultError(
                    "too_large", f"there are more than {_MOST_BRANCHES} combinations of alternatives"
                )
        return found


def _listed(node: Mapping[str, Any], key: str) -> list[Any]:
    found = node.get(key)
    return list(found) if isinstance(found, (list, tuple)) else []


def _noted(made: dict[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """The head with the descriptions of the first of ``others`` that has one, and with all that they lost."""
    notes = {key: each[key] for each in reversed(others) for key in ANNOTATIONS if key in each}
    lost: list[Any] = []
    for each in others:
        lost.extend(one for one in each.get(LOST, ()) if one not in lost)
    made = {**made, **notes}
    made.pop(LOST, None)
    return {**made, LOST: lost} if lost else made


def _closed(made: Head, node: Mapping[str, Any]) -> Head:
    """``unevaluatedProperties`` as what it means once all that applies is in one place."""
    if made is None or "unevaluatedProperties" not in node:
        return made
    rest = node["unevaluatedProperties"]
    if "anyOf" in made:
        return {**made, "anyOf": [_closed(branch, node) for branch in made["anyOf"]]}
    return made if "additionalProperties" in made else {**made, "additionalProperties": rest}


def _with_null(head: Head) -> Head:
    if head is None:
        return {"type": ("null",)}
    if "anyOf" in head:
        return {**head, "anyOf": [*head["anyOf"], {"type": "null"}]}
    if values_of(head) is not None or "type" not in head:
        notes = {key: head[key] for key in head if key in ANNOTATIONS}
        rest = {key: value for key, value in head.items() if key not in notes}
        return {"anyOf": [rest, {"type": "null"}], **notes}
    return {**head, "type": tuple(dict.fromkeys([*head["type"], "null"]))}


def _is_presence(branch: Any) -> bool:
    """Whether a branch only says which properties must be given."""
    if not isinstance(branch, Mapping) or not branch.keys() <= _PRESENCE or branch.get("type", "object") != "object":
        return False
    inner = branch.get("not")
    return isinstance(branch.get("required"), (list, tuple)) or (isinstance(inner, Mapping) and _is_presence(inner))


def _presence_in_words(branches: Iterable[Mapping[str, Any]]) -> str:
    def words(branch: Mapping[str, Any]) -> str:
        needed = " and ".join(map(str, branch.get("required", ())))
        without = "without " + words(branch["not"]) if isinstance(branch.get("not"), Mapping) else ""
        return " ".join(part for part in (needed, without) if part) or "none"

    return "given must be " + " or ".join(words(branch) for branch in branches)
