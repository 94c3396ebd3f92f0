"""The bean types of memory: stores, windows, and the memory that joins them; and the group of models that stand in for
each other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from agentforge.errors import ConfigurationError
from agentforge.memory import (
    ChatMemory,
    Condenser,
    Everything,
    InMemoryStore,
    MemoryStore,
    MessageWindow,
    SqliteStore,
    Summarising,
    TokenCounter,
    TokenWindow,
    Window,
    estimate_tokens,
)
from agentforge.model import ChatModel
from agentforge.model.fallback import FALLBACK_DEFAULT, FallbackChatModel, FallbackReason
from agentforge.plugin.bean_settings import Amount, BeanSettings, Count, Field, Seconds
from agentforge.plugin.bean_type import BeanContext, BeanType
from agentforge.plugin.reference import Ref

__all__ = (
    "MEMORY_TYPES",
    "ChatMemorySettings",
    "EverythingSettings",
    "FallbackSettings",
    "InMemoryStoreSettings",
    "MessageWindowSettings",
    "SqliteStoreSettings",
    "SummarisingSettings",
    "TokenWindowSettings",
)


class ChatMemorySettings(BeanSettings):
    """What `chat_memory` takes."""

    store: Annotated[MemoryStore, Ref(or_type=True)] | None = None
    """Where conversations are kept; unset: in the process."""
    window: Annotated[Any, Ref(or_type=True)] | None = None
    """How much of a conversation is sent: a window; unset: the last 100 messages, in whole turns."""
    stores: Literal["window", "everything"] = "window"
    """What is kept: what the window leaves, or all, so that the window only decides what is sent."""
    on_failure: Literal["discard", "keep"] = "discard"
    """What becomes of a turn that failed: nothing stays, or what there is of it."""
    ttl: Seconds | None = None
    """After how long without a turn a conversation is forgotten; unset: never."""
    max_state_bytes: Count = 64 * 1024
    """How much other advisors may note with a conversation."""


class InMemoryStoreSettings(BeanSettings):
    """What `in_memory_store` takes."""

    max_conversations: Count | None = None
    """How many conversations are kept; the one that was not used for longest goes first; unset: all."""


class SqliteStoreSettings(BeanSettings):
    """What `sqlite_store` takes."""

    path: str
    """The database file, relative to the file the bean stands in; made where it is not there."""
    timeout: Seconds = 10.0
    """How long to wait while another process writes."""


class MessageWindowSettings(BeanSettings):
    """What `message_window` takes."""

    max_messages: Count = 100
    """How many messages, in whole turns."""


class TokenWindowSettings(BeanSettings):
    """What `token_window` takes."""

    max_tokens: Amount
    """How many tokens, in whole turns; 50k may be written."""
    count: Annotated[TokenCounter, Ref()] | None = None
    """What counts them; unset: an estimate by characters."""


class SummarisingSettings(BeanSettings):
    """What `summarising_window` takes."""

    window: Annotated[Window, Ref(or_type=True)]
    """How much stays as it was said."""
    model: Annotated[ChatModel, Ref()]
    """The model that sums up what goes."""
    instruction: str | None = None
    """What the model is told; unset: a text of the framework."""
    max_summary_chars: Count = 2_000
    """How long the summary may be."""
    max_request_chars: Count = 40_000
    """How much is given to the model at once."""
    keep_share: float = Field(default=0.5, gt=0, le=1)
    """The share of the window that stays after summing up, so that it is not needed in every turn."""
    timeout: Seconds = 60.0
    """How long the model may take."""


class EverythingSettings(BeanSettings):
    """Of a window that leaves nothing out."""


class FallbackSettings(BeanSettings):
    """What `fallback` takes."""

    models: tuple[Annotated[ChatModel, Ref()], ...] = Field(min_length=1)
    """The models in the order in which they are asked."""
    on: tuple[FallbackReason, ...] = FALLBACK_DEFAULT
    """What leads to the next one."""


def _make_chat_memory(settings: ChatMemorySettings) -> ChatMemory:
    """The memory. Raises `ConfigurationError` for what is no window."""
    window = settings.window
    if window is not None and not isinstance(window, Window | Condenser):
        raise ConfigurationError(
            f"'window' needs a window, and {type(window).__name__} is none",
            next_step="Such as message_window, token_window, summarising_window or everything.",
        )
    return ChatMemory(
        settings.store if settings.store is not None else InMemoryStore(),
        window=window,
        stores=settings.stores,
        on_failure=settings.on_failure,
        ttl=settings.ttl,
        max_state_bytes=settings.max_state_bytes,
    )


def _make_summarising(settings: SummarisingSettings) -> Summarising:
    """The window."""
    given: dict[str, Any] = {"instruction": settings.instruction} if settings.instruction is not None else {}
    return Summarising(
        settings.window,
        settings.model,
        max_summary_chars=settings.max_summary_chars,
        max_request_chars=settings.max_request_chars,
        keep_share=settings.keep_share,
        timeout=settings.timeout,
        **given,
    )


def _make_sqlite_store(settings: SqliteStoreSettings, context: BeanContext) -> SqliteStore:
    """The store; its file is opened at the start."""
    return SqliteStore(context.folder / settings.path, timeout=settings.timeout)


MEMORY_TYPES: tuple[BeanType, ...] = (
    BeanType(
        "chat_memory",
        ChatMemorySettings,
        _make_chat_memory,
        ChatMemory,
        "Conversations of tenants, stored turn by turn and cut to a window.",
    ),
    BeanType(
        "in_memory_store",
        InMemoryStoreSettings,
        lambda settings: InMemoryStore(max_conversations=settings.max_conversations),
        InMemoryStore,
        "Keeps conversations in the process.",
    ),
    BeanType(
        "sqlite_store",
        SqliteStoreSettings,
        _make_sqlite_store,
        SqliteStore,
        "Keeps conversations in a SQLite file, which several processes may share.",
    ),
    BeanType(
        "message_window",
        MessageWindowSettings,
        lambda settings: MessageWindow(settings.max_messages),
        MessageWindow,
        "The last turns of a conversation, by the number of messages.",
    ),
    BeanType(
        "token_window",
        TokenWindowSettings,
        lambda settings: TokenWindow(
            settings.max_tokens, count=settings.count if settings.count is not None else estimate_tokens
        ),
        TokenWindow,
        "The last turns of a conversation, by the number of tokens.",
    ),
    BeanType(
        "summarising_window",
        SummarisingSettings,
        _make_summarising,
        Summarising,
        "The last turns as they were said, and a summary of those before.",
    ),
    BeanType("everything", EverythingSettings, lambda _: Everything(), Everything, "A whole conversation."),
    BeanType(
        "fallback",
        FallbackSettings,
        lambda settings: FallbackChatModel(settings.models, on=settings.on),
        FallbackChatModel,
        "Several models as one: where the first cannot answer the next one does.",
    ),
)
"""The types, in the order of the reference."""
