"""What a model would do, without one. A turn of a script may be a function of the request: this one tries to book
whatever it is asked, and says what came of it."""

from agentforge import ChatModel, ChatRequest, ScriptedChatModel, ToolExecutionResultMessage, UserMessage
from agentforge.testing import Turn, call


def eager_clerk() -> ChatModel:
    """A model that always tries to book."""
    return ScriptedChatModel([_answer], repeat=True)


def _answer(request: ChatRequest) -> Turn:
    last = request.messages[-1]
    if not isinstance(last, ToolExecutionResultMessage):
        return call("book_room", room="double", arrival="2026-11-20", nights=2)
    asked = [message.text for message in request.messages if isinstance(message, UserMessage)][-1]
    if asked.isascii():
        return "I could not book." if last.is_error else f"A double room is booked for two nights: {last.text}."
    return "我没能预订。" if last.is_error else f"双人间已预订，两晚，预订号 {last.text}。"
