"""What a newcomer gets wrong with beans in Python: each slip is an error of ours that says what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentforge import ScriptedChatModel, tool
from agentforge.client import ChatClient
from agentforge.container import AgentForge
from agentforge.errors import ConfigurationError
from agentforge.model.scripted import call


class Desk:
    """Somebody's tools."""

    @tool
    def ring(self) -> str:
        """Ring the bell."""
        return "ding"


SLIPS: dict[str, tuple[Callable[[], AgentForge], str, str]] = {
    "a class in place of an object": (
        lambda: AgentForge.from_mapping({"beans": {"d": Desk, "a": {"type": "tool_service", "tools": ["d"]}}}),
        "'Desk' is a class",
        "Give an object: Desk(…).",
    ),
    "one bean in place of a list": (
        lambda: AgentForge.from_mapping({"beans": {"d": Desk(), "a": {"type": "tool_service", "tools": "d"}}}),
        "'tools' is a list of beans",
        "Write a list: tools: [d].",
    ),
    "a scan root that is not there": (
        lambda: AgentForge.from_mapping({"scan": ["no_such_module"], "beans": {}}),
        "'no_such_module' of 'scan' is no module",
        "Correct the name",
    ),
    "a placeholder that chooses code": (
        lambda: AgentForge.from_mapping({"scan": ["${MOD:evil}"], "beans": {}}, environment={"MOD": "evil"}),
        "'scan' takes no placeholder",
        "Write the name itself",
    ),
    "a path as a mapping": (
        lambda: AgentForge.from_mapping("agentforge.yaml"),  # type: ignore[arg-type]
        "a configuration is a mapping or a file, not str",
        "AgentForge.load",
    ),
    "a mapping as a path": (
        lambda: AgentForge.load({}),  # type: ignore[arg-type]
        "load takes the path of a file",
        "AgentForge.from_mapping",
    ),
    "a text as profiles": (
        lambda: AgentForge.load("agentforge.yaml", profiles="night"),
        "profiles is a list of texts",
        "Give ['night'].",
    ),
    "a text as sets": (
        lambda: AgentForge.load("agentforge.yaml", sets="a=b"),
        "sets is a list of texts",
        "Give ['a=b'].",
    ),
}


@pytest.mark.parametrize(("make", "message", "step"), SLIPS.values(), ids=SLIPS.keys())
def test_a_slip_is_an_error_of_ours_with_what_to_do(make: Callable[[], AgentForge], message: str, step: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make().check()

    assert message in str(caught.value)
    assert step in (caught.value.next_step or "")


async def test_an_object_with_tools_is_a_source_of_tools() -> None:
    beans = {
        "d": Desk(),
        "a": {"type": "chat_client", "model": ScriptedChatModel([call("ring"), "Ding."]), "tools": ["d"]},
    }
    async with AgentForge.from_mapping({"beans": beans}) as app:
        result = await app.get(ChatClient).chat("Ring!")

    assert [each.result_text() for each in result.tool_executions] == ["ding"]
