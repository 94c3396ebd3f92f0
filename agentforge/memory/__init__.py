"""What was said before: conversations of tenants, cut to size in whole turns, stored whole, one turn at a time."""

from agentforge.memory.chat_memory import ChatMemory
from agentforge.memory.conversation import Conversation, Suspension
from agentforge.memory.faults import (
    ChatMemoryError,
    ConversationSuspendedError,
    MemoryConflictError,
    MemoryKeyError,
    MemoryLimitError,
    MemoryStoreError,
    TurnStateError,
    UnreadableConversationError,
)
from agentforge.memory.in_memory import InMemoryStore
from agentforge.memory.key import ALL_TENANTS, AllTenants, MemoryKey
from agentforge.memory.sqlite import SqliteStore
from agentforge.memory.store import MemoryStore, conflict
from agentforge.memory.summarising import Condensed, Condenser, Summarising, is_summary
from agentforge.memory.token_window import TokenCounter, TokenWindow, estimate_tokens
from agentforge.memory.turn import Turn
from agentforge.memory.windows import Everything, MessageWindow, Window

__all__ = (
    "ALL_TENANTS",
    "AllTenants",
    "ChatMemory",
    "ChatMemoryError",
    "Condensed",
    "Condenser",
    "Conversation",
    "ConversationSuspendedError",
    "Everything",
    "InMemoryStore",
    "MemoryConflictError",
    "MemoryKey",
    "MemoryKeyError",
    "MemoryLimitError",
    "MemoryStore",
    "MemoryStoreError",
    "MessageWindow",
    "SqliteStore",
    "Summarising",
    "Suspension",
    "TokenCounter",
    "TokenWindow",
    "Turn",
    "TurnStateError",
    "UnreadableConversationError",
    "Window",
    "conflict",
    "estimate_tokens",
    "is_summary",
)
