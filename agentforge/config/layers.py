"""The layers of a configuration as one tree: includes, file, profiles, ``.env``, environment, command line.

Each layer lies over the ones before it; every value keeps the mark and the name of the layer that set it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentforge.config import codes
from agentforge.config.anew import Anew, beans_begun_anew
from agentforge.config.dotenv_file import DotenvVariable, read_dotenv
from agentforge.config.faults import ConfigurationFaults, Reporter
from agentforge.config.merge import merge
from agentforge.config.nodes import MappingNode, Mark, SequenceNode
from agentforge.config.overrides import SETTINGS_NAMES, apply_environment, apply_sets, warn_of_new_beans
from agentforge.config.shapes import is_nothing, read_texts
from agentforge.config.source import MAX_BYTES, decode, from_mapping, read_yaml
from agentforge.config.trust import Trust, is_inside

__all__ = ("MAX_INCLUDES", "Layers", "folder_of", "load_layers", "load_mapping")

#: How many files a configuration may include altogether; files that each include another twice double with every step.
MAX_INCLUDES = 200


@dataclass(frozen=True, slots=True)
class Layers:
    """The merged tree, not yet interpolated, and what was needed to make it.

    ``environment`` is the given one with ``.env`` below it, ``files`` the texts by the names that marks carry,
    ``folder`` that of the root file, ``warnings`` are sentences for the log, ``profiles`` those that are active,
    ``anew`` the beans that a profile or what lies above gave another type.
    """

    root: MappingNode
    environment: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    folder: Path
    warnings: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    trust: Trust = "code"
    anew: Mapping[str, Anew] = field(default_factory=dict)


def folder_of(mark: Mark, layers: Layers) -> Path:
    """The folder against which a relative path at ``mark`` is read: that of its file, else the root file's."""
    return Path(mark.file).parent if mark.in_file and mark.file in layers.files else layers.folder


def load_layers(
    file: Path,
    *,
    profiles: Sequence[str] = (),
    sets: Sequence[str] = (),
    environment: Mapping[str, str],
    dotenv: bool = True,
    trust: Trust = "code",
) -> Layers:
    """Read a configuration file and all that lies over and under it.

    Args:
        file: The root file.
        profiles: Each adds ``NAME-PROFILE.yaml`` beside the root file, the later over the earlier.
        sets: ``path=value`` from the command line.
        environment: The variables, such as ``os.environ``.
        dotenv: Whether the ``.env`` file beside the root file is read.
        trust: ``data`` for the files of strangers: ``scan``, files outside the root file's folder, and settings of the
            program in ``.env`` are faults.

    Raises:
        ConfigurationFaults: All faults of all files at once.
    """
    reporter = Reporter()
    inside = file.parent if trust == "data" else None
    bounds = _Bounds(inside)
    root = _read_file(file, "file", reporter)
    if root is None:
        root = MappingNode({}, Mark(str(file), 1, 1), "file")
    root = _with_includes(root, file, "file", (file.resolve(),), reporter, bounds)
    stages = [root]
    for profile in profiles:
        root = merge(root, _read_profile(file, profile, reporter, bounds))
        stages.append(root)
    lower = read_dotenv(file.parent / ".env", reporter) if dotenv else {}
    if inside is not None:
        _check_trust(root, lower, reporter)
    warnings: list[str] = []
    files_only = root
    from_dotenv = {name: (found.value, found.mark) for name, found in lower.items() if name not in environment}
    root = apply_environment(root, from_dotenv, ".env", warnings, reporter)
    stages.append(root)
    outside = {name: (text, Mark.outside(f"environment {name}")) for name, text in environment.items()}
    root = apply_environment(root, outside, "environment", warnings, reporter)
    stages.append(root)
    root = apply_sets(root, sets, reporter)
    stages.append(root)
    warn_of_new_beans(files_only, root, warnings)
    reporter.raise_if_any()
    return Layers(
        root=root,
        environment={**{name: found.value for name, found in lower.items()}, **environment},
        files=reporter.sources,
        folder=file.parent,
        warnings=tuple(warnings),
        profiles=tuple(profiles),
        trust=trust,
        anew=beans_begun_anew(stages),
    )


def load_mapping(
    data: Mapping[str, Any], *, folder: Path, environment: Mapping[str, str], trust: Trust = "code"
) -> Layers:
    """The layers of a mapping: what it includes, from ``folder``, lies below it, and nothing lies over it.

    With the trust ``data`` it may neither name ``scan`` nor leave ``folder``.

    Raises:
        ConfigurationFaults: All faults of all included files at once.
    """
    reporter = Reporter()
    inside = folder if trust == "data" else None
    root = _with_includes(from_mapping(data), folder / "the mapping", "python", (), reporter, _Bounds(inside))
    if inside is not None:
        _check_trust(root, {}, reporter)
    reporter.raise_if_any()
    return Layers(root, environment, reporter.sources, folder, trust=trust)


def _check_trust(root: MappingNode, dotenv: Mapping[str, DotenvVariable], reporter: Reporter) -> None:
    """Refuse what the files of strangers may not say: which code is imported, and how this program is set up."""
    scan = root.entries.get("scan")
    empty = scan is None or is_nothing(scan.node) or (isinstance(scan.node, SequenceNode) and not scan.node.items)
    if scan is not None and not empty:
        message = "'scan' chooses what is imported, and this configuration is read as data"
        step = "Take it out, or load the file with trust='code' if you believe it."
        reporter.report(codes.NOT_TRUSTED, message, scan.key_mark, next_step=step, path="scan")
    for name in sorted(SETTINGS_NAMES & dotenv.keys()):
        message = f"{name} is a setting of the program, and this configuration is read as data"
        step = "Take it out; the environment itself may set it."
        reporter.report(codes.NOT_TRUSTED, message, dotenv[name].mark, next_step=step)


def _read_profile(file: Path, profile: str, reporter: Reporter, bounds: _Bounds) -> MappingNode:
    empty = MappingNode({}, Mark(str(file), 1, 1), f"profile {profile}")
    beside = file.with_name(f"{file.stem}-{profile}{file.suffix}") if _is_name(profile) else None
    if beside is None or not beside.is_file():
        there = sorted(path.stem.removeprefix(f"{file.stem}-") for path in _profile_files(file))
        reporter.report(
            codes.PROFILE_NOT_FOUND,
            f"there is no profile '{profile}'" + (f": '{beside}' does not exist" if beside else ""),
            Mark.outside(f"profile {profile}"),
            next_step=f"Profiles beside '{file.name}': {', '.join(there)}."
            if there
            else "Create the file."
            if beside
            else f"A profile is the last part of a file's name: {file.stem}-PROFILE{file.suffix}.",
        )
        return empty
    layer = f"profile {profile}"
    found = _read_file(beside, layer, reporter, inside=bounds.inside)
    return empty if found is None else _with_includes(found, beside, layer, (beside.resolve(),), reporter, bounds)


def _is_name(profile: str) -> bool:
    return bool(profile) and not set(profile) & set("/\\\0") and profile not in (".", "..")


def _profile_files(file: Path) -> list[Path]:
    try:
        return [
            path
            for path in file.parent.iterdir()
            if path.suffix == file.suffix and path.stem.startswith(f"{file.stem}-")
        ]
    except OSError:
        return []


@dataclass(slots=True)
class _Bounds:
    """The folder that may not be left, if any, and how many files were included so far."""

    inside: Path | None
    included: int = 0


def _with_includes(
    node: MappingNode, file: Path, layer: str, chain: tuple[Path, ...], reporter: Reporter, bounds: _Bounds
) -> MappingNode:
    """The tree of a file over the trees of the files that it includes, the later of these over the earlier."""
    below: MappingNode | None = None
    problems = Reporter()  # the list itself is checked with the root, once
    for name, mark in read_texts(node.get("include"), "include", problems):
        path = file.parent / name
        if _resolved(path) in chain:
            circle = " -> ".join(each.name for each in (*chain[chain.index(_resolved(path)) :], path))
            reporter.report(
                codes.INCLUDE_CYCLE,
                f"files include one another: {circle}",
                mark,
                next_step="Remove one of the includes.",
                path="include",
            )
            continue
        bounds.included += 1
        if bounds.included > MAX_INCLUDES:
            if bounds.included == MAX_INCLUDES + 1:
                reporter.report(
                    codes.TOO_LARGE,
                    f"more than {MAX_INCLUDES} files are included",
                    mark,
                    next_step="Include each file once, in one place.",
                    path="include",
                )
            break
        found = _read_file(path, f"include {name}", reporter, at=mark, inside=bounds.inside)
        if found is None:
            continue
        if "scan" in found.entries:
            reporter.report(
                codes.NOT_FROM_HERE,
                "'scan' counts only in the root file and its profiles",
                found.entries["scan"].key_mark,
                next_step=f"Move it into '{chain[0].name if chain else file.name}'.",
                path="scan",
            )
        found = _with_includes(found, path, f"include {name}", (*chain, _resolved(path)), reporter, bounds)
        below = found if below is None else merge(below, found)
    if below is None:
        return node
    # The list of files is this file's own, as it lies above those of the included ones.
    return MappingNode(merge(below, node).entries, node.mark, layer)


def _read_file(
    path: Path, layer: str, reporter: Reporter, *, at: Mark | None = None, inside: Path | None = None
) -> MappingNode | None:
    name = str(path)
    if inside is not None and not is_inside(path, inside):
        message = f"the file '{path}' is outside the folder of the configuration, which is read as data"
        step = "Put the file into that folder, or load with trust='code' if you believe it."
        reporter.report(codes.NOT_TRUSTED, message, at or Mark.outside(layer), next_step=step)
        return None
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {_reason(error)}"
        step = (
            "Check the name; it is taken from the folder of the file that names it."
            if at
            else "Check the path, name another file with --config, or begin a project with agentforge init."
        )
        reporter.report(codes.FILE_NOT_READ, f"the file '{path}' {reason}", at or Mark.outside(name), next_step=step)
        return None
    try:
        text = decode(data, name)
        reporter.sources[name] = text
        return read_yaml(text, name, layer=layer)
    except ConfigurationFaults as faults:
        reporter.take(faults)
        return None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # what is wrong is said when it is read
        return path


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
