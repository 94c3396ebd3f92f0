"""Finding tools by what they do: indexes over specifications, for conversations that have more tools than they show."""

from agentforge.tool.search.bm25 import Bm25Index
from agentforge.tool.search.built import BuiltIndexes, fingerprint_of
from agentforge.tool.search.embedding import EmbeddingIndex
from agentforge.tool.search.index import ToolIndex
from agentforge.tool.search.keyword import KeywordIndex
from agentforge.tool.search.words import query_words, words_of

__all__ = (
    "Bm25Index",
    "BuiltIndexes",
    "EmbeddingIndex",
    "KeywordIndex",
    "ToolIndex",
    "fingerprint_of",
    "query_words",
    "words_of",
)
