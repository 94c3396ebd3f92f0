"""Hidden values: a parameter that the run's tool context fills, and no model."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import pytest

from agentforge import ChatClient, Hidden, MemoryId, P, ScriptedChatModel, ToolContext, ToolOutcome, ToolService, tool
from agentforge.testing import call
from agentforge.tool import function_tool
from agentforge.tool.spec import tool_specification_from

DONE = "Done."


@tool
def under_its_own_name(n: int, user_id: Annotated[str, Hidden]) -> str:
    """Tool."""
    return f"{n} {user_id}"


@tool
def under_another_name(n: int, who: Annotated[str, Hidden("user_id")]) -> str:
    """Tool."""
    return f"{n} {who}"


@tool
def by_position(user_id: Annotated[str, Hidden], n: int, /) -> str:
    """Tool."""
    return f"{n} {user_id}"


@tool
def with_a_default(n: int, user_id: Annotated[str, Hidden] = "nobody") -> str:
    """Tool."""
    return f"{n} {user_id}"


@tool
def that_may_be_missing(n: int, user_id: Annotated[Optional[str], Hidden] = None) -> str:  # noqa: UP045
    """Tool."""
    return f"{n} {user_id}"


@tool
async def awaited(n: int, *, user_id: Annotated[str, "the user", Hidden()]) -> str:
    """Tool."""
    return f"{n} {user_id}"


@tool
def unquoted(n: int, user_id: Annotated[str, Hidden]) -> str:
    """Tool."""
    return f"{n} {user_id}"


def _with_input(given: dict[str, Any], user_id: Annotated[str, Hidden], context: ToolContext) -> str:
    return f"{given['n']} {user_id}"


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
TOOLS: dict[str, Any] = {
    each.__name__: each
    for each in (
        under_its_own_name,
        under_another_name,
        by_position,
        with_a_default,
        that_may_be_missing,
        awaited,
        unquoted,
    )
} | {"with_input": function_tool(_with_input, name="with_input", description="Tool.", schema=SCHEMA)}
WITHOUT = {"with_a_default": "3 nobody", "that_may_be_missing": "3 None"}


@pytest.mark.parametrize("name", TOOLS)
async def test_the_value_comes_from_the_tool_context(name: str) -> None:
    """It reaches the tool, and neither schema nor message."""
    model = ScriptedChatModel([call(name, n=3), DONE])
    async with ChatClient(model, tools=[TOOLS[name]]) as client:
        result = await client.prompt("?").tool_context(user_id="u-secret", other="x").call()
    assert [each.result.text for each in result.tool_executions] == ["3 u-secret"]
    offered = model.requests[0].parameters.tools[0].parameters
    assert (list(offered.properties), offered.required) == (["n"], ("n",))
    assert "u-secret" not in repr(model.requests[0])


@pytest.mark.parametrize("name", TOOLS)
async def test_without_a_value_the_default_holds_or_the_call_fails(name: str) -> None:
    """The model is told what the application forgot, and the tool does not run."""
    async with ChatClient(ScriptedChatModel([call(name, n=3), DONE]), tools=[TOOLS[name]]) as client:
        result = await client.prompt("?").call()
    [execution] = result.tool_executions
    if name in WITHOUT:
        assert (execution.outcome, execution.result.text) == (ToolOutcome.OK, WITHOUT[name])
        return
    assert execution.outcome is ToolOutcome.FAILED
    assert execution.result.text == f"the tool {name!r} needs 'user_id', and the run's tool context has no such value"


async def test_a_model_cannot_set_it() -> None:
    """What it writes under that name is a surplus argument."""
    model = ScriptedChatModel([call("under_its_own_name", n=3, user_id="u-other"), DONE])
    service = ToolService(under_its_own_name, arguments_error_handler="return_to_model")
    client = ChatClient(model, service=service)
    result = await client.prompt("?").tool_context(user_id="u-secret").call()
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.INVALID_ARGUMENTS]


def test_other_hidden_parameters_stand_beside_it() -> None:
    """The memory id, the context, the run: none of them is the model's."""

    def all_of_them(
        city: Annotated[str, P("the city")], who: Annotated[str, Hidden], memory_id: MemoryId, context: ToolContext
    ) -> str:
        """Tool."""
        return ""

    assert list(tool_specification_from(all_of_them).parameters.properties) == ["city"]


def test_the_mark_alone_is_hidden_as_well() -> None:
    """A slip that would otherwise tell the model of it."""

    def slip(n: int, who: Hidden) -> str:
        """Tool."""
        return ""

    assert list(tool_specification_from(slip).parameters.properties) == ["n"]
