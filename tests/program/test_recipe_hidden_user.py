"""The recipe ``hidden_user``: a user id that reaches the tool and no request."""

from __future__ import annotations

import asyncio
import json

import pytest

from agentforge import ChatClient
from agentforge.model import ToolExecutionRequest
from agentforge.testing import EndpointRequest, ScriptedEndpoint, call
from tests.support.recipes import chat, load, sent

LOOKS_UP = call("days_of_leave", year=2026)
USERS = {"u-7f3a": 12, "u-5d02": 3}
QUESTIONS = ["我今年还有几天年假？", "How many days off are left?"]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("user", USERS)
async def test_a_user_gets_their_own_days_and_no_request_holds_the_id(user: str, streamed: bool, question: str) -> None:
    """Looked for in everything that went over the wire; not even the parameter's name is there."""
    async with ScriptedEndpoint([LOOKS_UP, "Done."]) as endpoint, load("hidden_user", endpoint) as app:
        prompt = app.get(ChatClient).prompt(question).tool_context(user_id=user)
        if streamed:
            async with prompt.stream() as events:
                async for _ in events:
                    pass
                reply = events.result
        else:
            reply = await prompt.call()

    [execution] = reply.tool_executions
    assert json.loads(execution.result_text()) == {"year": 2026, "days_left": USERS[user]}
    [offered] = endpoint.requests[0].body["tools"]
    assert list(offered["function"]["parameters"]["properties"]) == ["year"]
    assert len(endpoint.requests) == 2
    for request in endpoint.requests:
        assert not any(each.encode() in sent(request) for each in (*USERS, "user_id"))


async def test_two_users_at_the_same_time_get_their_own_answers() -> None:
    """Of one client: neither is answered before both have asked."""
    both = asyncio.Barrier(len(USERS))

    async def reply(request: EndpointRequest) -> ToolExecutionRequest | str:
        if request.body["messages"][-1]["role"] == "tool":
            return "Done."
        await both.wait()
        return LOOKS_UP

    async with ScriptedEndpoint([reply], repeat=True) as endpoint, load("hidden_user", endpoint) as app:
        asked = (app.get(ChatClient).prompt(QUESTIONS[0]).tool_context(user_id=user).call() for user in USERS)
        replies = await asyncio.gather(*asked)

    told = [json.loads(reply.tool_executions[0].result_text())["days_left"] for reply in replies]
    assert told == list(USERS.values())


@pytest.mark.parametrize(
    "written",
    [
        "u-5d02",  # another's
        "u-7f3a",  # their own: what was guessed right was guessed
    ],
)
async def test_a_user_id_that_the_model_writes_is_refused(written: str) -> None:
    """There is no such argument, so the tool is not called, and the model is told which one is too many."""
    turns = [call("days_of_leave", year=2026, user_id=written), "Sorry."]
    async with ScriptedEndpoint(turns) as endpoint, load("hidden_user", endpoint) as app:
        reply = await app.get(ChatClient).prompt(QUESTIONS[1]).tool_context(user_id="u-7f3a").call()

    [execution] = reply.tool_executions
    assert execution.outcome.value == "invalid_arguments"
    assert "user_id" in execution.result_text() and "days_left" not in execution.result_text()


async def test_an_error_tells_nothing_of_the_user() -> None:
    """Somebody without an entry: the model reads the text of the error, and so it is in the next request."""
    async with ScriptedEndpoint([LOOKS_UP, "Sorry."]) as endpoint, load("hidden_user", endpoint) as app:
        reply = await app.get(ChatClient).prompt(QUESTIONS[1]).tool_context(user_id="u-0000").call()

    assert reply.tool_executions[0].result_text() == "Nothing is known of the year 2026."
    assert not any(b"u-0000" in sent(request) for request in endpoint.requests)


@pytest.mark.parametrize("user", USERS)
def test_it_runs_as_a_program(user: str) -> None:
    """For the user of the environment, as the file says."""
    [execution] = chat("hidden_user", QUESTIONS[0], environment={"USER_ID": user})["tool_executions"]

    assert json.loads(execution["result"])["days_left"] == USERS[user]
