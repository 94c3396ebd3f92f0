"""The kinds of a schema that its ``discriminator`` tells apart: descriptions that inherit name the parent alone.

``Message`` declares what all messages share, and each kind of it is ``allOf`` the parent and its own members. Where a
``Message`` is asked for, any of the kinds is meant, and an argument that fits only the parent says too little.
"""

from __future__ import annotations

from typing import Any

from agentforge_http.openapi.documents import Documents, Found

__all__ = ("Choice", "Kinds", "Parent")

_MAX_KINDS = 200


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
