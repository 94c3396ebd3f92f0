"""What a scalar's text means: YAML 1.2's core rules, so that ``no``, ``12:30`` and ``0123`` stay what was written.

The one deviation: digits with a leading zero stay text. YAML 1.1 reads ``0123`` as 83 and YAML 1.2 as 123; a PIN or
a postal code is neither.
"""

from __future__ import annotations

import math
import re
from typing import Any

from agentforge.config.nodes import MappingNode, Node, ObjectNode, ScalarNode, SecretNode, SequenceNode

__all__ = ("plain_value", "to_value")

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
# Longer digits are no number that a setting could mean, and cost quadratic time to read.
_LONGEST = 400


def plain_value(text: str) -> Any:
    """The value of a scalar without quotes.

    >>> [plain_value(text) for text in ("true", "no", "8", "1e3", "0o17", "0123", "12:30", "~", "1.10")]
    [True, 'no', 8, 1000.0, 15, '0123', '12:30', None, 1.1]
    """
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST:
        return text
    if _INTEGER.match(text):
        return int(text)
    if _OCTAL.match(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.match(text):
        return int(text[2:], 16)
    if _FLOAT.match(text):
        value = float(text)
        return text if math.isinf(value) else value
    return text


def to_value(node: Node) -> Any:
    """The node as plain Python values: mappings, lists, text, numbers, truth values, ``None``.

    A secret becomes a `pydantic.SecretStr`, an object of a program stays itself.
    """
    match node:
        case ScalarNode():
            return plain_value(node.text) if node.plain else node.text
        case SequenceNode():
            return [to_value(item) for item in node.items]
        case MappingNode():
            return {key: to_value(entry.node) for key, entry in node.entries.items()}
        case SecretNode():
            from pydantic import SecretStr

            return SecretStr(node.text)
        case ObjectNode():
            return node.value
