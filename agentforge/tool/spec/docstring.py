"""Descriptions from docstrings in Google, NumPy and Sphinx style; a docstring that cannot be read is no error.

The parser is imported only for docstrings that have sections: most tools have a line or two.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ("DocstringText", "read_docstring")

# "Args:" on its own line, an underlined heading, or ":param x:".
_SECTION = re.compile(r"^\s*(?:[A-Z][A-Za-z ]*:\s*$|-{3,}\s*$|[:@][a-z]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocstringText:
    """What a docstring says: the tool's description and its parameters', by Python name."""

    description: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> DocstringText:
    """Read a docstring of any of the three styles; never raises.

    >>> read_docstring("Add.\\n\\nArgs:\\n    a: the first").parameters
    {'a': 'the first'}
    """
    if not text or not text.strip():
        return DocstringText()
    cleaned = inspect.cleandoc(text)
    if not _SECTION.search(cleaned):
        return DocstringText(cleaned)
    try:
        return _parsed(cleaned)
    except Exception:  # the parser's own errors are of many kinds
        return DocstringText(_SECTION.split(cleaned, maxsplit=1)[0].strip() or None)


def _parsed(text: str) -> DocstringText:
    import docstring_parser

    found = docstring_parser.parse(text)
    description = "\n\n".join(part for part in (found.short_description, found.long_description) if part)
    parameters: dict[str, str] = {}
    for row in found.params:
        name = row.arg_name.strip().lstrip("*").split("(")[0].strip()
        if name and row.description:
            parameters.setdefault(name, row.description.strip())
    return DocstringText(description or None, parameters)
