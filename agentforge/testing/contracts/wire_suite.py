"""What the parts of `WireModelContract` share: what a request becomes, and how a thing of it is found again there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ChatMessage, ChatRequest, ChatRequestParameters, Notice, UserMessage
from agentforge.testing.contracts.model_suite import ModelSuite
from agentforge.testing.contracts.running import must, skip

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentforge.provider import WireModel

__all__ = ("HELLO", "Refused", "Sent", "WireSuite", "marked", "texts_in")

#: What a wire may do with a thing that it cannot send.
_WAYS = "send it, refuse it (endpoint.refuse, shape.left_out), or leave it out with a Notice (leave_out)"
HELLO: Sequence[ChatMessage] = (UserMessage("Hello"),)


def marked(what: str) -> str:
    """A text that is found again only where it was sent whole: quotes, line ends, characters of other scripts."""
    return f'{what}: "quoted" \\ {{braces}} 杭州 🌤\nsecond line of {what}'


@dataclass(frozen=True)
class Refused:
    """A request that is not sent, with why."""

    error: UnsupportedFeatureError


@dataclass(frozen=True)
class Sent:
    """A request as it would be sent: the body, read as JSON, texts that hold JSON read as well; and its notices."""

    body: bytes
    notices: tuple[Notice, ...]
    nodes: list[Any] = field(default_factory=list, repr=False)

    @property
    def texts(self) -> list[str]:
        """All texts that are values, from the front to the back."""
        return [node for node in self.nodes if isinstance(node, str)]

    def says(self, text: str) -> bool:
        """Whether a text of the body holds this one."""
        return any(text in each for each in self.texts)

    def has_object(self, wanted: Mapping[str, object]) -> bool:
        """Whether a part of the body is this object."""
        return any(isinstance(node, dict) and node == wanted for node in self.nodes)

    def has_key(self, key: str) -> bool:
        """Whether an object of the body has this key."""
        return any(isinstance(node, dict) and key in node for node in self.nodes)


class WireSuite(ModelSuite):
    """How the tests look at requests without sending them."""

    @asynccontextmanager
    async def wire(self, *turns: Any, tools: bool = False) -> AsyncIterator[WireModel[Any]]:
        """The model behind a wire; skips where a test is about ``tools`` and the wire has none."""
        from agentforge.provider import WireModel

        async with self.opened(*turns) as model:
            must(
                isinstance(model, WireModel),
                f"{type(model).__name__} is no WireModel of agentforge.provider; hold it to ChatModelContract",
            )
            assert isinstance(model, WireModel)
            if tools and model.profile.tool_mode != "native":
                skip("the model's wire has no tools")
            yield model

    def sent(
        self,
        model: WireModel[Any],
        messages: Sequence[ChatMessage] = HELLO,
        parameters: ChatRequestParameters | None = None,
        *,
        stream: bool = False,
    ) -> Sent | Refused:
        """What the request becomes."""
        try:
            body, notices = model.preview(ChatRequest(messages, parameters), stream=stream)
        except UnsupportedFeatureError as error:
            must(error.message, "a refusal has no message")
            must(error.next_step, f"the refusal {error.message!r} does not say what to do next (next_step)")
            return Refused(error)
        try:
            tree = json.loads(body, parse_constant=_no_constant)
        except ValueError as error:
            raise AssertionError(f"the body of a request is no JSON ({error}): {_short(body)}") from None
        return Sent(body, notices, list(_nodes(tree)))

    def sent_whole(
        self,
        model: WireModel[Any],
        what: str,
        messages: Sequence[ChatMessage] = HELLO,
        parameters: ChatRequestParameters | None = None,
    ) -> Sent:
        """What a request becomes that every wire can send."""
        found = self.sent(model, messages, parameters)
        if isinstance(found, Refused):
            raise AssertionError(f"{what} is refused, and every model must take it: {found.error.message}")
        return found

    def arrives(
        self,
        what: str,
        sent: Sent | Refused,
        arrived: Callable[[Sent], bool],
        *,
        known: Sequence[Notice] = (),
        always: bool = False,
    ) -> None:
        """Fail unless ``what`` is in the request, or it is refused, or a notice that is not ``known`` tells of it. What
        must ``always`` be sent is neither refused nor left out."""
        if isinstance(sent, Refused):
            must(not always, f"{what} is refused, and every model must take it: {_said(sent)}")
            return
        if arrived(sent):
            return
        must(not always, f"{what} is not in the request: {_short(sent.body)}")
        new = [notice for notice in sent.notices if notice not in known]
        must(new, f"{what} is not in the request, and no notice says so; {_WAYS}: {_short(sent.body)}")

    def all_hold(self, checks: Iterable[Callable[[], None]]) -> None:
        """Make all the checks, and fail with the sentences of those that failed, so that one run tells them all."""
        said: dict[str, None] = {}
        for check in checks:
            try:
                check()
            except AssertionError as error:
                said[str(error)] = None
        must(not said, "\n".join(said))


def texts_in(value: object) -> list[str]:
    """All texts of a JSON value."""
    return [node for node in _nodes(value) if isinstance(node, str)]


def _nodes(value: Any) -> Iterator[Any]:
    """A value and all that is in it; a text that is an object or a list is looked into as well."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, dict):
            waiting += reversed(node.values())
        elif isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, str) and node[:1] in ("{", "["):
            try:
                waiting.append(json.loads(node))
            except ValueError:
                continue


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _said(refused: Sent | Refused) -> str:
    return refused.error.message if isinstance(refused, Refused) else ""


def _short(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    return text if len(text) <= 600 else f"{text[:400]} … {text[-150:]}"
