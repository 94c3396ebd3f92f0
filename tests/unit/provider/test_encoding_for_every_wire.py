"""What the encoder does for every wire: the vendor's own tools, notices, media in results."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    ChatRequestParameters,
    ImageContent,
    ModelProfile,
    Notice,
    TextContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import (
    EMPTY_TOOLS,
    EncodedRequest,
    Endpoint,
    EndpointRow,
    Head,
    RequestEncoder,
    Settled,
    ToolBlock,
    TurnShape,
    Wire,
)

ROW = EndpointRow(name="house", capabilities=ModelProfile(images=False, audio=False))
TWICE = Notice("code", "said twice", {"a": 1})
PICTURE = ImageContent(data="QUJD")


class Recording(Wire[TurnShape]):
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.with_tools: bool | None = None
        self.dropped: list[tuple[str, ChatMessage, frozenset[str]]] = []

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        return Settled(parameters)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        return EMPTY_TOOLS

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[TurnShape]:
        self.with_tools = with_tools
        shape = TurnShape(**TurnShape.common(endpoint))
        return Head(b"{", b"}", b"}", shape, tools, (TWICE, TWICE, Notice("code", "said once")), None, "m")

    def encode_turn(self, message: ChatMessage, shape: TurnShape, notices: list[Notice]) -> bytes:
        self.dropped.append(("turn", message, shape.dropped))
        return b"turn"

    def encode_follow_up(self, message: ChatMessage, shape: TurnShape, notices: list[Notice]) -> bytes:
        self.dropped.append(("follow-up", message, shape.dropped))
        return b"more"


def encoded(
    wire: Recording, messages: list[ChatMessage], *, unsupported: Any = None, **parameters: Any
) -> EncodedRequest:
    """A request of these messages."""
    profile = ROW.capabilities.with_(unsupported=unsupported or {})
    endpoint = Endpoint(ROW, profile, "m", "https://llm.example/v1")
    return RequestEncoder(wire, lambda model: endpoint).encode(messages, ChatRequestParameters(**parameters))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, False),
        ({"tools": [ToolSpecification("t")]}, True),
        ({"custom_parameters": {"tools": [{"type": "search"}]}}, True),
        ({"custom_parameters": {"tools": []}}, False),
    ],
)
def test_the_vendors_own_tools_are_tools_too(asked: Any, expected: bool) -> None:
    """A conversation with them alone is one with tools."""
    wire = Recording()
    encoded(wire, [UserMessage("q")], **asked)

    assert wire.with_tools is expected


def test_what_is_told_twice_of_one_request_is_told_once() -> None:
    found = encoded(Recording(), [UserMessage("q")]).notices

    assert [notice.message for notice in found] == ["said twice", "said once"]


@pytest.mark.parametrize(
    ("unsupported", "dropped"),
    [
        ({}, {"images", "audio", "files", "image_urls", "audio_urls", "file_urls"}),
        ({"images": "error"}, {"audio", "files", "image_urls", "audio_urls", "file_urls"}),
        ({"images": "drop"}, {"images", "audio", "files", "image_urls", "audio_urls", "file_urls"}),
    ],
)
def test_media_of_a_result_become_a_note_where_the_profile_says_nothing(unsupported: Any, dropped: set[str]) -> None:
    """The shape of all other turns stays as it is, so that they are encoded once."""
    wire = Recording()
    with_media = ToolExecutionResultMessage("1", "look", [PICTURE, AudioContent(data="QUJD")])
    with_text = ToolExecutionResultMessage("2", "look", [TextContent("a")])
    calls = AiMessage([ToolExecutionRequest("1", "look"), ToolExecutionRequest("2", "look")])
    encoded(wire, [UserMessage([PICTURE]), calls, with_media, with_text], unsupported=unsupported)
    own = frozenset(kind for kind, policy in unsupported.items() if policy == "drop")

    for step, message, found in wire.dropped:
        assert found == (dropped if message is with_media else own), step
    assert [step for step, message, _ in wire.dropped if message is with_media] == ["turn", "follow-up"]
