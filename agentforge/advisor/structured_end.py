"""The end of a chain whose answers are to have a form: how the model is asked for it, and its replies brought into it.

Whatever the mode, what comes back is a reply whose text is the JSON, so that nobody further out has to know the mode.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import ChainEnd
from agentforge.advisor.output_type import OutputType, OutputTypeError
from agentforge.advisor.structured_stream import AnswerEvents
from agentforge.advisor.telling import tell
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    ModelProfile,
    ResponseFormat,
    TextContent,
    ToolChoice,
    ToolExecutionRequest,
    ToolParameters,
    ToolSpecification,
)
from agentforge.model.schema_calling.prompt import with_instructions
from agentforge.tool.execution import Emit, Run

__all__ = ("StructuredEnd", "UsedMode")

UsedMode: TypeAlias = Literal["native", "tool", "prompt"]
"""How a model is asked for the form: by its own structured output, by a tool, or in words."""
_TOOL = "final_answer"
_PROMPT = "Give your final answer as one JSON object that fits this JSON Schema, and write nothing around it:\n{schema}"
_CALL = "Give your final answer by calling the tool {tool}, and not as text."
_DESCRIPTION = "Gives the final answer. Call it alone, once, when you know all that you need."


@dataclass(frozen=True, slots=True)
class StructuredEnd:
    """Asks the ``end`` of a chain, which stands for a model of this ``profile``, for values of ``output``.

    By a tool: a call of it becomes the reply's text. Where the model calls others beside it they run first, and it is
    asked again: its answer was made without their results. A round whose ``tool_choice`` forces a call of the caller's
    tools is left as it is.
    """

    end: ChainEnd
    output: OutputType[Any]
    mode: UsedMode
    profile: ModelProfile
    #: Whether the mode was chosen for the model, and not by the user.
    is_free: bool = False

    async def __call__(self, run: Run, request: ChatRequest, emit: Emit | None) -> Advised:
        """One call of the model."""
        tool = _free_name(request.parameters) if self._by_tool(request.parameters) else None
        if tool is not None and _owes_a_call(request.parameters):
            return await self.end(run, request, emit)
        events = AnswerEvents(emit, tool, lambda response: self.decoded(response, tool)) if emit is not None else None
        advised = await self.end(run, self.asking(request, tool), events.put if events is not None else None)
        if advised.response is None:
            return advised
        response = self.decoded(advised.response, tool)
        if response is advised.response:
            return advised
        calls = response.ai_message.tool_execution_requests
        if calls:
            dropped = len(advised.response.ai_message.tool_execution_requests) - len(calls)
            text = f"{dropped} final answer{'s' if dropped > 1 else ''} beside other calls did not count"
            await tell(run, emit, "structured_output_early", text, {"tool": tool})
        return replace(advised, response=response, new_messages=(*advised.new_messages[:-1], response.ai_message))

    def _by_tool(self, given: ChatRequestParameters) -> bool:
        """Whether a tool gives the answer; also where the model's own form would keep it from calling other tools."""
        if self.mode == "native" and self.is_free and not self.profile.response_format_with_tools:
            return bool(given.tools) and (given.tool_choice is None or given.tool_choice.mode != "none")
        return self.mode == "tool"

    def asking(self, request: ChatRequest, tool: str | None) -> ChatRequest:
        """The request for an answer in the form; ``tool`` is the name of the tool that gives it, in that mode."""
        given, output = request.parameters, self.output
        if tool is None and self.mode == "native":
            strict = True if output.is_strict else None
            form = ResponseFormat.json_schema(output.schema, name=output.name, strict=strict)
            return ChatRequest(request.messages, given.with_(response_format=form))
        if tool is None:
            schema = json.dumps(output.schema, ensure_ascii=False, separators=(",", ":"))
            if given.response_format is None and "json" in self.profile.response_formats and not given.tools:
                given = given.with_(response_format=ResponseFormat.JSON)
            return ChatRequest(with_instructions(request.messages, _PROMPT.format(schema=schema)), given)
        parameters = self._with_tool(given, tool)
        choice = parameters.tool_choice
        if choice is not None and choice.forces_a_call:
            return ChatRequest(request.messages, parameters)
        return ChatRequest(with_instructions(request.messages, _CALL.format(tool=tool)), parameters)

    def _with_tool(self, given: ChatRequestParameters, tool: str) -> ChatRequestParameters:
        strict = True if self.profile.strict_tools and self.output.is_strict else None
        parameters = ToolParameters(self.output.schema)
        specification = ToolSpecification(tool, _DESCRIPTION, parameters, strict)
        known, choice = self.profile.tool_choice, given.tool_choice
        tools = given.tools
        if not tools or (choice is not None and choice.mode == "none"):
            tools = tools if "tool" in known else ()
            made = ToolChoice.tool(tool) if "tool" in known else ToolChoice.REQUIRED if "required" in known else None
        elif choice is not None and choice.mode == "allowed":
            made = ToolChoice.allowed((*choice.names, tool), required=True)
        else:
            made = ToolChoice.REQUIRED if "required" in known else None
        return given.with_(tools=(*tools, specification), tool_choice=made)

    def decoded(self, response: ChatResponse, tool: str | None) -> ChatResponse:
        """The reply with the answer's JSON as its text, where it holds one; the very same one where nothing is to
        be changed."""
        message = response.ai_message
        calls = message.tool_execution_requests
        finals = [each for each in calls if each.name == tool] if tool is not None else []
        if finals and len(finals) < len(calls):
            rest = [part for part in message.contents if part not in finals]
            return replace(response, ai_message=AiMessage(rest, provider_state=message.provider_state))
        if finals:
            texts = dict.fromkeys(self._text_of(each) for each in finals)
            reason = response.finish_reason
            reason = FinishReason.STOP if reason is FinishReason.TOOL_EXECUTION else reason
            return replace(response, ai_message=_said(message, "\n".join(texts)), finish_reason=reason)
        text = message.text
        if calls or not text:
            return response
        try:
            found, _ = self.output.read(text)
        except OutputTypeError:
            return response
        return response if found == text.strip() else replace(response, ai_message=_said(message, found))

    def _text_of(self, call: ToolExecutionRequest) -> str:
        """The arguments of a final answer as its text."""
        text = call.arguments or "{}"
        try:
            return self.output.read(text)[0]
        except OutputTypeError:
            return text  # which is judged as any other answer


def _free_name(given: ChatRequestParameters) -> str:
    """A name that no tool of the request has."""
    taken = {tool.name for tool in given.tools}
    name, number = _TOOL, 1
    while name in taken:
        number += 1
        name = f"{_TOOL}_{number}"
    return name


def _owes_a_call(given: ChatRequestParameters) -> bool:
    """Whether the model is to call one of the caller's tools."""
    return bool(given.tools) and given.tool_choice is not None and given.tool_choice.forces_a_call


def _said(message: AiMessage, text: str) -> AiMessage:
    """The message with this text, in the place of its texts and calls."""
    kept = [part for part in message.contents if not isinstance(part, TextContent | ToolExecutionRequest)]
    return AiMessage([*kept, TextContent(text)], provider_state=message.provider_state)
