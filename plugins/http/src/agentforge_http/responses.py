"""From an answer to a tool's result. The declared content type is a hint: what the bytes are decides."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from math import isfinite
from typing import Any
from urllib.parse import unquote

from agentforge.errors import ToolExecutionError
from agentforge.model import AudioContent, FileContent, ImageContent
from agentforge.tool.execution import ToolExecutionResult
from agentforge_http.body import is_json_type
from agentforge_http.call_secrets import CallSecrets
from agentforge_http.picking import Pick

__all__ = ("Answer", "read_result")

_TEXTUAL = re.compile(
    r"text/.*|application/(?:.*\+xml|xml|javascript|ecmascript|x-www-form-urlencoded|(?:x-)?yaml|(?:x-)?ndjson|jsonl|"
    r"graphql|sql|toml)|.*\+yaml",
)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_MAGIC: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), kind)
    for pattern, kind in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF....WEBP", "image/webp"),
        (rb"RIFF....WAVE", "audio/wav"),
        (rb"ID3[\x02-\x04]|\xff[\xe2-\xe7\xf2-\xf7\xfa\xfb]", "audio/mpeg"),
        (rb"OggS", "audio/ogg"),
        (rb"fLaC", "audio/flac"),
        (rb"....ftypM4A", "audio/mp4"),
        (rb"%PDF-", "application/pdf"),
    )
)
#: Python's encodings that are no charset of the web, and whose decoders take the square of the time.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
_NAMED = 20  # members of an answer in which nothing was found
_LARGE_EXPONENT = re.compile(r"[eE]\+?[0-9]{3}")
# What no text holds but line ends and tabs; a form feed is one too.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(slots=True)
class Answer:
    """A good answer: header names are lower case; ``is_cut``: there was more than ``limit`` bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    is_cut: bool = False
    limit: int = 0


def read_result(answer: Answer, tool: str, secrets: CallSecrets, pick: Pick | None = None) -> ToolExecutionResult:
    """The result: ``result`` is the parsed JSON, or what was picked from it; secrets are masked in all texts. Where
    there is nothing to pick the text says so, and the attribute ``nothing_picked`` is set.

    Raises `ToolExecutionError` for a binary answer that was cut, and for one from which nothing can be picked.
    """
    declared = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    attributes: dict[str, object] = {"http_status": answer.status, "content_type": declared[:100] or None}
    if not answer.content:
        if pick is not None:
            raise _unpickable(tool, "the answer is empty")
        return ToolExecutionResult(f"Success (status {answer.status}, no content)", attributes=attributes)
    is_textual = is_json_type(declared) or _TEXTUAL.fullmatch(declared) is not None
    text = _text_of(answer) if is_textual or _sniffed(answer.content) is None else None
    if pick is not None:
        return _picked(answer, text, tool, secrets, pick, attributes)
    if text is None:
        return _file(answer, declared, tool, attributes)
    return _text_result(answer, text, declared, secrets, attributes)


def _text_result(
    answer: Answer, text: str, declared: str, secrets: CallSecrets, attributes: Mapping[str, object]
) -> ToolExecutionResult:
    result: Any = text
    notes: list[str] = []
    looks_so = not declared and text.lstrip()[:1] in ("{", "[")
    if answer.is_cut:
        notes.append(f"[cut: the answer is larger than {answer.limit:,} bytes (max_response_bytes)]")
    elif is_json_type(declared) or looks_so:
        parsed, fault = _parsed(text)
        if fault is None:
            result = parsed
        elif not looks_so:
            notes.append(f"[the answer says that it is JSON and is none: {fault}]")
    elif declared.startswith(("image/", "audio/")) and declared != "image/svg+xml":
        notes.append(f"[the answer says that it is {declared} and is text]")
    shown = secrets.mask(text)
    if result is text:
        result = shown
    elif shown != text or "\\" in text:  # without an escape the text says all that its strings do
        try:
            shown, result = _masked(shown, result, secrets)
        except RecursionError:  # at the very bound of what can be read
            result = shown
    return ToolExecutionResult("\n".join((shown, *notes)), result=result, attributes=attributes)


def _picked(
    answer: Answer, text: str | None, tool: str, secrets: CallSecrets, pick: Pick, attributes: Mapping[str, object]
) -> ToolExecutionResult:
    if answer.is_cut:
        raise ToolExecutionError(
            f"the answer is larger than {answer.limit:,} bytes, so that nothing can be picked from it",
            tool=tool,
            next_step="Raise max_response_bytes of the tool, or ask the API for less.",
        )
    if text is None:
        raise _unpickable(tool, "the answer is not text")
    document, fault = _parsed(text)
    if fault is not None:
        raise _unpickable(tool, f"the answer is not JSON: {_short(secrets.mask(text), 200)}")
    picked: Any = None
    shown = ""
    try:
        shown, picked = _masked(None, pick(document), secrets)
    except RecursionError:
        fault = "it is nested too deeply"
    except LookupError:
        told = f"nothing at {pick.expression!r} in the answer; {_members(document)}"
        return ToolExecutionResult(secrets.mask(told), result=None, attributes={**attributes, "nothing_picked": True})
    except ValueError as error:
        fault = str(error)
    if fault is not None:
        raise _unpickable(tool, secrets.mask(fault))
    return ToolExecutionResult(shown, result=picked, attributes=attributes)


def _members(document: Any) -> str:
    """What there is, where nothing was found: names without their values."""
    if isinstance(document, dict):
        names = [_short(str(name), 60) for name in document]
        more = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
        return f"its members are {', '.join(names[:_NAMED])}{more}" if names else "it has no members"
    if isinstance(document, list):
        return f"it is a list of {len(document):,}"
    return f"it is {'null' if document is None else 'a single value'}"


def _file(answer: Answer, kind: str, tool: str, attributes: Mapping[str, object]) -> ToolExecutionResult:
    """Bytes that are no text: a part of their kind, known by what they begin with."""
    if answer.is_cut:
        raise ToolExecutionError(
            f"the answer is a file larger than {answer.limit:,} bytes",
            tool=tool,
            next_step="Raise max_response_bytes of the tool.",
        )
    real = _sniffed(answer.content)
    data = base64.b64encode(answer.content).decode("ascii")
    if real is not None and real.startswith("image/"):
        return ToolExecutionResult(
            parts=(ImageContent(data=data, media_type=real),), result=answer.content, attributes=attributes
        )
    if real is not None and real.startswith("audio/"):
        return ToolExecutionResult(
            parts=(AudioContent(data=data, media_type=real),), result=answer.content, attributes=attributes
        )
    if real is None and (kind.startswith(("image/", "audio/", "text/")) or is_json_type(kind) or not kind):
        # It claims what a model could be shown, and is not: to pass it on would make the model's API fail.
        said = f"says that it is {kind[:80]} and is none" if kind else "does not say what it is"
        return ToolExecutionResult(
            f"[the answer {said}: {len(answer.content):,} bytes that are not shown]",
            result=answer.content,
            attributes=attributes,
        )
    media_type = real or (kind if _MEDIA_TYPE.fullmatch(kind) else "application/octet-stream")
    part = FileContent(data=data, media_type=media_type, name=_file_name(answer.headers))
    return ToolExecutionResult(parts=(part,), result=answer.content, attributes=attributes)


def _sniffed(content: bytes) -> str | None:
    head = content[:32]
    return next((kind for pattern, kind in _MAGIC if pattern.match(head)), None)


def _text_of(answer: Answer) -> str | None:
    """The content as text, by its charset, else UTF-8, else Latin-1 where it was called text; ``None``: it is none."""
    content = answer.content
    declared = answer.headers.get("content-type", "")
    charset = _parameter(declared, "charset")
    named = content[:4].startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in (*((charset,) if charset else ()), *(("utf-16",) if named else ()), "utf-8-sig"):
        try:
            text = _decoded(content, encoding, answer.is_cut)
        except (UnicodeError, LookupError, ValueError):
            continue
        return None if _CONTROL.search(text) else text
    kind = declared.partition(";")[0].strip().lower()
    text = content.decode("latin-1")
    if not (_TEXTUAL.fullmatch(kind) or is_json_type(kind)) or _CONTROL.search(text):
        return None
    return text


def _decoded(content: bytes, encoding: str, is_cut: bool) -> str:
    import codecs

    # Python's encodings that are none of text, such as zip, are refused by the decoder itself.
    found = codecs.lookup(encoding)
    if not getattr(found, "_is_text_encoding", True) or found.name.replace("_", "-") in _NO_CHARSETS:
        raise LookupError(encoding)
    return codecs.getincrementaldecoder(encoding)().decode(content, not is_cut)


def _parameter(header: str, name: str) -> str | None:
    message = Message()
    message["content-type"] = header
    found = message.get_param(name)
    return found.strip() if isinstance(found, str) else None


def _file_name(headers: Mapping[str, str]) -> str | None:
    """The last part of the name that the server gives: no folder, nothing that does not print."""
    message = Message()
    message["content-disposition"] = headers.get("content-disposition", "")
    try:
        found = message.get_filename()
    except (LookupError, ValueError):
        return None
    if not found:
        return None
    last = re.split(r"[/\\]", unquote(found))[-1]
    return "".join(each for each in last if each.isprintable())[:100] or None


def _parsed(text: str) -> tuple[Any, str | None]:
    """The document, or why there is none; not as an error, which would hold all of the text, unmasked. What is no
    number of JSON's, such as NaN, is ``null``, as browsers write it."""
    finite = _finite if _LARGE_EXPONENT.search(text) else None
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=finite), None
    except RecursionError:
        return None, "it is nested too deeply"
    except json.JSONDecodeError as error:
        return None, str(error)
    except ValueError:
        return None, "a number of it has too many digits"


def _finite(text: str) -> float | None:
    number = float(text)
    return number if isfinite(number) else None


def _masked(text: str | None, value: Any, secrets: CallSecrets) -> tuple[str, Any]:
    """A value of JSON, and ``text``, which says it, or its own text; without secrets in either, however they were
    escaped. Raises ``RecursionError`` for a value that is nested too deeply to be written."""
    if isinstance(value, str) and text is None:
        masked = secrets.mask(value)
        return masked, masked
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    masked = secrets.mask(written)
    if masked == written:
        return written if text is None else text, value
    again, fault = _parsed(masked)
    return masked, again if fault is None else masked


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _unpickable(tool: str, why: str) -> ToolExecutionError:
    return ToolExecutionError(
        f"nothing can be picked from the answer: {why}",
        tool=tool,
        next_step="Compare pick of the tool with what the API really answers.",
    )
