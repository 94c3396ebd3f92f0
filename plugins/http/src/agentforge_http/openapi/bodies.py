"""The body of a request: which of its media types is sent, and whether its members are arguments of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentforge_http.body import is_json_type
from agentforge_http.openapi.description import Placed
from agentforge_http.openapi.documents import Documents, Found
from agentforge_http.openapi.schema_values import ANNOTATIONS, Scope, is_binary
from agentforge_http.openapi.schemas import SchemaTranslator
from agentforge_http.openapi.texts import argument_name, plain_text, shortened
from agentforge_http.operation import STYLES, BodyEncoding, HttpBody

__all__ = ("Body", "read_body")

Kind = Literal["json", "form", "multipart", "text", "binary"]

_ORDER: tuple[Kind, ...] = ("json", "form", "multipart", "text", "binary")
_BYTES = ("image/", "audio/", "video/", "font/")
_BYTE_TYPES = frozenset(
    {"application/octet-stream", "application/pdf", "application/zip", "application/gzip", "application/x-tar"}
    | {"application/x-zip-compressed", "application/x-gzip", "application/x-protobuf"}
)
_ABOUT_FILE: Mapping[str, Any] = {
    "file_name": {"type": "string"},
    "content_type": {"type": "string", "pattern": "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$"},
}
#: A file as an object: as which of the two its content is given has to be said.
_FILES: tuple[Mapping[str, Any], ...] = tuple(
    {
        "type": "object",
        "properties": {key: content, **_ABOUT_FILE},
        "required": [key],
        "additionalProperties": False,
    }
    for key, content in (("base64", {"type": "string", "contentEncoding": "base64"}), ("text", {"type": "string"}))
)
_PLAIN = frozenset({"type", "properties", "required", "additionalProperties", "description", "default", "deprecated"})


@dataclass(slots=True)
class Body:
    """A body as arguments: ``properties`` and ``required`` of the tool's schema, and how they become ``body``."""

    body: HttpBody
    properties: dict[str, Any]
    required: list[str]
    notes: list[str] = field(default_factory=list)
    names: tuple[str, ...] = ()
    """The argument names of its members, which no parameter may have, so that the two can be told apart."""

    @property
    def is_whole(self) -> bool:
        """Whether one argument is all of it."""
        return self.body.argument is not None


def read_body(
    placed: Placed, parameters: Collection[str], schemas: SchemaTranslator, documents: Documents, scope: Scope
) -> Body | str | None:
    """The body; a text says why none of its media types can be sent. ``None``: it has none. ``parameters`` are the
    argument names of the operation's parameters, which no member may share."""
    content = placed.value.get("content")
    if content is None or content == {}:
        return None
    if not isinstance(content, dict):
        return "its body has no list of media types"
    notes: list[str] = []
    found: dict[Kind, tuple[str, Mapping[str, Any]]] = {}
    for media_type, media in content.items():
        media = media if isinstance(media, dict) else {}
        kind = _kind_of(str(media_type), media, placed.document, documents)
        if kind is not None:
            name = str(media_type).partition(";")[0].strip()
            if "*" in name:
                told, name = name, "application/json" if kind == "json" else "application/octet-stream"
                notes.append(f"its body may be {told}; it is sent as {name}")
            found.setdefault(kind, (name, media))
            if kind == "json" and name == "application/json":
                found[kind] = (name, media)
    for kind in _ORDER:
        if kind in found:
            media_type, media = found[kind]
            reader = _Reader(placed, kind, media_type, media, schemas, documents, scope, notes)
            return reader.read(parameters)
    named = ", ".join(str(each)[:60] for each in content)
    return f"its body is {named}, which cannot be sent"


def _kind_of(media_type: str, media: Mapping[str, Any], document: str, documents: Documents) -> Kind | None:
    name = media_type.partition(";")[0].strip().lower()
    schema = media.get("schema")
    if is_json_type(name):
        return "json"
    if name == "application/x-www-form-urlencoded":
        return "form"
    if name == "multipart/form-data":
        return "multipart"
    if name.startswith("multipart/"):
        return None
    if name in ("*/*", "application/*"):
        return "binary" if schema is None or is_binary(schema, document, documents) else "json"
    if name.startswith("text/") and "*" not in name:
        return "text" if _is_text(schema, document, documents) else None
    if (
        name.startswith(_BYTES)
        or name in _BYTE_TYPES
        or (schema is not None and is_binary(schema, document, documents))
    ):
        return "binary" if "*" not in name else None
    return None


def _raw(schema: Any, document: str, documents: Documents) -> tuple[Any, str]:
    """The schema with references at its root followed."""
    for _ in range(16):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            break
        found = documents.find(schema["$ref"], document)
        if not isinstance(found, Found):
            break
        schema, document = found.value, found.document
    return schema, document


def _is_text(schema: Any, document: str, documents: Documents) -> bool:
    raw, _ = _raw(schema, document, documents)
    if not isinstance(raw, dict) or not raw:
        return True
    kind = raw.get("type", "string")
    return "string" in (kind if isinstance(kind, list) else [kind]) and "properties" not in raw


def _file(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a file, or of each in a list: base64 text, or an object with its name and content."""
    if isinstance(schema.get("items"), dict):
        return {**schema, "items": _file(schema["items"])}
    if "string" not in schema.get("type", ()):
        return schema
    outside = {key: schema[key] for key in ANNOTATIONS if key in schema}
    inside = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
    return {**outside, "anyOf": [inside, *(dict(each) for each in _FILES)]}


@dataclass(slots=True)
class _Reader:
    placed: Placed
    kind: Kind
    media_type: str
    media: Mapping[str, Any]
    schemas: SchemaTranslator
    documents: Documents
    scope: Scope
    notes: list[str]

    def read(self, parameters: Collection[str]) -> Body:
        is_required = self.placed.value.get("required") is True
        written = self.media.get("schema", {})
        if self.kind == "text":
            schema = self.schemas.translated(written, self.placed.document, self.scope) or {"type": "string"}
            return self._whole({"type": "string", **schema}, is_required, {})
        if self.kind == "binary":
            text = f"{self.media_type} as base64 text."
            return self._whole({"type": "string", "contentEncoding": "base64", "description": text}, is_required, {})
        schema, whole, encodings = self._object(written)
        if self._is_flat(schema, is_required):
            flat = self._flat(schema, parameters, is_required, encodings)
            if flat is not None:
                return flat
        members = schema.get("properties", {}) if isinstance(schema.get("properties"), dict) else {}
        return self._whole(whole, is_required, encodings, members)

    def _object(self, written: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, BodyEncoding]]:
        """The schema with the reference at its root written out, the one to use as a whole, and the encodings."""
        whole = self.schemas.translated(written, self.placed.document, self.scope)
        schema = self.schemas.resolved(written, self.placed.document, self.scope)
        if not whole:
            whole = {"type": "object"} if self.kind in ("form", "multipart") else {}
        encodings = self._encodings(written) if self.kind in ("form", "multipart") else {}
        return schema, whole, encodings

    def _is_flat(self, schema: Mapping[str, Any], is_required: bool) -> bool:
        if schema.get("type", "object") != "object" or not schema.get("properties") or not set(schema) <= _PLAIN:
            return False
        if schema.get("additionalProperties", False) is not False:
            return False
        return is_required or not schema.get("required")

    def _flat(
        self,
        schema: Mapping[str, Any],
        parameters: Collection[str],
        is_required: bool,
        encodings: dict[str, BodyEncoding],
    ) -> Body | None:
        """The members as arguments; ``None`` where one has the name of a parameter."""
        members: dict[str, str] = {}
        properties: dict[str, Any] = {}
        for name, inner in schema["properties"].items():
            argument = argument_name(name)
            if argument in members or argument in parameters:
                return None
            members[argument] = name
            properties[argument] = inner
            if self.kind == "multipart" and name in encodings and encodings[name].is_binary:
                properties[argument] = _file(inner)
        by_name = {name: argument for argument, name in members.items()}
        required = [by_name[name] for name in schema.get("required", ()) if name in by_name]
        body = HttpBody(self.media_type, None, members, is_required, encodings)
        return Body(body, properties, required, self.notes, tuple(properties))

    def _whole(
        self,
        schema: dict[str, Any],
        is_required: bool,
        encodings: dict[str, BodyEncoding],
        members: Collection[str] = (),
    ) -> Body:
        text = shortened(plain_text(self.placed.value.get("description")))
        if text and "description" not in schema:
            schema = {**schema, "description": text}
        elif "description" not in schema:
            schema = {**schema, "description": "The body of the request."}
        body = HttpBody(self.media_type, "body", {}, is_required, encodings)
        names = tuple(argument_name(name) for name in members)
        return Body(body, {"body": schema}, ["body"] if is_required else [], self.notes, names)

    # -- members of forms ------------------------------------------------------------------------

    def _encodings(self, written: Any) -> dict[str, BodyEncoding]:
        told = self.media.get("encoding")
        told = told if isinstance(told, dict) else {}
        made: dict[str, BodyEncoding] = {}
        for name, (schema, document) in self._members(written, self.placed.document).items():
            own = told.get(name)
            made[name] = self._encoding(schema, document, own if isinstance(own, dict) else {})
        return made

    def _members(self, written: Any, document: str) -> dict[str, tuple[Any, str]]:
        """The members of the body, those of its parts and alternatives included, each with its document."""
        found: dict[str, tuple[Any, str]] = {}
        waiting = [(written, document)]
        seen: set[int] = set()
        while waiting:
            raw, where = _raw(*waiting.pop(), self.documents)
            if not isinstance(raw, dict) or id(raw) in seen:
                continue
            seen.add(id(raw))
            properties = raw.get("properties")
            for name, inner in properties.items() if isinstance(properties, dict) else ():
                found.setdefault(name, (inner, where))
            for key in ("oneOf", "anyOf", "allOf"):
                parts = raw.get(key)
                waiting += [(part, where) for part in reversed(parts)] if isinstance(parts, list) else []
        return found

    def _encoding(self, schema: Any, document: str, told: Mapping[str, Any]) -> BodyEncoding:
        style = told.get("style")
        style_told = style in STYLES["query"]
        explode = told.get("explode")
        has_style = style_told or isinstance(explode, bool) or told.get("allowReserved") is True
        content_type = told.get("contentType")
        kind = content_type.partition(",")[0].partition(";")[0].strip() if isinstance(content_type, str) else None
        binary = is_binary(schema, document, self.documents)
        if kind is None and not has_style and not binary and self._is_object(schema, document):
            kind = "application/json"
        if kind is not None and "*" in kind:
            kind = None
        if has_style and self.kind == "form":
            kind = None
        return BodyEncoding(
            style if style_told else "form",  # type: ignore[arg-type]
            explode if isinstance(explode, bool) else (style if style_told else "form") == "form",
            told.get("allowReserved") is True,
            kind,
            binary,
        )

    def _is_object(self, schema: Any, document: str) -> bool:
        raw, _ = _raw(schema, document, self.documents)
        if not isinstance(raw, dict):
            return False
        kind = raw.get("type")
        return kind == "object" or (kind is None and ("properties" in raw or "allOf" in raw))
