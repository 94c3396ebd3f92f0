"""Single values from the environment (`AGENTFORGE_BEANS__MODEL__MODEL`) and the command line (`--set a.b=value`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agentforge.config import codes
from agentforge.config.diagnostic import did_you_mean, nearest
from agentforge.config.faults import ConfigurationFaults, Reporter
from agentforge.config.merge import put
from agentforge.config.nodes import Entry, MappingNode, Mark, Node, ScalarNode, SequenceNode
from agentforge.config.shapes import ROOT_KEYS
from agentforge.config.source import MAX_DEPTH, read_node

__all__ = ("FILE_ONLY_KEYS", "PREFIX", "SETTINGS_NAMES", "apply_environment", "apply_sets", "warn_of_new_beans")

#: What every variable of ours begins with.
PREFIX = "AGENTFORGE_"
#: Variables that are settings of the program (see `AgentForgeSettings`) and no values of the configuration.
SETTINGS_NAMES = frozenset(
    PREFIX + name
    for name in ("CONFIG", "DISABLE_PLUGINS", "LOAD_PLUGINS", "LOG_LEVEL", "PROFILES", "SECRETS_DIR", "STRICT_PLUGINS")
)
#: Keys that choose code and files, and so count only in a file or in Python.
FILE_ONLY_KEYS = frozenset({"scan", "include", "plugins"})


def apply_environment(
    root: MappingNode, variables: Mapping[str, tuple[str, Mark]], layer: str, warnings: list[str], reporter: Reporter
) -> MappingNode:
    """The tree with the values of variables that name a place in it: the prefix, then keys between ``__``.

    Keys are found whatever their case; one that is new is small. A value that begins with a bracket, a brace or a
    quote is YAML, any other is taken as it is. A name whose first part is no key of a configuration is a warning.
    """
    # Types first: a bean that gets another one begins anew, and the other variables belong to the new one.
    for name in sorted(variables, key=lambda name: (not name.upper().endswith("__TYPE"), name)):
        text, mark = variables[name]
        if not name.startswith(PREFIX) or name in SETTINGS_NAMES:
            continue
        parts = name.removeprefix(PREFIX).split("__")
        first = parts[0].lower()
        if first in FILE_ONLY_KEYS:
            _report_file_only(first, mark, reporter)
        elif first not in ROOT_KEYS or len(parts) < 2:
            warnings.append(_warning(name, parts, root))
        elif not all(parts):
            message = f"{name} names no place: a part between the double underscores is empty"
            step = f"Write {PREFIX}BEANS__NAME__KEY."
            reporter.report(codes.BAD_OVERRIDE, message, mark, next_step=step)
        else:
            root = _apply(root, _existing_keys(root, parts), text, mark, layer, name, reporter)
    return root


def apply_sets(root: MappingNode, sets: Sequence[str], reporter: Reporter) -> MappingNode:
    """The tree with the values of ``--set PATH=VALUE``; values are read as `apply_environment` reads them."""
    for given in sorted(sets, key=lambda given: not given.partition("=")[0].strip().endswith(".type")):
        path, equals, text = given.partition("=")
        # The value is not repeated: it may be a secret.
        mark = Mark.outside(f"command line --set {path if equals else '…'}")
        keys = tuple(path.strip().split("."))
        if not equals or not all(keys):
            message = "'--set' takes a path, an equals sign and a value"
            reporter.report(codes.BAD_OVERRIDE, message, mark, next_step="Write --set beans.model.temperature=0.2.")
        elif keys[0] in FILE_ONLY_KEYS:
            _report_file_only(keys[0], mark, reporter)
        elif keys[0] not in ROOT_KEYS:
            message = f"'--set {path}' names no place: unknown key '{keys[0]}' at the root"
            step = did_you_mean(keys[0], ROOT_KEYS)
            reporter.report(codes.UNKNOWN_KEY, message, mark, next_step=step, path=path)
        else:
            root = _apply(root, keys, text, mark, "command line", f"--set {path}", reporter)
    return root


def _apply(
    root: MappingNode, path: tuple[str, ...], text: str, mark: Mark, layer: str, name: str, reporter: Reporter
) -> MappingNode:
    dotted = ".".join(path)
    if len(path) > MAX_DEPTH:
        reporter.report(codes.TOO_LARGE, f"the path of {name} is deeper than {MAX_DEPTH} levels", mark)
        return root
    node = _read_value(text, mark, layer, name, dotted, reporter)
    if node is None:
        return root
    done = put(root, path, node, mark)
    if isinstance(done, MappingNode):
        return done
    message = f"{name} cannot be set: '{'.'.join(done)}' is no mapping"
    step = f"Set '{'.'.join(done)}' as a whole; lists are written [first, second]."
    reporter.report(codes.BAD_OVERRIDE, message, mark, next_step=step, path=dotted)
    return root


def _read_value(text: str, mark: Mark, layer: str, name: str, path: str, reporter: Reporter) -> Node | None:
    if not text.lstrip().startswith(("[", "{", '"', "'")):
        return ScalarNode(text, True, mark, layer)
    try:
        node = read_node(text, name, layer=layer)
    except ConfigurationFaults as faults:
        found = faults.diagnostics[0]
        message = f"the value of {name} cannot be read: {found.message}"
        step = found.next_step or "Put a text that begins with a bracket into quotes."
        reporter.report(found.code, message, mark, next_step=step, path=path)
        return None
    return None if node is None else _placed(node, mark)


def _placed(node: Node, mark: Mark) -> Node:
    # Lines and columns inside a variable help nobody: the variable is the place.
    if isinstance(node, MappingNode):
        entries = {key: Entry(mark, _placed(entry.node, mark)) for key, entry in node.entries.items()}
        return MappingNode(entries, mark, node.layer)
    if isinstance(node, SequenceNode):
        return SequenceNode(tuple(_placed(item, mark) for item in node.items), mark, node.layer)
    return replace(node, mark=mark)


def _existing_keys(root: MappingNode, parts: Sequence[str]) -> tuple[str, ...]:
    keys: list[str] = []
    node: Node | None = root
    for part in parts:
        known: Iterable[str] = node.entries if isinstance(node, MappingNode) else ()
        key = next((key for key in known if key.casefold() == part.casefold()), part.lower())
        node = node.get(key) if isinstance(node, MappingNode) else None
        keys.append(key)
    return tuple(keys)


def _report_file_only(key: str, mark: Mark, reporter: Reporter) -> None:
    message = f"'{key}' cannot be set from here: it chooses what is loaded"
    step = f"Write '{key}' into the configuration file, or give it in Python."
    reporter.report(codes.NOT_FROM_HERE, message, mark, next_step=step, path=key)


def _warning(name: str, parts: Sequence[str], root: MappingNode) -> str:
    settable = [key.upper() for key in ROOT_KEYS if key not in FILE_ONLY_KEYS]
    known = [PREFIX + "__".join([key, *parts[1:]]) for key in settable] if len(parts) > 1 else sorted(SETTINGS_NAMES)
    near = _parted(name, root) or nearest(name, known)
    return f"{name} has no effect: it is neither a setting nor the place of a value" + (
        f"; did you mean {near}?" if near else ""
    )


def _parted(name: str, root: MappingNode) -> str | None:
    """The variable that was meant where single underscores part ``beans``, the bean and its first key."""
    beans, rest = root.get("beans"), name.removeprefix(PREFIX)
    if not isinstance(beans, MappingNode) or not rest.upper().startswith("BEANS_"):
        return None
    rest = rest[len("BEANS_") :].lstrip("_")
    ids = sorted((each for each in beans.entries if rest.casefold().startswith(f"{each}_")), key=len)
    if not ids:
        return None
    key = rest[len(ids[-1]) :].lstrip("_")
    return f"{PREFIX}BEANS__{ids[-1].upper()}__{key}" if key else None


def warn_of_new_beans(before: MappingNode, after: MappingNode, warnings: list[str]) -> None:
    """A warning for each bean that only variables or the command line declare and whose name is near another's."""
    old, new = before.get("beans"), after.get("beans")
    if not isinstance(old, MappingNode) or not isinstance(new, MappingNode):
        return
    for bean_id, entry in new.entries.items():
        near = nearest(bean_id, old.entries) if bean_id not in old.entries else None
        # One of several, such as model2 beside model, is meant.
        if near is not None and bean_id.rstrip("_0123456789") != near.rstrip("_0123456789"):
            warnings.append(f"{entry.key_mark} declares a bean '{bean_id}' that no file has; did you mean '{near}'?")
