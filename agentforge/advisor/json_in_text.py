"""The one JSON value that a model's text holds: as it stands, in a fence, or among words.

What has one plain meaning is read, as for arguments of calls; several different values are refused, and nothing is
guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from agentforge.errors import ToolArgumentsError
from agentforge.model.arguments import parse_arguments

__all__ = ("read_json",)

_FENCED = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_SIGN = re.compile(r'\\.|["{}]', re.DOTALL)
_KEY = "value"


def read_json(text: str) -> tuple[str, object]:
    """The JSON of ``text``, and what it says. Raises ``ValueError`` with words for a model.

    Among words only objects are found; a list or a single value is read where the text, or its fence, is nothing else.

    >>> read_json('Here it is: {"city": "Oslo"}. Anything else?')
    ('{"city": "Oslo"}', {'city': 'Oslo'})
    """
    text = text.strip().lstrip("\ufeff")
    if not text:
        raise ValueError("it has no text")
    try:
        return text, _value(text)
    except ValueError as error:
        fault = error
    found = _readable(match[1].strip() for match in _FENCED.finditer(text)) or _readable(_objects(text))
    if not found:
        raise ValueError(str(fault)) from None
    if len({json.dumps(value, sort_keys=True) for _, value in found}) > 1:
        raise ValueError(f"it holds {len(found)} different JSON values, and one was expected")
    return found[0]


def _readable(texts: Iterable[str]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for text in texts:
        try:
            found.append((text, _value(text)))
        except ValueError:
            continue
    return found


def _value(text: str) -> object:
    """The value of a text that is JSON and nothing else, but for a fence around it."""
    fenced = _FENCED.fullmatch(text)
    inner = fenced[1].strip() if fenced else text
    if inner[:1] == "{" or not inner:
        return _object(text if inner else "-")  # blank arguments are none, a blank answer is no answer
    # The reader of arguments takes objects: any other value is read as a member of one.
    try:
        made = _object(f'{{"{_KEY}":{inner}}}')
    except ValueError as error:
        # A place in the text would be one in the object around it.
        raise ValueError("it is not JSON" if str(error).startswith("it is not valid") else str(error)) from None
    if made.keys() != {_KEY}:
        raise ValueError("it is not JSON")
    return made[_KEY]


def _object(text: str) -> dict[str, object]:
    try:
        return parse_arguments(text)
    except ToolArgumentsError as error:
        reason = error.message.partition("cannot be used: ")[2]
        reason = re.sub(r"^they (are|have)", lambda found: {"are": "it is", "have": "it has"}[found[1]], reason)
        raise ValueError(re.sub(r"^not valid", "it is not valid", reason or error.message)) from None


def _objects(text: str) -> list[str]:
    """The texts between a brace and the one that closes it, outermost only; braces inside of texts do not count."""
    found: list[str] = []
    depth = start = 0
    inside = False
    for sign in _SIGN.finditer(text):
        if inside:
            inside = sign[0] != '"'
        elif sign[0] == '"':
            inside = depth > 0
        elif sign[0] == "{":
            if depth == 0:
                start = sign.start()
            depth += 1
        elif sign[0] == "}" and depth:
            depth -= 1
            if depth == 0:
                found.append(text[start : sign.end()])
    return found
