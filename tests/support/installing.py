"""Distributions installed for real, into a folder of their own, without a network: metadata as pip writes it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.programs import python_m_agentforge

__all__ = ("build", "install", "program", "python")

_OURS = ("AGENTFORGE_", "PYTHON", "PYTEST")
_INSTALL = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-index", "--no-deps", "--no-compile")
# What pip does with each folder in two processes of its own.
_BUILD = """
import os, sys
from hatchling.build import build_wheel
to, *folders = sys.argv[1:]
for each in folders:
    os.chdir(each)
    print(build_wheel(to))
"""


def build(sources: Iterable[Path], folder: Path) -> list[Path]:
    """Make wheels of distributions from their folders; where they are in ``folder``."""
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, folder, *sources], capture_output=True, text=True, encoding="utf-8", timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [folder / name for name in done.stdout.splitlines()]


def install(sources: Iterable[Path], target: Path) -> None:
    """Install distributions from their folders into ``target``, which goes on the search path by PYTHONPATH."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = build(sources, Path(folder))
        done = subprocess.run(
            [sys.executable, *_INSTALL, "--target", target, *wheels], capture_output=True, text=True, timeout=240
        )
    assert done.returncode == 0, done.stdout + done.stderr


def program(*words: str, cwd: Path, target: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program with what is installed in ``target``, and with what it wrote."""
    return _run(*python_m_agentforge(), *words, cwd=cwd, target=target, **environment)


def python(*words: str, cwd: Path, target: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """An interpreter with what is installed in ``target``."""
    return _run(sys.executable, *words, cwd=cwd, target=target, **environment)


def _run(*command: str, cwd: Path, target: Path | None, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("AGENTFORGE_", "PYTHON", "PYTEST"))
    }
    path: Mapping[str, str] = {} if target is None else {"PYTHONPATH": str(target)}
    return subprocess.run(
        command,
        cwd=cwd,
        env={**kept, **path, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
    )
