"""Short ways to import a description that is written in a test."""

from __future__ import annotations

from typing import Any

from agentforge_http.openapi.documents import one_document
from agentforge_http.openapi.importing import Imported, ImportOptions, import_description
from agentforge_http.operation import HttpOperation

BASE = "https://api.example.com"


def document(paths: Any = None, *, version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    """A description with these paths."""
    told = {"swagger": "2.0"} if version == "2.0" else {"openapi": version}
    return {**told, "info": {"title": "Shop", "version": "3"}, "paths": paths or {}, **more}


def imported(
    paths: Any = None, *, version: str = "3.1.0", options: dict[str, Any] | None = None, **more: Any
) -> Imported:
    """The import of a description with these paths; its requests go to `BASE`."""
    given = {"base_url": BASE, **(options or {})}
    return import_description(one_document(document(paths, version=version, **more)), ImportOptions(**given))


def one(operation: dict[str, Any], path: str = "/x", method: str = "post", **more: Any) -> HttpOperation:
    """The one operation of a description; fails with the report where there is none."""
    made = imported({path: {method: {"operationId": "op", **operation}}}, **more)
    assert len(made.operations) == 1, made.report.left_out
    return made.operations[0]


def refusal(operation: dict[str, Any], path: str = "/x", method: str = "post", **more: Any) -> str:
    """Why the one operation of a description was left out."""
    made = imported({path: {method: {"operationId": "op", **operation}}}, **more)
    assert made.operations == ()
    return made.report.left_out[0].reason


def body(schema: Any, media_type: str = "application/json", *, required: bool = True, **media: Any) -> dict[str, Any]:
    """An operation with this body."""
    return {"requestBody": {"required": required, "content": {media_type: {"schema": schema, **media}}}}


def translated(schema: Any, version: str = "3.1.0", **more: Any) -> Any:
    """The schema of a query parameter, as a tool has it."""
    if version == "2.0":
        made = one({"parameters": [{"name": "v", "in": "body", "schema": schema}]}, version=version, **more)
        found = made.schema["properties"]["body"]
        return {key: value for key, value in found.items() if value != "The body of the request."}
    made = one({"parameters": [{"name": "v", "in": "query", "schema": schema}]}, version=version, **more)
    return made.schema["properties"]["v"]


def notes(operation: dict[str, Any], path: str = "/x", method: str = "post", **more: Any) -> tuple[str, ...]:
    """What the report says of the one operation."""
    made = imported({path: {method: {"operationId": "op", **operation}}}, **more)
    return made.report.operations[0].notes
