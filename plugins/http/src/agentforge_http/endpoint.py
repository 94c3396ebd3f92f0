"""From an endpoint's settings to its operation, with everything that is wrong with it found at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.plugin import Finding
from agentforge.tool.execution import SchemaValidator
from agentforge_http.address_template import AddressTemplate
from agentforge_http.body import is_json_type, is_media_type
from agentforge_http.endpoint_settings import BodySettings, EndpointSettings
from agentforge_http.header_text import header_fault
from agentforge_http.operation import (
    SAFE_METHODS,
    STYLES,
    BodyEncoding,
    HttpBody,
    HttpOperation,
    HttpParameter,
    Place,
    Style,
)
from agentforge_http.parameter_words import OUR_WORDS, unknown_words
from agentforge_http.picking import pick_of
from agentforge_http.settings import HttpSettings
from agentforge_http.settings_findings import near_miss, no_argument, readable_run_values

__all__ = ("Endpoint", "shared_findings")

_MEDIA_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
    "text": "text/plain",
    "binary": "application/octet-stream",
}
_BODY_BY_DEFAULT = ("POST", "PUT", "PATCH")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null", "file")
_STYLES: Mapping[str, tuple[str, ...]] = {**STYLES, "body": STYLES["query"]}  # of the members of a form
_FILE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "the content, where it is text"},
        "base64": {"type": "string", "description": "the content, where it is binary"},
        "file_name": {"type": "string"},
        "content_type": {"type": "string"},
    },
    "additionalProperties": False,
}


class Endpoint:
    """One endpoint as it is read: ``findings`` are what is wrong, ``operation`` what it comes to where nothing is.

    ``place`` is the path of its settings (``tools.0``), ``address_key`` that of the one with the address,
    ``headers`` those that are constant.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        name: str,
        address: AddressTemplate,
        *,
        place: str = "",
        address_key: str = "url",
        headers: Iterable[str] = (),
        trusted: bool = True,
    ) -> None:
        self._settings = settings
        self._name = name
        self._address = address
        self._place = place
        self._address_key = address_key
        self._constant_headers = {each.lower() for each in headers}
        self._trusted = trusted
        self.findings: list[Finding] = []
        self._parameters: list[HttpParameter] = []
        self._members: dict[str, str] = {}
        self._encodings: dict[str, BodyEncoding] = {}
        self._paths: dict[str, str] = {}  # of the arguments, among the settings
        self.arguments, self._schema = self._read_schema()
        self._read_arguments()
        self._body = self._read_body()
        self._check_rest()

    @property
    def operation(self) -> HttpOperation:
        """The operation. Raises `ConfigurationError` with the first thing that is wrong."""
        for finding in self.findings:
            raise ConfigurationError(finding.message, location=finding.path or None, next_step=finding.next_step)
        return self._made()

    def _made(self) -> HttpOperation:
        settings, address = self._settings, self._address
        return HttpOperation(
            self._name,
            settings.method,
            address.base_url,
            address.path,
            settings.description,
            self._schema,
            tuple(self._parameters),
            self._body,
            settings.effect,
            host_is_trusted=self._trusted,
            constant_query=tuple(address.constants),
        )

    @property
    def in_path(self) -> Sequence[str]:
        """The placeholders of the path."""
        return self._address.in_path

    @property
    def reads(self) -> bool:
        """Whether the tool only reads."""
        return self._made().reads

    # -- the schema ------------------------------------------------------------------------------

    def _read_schema(self) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
        """Each argument as it is written, and the schema of all."""
        given = self._settings.parameters
        written = given.get("properties") if given.get("type") == "object" else None
        whole = isinstance(written, Mapping)
        if not isinstance(written, Mapping):
            written = given
        if whole:
            rest = {key: value for key, value in given.items() if key != "properties"}
            self._find_unknown(rest, "parameters", ours=False)
        arguments: dict[str, dict[str, Any]] = {}
        required: list[str] = list(given.get("required", ())) if whole else []
        properties: dict[str, Any] = {}
        for name, each in written.items():
            path = f"parameters.properties.{name}" if whole else f"parameters.{name}"
            each = {"type": each} if isinstance(each, str) else each
            if not isinstance(each, Mapping):
                self._find(f"the argument {name!r} is neither a type nor a schema", path, "Write {type: string}.")
                continue
            kind = each.get("type")
            if isinstance(kind, str) and kind not in _TYPES:
                near = near_miss(kind, _TYPES)
                step = f"Did you mean {near!r}?" if near else f"Write {_listed(_TYPES)}."
                self._find(f"there is no type {kind!r}", path, step)
                continue
            self._find_unknown(each, path, ours=True)
            arguments[name] = dict(each)
            self._paths[name] = path
            schema = {key: value for key, value in each.items() if key not in OUR_WORDS}
            needed = schema.get("required", [])
            if not isinstance(needed, list):  # which is that of an object's members
                del schema["required"]
                if not isinstance(needed, bool):
                    self._find("required is true or false, or a list of members", f"{path}.required", "Write true.")
                required += [name] if needed is True and name not in required else []
            if schema.get("type") == "file":
                schema = {**_FILE, **{key: value for key, value in schema.items() if key != "type"}}
            properties[name] = schema
        for name in [*self._address.in_path, *self._address.in_query]:
            if name not in arguments:
                near = near_miss(name, arguments)
                step = f"Did you mean {{{near}}}?" if near else "Declare it in parameters."
                self._find(f"the placeholder {{{name}}} names no argument", self._address_key, step)
        required += [
            name for name in dict.fromkeys(self._address.in_path) if name in arguments and name not in required
        ]
        if whole and given.get("additionalProperties", False) is not False:
            step = "Leave it out; or make one argument that takes them the whole body: body: {argument: NAME}."
            self._find("further arguments would go nowhere", "parameters.additionalProperties", step)
        base = {key: value for key, value in given.items() if key not in ("properties", "required")} if whole else {}
        made = {"additionalProperties": False, **base, "type": "object", "properties": properties, "required": required}
        return arguments, made

    def _find_unknown(self, schema: Mapping[str, Any], path: str, *, ours: bool) -> None:
        for word, where, step in unknown_words(schema, path, ours=ours):
            self._find(f"{word!r} is no word of a schema" + (" or parameter" if ours else ""), where, step)

    # -- where each argument goes ----------------------------------------------------------------

    def _read_arguments(self) -> None:
        for name, written in self.arguments.items():
            path = self._paths[name]
            place = self._place_of(name, written, path)
            if place is None:
                continue
            styles = _STYLES[place]
            style, explode = written.get("style", styles[0]), written.get("explode")
            if style not in styles:
                step = f"Write {_listed(styles)}."
                self._find(f"there is no style {style!r} for {place}", f"{path}.style", step)
                continue
            if explode is not None and not isinstance(explode, bool):
                self._find("explode is true or false", f"{path}.explode", None)
                continue
            reserved = written.get("allow_reserved", False)
            if not isinstance(reserved, bool):
                self._find("allow_reserved is true or false", f"{path}.allow_reserved", "Write true, or leave it out.")
                continue
            explode = explode if explode is not None else style in ("form", "deepObject")
            wire = written.get("wire_name", self._address.in_query.get(name, name))
            if not isinstance(wire, str) or not wire:
                self._find("a wire_name is a text that is not empty", f"{path}.wire_name", None)
                continue
            if place == "body":
                self._members[name] = wire
                kind, content_type = written.get("type"), written.get("content_type")
                if kind == "file" or content_type is not None or "style" in written or "explode" in written:
                    how = BodyEncoding(cast(Style, style), explode, reserved, content_type, kind == "file")
                    self._encodings[wire] = how
                continue
            if place == "header":
                self._check_header(wire, path)
            made = HttpParameter(name, wire, cast(Place, place), cast(Style, style), explode, reserved)
            self._parameters.append(made)

    def _place_of(self, name: str, written: Mapping[str, Any], path: str) -> str | None:
        settings, address = self._settings, self._address
        found = "path" if name in address.in_path else "query" if name in address.in_query else None
        said = written.get("in")
        if said is not None and said not in _STYLES:
            self._find(f"there is no place {said!r}", f"{path}.in", f"Write {_listed(tuple(_STYLES))}.")
            return None
        if found is not None and said not in (None, found):
            self._find(f"the argument {name!r} stands in the {found} of the address", f"{path}.in", "Leave this out.")
            return None
        if found == "path" and "wire_name" in written:
            self._find(f"the argument {name!r} has no name in the path", f"{path}.wire_name", "Leave this out.")
            return None
        if said == "path" and found is None:
            step = f"Write {{{name}}} where it goes."
            self._find(f"the argument {name!r} stands nowhere in the path", f"{path}.in", step)
            return None
        if found is None and said is None:
            found = "body" if settings.body is not None or settings.method in _BODY_BY_DEFAULT else "query"
        return str(said or found)

    def _check_header(self, wire: str, path: str) -> None:
        fault = header_fault(wire, "", credentials=False)
        if fault is None and wire.lower() == "content-type":
            fault = "cannot be set: it says what the body is"
        if fault is not None:
            self._find(f"the header {wire!r} {fault}", path, "Choose another header, or leave it out.")
        elif wire.lower() in self._constant_headers:
            self._find(f"the header {wire!r} is constant in headers, too", path, "Leave out one of the two.")

    # -- the body --------------------------------------------------------------------------------

    def _read_body(self) -> HttpBody | None:
        settings = self._settings
        wanted = settings.body_settings
        if wanted is None and not self._members:
            return None
        if settings.method in SAFE_METHODS:
            path = "body" if wanted is not None else self._paths[next(iter(self._members))]
            self._find(f"a {settings.method} has no body", path, "Put the arguments into the query, or change method.")
            return None
        body = wanted if wanted is not None else BodySettings()
        whole = body.argument
        if whole is not None and whole not in self.arguments:
            near = near_miss(whole, self.arguments)
            step = f"Did you mean {near!r}?" if near else "Declare it in parameters."
            self._find(f"the body's argument {whole!r} is not declared", "body.argument", step)
            return None
        if whole is None and body.format in ("text", "binary"):
            if len(self._members) != 1:
                said = f"{len(self._members)} arguments go there" if self._members else "no argument goes there"
                step = "Write body: {format: …, argument: NAME}, and say in: query of the others."
                self._find(f"a body of the format {body.format} is one argument, and {said}", "body", step)
                return None
            whole = next(iter(self._members))
        if whole is not None and (others := [name for name in self._members if name != whole]):
            step = "Say in: query (or header, cookie) of it, or leave out body.argument."
            self._find(f"{whole!r} is the whole body, so that {others[0]!r} goes nowhere", "body", step)
            return None
        if whole is not None and whole not in self._members:
            self._find(f"the argument {whole!r} goes elsewhere, too", "body.argument", "Say in: body of it.")
            return None
        if body.format == "binary" and whole is not None:
            self._schema["properties"][whole].setdefault("contentEncoding", "base64")
        media_type = body.media_type or _MEDIA_TYPES[body.format]
        if not _fits(media_type, body.format):
            usual = _MEDIA_TYPES[body.format]
            self._find(f"{media_type!r} is not of the format {body.format}", "body.media_type", f"Such as {usual}.")
            return None
        needed = any(name in self._schema["required"] for name in self._members)
        required = needed or (wanted is not None and whole is None and body.format == "json")
        members = {} if whole is not None else self._members
        return HttpBody(media_type, whole, members, required, self._encodings)

    # -- all else --------------------------------------------------------------------------------

    def _check_rest(self) -> None:
        settings = self._settings
        if settings.pick is not None:
            try:
                pick_of(settings.pick)
            except ConfigurationError as error:
                self._find(error.message, "pick", error.next_step)
        try:
            SchemaValidator(self._made().specification).prepare()
        except AgentForgeError as error:
            self._find(error.message, "parameters", error.next_step)
        except ValueError as error:
            self._find(str(error), "name", None)

    def _find(self, message: str, path: str, step: str | None) -> None:
        self.findings.append(Finding(message, f"{self._place}.{path}" if self._place else path, step))


def shared_findings(settings: HttpSettings, endpoints: Sequence[Endpoint]) -> Iterator[Finding]:
    """What of the shared settings fits none of the endpoints."""
    reading = [each for each in endpoints if each.reads]
    if settings.retries and not reading:
        step = "Leave it out, or declare effect: read where a call changes nothing."
        yield Finding("only tools that read are sent again, and here none does", "retries", step)
    if settings.idempotency_header is not None and len(reading) == len(endpoints):
        step = "Leave it out, or declare effect: write."
        yield Finding("only tools that write send a key, and here none does", "idempotency_header", step)
    known = {name for each in endpoints for name in each.arguments}
    in_paths = {name for each in endpoints for name in each.in_path}
    for key, value in readable_run_values(settings):
        if value.place == "path" and value.name not in in_paths:
            step = f"The placeholders are: {', '.join(sorted(in_paths)) or 'none'}."
            yield Finding(f"there is no placeholder {{{value.name}}}", "from_context", step)
        if value.place is None and value.name not in known:
            yield no_argument(key, known)
    wanted = settings.idempotency_argument
    if wanted is not None and settings.idempotency_header is not None and wanted not in known:
        near = near_miss(wanted, known)
        step = f"Did you mean {near!r}?" if near else f"The arguments are: {', '.join(sorted(known)) or 'none'}."
        yield Finding(f"there is no argument {wanted!r}", "idempotency_argument", step)


def _fits(media_type: str, format: str) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    if not is_media_type(media_type):
        return False
    if format == "json":
        return is_json_type(kind)
    if format == "text":
        return kind.startswith("text/")
    return kind == _MEDIA_TYPES[format] or format == "binary"


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
