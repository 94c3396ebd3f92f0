"""The bean types of the built-in advisors: each of their settings, checked when the file is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, cast

from agentforge.advisor import (
    Advisor,
    AdvisorOrderError,
    BudgetAdvisor,
    BudgetStore,
    Link,
    LoggerAdvisor,
    MessageMemoryAdvisor,
    SafeguardAdvisor,
    SafeguardCheck,
    SystemPromptAdvisor,
    ToolCallingAdvisor,
    arranged,
    calls_tools,
    name_of,
)
from agentforge.memory import ChatMemory, InMemoryStore
from agentforge.plugin.bean_settings import Amount, BeanSettings, Count, CountFromZero, Field, Seconds, as_value_error
from agentforge.plugin.bean_type import BeanType
from agentforge.plugin.builtin_structured import STRUCTURED_OUTPUT
from agentforge.plugin.checking import CheckContext, CheckedBean, Finding
from agentforge.plugin.price_settings import PriceSettings, price_rows
from agentforge.plugin.reference import Ref

__all__ = (
    "ADVISOR_TYPES",
    "BudgetSettings",
    "LoggerSettings",
    "MessageMemorySettings",
    "SafeguardSettings",
    "SystemPromptSettings",
    "ToolCallingSettings",
    "check_advisors",
    "planned_chain",
    "several_tool_advisors",
)


class ToolCallingSettings(BeanSettings):
    """What `tool_calling` takes."""

    max_tool_calling_round_trips: CountFromZero | None = None
    """A bound of its own; unset: the client's."""
    history: Literal["full", "last"] = "full"
    """What each further round sends on: the whole turn, or only what is new, for a memory inside the loop."""
    intermediate_text: Literal["show", "hide"] = "show"
    """hide: text of a round that goes on with calls is never shown; the answer then comes in one piece."""
    user_controlled: bool = False
    """Whether replies with calls are handed back, for the caller to run them."""


class SystemPromptSettings(BeanSettings):
    """What `system_prompt` takes."""

    text: str
    """What the system message says."""
    mode: Literal["append", "prepend", "replace", "if_missing"] = "append"
    """What becomes of a system message that is there already."""


class LoggerSettings(BeanSettings):
    """What `logger` takes."""

    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    """The level of its lines; errors are at least warnings."""
    content: bool = True
    """Whether texts and arguments are shown, masked."""
    max_characters: Count = 2000
    """The most that is shown of one text."""
    logger: str = "agentforge.chat"
    """The name of the log."""


class SafeguardSettings(BeanSettings):
    """What `safeguard` takes: at least one of ``words``, ``patterns`` and ``checks``."""

    words: tuple[str, ...] = ()
    """Words that may not occur, whatever their case."""
    patterns: tuple[str, ...] = ()
    """Regular expressions that may not fit."""
    checks: tuple[Annotated[SafeguardCheck, Ref()], ...] = ()
    """Objects that judge a text."""
    stage: Literal["both", "input", "output"] = "both"
    """What is looked at: the question, the answer, or both."""
    action: Literal["refuse", "mask", "reprompt"] = "refuse"
    """What happens: a text of yours, stars in its place, or another attempt of the model."""
    text: str = "I cannot help with that."
    """The answer where it is refused."""
    mask: str = "***"
    """What stands in the place of what was masked."""
    reprompt_text: str | None = None
    """What the model is told for another attempt; {reason} is filled in; unset: a text of the framework."""
    max_reprompts: CountFromZero = 1
    """How many further attempts there are."""
    max_characters: Count = 100_000
    """A longer text does not pass."""

    def model_post_init(self, context: object) -> None:
        """Find what cannot be."""
        with as_value_error():
            _make_safeguard(self.model_copy(update={"checks": (_Passing(),) if self.checks else ()}))


class BudgetSettings(BeanSettings):
    """What `budget` takes: at least one limit."""

    calls: CountFromZero | None = None
    """How many tool calls."""
    calls_per_tool: CountFromZero | dict[str, CountFromZero] | None = None
    """How many calls of each tool, or of those that are named."""
    model_calls: Count | None = None
    """How many requests to the model."""
    tokens: Amount | None = None
    """How many tokens, of input and output; 50k and 2M may be written."""
    time: Seconds | None = None
    """How long."""
    cost: float | None = Field(default=None, ge=0)
    """How much, in currency; counted of models with a price, their own or one of prices."""
    currency: str = "USD"
    """The code of the currency of cost and of prices."""
    per: Literal["turn", "conversation"] = "turn"
    """For what these are: each turn, or all turns of a tenant's memory id."""
    warn_at: float | None = Field(default=0.8, gt=0, le=1)
    """The share of a limit at which there is a notice."""
    on_limit: Literal["raise", "answer", "finish"] = "raise"
    """What then: an error, a text of yours as the answer, or a last request without tools."""
    text: str | None = None
    """The answer of answer; unset: a text of the framework."""
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    """Prices by patterns of models' names, in the place of those that the models have."""
    store: Annotated[BudgetStore, Ref()] | None = None
    """Where it is kept what conversations have spent; unset: in the process."""

    def model_post_init(self, context: object) -> None:
        """Find what cannot be."""
        with as_value_error():
            _make_budget(self.model_copy(update={"store": None}))


class MessageMemorySettings(BeanSettings):
    """What `message_memory` takes."""

    memory: Annotated[ChatMemory, Ref(or_type=True)] | None = None
    """The memory; unset: one of its own in the process, of the last 100 messages of each conversation."""
    transcript: Literal["auto", "answers", "full"] = "auto"
    """What of a turn is kept: answers leaves calls and results out, auto does so outside the tool loop."""
    required: bool = True
    """Whether a turn without a memory id is an error; else it has no memory."""


class _Passing:
    """Stands for a check that is still to be made."""

    async def check(self, text: str, run: object) -> str | None:
        return None


def _make_safeguard(settings: SafeguardSettings) -> SafeguardAdvisor:
    """The advisor. Raises `ConfigurationError`."""
    given: dict[str, Any] = {"reprompt_text": settings.reprompt_text} if settings.reprompt_text is not None else {}
    return SafeguardAdvisor(
        settings.words,
        settings.patterns,
        settings.checks,
        stage=settings.stage,
        action=settings.action,
        text=settings.text,
        mask=settings.mask,
        max_reprompts=settings.max_reprompts,
        max_characters=settings.max_characters,
        **given,
    )


def _make_budget(settings: BudgetSettings) -> BudgetAdvisor:
    """The advisor. Raises `ConfigurationError`."""
    given: dict[str, Any] = {"text": settings.text} if settings.text is not None else {}
    return BudgetAdvisor(
        calls=settings.calls,
        calls_per_tool=settings.calls_per_tool,
        model_calls=settings.model_calls,
        tokens=settings.tokens,
        time=settings.time,
        cost=settings.cost,
        currency=settings.currency,
        per=settings.per,
        warn_at=settings.warn_at,
        on_limit=settings.on_limit,
        prices=price_rows(settings.prices),
        store=settings.store,
        **given,
    )


def _make_tool_calling(settings: ToolCallingSettings) -> ToolCallingAdvisor:
    """The advisor; its tools are those of the client whose chain it stands in."""
    return ToolCallingAdvisor(
        max_tool_calling_round_trips=settings.max_tool_calling_round_trips,
        history=settings.history,
        intermediate_text=settings.intermediate_text,
        user_controlled=settings.user_controlled,
    )


def _make_message_memory(settings: MessageMemorySettings) -> MessageMemoryAdvisor:
    """The advisor."""
    memory = settings.memory if settings.memory is not None else ChatMemory(InMemoryStore())
    return MessageMemoryAdvisor(memory, transcript=settings.transcript, required=settings.required)


ADVISOR_TYPES: tuple[BeanType, ...] = (
    BeanType(
        "tool_calling",
        ToolCallingSettings,
        _make_tool_calling,
        ToolCallingAdvisor,
        "The tool loop in its place of the chain; a client has one by itself, innermost.",
    ),
    BeanType(
        "message_memory",
        MessageMemorySettings,
        _make_message_memory,
        MessageMemoryAdvisor,
        "Gives each turn the conversation of its tenant and memory id, and keeps the turn.",
    ),
    BeanType(
        "system_prompt",
        SystemPromptSettings,
        lambda settings: SystemPromptAdvisor(settings.text, mode=settings.mode),
        SystemPromptAdvisor,
        "What the system message says beside the client's own.",
    ),
    BeanType(
        "logger",
        LoggerSettings,
        lambda settings: LoggerAdvisor(
            settings.level,
            content=settings.content,
            max_characters=settings.max_characters,
            logger=settings.logger,
        ),
        LoggerAdvisor,
        "Writes requests and replies into the log, masked.",
    ),
    BeanType(
        "safeguard",
        SafeguardSettings,
        _make_safeguard,
        SafeguardAdvisor,
        "Keeps what may not be said out of questions and answers.",
    ),
    BeanType(
        "budget",
        BudgetSettings,
        _make_budget,
        BudgetAdvisor,
        "Bounds calls, tokens, time and cost, of a turn or of a conversation.",
    ),
    STRUCTURED_OUTPUT,
)
"""The types, in the order of the reference."""


def planned_chain(advisors: Sequence[Any], context: CheckContext, *, tool_calling: bool) -> tuple[Link, ...]:
    """The chain that these settings will make, of what is known before anything is made; ``()`` where an advisor's
    class is not known. Raises `AdvisorOrderError`."""
    listed: list[Advisor] = []
    for each in advisors:
        bean = context.bean(each)
        kind = bean.provides if bean is not None else None
        if bean is None or kind is None or kind is object:
            return ()
        listed.append(cast("Advisor", bean.given if bean.given is not None else _sketch(kind, **_known_as(bean))))
    added = [] if not tool_calling or any(map(calls_tools, listed)) else [_sketch(ToolCallingAdvisor, innermost=True)]
    return arranged(listed, added)


def several_tool_advisors(advisors: Sequence[Any], context: CheckContext) -> tuple[int, str] | None:
    """Where the second tool advisor of a chain stands, and the fault in words; ``None`` where there is one at most."""
    callers = [
        (number, bean.id)
        for number, each in enumerate(advisors)
        if (bean := context.bean(each)) is not None and calls_tools(cast("Advisor", bean.given or bean.provides))
    ]
    if len(callers) < 2:
        return None
    ids = " and ".join(f"'{bean_id}'" for _, bean_id in callers)
    return callers[1][0], f"a chain has one tool advisor at most, and {ids} both are"


def check_advisors(advisors: Sequence[Any], context: CheckContext, *, tool_calling: bool) -> Iterator[Finding]:
    """Advisors that cannot stand in one chain."""
    several = several_tool_advisors(advisors, context)
    if several is not None:
        number, message = several
        step = "Take all but one of them out of the list."
        yield Finding(message, f"advisors.{number}", step, AdvisorOrderError.code)
        return
    try:
        links = planned_chain(advisors, context, tool_calling=tool_calling)
    except AdvisorOrderError as error:
        yield Finding(error.message, "advisors", error.next_step, error.code)
    else:
        context.arranged["advisors"] = [(link.name, link.reason) for link in links]


def _sketch(kind: type, **more: Any) -> Advisor:
    """An object with what a class says of its advisors' places."""
    said = {
        name: value
        for name in ("order", "before", "after", "outermost", "innermost", "calls_tools")
        if not callable(value := getattr(kind, name, None)) and not isinstance(value, property) and value is not None
    }
    own = getattr(kind, "name", None)
    if "name" not in more:
        more["name"] = own if isinstance(own, str) else name_of(cast("Advisor", object.__new__(kind)))
    made = type("Sketch", (), {**said, **more, "advise": lambda *_: None})()
    return cast("Advisor", made)


def _known_as(bean: CheckedBean) -> dict[str, str]:
    """A name for a bean of which no more is known than that it is an advisor."""
    if bean.provides is not Advisor or bean.bean_type is None:
        return {}
    return {"name": bean.bean_type.name if "." in bean.id else bean.id}
