"""The keywords of a schema that need no other schema: its type, bytes, choices, bounds, and whether it may be null."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentforge_http.openapi.documents import Documents
from agentforge_http.openapi.keywords import usable

__all__ = (
    "ANNOTATIONS",
    "Scope",
    "bounds_of",
    "encoding_of",
    "enum_of",
    "is_binary",
    "or_null",
    "type_of",
    "unwrapped",
)

ANNOTATIONS = ("description", "default", "deprecated")
"""Keywords that say nothing about which values are good."""

_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_MEANT = {
    "int": "integer",
    "long": "integer",
    "int32": "integer",
    "int64": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "str": "string",
    "text": "string",
    "date": "string",
    "datetime": "string",
    "date-time": "string",
    "uuid": "string",
    "file": "string",
    "list": "array",
    "map": "object",
}


@dataclass(slots=True)
class Scope:
    """What came up in a schema: the definitions it uses, why it cannot be used, and what was left out of it."""

    uses: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    keywords: set[str] = field(default_factory=set)

    def note(self, text: str) -> None:
        """Say once what was left out or changed."""
        self.notes[text] = None


def type_of(node: Mapping[str, Any], made: dict[str, Any], scope: Scope) -> Any:
    """The ``type`` of a schema, put into ``made``: words of other languages are read as what they mean."""
    given = node.get("type")
    if given is None:
        return None
    kinds: list[str] = []
    for kind in given if isinstance(given, list) else [given]:
        known = kind if isinstance(kind, str) and kind in _TYPES else _MEANT.get(str(kind).lower())
        if known is None:
            scope.note(f"the type {str(kind)[:40]!r} is none and was left out")
            return None
        if known != kind and kind != "file":
            scope.note(f"the type {kind!r} was read as {known!r}")
        if known not in kinds:
            kinds.append(known)
    if not kinds:
        return None
    made["type"] = kinds[0] if len(kinds) == 1 else kinds
    return made["type"]


def is_binary(node: Any, document: str, documents: Documents) -> bool:
    """Whether a value, or each of a list, is bytes: they are given as base64 text and go out as bytes."""
    for _ in range(8):
        if not isinstance(node, dict):
            return False
        if isinstance(node.get("$ref"), str):
            found = documents.find(node["$ref"], document)
            if isinstance(found, str):
                return False
            node, document = found.value, found.document
        elif isinstance(node.get("items"), dict) and node.get("type") in ("array", None):
            node = node["items"]
        else:
            return _is_bytes(node)
    return False


def _is_bytes(node: Mapping[str, Any]) -> bool:
    kind = node.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if kind == "file":
        return True
    if not any(each in ("string", None) for each in kinds):
        return False
    if node.get("format") == "binary":
        return True
    media = node.get("contentMediaType")
    return isinstance(media, str) and "contentEncoding" not in node and not _is_text(media)


def _is_text(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind.endswith(("json", "xml", "yaml"))


def encoding_of(node: Mapping[str, Any], made: dict[str, Any]) -> None:
    """Bytes as base64 text, which the description says, and the format of all else."""
    kind = node.get("format")
    if _is_bytes(node):
        made.setdefault("type", "string")
        made["contentEncoding"] = "base64"
        media = node.get("contentMediaType")
        made["description"] = _said(made, f"{media if isinstance(media, str) else 'Bytes'} as base64 text.")
    elif kind in ("byte", "base64"):
        made["contentEncoding"] = "base64"
        made["description"] = _said(made, "Base64 text.")
    else:
        if isinstance(kind, str):
            made["format"] = kind
        for key in ("contentEncoding", "contentMediaType"):
            if isinstance(node.get(key), str):
                made[key] = node[key]
        if made.get("contentEncoding") in ("base64", "base64url", "base16"):
            made["description"] = _said(made, f"{made['contentEncoding'].capitalize()} text.")


def _said(made: Mapping[str, Any], text: str) -> str:
    return f"{made['description']} ({text})" if made.get("description") else text


def enum_of(node: Mapping[str, Any], kind: Any, made: dict[str, Any], scope: Scope) -> None:
    """The choices, each once, and as text where the type is text."""
    given = node.get("enum")
    if given is None:
        return
    if not isinstance(given, list) or not given:
        scope.keywords.add("enum")
        return
    nullable = kind is None or kind == "null" or (isinstance(kind, list) and "null" in kind)
    values: dict[str, Any] = {}
    for value in given:
        if value is None and not nullable:
            continue
        if kind == "string" and not isinstance(value, (str, dict, list)):
            scope.note("values of an enum that are no text were read as text")
            value = json.dumps(value)
        values.setdefault(json.dumps(value, sort_keys=True), value)
    if values:
        made["enum"] = list(values.values())
    else:
        scope.keywords.add("enum")


def bounds_of(node: Mapping[str, Any], made: dict[str, Any], scope: Scope) -> None:
    """The bounds; exclusive ones in their present form, a number."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        limit, strictly = node.get(bound), node.get(exclusive)
        for key, value in ((bound, limit), (exclusive, strictly)):
            if value is None or (key == exclusive and isinstance(value, bool)):
                continue
            if usable(key, value):
                made[key] = value
            else:
                scope.keywords.add(key)
        if strictly is True and bound in made:
            made[exclusive] = made.pop(bound)


def unwrapped(made: dict[str, Any]) -> dict[str, Any]:
    """The one part of an ``allOf`` in its place, as which generators write a reference with a description."""
    parts = made.get("allOf")
    if parts is None or len(parts) != 1 or not isinstance(parts[0], dict) or not set(made) <= {"allOf", *ANNOTATIONS}:
        return made
    return {**parts[0], **{key: value for key, value in made.items() if key != "allOf"}}


def or_null(made: dict[str, Any]) -> dict[str, Any]:
    """The schema, or ``null``."""
    kind = made.get("type")
    if "const" in made:
        made = {**made, "enum": [made["const"]]}
        del made["const"]
    if "enum" in made and None not in made["enum"]:
        made = {**made, "enum": [*made["enum"], None]}
    if isinstance(kind, str) and kind != "null":
        return {**made, "type": [kind, "null"]}
    if isinstance(kind, list):
        return made if "null" in kind else {**made, "type": [*kind, "null"]}
    if kind == "null" or not set(made) - {*ANNOTATIONS, "enum"}:
        return made
    outside = {key: made[key] for key in ANNOTATIONS if key in made}
    inside = {key: value for key, value in made.items() if key not in ANNOTATIONS}
    return {**outside, "anyOf": [inside, {"type": "null"}]}
