"""A choice of one tool names it."""

from __future__ import annotations

import pytest

from agentforge.model import ToolChoice


@pytest.mark.parametrize("names", [(), ("a", "b")])
def test_a_choice_of_one_tool_has_one_name(names: tuple[str, ...]) -> None:
    """Refused where it is made, not where it is sent."""
    with pytest.raises(ValueError, match="needs the one name of the tool"):
        ToolChoice("tool", names)


def test_the_short_ways_make_what_may_be() -> None:
    assert ToolChoice.tool("a").names == ("a",)
    assert ToolChoice("tool", ("a",)).mode == "tool"
