"""What plugins that speak to providers share: rows of vendor data, the rules of what may be asked, requests of which no
turn is encoded twice, and the model between a wire and the HTTP seam.

A provider's plugin adds its rows and its wire: pure functions that encode a message and decode an answer. Nothing here
knows a vendor, and importing this loads neither an HTTP library nor pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.later import loaded_later
from agentforge.provider.address import api_key_of, base_url_of, header_pairs
from agentforge.provider.distinct_ids import with_distinct_ids
from agentforge.provider.encoder import EncodedRequest, RequestEncoder
from agentforge.provider.endpoint import Endpoint, policy_setting
from agentforge.provider.endpoint_model import EndpointModel
from agentforge.provider.event_stream import EventStreamDecoder
from agentforge.provider.json_text import (
    MENDED,
    HeldHalf,
    dump_arguments,
    dump_bytes,
    dump_text,
    is_object,
    joined_text,
    load,
    load_mended,
    sent_arguments,
    utf8,
)
from agentforge.provider.names import alias_map, alias_of, call_id_of, file_name_of
from agentforge.provider.preview import ToolPreview
from agentforge.provider.row import FEATURES, EndpointRow, ThinkingLimits, profile_of, provider_id
from agentforge.provider.schemas import (
    SentSchema,
    complete_schema,
    held_schema,
    plain_schema,
    sent_schemas,
    subset_of,
)
from agentforge.provider.settling import Settled, leave_out, parallel_beside_strict, settle
from agentforge.provider.size import MAX_BODY_BYTES, too_large
from agentforge.provider.turn_shape import TurnShape
from agentforge.provider.vendor_table import VendorTable
from agentforge.provider.whole_reply import events_of
from agentforge.provider.wire import EMPTY_TOOLS, Answering, Decoder, Head, Pieces, ToolBlock, Wire
from agentforge.provider.wire_model import WireModel

if TYPE_CHECKING:
    from agentforge.provider.chat_settings import ChatSettings
    from agentforge.provider.efforts import EFFORTS, nearest_effort
    from agentforge.provider.endpoint_settings import (
        CircuitBreakerSettings,
        EndpointSettings,
        RateLimitSettings,
        RetryBudgetSettings,
        RetrySettings,
        TimeoutSettings,
        endpoints_of,
        make_model,
    )
    from agentforge.provider.inlining import inlined

__all__ = (
    "EFFORTS",
    "EMPTY_TOOLS",
    "FEATURES",
    "MAX_BODY_BYTES",
    "MENDED",
    "Answering",
    "ChatSettings",
    "CircuitBreakerSettings",
    "Decoder",
    "EncodedRequest",
    "Endpoint",
    "EndpointModel",
    "EndpointRow",
    "EndpointSettings",
    "EventStreamDecoder",
    "Head",
    "HeldHalf",
    "Pieces",
    "RateLimitSettings",
    "RequestEncoder",
    "RetryBudgetSettings",
    "RetrySettings",
    "SentSchema",
    "Settled",
    "ThinkingLimits",
    "TimeoutSettings",
    "ToolBlock",
    "ToolPreview",
    "TurnShape",
    "VendorTable",
    "Wire",
    "WireModel",
    "alias_map",
    "alias_of",
    "api_key_of",
    "base_url_of",
    "call_id_of",
    "complete_schema",
    "dump_arguments",
    "dump_bytes",
    "dump_text",
    "endpoints_of",
    "events_of",
    "file_name_of",
    "header_pairs",
    "held_schema",
    "inlined",
    "is_object",
    "joined_text",
    "leave_out",
    "load",
    "load_mended",
    "make_model",
    "nearest_effort",
    "parallel_beside_strict",
    "plain_schema",
    "policy_setting",
    "profile_of",
    "provider_id",
    "sent_arguments",
    "sent_schemas",
    "settle",
    "subset_of",
    "too_large",
    "utf8",
    "with_distinct_ids",
)

_HOME = {
    "EFFORTS": "efforts",
    "ChatSettings": "chat_settings",
    "CircuitBreakerSettings": "endpoint_settings",
    "EndpointSettings": "endpoint_settings",
    "RateLimitSettings": "endpoint_settings",
    "RetryBudgetSettings": "endpoint_settings",
    "RetrySettings": "endpoint_settings",
    "TimeoutSettings": "endpoint_settings",
    "endpoints_of": "endpoint_settings",
    "inlined": "inlining",
    "make_model": "endpoint_settings",
    "nearest_effort": "efforts",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
