"""One probe from its first question to its last: which are asked, how often, and what an error means for the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from agentforge.cli.probing.asker import Asker
from agentforge.cli.probing.capability import CAPABILITIES, Capability
from agentforge.cli.probing.found import Found, NoAnswer, Skipped, refused, unsure
from agentforge.cli.probing.plain_questions import answers
from agentforge.cli.probing.said import Claim, agree
from agentforge.errors import (
    AuthenticationError,
    CircuitOpenError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    ToolUseFailedError,
    UnsupportedFeatureError,
)
from agentforge.model import ModelProfile, ToolChoice

__all__ = ("MOST_UNANSWERED", "Session", "Verdict", "chosen")

#: So many questions in a row without an answer, and the first one is asked again: the endpoint may be gone.
MOST_UNANSWERED = 3
_FIRST = "answer"
_UNANSWERED = (
    CircuitOpenError,
    ModelConnectionError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A capability, what the profile ``says`` of it, what was ``found``, and whether the two agree (``None``: they
    cannot be compared)."""

    capability: Capability
    says: Claim
    found: Found

    @property
    def agrees(self) -> bool | None:
        """Whether the profile is right; something that is broken is never what it says."""
        return False if self.found.lost else agree(self.says, self.found)


def chosen(names: Collection[str], profile: ModelProfile) -> Sequence[Capability]:
    """The capabilities of these names, or all that are asked unless they are named; the first one always, as it tells
    whether anything can be asked."""
    if not names:
        return [each for each in CAPABILITIES if not each.claimed_only or each.says(profile) == "yes"]
    return [each for each in CAPABILITIES if each.name in names or each.name == _FIRST]


class Session:
    """Asks ``capabilities`` one after the other, each up to ``tries`` times while the model does not go along. ``says``
    is what is claimed of one. ``native``: tools of the model are the wire's own."""

    def __init__(
        self,
        asker: Asker,
        capabilities: Sequence[Capability],
        says: Callable[[Capability], Awaitable[Claim]],
        *,
        tries: int,
        native: bool = True,
        told: Callable[[int, Verdict], object] = lambda number, verdict: None,
    ) -> None:
        self._asker = asker
        self._capabilities = capabilities
        self._says = says
        self._tries = tries
        self._native = native
        self._told = told
        self._found: dict[str, Found] = {}
        self._unanswered = 0

    async def run(self) -> Sequence[Verdict]:
        """Everything. Raises `NoAnswer` as soon as there is no use in asking on."""
        verdicts: list[Verdict] = []
        for number, capability in enumerate(self._capabilities, 1):
            found = await self._look(capability)
            self._found[capability.name] = found
            self._learn(capability.name, found)
            says = await self._says(capability)
            if says == "by schema" and not self._native:
                says = "yes"
            verdicts.append(Verdict(capability, says, found))
            self._told(number, verdicts[-1])
        return verdicts

    async def _look(self, capability: Capability) -> Found:
        needed = self._found.get(capability.needs or "")
        if needed is not None and needed.status in ("no", "refused", "skipped"):
            return Found("skipped", f"it needs {capability.needs}")
        found = await self._try(capability)
        tried = 1
        while found.again and tried < self._tries:
            found = await self._try(capability)
            tried += 1
        if found.again and tried > 1:
            found = replace(found, note=f"{found.note}, in {tried} tries")
        return found

    async def _try(self, capability: Capability) -> Found:
        try:
            found = await capability.look(self._asker)
        except Skipped as reason:
            return Found("skipped", str(reason))
        except UnsupportedFeatureError as error:
            return Found("skipped", f"it cannot be asked here: {error.message}")
        except ModelError as error:
            return await self._failed(error)
        self._unanswered = 0
        return found

    async def _failed(self, error: ModelError) -> Found:
        """What an error says of the capability, where it says something."""
        used_up = isinstance(error, RateLimitError) and not error.retryable
        if isinstance(error, AuthenticationError) or used_up:
            raise NoAnswer(error) from error
        if isinstance(error, _UNANSWERED):
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                await answers(self._asker)
                self._unanswered = 0
            return unsure(error.message, again=False)
        self._unanswered = 0
        if isinstance(error, ToolUseFailedError):  # the model's fault, not the endpoint's
            return unsure(error.message)
        return refused(error.message)

    def _learn(self, name: str, found: Found) -> None:
        """What later questions go by: how this model is made to call."""
        if name == "tools":
            self._asker.calling = ToolChoice.AUTO if found.status in ("yes", "unsure") else None
        elif name == "tool_choice.required":
            self._asker.forces = found.status == "yes"
            if self._asker.forces and self._asker.calling is None:
                self._asker.calling = ToolChoice.REQUIRED
