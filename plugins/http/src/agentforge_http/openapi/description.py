"""An OpenAPI description or a Swagger 2.0 one, walked: which version it is, and its operations with all that they
inherit. Swagger's forms are turned into OpenAPI's here, so that nothing behind knows two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge_http.openapi.documents import Documents
from agentforge_http.openapi.schemas import Dialect
from agentforge_http.openapi.swagger import modern_parts
from agentforge_http.openapi.texts import one_line

__all__ = ("METHODS", "DescribedOperation", "Description", "Placed", "described")

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
"""The methods that a path may have, in the order in which operations of a path are listed by OpenAPI."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A part of a description with the document it stands in, which its references start from."""

    value: dict[str, Any]
    document: str


@dataclass(slots=True)
class DescribedOperation:
    """One operation. ``faults`` say why it cannot be used; ``body`` is its request body, in OpenAPI's form."""

    method: str
    path: str
    value: dict[str, Any]
    document: str
    servers: Any = None
    parameters: list[Placed] = field(default_factory=list)
    body: Placed | None = None
    callbacks: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def operation_id(self) -> str | None:
        """Its own name, where it has one."""
        found = self.value.get("operationId")
        return found.strip() or None if isinstance(found, str) else None

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        found = self.value.get("tags")
        return tuple(str(tag) for tag in found) if isinstance(found, list) else ()

    @property
    def place(self) -> str:
        """Method and path."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Description:
    """A whole description. ``dialect`` says how its schemas are to be read."""

    documents: Documents
    dialect: Dialect
    format: str
    title: str
    version: str | None
    notes: tuple[str, ...]

    @property
    def value(self) -> dict[str, Any]:
        """The root document."""
        root: dict[str, Any] = self.documents.value
        return root

    @property
    def is_swagger(self) -> bool:
        """Whether it is of version 2.0."""
        return self.dialect == "2.0"

    def webhooks(self) -> tuple[str, ...]:
        """The names of its webhooks, which are calls to us and no tools."""
        found = self.value.get("webhooks")
        return tuple(str(name) for name in found) if isinstance(found, dict) else ()

    def schemes(self) -> Mapping[str, str]:
        """Its security schemes by name, each in a few words."""
        if self.is_swagger:
            found = self.value.get("securityDefinitions")
        else:
            components = self.value.get("components")
            found = components.get("securitySchemes") if isinstance(components, dict) else None
        made: dict[str, str] = {}
        for name, scheme in found.items() if isinstance(found, dict) else ():
            if isinstance(scheme, dict) and isinstance(scheme.get("$ref"), str):
                target = self.documents.find(scheme["$ref"], self.documents.root)
                scheme = {} if isinstance(target, str) else target.value
            made[one_line(str(name))] = one_line(_scheme(scheme)) if isinstance(scheme, dict) else "unknown"
        return made

    def operations(self) -> Iterator[DescribedOperation]:
        """All operations, in the order in which they are written."""
        paths = self.value.get("paths")
        for path, item in paths.items() if isinstance(paths, dict) else ():
            if path.startswith("x-"):
                continue
            yield from self._of_path(path, item, self.documents.root)

    def _of_path(self, path: str, item: Any, document: str) -> Iterator[DescribedOperation]:
        fault: str | None = None
        if not isinstance(item, dict):
            return
        beside: dict[str, Any] = {}
        if isinstance(item.get("$ref"), str):
            found = self.documents.find(item["$ref"], document)
            beside = {key: value for key, value in item.items() if key != "$ref"}
            if isinstance(found, str):
                yield DescribedOperation("*", path, {}, document, faults=[found])
            elif isinstance(found.value, dict):
                item, document = {**found.value, **beside}, found.document
        shared, notes = self._parameters(item.get("parameters"), document)
        for key, value in item.items():
            method = key.lower()
            if method == "additionaloperations" and isinstance(value, dict):
                for name in value:
                    fault = "methods of its own kind are not sent"
                    yield DescribedOperation(str(name).upper(), path, {}, document, faults=[fault])
                continue
            if method == "query" and isinstance(value, dict) and "responses" in value:
                yield DescribedOperation("QUERY", path, value, document, faults=["the method QUERY is not sent"])
            if method not in METHODS:
                continue
            if not isinstance(value, dict):
                yield DescribedOperation(method.upper(), path, {}, document, faults=["it is no object"])
                continue
            yield self._operation(method.upper(), path, value, document, item, shared, notes)

    def _operation(
        self,
        method: str,
        path: str,
        value: dict[str, Any],
        document: str,
        item: Mapping[str, Any],
        shared: list[Placed | str],
        notes: list[str],
    ) -> DescribedOperation:
        made = DescribedOperation(method, path, value, document, notes=list(notes))
        made.servers = value.get("servers") or item.get("servers")
        own, more = self._parameters(value.get("parameters"), document)
        made.notes += more
        merged: dict[tuple[str, str], Placed] = {}
        for each in (*shared, *own):
            if isinstance(each, str):
                made.faults.append(each)
            else:
                merged[str(each.value.get("in")), str(each.value.get("name"))] = each
        parameters = list(merged.values())
        body = value.get("requestBody")
        if self.is_swagger:
            parts = modern_parts([(each.value, each.document) for each in parameters], value, self.value)
            made.parameters = [Placed(*each) for each in parts.parameters]
            made.body = Placed(parts.body, parts.body_document or document) if parts.body is not None else None
            made.faults += parts.faults
        else:
            made.parameters = parameters
            if body is not None:
                placed = self._resolved(body, document)
                if isinstance(placed, str):
                    made.faults.append(placed)
                else:
                    made.body = placed
        callbacks = value.get("callbacks")
        made.callbacks = tuple(str(name) for name in callbacks) if isinstance(callbacks, dict) else ()
        return made

    def _parameters(self, given: Any, document: str) -> tuple[list[Placed | str], list[str]]:
        """Each parameter, or why it is none."""
        made: list[Placed | str] = []
        notes: list[str] = []
        if given is not None and not isinstance(given, list):
            notes.append("its parameters are no list and were left out")
        for each in given if isinstance(given, list) else ():
            made.append(self._resolved(each, document))
        return made, notes

    def _resolved(self, value: Any, document: str) -> Placed | str:
        beside: dict[str, Any] = {}
        for _ in range(64):
            if not isinstance(value, dict):
                return "a part of it is no object"
            if not isinstance(value.get("$ref"), str):
                return Placed({**value, **beside} if beside else value, document)
            if self.dialect == "3.1" and "description" in value:
                beside.setdefault("description", value["description"])
            found = self.documents.find(value["$ref"], document)
            if isinstance(found, str):
                return found
            value, document = found.value, found.document
        return "a part of it refers to itself"


def described(documents: Documents) -> Description:
    """The description in these documents. Raises `ConfigurationError` for one that is none, or of another version."""
    value = documents.value
    name = documents.root.replace("\\", "/").rpartition("/")[2].partition("?")[0]
    if not isinstance(value, dict):
        raise _no_description(name, "it holds no mapping")
    told = value.get("openapi", value.get("swagger"))
    told_text = str(told).strip() if told is not None else ""
    version = re.match(r"(\d+)\.(\d+)", told_text)
    notes: list[str] = []
    dialect: Dialect
    if version is None:
        if isinstance(value.get("swaggerVersion"), (str, int, float)):
            raise _no_description(name, f"Swagger {value['swaggerVersion']} is too old")
        raise _no_description(name, "it says neither openapi nor swagger with a version")
    kind = (int(version[1]), int(version[2]))
    if "openapi" not in value and kind == (2, 0):
        dialect = "2.0"
    elif kind == (3, 0):
        dialect = "3.0"
    elif kind[0] == 3 and kind[1] >= 1:
        dialect = "3.1"
        if kind[1] > 1:
            notes.append(f"version {told_text[:20]} is read as 3.1; what only newer versions have is left out")
    else:
        raise _no_description(name, f"its version {told_text[:20]!r} is not known")
    if not isinstance(value.get("paths"), dict) and not isinstance(value.get("webhooks"), dict):
        if dialect != "3.1" or "components" not in value:
            raise _no_description(name, "it has no paths")
        notes.append("it has no paths")
    dialect_of_schemas = value.get("jsonSchemaDialect")
    if isinstance(dialect_of_schemas, str) and "/dialect/base" not in dialect_of_schemas:
        notes.append(f"its schemas are read as JSON Schema 2020-12, not as {dialect_of_schemas[:100]!r}")
    info = value.get("info")
    info = info if isinstance(info, dict) else {}
    return Description(
        documents,
        dialect,
        f"{'Swagger' if dialect == '2.0' else 'OpenAPI'} {told_text[:20]}",
        one_line(str(info.get("title") or ""))[:200] or name,
        one_line(str(info["version"]))[:100] if info.get("version") is not None else None,
        tuple(notes),
    )


def _scheme(scheme: Mapping[str, Any]) -> str:
    kind = str(scheme.get("type") or "unknown")
    if kind == "apiKey":
        return f"API key in {scheme.get('in')} {scheme.get('name')!r}"
    if kind == "http":
        return f"http {str(scheme.get('scheme')).lower()}"
    if kind == "basic":
        return "http basic"
    if kind == "oauth2":
        flows = scheme.get("flows")
        named = list(flows) if isinstance(flows, dict) else [scheme.get("flow")]
        return f"oauth2 {', '.join(str(flow) for flow in named)}"
    return kind[:40]


def _no_description(name: str, fault: str) -> ConfigurationError:
    return ConfigurationError(
        f"the document is no description of an API that can be imported: {fault}",
        location=name,
        next_step="Give an OpenAPI 3.0 or 3.1 document, or a Swagger 2.0 one.",
    )
