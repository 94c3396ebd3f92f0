"""One tool call as the model asked for it, shared by the model side and the tool side (seed A 3.1.3)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from agentforge.model.arguments import parse_arguments
from agentforge.model.content import ProviderState

__all__ = ("ToolExecutionRequest", "new_call_id")


def new_call_id() -> str:
    """A call id that is unique in any conversation: ``call_`` and 24 hexadecimal digits."""
    return "call_" + os.urandom(12).hex()


@dataclass(frozen=True, slots=True)
class ToolExecutionRequest:
    """A call: ``id``, ``name`` and the raw ``arguments`` text, which need not be JSON.

    ``id_was_given`` is false where the provider sent no id and ours was made up, so that a wire can leave it
    out again. Ids may repeat in a history; a call is known by its position in its reply.
    """

    id: str
    name: str
    arguments: str = ""
    id_was_given: bool = True
    provider_state: ProviderState | None = None

    def arguments_as_map(self) -> dict[str, object]:
        """The arguments as an object; empty text and ``{}`` give an empty one (seed A 3.2.4).

        Raises `ToolArgumentsError` for anything that is not JSON or not an object, with the reason.

        >>> ToolExecutionRequest("c1", "get_weather", '{"city": "Paris"}').arguments_as_map()
        {'city': 'Paris'}
        """
        return parse_arguments(self.arguments, tool=self.name)

    def with_arguments(self, arguments: str) -> ToolExecutionRequest:
        """The same call with another argument text."""
        return replace(self, arguments=arguments)
