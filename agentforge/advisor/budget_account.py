"""What one turn has spent and may still spend: counted at every model call, reserved for every batch of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from time import monotonic
from typing import Literal, TypeAlias

from agentforge.advisor.budget_store import BudgetStore
from agentforge.advisor.faults import AdvisorError, BudgetExceededError
from agentforge.advisor.telling import tell
from agentforge.memory import MemoryKey
from agentforge.model import PriceTable, TokenUsage
from agentforge.tool import BoundTool, ReturnBehavior
from agentforge.tool.execution import (
    Emit,
    PlannedCall,
    Proceed,
    Refuse,
    Run,
    ToolLoopState,
    ToolOutcome,
    Verdict,
)

__all__ = ("BudgetLimits", "BudgetPeriod", "Ledger", "OnLimit", "TurnAccount")

BudgetPeriod: TypeAlias = Literal["turn", "conversation"]
"""What a budget is for."""
OnLimit: TypeAlias = Literal["raise", "answer", "finish"]
"""What becomes of a turn that needs more than its budget."""
_NOTHING = TokenUsage()
_WORDS = {"calls": "tool calls", "model_calls": "model calls", "tokens": "tokens", "time": "seconds"}


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """The settings of a budget; ``None``: no limit. See `BudgetAdvisor`."""

    calls: int | None = None
    calls_per_tool: int | Mapping[str, int] | None = None
    model_calls: int | None = None
    tokens: int | None = None
    time: float | None = None
    cost: Decimal | None = None
    per: BudgetPeriod = "turn"
    warn_at: float | None = 0.8
    on_limit: OnLimit = "raise"
    currency: str = "USD"
    prices: PriceTable = field(default_factory=lambda: PriceTable({}))
    clock: Callable[[], float] = monotonic

    def of_tool(self, name: str) -> int | None:
        """How often this tool may be called."""
        per_tool = self.calls_per_tool
        return per_tool.get(name) if isinstance(per_tool, Mapping) else per_tool

    def of(self, name: str) -> float | None:
        """A limit by its name, ``calls:TOOL`` for that of a tool."""
        if name.startswith("calls:"):
            return self.of_tool(name.removeprefix("calls:"))
        value: int | float | Decimal | None = getattr(self, name)
        return None if value is None else float(value)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where a turn, and the runs that its tools hold, write what they spend."""

    store: BudgetStore
    key: MemoryKey


class TurnAccount:
    """One run's part of a ledger. ``parent`` is the account of a run that this one works for, where it writes into the
    same ledger: time passes there, and what is written down here is not written down there once more.

    ``emit`` is where notices go now.
    """

    __slots__ = (
        "__weakref__",
        "_at",
        "_before",
        "_costed",
        "_counted",
        "_finishing",
        "_limits",
        "_nested",
        "_parent",
        "_replies",
        "_reserved",
        "_resumed",
        "_unpriced",
        "admitted",
        "asked",
        "emit",
        "ledger",
        "refused",
    )

    def __init__(self, limits: BudgetLimits, ledger: Ledger, run: Run, *, parent: TurnAccount | None) -> None:
        self._limits = limits
        self._parent = parent
        self._at = limits.clock()
        #: How many tokens of the run are in the ledger, those that nested runs wrote there themselves included.
        self._counted = _total(run.token_usage)
        #: What of the run's own replies, and of those of nested runs, has its cost in the ledger.
        self._costed = dict(run.own_usage)
        self._nested = dict(run.nested_usage)
        self._replies = len(run.intermediate_responses)
        self._before = len(run.tool_executions)
        self._reserved: dict[str, Decimal] = {}
        self._resumed = run.resumed
        #: The models of which was told that they have no price.
        self._unpriced: set[str] = set()
        self.ledger = ledger
        self.emit: Emit | None = None
        #: The limit that ended the turn, and whether the one model call after it was made.
        self._finishing: tuple[str, bool] | None = None
        #: How many tool calls have passed the gate.
        self.admitted = 0
        #: How many model calls this run has begun.
        self.asked = 0
        #: The limit that kept a call from running.
        self.refused: str | None = None

    # -- counting --------------------------------------------------------------------------------

    async def take_up(self, run: Run, state: ToolLoopState) -> None:
        """Count what the turn had done before it was suspended. Its tokens, and their cost, are among those of a run
        above it that was suspended as well."""
        ran = [record.request.name for record in state.records if record.outcome is not ToolOutcome.LIMITED]
        ran += _ran(state)
        spent = {"calls": Decimal(len(ran)), "model_calls": Decimal(state.model_calls)}
        spent |= {f"calls:{name}": Decimal(ran.count(name)) for name in ran}
        if self._parent is None or not self._parent._resumed:
            spent["tokens"] = Decimal(_total(state.token_usage))
            for model, usage in state.usage_by_model.items() if self._limits.cost is not None else ():
                spent["cost"] = spent.get("cost", Decimal(0)) + await self._cost_of(run, model, usage, _NOTHING)
        self.asked = state.model_calls
        await self.ledger.store.add(self.ledger.key, spent)

    async def settle(self, run: Run, model: str | None = None) -> Mapping[str, Decimal]:
        """Write down what was spent since the last time; what it cost, once the model that spoke is known."""
        limits, spent = self._limits, {}
        now = limits.clock()
        if self._parent is None:
            spent["time"] = Decimal(str(round(now - self._at, 6)))
        self._at = now
        used = _total(run.token_usage) - self._counted
        spent["tokens"] = Decimal(used)
        self._count(used)
        spent["cost"] = await self._nested_cost(run)
        if model is not None:
            spent["cost"] += await self._cost(run, model)
        known = await self.ledger.store.add(self.ledger.key, spent)
        for name in ("calls", "model_calls", "tokens", "time", "cost"):
            await self._warn(run, name, known)
        return known

    def _count(self, tokens: int) -> None:
        """So many tokens were written down: of this run, and so of those that it works for."""
        account: TurnAccount | None = self
        while account is not None:
            account._counted += tokens
            account = account._parent

    async def _nested_cost(self, run: Run) -> Decimal:
        """What replies of nested runs have cost since the last time, each at the price of its own model."""
        cost = Decimal(0)
        if self._limits.cost is None:
            return cost
        for model, usage in tuple(run.nested_usage.items()):
            known = self._nested.get(model, _NOTHING)
            if _total(usage) > _total(known):
                cost += await self._cost_of(run, model, usage, known)
                self._nested[model] = usage
        return cost

    async def _cost(self, run: Run, model: str) -> Decimal:
        """What the run's own replies have cost since the last time; 0 with a notice where that cannot be told.
        ``model`` is the name of those that did not say one."""
        limits, cost = self._limits, Decimal(0)
        for name, usage in tuple(run.own_usage.items()):
            known = self._costed.get(name, _NOTHING)
            if usage is known:
                continue
            self._costed[name] = usage
            if _total(usage) == _total(known) and (limits.tokens is not None or limits.cost is not None):
                text = f"the model {name or model!r} does not report its tokens"
                await self._once(run, "budget_usage_unknown", text)
            if limits.cost is None:
                continue
            cost += await self._cost_of(run, name or model, usage, known)
            above = self._parent
            while above is not None:
                above._nested[name] = above._nested.get(name, _NOTHING) + _less(usage, known)
                above = above._parent
        return cost

    async def _cost_of(self, run: Run, model: str, usage: TokenUsage, known: TokenUsage) -> Decimal:
        """What came since has cost: by the budget's own price for the model, else what the replies say. 0 with a notice
        where that cannot be told."""
        currency = self._limits.currency
        price = self._limits.prices.price_for(model)
        cost = price.cost(_less(usage, known)) if price is not None else None
        if cost is None:
            cost = usage.known_costs.get(currency, Decimal(0)) - known.known_costs.get(currency, Decimal(0))
            if usage.currency != currency:
                await self._tell_unpriced(run, model)
        return cost

    async def _tell_unpriced(self, run: Run, model: str) -> None:
        """Once a turn, runs that work for it included."""
        first = self
        while first._parent is not None:
            first = first._parent
        if model not in first._unpriced:
            first._unpriced.add(model)
            message = f"what the model {model!r} costs in {self._limits.currency} is not known, and not counted"
            await tell(run, self.emit, "budget_price_unknown", message, {"model": model})

    async def settle_round(self, run: Run) -> Mapping[str, Decimal]:
        """`settle` in front of another model call of the loop, whose last reply is known by now."""
        replies = run.intermediate_responses
        model = replies[-1].model_name or "" if len(replies) > self._replies else None
        self._replies = len(replies)
        return await self.settle(run, model)

    # -- asking the model ------------------------------------------------------------------------

    async def may_ask(self, run: Run) -> BudgetExceededError | None:
        """Take a model call from the budget; why not, when there is none."""
        known = await self.settle_round(run)
        if self._finishing is None:
            if (reached := self._reached(known)) is not None:
                return reached
        elif self._finishing[1]:
            return self._exceeded(self._finishing[0], known)
        else:
            self._finishing = self._finishing[0], True
        limit = self._limits.model_calls
        if limit is not None:
            # The last one is kept for the answer, where there is to be one.
            mine = limit - 1 if self._limits.on_limit == "finish" and self._finishing is None else limit
            if not await self.ledger.store.take(self.ledger.key, "model_calls", 1, mine):
                return self._exceeded("model_calls", known)
            await self._warn(run, "model_calls", await self.ledger.store.add(self.ledger.key, {}))
        self.asked += 1
        return None

    def finish(self, limit: str) -> None:
        """From now on there is one model call, and no tool call."""
        self._finishing = limit, False

    async def reached(self, run: Run) -> BudgetExceededError | None:
        """What is used up, before anything is asked."""
        return self._reached(await self.settle(run))

    async def expect_room(self, run: Run) -> None:
        """Raise `BudgetExceededError` where tokens, time or cost are used up: a run that works for this one is about to
        ask its model."""
        used_up = self._used_up(await self.settle(run))
        if used_up is not None:
            raise used_up

    # -- running calls ---------------------------------------------------------------------------

    async def admit(self, batch: Sequence[PlannedCall], run: Run) -> list[Verdict]:
        """One verdict a call: as many proceed as there are left, in the order of the calls."""
        self.admitted += len(batch)
        known = await self.settle(run)
        limits = self._limits
        if self._finishing is not None:
            return [_refusal("the budget is used up, and this is the last answer") for _ in batch]
        if limits.on_limit != "finish" and not _returns_at_once(batch):
            full = self._reached(known)
            if full is None and limits.model_calls is not None and known.get("model_calls", 0) >= limits.model_calls:
                full = self._exceeded("model_calls", known)
            if full is not None:
                # Running them would have effects whose results nobody reads.
                return [_refusal(full.message) for _ in batch]
        return await self._reserve(batch, run)

    async def _reserve(self, batch: Sequence[PlannedCall], run: Run) -> list[Verdict]:
        limits, store, key = self._limits, self.ledger.store, self.ledger.key
        refused: dict[int, str] = {}
        taken: dict[str, int] = {}
        for name in dict.fromkeys(call.name for call in batch):
            places = [at for at, call in enumerate(batch) if call.name == name]
            allowed = limits.of_tool(name)
            if allowed is None:
                continue
            taken[f"calls:{name}"] = got = await store.take(key, f"calls:{name}", len(places), allowed)
            refused |= dict.fromkeys(places[got:], f"calls:{name}")
        left = [at for at in range(len(batch)) if at not in refused]
        if limits.calls is not None:
            taken["calls"] = got = await store.take(key, "calls", len(left), limits.calls)
            for at in left[got:]:
                refused[at] = "calls"
                if (own := f"calls:{batch[at].name}") in taken:
                    taken[own] -= 1
                    await store.add(key, {own: Decimal(-1)})
        self._reserved = {name: Decimal(count) for name, count in taken.items()}
        known = await store.add(key, {})
        for name in taken:
            await self._warn(run, name, known)
        if refused:
            self.refused = refused[min(refused)]
        return [
            _refusal(self._exceeded(refused[at], known).message) if at in refused else Proceed()
            for at in range(len(batch))
        ]

    async def give_back(self, state: ToolLoopState) -> None:
        """Calls of the last batch wait for a decision, and are asked for again then; those that have run are spent."""
        reserved, self._reserved = self._reserved, {}
        for name in _ran(state):
            for key in ("calls", f"calls:{name}"):
                if reserved.get(key):
                    reserved[key] -= 1
        await self.ledger.store.add(self.ledger.key, {name: -count for name, count in reserved.items()})

    def expect_gate(self, run: Run) -> None:
        """Raise `AdvisorError` if calls ran that never passed the gate: they would be without a limit, unnoticed."""
        limits = self._limits
        if self.admitted or (limits.calls is None and limits.calls_per_tool is None):
            return
        if any(execution.outcome is ToolOutcome.OK for execution in run.tool_executions[self._before :]):
            raise AdvisorError(
                "the budget limits tool calls, and its gate is not among those of the tool service",
                next_step="Make the service with gates=budget.gates.",
            )

    # -- words -----------------------------------------------------------------------------------

    def _reached(self, known: Mapping[str, Decimal]) -> BudgetExceededError | None:
        if self.refused is not None:
            return self._exceeded(self.refused, known)
        return self._used_up(known)

    def _used_up(self, known: Mapping[str, Decimal]) -> BudgetExceededError | None:
        for name in ("tokens", "time", "cost"):
            limit = self._limits.of(name)
            if limit is not None and float(known.get(name, 0)) >= limit:
                return self._exceeded(name, known)
        return None

    def _exceeded(self, name: str, known: Mapping[str, Decimal]) -> BudgetExceededError:
        used, allowed = float(known.get(name, 0)), self._limits.of(name) or 0.0
        return BudgetExceededError(
            f"the budget of this {self._limits.per} is used up: {used:g} of {allowed:g} {self._words(name)}",
            limit=name,
            used=used,
            allowed=allowed,
            next_step="Raise the limit of the budget, or look at error.partial for what it was spent on.",
        )

    async def _warn(self, run: Run, name: str, known: Mapping[str, Decimal]) -> None:
        limit, warn_at = self._limits.of(name), self._limits.warn_at
        used = float(known.get(name, 0))
        if limit is None or warn_at is None or used <= 0 or used < warn_at * limit:
            return
        if self._finishing is not None and self._finishing[0] == name:
            return  # that it is used up was told already
        message = f"{used:g} of {limit:g} {self._words(name)} of this {self._limits.per} are used"
        await self._once(run, "budget_warning", message, {"limit": name, "used": used, "allowed": limit})

    def _words(self, name: str) -> str:
        if name == "cost":
            return self._limits.currency
        return _WORDS.get(name) or f"calls of the tool {name.removeprefix('calls:')!r}"

    async def _once(self, run: Run, code: str, message: str, details: Mapping[str, object] | None = None) -> None:
        mark = f"{code}:{details['limit']}" if details else f"{code}:{message}"
        if await self.ledger.store.first(self.ledger.key, mark):
            await tell(run, self.emit, code, message, details)


def _refusal(why: str) -> Refuse:
    return Refuse(ToolOutcome.LIMITED, f"Not run: {why}. Answer with what you have.")


def _returns_at_once(batch: Sequence[PlannedCall]) -> bool:
    """Whether the results go to the user, and no model call is needed for them."""
    tools: list[BoundTool | None] = [call.tool for call in batch]
    behaviors = [tool.return_behavior if tool is not None else ReturnBehavior.TO_LLM for tool in tools]
    return behaviors[-1] is ReturnBehavior.IMMEDIATE_IF_LAST or ReturnBehavior.TO_LLM not in behaviors


def _ran(state: ToolLoopState) -> list[str]:
    """The tools of the calls that have run, of a reply of which others wait."""
    calls = state.reply.ai_message.tool_execution_requests if state.reply is not None else ()
    return [calls[at].name for at, (outcome, _) in state.results.items() if outcome is not ToolOutcome.LIMITED]


def _less(usage: TokenUsage, known: TokenUsage) -> TokenUsage:
    """What came since; of its cost what is known."""
    costs = {name: cost - known.known_costs.get(name, 0) for name, cost in usage.known_costs.items()}
    return TokenUsage(
        _difference(usage.input_tokens, known.input_tokens),
        _difference(usage.output_tokens, known.output_tokens),
        _total(usage) - _total(known),
        _difference(usage.cached_input_tokens, known.cached_input_tokens),
        _difference(usage.cache_write_tokens, known.cache_write_tokens),
        partial_costs=tuple(sorted(costs.items())),
    )


def _difference(count: int | None, known: int | None) -> int | None:
    return None if count is None else count - (known or 0)


def _total(usage: TokenUsage) -> int:
    if usage.total_tokens is not None:
        return usage.total_tokens
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)
