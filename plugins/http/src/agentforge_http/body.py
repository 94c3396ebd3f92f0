"""The body of a request: JSON, a form, multipart, text or bytes, from the arguments that make it up."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from agentforge_http.operation import BodyEncoding, HttpBody
from agentforge_http.styles import member_fault, query_pairs, value_text

__all__ = ("BodyFault", "encode_body", "is_json_type", "is_media_type")

_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+(\s*;[ -~]*)?", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s;\"]+)", re.IGNORECASE)
_FILE_KEYS = frozenset({"base64", "text", "file_name", "content_type"})


class BodyFault(Exception):  # noqa: N818  (never leaves the package: it becomes an argument error)
    """What is wrong with an argument: its name, and a sentence part."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument
        self.message = message


def is_json_type(media_type: str) -> bool:
    """Whether a media type is JSON or made of it.

    >>> is_json_type("application/problem+json; charset=utf-8"), is_json_type("text/html")
    (True, False)
    """
    kind = media_type.partition(";")[0].strip().lower()
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def is_media_type(text: str) -> bool:
    """Whether a text can be sent as a content type.

    >>> is_media_type("text/plain; charset=utf-8"), is_media_type("text/plain; x\\ny"), is_media_type("text")
    (True, False, False)
    """
    return _MEDIA_TYPE.fullmatch(text) is not None


def encode_body(
    body: HttpBody, arguments: Mapping[str, Any], boundary: Callable[[], str] = lambda: os.urandom(16).hex()
) -> tuple[bytes, str] | None:
    """The bytes and their content type; ``None`` where there is no body. Raises `BodyFault`."""
    kind = body.media_type.partition(";")[0].strip().lower()
    if body.argument is not None:
        if body.argument not in arguments:
            return None
        value = arguments[body.argument]
        members = {body.argument: body.argument}
    else:
        value = {wire: arguments[name] for name, wire in body.members.items() if name in arguments}
        members = {wire: name for name, wire in body.members.items()}
        if not value and not body.required:
            return None
    if is_json_type(kind):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), body.media_type
    if kind == "application/x-www-form-urlencoded" and isinstance(value, Mapping):
        return _form(value, body.encodings, members, body.argument), body.media_type
    if kind == "multipart/form-data" and isinstance(value, Mapping):
        return _multipart(value, body.encodings, members, body.argument, boundary)
    argument = body.argument or next(iter(body.members), "")
    if kind.startswith("text/"):
        return _text(value_text(value), body.media_type, argument)
    if not isinstance(value, str):
        raise BodyFault(argument, f"has to be text, as it is sent as {kind}")
    return _bytes_of(value, argument), body.media_type


def _form(
    value: Mapping[str, Any], encodings: Mapping[str, BodyEncoding], arguments: Mapping[str, str], whole: str | None
) -> bytes:
    pairs: list[tuple[str, str]] = []
    taken = {name.lower() for name in arguments} if whole is None else set()
    for name, member in value.items():
        how = encodings.get(name)
        if (how is None and isinstance(member, Mapping)) or (how is not None and is_json_type(how.content_type or "")):
            # Said nothing, an object is JSON; a list is repeated.
            member = value_text(member) if member is not None else None
        how = how if how is not None else BodyEncoding()
        made = query_pairs(name, member, how.style, how.explode, how.allow_reserved)
        if (fault := member_fault(made, name, taken)) is not None:
            raise BodyFault(arguments.get(name, name), fault)
        pairs += made
    return "&".join(f"{name}={text}" for name, text in pairs).encode()


def _multipart(
    value: Mapping[str, Any],
    encodings: Mapping[str, BodyEncoding],
    arguments: Mapping[str, str],
    whole: str | None,
    boundary: Callable[[], str],
) -> tuple[bytes, str]:
    parts: list[tuple[bytes, bytes]] = []
    for name, member in value.items():
        how = encodings.get(name, BodyEncoding())
        as_json = is_json_type(how.content_type or "")
        for item in member if isinstance(member, list) and not as_json else [member]:
            if item is not None:
                parts.append(_part(name, item, how, whole or arguments.get(name, name)))
    made = boundary()
    while any(made.encode() in content for _, content in parts):
        made = boundary()
    lines = b"".join(b"--%b\r\n%b\r\n\r\n%b\r\n" % (made.encode(), head, content) for head, content in parts)
    return lines + b"--%b--\r\n" % made.encode(), f"multipart/form-data; boundary={made}"


def _text(text: str, media_type: str, argument: str) -> tuple[bytes, str]:
    """The text in the charset that its media type names; UTF-8, which is then said, where it names none."""
    named = _CHARSET.search(media_type)
    if named is None:
        return text.encode(), f"{media_type}; charset=utf-8"
    try:
        return text.encode(named[1]), media_type
    except (UnicodeError, LookupError):
        raise BodyFault(argument, f"cannot be written in {named[1][:40]!r}, which it is sent in") from None


def _part(name: str, value: Any, how: BodyEncoding, argument: str) -> tuple[bytes, bytes]:
    """The head and the content of one part."""
    kind = _one_type(how.content_type)
    file_name: str | None = None
    is_file = isinstance(value, Mapping) and bool(value) and ("base64" in value or "text" in value)
    if is_file and how.is_binary and _FILE_KEYS.issuperset(value):
        file_name = str(value.get("file_name") or name)
        kind = str(value.get("content_type") or kind or "application/octet-stream")
        text = value.get("text")
        content = _bytes_of(str(value["base64"]), argument) if text is None else str(text).encode()
    elif how.is_binary:
        if not isinstance(value, str):
            raise BodyFault(argument, "has to be base64 text")
        content, file_name, kind = _bytes_of(value, argument), name, kind or "application/octet-stream"
    else:
        content = value_text(value).encode()
        if isinstance(value, Mapping | list):
            kind = kind or "application/json"
    if kind is not None and not is_media_type(kind):
        raise BodyFault(argument, f"has a content type that is none: {kind[:60]!r}")
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if file_name is not None:
        head += f'; filename="{_quoted(file_name)}"'
    if kind is not None:
        head += f"\r\nContent-Type: {kind}"
    return head.encode(), content


def _quoted(text: str) -> str:
    """As browsers write names in a part's head (WHATWG, multipart/form-data encoding)."""
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22").replace("\0", "%00")


def _one_type(declared: str | None) -> str | None:
    """The first media type of a list that is no range."""
    found = (each.strip() for each in (declared or "").split(","))
    return next((each for each in found if each and "*" not in each), None)


def _bytes_of(text: str, argument: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise BodyFault(argument, "is not base64") from None
