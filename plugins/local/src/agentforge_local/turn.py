"""One request made ready for the engine: what the model reads, what it may write, and how its text is understood.

With full prompts this is the core's tool calling over a schema as it stands. With short prompts the model is asked one
small thing at a time: fill in the arguments of one tool, or say the result in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    Notice,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolChoice,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge.model.schema_calling import SchemaTurn, translate_request
from agentforge_local.grammar import answer_grammar, arguments_grammar, schema_grammar
from agentforge_local.prompts import PromptMessage, answer_prompt, call_prefix, call_prompt, facts_of
from agentforge_local.selection import fitting_tool

__all__ = ("LocalTurn", "Prompts", "prepare_turn")

Prompts: TypeAlias = Literal["short", "full"]
_LEAD_BYTES = 96


@dataclass(frozen=True, slots=True)
class LocalTurn:
    """``prefix`` is the certain beginning of the reply, which the engine does not repeat; ``schema`` is what the text
    must fit in the end; ``reading`` turns the text into calls or an answer."""

    messages: tuple[PromptMessage, ...]
    reading: SchemaTurn
    grammar: str | None = None
    prefix: str = ""
    schema: Mapping[str, Any] | None = None
    notices: tuple[Notice, ...] = ()


def prepare_turn(request: ChatRequest, *, prompts: Prompts, max_output_tokens: int) -> LocalTurn:
    """Raises `InvalidRequestError` for a tool choice that cannot be kept, `UnsupportedFeatureError` for contents that
    are no text."""
    if prompts == "short":
        return _short(request, max_output_tokens)
    return _full(request)


def _full(request: ChatRequest, notices: tuple[Notice, ...] = ()) -> LocalTurn:
    reading = translate_request(request)
    wanted = reading.request.parameters.response_format
    schema: Mapping[str, Any] | None = None
    if wanted is not None and wanted.type != "text":
        schema = wanted.schema if wanted.schema is not None else {"type": "object"}
    return LocalTurn(
        tuple(_plain(message) for message in reading.request.messages),
        reading,
        grammar=None if schema is None else schema_grammar(schema),
        # A call is checked against its tool later, and there a mistake is the model's to mend.
        schema=None if reading.is_translated else schema,
        notices=notices,
    )


def _short(request: ChatRequest, max_output_tokens: int) -> LocalTurn:
    parameters = request.parameters
    choice = parameters.tool_choice or ToolChoice.AUTO
    tools = parameters.tools if choice.mode != "none" else ()
    if choice.names:
        # A name that is not offered is refused by the core, in its words.
        translate_request(request)
        tools = tuple(tool for tool in tools if tool.name in choice.names)
    question, results = _last_exchange(request.messages)
    if results and not choice.forces_a_call:
        withheld = (Notice("tools_withheld", "after a result this model answers; it was offered no further call"),)
        return _answer(request, question, results, max_output_tokens, withheld if tools else ())
    if not tools:
        return _full(request)
    notices: tuple[Notice, ...] = ()
    chosen: ToolSpecification | None = tools[0]
    if len(tools) > 1 or not choice.forces_a_call:
        chosen = fitting_tool(tools, question)
        if chosen is not None:
            notices = (Notice("tool_selected", f"{chosen.name!r} was chosen by the words of the question"),)
    if chosen is not None:
        return _call(request, chosen, question, notices)
    if choice.forces_a_call:
        return _full(request)
    none_fits = Notice("tools_withheld", "no tool fits the words of the question, so none was offered")
    return _full(_without_tools(request), (none_fits,))


def _call(request: ChatRequest, tool: ToolSpecification, question: str, notices: tuple[Notice, ...]) -> LocalTurn:
    changed = request.parameters.with_(
        tools=(tool,), tool_choice=ToolChoice.tool(tool.name), parallel_tool_calls=None, response_format=None
    )
    return LocalTurn(
        tuple(call_prompt(tool, question)),
        translate_request(ChatRequest(request.messages, changed)),
        grammar=arguments_grammar(tool.parameters.schema, question),
        prefix=call_prefix(tool.name),
        notices=notices,
    )


def _answer(
    request: ChatRequest,
    question: str,
    results: Sequence[ToolExecutionResultMessage],
    max_output_tokens: int,
    notices: tuple[Notice, ...],
) -> LocalTurn:
    without = _without_tools(request)
    wanted = request.parameters.response_format
    if wanted is not None and wanted.type != "text":
        return _full(without, notices)
    facts = "; ".join(filter(None, (facts_of(result.text) for result in results)))
    # A token is at least a byte, so what passes here can be said to its end.
    fits = bool(facts) and len(facts.encode()) + _LEAD_BYTES <= max_output_tokens
    return LocalTurn(
        tuple(answer_prompt(question, facts)),
        translate_request(without),
        grammar=answer_grammar(question, facts) if fits else None,
        notices=notices,
    )


def _without_tools(request: ChatRequest) -> ChatRequest:
    changed = request.parameters.with_(tools=(), tool_choice=None, parallel_tool_calls=None)
    return ChatRequest(request.messages, changed)


def _last_exchange(messages: Sequence[ChatMessage]) -> tuple[str, list[ToolExecutionResultMessage]]:
    """The user's last words, and the results after them with which the history ends."""
    results: list[ToolExecutionResultMessage] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            return _text_of(message), results[::-1] if _ends_with_result(messages) else []
        if isinstance(message, ToolExecutionResultMessage):
            _text_of(message)
            results.append(message)
    return "", results[::-1] if _ends_with_result(messages) else []


def _ends_with_result(messages: Sequence[ChatMessage]) -> bool:
    return isinstance(messages[-1], ToolExecutionResultMessage)


def _plain(message: ChatMessage) -> PromptMessage:
    role = {SystemMessage: "system", UserMessage: "user", AiMessage: "assistant"}[type(message)]
    return {"role": role, "content": _text_of(message)}


def _text_of(message: ChatMessage) -> str:
    for part in message.contents:
        if not isinstance(part, (TextContent, ThinkingContent)) and "Content" in type(part).__name__:
            raise UnsupportedFeatureError(
                f"this model reads text only, and the request holds {type(part).__name__}",
                next_step="Leave it out, or use a model that takes it.",
            )
    return "".join(part.text for part in message.contents if isinstance(part, TextContent))
