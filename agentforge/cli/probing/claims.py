"""What a configured model says of a question before anything is sent: its row may refuse what its profile allows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NoReturn

from agentforge.cli.probing.asker import Asker
from agentforge.cli.probing.capability import Capability
from agentforge.cli.probing.found import NoAnswer, Skipped
from agentforge.cli.probing.said import Claim
from agentforge.errors import AgentForgeError, UnsupportedFeatureError
from agentforge.model import ChatEvent, ChatModel, ChatRequest, ModelProfile
from agentforge.provider import WireModel

__all__ = ("Claims",)


class Claims:
    """What ``model`` as it is configured claims. ``asker`` puts the real questions, and some of them go on from what
    it heard."""

    def __init__(self, model: ChatModel, asker: Asker) -> None:
        self._profile = model.profile
        self._looked_at = _Look(model) if isinstance(model, WireModel) else None
        self._asker = asker

    async def of(self, capability: Capability) -> Claim:
        """What the profile says, unless the row says no to the very question."""
        claimed = capability.says(self._profile)
        in_prompt = capability.tools and self._profile.tool_mode != "native"
        if claimed != "yes" or self._looked_at is None or in_prompt:
            return claimed
        try:
            await capability.look(self._asker.twin(self._looked_at))
        except _Told as told:
            return told.claim
        except (AgentForgeError, NoAnswer, Skipped):
            return claimed
        return claimed


class _Told(Exception):  # noqa: N818 - no fault
    def __init__(self, claim: Claim) -> None:
        super().__init__(claim)
        self.claim = claim


class _Look:
    """Stands in for a model: every request ends in what would become of it, and none is sent."""

    def __init__(self, model: WireModel) -> None:  # type: ignore[type-arg]
        self._model = model
        #: What is said of any request, and so of none in particular.
        self._always = self._noticed(ChatRequest("Hello"))

    @property
    def profile(self) -> ModelProfile:
        """The model's."""
        return self._model.profile

    async def chat(self, request: ChatRequest) -> NoReturn:
        """Raises what would become of it."""
        self._tell(request)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """Raises what would become of it."""
        self._tell(request)
        yield

    async def aclose(self) -> None:
        """Nothing is open."""

    def _tell(self, request: ChatRequest) -> NoReturn:
        try:
            codes = {code for code, _ in self._noticed(request) - self._always}
        except UnsupportedFeatureError:
            raise _Told("no") from None
        raise _Told("dropped" if "feature_dropped" in codes else "mapped" if "tools_narrowed" in codes else "yes")

    def _noticed(self, request: ChatRequest) -> set[tuple[str, object]]:
        return {(notice.code, notice.details.get("feature")) for notice in self._model.preview(request)[1]}
