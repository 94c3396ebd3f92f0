"""What an advisor is: one method around a model call, the same for a plain call and a streamed one.

An advisor may change the request on the way in, the answer on the way out, call the rest of the chain again, or answer
itself. It is written once: whether somebody listens is the chain's affair (``chain.emit``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agentforge.model import ChatMessage, ChatRequest, ChatResponse
from agentforge.tool.execution import Run, ToolLoopState

if TYPE_CHECKING:
    from agentforge.advisor.chain import Chain
    from agentforge.tool.execution import OfferedTool

__all__ = ("Advised", "Advisor")


@dataclass(frozen=True, slots=True)
class Advised:
    """What came back from the chain.

    ``response`` is the reply, ``None`` for a suspended turn. ``new_messages`` is everything that the turn added behind
    the request's messages, the reply included. ``offered`` is what the request really offered, where an advisor inside
    changed the tools. ``suspended`` is the state of a turn that waits for decisions.
    """

    response: ChatResponse | None
    new_messages: Sequence[ChatMessage] = ()
    offered: Mapping[str, OfferedTool] | None = None
    suspended: ToolLoopState | None = None
    returned_directly: bool = field(default=False, kw_only=True)


@runtime_checkable
class Advisor(Protocol):
    """One link of the chain. Where it may stand it says by attributes that `Placement` names, all optional."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Answer the request, by ``await chain.next(run, request)`` as a rule.

        ``chain.next`` may be called again (a retry, a reprompt); text that was shown before is first taken back with
        `Chain.discard`. A turn that is suspended (``advised.suspended``) passes unchanged.
        """
        ...
