"""Tools for tests of applications and plugins: a scripted model, a scripted endpoint, replay of recorded traffic, and
contract suites, which are classes of tests to subclass.

Nothing here needs an HTTP library, a provider, a network or a test runner; the endpoint listens on the loopback address
only. The suites are loaded on first use.
"""

from typing import TYPE_CHECKING

from agentforge.later import loaded_later
from agentforge.model.scripted import ScriptedChatModel, Turn, call, calls
from agentforge.testing.cassette import (
    Cassette,
    Interaction,
    RecordedRequest,
    RecordedResponse,
    ReplayTransport,
    replay_transport,
    same_endpoint,
)
from agentforge.testing.endpoint import EndpointRequest, ScriptedEndpoint
from agentforge.testing.endpoint_turn import EndpointReply, EndpointTurn

if TYPE_CHECKING:
    from agentforge.testing.contracts import (
        AdvisorContract,
        ChatModelContract,
        ErrorHandlerContract,
        MemoryStoreContract,
        PluginContract,
        ToolGateContract,
        ToolInterceptorContract,
        ToolSourceContract,
        WireModelContract,
    )

__all__ = (
    "AdvisorContract",
    "Cassette",
    "ChatModelContract",
    "EndpointReply",
    "EndpointRequest",
    "EndpointTurn",
    "ErrorHandlerContract",
    "Interaction",
    "MemoryStoreContract",
    "PluginContract",
    "RecordedRequest",
    "RecordedResponse",
    "ReplayTransport",
    "ScriptedChatModel",
    "ScriptedEndpoint",
    "ToolGateContract",
    "ToolInterceptorContract",
    "ToolSourceContract",
    "Turn",
    "WireModelContract",
    "call",
    "calls",
    "replay_transport",
    "same_endpoint",
)

_HOME = {name: "contracts" for name in __all__ if name.endswith("Contract")}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
