"""From a text or a mapping to nodes: what a file may be, checked before and after it is parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentforge.config import codes
from agentforge.config.composer import MAX_ALIAS_NODES, MAX_DEPTH, Composer
from agentforge.config.faults import ConfigurationFaults, Reporter
from agentforge.config.nodes import (
    LINE_BREAK,
    Entry,
    MappingNode,
    Mark,
    Node,
    ObjectNode,
    ScalarNode,
    SecretNode,
    SequenceNode,
)
from agentforge.config.scalars import plain_value, to_value
from agentforge.config.shapes import kind_of

__all__ = (
    "MAX_ALIAS_NODES",
    "MAX_BYTES",
    "MAX_DEPTH",
    "Entry",
    "MappingNode",
    "Mark",
    "Node",
    "ObjectNode",
    "ScalarNode",
    "SecretNode",
    "SequenceNode",
    "decode",
    "from_mapping",
    "read_node",
    "read_yaml",
    "to_value",
)

#: The longest text, in bytes of UTF-8.
MAX_BYTES = 1024 * 1024

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decode(data: bytes, file: str) -> str:
    """The text of a file's bytes: UTF-8, with or without a byte order mark.

    Raises:
        ConfigurationFaults: More than 1 MiB (AF104), or not UTF-8 (AF102), with the place of the first wrong byte.
    """
    if len(data) > MAX_BYTES:
        reporter = Reporter()
        _report_size(reporter, file)
        reporter.raise_if_any()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reporter = Reporter()
        before = error.object[: error.start].decode("utf-8", "replace")
        reporter.report(
            codes.BAD_ENCODING,
            f"the byte 0x{error.object[error.start]:02x} is not UTF-8",
            _mark_at(before, len(before), file),
            next_step="Save the file as UTF-8.",
        )
        reporter.raise_if_any()
        raise


def read_yaml(text: str, file: str, *, layer: str) -> MappingNode | None:
    """Read one YAML document whose root is a mapping; ``None`` for an empty document.

    Args:
        text: The document, at most 1 MiB.
        file: The name that marks and faults show.
        layer: Who sets these values, such as ``file`` or ``profile NAME``.

    Raises:
        ConfigurationFaults: Everything that is wrong with the text, each fault with its place.

    >>> root = read_yaml("beans:\\n  model: {type: scripted}", "app.yaml", layer="file")
    >>> str(root.entries["beans"].node.entries["model"].key_mark)
    'app.yaml:2:3'
    """
    node = read_node(text, file, layer=layer)
    if node is None or isinstance(node, MappingNode):
        return node
    reporter = Reporter({file: text})
    reporter.report(
        codes.BAD_VALUE,
        "the root of a configuration is a mapping of keys, not " + kind_of(node),
        node.mark,
        next_step="Begin with 'agentforge: 1' and 'beans:'.",
    )
    raise ConfigurationFaults(reporter.diagnostics, reporter.sources)


def read_node(text: str, file: str, *, layer: str) -> Node | None:
    """Read one YAML document of any kind, under the rules of `read_yaml`."""
    text = text.removeprefix("\ufeff")
    reporter = Reporter({file: text})
    _check_text(text, file, reporter)
    reporter.raise_if_any()
    root = Composer(file, layer, reporter).compose(text)
    reporter.raise_if_any()
    return root


def from_mapping(data: Mapping[str, Any], *, layer: str = "python") -> MappingNode:
    """Nodes of a Python mapping; whatever is no value of JSON stays as an `ObjectNode`.

    Raises:
        ConfigurationFaults: A key that is no text, or nesting deeper than `MAX_DEPTH` (a circle, for example).
    """
    node = _from_python(data, layer, "", 0)
    assert isinstance(node, MappingNode)
    return node


def _from_python(value: Any, layer: str, path: str, depth: int) -> Node:
    mark = Mark.outside(f"{layer} {path}" if path else layer)
    if depth > MAX_DEPTH:
        raise _python_fault(codes.TOO_LARGE, f"nested deeper than {MAX_DEPTH} levels", mark, path)
    if isinstance(value, Mapping):
        entries = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _python_fault(codes.UNUSED_YAML, f"the key {key!r} is no text", mark, path)
            inner = f"{path}.{key}" if path else key
            entries[key] = Entry(Mark.outside(f"{layer} {inner}"), _from_python(item, layer, inner, depth + 1))
        return MappingNode(entries, mark, layer)
    if isinstance(value, list | tuple):
        items = (_from_python(item, layer, f"{path}.{number}", depth + 1) for number, item in enumerate(value))
        return SequenceNode(tuple(items), mark, layer)
    if isinstance(value, str):
        return ScalarNode(value, False, mark, layer)
    if value is None or type(value) in (bool, int, float):
        text = {None: "null", True: "true", False: "false"}.get(value) if not _is_number(value) else repr(value)
        # Only where the text reads back as the same value; numbers such as infinity stay objects.
        if text is not None and type(plain_value(text)) is type(value) and plain_value(text) == value:
            return ScalarNode(text, True, mark, layer)
    return ObjectNode(value, mark, layer)


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _python_fault(code: str, message: str, mark: Mark, path: str) -> ConfigurationFaults:
    reporter = Reporter()
    reporter.report(code, message, mark, path=path)
    return ConfigurationFaults(reporter.diagnostics)


def _mark_at(text: str, position: int, file: str) -> Mark:
    breaks = [found.end() for found in LINE_BREAK.finditer(text, 0, position)]
    return Mark(file, len(breaks) + 1, position - (breaks[-1] if breaks else 0) + 1)


def _report_size(reporter: Reporter, file: str) -> None:
    reporter.report(
        codes.TOO_LARGE,
        f"the file is larger than {MAX_BYTES:,} bytes",
        Mark(file, 1, 1),
        next_step="Split it with 'include', or keep data in files of its own.",
    )


def _check_text(text: str, file: str, reporter: Reporter) -> None:
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        _report_size(reporter, file)
    elif found := _FORBIDDEN.search(text):
        reporter.report(
            codes.BAD_ENCODING,
            f"the character U+{ord(found[0]):04X} may not stand in YAML",
            _mark_at(text, found.start(), file),
            next_step='Remove it, or write it as an escape in double quotes, such as "\\x07".',
        )
