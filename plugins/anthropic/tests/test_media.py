"""What texts, images, sound and files become: one block each, or a refusal, or a note in their place."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    Content,
    FileContent,
    ImageContent,
    TextContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_anthropic import vendor_row
from plugins.anthropic.tests.support import body_of, exchange

ASK = UserMessage("q")
CALL = ToolExecutionRequest("c1", "look", '{"a": 1}')
PDF = base64.b64encode(b"%PDF").decode()
NOTES = base64.b64encode("Zeile 1: äö".encode()).decode()


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def sent(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body_of(messages, **options)["messages"]
    return found


@pytest.mark.parametrize(
    ("part", "block"),
    [
        pytest.param(TextContent("hi"), text("hi"), id="text"),
        pytest.param(
            ImageContent(url="https://pics.example/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://pics.example/a.png"}},
            id="image by url",
        ),
        pytest.param(
            ImageContent(data="QUJD", media_type="image/webp"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "QUJD"}},
            id="image as data",
        ),
        pytest.param(
            ImageContent(data="QUJD", media_type="image/jpg"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}},
            id="image of a type with another name",
        ),
        pytest.param(
            ImageContent(url="data:image/gif;base64,QUJD"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "QUJD"}},
            id="image as a data url",
        ),
        pytest.param(
            ImageContent(url="DATA:;base64,QUJD"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
            id="data url that does not say its type",
        ),
        pytest.param(
            FileContent(data=PDF, name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                "title": "a.pdf",
            },
            id="pdf",
        ),
        pytest.param(
            FileContent(url="https://docs.example/a.pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://docs.example/a.pdf"}},
            id="pdf by url",
        ),
        pytest.param(
            FileContent(url=f"data:application/pdf;base64,{PDF}"),
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
            id="pdf as a data url",
        ),
        pytest.param(
            FileContent(url="data:text/plain;charset=utf-8,Zeile%201:%20%C3%A4"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Zeile 1: ä"}},
            id="text file as a data url that is not base64",
        ),
        pytest.param(
            FileContent(data=NOTES, media_type="text/markdown"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Zeile 1: äö"}},
            id="text file",
        ),
    ],
)
def test_a_part_of_a_users_message_is_one_block(part: Content, block: dict[str, Any]) -> None:
    assert sent(UserMessage([TextContent("see"), part])) == [{"role": "user", "content": [text("see"), block]}]


@pytest.mark.parametrize(
    ("part", "feature"),
    [
        (AudioContent(data="QUJD"), "audio"),
        (ImageContent(data="QUJD", media_type="image/tiff"), "images"),
        (FileContent(data="QUJD", media_type="application/zip"), "files"),
        (FileContent(data="//4=", media_type="text/plain"), "files"),
        (FileContent(url="https://docs.example/a.txt", media_type="text/plain"), "file_urls"),
    ],
)
def test_a_part_that_the_api_cannot_take_is_refused_or_noted(part: Content, feature: str) -> None:
    """Refused in a user's message; in a result, which nobody could foresee, refused where the profile says so."""
    result = [ASK, AiMessage([CALL]), ToolExecutionResultMessage("c1", "look", part)]
    for messages, policy in (([UserMessage(part)], None), (result, {feature: "error"})):
        with pytest.raises(UnsupportedFeatureError) as caught:
            sent(*messages, profile_overrides={"unsupported": policy} if policy else None)
        assert caught.value.details["feature"] == feature
    for messages, policy in (([UserMessage(part)], {feature: "drop"}), (result, {feature: "drop"}), (result, {})):
        body, response = exchange(messages, profile_overrides={"unsupported": policy})
        assert f"[{feature} left out" in json.dumps(body["messages"][-1])
        assert [notice.code for notice in response.notices] == ["feature_dropped"]


def test_images_and_files_can_be_switched_off() -> None:
    for part, capability in ((ImageContent(data="QUJD"), "images"), (FileContent(data=PDF), "files")):
        with pytest.raises(UnsupportedFeatureError):
            sent(UserMessage(part), profile_overrides={capability: False})


def test_a_row_may_take_images_as_data_only() -> None:
    row = replace(vendor_row("generic"), image_urls=False)
    options: dict[str, Any] = {"vendor": row, "base_url": "https://llm.example"}
    with pytest.raises(UnsupportedFeatureError) as caught:
        sent(UserMessage(ImageContent(url="https://pics.example/a.png")), **options)
    assert caught.value.details["feature"] == "image_urls"
    [message] = sent(UserMessage(ImageContent(url="data:image/png;base64,QUJD")), **options)
    assert message["content"][0]["source"]["type"] == "base64"
