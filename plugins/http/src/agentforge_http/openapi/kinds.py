"""The kinds of a schema that its ``discriminator`` tells apart: descriptions that inherit name the parent alone.

``Message`` declares what all messages share, and each kind of it is ``allOf`` the parent and its own members. Where a
``Message`` is asked for, any of the kinds is meant, and an argument that fits only the parent says too little. Where a
kind names its parent, the members that all share are meant, and not the kinds once more: that would be a circle.
"""

from __future__ import annotations

from typing import Any

from agentforge_http.openapi.documents import Documents, Found

__all__ = ("Choice", "Kinds", "Parent")

_MAX_KINDS = 200
_MAX_LOOKED_AT = 1000
_LISTS = ("oneOf", "anyOf")


class Choice(dict[str, Any]):
    """A schema of ours: any of the kinds, each with its word."""


class Parent(dict[str, Any]):
    """A reference to the parent itself, and not to any of its kinds."""


class Kinds:
    """Finds the kinds of schemas: by the ``mapping`` of the discriminator, else by who inherits from them."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._heirs: dict[tuple[str, str], list[tuple[str, str, str]]] | None = None

    def choice(self, found: Found) -> Choice | None:
        """The schema of any of the kinds, to be read in the same document; ``None`` for one that has no kinds, or lists
        them itself."""
        value = found.value
        if not isinstance(value, dict) or "discriminator" not in value or {"oneOf", "anyOf"}.intersection(value):
            return None
        told = value["discriminator"]
        member = told.get("propertyName") if isinstance(told, dict) else told  # Swagger 2.0 has the name alone
        if not isinstance(member, str) or not member:
            return None
        mapping = told.get("mapping") if isinstance(told, dict) else None
        parts: list[dict[str, Any]] = []
        if isinstance(mapping, dict) and mapping:
            by_target: dict[str, list[str]] = {}
            for word, target in mapping.items():
                if isinstance(target, str):
                    by_target.setdefault(target, []).append(str(word))
            for target, words in list(by_target.items())[:_MAX_KINDS]:
                parts.append(self._kind(self._reference_of(target, found), words, member, found))
        else:
            heirs = self._heirs_of(found)[:_MAX_KINDS]
            for document, pointer, word in heirs:
                where = "" if document == found.document else document
                parts.append(self._kind(f"{where}#{pointer}", [word], member, found))
            if heirs:  # nothing says that the parent alone is none
                others = {member: {"not": {"enum": [word for _, _, word in heirs]}}}
                parts.append(Choice({"allOf": [Parent({"$ref": f"#{found.pointer}"})], "properties": others}))
        return Choice({"anyOf": parts}) if parts else None

    def heir(self, found: Found) -> Found:
        """The schema with what it inherits marked as that, where it is a kind of what it names in ``allOf``."""
        value = found.value
        parts = value.get("allOf") if isinstance(value, dict) else None
        if not isinstance(parts, list):
            return found
        marked = [Parent(part) if self._is_parent(part, found) else part for part in parts]
        return Found({**value, "allOf": marked}, found.document, found.pointer)

    def own(self, found: Found) -> Found | None:
        """What a parent that lists its kinds says itself; ``None`` for one that lists none."""
        if not isinstance(found.value, dict) or not any(key in found.value for key in _LISTS):
            return None
        rest = {key: value for key, value in found.value.items() if key not in (*_LISTS, "discriminator")}
        return Found(rest, found.document, f"{found.pointer}_own")

    def _is_parent(self, part: Any, heir: Found) -> bool:
        reference = part.get("$ref") if isinstance(part, dict) else None
        parent = self._documents.find(reference, heir.document) if isinstance(reference, str) else ""
        if not isinstance(parent, Found):
            return False
        me = (heir.document, heir.pointer)
        choice = self.choice(parent)
        waiting = [(choice if choice is not None else parent.value, parent.document)]
        seen: set[tuple[str, str]] = set()
        while waiting and len(seen) < _MAX_LOOKED_AT:
            node, document = waiting.pop()
            for key in (*_LISTS, "allOf") if isinstance(node, Choice) else _LISTS:
                listed = node.get(key) if isinstance(node, dict) else None
                waiting.extend((each, document) for each in listed) if isinstance(listed, list) else None
            reference = node.get("$ref") if isinstance(node, dict) else None
            found = self._documents.find(reference, document) if isinstance(reference, str) else ""
            if isinstance(found, Found) and not isinstance(node, Parent):
                place = (found.document, found.pointer)
                if place == me:
                    return True
                if place not in seen:
                    seen.add(place)
                    waiting.append((found.value, found.document))
        return False

    def _kind(self, reference: str, words: list[str], member: str, parent: Found) -> dict[str, Any]:
        target = self._documents.find(reference, parent.document)
        node: dict[str, Any] = {"$ref": reference}
        if isinstance(target, Found) and (target.document, target.pointer) == (parent.document, parent.pointer):
            node = Parent(node)
        return Choice({"allOf": [node], "properties": {member: {"enum": words}}, "required": [member]})

    def _reference_of(self, target: str, parent: Found) -> str:
        """A mapping names a reference, or a schema of the description."""
        if "#" in target or "/" in target or "." in target:
            return target
        before = parent.pointer.rpartition("/")[0]
        return f"#{before}/{target}"

    def _heirs_of(self, parent: Found) -> list[tuple[str, str, str]]:
        if self._heirs is None:
            self._heirs = {}
            for document, value in self._documents.values.items():
                for base in ("/components/schemas", "/definitions"):
                    self._add(document, value, base)
        return self._heirs.get((parent.document, parent.pointer), [])

    def _add(self, document: str, value: Any, base: str) -> None:
        for step in base.split("/")[1:]:
            value = value.get(step) if isinstance(value, dict) else None
        for name, schema in value.items() if isinstance(value, dict) else ():
            parts = schema.get("allOf") if isinstance(schema, dict) else None
            for part in parts if isinstance(parts, list) else ():
                reference = part.get("$ref") if isinstance(part, dict) else None
                found = self._documents.find(reference, document) if isinstance(reference, str) else ""
                if isinstance(found, Found) and self._heirs is not None:
                    pointer = f"{base}/{name.replace('~', '~0').replace('/', '~1')}"
                    heirs = self._heirs.setdefault((found.document, found.pointer), [])
                    heirs.append((document, pointer, name))
