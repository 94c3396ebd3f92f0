"""The installation: Python, our distribution and what it needs, who owns the import package, the plugins."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from agentforge.cli.finding import Finding, Level

if TYPE_CHECKING:
    from agentforge.plugin import Plugins

__all__ = ("installation", "needed_by", "plugin_findings")

_KIT, _PACKAGE = "agentforge-kit", "agentforge"
_LEAST = (3, 11)
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<bounds>[^;)]*)\)?\s*(?P<rest>;.*)?"
)
_BOUND = re.compile(r"(>=|<=|==|!=|<|>|~=)\s*([0-9][\w.]*)")


def installation() -> Iterator[Finding]:
    """What there is to say whatever the configuration."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _LEAST:
        yield Finding("fault", "python", f"this is Python {version}", next_step="Use Python 3.11 or later.")
    else:
        yield Finding("ok", "python", version, where=sys.executable)
    try:
        kit = metadata.distribution(_KIT)
    except metadata.PackageNotFoundError:
        step = f"Install it: pip install {_KIT}."
        yield Finding("warning", "not-installed", f"the distribution {_KIT} is not installed", _origin(), step)
    else:
        yield from _package(kit)
        yield from needed_by(kit, "fault")
    yield from _strangers()


def plugin_findings(plugins: Plugins, used: Collection[str] | None) -> Iterator[Finding]:
    """The state of every plugin, each loaded before; ``used`` are the names that the configuration needs."""
    from agentforge.plugin.hooks import AGENTFORGE_API

    ours = ".".join(map(str, AGENTFORGE_API))
    for state in plugins.states():
        about = f"{state.name} ({state.distribution} {state.version})"
        if state.state == "active":
            idle = "" if used is None or state.name in used else "; this configuration does not use it"
            yield Finding("ok", "plugin", f"{about} is active, interface {ours}{idle}")
            try:
                yield from needed_by(metadata.distribution(state.distribution), "warning")
            except metadata.PackageNotFoundError:
                continue
        elif state.state == "blocked":
            level: Level = "fault" if used is not None and state.name in used else "ok"
            yield Finding(level, "plugin-blocked", f"{about} is blocked: {state.reason}")
        else:
            needed = used is not None and state.name in used
            step = (
                "Uninstall all of these distributions but one."
                if state.state == "duplicate"
                else f"Repair, update or uninstall {state.distribution}."
            )
            yield Finding(
                "fault" if needed else "warning",
                f"plugin-{state.state}",
                f"{about} {state.words}: {state.reason}",
                next_step=step,
            )


def needed_by(distribution: metadata.Distribution, level: Level) -> Iterator[Finding]:
    """The requirements of a distribution that are missing or of another version; its extras do not count."""
    name = distribution.metadata["Name"]
    wrong = False
    for line in distribution.requires or ():
        found = _REQUIREMENT.fullmatch(line)
        if found is None or found["rest"]:  # an extra, or something that depends on the machine
            continue
        try:
            version = metadata.version(found["name"])
        except metadata.PackageNotFoundError:
            wrong = True
            step = f"Install it: pip install '{found['name']}{found['bounds'].strip()}'."
            what = f"{name} needs {found['name']}, which is not installed"
            yield Finding(level, "dependency-missing", what, next_step=step)
            continue
        if not _fits(version, found["bounds"]):
            wrong = True
            step = f"Install one that fits: pip install '{found['name']}{found['bounds'].strip()}'."
            what = f"{name} needs {found['name']} {found['bounds'].strip()}, and {version} is installed"
            yield Finding(level, "dependency-version", what, next_step=step)
    if not wrong:
        yield Finding("ok", "dependencies", f"{name} has all that it needs")


def _fits(version: str, bounds: str) -> bool:
    """Whether a version lies in the bounds; of versions only the numbers count.

    >>> _fits("1.7.2", ">=1.7,<2"), _fits("2.0", ">=1.7,<2"), _fits("1.10", "!=1.9")
    (True, False, True)
    """
    here = _numbers(version)
    for sign, text in _BOUND.findall(bounds):
        there = _numbers(text)
        width = max(len(here), len(there))
        ours, theirs = (numbers + (0,) * (width - len(numbers)) for numbers in (here, there))
        holds = {
            ">=": ours >= theirs,
            "<=": ours <= theirs,
            "==": ours == theirs,
            "!=": ours != theirs,
            "<": ours < theirs,
            ">": ours > theirs,
            "~=": ours >= theirs and here[: len(there) - 1] == there[:-1],
        }
        if not holds[sign]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    matched = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, matched[0].split("."))) if matched else ()


def _origin() -> str:
    import agentforge

    return str(Path(agentforge.__file__).parent)


def _package(kit: metadata.Distribution) -> Iterator[Finding]:
    """Whether the package that was imported is the distribution's, and as it was installed."""
    from agentforge import __version__

    folder = Path(_origin())
    expected = _editable(kit) or Path(str(kit.locate_file(_PACKAGE)))
    if not (expected / "__init__.py").exists() or not folder.samefile(expected):
        yield Finding(
            "fault",
            "package-shadowed",
            f"'import {_PACKAGE}' gives another package than that of {_KIT} {kit.version}, which is in {expected}",
            str(folder),
            "Rename or remove the one that is found first; look at PYTHONPATH and at the working directory.",
        )
        return
    if __version__ != kit.version:
        step = f"Install it again: pip install --force-reinstall {_KIT}."
        what = f"the package says version {__version__}, its distribution {kit.version}"
        yield Finding("warning", "version-mismatch", what, str(folder), step)
    changed = sorted(_changed(kit))
    if changed:
        shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
        step = f"Uninstall what overwrote them, then: pip install --force-reinstall {_KIT}."
        what = f"files of {_KIT} are not as installed: {shown}"
        yield Finding("fault", "package-overwritten", what, str(folder), step)
    else:
        yield Finding("ok", "package", f"{_KIT} {kit.version}", str(folder))


def _editable(kit: metadata.Distribution) -> Path | None:
    """The package's folder in a checkout that was installed as editable."""
    try:
        source = json.loads(kit.read_text("direct_url.json") or "{}")
    except ValueError:
        return None
    if not source.get("dir_info", {}).get("editable"):
        return None
    return Path(unquote(urlsplit(source["url"]).path)) / _PACKAGE


def _changed(kit: metadata.Distribution) -> Iterator[str]:
    """The files of the package whose content is not what the installer noted."""
    for file in kit.files or ():
        if file.hash is None or file.parts[0] != _PACKAGE or file.hash.mode not in hashlib.algorithms_guaranteed:
            continue
        try:
            digest = hashlib.new(file.hash.mode, Path(str(file.locate())).read_bytes()).digest()
        except OSError:
            yield str(file)
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            yield str(file)


def _strangers() -> Iterator[Finding]:
    """Other distributions that bring a package of our name: whichever is installed last overwrites the other."""
    owners = {each.metadata["Name"] for each in metadata.distributions() if _brings_our_package(each)}
    for name in sorted(owners - {_KIT}):
        yield Finding(
            "fault",
            "package-not-ours",
            f"the distribution {name} also brings an import package '{_PACKAGE}'",
            next_step=f"Uninstall it, then install ours again: pip uninstall {name}; "
            f"pip install --force-reinstall {_KIT}.",
        )


def _brings_our_package(distribution: metadata.Distribution) -> bool:
    declared = (distribution.read_text("top_level.txt") or "").split()
    if declared:
        return _PACKAGE in declared
    # A look at the text tells of most that they do not; to read all lists of files takes seconds.
    if _PACKAGE not in (distribution.read_text("RECORD") or _PACKAGE):
        return False
    return any(file.parts[0] == _PACKAGE or str(file) == f"{_PACKAGE}.py" for file in distribution.files or ())
