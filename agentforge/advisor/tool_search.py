"""Many tools, few of them shown: the model gets a tool that searches the others, and what it finds from then on."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Annotated, Final, Literal

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain
from agentforge.advisor.message_memory import MEMORY_TURN
from agentforge.advisor.placement import calls_tools
from agentforge.advisor.system_prompt import SystemPromptAdvisor
from agentforge.advisor.tool_shelf import ToolShelf
from agentforge.errors import ConfigurationError, DuplicateToolError, ToolExecutionError
from agentforge.model import ChatRequest
from agentforge.tool import BoundTool, P, tool
from agentforge.tool.execution import Run, ToolContext, ToolExecutionResult, bound_tools_from
from agentforge.tool.search import Bm25Index, BuiltIndexes, KeywordIndex, ToolIndex

__all__ = ("ToolSearchAdvisor",)

_STATE: Final = "tool_search"
_MOST: Final = 20
_SHELVES: Final = 8
_SHOWN: Final = 200
_DESCRIPTION = (
    "Finds tools by what they do. Most of your tools are hidden until they are found here; those that are found can be "
    "called right after."
)
_SYSTEM_TEXT = (
    "You have more tools than you see. Before you say that you cannot do something, call {tool} with a few words that "
    "say what a tool should do."
)


class _Turn:
    """What a run knows: the tools of its last request, and the names that were found."""

    __slots__ = ("forced", "names", "round", "shelf", "taken_up")

    def __init__(self) -> None:
        self.shelf: ToolShelf | None = None
        #: ``None`` as long as neither a search nor a memory has said.
        self.names: list[str] | None = None
        self.round = -1
        #: The tools that the tool choice names.
        self.forced: tuple[str, ...] = ()
        #: What a suspended turn was offered.
        self.taken_up: tuple[str, ...] = ()


class ToolSearchAdvisor:
    """Offers a search tool and the tools whose names fit ``always``; others from the round after they were found.

    What was found stays offered for the conversation where there is a memory (in its state, as ``tool_search``), else
    for the turn. With ``accumulate=False`` a further round of searches takes the place of the earlier ones. A tool that
    is hidden is unknown, and so cannot be called. Names that the memory has and no source are ignored; tools that
    ``tool_choice`` names are offered.

    ``index``: ``bm25`` (the default), ``keyword``, or one of your own. ``max_results``: what a search finds, where the
    model asks for no other number (up to 20). ``max_found``: how many found tools are offered at most; the oldest go.
    ``max_indexes``: for how many different sets of tools an index is kept. ``system_text`` is added to the system
    message; an empty one adds nothing. Stands outside of the tool loop, and does nothing where a chain has none.

    Raises `ConfigurationError`; a turn raises `DuplicateToolError` where a tool has the name of the search tool.
    """

    name = "tool_search"
    before = ("tool_calling",)

    def __init__(
        self,
        index: ToolIndex | Literal["bm25", "keyword"] | None = None,
        max_results: int = 5,
        always: Iterable[str] = (),
        accumulate: bool = True,
        *,
        max_found: int = 64,
        max_indexes: int = 16,
        tool_name: str = "search_tools",
        description: str = _DESCRIPTION,
        system_text: str | None = None,
    ) -> None:
        _check_count("max_results", max_results, _MOST)
        _check_count("max_found", max_found)
        _check_count("max_indexes", max_indexes)
        self.max_results = max_results
        self.always = (always,) if isinstance(always, str) else tuple(always)
        self.accumulate = accumulate
        self.max_found = max_found
        self.tool_name = tool_name
        #: The indexes in use; ``clear`` forgets them.
        self.indexes = BuiltIndexes(_index(index), max_indexes)
        text = _SYSTEM_TEXT.format(tool=tool_name) if system_text is None else system_text
        self._prompt = SystemPromptAdvisor(text) if text else None
        self._tool = self._search_tool(description)
        self._shelves: tuple[ToolShelf, ...] = ()
        self._mark = f"agentforge.tool_search.{id(self):x}"

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Ask on with what is to be seen."""
        if not any(calls_tools(link.advisor) for link in chain.links):
            return await chain.next(run, request)
        turn = self._turn(run)
        choice = request.parameters.tool_choice
        turn.forced = choice.names if choice is not None else ()
        state = run.take_resume()
        if state is not None:
            turn.taken_up = tuple(state.offered)
            run.resume_from(state)
        selector = self._select
        run.selectors = (*run.selectors, selector)
        try:
            if self._prompt is None:
                return await chain.next(run, request)
            return await self._prompt.advise(run, request, chain)
        finally:
            run.selectors = tuple(each for each in run.selectors if each is not selector)

    # -- what is offered -------------------------------------------------------------------------

    def _select(self, tools: Sequence[BoundTool], run: Run) -> Sequence[BoundTool]:
        turn = self._turn(run)
        shelf = turn.shelf = self._shelf(tools)
        state = _memory_state(run)
        if turn.names is None:
            if state is not None and _STATE in state:
                turn.names = _names(state[_STATE])[-self.max_found :]
            elif turn.taken_up:
                turn.names = [name for name in turn.taken_up if name in shelf.hidden]
        if turn.names is not None and state is not None and state.get(_STATE) != turn.names:
            state[_STATE] = turn.names  # the memory opened its turn later, or another attempt has a new one
        return shelf.offering({*turn.forced, *(turn.names or ())})

    def _shelf(self, tools: Sequence[BoundTool]) -> ToolShelf:
        for known in self._shelves:
            if known.tools is tools:
                return known
        if any(each.name == self.tool_name for each in tools):
            raise DuplicateToolError(
                f"a tool has the name of the search tool, {self.tool_name!r}",
                tool=self.tool_name,
                next_step="Give ToolSearchAdvisor another tool_name.",
            )
        visible = {each.name for each in tools if any(fnmatch.fnmatchcase(each.name, one) for one in self.always)}
        made = ToolShelf(tools, visible, self._tool)
        self._shelves = (made, *self._shelves[: _SHELVES - 1])
        return made

    # -- what is found ---------------------------------------------------------------------------

    def _search_tool(self, description: str) -> BoundTool:
        async def search(
            query: Annotated[str, P("What a tool should do, in a few words.")],
            max_results: Annotated[int, P(f"How many tools to find at most, from 1 to {_MOST}.")] = self.max_results,
            *,
            context: ToolContext,
        ) -> ToolExecutionResult:
            return await self._search(context.run, query, min(max(max_results, 1), _MOST))

        declared = tool(description, name=self.tool_name, effect="read")(search)
        [bound] = bound_tools_from(declared, "tool search")
        return bound

    async def _search(self, run: Run, query: str, limit: int) -> ToolExecutionResult:
        turn = self._turn(run)
        shelf = turn.shelf
        if shelf is None:
            raise ToolExecutionError("there is nothing to search in", tool=self.tool_name)
        searched = shelf.specifications
        found = list(dict.fromkeys(await self.indexes.of(searched, shelf.fingerprint).search(query, limit)))[:limit]
        unknown = [name for name in found if name not in shelf.hidden]
        if unknown:
            raise ToolExecutionError(
                f"the index found {unknown[0]!r}, which is none of the tools that it was given", tool=self.tool_name
            )
        if not found:
            return ToolExecutionResult(f"No tool fits {query!r}. Try other words.", attributes={"found": []})
        self._note(run, turn, found)
        lines = [f"- {name}: {said}" if (said := _first_line(shelf.hidden[name])) else f"- {name}" for name in found]
        what = "1 tool, which" if len(found) == 1 else f"{len(found)} tools, which"
        return ToolExecutionResult(
            "\n".join([f"Found {what} you can call from now on:", *lines]), attributes={"found": found}
        )

    def _note(self, run: Run, turn: _Turn, found: Sequence[str]) -> None:
        """Several searches of one reply add up in either case."""
        known = turn.names or [] if self.accumulate or turn.round == run.round else []
        turn.round = run.round
        turn.names = [*(name for name in known if name not in found), *found][-self.max_found :]
        state = _memory_state(run)
        if state is not None:
            state[_STATE] = turn.names

    def _turn(self, run: Run) -> _Turn:
        found = run.attributes.get(self._mark)
        if not isinstance(found, _Turn):
            found = run.attributes[self._mark] = _Turn()
        return found

    def __repr__(self) -> str:
        return f"ToolSearchAdvisor({self.indexes.index!r}, max_results={self.max_results}, always={self.always!r})"


def _memory_state(run: Run) -> MutableMapping[str, object] | None:
    """What the conversation's memory keeps for advisors, while a turn of it is open."""
    state = getattr(run.attributes.get(MEMORY_TURN), "state", None)
    return state if isinstance(state, MutableMapping) else None


def _names(noted: object) -> list[str]:
    """What the memory says, as far as it is names."""
    return [name for name in noted if isinstance(name, str)] if isinstance(noted, list | tuple) else []


def _first_line(bound: BoundTool) -> str:
    lines = (bound.specification.description or "").strip().splitlines()
    line = lines[0] if lines else ""
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _index(given: object) -> ToolIndex:
    if given is None or given == "bm25":
        return Bm25Index()
    if given == "keyword":
        return KeywordIndex()
    if isinstance(given, type) or not isinstance(given, ToolIndex):
        raise ConfigurationError(
            f"index is 'bm25', 'keyword' or an object with rebuild and search, not {given!r}",
            next_step="Leave it unset for 'bm25'.",
        )
    return given


def _check_count(name: str, value: object, most: int | None = None) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or (most is not None and value > most):
        bounds = "from 1" if most is None else f"from 1 to {most}"
        raise ConfigurationError(
            f"{name} is a whole number {bounds}, not {value!r}", next_step=f"Write a number {bounds}."
        )
