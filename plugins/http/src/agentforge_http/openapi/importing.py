"""From a description to operations: which are wanted, under which names, each whole or left out with a reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote

from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.tool import Effect
from agentforge.tool.spec import distinct_tool_names
from agentforge_http.guard import HostList
from agentforge_http.openapi.bodies import Body, read_body
from agentforge_http.openapi.description import DescribedOperation, Description, described
from agentforge_http.openapi.documents import Documents
from agentforge_http.openapi.parameters import Parameters, read_parameters
from agentforge_http.openapi.report import ImportedOperation, ImportReport, LeftOut
from agentforge_http.openapi.schema_size import size_of
from agentforge_http.openapi.schema_values import Scope
from agentforge_http.openapi.schemas import SchemaTranslator
from agentforge_http.openapi.servers import Server, Servers
from agentforge_http.openapi.texts import one_line, plain_text, shortened
from agentforge_http.operation import SAFE_METHODS, HttpOperation

__all__ = ("ImportOptions", "Imported", "NamedOperation", "import_description", "matches", "named_operations")

MAX_SCHEMA_DEPTH = 64
"""How deep a tool's schema may be nested: the core's bound."""
MAX_SCHEMA_PARTS = 20_000
"""How many schemas a tool's schema may consist of: the core's bound."""
MAX_PARTS = 200_000
"""How many schemas those of all tools may consist of, definitions counted wherever they are used."""
_MEDIA_TYPE = re.compile(r"[a-zA-Z0-9!#$&^_.+-]+/[a-zA-Z0-9!#$&^_.+-]+")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is wanted of a description, and how. Patterns take ``*`` and ``?`` and speak of a tool's name before
    ``rename`` and ``prefix``, or of the operation's own.

    ``trusted`` says whether hosts of the configuration count as trusted, ``carries_credentials`` whether requests hold
    some, ``has_auth`` whether there are credentials for all operations, ``auth_schemes`` for which security schemes
    there are others. ``allow_hosts`` are internal hosts that may be called. ``given`` are places and names of
    parameters that the configuration fills; a write gets ``idempotency_header`` from us. ``needs_server`` is off where
    one only looks.
    """

    base_url: str | None = None
    server_variables: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    describe: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    effects: Mapping[str, Effect] = field(default_factory=dict)
    pick: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = True
    carries_credentials: bool = False
    has_auth: bool = False
    auth_schemes: frozenset[str] = frozenset()
    allow_hosts: tuple[str, ...] = ()
    given: frozenset[tuple[str, str]] = frozenset()
    idempotency_header: str | None = None
    needs_server: bool = True


@dataclass(frozen=True, slots=True)
class Imported:
    """The operations, and the report on them. ``server_fault`` is the first fault of a server that left one out;
    ``picks`` is what is picked from the answers, by the names of tools."""

    operations: tuple[HttpOperation, ...]
    report: ImportReport
    server_fault: AgentForgeError | None = None
    picks: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class NamedOperation:
    """An operation with the name of its tool and its own."""

    name: str
    own_name: str
    operation: DescribedOperation

    def fits(self, patterns: Iterable[str]) -> bool:
        """Whether one of its names fits one of the patterns."""
        return any(matches(self.name, pattern) or matches(self.own_name, pattern) for pattern in patterns)

    def of(self, mapping: Mapping[str, str]) -> str | None:
        """What stands under one of its names."""
        found = mapping.get(self.name)
        return found if found is not None else mapping.get(self.own_name)

    def last_of(self, patterns: Mapping[str, _Value]) -> _Value | None:
        """What stands under the last pattern that one of its names fits."""
        fitting = [value for pattern, value in patterns.items() if self.fits((pattern,))]
        return fitting[-1] if fitting else None


def matches(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern with ``*`` and ``?``."""
    return name == pattern or fnmatchcase(name, pattern)


def named_operations(description: Description) -> list[NamedOperation]:
    """All operations, each with the name of its tool, which no other of the description has."""
    found: list[tuple[str, DescribedOperation]] = []
    seen: set[str] = set()
    for operation in description.operations():
        own = operation.operation_id or f"{operation.method.lower()} {operation.path}"
        if own in seen:  # against the rules, and common
            operation.notes.append("its operationId is that of another operation, too; its name has method and path")
            own = f"{own} {operation.method.lower()} {operation.path}"
        seen.add(own)
        found.append((own, operation))
    names = distinct_tool_names(own for own, _ in found)
    return [NamedOperation(names[own], own, operation) for own, operation in found]


def import_description(documents: Documents, options: ImportOptions | None = None) -> Imported:
    """Import a description. Raises `ConfigurationError` for a document that is none.

    >>> from agentforge_http.openapi.documents import one_document
    >>> paths = {"/items/{id}": {"get": {"operationId": "get item"}}}
    >>> document = {"openapi": "3.1.0", "servers": [{"url": "https://api.example.com"}], "paths": paths}
    >>> made = import_description(one_document(document))
    >>> [(each.name, each.effect, list(each.schema["properties"])) for each in made.operations]
    [('get_item', 'read', ['id'])]
    """
    return _Import(described(documents), options or ImportOptions()).run()


class _Import:
    def __init__(self, description: Description, options: ImportOptions) -> None:
        self._description = description
        self._options = options
        self._schemas = SchemaTranslator(description.documents, description.dialect)
        self._schemes = description.schemes()
        self._servers = Servers(
            description,
            base_url=options.base_url,
            variables=options.server_variables,
            trusted=options.trusted,
            carries_credentials=options.carries_credentials,
            allow=HostList(options.allow_hosts),
        )
        self._operations: list[HttpOperation] = []
        self._listed: list[ImportedOperation] = []
        self._left_out: list[LeftOut] = []
        self._keywords: set[str] = set()
        self._server_fault: AgentForgeError | None = None
        self._unserved: dict[str, list[str]] = {}
        self._picks: dict[str, str] = {}
        self._parts = 0

    def run(self) -> Imported:
        for named in named_operations(self._description):
            self._one(named)
        description = self._description
        hooks = [LeftOut("webhook", one_line(name), "it is a call to us, not by us") for name in description.webhooks()]
        notes = list(description.notes)
        unused = set(self._options.server_variables) - self._servers.used_variables
        if unused and self._options.base_url is None and self._listed:
            notes.append(f"no server has the variable {min(unused)!r}, which server_variables gives")
        known = self._options.auth_schemes
        asking = [
            each
            for each in self._operations
            if each.security and not any(alternative <= known for alternative in each.security)
        ]
        if asking and not self._options.has_auth:
            schemes = ", ".join(sorted({name for each in asking for part in each.security or () for name in part}))
            told = "1 operation asks" if len(asking) == 1 else f"{len(asking)} operations ask"
            notes.append(f"{told} for credentials ({schemes}), and auth gives none")
        for fault, places in self._unserved.items():
            which = "" if len(places) == len(self._operations) else f"{', '.join(places[:5])}: "
            notes.append(f"{which}{fault}")
        report = ImportReport(
            description.format,
            description.title,
            description.version,
            tuple(self._listed),
            (*self._left_out, *hooks),
            tuple(sorted(self._keywords)),
            self._schemes,
            tuple(map(one_line, notes)),
        )
        return Imported(tuple(self._operations), report, self._server_fault, self._picks)

    def _one(self, named: NamedOperation) -> None:
        operation = named.operation
        unwanted = self._unwanted(named)
        reason = unwanted
        if reason is None and operation.faults:
            reason = operation.faults[0]
        if reason is None:
            made = self._made(named)
            if isinstance(made, str):
                reason = made
            else:
                self._operations.append(made)
        if reason is not None:
            place = one_line(operation.place)
            left = LeftOut("operation", place, one_line(reason), named.name, named.own_name, unwanted is not None)
            self._left_out.append(left)
        if unwanted is None:
            for name in operation.callbacks:
                reason = "it is a call to us, not by us"
                self._left_out.append(LeftOut("callback", one_line(f"{operation.place}: {name}"), reason))

    def _unwanted(self, named: NamedOperation) -> str | None:
        options, operation = self._options, named.operation
        if options.only and not named.fits(options.only):
            return "only does not name it"
        if named.fits(options.without):
            return "except names it"
        if options.tags and not set(options.tags).intersection(operation.tags):
            return "it has none of the wanted tags"
        if options.methods and operation.method not in options.methods:
            return f"methods does not name {operation.method}"
        return None

    def _made(self, named: NamedOperation) -> HttpOperation | str:
        """The operation, noted in the report; or why there is none."""
        operation, options = named.operation, self._options
        if operation.method == "TRACE":
            return "TRACE gives back what was sent, credentials among it"
        notes = list(operation.notes)
        path, query = _split(operation.path, notes)
        if not path.startswith("/"):
            return f"its path {operation.path[:100]!r} does not begin with a slash"
        if any(unquote(segment) in (".", "..") for segment in path.split("/")):
            return f"its path {operation.path[:100]!r} leads to another one"
        server: Server | None = None
        unserved: str | None = None
        try:
            server = self._servers.of(operation)
            notes += server.notes
        except ConfigurationError as error:
            if self._server_fault is None:
                self._server_fault = error
            if options.needs_server:
                return f"{error.message}. {error.next_step}"
            unserved = f"{error.message}. {error.next_step}"
        scope = Scope()
        effect = self._effect(named)
        given = options.given
        if options.idempotency_header is not None and effect == "write":
            given |= {("header", options.idempotency_header.lower())}
        parameters = read_parameters(operation.parameters, path, self._schemas, scope, given)
        wire = parameters.own_names() | set(parameters.names((), False).values())
        body: Body | None = None
        if operation.body is not None:
            read = read_body(operation.body, wire, self._schemas, self._description.documents, scope)
            if isinstance(read, str):
                return read
            body = read
        schema, arguments = self._schema(parameters, body, scope)
        for fault in (*parameters.faults, *scope.faults):
            return fault
        name = f"{options.prefix}{named.of(options.rename) or named.name}"
        notes += [*parameters.notes, *(body.notes if body is not None else ()), *scope.notes]
        self._keywords |= scope.keywords
        described_as = named.of(options.describe)
        made = HttpOperation(
            name=name,
            method=operation.method,
            base_url=server.url if server is not None else "",
            path=path,
            description=described_as if described_as is not None else self._text(operation, notes),
            schema=schema,
            parameters=tuple(each.as_parameter(arguments[index]) for index, each in enumerate(parameters.arguments)),
            body=body.body if body is not None else None,
            effect=effect,
            own_name=named.own_name,
            host_is_trusted=server is not None and server.is_trusted,
            accept=self._accept(operation),
            security=self._security(operation),
            constant_query=query,
            version=self._description.version,
        )
        if unserved is not None:
            self._unserved.setdefault(unserved, []).append(operation.place)
        picked = named.last_of(options.pick)
        if picked is not None:
            self._picks[name] = picked
        self._list(made, notes)
        return made

    def _list(self, made: HttpOperation, notes: list[str]) -> None:
        asked = [" + ".join(sorted(part)) or "none" for part in made.security or ()]
        self._listed.append(
            ImportedOperation(
                made.name,
                made.own_name or made.name,
                made.method,
                one_line(made.path),
                made.effect or "write",
                made.base_url or None,
                tuple(dict.fromkeys(map(one_line, asked))),
                tuple(dict.fromkeys(map(one_line, notes))),
            )
        )

    def _schema(
        self, parameters: Parameters, body: Body | None, scope: Scope
    ) -> tuple[dict[str, Any], Mapping[int, str]]:
        members: Collection[str] = body.names if body is not None else ()
        arguments = parameters.names(members, body is not None and body.is_whole)
        properties: dict[str, Any] = {}
        required: list[str] = []
        for index, each in enumerate(parameters.arguments):
            properties[arguments[index]] = each.schema
            if each.required:
                required.append(arguments[index])
        if body is not None:
            properties.update(body.properties)
            required += body.required
        schema: dict[str, Any] = {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        used = set(_references(properties))
        own = size_of(schema)
        parts, depth = own.parts, own.depth
        if used:
            schema["$defs"], size = self._schemas.definitions(
                used, scope, min(MAX_SCHEMA_PARTS, MAX_PARTS - self._parts)
            )
            parts, depth = parts + size.parts, max(depth, size.depth + 1)
        self._parts += parts  # what was counted in vain counts, too: the work is bounded
        if depth > MAX_SCHEMA_DEPTH:
            scope.faults.append(f"its schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")
        elif parts > MAX_SCHEMA_PARTS:
            scope.faults.append(f"its schema has more than {MAX_SCHEMA_PARTS:,} parts")
        elif self._parts > MAX_PARTS:
            told = f"the schemas of all operations have more than {MAX_PARTS:,} parts"
            scope.faults.append(f"{told}; choose fewer with only, tags or methods")
        return schema, arguments

    def _text(self, operation: DescribedOperation, notes: list[str]) -> str | None:
        summary, text = plain_text(operation.value.get("summary")), plain_text(operation.value.get("description"))
        if summary and text.startswith(summary):
            summary = ""
        whole = "\n\n".join(part for part in (summary, text) if part) or operation.place
        if operation.value.get("deprecated") is True:
            whole = f"Deprecated. {whole}"
            notes.append("it is deprecated")
        short = shortened(whole)
        if short != whole:
            notes.append(f"its description has {len(whole):,} characters and was cut to {len(short):,}")
        return short

    def _effect(self, named: NamedOperation) -> Effect:
        told = named.last_of(self._options.effects)
        return told if told is not None else "read" if named.operation.method in SAFE_METHODS else "write"

    def _security(self, operation: DescribedOperation) -> tuple[frozenset[str], ...] | None:
        given = operation.value.get("security", self._description.value.get("security"))
        if not isinstance(given, list):
            return None
        return tuple(frozenset(str(name) for name in part) for part in given if isinstance(part, dict))

    def _accept(self, operation: DescribedOperation) -> str:
        """The media types of good answers, JSON first, and all others behind them."""
        types: list[str] = []
        if self._description.is_swagger:
            produces = operation.value.get("produces", self._description.value.get("produces"))
            types = [each for each in produces if isinstance(each, str)] if isinstance(produces, list) else []
        else:
            responses = operation.value.get("responses")
            for status, response in responses.items() if isinstance(responses, dict) else ():
                if str(status)[:1] != "2" or not isinstance(response, dict):
                    continue
                if isinstance(response.get("$ref"), str):
                    found = self._description.documents.find(response["$ref"], operation.document)
                    response = {} if isinstance(found, str) or not isinstance(found.value, dict) else found.value
                content = response.get("content")
                types += [str(kind) for kind in content] if isinstance(content, dict) else []
        plain = [kind for kind in dict.fromkeys(types) if _MEDIA_TYPE.fullmatch(kind)]
        json_first = sorted(plain, key=lambda kind: not kind.endswith("json"))
        return ", ".join((*json_first[:1], "*/*;q=0.5")) if json_first else "*/*"


def _split(path: str, notes: list[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The path without a query or fragment, and the members of the query."""
    if "#" in path:
        path = path.partition("#")[0]
        notes.append("what stands behind # in its path was left out")
    path, mark, query = path.partition("?")
    parts = re.split(r"(\{[^{}/]*\})", path)
    path = "".join(part if number % 2 else quote(part, safe="/%:@!$&'()*+,;=~") for number, part in enumerate(parts))
    if not mark:
        return path, ()
    notes.append("the query in its path goes with every request")
    return path, tuple(parse_qsl(query, keep_blank_values=True))


def _references(value: Any) -> Iterable[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            reference = item.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                yield reference[8:]
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
