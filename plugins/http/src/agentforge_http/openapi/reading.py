"""Text of a stranger's document to plain values: JSON or YAML 1.2, bounded before anything is built (threat S5).

YAML's own composer is not used: it recurses without a bound, drops duplicate keys and reads ``on`` and dates as what
nobody wrote. Keys are always text (``200:`` in a list of responses is ``"200"``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NoReturn

from agentforge.errors import ConfigurationError

__all__ = ("MAX_ALIAS_NODES", "MAX_DEPTH", "MAX_NODES", "read_document")

MAX_DEPTH = 128
"""How deep a document may be nested."""
MAX_NODES = 1_000_000
"""How many values a document may consist of, aliases expanded."""
MAX_ALIAS_NODES = 50_000
"""How many values all aliases of a document may expand to."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(
    r"(?P<int>[-+]?(?:0|[1-9][0-9]*))\Z"
    r"|(?P<hex>0x[0-9a-fA-F]+)\Z"
    r"|(?P<octal>0o[0-7]+)\Z"
    r"|[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?\Z"
)
_LONGEST_NUMBER = 400
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}


def read_document(content: bytes, name: str, *, max_bytes: int) -> Any:
    """The values of the document ``name``. Raises `ConfigurationError` that says what is wrong with it, and where."""
    if len(content) > max_bytes:
        raise ConfigurationError(
            f"the document has {len(content):,} bytes, more than {max_bytes:,}",
            location=name,
            next_step="Import a smaller document, or raise max_document_bytes.",
        )
    text = _text(content, name)
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(
                text, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=_finite_or_text
            )
        except _DuplicateError as error:
            raise _refused(name, f"the key {str(error)[:100]!r} stands twice in one object") from None
        except RecursionError:
            raise _too_deep(name) from None
        except ValueError as error:
            if name.lower().endswith(("json", "#")):
                raise _refused(name, f"it is not JSON: {error}") from None
            value = _Yaml(name).read(text)  # YAML in its flow form
    else:
        value = _Yaml(name).read(text)
    _bounded(value, name)
    if "\\ud" in text.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _refused(name, "it holds half of a character (a lone surrogate)") from None
    return value


def _text(content: bytes, name: str) -> str:
    mark, encoding = next((each for each in _BOMS if content.startswith(each[0])), (b"", "utf-8"))
    try:
        return content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"the document is not {encoding.upper()}: byte {error.start + len(mark) + 1} fits no character",
            location=name,
            next_step="Convert it to UTF-8, for example with iconv.",
        ) from None


class _DuplicateError(Exception):
    pass


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        raise _DuplicateError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return made


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _bounded(value: Any, name: str) -> None:
    """Depth and size, for what the JSON parser let through; what YAML built is bounded again, aliases expanded."""
    level, depth, nodes = [value], 0, 0
    while level:
        depth += 1
        nodes += len(level)
        if depth > MAX_DEPTH:
            raise _too_deep(name)
        if nodes > MAX_NODES:
            raise _refused(name, f"it has more than {MAX_NODES:,} values")
        following: list[Any] = []
        for item in level:
            if type(item) is dict:
                following.extend(item.values())
            elif type(item) is list:
                following.extend(item)
        level = following


@dataclass(slots=True)
class _Frame:
    mapping: bool
    anchor: str | None
    made: Any
    key: str | None = None
    merges: list[Any] = field(default_factory=list)
    size: int = 1
    height: int = 0


class _Yaml:
    """Builds the values of one document from the parser's events."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int, int] | None] = {}
        self._expanded = 0
        self._root: Any = None

    def read(self, text: str) -> Any:
        from yaml import events as kinds

        documents = 0
        for event in self._events(text):
            kind = type(event)
            if kind is kinds.ScalarEvent:
                self._scalar(event)
            elif kind is kinds.MappingStartEvent or kind is kinds.SequenceStartEvent:
                self._open(event, kind is kinds.MappingStartEvent)
            elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
                self._close()
            elif kind is kinds.AliasEvent:
                self._alias(event)
            elif kind is kinds.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self._stop("a second document begins", event)
        return self._root

    def _events(self, text: str) -> Iterator[Any]:
        import yaml

        try:
            yield from yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
            raise _refused(self._name, f"it is not YAML{where}: {error.problem or 'it cannot be read'}") from None
        except yaml.YAMLError as error:
            raise _refused(self._name, f"it is not YAML: {str(error).splitlines()[0][:200]}") from None

    def _stop(self, fault: str, event: Any) -> NoReturn:
        mark = event.start_mark
        raise _refused(self._name, f"{fault} in line {mark.line + 1}, column {mark.column + 1}")

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None and event.tag != "!" and event.tag not in _TAGS:
            self._stop(f"the tag {event.tag[:80]!r}, which is not taken, stands", event)

    def _scalar(self, event: Any) -> None:
        self._check_tag(event)
        plain = bool(event.implicit[0])
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.mapping and frame.key is None:
            if event.anchor is not None:
                self._anchors[event.anchor] = (event.value, 1, 0)
            self._key(frame, "<<" if plain and event.value == "<<" else event.value, event, merge=plain)
            return
        value = event.value
        if plain or (event.tag is not None and event.tag not in ("!", "tag:yaml.org,2002:str")):
            value = _plain_value(value)
        self._add(value, 1, 0, event.anchor)

    def _key(self, frame: _Frame, text: str, event: Any, *, merge: bool) -> None:
        if text in frame.made:
            self._stop(f"the key {text[:100]!r} stands a second time", event)
        frame.key = "\0<<" if merge and text == "<<" else text

    def _open(self, event: Any, mapping: bool) -> None:
        if self._frames and self._frames[-1].mapping and self._frames[-1].key is None:
            self._stop("a key that is no text stands", event)
        self._check_tag(event)
        if len(self._frames) >= MAX_DEPTH:
            raise _too_deep(self._name)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._frames.append(_Frame(mapping, event.anchor, {} if mapping else []))

    def _close(self) -> None:
        frame = self._frames.pop()
        for merged in frame.merges:
            for key, value in merged.items():
                frame.made.setdefault(key, value)
        self._add(frame.made, frame.size, frame.height + 1, frame.anchor)

    def _alias(self, event: Any) -> None:
        known = self._anchors.get(event.anchor, ())
        if not known:
            fault = "is not there" if known == () else "contains itself"
            self._stop(f"the alias {event.anchor[:80]!r} {fault}; it stands", event)
        value, size, height = known
        self._expanded += size
        if self._expanded > MAX_ALIAS_NODES:
            self._stop(f"aliases expand to more than {MAX_ALIAS_NODES:,} values", event)
        if len(self._frames) + height > MAX_DEPTH:
            raise _too_deep(self._name)
        frame = self._frames[-1]
        if frame.mapping and frame.key is None:
            if not isinstance(value, str):
                self._stop("a key that is no text stands", event)
            self._key(frame, value, event, merge=False)
            return
        self._add(value, size, height, None)

    def _add(self, value: Any, size: int, height: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, size, height)
        if not self._frames:
            self._root = value
            return
        frame = self._frames[-1]
        frame.size += size
        if height > frame.height:
            frame.height = height
        if not frame.mapping:
            frame.made.append(value)
            return
        key, frame.key = frame.key, None
        if key == "\0<<":
            parts = value if isinstance(value, list) else [value]
            if not all(isinstance(part, dict) for part in parts):
                raise _refused(self._name, "'<<' takes a mapping or a list of mappings")
            frame.merges.extend(parts)
        else:
            frame.made[key] = value


def _plain_value(text: str) -> Any:
    """The value of a scalar without quotes, by the rules of YAML 1.2; digits with a leading zero stay text.

    >>> [_plain_value(text) for text in ("true", "no", "8", "1e3", "0o17", "0123", "2020-01-01", "~")]
    [True, 'no', 8, 1000.0, 15, '0123', '2020-01-01', None]
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    matched = _NUMBER.match(text)
    if matched is None:
        return text
    match matched.lastgroup:
        case "int":
            return int(text)
        case "hex":
            return int(text[2:], 16)
        case "octal":
            return int(text[2:], 8)
    return _finite_or_text(text)


def _finite_or_text(text: str) -> float | str:
    value = float(text)
    return value if isfinite(value) else text


def _refused(name: str, fault: str) -> ConfigurationError:
    return ConfigurationError(
        f"the document cannot be read: {fault}", location=name, next_step="Correct the document; it is JSON or YAML."
    )


def _too_deep(name: str) -> ConfigurationError:
    return _refused(name, f"it is nested deeper than {MAX_DEPTH} levels")
