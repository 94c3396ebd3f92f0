"""What a wire is: pure functions from our requests to bytes, in pieces that can be cached, and what they give.

A body is ``opening``, then the joined turns, then ``plain`` or ``streamed``. Head, tools and turns are each encoded
once; see `agentforge.provider.encoder` for who keeps them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from agentforge.errors import ModelError
from agentforge.model import (
    ChatEvent,
    ChatMessage,
    ChatRequestParameters,
    Notice,
    ToolSpecification,
    new_call_id,
)
from agentforge.provider.endpoint import Endpoint
from agentforge.provider.settling import Settled
from agentforge.provider.turn_shape import TurnShape

__all__ = ("EMPTY_TOOLS", "Answering", "Decoder", "Head", "Pieces", "ToolBlock", "Wire")

Shape = TypeVar("Shape", bound=TurnShape)
Pieces: TypeAlias = Sequence[tuple[ChatMessage, bytes]]
"""Encoded turns in their order, each with the message that it is of; a turn may be empty."""


@dataclass(frozen=True, slots=True)
class ToolBlock:
    """The encoded tools. ``aliases``: wire name to ours; ``strict``: whether any tool went out strict."""

    body: bytes
    aliases: Mapping[str, str]
    strict: bool
    notices: tuple[Notice, ...]


EMPTY_TOOLS = ToolBlock(b"[]", {}, False, ())


@dataclass(frozen=True, slots=True)
class Head(Generic[Shape]):
    """The fragments around the turns, and what decoding the answer needs to know.

    ``base_url`` is set where a mapping moved the request to another base.
    """

    opening: bytes
    plain: bytes
    streamed: bytes
    shape: Shape
    tools: ToolBlock
    notices: tuple[Notice, ...]
    base_url: str | None
    model: str


@dataclass(frozen=True, slots=True)
class Answering:
    """What decoding needs from the request. ``provider`` is stamped on opaque state, ``aliases`` are taken back,
    ``new_id`` makes ids where none was given. A wire derives its own with what its row says of answers."""

    provider: str
    aliases: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    new_id: Callable[[], str] = new_call_id


class Decoder(Protocol):
    """One stream, bytes in and events out."""

    @property
    def ended(self) -> bool:
        """Whether the end mark has come; what follows it is not read."""

    @property
    def partial_text(self) -> str:
        """The text so far."""

    @property
    def failure(self) -> ModelError | None:
        """The error that ended the stream behind events of the same chunk; whoever shows them raises it then."""

    def feed(self, chunk: bytes) -> list[ChatEvent]:
        """The events that ``chunk`` completes. Raises `ModelError`."""

    def finish(self) -> list[ChatEvent]:
        """The last events, `ResponseDone` at the end. Raises `StreamTruncatedError` when the body ended too early."""


class Wire(ABC, Generic[Shape]):
    """One protocol, towards the provider. Stateless, so that any thread may use it.

    Turns are joined by commas unless `join` and `extended` say otherwise.
    """

    #: Fields of the body that no custom parameter may set, as the wire sets them.
    RESERVED: ClassVar[tuple[str, ...]] = ()
    #: Whether streams are JSON themselves, by lines or as an array; else one that begins as JSON is a whole answer.
    STREAMS_JSON: ClassVar[bool] = False
    #: Whether ids of calls have to differ in the whole request; in one turn they always do.
    distinct_in_request: bool = False

    @abstractmethod
    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        """The parameters as this endpoint can take them. Raises `UnsupportedFeatureError`."""

    @abstractmethod
    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        """All tools as one JSON array. Raises `UnsupportedFeatureError` when two names collide on the wire."""

    @abstractmethod
    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[Shape]:
        """The head for parameters that are settled; ``with_tools``: tools are offered or calls are in the history."""

    @abstractmethod
    def encode_turn(self, message: ChatMessage, shape: Shape, notices: list[Notice]) -> bytes:
        """One message; what had to be left out is appended to ``notices``. Raises `UnsupportedFeatureError`."""

    def encode_follow_up(self, message: ChatMessage, shape: Shape, notices: list[Notice]) -> bytes:
        """What goes behind the last result of a turn, for a result whose media cannot stand in it; empty for none."""
        return b""

    def join(self, pieces: Pieces, shape: Shape) -> bytes:
        """All turns as they stand between opening and closing."""
        return b",".join([piece for _, piece in pieces if piece])

    def extended(self, joined: bytes, last: ChatMessage, pieces: Pieces, shape: Shape) -> bytes | None:
        """``joined``, whose last message is ``last``, with further turns; ``None`` where all must be joined anew."""
        rest = Wire.join(self, pieces, shape)
        return b"%b,%b" % (joined, rest) if joined and rest else joined or rest
