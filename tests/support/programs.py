"""The program ``agentforge`` for tests that start it: forked from a process that has imported what it needs, so that it
starts in hundredths of a second, and in all else like the real one.

What a test says of the start itself (imports, signals, terminals, an installation of its own) it says of `REAL`; where
processes cannot be forked, all programs are real. `tests/program/test_forked.py` holds one against the other.
"""

from __future__ import annotations

import atexit
import functools
import os
import shlex
import socket
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

__all__ = ("REAL", "REAL_MODULE", "agentforge", "folder_of_programs", "python_m_agentforge")

_HERE = Path(__file__).parent
_SCRIPT = Path(sysconfig.get_path("scripts")) / "agentforge"
_CAN_FORK = all(hasattr(*each) for each in ((os, "fork"), (socket, "AF_UNIX"), (socket.socket, "sendmsg")))

#: The program as users start it.
REAL = (str(_SCRIPT),)
#: The same as a module of the interpreter, which puts the working directory on the search path.
REAL_MODULE = (sys.executable, "-m", "agentforge")


def agentforge() -> tuple[str, ...]:
    """The command `REAL`, forked."""
    return (os.path.join(folder_of_programs(), "agentforge"),) if _CAN_FORK else REAL


def python_m_agentforge() -> tuple[str, ...]:
    """The command `REAL_MODULE`, forked."""
    return (os.path.join(folder_of_programs(), "python-m-agentforge"),) if _CAN_FORK else REAL_MODULE


def folder_of_programs() -> str:
    """The folder with ``agentforge``, to be put first on PATH."""
    return _started() if _CAN_FORK else str(_SCRIPT.parent)


def _stub(address: str, form: str) -> str:
    """The text of a stub for this server: a program of the interpreter's, or of the shell where a first line cannot
    name the interpreter."""
    known = [address, str(_SCRIPT), form]
    if " " in sys.executable or len(sys.executable) > 100:
        words = [sys.executable, "-I", "-S", "-E", str(_HERE / "program_stub.py"), *known]
        return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
    text = (_HERE / "program_stub.py").read_text("utf-8")
    return f"#!{sys.executable} -ISE\nimport sys\n\nsys.argv[1:1] = {known!r}\n{text}"


@functools.cache
def _started() -> str:
    """Start the process from which they are forked; it ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="agentforge-"))
    address = str(folder / "socket")
    if len(os.fsencode(address)) > 100:  # the most that a socket's address may have
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="agentforge-", dir="/tmp"))
        address = str(folder / "socket")
    for name, form in (("agentforge", "script"), ("python-m-agentforge", "module")):
        (folder / name).write_text(_stub(address, form), "utf-8")
        (folder / name).chmod(0o755)
    # What a child sets by itself.
    left_out = ("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
    server = subprocess.Popen(
        [sys.executable, str(_HERE / "fork_server.py"), address],
        env={name: text for name, text in os.environ.items() if name not in left_out},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stdin is not None and server.stdout is not None and server.stderr is not None
    assert server.stdout.readline() == b"ready\n", server.stderr.read().decode()
    atexit.register(lambda: server.communicate(timeout=10))
    return str(folder)
