"""What a model would do, without one. A turn of a script may be a function of the request: this one searches, unless it
is offered the tool already, and answers in the language of the question."""

from agentforge import ChatModel, ChatRequest, ScriptedChatModel, ToolExecutionResultMessage, UserMessage
from agentforge.testing import Turn, call


def careful_clerk() -> ChatModel:
    """A model that hands in a request for leave, whatever it is asked."""
    return ScriptedChatModel([_answer], repeat=True)


def _answer(request: ChatRequest) -> Turn:
    asked = [message.text for message in request.messages if isinstance(message, UserMessage)][-1]
    last = request.messages[-1]
    if isinstance(last, ToolExecutionResultMessage) and last.tool_name != "search_tools":
        done = "Your request for leave is handed in: three days from 23 November."
        return done if asked.isascii() else "您的请假申请已提交：11 月 23 日起三天。"
    if any(tool.name == "create_leave_request" for tool in request.parameters.tools):
        return call("create_leave_request", details={"days": 3, "from": "2026-11-23"})
    if isinstance(last, ToolExecutionResultMessage):
        return "I found no tool for that." if asked.isascii() else "没有找到合适的工具。"
    return call("search_tools", query="create a leave request" if asked.isascii() else "新建请假申请")
