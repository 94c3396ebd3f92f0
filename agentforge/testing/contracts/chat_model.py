"""What every chat model has to do, as a class of tests to subclass."""

from __future__ import annotations

from agentforge.testing.contracts.any_model import AnyModelSuite
from agentforge.testing.contracts.scripted_model import ScriptedModelSuite

__all__ = ("ChatModelContract",)


class ChatModelContract(AnyModelSuite, ScriptedModelSuite):
    """The tests of a chat model: write ``class TestMyModel(ChatModelContract)`` and override one method.

    Override `model_answering` where a test can choose what the model is answered with, as that of a wire can with a
    `ScriptedEndpoint`; else override `model`, and the tests that need a script are skipped. Nothing is imported from a
    test runner: each test is a method whose name begins with ``test_``.

    ``patience`` (60) bounds each test in seconds. Set ``deterministic`` to false for a model that answers the same
    request in different ways.
    """
