"""Tools for tests of applications and plugins: a scripted model, a scripted endpoint, and replay of recorded traffic.

Nothing here needs an HTTP library, a provider or a network; the endpoint listens on the loopback address only.
"""

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

__all__ = (
    "Cassette",
    "EndpointReply",
    "EndpointRequest",
    "EndpointTurn",
    "Interaction",
    "RecordedRequest",
    "RecordedResponse",
    "ReplayTransport",
    "ScriptedChatModel",
    "ScriptedEndpoint",
    "Turn",
    "call",
    "calls",
    "replay_transport",
    "same_endpoint",
)
