"""An API of our own that answers with what it understood, and its own description of itself."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import uvicorn
from fastapi import Body, Cookie, FastAPI, File, Form, Header, Path, Query, Request, UploadFile
from pydantic import BaseModel, ConfigDict

TOKEN = "token-of-the-description"
PLAIN = "^[a-zA-Z0-9_-]{1,20}$"


class Colour(Enum):
    """A choice."""

    RED = "red"
    DARK_BLUE = "dark blue"
    COMMA = "a,b"


class Item(BaseModel):
    """A flat object."""

    model_config = ConfigDict(extra="forbid")

    name: str
    price: float = 0.0
    tags: list[str] = []
    colour: Colour | None = None


class Node(BaseModel):
    """An object that holds others of its kind."""

    model_config = ConfigDict(extra="forbid")

    label: str
    children: list[Node] = []
    more: dict[str, int] = {}


class Filter(BaseModel):
    """An object for a body that holds two."""

    model_config = ConfigDict(extra="forbid")

    since: date
    kinds: set[int] = set()


class Fields(BaseModel):
    """The fields of a form."""

    model_config = ConfigDict(extra="forbid")

    title: str = Form(min_length=1)
    amount: int
    tags: list[str] = []


app = FastAPI(title="Echo", version="7")


@app.get("/path/{name}/{number}", operation_id="path_values")
def path_values(name: Annotated[str, Path(pattern="^[^/]{3,30}$")], number: int) -> Any:
    """Two values in the path."""
    return {"name": name, "number": number}


@app.get("/query", operation_id="query_values")
def query_values(
    text: str,
    number: float = 0.5,
    flag: bool = False,
    colour: Colour | None = None,
    words: Annotated[list[str], Query()] = [],  # noqa: B006
) -> Any:
    """Values of every kind in the query."""
    return {"text": text, "number": number, "flag": flag, "colour": colour, "words": words}


@app.get("/query/odd", operation_id="odd_names")
def odd_names(
    status: Annotated[str, Query(alias="filter[status]")], page: Annotated[int, Query(alias="$page", ge=1)] = 1
) -> Any:
    """Names that no argument can have."""
    return {"filter_status": status, "page": page}


@app.get("/query/formats", operation_id="formats")
def formats(day: date, id: UUID, numbers: Annotated[list[int], Query(min_length=1)]) -> Any:
    """Texts with a form, and a list of numbers."""
    return {"day": day, "id": id, "numbers": numbers}


@app.get("/headers", operation_id="header_values")
def header_values(
    x_text: Annotated[str, Header(pattern=PLAIN)], x_number: Annotated[int | None, Header()] = None
) -> Any:
    """Values in headers."""
    return {"x-text": x_text, "x-number": x_number}


@app.get("/cookies", operation_id="cookie_values")
def cookie_values(session: Annotated[str, Cookie(pattern=PLAIN)], number: Annotated[int, Cookie()] = 0) -> Any:
    """Values in cookies."""
    return {"session": session, "number": number}


@app.post("/items", operation_id="flat_body")
def flat_body(item: Item) -> Any:
    """An object whose members are arguments."""
    return item


@app.post("/nodes", operation_id="recursive_body")
def recursive_body(node: Node) -> Any:
    """An object that holds others of its kind."""
    return node


@app.put("/items/{name}", operation_id="same_name")
def same_name(name: Annotated[str, Path(pattern=PLAIN)], item: Item) -> Any:
    """One name in the path and in the body."""
    return {"path_name": name, "body": item}


@app.post("/lists", operation_id="list_body")
def list_body(numbers: list[int]) -> Any:
    """A list."""
    return {"body": numbers}


@app.post("/maps", operation_id="map_body")
def map_body(numbers: dict[str, list[bool]]) -> Any:
    """An object whose keys nobody knows."""
    return {"body": numbers}


@app.post("/either", operation_id="either_body")
def either_body(value: Annotated[Item | Filter | int, Body()]) -> Any:
    """One of several."""
    return {"body": value}


@app.post("/two", operation_id="two_objects")
def two_objects(item: Item, only: Filter, limit: Annotated[int, Body(gt=0)] = 1) -> Any:
    """Objects side by side."""
    return {"item": item, "only": only, "limit": limit}


@app.post("/maybe", operation_id="optional_body")
def optional_body(item: Item | None = None) -> Any:
    """A body that may be missing."""
    return {"body": item}


@app.post("/forms", operation_id="form_body")
def form_body(fields: Annotated[Fields, Form()]) -> Any:
    """A form."""
    return fields


@app.post("/files", operation_id="file_body")
async def file_body(
    document: UploadFile,
    note: Annotated[str, Form(min_length=1)],
    more: Annotated[list[UploadFile], File()] = [],  # noqa: B006
) -> Any:
    """Files and a text."""
    found = [base64.b64encode(await each.read()).decode() for each in (document, *more)]
    return {"document": found[0], "note": note, "more": found[1:]}


def _raw(media_type: str, schema: dict[str, object]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema}}}}


@app.post("/text", operation_id="text_body", openapi_extra=_raw("text/plain", {"type": "string"}))
async def text_body(request: Request) -> Any:
    """Plain text."""
    return {"body": (await request.body()).decode(), "type": request.headers["content-type"].partition(";")[0]}


@app.post("/bytes", operation_id="bytes_body", openapi_extra=_raw("image/png", {"type": "string", "format": "binary"}))
async def bytes_body(request: Request) -> Any:
    """Bytes."""
    return {
        "body": base64.b64encode(await request.body()).decode(),
        "type": request.headers["content-type"],
    }


@contextmanager
def running() -> Iterator[str]:
    """The address of the server while it runs."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        (listening,) = server.servers
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(5)
