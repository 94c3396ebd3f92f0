"""The rows that have most forms of their own keep the contract of a model behind a wire; the others differ in data that
the tables of rows and of wire facts show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentforge.testing import WireModelContract
from agentforge_openai import VENDORS, OpenAiChatModel
from plugins.openai.tests.test_contract import Opened, answering
from plugins.openai.tests.test_official_types_of_rows import MODELS

#: The scripted endpoint counts tokens in a stream only where it is asked to, and this vendor counts unasked.
MISTRAL = {"like": "mistral", "name": "counted", "stream_usage": True}


class TestOpenAiChatModelOfAVendor(WireModelContract):
    """With the key and a model of that vendor, at another address."""

    vendor: str

    @pytest.fixture(autouse=True, params=["gemini", "mistral", "moonshot"])
    def of_a_vendor(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vendor = request.param
        # The endpoint thinks in the one field that nearly all have.
        replays = "reasoning_content" in VENDORS[self.vendor].replay_fields
        monkeypatch.setattr(type(self), "replays_state", replays)

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        vendor = MISTRAL if self.vendor == "mistral" else self.vendor
        model = MODELS.get(self.vendor, "m")
        return answering(OpenAiChatModel, turns, model=model, vendor=vendor, api_key="key-for-tests")
