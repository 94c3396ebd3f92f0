"""What every chat model behind a wire has to do, as a class of tests to subclass."""

from __future__ import annotations

from agentforge.testing.contracts.chat_model import ChatModelContract
from agentforge.testing.contracts.wire_answers import WireAnswersSuite
from agentforge.testing.contracts.wire_asking import WireAskingSuite
from agentforge.testing.contracts.wire_growth import WireGrowthSuite
from agentforge.testing.contracts.wire_history import WireHistorySuite

__all__ = ("WireModelContract",)


class WireModelContract(WireHistorySuite, WireGrowthSuite, WireAskingSuite, WireAnswersSuite, ChatModelContract):
    """The tests of a `WireModel` of `agentforge.provider`: `ChatModelContract`, and what `preview` and decoders show.

    Write ``class TestMyModel(WireModelContract)`` and override `model_answering`, as there; nothing else is needed.
    Requests are looked at without being sent: every text, call, result, name and picture of a history and every
    parameter is in the body, refused with a next step, or left out with a notice. Streams are recorded on their way
    into the model's decoder and read again, cut everywhere.

    ``sends_ids`` is true; set it to false for a protocol that has no ids of calls. ``replays_state`` is true; set it to
    false for an endpoint that wants nothing back of what the wire keeps of its replies in `provider_state`.
    """
