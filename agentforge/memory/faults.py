"""What can go wrong between a conversation and where it is kept: errors with codes of their own (AF6xx).

```
ChatMemoryError                            AF600   the memory of conversations
├── MemoryConflictError                    AF601   somebody else stored the conversation meanwhile
├── ConversationSuspendedError             AF602   a new turn while one waits for a decision
├── UnreadableConversationError            AF603   what is stored cannot be read
├── MemoryKeyError (ValueError)            AF604   no memory id, or one that cannot be
├── MemoryLimitError (ValueError)          AF605   a conversation's state map is too large
├── TurnStateError (RuntimeError)          AF606   a turn that has ended, or one inside itself
└── MemoryStoreError                       AF607   the store itself cannot be used
```
"""

from __future__ import annotations

from agentforge.errors import AgentForgeError

__all__ = (
    "ChatMemoryError",
    "ConversationSuspendedError",
    "MemoryConflictError",
    "MemoryKeyError",
    "MemoryLimitError",
    "MemoryStoreError",
    "TurnStateError",
    "UnreadableConversationError",
)


class ChatMemoryError(AgentForgeError):
    """The base of what goes wrong with the memory of conversations."""

    code = "AF600"


class MemoryConflictError(ChatMemoryError):
    """The conversation was stored, deleted or made by somebody else since it was loaded; nothing was written."""

    code = "AF601"


class ConversationSuspendedError(ChatMemoryError):
    """A new turn was asked for while a suspended one waits to be resumed or given up."""

    code = "AF602"


class UnreadableConversationError(ChatMemoryError):
    """A stored or imported conversation cannot be read; no other conversation is touched by that."""

    code = "AF603"


class MemoryKeyError(ChatMemoryError, ValueError):
    """A conversation needs a memory id, and this is none."""

    code = "AF604"


class MemoryLimitError(ChatMemoryError, ValueError):
    """A conversation's state map is larger than the memory allows; nothing was written."""

    code = "AF605"


class TurnStateError(ChatMemoryError, RuntimeError):
    """A turn was used after it had ended, was begun inside itself, or was to be resumed where none is suspended."""

    code = "AF606"


class MemoryStoreError(ChatMemoryError):
    """The store cannot be used: its file cannot be opened, is locked, damaged, of another version, or closed."""

    code = "AF607"
