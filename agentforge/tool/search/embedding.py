"""The index by meaning: the question and the tools as vectors of an embedding model, in any language that it knows."""

from __future__ import annotations

import asyncio
import heapq
import math
from array import array
from collections.abc import Mapping, Sequence
from operator import mul
from weakref import WeakKeyDictionary

from agentforge.errors import ConfigurationError, ModelError
from agentforge.model.embedding import EmbeddingModel
from agentforge.model.specification import ToolSpecification
from agentforge.tool.search.texts import texts_of

__all__ = ("EmbeddingIndex",)

_KEPT = 10_000


class EmbeddingIndex:
    """Tools by the cosine of their vector and the question's; ``min_score`` (-1 to 1) is the least that fits.

    Vectors are asked for at the first search. A text that had one keeps it when the index is rebuilt, so a tool that
    changes costs one vector. Raises `ModelError` where the model fails.
    """

    def __init__(
        self, model: EmbeddingModel, specifications: Sequence[ToolSpecification] = (), *, min_score: float = 0.2
    ) -> None:
        if not isinstance(min_score, int | float) or isinstance(min_score, bool) or not -1 <= min_score <= 1:
            raise ConfigurationError(f"min_score is a number from -1 to 1, not {min_score!r}")
        self._model = model
        self._min_score = min_score
        self._texts = {each.name: _text_of(each) for each in specifications}
        #: By text, shared with the indexes that are rebuilt from this one.
        self._known: dict[str, array[float]] = {}
        self._built: Mapping[str, array[float]] | None = None
        # The synchronous twins have a loop of their own.
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    def rebuild(self, specifications: Sequence[ToolSpecification]) -> EmbeddingIndex:
        """An index of these tools, which knows the vectors that this one knows."""
        made = EmbeddingIndex(self._model, specifications, min_score=self._min_score)
        made._known = self._known
        return made

    async def search(self, query: str, limit: int) -> Sequence[str]:
        """The tools that mean the most alike."""
        if not self._texts or not query.strip():
            return []
        # One search asks for the tools' vectors, those beside it wait for them.
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._built is None:
                self._built = await self._vectors()
        [asked] = await self._embed([query])
        scores: dict[str, float] = {}
        for name, vector in self._built.items():
            if len(vector) != len(asked):
                raise ModelError(f"the embedding model gave vectors of {len(vector)} and of {len(asked)} numbers")
            score = sum(map(mul, asked, vector))
            if score >= self._min_score:
                scores[name] = score
        places = {name: place for place, name in enumerate(scores)}
        return heapq.nsmallest(limit, scores, key=lambda name: (-scores[name], places[name]))

    async def _vectors(self) -> Mapping[str, array[float]]:
        known, texts = self._known, dict.fromkeys(self._texts.values())
        found = {text: known[text] for text in texts if text in known}
        missing = [text for text in texts if text not in found]
        if missing:
            made = dict(zip(missing, await self._embed(missing), strict=True))
            if len(known) + len(made) > _KEPT:
                known.clear()
            known.update(made)
            found.update(made)
        return {name: found[text] for name, text in self._texts.items()}

    async def _embed(self, texts: Sequence[str]) -> list[array[float]]:
        vectors = (await self._model.embed(texts)).vectors
        if len(vectors) != len(texts):
            raise ModelError(f"the embedding model gave {len(vectors)} vectors for {len(texts)} texts")
        return [_normal(vector) for vector in vectors]

    def __repr__(self) -> str:
        return f"EmbeddingIndex({len(self._texts)} tools, min_score={self._min_score})"


def _text_of(specification: ToolSpecification) -> str:
    texts = texts_of(specification)
    words = texts.name.replace("_", " ")
    return f"{words}: {texts.description}" + (f" ({texts.parameters})" if texts.parameters else "")


def _normal(vector: Sequence[float]) -> array[float]:
    """The vector at length 1; one of zeros stays, and is like nothing."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("d", [value / length for value in vector])
