"""Which conditional beans are in, and why: ``when`` is looked at before anything else of a bean is.

Profiles, properties and plugins first; ``missing_bean`` last, in the order of declaration, since a bean that such a
condition lets in is there for those after it. Nothing is imported for it but the types of the beans that are in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentforge.config import (
    BeanOptions,
    Condition,
    MappingNode,
    Mark,
    Node,
    ScalarNode,
    SecretNode,
    to_value,
    with_article,
)
from agentforge.container.plan import ConditionResult
from agentforge.plugin import Plugins

__all__ = ("Candidate", "Conditions")

_NO = frozenset({"", "0", "false", "no", "off"})
_Answer = tuple[bool, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A declared bean before its conditions are known; ``fulfils`` says whether it is what a contract's name means."""

    id: str
    mark: Mark
    options: BeanOptions
    fulfils: Callable[[str], bool]


class Conditions:
    """Decides for all beans of one configuration.

    ``value_of`` gives the node at a dotted place of the merged file, with its placeholders filled; ``None`` where there
    is none.
    """

    def __init__(
        self,
        profiles: Sequence[str],
        environment: Mapping[str, str],
        plugins: Plugins,
        value_of: Callable[[str], Node | None],
    ) -> None:
        self._profiles = profiles
        self._environment = environment
        self._plugins = plugins
        self._value_of = value_of

    def decide(self, candidates: Sequence[Candidate]) -> tuple[tuple[ConditionResult, str], ...]:
        """The result of every candidate that has conditions, in the order of declaration, each with the sentence that
        says why it is out."""
        early = {each.id: self._answers(each, late=False) for each in candidates}
        inside = [each for each in candidates if all(holds for holds, _ in early[each.id].values())]
        waiting = [each for each in inside if _is_late(each)]
        there = [each for each in inside if not _is_late(each)]
        answers = dict(early)
        for each in waiting:
            asked = {condition: self._answer(condition, there) for condition in each.options.when if _late(condition)}
            answers[each.id] = {**early[each.id], **asked}
            if all(holds for holds, _ in asked.values()):
                there.append(each)
        return tuple(self._result(each, answers[each.id]) for each in candidates if each.options.when)

    # -- inside ----------------------------------------------------------------------------------

    def _result(self, candidate: Candidate, answers: Mapping[Condition, _Answer]) -> tuple[ConditionResult, str]:
        # In the order of the file; what need not be asked any more has no answer.
        found = [answers[each] for each in candidate.options.when if each in answers]
        failed = [words for holds, words in found if not holds]
        reasons = tuple(words for _, words in found)
        return ConditionResult(candidate.id, candidate.mark, not failed, reasons), " and ".join(failed)

    def _answers(self, candidate: Candidate, *, late: bool) -> dict[Condition, _Answer]:
        return {each: self._answer(each, ()) for each in candidate.options.when if _late(each) is late}

    def _answer(self, condition: Condition, there: Sequence[Candidate]) -> _Answer:
        """Whether a condition holds, in one sentence: of a profile one value will do, else each has to hold."""
        found = []
        for value in condition.values:
            name = value.removeprefix("!")
            holds, words = self._asked(condition.kind, name, there)
            found.append((holds is not value.startswith("!"), words))
        if condition.kind == "profile":
            held = [words for holds, words in found if holds]
            return bool(held), held[0] if held else " and ".join(words for _, words in found)
        failed = [words for holds, words in found if not holds]
        return not failed, failed[0] if failed else " and ".join(words for _, words in found)

    def _asked(self, kind: str, name: str, there: Sequence[Candidate]) -> _Answer:
        if kind == "profile":
            active = name in self._profiles
            return active, f"the profile '{name}' is {'' if active else 'not '}active"
        if kind == "plugin":
            return self._has_plugin(name)
        return self._is_missing(name, there) if kind == "missing_bean" else self._has_property(name)

    def _has_plugin(self, name: str) -> _Answer:
        state = self._plugins.state(name)
        if state is None:
            return False, f"the plugin '{name}' is not installed"
        if state.state in ("blocked", "duplicate"):
            return False, f"the plugin '{name}' is {state.state}" + (f": {state.reason}" if state.reason else "")
        return True, f"the plugin '{name}' is installed"

    def _has_property(self, text: str) -> _Answer:
        name, equals, wanted = text.partition("=")
        if "." in name:
            node = self._value_of(name)
            shown = f"'{name}' of the file"
            value = None if node is None else _text_of(node)
        else:
            shown, value = f"the variable {name}", self._environment.get(name)
        if equals:
            same = value == wanted
            return same, f"{shown} is {'' if same else 'not '}'{wanted}'"
        if value is None:
            return False, f"{shown} is not set"
        holds = value.strip().casefold() not in _NO
        return holds, f"{shown} is {'set' if holds else 'empty or says no'}"

    def _is_missing(self, name: str, there: Sequence[Candidate]) -> _Answer:
        for each in there:
            if name == each.id or any(name == alias for alias, _ in each.options.aliases):
                return False, f"there is a bean '{name}'"
            if each.fulfils(name):
                return False, f"the bean '{each.id}' is {with_article(name)}"
        return True, f"no other bean is '{name}'"


def _text_of(node: Node) -> str | None:
    """The text of a value; a list or mapping that is there has one that says so, nothing has none."""
    if isinstance(node, SecretNode):
        return node.text
    if isinstance(node, ScalarNode):
        return None if to_value(node) is None and node.text else node.text
    return "" if isinstance(node, MappingNode) and not node.entries else "is there"


def _late(condition: Condition) -> bool:
    return condition.kind == "missing_bean"


def _is_late(candidate: Candidate) -> bool:
    return any(map(_late, candidate.options.when))
