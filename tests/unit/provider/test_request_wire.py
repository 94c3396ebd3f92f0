"""What holds of requests on every wire, and that all else is left to the wire."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.model import (
    AudioContent,
    ChatRequestParameters,
    ImageContent,
    ModelProfile,
    Notice,
    TextContent,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import EMPTY_TOOLS, Endpoint, EndpointRow, Head, Settled, ToolBlock, TurnShape, Wire
from agentforge.provider.request_wire import RequestWire

ROW = EndpointRow(name="house", capabilities=ModelProfile(images=False, audio=False))
ENDPOINT = Endpoint(ROW, ROW.capabilities, "m", "https://llm.example/v1")
SHAPE = TurnShape(**TurnShape.common(ENDPOINT))
TWICE = Notice("code", "said twice", {"a": 1})


class Recording(Wire[TurnShape]):
    """Gives back what it was asked, by the name of the function."""

    RESERVED = ("messages",)
    distinct_in_request = True

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        self.asked.append(("settle", parameters, endpoint))
        return Settled(parameters)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        self.asked.append(("encode_tools", tools, endpoint))
        return EMPTY_TOOLS

    def encode_head(self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool) -> Any:
        self.asked.append(("encode_head", with_tools))
        return Head(b"{", b"}", b"}", SHAPE, tools, (TWICE, TWICE, Notice("code", "said once")), None, "m")

    def encode_turn(self, message: Any, shape: TurnShape, notices: list[Notice]) -> bytes:
        self.asked.append(("encode_turn", message, shape.dropped))
        return b"turn"

    def encode_follow_up(self, message: Any, shape: TurnShape, notices: list[Notice]) -> bytes:
        self.asked.append(("encode_follow_up", message, shape.dropped))
        return b"more"

    def join(self, pieces: Any, shape: TurnShape) -> bytes:
        self.asked.append(("join", pieces, shape))
        return b"joined"

    def extended(self, joined: bytes, last: Any, pieces: Any, shape: TurnShape) -> bytes | None:
        self.asked.append(("extended", joined, last, pieces, shape))
        return None


def test_all_that_a_wire_has_is_the_wires() -> None:
    """Also what a wire may have tomorrow: a member that is not passed on fails here."""
    wire = Recording()
    around = RequestWire(wire)
    parameters = ChatRequestParameters()
    assert around.settle(parameters, ENDPOINT).parameters is parameters
    assert around.encode_tools((), ENDPOINT) is EMPTY_TOOLS
    assert around.join((), SHAPE) == b"joined"
    assert around.extended(b"j", UserMessage("q"), (), SHAPE) is None
    around.encode_head(Settled(parameters), ENDPOINT, EMPTY_TOOLS, with_tools=False)
    around.encode_turn(UserMessage("q"), SHAPE, [])
    around.encode_follow_up(UserMessage("q"), SHAPE, [])
    functions = {asked[0] for asked in wire.asked}
    for name, member in vars(Wire).items():
        if name.startswith("_") or name == "RESERVED":  # which a wire gives to `settle` itself
            continue
        assert name in functions if callable(member) else getattr(around, name) == getattr(wire, name)


@pytest.mark.parametrize(
    ("custom", "with_tools", "expected"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"tools": [{"type": "search"}]}, False, True),
        ({"tools": []}, False, False),
    ],
)
def test_the_vendors_own_tools_are_tools_too(custom: Any, with_tools: bool, expected: bool) -> None:
    wire = Recording()
    settled = Settled(ChatRequestParameters(custom_parameters=custom))
    RequestWire(wire).encode_head(settled, ENDPOINT, EMPTY_TOOLS, with_tools=with_tools)
    assert wire.asked == [("encode_head", expected)]


def test_what_is_told_twice_of_one_request_is_told_once() -> None:
    head = RequestWire(Recording()).encode_head(
        Settled(ChatRequestParameters()), ENDPOINT, EMPTY_TOOLS, with_tools=True
    )
    assert [notice.message for notice in head.notices] == ["said twice", "said once"]


@pytest.mark.parametrize(
    ("unsupported", "dropped"),
    [
        ({}, {"images", "audio", "files", "image_urls", "audio_urls", "file_urls"}),
        ({"images": "error"}, {"audio", "files", "image_urls", "audio_urls", "file_urls"}),
        ({"images": "drop"}, {"images", "audio", "files", "image_urls", "audio_urls", "file_urls"}),
    ],
)
@pytest.mark.parametrize("function", ["encode_turn", "encode_follow_up"])
def test_media_of_a_result_become_a_note_where_the_profile_says_nothing(
    function: str, unsupported: Any, dropped: set[str]
) -> None:
    """The shape of all other turns stays as it is, so that they are encoded once."""
    profile = ROW.capabilities.with_(unsupported=unsupported)
    shape = TurnShape(**TurnShape.common(Endpoint(ROW, profile, "m", "https://llm.example/v1")))
    wire = Recording()
    around = RequestWire(wire)
    picture = ImageContent(data="QUJD")
    for message, expected in (
        (ToolExecutionResultMessage("1", "look", [picture, AudioContent(data="QUJD")]), dropped),
        (ToolExecutionResultMessage("1", "look", [TextContent("a")]), set(shape.dropped)),
        (UserMessage([picture]), set(shape.dropped)),
    ):
        getattr(around, function)(message, shape, [])
        assert wire.asked.pop() == (function, message, frozenset(expected))
