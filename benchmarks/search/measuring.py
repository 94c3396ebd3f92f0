"""What an index finds, and what it saves that a model sees few tools; nothing here depends on a clock but the times."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentforge.advisor import Advisor, ToolSearchAdvisor
from agentforge.client import ChatClient
from agentforge.memory import estimate_tokens
from agentforge.model import ChatRequest, ToolExecutionRequest, ToolSpecification, UserMessage
from agentforge.model.scripted import ScriptedChatModel, call
from agentforge.tool import StaticTools
from agentforge.tool.execution import bound_tool_from
from agentforge.tool.search import Bm25Index, KeywordIndex, ToolIndex
from benchmarks.search.catalogue import tools_of
from benchmarks.search.questions import QUESTIONS, Question

__all__ = ("Figures", "Saved", "measure_hits", "measure_saved", "measure_search", "tokens_of")


@dataclass(frozen=True, slots=True)
class Figures:
    """How many questions found their tool: first of all, and among the first five; by language and altogether."""

    asked: int
    first: int
    english: int
    chinese: int
    missed: tuple[Question, ...]
    milliseconds_to_index: float
    microseconds_to_search: float

    @property
    def among_five(self) -> int:
        """In both languages."""
        return self.english + self.chinese


@dataclass(frozen=True, slots=True)
class Saved:
    """Estimated tokens of input that a turn costs with all tools and with a search: tools and messages of all its
    requests."""

    requests_with_all: int
    with_all: int
    requests_with_search: int
    with_search: int

    @property
    def share(self) -> float:
        """How much less it is, from 0 to 1."""
        return 1 - self.with_search / self.with_all


async def measure_hits(
    index: ToolIndex, tools: Sequence[ToolSpecification], questions: Sequence[Question] = QUESTIONS
) -> Figures:
    """Ask every question as it is, and look among the first five."""
    started = time.perf_counter()
    built = index.rebuild(tools)
    indexed = time.perf_counter() - started
    hits = {"en": 0, "zh": 0}
    first, missed, spent = 0, [], []
    for question in questions:
        started = time.perf_counter()
        found = await built.search(question.text, 5)
        spent.append(time.perf_counter() - started)
        first += list(found[:1]) == [question.tool]
        if question.tool in found:
            hits[question.language] += 1
        else:
            missed.append(question)
    median = statistics.median(spent)
    return Figures(len(questions), first, hits["en"], hits["zh"], tuple(missed), indexed * 1e3, median * 1e6)


async def measure_saved(tools: Sequence[ToolSpecification], questions: Sequence[Question]) -> Saved:
    """Turns in which the model calls one tool and answers, with all tools and with a search before it; the average."""

    def run(request: ToolExecutionRequest) -> str:
        return "done"

    source = StaticTools([bound_tool_from(each, run) for each in tools])
    named = {each.name: each for each in tools}
    advisor = ToolSearchAdvisor()
    counts: tuple[list[int], ...] = ([], [], [], [])
    for question in questions:
        properties = named[question.tool].parameters.properties
        used = call(question.tool, **{name: _sample(schema) for name, schema in properties.items()})
        searched = call("search_tools", query=question.text)
        counted: list[int] = []
        for replies, advisors in (([used, "Done."], []), ([searched, used, "Done."], [advisor])):
            requests = await _requests(source, replies, advisors, question)
            counted += len(requests), sum(map(tokens_of, requests))
        for values, value in zip(counts, counted, strict=True):
            values.append(value)
    return Saved(*(round(statistics.fmean(values)) for values in counts))


async def _requests(
    source: StaticTools, replies: Iterable[Any], advisors: Sequence[Advisor], question: Question
) -> Sequence[ChatRequest]:
    model = ScriptedChatModel(replies)
    async with ChatClient(model, tools=[source], advisors=advisors) as client:
        await client.prompt(question.text).call()
    return model.requests


async def measure_search() -> tuple[Mapping[str, Figures], Saved]:
    """Both indexes that need no model, and what the questions that find their tool cost on average."""
    figures = {
        "bm25": await measure_hits(Bm25Index(), tools_of()),
        "keyword": await measure_hits(KeywordIndex(), tools_of()),
        "bm25, all described in English": await measure_hits(Bm25Index(), tools_of("en")),
    }
    found = [each for each in QUESTIONS if each not in figures["bm25"].missed]
    return figures, await measure_saved(tools_of(), found)


def tokens_of(request: ChatRequest) -> int:
    """An estimate of a request's input: its messages, and the tools as JSON."""
    return _declared(tuple(request.parameters.tools)) + sum(map(estimate_tokens, request.messages))


@lru_cache(maxsize=64)
def _declared(tools: tuple[ToolSpecification, ...]) -> int:
    said = [
        {"name": each.name, "description": each.description, "parameters": each.parameters.schema} for each in tools
    ]
    return estimate_tokens(UserMessage(json.dumps(said, ensure_ascii=False)))


def _sample(schema: object) -> object:
    return {} if isinstance(schema, dict) and schema.get("type") == "object" else "1"
