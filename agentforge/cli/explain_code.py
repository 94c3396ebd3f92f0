"""``agentforge explain AF107``: what a code means, a file that gives it, and its cure."""

from __future__ import annotations

from dataclasses import asdict

from agentforge.cli.console import Console
from agentforge.cli.error_codes import ErrorCode, error_codes
from agentforge.errors import ConfigurationError

__all__ = ("explain_code",)


def explain_code(code: str, console: Console) -> None:
    """Print what is known of a code. Raises `ConfigurationError` for one that does not exist."""
    known = error_codes()
    if code not in known:
        raise ConfigurationError(
            f"there is no error code '{code}'", next_step="docs/reference/errors.md lists all codes."
        )
    found = known[code]
    if console.json:
        console.data({**asdict(found), "help": found.page})
    else:
        console.out(_text(found))


def _text(found: ErrorCode) -> str:
    lines = [f"{found.code} {found.name}: {found.when}"]
    if found.do:
        lines.append(f"what to do: {found.do}")
    if found.broken:
        variables = "".join(f"{name}={value} " for name, value in found.variables.items())
        lines += ["", f"{variables}agentforge {found.run}, with this agentforge.yaml:", _block(found.broken)]
        for name, text in found.beside.items():
            lines += [f"beside {name}:", _block(text)]
        same = found.right_run == found.run
        lines += ["this is right:" if same else f"agentforge {found.right_run} is right:", _block(found.right)]
        for name, text in found.cured.items():
            lines += [f"with {name}:", _block(text)]
    return "\n".join([*lines, *([] if found.broken else [""]), f"documentation: {found.page}"])


def _block(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
