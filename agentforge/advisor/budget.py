"""What a turn, or a conversation, may use up: tool calls, model calls, tokens, time and money."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

from agentforge.advisor.advisor import Advised
from agentforge.advisor.budget_account import BudgetLimits, BudgetPeriod, Ledger, OnLimit, TurnAccount
from agentforge.advisor.budget_store import BudgetStore, InProcessBudgetStore
from agentforge.advisor.chain import Chain
from agentforge.advisor.faults import BudgetExceededError
from agentforge.advisor.placement import calls_tools
from agentforge.advisor.telling import own_answer, show, tell
from agentforge.errors import ConfigurationError
from agentforge.memory import MemoryKey
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    FinishReason,
    PriceRows,
    PriceTable,
    SystemMessage,
    ToolChoice,
    UserMessage,
)
from agentforge.tool import BoundTool
from agentforge.tool.execution import PlannedCall, Run, ToolGate, Verdict

__all__ = ("BudgetAdvisor",)


class BudgetAdvisor:
    """Ends a turn that needs more than it may use; every limit is ``None`` (none) at first.

    - ``calls``: tool calls that are let through, whatever comes of them; ``calls_per_tool``: of each tool, one number
      for all or a mapping by name. Reserved for a whole batch, so that ten means ten; a call beyond is not run
      (outcome ``LIMITED``, and the model is told), and the next model call is not made.
    - ``model_calls``: rounds of the tool loop, further attempts of advisors outside of it included.
    - ``tokens``, ``cost``, ``time`` (seconds): no model call begins once so much is used, so the last one may go over
      it; what has begun is not cut off. Tokens and cost are the run's, with those of discarded attempts and of runs
      that its tools hold (the turn is their parent), which begin no model call either then. ``cost`` is what the
      replies cost by their usage, in ``currency``. ``prices``, rows of a `PriceTable`, go before that for the models
      that they name. What has no cost in that currency counts as nothing, with a notice (``budget_price_unknown``).

    ``per="conversation"``: by tenant and memory id, over all turns, in ``store``; a turn without memory id is its own.
    ``warn_at`` (of 1; ``None``: never): a notice, once for each limit. ``on_limit``: ``raise`` `BudgetExceededError`,
    ``answer`` with ``text`` (finish reason ``OTHER``, raw ``budget_exceeded``), or ``finish``: the model is asked once
    more, without tools, to answer with what it has; of ``model_calls`` the last is kept for that.

    It may stand outside the tool loop or inside of it. ``gates`` belong to the service that runs the calls. Outside, a
    memory stands further out than the budget: what is between the budget and the loop sees the loop end with an error.
    """

    name = "budget"

    def __init__(
        self,
        *,
        calls: int | None = None,
        calls_per_tool: int | Mapping[str, int] | None = None,
        model_calls: int | None = None,
        tokens: int | None = None,
        time: float | None = None,
        cost: float | Decimal | str | None = None,
        per: BudgetPeriod = "turn",
        warn_at: float | None = 0.8,
        on_limit: OnLimit = "raise",
        text: str = "I have used up what I may use for this, and must stop here.",
        currency: str = "USD",
        prices: PriceRows | None = None,
        store: BudgetStore | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        _check_count("calls", calls, 0)
        for name, count in (calls_per_tool if isinstance(calls_per_tool, Mapping) else {"": calls_per_tool}).items():
            _check_count(f"calls_per_tool{f' of {name!r}' if name else ''}", count, 0)
        _check_count("model_calls", model_calls, 1)
        _check_count("tokens", tokens, 1)
        _check_word("per", per, ("turn", "conversation"))
        _check_word("on_limit", on_limit, ("raise", "answer", "finish"))
        if warn_at is not None and not 0 < _number("warn_at", warn_at) <= 1:
            raise ConfigurationError(f"warn_at is above 0 and at most 1, not {warn_at!r}")
        if not isinstance(text, str) or not text:
            raise ConfigurationError("text is the answer of a turn that ends, and not empty")
        seconds = None if time is None else float(_number("time", time))
        amount = None if cost is None else _number("cost", cost)
        if all(each is None for each in (calls, calls_per_tool, model_calls, tokens, seconds, amount)):
            raise ConfigurationError("a budget without a limit limits nothing", next_step="Give it one.")
        table = PriceTable(prices or {}, currency=currency)
        foreign = [
            f"that of {name!r} in {price.currency}"
            for name, price in table.rows
            if price and price.currency != currency
        ]
        if foreign:
            raise ConfigurationError(
                f"the budget is in {currency!r}, and of its prices {', '.join(foreign)}",
                next_step="Give them in one currency.",
            )
        self.limits = BudgetLimits(
            calls,
            dict(calls_per_tool) if isinstance(calls_per_tool, Mapping) else calls_per_tool,
            model_calls,
            tokens,
            seconds,
            amount,
            per,
            warn_at,
            on_limit,
            currency,
            table,
            clock,
        )
        self.text = text
        self.store: BudgetStore = store if store is not None else InProcessBudgetStore()
        #: The limits gate, for the service that runs the calls.
        self.gates: tuple[ToolGate, ...] = (_LimitsGate(self),)
        self._mark = f"agentforge.budget.{id(self):x}"
        self._accounts: WeakValueDictionary[str, TurnAccount] = WeakValueDictionary()

    def account(self, run: Run) -> TurnAccount:
        """What this run has spent, begun when it is first asked for."""
        found = run.attributes.get(self._mark)
        if isinstance(found, TurnAccount):
            return found
        parent = self._account_above(run)
        by_conversation = self.limits.per == "conversation" and run.memory_id is not None
        if by_conversation:
            ledger = Ledger(self.store, MemoryKey(run.tenant, run.memory_id))
        elif parent is not None:
            ledger = parent.ledger
        else:
            ledger = Ledger(InProcessBudgetStore(1), MemoryKey(None, "turn"))
        made = TurnAccount(
            self.limits, ledger, run, parent=parent if parent is not None and parent.ledger == ledger else None
        )
        run.attributes[self._mark] = self._accounts[run.id] = made
        return made

    def _account_above(self, run: Run) -> TurnAccount | None:
        """That of the nearest run that this one works for and that passes this budget."""
        above = run.parent
        while above is not None:
            if (found := self._accounts.get(above.id)) is not None:
                return found
            above = above.parent
        return self._accounts.get(run.parent_id or "")

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Ask on as long as there is something left."""
        account = self.account(run)
        account.emit = chain.emit
        outside = any(calls_tools(link.advisor) for link in chain.links)
        state = run.take_resume()
        if state is not None:
            run.resume_from(state)
            account.admitted += len(state.records)
            if account.ledger.store is not self.store:
                await account.take_up(run, state)
            stop = None
        else:
            stop = await (account.reached(run) if outside else account.may_ask(run))
        rounds: tuple[ChatMessage, ...] = ()
        if stop is None:
            asked = await self._ask(run, request, chain, account, watched=outside, resumed=state is not None)
            if isinstance(asked, Advised):
                return asked
            stop, rounds = asked, _rounds(run, request)
        return await self._stopped(run, request, chain, account, stop, rounds)

    async def _ask(
        self,
        run: Run,
        request: ChatRequest,
        chain: Chain,
        account: TurnAccount,
        *,
        watched: bool,
        resumed: bool = False,
    ) -> Advised | BudgetExceededError:
        """What came back, or the limit that was reached on the way."""
        watch = _RoundWatch(account, free=resumed)
        if watched:
            run.sources = (*run.sources, watch)
        guard = _guard(account, run)
        run.guards = (*run.guards, guard)
        model = request.parameters.model_name or ""
        try:
            advised = await chain.next(run, request)
            if advised.response is not None:
                model = advised.response.model_name or model
            if advised.suspended is not None:
                await account.give_back(advised.suspended)
            return advised
        except BudgetExceededError as error:
            if error is not watch.stopped:
                raise
            return error
        finally:
            run.sources = tuple(each for each in run.sources if each is not watch)
            run.guards = tuple(each for each in run.guards if each is not guard)
            await account.settle(run, model)

    async def _stopped(
        self,
        run: Run,
        request: ChatRequest,
        chain: Chain,
        account: TurnAccount,
        stop: BudgetExceededError,
        rounds: Sequence[ChatMessage],
    ) -> Advised:
        details = {"limit": stop.limit, "used": stop.used, "allowed": stop.allowed, "on_limit": self.limits.on_limit}
        await tell(run, chain.emit, "budget_exceeded", stop.message, details)
        if self.limits.on_limit == "raise":
            if stop.partial is None:
                stop.partial = run.partial()
            raise stop
        if self.limits.on_limit == "finish" and (account.asked or stop.limit == "model_calls"):
            account.finish(stop.limit)
            finished = await self._finished(run, request, chain, account, rounds)
            if isinstance(finished, Advised):
                return finished
            rounds = finished
        response = own_answer(self.text, FinishReason.OTHER, raw="budget_exceeded")
        await show(chain.emit, response)
        return Advised(response, (*rounds, response.ai_message))

    async def _finished(
        self, run: Run, request: ChatRequest, chain: Chain, account: TurnAccount, rounds: Sequence[ChatMessage]
    ) -> Advised | Sequence[ChatMessage]:
        """The answer of a model that gets no tools any more; what ran, when there is no call left for it."""
        last = ChatRequest((*request.messages, *rounds), request.parameters.with_(tool_choice=ToolChoice.NONE))
        outside = any(calls_tools(link.advisor) for link in chain.links)
        if not outside and await account.may_ask(run) is not None:
            return rounds
        asked = await self._ask(run, last, chain, account, watched=outside)
        if isinstance(asked, BudgetExceededError):
            return _rounds(run, request)
        response = asked.response
        if outside or response is None or not response.ai_message.has_tool_execution_requests:
            return replace(asked, new_messages=(*rounds, *asked.new_messages))
        # Calls all the same: what it said beside them is the answer.
        answer = AiMessage(response.ai_message.text or self.text)
        response = replace(response, ai_message=answer, finish_reason=FinishReason.STOP, raw_body=None)
        return replace(asked, response=response, new_messages=(answer,))

    def __repr__(self) -> str:
        names = ("calls", "calls_per_tool", "model_calls", "tokens", "time", "cost")
        given = ", ".join(f"{name}={value}" for name in names if (value := getattr(self.limits, name)) is not None)
        return f"BudgetAdvisor({given}, per={self.limits.per!r}, on_limit={self.limits.on_limit!r})"


def _guard(account: TurnAccount, run: Run) -> Callable[[], Awaitable[None]]:
    """What runs ask that work for this one, also those that a thread holds on a loop of its own."""
    home = asyncio.get_running_loop()

    async def expect_room() -> None:
        asked = account.expect_room(run)
        if asyncio.get_running_loop() is home:
            await asked
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, home))

    return expect_room


class _LimitsGate:
    """Reserves for every batch."""

    def __init__(self, advisor: BudgetAdvisor) -> None:
        self._advisor = advisor

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        """As many as there are left."""
        return await self._advisor.account(run).admit(batch, run)


class _RoundWatch:
    """A source without tools: sources are asked in front of every model call of the loop, also of one that follows no
    call (a pause, a reply that was cut off, arguments that do not fit)."""

    def __init__(self, account: TurnAccount, *, free: bool) -> None:
        self._account = account
        #: A turn that is taken up asks for its tools once before it runs the calls that waited.
        self._free = free
        self.stopped: BudgetExceededError | None = None

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """Nothing. Raises `BudgetExceededError` when no model call is left, `AdvisorError` without the gate."""
        if self._free:
            self._free = False
            return ()
        self._account.expect_gate(run)
        self.stopped = await self._account.may_ask(run)
        if self.stopped is not None:
            raise self.stopped
        return ()


def _rounds(run: Run, request: ChatRequest) -> tuple[ChatMessage, ...]:
    """What the loop had added when it was stopped: behind the last user message, without what the request had there.
    Advisors in between may have put messages in front."""
    return _tail(run.messages)[len(_tail(request.messages)) :]


def _tail(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    for at in range(len(messages), 0, -1):
        if isinstance(messages[at - 1], UserMessage | SystemMessage):
            return tuple(messages[at:])
    return tuple(messages)


def _check_count(name: str, value: object, least: int) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise ConfigurationError(f"{name} is a whole number from {least}, not {value!r}")


def _check_word(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ConfigurationError(f"{name} is one of {', '.join(map(repr, known))}, not {given!r}")


def _number(name: str, value: Any) -> Decimal:
    try:
        made = Decimal("NaN") if isinstance(value, bool) else Decimal(str(value))
    except ArithmeticError:
        made = Decimal("NaN")
    if not made.is_finite() or made <= 0:
        raise ConfigurationError(f"{name} is a number above 0, not {value!r}")
    return made
