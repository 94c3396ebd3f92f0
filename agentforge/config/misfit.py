"""What pydantic finds wrong with a value, in words of our own that show no value: what belongs there, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.config.diagnostic import nearest
from agentforge.config.nodes import Node, ScalarNode
from agentforge.config.scalars import plain_value
from agentforge.config.shapes import kind_of
from agentforge.errors import AgentForgeError

__all__ = ("Misfit", "found_at", "read_misfit", "sentence")


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that does not fit: ``rule`` says what would (``is a whole number``), ``tail`` how the value breaks it
    where its kind alone does not say so, ``next_step`` what to write. A ``rule`` of a validator's own is whole."""

    rule: str
    tail: str = ""
    next_step: str | None = None
    own: bool = False

    @property
    def kind(self) -> str:
        """The kind of value that belongs there; empty for a bound."""
        return self.rule.removeprefix("is ") if self.rule.startswith("is ") and not self.tail else ""


_TEXT = Misfit("is a text", next_step="Write one text, in quotes if it holds brackets or a colon.")
_WHOLE = Misfit("is a whole number", next_step="Write digits, such as 8.")
_NUMBER = Misfit("is a number", next_step="Write a number, such as 0.5.")
_TRUTH = Misfit("is true or false", next_step="Write true or false.")
_LIST = Misfit("is a list", next_step="Write a list: [first, second].")
_MAPPING = Misfit("is a mapping", next_step="Write a mapping: {key: value}.")
_BY_TYPE: Mapping[str, Misfit] = {
    **dict.fromkeys(("string_type", "bytes_type", "string_sub_type", "path_type", "string_unicode"), _TEXT),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _WHOLE),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), _NUMBER),
    **dict.fromkeys(("bool_type", "bool_parsing"), _TRUTH),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), _LIST),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), _MAPPING),
    "none_required": Misfit("is nothing", next_step="Write null, or leave the key out."),
    "finite_number": Misfit("is a finite number", "and this one is not", "Write a number with digits."),
}
#: The bound in the error's context, the rule, how the value breaks it.
_BOUNDS: Mapping[str, tuple[str, str, str]] = {
    "greater_than": ("gt", "is more than", "and this number is not"),
    "greater_than_equal": ("ge", "is at least", "and this number is less"),
    "less_than": ("lt", "is less than", "and this number is not"),
    "less_than_equal": ("le", "is at most", "and this number is more"),
    "multiple_of": ("multiple_of", "is a multiple of", "and this number is not"),
}
_LENGTHS: Mapping[str, tuple[str, str, str]] = {
    "too_short": ("min_length", "at least", "item"),
    "too_long": ("max_length", "at most", "item"),
    "string_too_short": ("min_length", "at least", "character"),
    "string_too_long": ("max_length", "at most", "character"),
}
_CHOICE = re.compile(r"'([^']*)'")


def read_misfit(error: Mapping[str, Any], given: str | None = None) -> Misfit:
    """One of pydantic's errors (``ValidationError.errors()``) as a `Misfit`.

    ``given`` is a text that may be compared with the words that are allowed there; it is not repeated.

    >>> read_misfit({"type": "greater_than_equal", "msg": "", "ctx": {"ge": 1}}).rule
    'is at least 1'
    """
    kind, context = str(error["type"]), error.get("ctx", {})
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if kind in _BOUNDS:
        name, rule, tail = _BOUNDS[kind]
        bound = context[name]
        if isinstance(bound, float) and bound.is_integer():
            bound = int(bound)
        return Misfit(f"{rule} {bound}", tail, f"Write a number that {rule} {bound}.")
    if kind in _LENGTHS:
        return _length(context, *_LENGTHS[kind])
    if kind in ("literal_error", "enum"):
        choices = _CHOICE.findall(context["expected"])
        near = nearest(given, choices) if given is not None else None
        step = f"Did you mean '{near}'?" if near else f"Write {context['expected']}."
        return Misfit(f"is {context['expected']}", next_step=step)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        key = str(context["discriminator"]).strip("'")
        tags = f" with one of {context['expected_tags']}" if "expected_tags" in context else ""
        step = f"Add '{key}'{tags}."
        return Misfit("is a mapping of a known kind", f"and its '{key}' says none", step)
    if kind == "string_pattern_mismatch":
        return Misfit(f"is a text of the form {context['pattern']}", "and this one is not", "Correct the text.")
    refused = getattr(context.get("error"), "__cause__", None)
    if isinstance(refused, AgentForgeError):
        return Misfit(refused.message, next_step=refused.next_step, own=True)
    return _in_other_words(str(error["msg"]))


def _length(context: Mapping[str, Any], key: str, rule: str, unit: str) -> Misfit:
    bound = context[key]
    units = unit if bound == 1 else f"{unit}s"
    actual = context.get("actual_length")
    tail = f"and this one has {actual}" if actual is not None else f"and this one has {_other(rule)}"
    return Misfit(f"has {rule} {bound} {units}", tail, f"Write {rule} {bound} {units}.")


def _other(rule: str) -> str:
    return "fewer" if rule == "at least" else "more"


def _in_other_words(message: str) -> Misfit:
    """A validator's own words, and those of pydantic for what is rare in a configuration."""
    for start in ("Value error, ", "Assertion failed, "):
        message = message.removeprefix(start)
    if message.startswith("Input should be "):
        return Misfit(f"is {message.removeprefix('Input should be ').partition(',')[0]}")
    if message.startswith("Input should "):
        return Misfit(f"should {message.removeprefix('Input should ')}", own=True)
    return Misfit(message, own=True)


def found_at(node: Node) -> str:
    """What stands at a place, in words that show no value.

    >>> from agentforge.config import from_mapping
    >>> [found_at(entry.node) for entry in from_mapping({"a": "8", "b": 8, "c": None, "d": []}).entries.values()]
    ['a text', 'a whole number', 'nothing', 'a list']
    """
    if not isinstance(node, ScalarNode):
        return kind_of(node)
    value = plain_value(node.text) if node.plain else node.text
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text" if value else "an empty text"
    return "a whole number" if isinstance(value, int) else "a number"


def sentence(name: str, misfits: Iterable[Misfit], found: str) -> tuple[str, str | None]:
    """What is wrong with the value of ``name``, and what to do; of several rules any one would do (a union)."""
    distinct = list(dict.fromkeys(misfits))
    if found == "a secret":
        # It would be shown wherever the setting is: only settings that are kept secret take one.
        step = "This setting is shown to everybody. Take ${NAME} for what may be seen."
        return f"'{name}' takes no secret", step
    first = distinct[0]
    kinds = [misfit.kind for misfit in distinct if misfit.kind]
    if not kinds or len(distinct) == 1:
        if first.own:
            return f"'{name}' does not fit: {first.rule}", first.next_step
        return f"'{name}' {first.rule}, {first.tail or _not(found, [first.kind])}", first.next_step
    # "Nothing" is what every optional setting takes; it is not worth a step of its own.
    kinds.sort(key=lambda kind: kind == "nothing")
    steps = [misfit.next_step for misfit in distinct if misfit.kind and misfit.kind != "nothing"]
    near: list[str | None] = [step for step in steps if step and step.startswith("Did you mean")]
    steps = near or steps
    return f"'{name}' is {_any_of(kinds)}, {_not(found, kinds)}", steps[0] if len(steps) == 1 else None


def _any_of(kinds: list[str]) -> str:
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]


def _not(found: str, kinds: list[str]) -> str:
    if found == "a number" and "a whole number" in kinds:
        found = "a number with a fraction"
    if found not in ("a list", "a mapping", "nothing") and any(kind.startswith("'") for kind in kinds):
        return "and this is something else"
    return "and this is none" if found in kinds else f"not {found}"
