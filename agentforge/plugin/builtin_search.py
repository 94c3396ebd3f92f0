"""The bean types of tool search: the advisor, and the indexes that it may use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

from agentforge.advisor import ToolSearchAdvisor
from agentforge.model import EmbeddingModel
from agentforge.plugin.bean_settings import BeanSettings, Count, Field, as_value_error
from agentforge.plugin.bean_type import BeanType
from agentforge.plugin.checking import CheckContext, Finding
from agentforge.plugin.reference import Ref
from agentforge.tool.search import Bm25Index, EmbeddingIndex, KeywordIndex, ToolIndex

__all__ = ("SEARCH_TYPES", "EmbeddingIndexSettings", "ToolIndexSettings", "ToolSearchSettings", "check_searches")


class ToolSearchSettings(BeanSettings):
    """What `tool_search` takes."""

    index: Annotated[ToolIndex, Ref(or_type=True)] | None = None
    """How tools are found: bm25, keyword, or an index; unset: bm25."""
    max_results: Count = 5
    """How many tools a search finds, where the model asks for no other number; up to 20."""
    always: tuple[str, ...] = ()
    """Names of tools that are shown in any case; * and ? are wildcards."""
    accumulate: bool = True
    """Whether what was found stays; else a further round of searches takes its place."""
    max_found: Count = 64
    """How many found tools are offered at most; the oldest go."""
    max_indexes: Count = 16
    """For how many different sets of tools an index is kept."""
    tool_name: str = "search_tools"
    """The name of the tool that searches."""
    system_text: str | None = None
    """What is added to the system message; unset: a text of the framework; empty: nothing."""

    def model_post_init(self, context: object) -> None:
        """Find what cannot be."""
        with as_value_error():
            _make_tool_search(self.model_copy(update={"index": None}))


class ToolIndexSettings(BeanSettings):
    """Of indexes that have nothing to set."""


class EmbeddingIndexSettings(BeanSettings):
    """What `embedding_index` takes."""

    model: Annotated[EmbeddingModel, Ref()]
    """The model that makes the vectors."""
    min_score: float = Field(default=0.2, ge=-1, le=1)
    """The least likeness that fits: 1 is the same meaning, 0 none in common."""


def _make_tool_search(settings: ToolSearchSettings) -> ToolSearchAdvisor:
    """The advisor. Raises `ConfigurationError`."""
    return ToolSearchAdvisor(
        settings.index,
        settings.max_results,
        settings.always,
        settings.accumulate,
        max_found=settings.max_found,
        max_indexes=settings.max_indexes,
        tool_name=settings.tool_name,
        system_text=settings.system_text,
    )


def check_searches(
    advisors: Sequence[Any], known: Collection[str], context: CheckContext, *, all_known: bool
) -> Iterator[Finding]:
    """Searches that have the name of a tool or of one another, and names to show always that fit none of the ``known``
    tools, where these are all."""
    from agentforge.config.diagnostic import did_you_mean

    taken: dict[str, str] = {}
    for number, each in enumerate(advisors):
        bean = context.bean(each)
        settings = bean.settings if bean is not None else None
        if bean is None or not isinstance(settings, ToolSearchSettings):
            continue
        path, name = f"advisors.{number}", settings.tool_name
        if name in taken:
            message = f"'{taken[name]}' and '{bean.id}' both offer a search named {name!r}"
            yield Finding(message, path, "Leave one out, or give it another tool_name.")
        elif name in known:
            message = f"the search of '{bean.id}' has the name of a tool of this client, {name!r}"
            yield Finding(message, path, "Give it another tool_name.")
        taken.setdefault(name, bean.id)
        for pattern in settings.always if all_known else ():
            if not any(fnmatchcase(tool, pattern) for tool in known):
                message = f"'always' of '{bean.id}' names {pattern!r}, and no tool of this client has that name"
                yield Finding(message, path, did_you_mean(pattern, known))


SEARCH_TYPES: tuple[BeanType, ...] = (
    BeanType(
        "tool_search",
        ToolSearchSettings,
        _make_tool_search,
        ToolSearchAdvisor,
        "Shows the model few tools and one that searches the others; what it finds is there from then on.",
    ),
    BeanType(
        "bm25",
        ToolIndexSettings,
        lambda settings: Bm25Index(),
        ToolIndex,
        "Finds tools by their words, rare ones counting more; for texts in any language.",
    ),
    BeanType(
        "keyword",
        ToolIndexSettings,
        lambda settings: KeywordIndex(),
        ToolIndex,
        "Finds tools by how many words of the question they have.",
    ),
    BeanType(
        "embedding_index",
        EmbeddingIndexSettings,
        lambda settings: EmbeddingIndex(settings.model, min_score=settings.min_score),
        ToolIndex,
        "Finds tools by meaning, with the vectors of an embedding model.",
    ),
)
"""The types, in the order of the reference."""
