"""The recipe ``many_tools``: of three hundred tools the model sees few, and finds the others.

Its tools are those of the benchmark of tool search. Run as a program this writes them anew:
``python -m tests.program.test_recipe_many_tools``.
"""

from __future__ import annotations

import json
import re

import pytest
import yaml

from agentforge import ChatClient
from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ToolExecutionRequest
from agentforge.testing import ScriptedEndpoint, call
from benchmarks.search import tools_of
from tests.support.recipes import RECIPES, chat, load, names_of, session

FILE = RECIPES / "many_tools" / "tools.yaml"
HEAD = """\
# Three hundred tools of a business: ten operations on thirty subjects. Half of them are described in English, half in
# Chinese, as the people who use them speak.
"""
ALWAYS = ["search_tools", "get_order", "get_customer"]
LEAVE = ["create_leave_request", "cancel_leave_request", "approve_leave_request"]
ASKS_FOR_LEAVE = call("create_leave_request", details={"days": 3})
WITHOUT_SEARCH = {"AGENTFORGE_BEANS__ASSISTANT__ADVISORS": "[{type: message_memory, required: false}]"}


def text_of_the_file() -> str:
    """The tools of the benchmark as a file of tools."""
    tools = [
        {"name": each.name, "description": each.description, "parameters": dict(each.parameters.schema)}
        for each in tools_of()
    ]
    return HEAD + yaml.safe_dump(tools, default_flow_style=None, sort_keys=False, allow_unicode=True, width=120)


def test_the_file_holds_the_three_hundred_tools_of_the_benchmark() -> None:
    """Half of them are described in Chinese."""
    tools = yaml.safe_load(FILE.read_text("utf-8"))

    assert FILE.read_text("utf-8") == text_of_the_file()
    assert len({tool["name"] for tool in tools}) == 300
    assert sum(not tool["description"].isascii() for tool in tools) == 150


@pytest.mark.parametrize(
    ("question", "query", "use"),
    [
        ("我下周想请三天假", "新建请假申请", ASKS_FOR_LEAVE),
        ("把这个项目交给李雷", "分配项目给负责人", call("assign_project", project_id="7", assignee="李雷")),
        ("Please cancel invoice 7", "cancel an invoice", call("cancel_invoice", invoice_id="7", reason="asked")),
        ("Track my parcel", "show a parcel", call("get_parcel", parcel_id="7")),
    ],
)
async def test_a_tool_is_searched_found_and_called(question: str, query: str, use: ToolExecutionRequest) -> None:
    """The first request offers the search and what is always there; the next ones what was found, too."""
    turns = [call("search_tools", query=query), use, "Done."]
    async with ScriptedEndpoint(turns) as endpoint, load("many_tools", endpoint) as app:
        reply = await app.get(ChatClient).prompt(question).call()
        first, *later = (names_of(request) for request in endpoint.requests)

    assert first == ALWAYS
    assert len(later) == 2 and later[0] == later[1]
    assert use.name in later[0] and set(ALWAYS) < set(later[0]) and len(later[0]) <= len(ALWAYS) + 3
    search, done = reply.tool_executions
    assert (search.outcome.value, done.outcome.value) == ("ok", "ok")
    operation, _, subject = use.name.partition("_")
    told = json.loads(done.result_text())
    assert (told["operation"], told["subject"], told["with"]) == (operation, subject, use.arguments_as_map())


async def test_what_was_found_is_offered_in_the_next_turn_of_the_conversation() -> None:
    """From its first request on, and in no other conversation."""
    turns = [call("search_tools", query="请假申请"), ASKS_FOR_LEAVE, "好的。", ASKS_FOR_LEAVE, "好的。", "Hello."]
    async with ScriptedEndpoint(turns) as endpoint, load("many_tools", endpoint) as app:
        for memory_id, text in (("li", "我想请三天假"), ("li", "再请三天"), ("wang", "Hello?")):
            reply = await app.get(ChatClient).prompt(text).memory_id(memory_id).call()
            assert all(execution.outcome.value == "ok" for execution in reply.tool_executions)
        *first_turn, again, after, elsewhere = (sorted(names_of(request)) for request in endpoint.requests)

    assert len(first_turn) == 3 and first_turn[0] == elsewhere == sorted(ALWAYS)
    assert set(first_turn[1]) > {*ALWAYS, "create_leave_request"}
    assert first_turn[1] == first_turn[2] == again == after


async def test_a_tool_that_was_not_found_cannot_be_called() -> None:
    """Neither at once nor in the reply that searches for it; what the model is told names no hidden tool."""
    turns = [ASKS_FOR_LEAVE, [call("search_tools", query="请假申请"), ASKS_FOR_LEAVE], ASKS_FOR_LEAVE, "好的。"]
    async with ScriptedEndpoint(turns) as endpoint, load("many_tools", endpoint) as app:
        reply = await app.get(ChatClient).prompt("我想请三天假").call()

    at_once, search, beside, after = reply.tool_executions
    outcomes = [each.outcome.value for each in (at_once, search, beside, after)]
    assert outcomes == ["unknown_tool", "ok", "unknown_tool", "ok"]
    assert "get_order" in at_once.result_text() and "cancel_leave_request" not in at_once.result_text()


async def test_a_request_is_a_small_part_of_one_with_all_tools() -> None:
    """In bytes on the wire: the first request, and the largest of the turn."""
    turns = [call("search_tools", query="请假申请"), ASKS_FOR_LEAVE, "好的。"]
    async with ScriptedEndpoint(turns) as endpoint, load("many_tools", endpoint) as app:
        await app.get(ChatClient).prompt("我想请三天假").call()
        few = [len(request.content) for request in endpoint.requests]
    async with ScriptedEndpoint(["好的。"]) as endpoint, load("many_tools", endpoint, **WITHOUT_SEARCH) as app:
        await app.get(ChatClient).prompt("我想请三天假").call()
        [request] = endpoint.requests

    assert len(names_of(request)) == 300
    assert few[0] * 40 < len(request.content)
    assert max(few) * 20 < len(request.content)


async def test_all_three_hundred_are_more_than_an_endpoint_with_a_limit_takes() -> None:
    """That is said before anything is sent, and with the search there is nothing to say."""
    limit = {"AGENTFORGE_BEANS__MODEL__VENDOR": "openai"}
    async with ScriptedEndpoint(["Hello."]) as endpoint:
        async with load("many_tools", endpoint, **limit, **WITHOUT_SEARCH) as app:
            with pytest.raises(UnsupportedFeatureError, match="300 tools in one request; the limit is 128"):
                await app.get(ChatClient).prompt("Hello?").call()
        assert endpoint.requests == []
        async with load("many_tools", endpoint, **limit) as app:
            reply = await app.get(ChatClient).prompt("Hello?").call()

    assert reply.content == "Hello."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("我下周想请三天假", "您的请假申请已提交：11 月 23 日起三天。"),
        ("I need three days off", "Your request for leave is handed in: three days from 23 November."),
    ],
)
def test_it_runs_as_a_program(question: str, answer: str) -> None:
    """The script searches, calls what it found, and answers in the language of the question."""
    result = chat("many_tools", question)

    assert [(each["name"], each["outcome"]) for each in result["tool_executions"]] == [
        ("search_tools", "ok"),
        ("create_leave_request", "ok"),
    ]
    assert result["text"] == answer


def test_in_a_session_it_searches_once() -> None:
    """What was found is called at once in the next turn; another session searches again."""
    called = [
        re.findall(r"-> (\w+) ", session("many_tools", *questions).errors)
        for questions in (["Leave!", "再请三天"], ["?"])
    ]

    assert called == [
        ["search_tools", "create_leave_request", "create_leave_request"],
        ["search_tools", "create_leave_request"],
    ]


if __name__ == "__main__":
    FILE.write_text(text_of_the_file(), "utf-8")
