"""The recipe ``inner_thought``: the model says why before each call, which is logged and kept from the tool."""

from __future__ import annotations

import logging

import pytest

from agentforge import ChatClient, ToolSpecification
from agentforge.model import ToolExecutionRequest, ToolParameters
from agentforge.testing import ScriptedEndpoint, call
from agentforge.tool import StaticTools
from agentforge.tool.execution import bound_tool_from
from tests.support.recipes import load, run

QUESTION = "仓库里还有多少把椅子？"
WHY = "用户问椅子的库存，需要查一下。"
COUNTS = call("count_stock", inner_thought=WHY, confidence=0.9, product="chair")


async def test_the_schema_asks_for_a_thought_and_a_confidence() -> None:
    """In the request that goes out: both required and described, in front of the tool's own argument."""
    async with ScriptedEndpoint(["Hello."]) as endpoint, load("inner_thought", endpoint) as app:
        await app.get(ChatClient).prompt(QUESTION).call()

    [offered] = endpoint.requests[0].body["tools"]
    schema = offered["function"]["parameters"]
    assert list(schema["properties"]) == ["inner_thought", "confidence", "product"]
    assert schema["required"] == ["inner_thought", "confidence", "product"]
    thought, confidence, product = schema["properties"].values()
    assert (thought["type"], confidence["type"], product["type"]) == ("string", "number", "string")
    assert (confidence["minimum"], confidence["maximum"]) == (0, 1)
    assert "Why you make this call" in thought["description"] and "为什么" in thought["description"]


async def test_the_log_has_each_thought_with_the_name_of_its_tool(caplog: pytest.LogCaptureFixture) -> None:
    """One line for each call, whatever the model writes into it."""
    forged = call("count_stock", inner_thought="Sure.\nERROR all is lost", confidence=1, product="table")
    with caplog.at_level(logging.INFO, "inner_thought"):
        async with ScriptedEndpoint([[COUNTS, forged], "12."]) as endpoint, load("inner_thought", endpoint) as app:
            reply = await app.get(ChatClient).prompt(QUESTION).call()

    logged = [record.getMessage() for record in caplog.records if record.name == "inner_thought"]
    assert sorted(logged) == sorted(
        [f"count_stock (90 %): '{WHY}'", "count_stock (100 %): 'Sure.\\nERROR all is lost'"]
    )
    assert [each.result.result for each in reply.tool_executions] == [12, 4]


async def test_the_tool_gets_its_own_arguments_alone() -> None:
    """Seen by a tool in the place of the recipe's that takes whatever it is given."""
    got: list[ToolExecutionRequest] = []

    def count_stock(request: ToolExecutionRequest) -> str:
        got.append(request)
        return "12"

    parameters = ToolParameters.builder().add_property("product", "string", required=True).build()
    counts = bound_tool_from(ToolSpecification("count_stock", "Counts.", parameters), count_stock)
    async with ScriptedEndpoint([COUNTS, "12."]) as endpoint:
        app = load("inner_thought", endpoint)
        app.override("stock", StaticTools([counts]))
        async with app:
            reply = await app.get(ChatClient).prompt(QUESTION).call()

    assert [each.arguments_as_map() for each in got] == [{"product": "chair"}]
    [execution] = reply.tool_executions
    assert execution.request.arguments_as_map() == {"inner_thought": WHY, "confidence": 0.9, "product": "chair"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, ["inner_thought: is required", "confidence: is required"]),
        ({"confidence": 0.9}, ["inner_thought: is required"]),
        ({"inner_thought": WHY}, ["confidence: is required"]),
        ({"inner_thought": "", "confidence": 0.9}, ["inner_thought: "]),
        ({"inner_thought": WHY, "confidence": 90}, ["confidence: "]),
        ({"inner_thought": WHY, "confidence": "very"}, ["confidence: "]),
    ],
)
async def test_a_call_without_a_thought_is_refused(
    arguments: dict[str, object], told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The model reads what is missing, in the next request, and of nothing else; then it may do better."""
    turns = [call("count_stock", product="chair", **arguments), COUNTS, "12."]
    with caplog.at_level(logging.INFO, "inner_thought"):
        async with ScriptedEndpoint(turns) as endpoint, load("inner_thought", endpoint) as app:
            reply = await app.get(ChatClient).prompt(QUESTION).call()

    refused, done = reply.tool_executions
    assert (refused.outcome.value, done.outcome.value) == ("invalid_arguments", "ok")
    read = endpoint.requests[1].body["messages"][-1]["content"]
    assert [name for name in ("inner_thought", "confidence", "product") if f"{name}: " in read] == [
        each.partition(":")[0] for each in told
    ]
    assert all(each in read for each in told)
    assert len([record for record in caplog.records if record.name == "inner_thought"]) == 1


@pytest.mark.parametrize("question", [QUESTION, "How many chairs are left?"])
def test_it_runs_as_a_program(question: str) -> None:
    """The script forgets the thought first; the log of the second call is on standard error."""
    said = run("inner_thought", question, environment={"AGENTFORGE_LOG_LEVEL": "info"})

    assert [each["outcome"] for each in said.result["tool_executions"]] == ["invalid_arguments", "ok"]
    assert f"info: count_stock (90 %): '{WHY}'" in said.errors
