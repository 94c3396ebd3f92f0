"""How a model speaks: messages, requests, responses, events, and the contract every model fulfils."""

from typing import TYPE_CHECKING

from agentforge.later import loaded_later
from agentforge.model.arguments import ArgumentLimits, parse_arguments
from agentforge.model.chat_model import ChatModel
from agentforge.model.citation import Citation
from agentforge.model.content import (
    AudioContent,
    Content,
    FileContent,
    ImageContent,
    ProviderState,
    TextContent,
    ThinkingContent,
)
from agentforge.model.events import (
    ChatEvent,
    Event,
    Notice,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge.model.history import History, mend_history
from agentforge.model.messages import (
    AiMessage,
    ChatMessage,
    Message,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.profile import Degradation, ModelProfile, ToolMode
from agentforge.model.request import (
    ChatRequest,
    ChatRequestParameters,
    ReasoningEffort,
    ResponseFormat,
    ToolChoice,
)
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.specification import Strictness, ToolParameters, ToolParametersBuilder, ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest, new_call_id
from agentforge.model.usage import TokenUsage

if TYPE_CHECKING:
    from agentforge.model.embedding import EmbeddingModel, EmbeddingResponse
    from agentforge.model.partial_arguments import PartialArguments
    from agentforge.model.price import Price, PriceRows, PriceTable, price_table, priced
    from agentforge.model.serialization import (
        message_from_json,
        message_to_json,
        messages_from_json,
        messages_to_json,
        response_from_json,
        response_to_json,
    )

__all__ = (
    "AiMessage",
    "ArgumentLimits",
    "AudioContent",
    "ChatEvent",
    "ChatMessage",
    "ChatModel",
    "ChatRequest",
    "ChatRequestParameters",
    "ChatResponse",
    "Citation",
    "Content",
    "Degradation",
    "EmbeddingModel",
    "EmbeddingResponse",
    "Event",
    "FileContent",
    "FinishReason",
    "History",
    "ImageContent",
    "Message",
    "ModelProfile",
    "Notice",
    "PartialArguments",
    "Price",
    "PriceRows",
    "PriceTable",
    "ProviderState",
    "ReasoningEffort",
    "ResponseDone",
    "ResponseFormat",
    "Strictness",
    "SystemMessage",
    "TextContent",
    "TextDelta",
    "ThinkingContent",
    "ThinkingDelta",
    "TokenUsage",
    "ToolCallDelta",
    "ToolCallReady",
    "ToolChoice",
    "ToolExecutionRequest",
    "ToolExecutionResultMessage",
    "ToolMode",
    "ToolParameters",
    "ToolParametersBuilder",
    "ToolSpecification",
    "UsageEvent",
    "UserMessage",
    "mend_history",
    "message_from_json",
    "message_to_json",
    "messages_from_json",
    "messages_to_json",
    "new_call_id",
    "parse_arguments",
    "price_table",
    "priced",
    "response_from_json",
    "response_to_json",
)

# Few programs need embeddings or look at calls half way, and many store nothing.
_HOME = {
    "EmbeddingModel": "embedding",
    "EmbeddingResponse": "embedding",
    "PartialArguments": "partial_arguments",
    "Price": "price",
    "PriceRows": "price",
    "PriceTable": "price",
    "message_from_json": "serialization",
    "message_to_json": "serialization",
    "messages_from_json": "serialization",
    "messages_to_json": "serialization",
    "price_table": "price",
    "priced": "price",
    "response_from_json": "serialization",
    "response_to_json": "serialization",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
