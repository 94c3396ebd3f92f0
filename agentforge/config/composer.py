"""Nodes from the events of a YAML parser, without recursion and within bounds that hold before anything is built.

The parser's own composer is not used: it recurses without a bound and drops duplicate keys. Whatever is wrong with a
text is collected; the first fault that leaves no sense in going on ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from agentforge.config import codes
from agentforge.config.faults import Reporter
from agentforge.config.nodes import Entry, MappingNode, Mark, Node, ScalarNode, SequenceNode
from agentforge.config.scalars import plain_value
from agentforge.config.yaml_fault import MAX_DEPTH, report_yaml_error

__all__ = ("MAX_ALIAS_NODES", "MAX_DEPTH", "Composer")

#: How many nodes all aliases of a text may expand to.
MAX_ALIAS_NODES = 10_000


class _StopError(Exception):
    """The text makes no further sense; what is wrong has been reported."""


def _events(text: str, file: str, reporter: Reporter) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(text, Loader=loader)
    except yaml.YAMLError as error:
        report_yaml_error(error, text, file, reporter)
        raise _StopError from None


@dataclass(slots=True)
class _Built:
    """A node with what an alias to it would cost."""

    node: Node
    size: int = 1
    height: int = 0


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is being read."""

    mapping: bool
    mark: Mark
    anchor: str | None
    key: tuple[str, Mark, bool] | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: dict[str, Entry] = field(default_factory=dict)
    merge_seen: bool = False
    items: list[Node] = field(default_factory=list)
    size: int = 1
    height: int = 0


class Composer:
    """Builds the nodes of one document; whatever is wrong with it goes to the reporter."""

    def __init__(self, file: str, layer: str, reporter: Reporter) -> None:
        self._file = file
        self._layer = layer
        self._reporter = reporter
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Built | None] = {}
        self._expanded = 0
        self._root: Node | None = None

    def compose(self, text: str) -> Node | None:
        """The root of the text; ``None`` for an empty document, and for one with faults that end the reading."""
        try:
            return self._compose(_events(text, self._file, self._reporter))
        except _StopError:
            return None

    def _compose(self, events: Iterator[Any]) -> Node | None:
        from yaml import events as kinds

        documents = 0
        for event in events:
            mark = Mark(self._file, event.start_mark.line + 1, event.start_mark.column + 1)
            match event:
                case kinds.DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        self._stop(codes.UNUSED_YAML, "a second document begins here", mark, "Keep one per file.")
                case kinds.AliasEvent():
                    self._alias(str(event.anchor), mark)
                case kinds.ScalarEvent():
                    self._scalar(event, mark)
                case kinds.MappingStartEvent() | kinds.SequenceStartEvent():
                    self._open(event, mark, isinstance(event, kinds.MappingStartEvent))
                case kinds.MappingEndEvent() | kinds.SequenceEndEvent():
                    self._close()
        return self._root

    def _path(self, last: str | None = None) -> str:
        parts = [frame.key[0] if frame.key else str(len(frame.items)) for frame in self._frames]
        if last is not None:
            parts[-1:] = [last]
        return ".".join(parts)

    def _stop(self, code: str, message: str, mark: Mark, next_step: str) -> NoReturn:
        self._reporter.report(code, message, mark, next_step=next_step, path=self._path())
        raise _StopError

    def _at_key(self) -> bool:
        return bool(self._frames) and self._frames[-1].mapping and self._frames[-1].key is None

    def _check_tag(self, event: Any, mark: Mark) -> None:
        if event.tag is not None:
            name = event.tag.replace("tag:yaml.org,2002:", "!!")
            # What is meant as "not this" reads as a tag without a value.
            negation = not name.startswith("!!") and (name.endswith(",") or not getattr(event, "value", "-"))
            self._reporter.report(
                codes.UNUSED_YAML,
                f"the tag '{name}' is not taken here",
                mark,
                next_step=f'Put it in quotes: "{name.rstrip(",")}".'
                if negation
                else "Remove it; a value in quotes is text.",
                path=self._path(),
            )

    def _scalar(self, event: Any, mark: Mark) -> None:
        self._check_tag(event, mark)
        plain = bool(event.implicit[0])
        if self._at_key():
            self._key(event.value, plain, mark)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Built(ScalarNode(event.value, plain, mark, self._layer))
            return
        empty_root = not self._frames and plain and event.value == ""
        if not empty_root:
            self._add(_Built(ScalarNode(event.value, plain, mark, self._layer)), event.anchor)

    def _key(self, text: str, plain: bool, mark: Mark) -> None:
        frame = self._frames[-1]
        merge = plain and text == "<<"
        if plain and not merge and not isinstance(plain_value(text), str):
            self._reporter.report(
                codes.UNUSED_YAML,
                f"the key {text or 'of this entry'} is no text",
                mark,
                next_step=f'Put it in quotes: "{text}".',
                path=self._path(text),
            )
        first = frame.entries.get(text)
        if first is not None or (merge and frame.merge_seen):
            where = f" (first at {first.key_mark.line}:{first.key_mark.column})" if first else ""
            self._reporter.report(
                codes.DUPLICATE_KEY,
                f"the key '{text}' stands twice in this mapping{where}",
                mark,
                next_step="Keep one of them.",
                path=self._path(text),
            )
        frame.key = (text, mark, merge)

    def _open(self, event: Any, mark: Mark, mapping: bool) -> None:
        if self._at_key():
            what = "a mapping" if mapping else "a list"
            self._stop(codes.UNUSED_YAML, f"{what} cannot be a key", mark, "Keys are texts; quote a placeholder.")
        self._check_tag(event, mark)
        if len(self._frames) >= MAX_DEPTH:
            self._stop(codes.TOO_LARGE, f"nested deeper than {MAX_DEPTH} levels", mark, "Write it flatter.")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._frames.append(_Frame(mapping, mark, event.anchor))

    def _close(self) -> None:
        frame = self._frames.pop()
        node: Node
        if frame.mapping:
            node = MappingNode({**frame.merged, **frame.entries}, frame.mark, self._layer)
        else:
            node = SequenceNode(tuple(frame.items), frame.mark, self._layer)
        self._add(_Built(node, frame.size, frame.height + 1), frame.anchor)

    def _alias(self, anchor: str, mark: Mark) -> None:
        if anchor not in self._anchors:
            self._stop(codes.BAD_SYNTAX, f"no anchor '&{anchor}' stands above", mark, "Anchors come before aliases.")
        built = self._anchors[anchor]
        if built is None:
            self._stop(codes.TOO_LARGE, f"the alias '*{anchor}' contains itself", mark, "Write the value out.")
        self._expanded += built.size
        if self._expanded > MAX_ALIAS_NODES:
            message = f"aliases expand to more than {MAX_ALIAS_NODES:,} values"
            self._stop(codes.TOO_LARGE, message, mark, "Use fewer aliases of aliases.")
        if len(self._frames) + built.height > MAX_DEPTH:
            self._stop(codes.TOO_LARGE, f"nested deeper than {MAX_DEPTH} levels", mark, "Write it flatter.")
        if not self._at_key():
            self._add(built, None)
        elif isinstance(built.node, ScalarNode):
            self._key(built.node.text, built.node.plain, mark)
        else:
            self._stop(codes.UNUSED_YAML, f"the alias '*{anchor}' cannot be a key", mark, "Keys are texts.")

    def _add(self, built: _Built, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = built
        if not self._frames:
            self._root = built.node
            return
        frame = self._frames[-1]
        frame.size += built.size
        frame.height = max(frame.height, built.height)
        if not frame.mapping:
            frame.items.append(built.node)
            return
        assert frame.key is not None
        text, mark, merge = frame.key
        if merge:
            self._merge(frame, built.node, mark)
        elif text not in frame.entries:
            frame.entries[text] = Entry(mark, built.node)
        frame.key = None

    def _merge(self, frame: _Frame, node: Node, mark: Mark) -> None:
        frame.merge_seen = True
        parts: Sequence[Node] = node.items if isinstance(node, SequenceNode) else (node,)
        for part in parts:
            if not isinstance(part, MappingNode):
                self._reporter.report(
                    codes.BAD_VALUE,
                    "'<<' takes a mapping or a list of mappings",
                    mark,
                    next_step="Merge an alias of a mapping: '<<: *name'.",
                    path=self._path(),
                )
                return
            for key, entry in part.entries.items():
                frame.merged.setdefault(key, entry)
