"""The shape of a configuration's root and of a bean, checked before anyone asks what a bean's type is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agentforge.config import codes
from agentforge.config.bean_options import BeanOptions, kind_of, read_options, read_texts
from agentforge.config.diagnostic import did_you_mean, nearest
from agentforge.config.faults import Reporter
from agentforge.config.nodes import Entry, MappingNode, Mark, Node, ScalarNode
from agentforge.config.scalars import plain_value

__all__ = (
    "FORMAT_VERSION",
    "RESERVED_IDS",
    "ROOT_KEYS",
    "BeanDefinition",
    "BeanOptions",
    "RootDefinition",
    "read_bean",
    "read_root",
)

#: The version of the file format that this program reads.
FORMAT_VERSION = 1
#: The keys of a configuration's root; there are no others.
ROOT_KEYS = ("agentforge", "scan", "include", "plugins", "beans")
#: Names that no bean may have, since files and programs mean something else by them.
RESERVED_IDS = frozenset({"app", "bean", "beans", "type"})

_ID = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class BeanDefinition:
    """A bean as it stands in the file: ``settings`` are its keys without ``type`` and ``bean``, not yet checked."""

    id: str
    type: str
    type_mark: Mark
    settings: MappingNode
    options: BeanOptions
    mark: Mark
    anonymous: bool = False


@dataclass(frozen=True, slots=True)
class RootDefinition:
    """A whole configuration: its lists with the place of each name, its beans in the order of the file."""

    version: int
    scan: tuple[tuple[str, Mark], ...]
    include: tuple[tuple[str, Mark], ...]
    plugins: tuple[tuple[str, Mark], ...]
    beans: Mapping[str, BeanDefinition]
    mark: Mark

    def __post_init__(self) -> None:
        object.__setattr__(self, "beans", MappingProxyType(dict(self.beans)))


def read_root(node: MappingNode, reporter: Reporter) -> RootDefinition:
    """Check a configuration's root; faults go to the reporter, and what is whole is returned.

    ``agentforge`` (the format's version) may be left out.

    >>> from agentforge.config import from_mapping
    >>> root = read_root(from_mapping({"agentforge": 1, "beans": {"model": {"type": "scripted"}}}), Reporter())
    >>> root.beans["model"].type
    'scripted'
    """
    for key, entry in node.entries.items():
        if key not in ROOT_KEYS:
            message = f"unknown key '{key}' at the root"
            step = did_you_mean(key, ROOT_KEYS)
            reporter.report(codes.UNKNOWN_KEY, message, entry.key_mark, next_step=step, path=key)
    lists = {key: read_texts(node.get(key), key, reporter) for key in ("scan", "include", "plugins")}
    return RootDefinition(
        version=_read_version(node.entries.get("agentforge"), reporter),
        beans=_read_beans(node.get("beans"), reporter),
        mark=node.mark,
        **lists,
    )


def read_bean(
    bean_id: str,
    node: Node,
    reporter: Reporter,
    *,
    mark: Mark | None = None,
    path: str | None = None,
    anonymous: bool = False,
) -> BeanDefinition | None:
    """Check one bean, declared or written in place (``anonymous``); ``None`` when it has no usable type.

    Args:
        bean_id: Its id; that of an anonymous bean is made by the caller and not checked.
        node: The mapping with ``type``, the settings and, if need be, ``bean``.
        reporter: Takes the faults.
        mark: Where the bean's name stands, by default where its mapping begins.
        path: The dotted path for faults, by default ``beans.ID``.
        anonymous: Whether it stands inside the settings of another.
    """
    mark = node.mark if mark is None else mark
    path = f"beans.{bean_id}" if path is None else path
    if not anonymous:
        _check_id(bean_id, mark, path, reporter)
    if not isinstance(node, MappingNode):
        step = f"Write '{bean_id}: {{type: {node.text}}}'." if isinstance(node, ScalarNode) and node.text else None
        message = f"the bean '{bean_id}' is a mapping with a 'type', not {kind_of(node)}"
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path=path)
        return None
    options = read_options(node.get("bean"), f"{path}.bean", reporter)
    found = node.get("type")
    if found is None:
        _report_no_type(bean_id, node, mark, path, reporter)
        return None
    if not isinstance(found, ScalarNode) or not found.text or kind_of(found) == "nothing":
        message = f"the type of '{bean_id}' is a name, not {kind_of(found)}"
        step = "Such as 'type: scripted'."
        reporter.report(codes.BAD_VALUE, message, found.mark, next_step=step, path=f"{path}.type")
        return None
    settings = {key: entry for key, entry in node.entries.items() if key not in ("type", "bean")}
    return BeanDefinition(
        id=bean_id,
        type=found.text,
        type_mark=found.mark,
        settings=MappingNode(settings, node.mark, node.layer),
        options=options,
        mark=mark,
        anonymous=anonymous,
    )


def _read_version(entry: Entry | None, reporter: Reporter) -> int:
    if entry is None:
        return FORMAT_VERSION
    node = entry.node
    version = plain_value(node.text) if isinstance(node, ScalarNode) else None
    if type(version) is not int or version != FORMAT_VERSION:
        shown = f"'{node.text}'" if isinstance(node, ScalarNode) else kind_of(node)
        reporter.report(
            codes.BAD_VERSION,
            f"this program reads version {FORMAT_VERSION} of the format, not {shown}",
            node.mark,
            next_step=f"Write 'agentforge: {FORMAT_VERSION}'; for a newer file install a newer agentforge-kit.",
            path="agentforge",
        )
    return FORMAT_VERSION


def _read_beans(node: Node | None, reporter: Reporter) -> dict[str, BeanDefinition]:
    if node is None or kind_of(node) == "nothing":
        return {}
    if not isinstance(node, MappingNode):
        message = f"'beans' is a mapping of names to beans, not {kind_of(node)}"
        step = "Give each bean a name: 'beans: {model: {type: scripted}}'."
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path="beans")
        return {}
    known = [key for key, entry in node.entries.items() if _has_type(entry.node)]
    found = {}
    for bean_id, entry in node.entries.items():
        if not entry.key_mark.in_file and known and isinstance(entry.node, MappingNode) and not _has_type(entry.node):
            _report_stray(bean_id, entry, known, reporter)
            continue
        bean = read_bean(bean_id, entry.node, reporter, mark=entry.key_mark)
        if bean is not None:
            found[bean_id] = bean
    return found


def _has_type(node: Node) -> bool:
    return isinstance(node, MappingNode) and "type" in node.entries


def _report_stray(bean_id: str, entry: Entry, known: list[str], reporter: Reporter) -> None:
    # A value from outside alone cannot make a bean: the name is misspelt.
    near = nearest(bean_id, known)
    reporter.report(
        codes.UNKNOWN_KEY,
        f"no bean is called '{bean_id}'",
        entry.key_mark,
        next_step=f"Did you mean '{near}'?" if near else f"Known here: {', '.join(known)}.",
        path=f"beans.{bean_id}",
    )


def _report_no_type(bean_id: str, node: MappingNode, mark: Mark, path: str, reporter: Reporter) -> None:
    near = nearest("type", node.entries)
    reporter.report(
        codes.MISSING_KEY,
        f"the bean '{bean_id}' has no 'type'",
        node.entries[near].key_mark if near else mark,
        next_step="Did you mean 'type'?" if near else "Say what it is, such as 'type: scripted'.",
        path=f"{path}.type",
    )


def _check_id(bean_id: str, mark: Mark, path: str, reporter: Reporter) -> None:
    if bean_id in RESERVED_IDS:
        message, step = f"'{bean_id}' is reserved and cannot name a bean", f"Take another name, such as 'my_{bean_id}'."
    elif not _ID.match(bean_id) or "__" in bean_id:
        message = f"'{bean_id}' cannot name a bean"
        step = "Names are small letters, digits and single underscores, and begin with a letter."
    else:
        return
    reporter.report(codes.BAD_BEAN_ID, message, mark, next_step=step, path=path)
