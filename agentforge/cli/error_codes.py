"""What every error code means, with an example that gives it and the cure: one table for the program and its page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

__all__ = ("ErrorCode", "anchor_of", "error_codes", "is_code")

_PAGE = "docs/reference/errors.md"


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One code.

    ``name`` is the class, or for a fault of a configuration the constant; ``when`` says what gives it, ``do`` what to
    do about it. ``broken`` is a file ``agentforge.yaml`` for which ``agentforge RUN`` gives the code, and ``right`` its
    cure; empty where a file shows nothing. ``beside`` are further files of the folder, ``cured`` those that only the
    cure has, ``variables`` are those of the environment. ``right_run`` is the command of the cure.
    """

    code: str
    name: str
    when: str
    do: str
    broken: str = ""
    right: str = ""
    run: str = "check"
    right_run: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    cured: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """Where the documentation says more."""
        return anchor_of(self.code)


def anchor_of(code: str) -> str:
    """The place of a code in the documentation.

    >>> anchor_of("AF107")
    'docs/reference/errors.md#af107'
    """
    return f"{_PAGE}#{code.lower()}"


def is_code(text: str) -> bool:
    """Whether a text has the form of a code, in letters of either case.

    >>> is_code("af107"), is_code("beans.model")
    (True, False)
    """
    return re.fullmatch(r"AF\d{3}", text, re.IGNORECASE) is not None


@cache
def error_codes() -> Mapping[str, ErrorCode]:
    """All codes in their order."""
    from importlib.resources import files

    import yaml

    found = yaml.safe_load(files("agentforge.cli").joinpath("error_codes.yaml").read_text("utf-8"))
    return MappingProxyType(
        {
            code: ErrorCode(code, variables=row.pop("with", {}), **{"right_run": row.get("run", "check"), **row})
            for code, row in sorted(found.items())
        }
    )
