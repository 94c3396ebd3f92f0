"""What a server's program gets of the environment: a small safe base, and what the file names. Never everything."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

__all__ = ("SAFE_VARIABLES", "environment_of")

SAFE_VARIABLES: tuple[str, ...] = (
    (
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    )
    if sys.platform == "win32"
    else ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
)
"""What programs need in order to be found and to run, and nothing that is ever a secret."""


def environment_of(
    configured: Mapping[str, str], passed: Iterable[str], variables: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a server: the safe base and the ``passed`` names of ``variables``, ``configured`` over them.

    >>> environment_of({"KEY": "k"}, ["REGION"], {"PATH": "/bin", "REGION": "eu", "TOKEN": "t"})
    {'PATH': '/bin', 'REGION': 'eu', 'KEY': 'k'}
    """
    # A value that begins like this is a function that a shell exported.
    made = {
        name: variables[name]
        for name in (*SAFE_VARIABLES, *passed)
        if name in variables and not variables[name].startswith("()")
    }
    return {**made, **configured}
