"""The interactive session, its history, and what ends a turn without ending the conversation."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
from typing import Any

import pytest

from agentforge import AgentForge, AiMessage, ModelError, ScriptedChatModel, ToolExecutionResultMessage, ToolService
from agentforge.cli.console import Console
from agentforge.cli.conversation import Conversation
from agentforge.cli.main import run
from agentforge.cli.view import TextView
from agentforge.client import ChatClient
from agentforge.model.scripted import call


def _conversation(client: ChatClient, *, streamed: bool) -> Conversation:
    console = Console(io.StringIO(), io.StringIO(), io.StringIO(), {})
    return Conversation(client, TextView(console, "scripted"), streamed=streamed)


STREAMED = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "plain"])


@STREAMED
async def test_the_next_turn_goes_on_with_the_history(streamed: bool) -> None:
    """The model sees the whole conversation, the system message once."""
    model: Any = ScriptedChatModel([call("add", a=1, b=2), "Three.", "You asked for a sum."])

    def add(a: int, b: int) -> int:
        "The sum."
        return a + b

    with ToolService(add) as service:
        conversation = _conversation(ChatClient(model, service=service, system="Be short."), streamed=streamed)
        await conversation.ask("1 + 2?")
        await conversation.ask("What did I ask?")

    kinds = [type(message).__name__ for message in model.requests[-1].messages]
    assert kinds == [
        "SystemMessage",
        "UserMessage",
        "AiMessage",
        "ToolExecutionResultMessage",
        "AiMessage",
        "UserMessage",
    ]


@STREAMED
async def test_a_turn_that_is_cancelled_leaves_a_valid_history(streamed: bool) -> None:
    """The call that was stopped has its result, and the conversation goes on."""
    began = asyncio.Event()
    model: Any = ScriptedChatModel([call("wait"), "Here again."])

    async def wait() -> str:
        "Waits for ever."
        began.set()
        await asyncio.Event().wait()
        return "never"

    with ToolService(wait) as service:
        conversation = _conversation(ChatClient(model, service=service), streamed=streamed)
        turn = asyncio.create_task(conversation.ask("Wait."))
        await began.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        question, asked, answered = conversation.history
        result = await conversation.ask("Are you there?")

    assert isinstance(asked, AiMessage) and asked.has_tool_execution_requests
    assert isinstance(answered, ToolExecutionResultMessage) and answered.is_error
    assert question == model.requests[0].messages[0]
    assert result.text == "Here again."


@STREAMED
async def test_a_question_to_which_nothing_came_is_forgotten(streamed: bool) -> None:
    """The next turn does not answer it as well."""
    model: Any = ScriptedChatModel([ModelError("not now"), "Yes."])
    with ToolService() as service:
        conversation = _conversation(ChatClient(model, service=service), streamed=streamed)
        with pytest.raises(ModelError):
            await conversation.ask("First?")
        await conversation.ask("Second?")

    assert [message.text for message in model.requests[-1].messages] == ["Second?"]


@pytest.mark.parametrize("end", ["exit\n", "quit\n", "  exit \n", ""])
def test_a_session_ends_with_a_word_or_the_end_of_input(project: Any, terminal: Any, end: str) -> None:
    """With 0, after an answer for each question; empty lines are no questions."""
    ended = project.run("chat", stdin=terminal(f"one?\n\ntwo?\n{end}"))

    assert (ended.code, ended.out) == (0, "杭州今天 22 度。\n" * 2)
    assert ended.err.startswith("assistant, model scripted\n")


def test_a_misspelt_word_of_a_session_asks_no_model(project: Any, terminal: Any) -> None:
    """It is told what there is; a path is a question."""
    project.script("[here]")
    ended = project.run("chat", stdin=terminal("/relod\n/help\n/etc/hosts\n"))

    assert (ended.code, ended.out) == (0, "here\n")
    assert "/relod is no command of a session; there is /reload\n" in ended.err
    assert "/help is no command of a session; there is /reload\n" in ended.err


def test_a_turn_that_fails_does_not_end_the_session(project: Any, terminal: Any) -> None:
    """Its error is one block, and the next question is answered."""
    project.script("[{error: {type: rate_limit}}, here again]")
    ended = project.run("chat", stdin=terminal("one?\ntwo?\n"))

    assert (ended.code, ended.out) == (0, "here again\n")
    assert "[AF307]" in ended.err


def test_a_line_that_is_no_text_is_asked_for_again(project: Any, terminal: Any) -> None:
    """And asks no model."""
    project.script("[here]")
    ended = project.run("chat", stdin=terminal("caf\udce9\none?\n"))

    assert (ended.code, ended.out) == (0, "here\n")
    assert "the line is not UTF-8 text" in ended.err


def test_ctrl_c_ends_a_turn_and_not_the_session(project: Any, terminal: Any) -> None:
    """The turn is cancelled, and the next question answered; the handler of before is back at the end."""
    project.script("[{calls: [{name: interrupted}]}, here again]", component="interrupted")
    _write_interrupting_tool(project)
    before = signal.getsignal(signal.SIGINT)
    ended = project.run("chat", stdin=terminal("one?\ntwo?\n"))

    assert (ended.code, ended.out) == (0, "here again\n")
    assert "interrupted; the conversation goes on" in ended.err
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_ends_a_single_question_with_130(project: Any) -> None:
    """Without a traceback; the beans are closed."""
    project.script("[{calls: [{name: interrupted}]}]", component="interrupted")
    _write_interrupting_tool(project)
    ended = project.run("chat", "one?")

    assert (ended.code, ended.out) == (130, "")
    assert ended.err.endswith("interrupted\n") and "Traceback" not in ended.err


def _write_interrupting_tool(project: Any) -> None:
    project.write(
        f"{project.module}.py",
        "import asyncio, signal\nfrom agentforge import tool\n"
        "@tool('Has Ctrl-C pressed.')\nasync def interrupted() -> str:\n"
        "    signal.raise_signal(signal.SIGINT)\n    await asyncio.Event().wait()\n",
    )


def test_ctrl_c_at_the_prompt_asks_anew(project: Any, terminal: Any) -> None:
    """And forgets the line."""

    class Interrupted(terminal):  # type: ignore[misc]
        def readline(self, size: int = -1) -> str:
            line: str = super().readline(size)
            if line == "never mind\n":
                signal.raise_signal(signal.SIGINT)
            return line

    project.script("[here]")
    ended = project.run("chat", stdin=Interrupted("never mind\none?\n"))

    assert (ended.code, ended.out) == (0, "here\n")


def test_the_process_own_terminal_has_a_line_editor(
    project: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which asks with the prompt."""
    for name, stream in (("stdin", terminal("one?\n")), ("stdout", terminal()), ("stderr", terminal())):
        monkeypatch.setattr(sys, name, stream)
    code = run(["chat"], environment={"AGENTFORGE_CONFIG": project.file})

    assert code == 0 and "> 杭州今天 22 度。\n" in sys.stdout.getvalue()  # type: ignore[attr-defined]


def test_a_session_outside_the_main_thread(project: Any, terminal: Any) -> None:
    """Has no say over signals and works all the same."""
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(project.run("chat", stdin=terminal("one?\n"))))
    thread.start()
    thread.join()

    assert (ended[0].code, ended[0].out) == (0, "杭州今天 22 度。\n")


def test_a_session_ends_when_nobody_reads_its_answers(project: Any, terminal: Any, closed_output: io.StringIO) -> None:
    """Quietly: its output is closed."""
    ended = project.run("chat", stdin=terminal("one?\ntwo?\n"), stdout=closed_output)

    assert ended.code == 0 and ended.err.count("-> get_weather") == 1


def test_data_needs_a_question(project: Any, terminal: Any) -> None:
    """A session is for people."""
    ended = project.run("chat", "--json", stdin=terminal("one?\n"))

    assert ended.code == 2 and "--json needs a question" in ended.err


def test_the_beans_are_closed_at_the_end(project: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a session as of one question."""
    stopped: list[AgentForge] = []
    stop = AgentForge.stop

    async def noting(self: AgentForge) -> None:
        stopped.append(self)
        await stop(self)

    monkeypatch.setattr(AgentForge, "stop", noting)
    project.run("chat", stdin=terminal("one?\n"))
    project.run("chat", "two?")

    assert len(stopped) == 2
