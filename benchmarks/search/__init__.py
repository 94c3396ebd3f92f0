"""Finding the right tool among three hundred: the tools, the questions, and what an index makes of them."""

from benchmarks.search.catalogue import OPERATIONS, SUBJECTS, tools_of
from benchmarks.search.measuring import Figures, Saved, measure_hits, measure_saved, measure_search
from benchmarks.search.questions import QUESTIONS, Question

__all__ = (
    "OPERATIONS",
    "QUESTIONS",
    "SUBJECTS",
    "Figures",
    "Question",
    "Saved",
    "measure_hits",
    "measure_saved",
    "measure_search",
    "tools_of",
)
