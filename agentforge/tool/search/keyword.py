"""The plain index: how many words of the question a tool has."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from agentforge.model.specification import ToolSpecification
from agentforge.tool.search.texts import texts_of
from agentforge.tool.search.words import query_words, words_of

__all__ = ("KeywordIndex",)


class KeywordIndex:
    """Each distinct word of the question counts 2 where the tool's name has it and 1 where its description or its
    parameters have it; of equal ones the first offered comes first."""

    def __init__(self, specifications: Sequence[ToolSpecification] = ()) -> None:
        self._names = tuple(each.name for each in specifications)
        self._found: dict[str, list[tuple[int, int]]] = {}
        for place, specification in enumerate(specifications):
            texts = texts_of(specification)
            points: dict[str, int] = dict.fromkeys(words_of(texts.name), 2)
            for word in {*words_of(texts.description), *words_of(texts.parameters)}:
                points[word] = points.get(word, 0) + 1
            for word, count in points.items():
                self._found.setdefault(word, []).append((place, count))

    def rebuild(self, specifications: Sequence[ToolSpecification]) -> KeywordIndex:
        """An index of these tools."""
        return KeywordIndex(specifications)

    async def search(self, query: str, limit: int) -> Sequence[str]:
        """The tools with the most points; none without one."""
        points: dict[int, int] = {}
        for word in query_words(query):
            for place, count in self._found.get(word, ()):
                points[place] = points.get(place, 0) + count
        best = heapq.nsmallest(limit, points, key=lambda place: (-points[place], place))
        return [self._names[place] for place in best]

    def __repr__(self) -> str:
        return f"KeywordIndex({len(self._names)} tools)"
