"""Grammars that hold the model to a form: any JSON Schema, the arguments of one call, an answer that quotes.

A model of a hundred million parameters invents names and numbers. What it may write is therefore taken from the
question wherever the schema leaves the text open: it has to find the value, it cannot make one up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ("answer_grammar", "arguments_grammar", "is_chinese", "schema_grammar")

_HEAD = "%llguidance {}\n"
# The engine's own spacing is free, and a small model loses itself in it.
_SPACING = {"x-guidance": {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}}
_TELLS = frozenset({"type", "description", "title", "default", "examples"})
_PIECE = re.compile(r"[^\W\u2e80-\uffff]+(?:[-.'][^\W\u2e80-\uffff]+)*|.", re.DOTALL)
_NUMBER = re.compile(r"(?<![A-Za-z0-9.,_-])-?\d+(?:,\d{3})*(?:\.\d+)?")
_BREAKS = re.compile(r'["\\\x00-\x1f\x7f]+')


def schema_grammar(schema: Mapping[str, Any]) -> str:
    """Exactly the JSON texts of ``schema``, on one line."""
    return f"{_HEAD}start: %json {json.dumps({**schema, **_SPACING}, default=str)}"


def arguments_grammar(schema: Mapping[str, Any], question: str) -> str:
    """The arguments object of a call, and the brace that closes the call around it.

    Texts are stretches of ``question``, numbers and choices those that it names, if it names any. Optional arguments
    are left out unless the question names one of their choices. What the schema restricts further is only held to the
    schema.

    >>> print(arguments_grammar({"properties": {"n": {"type": "integer"}}, "required": ["n"]}, "Give me 2 or 30."))
    %llguidance {}
    start: "{" "\\"n\\": " ("2" | "30") "}}"
    """
    properties = schema.get("properties")
    required = schema.get("required") or ()
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    parts, rules, first = ['"{"'], [], True
    for name, given in properties.items() if isinstance(properties, Mapping) else ():
        member = given if isinstance(given, Mapping) else {}
        if name not in required and not _named(member.get("enum"), question):
            continue
        parts.append(_literal(("" if first else ", ") + json.dumps(name, ensure_ascii=False) + ": "))
        first = False
        value, needed = _value(member, question, definitions, len(parts))
        parts.append(value)
        rules += [rule for rule in needed if rule not in rules]
    return "\n".join([f"{_HEAD}start: {' '.join([*parts, _literal('}}')])}", *rules])


def answer_grammar(question: str, facts: str) -> str:
    """One sentence: a stretch of the question, and then ``facts`` word for word."""
    chinese = is_chinese(question)
    topic = [piece for piece in _PIECE.findall(question) if piece not in "?？!！.。"] or ["It"]
    lead = 'TOPIC "是"?' if chinese else '("The " | "Your ")? TOPIC " is"?'
    rest = f"：{facts}。" if chinese else f": {facts}."
    return "\n".join([f"{_HEAD}start: LEAD {_literal(rest)}", f"LEAD: {lead}", _stretches("TOPIC", [topic])])


def is_chinese(text: str) -> bool:
    """Whether a text is written in Chinese signs, at least in part.

    >>> is_chinese("杭州 today"), is_chinese("Hangzhou")
    (True, False)
    """
    return any("\u2e80" <= char <= "\u9fff" for char in text)


def _value(
    schema: Mapping[str, Any], question: str, definitions: Mapping[str, Any], number: int
) -> tuple[str, Iterable[str]]:
    """What may stand for one argument, and the rules that this needs."""
    kind = schema.get("type")
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str) and choices:
        return _one_of(json.dumps(choice, ensure_ascii=False) for choice in _named(choices, question) or choices), ()
    if schema.keys() <= _TELLS:
        # Whole words, of Chinese single signs; what would have to be escaped in JSON parts the text.
        if kind == "string" and (texts := [_PIECE.findall(text) for text in _BREAKS.split(question) if text.strip()]):
            return '"\\"" TEXT "\\""', (_stretches("TEXT", texts),)
        if kind in ("number", "integer") and (numbers := _numbers(question, whole=kind == "integer")):
            return _one_of(numbers), ()
    rule = f"value_{number}"
    return rule, (f"{rule}: %json {json.dumps({**schema, **definitions, **_SPACING}, default=str)}",)


def _named(choices: object, question: str) -> list[object]:
    """The choices that the question names."""
    if not isinstance(choices, Sequence) or isinstance(choices, str):
        return []
    lowered = question.lower()
    return [
        choice
        for choice in choices
        if isinstance(choice, str)
        and choice
        and re.search(rf"(?<![a-z0-9]){re.escape(choice.lower())}(?![a-z0-9])", lowered)
    ]


def _numbers(question: str, *, whole: bool) -> list[str]:
    found = dict.fromkeys(match.replace(",", "") for match in _NUMBER.findall(question))
    return [text for text in found if not (whole and "." in text) and not re.match(r"-?0\d", text)]


def _stretches(name: str, texts: Sequence[Sequence[str]]) -> str:
    """A terminal for any stretch of pieces of one of the texts that starts with no space."""
    options = [f"{name}_{index}" for index in range(len(texts))]
    rules = [f"{name}: ({' | '.join(options)}) & /[^ ](.|\\n)*/"]
    for option, pieces in zip(options, texts, strict=True):
        rules.append(f"{option}: %regex {json.dumps({'substring_chunks': pieces}, ensure_ascii=False)}")
    return "\n".join(rules)


def _one_of(texts: Iterable[str]) -> str:
    return f"({' | '.join(_literal(text) for text in texts)})"


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
