"""The shape of a configuration's root and of a bean, checked before anyone asks what a bean's type is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from agentforge.config import codes
from agentforge.config.bean_options import BeanOptions, read_options
from agentforge.config.diagnostic import did_you_mean, nearest
from agentforge.config.faults import Reporter
from agentforge.config.nodes import Entry, MappingNode, Mark, Node, ScalarNode, node_at
from agentforge.config.plugin_switches import PluginSwitches, read_plugins
from agentforge.config.scalars import plain_value
from agentforge.config.shapes import ROOT_KEYS, is_nothing, kind_of, read_texts

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
#: Names that no bean may have, since files and programs mean something else by them.
RESERVED_IDS = frozenset({"app", "bean", "beans", "type"})

#: Layers whose values belong to beans that others declare.
_OUTSIDE = frozenset({".env", "environment", "command line"})
_ID = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class BeanDefinition:
    """A bean as it stands in the file: ``settings`` are its keys without ``type`` and ``bean``, not yet checked.

    ``type`` is empty for an abstract bean without one, which only lends its settings.
    """

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
    plugins: PluginSwitches
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
    return RootDefinition(
        version=_read_version(node.entries.get("agentforge"), reporter),
        scan=read_texts(node.get("scan"), "scan", reporter),
        include=read_texts(node.get("include"), "include", reporter),
        plugins=read_plugins(node.get("plugins"), reporter),
        beans=_read_beans(node.get("beans"), reporter),
        mark=node.mark,
    )


def read_bean(
    bean_id: str,
    node: Node,
    reporter: Reporter,
    *,
    mark: Mark | None = None,
    path: str | None = None,
    anonymous: bool = False,
    usual: Sequence[str] = (),
) -> BeanDefinition | None:
    """Check one bean, declared or written in place (``anonymous``); ``None`` when it is no mapping.

    The ``type`` of a bean that says no usable one is empty; unless it is abstract, that is reported.

    Args:
        bean_id: Its id; that of an anonymous bean is made by the caller and not checked.
        node: The mapping with ``type``, the settings and, if need be, ``bean``.
        reporter: Takes the faults.
        mark: Where the bean's name stands, by default where its mapping begins.
        path: The dotted path for faults, by default ``beans.ID``.
        anonymous: Whether it stands inside the settings of another.
        usual: The types that it may have there, for the report that it has none.
    """
    mark = node.mark if mark is None else mark
    path = f"beans.{bean_id}" if path is None else path
    if not anonymous:
        _check_id(bean_id, mark, path, reporter)
    if not isinstance(node, MappingNode):
        # A value from outside may be anything, a key among it, and is not repeated.
        shown = node.text if isinstance(node, ScalarNode) and node.mark.in_file else ""
        step = f"Write '{bean_id}: {{type: {shown or '…'}}}'."
        message = f"the bean '{bean_id}' is a mapping with a 'type', not {kind_of(node)}"
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path=path)
        return None
    options = read_options(node.get("bean"), f"{path}.bean", reporter, in_place=anonymous)
    found = node.get("type")
    settings = MappingNode(
        {key: entry for key, entry in node.entries.items() if key not in ("type", "bean")}, node.mark, node.layer
    )
    if found is None:
        if options.abstract:
            return BeanDefinition(bean_id, "", mark, settings, options, mark)
        _report_no_type(bean_id, node, options, mark, path, reporter, anonymous, usual)
        # It is declared all the same, so that those who name it are not at fault.
        return BeanDefinition(bean_id, "", mark, settings, options, mark, anonymous)
    if not isinstance(found, ScalarNode) or not found.text or is_nothing(found):
        message = f"the type of '{bean_id}' is a name, not {kind_of(found)}"
        step = "Such as 'type: scripted'."
        reporter.report(codes.BAD_VALUE, message, found.mark, next_step=step, path=f"{path}.type")
        return BeanDefinition(bean_id, "", found.mark, settings, options, mark, anonymous)
    return BeanDefinition(
        id=bean_id,
        type=found.text,
        type_mark=found.mark,
        settings=settings,
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
    if node is None or is_nothing(node):
        return {}
    if not isinstance(node, MappingNode):
        message = f"'beans' is a mapping of names to beans, not {kind_of(node)}"
        step = "Give each bean a name: 'beans: {model: {type: scripted}}'."
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path="beans")
        return {}
    known = [key for key, entry in node.entries.items() if _has_type(entry.node)]
    found = {}
    for bean_id, entry in node.entries.items():
        if entry.node.layer in _OUTSIDE and _is_stray(bean_id, entry.node, known):
            _report_stray(bean_id, entry, known, reporter)
            continue
        bean = read_bean(bean_id, entry.node, reporter, mark=entry.key_mark)
        if bean is not None:
            found[bean_id] = bean
    return found


def _has_type(node: Node) -> bool:
    return isinstance(node, MappingNode) and "type" in node.entries


def _is_stray(bean_id: str, node: Node, known: list[str]) -> bool:
    """Whether a value from outside names no bean: it gives no type, or a key is stuck to the name of a bean."""
    if isinstance(node, MappingNode):
        return bool(known) and "type" not in node.entries
    return _stuck_to(bean_id, known) is not None


def _stuck_to(bean_id: str, known: list[str]) -> str | None:
    return next((each for each in known if bean_id.startswith(f"{each}_")), None)


def _report_stray(bean_id: str, entry: Entry, known: list[str], reporter: Reporter) -> None:
    # A value from outside alone cannot make a bean: the name is misspelt.
    stuck = _stuck_to(bean_id, known)
    step = did_you_mean(bean_id, known)
    if stuck is not None:
        parted = "a dot" if entry.node.layer == "command line" else "two underscores"
        step = f"Did you mean '{stuck}.{bean_id.removeprefix(f'{stuck}_')}'? Keys are parted by {parted}."
    reporter.report(
        codes.UNKNOWN_KEY,
        f"no bean is called '{bean_id}'",
        entry.key_mark,
        next_step=step,
        path=f"beans.{bean_id}",
    )


def _report_no_type(
    bean_id: str,
    node: MappingNode,
    options: BeanOptions,
    mark: Mark,
    path: str,
    reporter: Reporter,
    anonymous: bool,
    usual: Sequence[str],
) -> None:
    lost = any(fault.path.endswith(".bean.extends") for fault in reporter.diagnostics)
    if lost and node_at(node, ("bean", "extends")) is not None:
        return  # the base that would give it may be what is missing
    near = nearest("type", node.entries)
    what = f"'{bean_id}' is a bean, and its definition in place" if anonymous else f"the bean '{bean_id}'"
    such, kind = ":" if len(usual) == 1 else ", such as", usual[0] if usual else "scripted"
    reporter.report(
        codes.MISSING_KEY,
        f"{what} has no 'type'" + (f", nor has '{options.extends[0]}'" if options.extends else ""),
        node.entries[near].key_mark if near else mark,
        next_step="Did you mean 'type'?" if near else f"Say what it is{such} 'type: {kind}'.",
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
