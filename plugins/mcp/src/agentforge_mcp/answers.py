"""What a server is answered that asks something itself: of the user (elicitation) or of a model (sampling).

By default both are refused: a server is not to steer a conversation, nor to spend tokens, because it can. Loaded when
a server starts.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

import mcp_types as types

from agentforge.model import TokenUsage
from agentforge_mcp.options import ElicitationRequest, McpOptions
from agentforge_mcp.server_log import shown

__all__ = ("Answers",)

_log = logging.getLogger("agentforge.mcp")
_UNASKED = types.ErrorData(code=types.INVALID_REQUEST, message="Nothing is being asked of this server.")


class Answers:
    """The SDK's callbacks for one server; those that are refused are not even said to be possible.

    ``is_asked`` says whether something is being asked of the server: one that has nothing to do for anybody has
    nothing to ask.
    """

    def __init__(
        self,
        name: str,
        options: McpOptions,
        on_spent: Callable[[TokenUsage, str | None], None],
        is_asked: Callable[[], bool],
    ) -> None:
        self._name = name
        self._options = options
        self._on_spent = on_spent
        self._is_asked = is_asked

    def callbacks(self) -> dict[str, Any]:
        """The arguments of a session."""
        made: dict[str, Any] = {}
        if self._options.elicitation is not None:
            made["elicitation_callback"] = self.elicit
        if self._options.sampling is not None:
            made["sampling_callback"] = self.sample
        return made

    async def elicit(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        """Ask the handler; what it raises, or gives that no form holds, cancels."""
        handler = self._options.elicitation
        assert handler is not None
        if not self._is_asked():
            return _UNASKED
        if isinstance(params, types.ElicitRequestURLParams):
            request = ElicitationRequest(self._name, params.message, "url", url=params.url)
        else:
            request = ElicitationRequest(self._name, params.message, "form", dict(params.requested_schema))
        try:
            given = handler(request)
            if inspect.isawaitable(given):
                given = await given
            if given is None:
                return types.ElicitResult(action="decline")
            content = None if request.mode == "url" else dict(given)
            return types.ElicitResult(action="accept", content=content)
        except Exception as error:
            _log.warning("the elicitation handler failed for the MCP server %r: %s", self._name, type(error).__name__)
            return types.ElicitResult(action="cancel")

    async def sample(
        self, context: object, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Ask the model, without tools and for no more tokens than is allowed."""
        from agentforge.model import AiMessage, ChatRequest, ChatRequestParameters, SystemMessage, UserMessage

        model = self._options.sampling
        assert model is not None
        if not self._is_asked():
            return _UNASKED
        messages: list[Any] = [SystemMessage(params.system_prompt)] if params.system_prompt else []
        for message in params.messages:
            blocks = message.content if isinstance(message.content, list) else [message.content]
            text = "\n".join(each.text for each in blocks if isinstance(each, types.TextContent))
            if len(blocks) != sum(isinstance(each, types.TextContent) for each in blocks):
                return types.ErrorData(code=types.INVALID_PARAMS, message="Only text is taken here for sampling.")
            messages.append(AiMessage(text) if message.role == "assistant" else UserMessage(text))
        most = self._options.sampling_tokens
        parameters = ChatRequestParameters(
            max_output_tokens=min(params.max_tokens, most),
            temperature=params.temperature,
            stop=tuple(params.stop_sequences or ()),
        )
        try:
            response = await model.chat(ChatRequest(messages, parameters))
        except Exception as error:
            _log.warning("the model failed for the MCP server %r: %s", self._name, shown(str(error)))
            return types.ErrorData(code=types.INTERNAL_ERROR, message="The model gave no answer.")
        self._on_spent(response.token_usage or TokenUsage(), response.model_name)
        reason = "maxTokens" if response.finish_reason.name == "LENGTH" else "endTurn"
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text=response.ai_message.text or ""),
            model=response.model_name or "model",
            stop_reason=reason,
        )
