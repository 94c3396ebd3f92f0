"""Recorded provider traffic, replayed: tests of a wire against what a provider really said, without a network.

A cassette is one JSON file: where it comes from, what kind of traffic it is, and its interactions in order, each a
request (method, path, headers, body) and a response (status, headers, body: parsed JSON, or the text of a stream).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError, ProtocolError
from agentforge.http.transport import HttpRequest, HttpResponse, HttpStream

__all__ = (
    "Cassette",
    "Interaction",
    "RecordedRequest",
    "RecordedResponse",
    "ReplayTransport",
    "replay_transport",
    "same_endpoint",
)

_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What another framework asked; it tells which answer belongs to which question, and is no golden request."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """What the provider answered; ``body`` is parsed JSON, or the raw text of a stream (``is_stream``)."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)

    @property
    def is_stream(self) -> bool:
        """Whether the answer came as a stream."""
        return isinstance(self.body, str)

    @property
    def content(self) -> bytes:
        """The body as bytes; JSON is written anew, so its white space may differ from the wire's."""
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class Interaction:
    """One exchange; ``request`` is ``None`` where only the answer was kept."""

    request: RecordedRequest | None
    response: RecordedResponse


@dataclass(frozen=True, slots=True)
class Cassette:
    """One recording. Iterating it gives its interactions in order."""

    name: str
    provider: str
    api: str
    models: tuple[str, ...]
    streaming: bool
    fidelity: str
    features: tuple[str, ...]
    notes: tuple[str, ...] = field(repr=False)
    source: Mapping[str, str] = field(repr=False)
    interactions: tuple[Interaction, ...] = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> Cassette:
        """Read a file. Raises `ConfigurationError` that names the file and the place in it."""
        path = Path(path)
        try:
            if path.stat().st_size > _LARGEST:
                raise _fault(path.name, f"a cassette has at most {_LARGEST} bytes")
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise _fault(path.name, f"the cassette cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise _fault(path.name, f"the cassette is not JSON: {error}") from error
        return cls.from_json(data, name=path.stem)

    @classmethod
    def from_json(cls, data: object, *, name: str = "cassette") -> Cassette:
        """Read a parsed recording. Raises `ConfigurationError` with the place."""
        source = _Reader(data, name)
        return cls(
            name,
            source.get("provider", str),
            source.get("api", str),
            source.texts("models"),
            source.get("streaming", bool),
            source.get("fidelity", str),
            source.texts("features"),
            source.texts("notes"),
            source.get("source", dict),
            tuple(
                _interaction(_Reader(item, f"{name}: interaction {number}"))
                for number, item in enumerate(source.get("interactions", list), 1)
            ),
        )

    def __iter__(self) -> Iterator[Interaction]:
        return iter(self.interactions)

    def __len__(self) -> int:
        return len(self.interactions)


def _interaction(source: _Reader) -> Interaction:
    request = None
    if source.get("request", (dict, type(None))) is not None:
        asked = _Reader(source.data["request"], f"{source.place}.request")
        request = RecordedRequest(
            asked.get("method", str), asked.get("url_path", str), asked.get("headers", dict), asked.data.get("body")
        )
    answered = _Reader(source.get("response", dict), f"{source.place}.response")
    headers = {str(key).lower(): str(value) for key, value in answered.get("headers", dict).items()}
    if "body" not in answered.data:
        raise _fault(f"{answered.place}.body", "the field is missing")
    return Interaction(request, RecordedResponse(answered.get("status", int), headers, answered.data["body"]))


class _Reader:
    """One object of a recording and its place."""

    def __init__(self, data: object, place: str) -> None:
        if not isinstance(data, dict):
            raise _fault(place, f"an object is needed, not {type(data).__name__}")
        self.data: dict[str, Any] = data
        self.place = place

    def get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        if name not in self.data:
            raise _fault(f"{self.place}.{name}", "the field is missing")
        value = self.data[name]
        if not isinstance(value, kind):
            raise _fault(f"{self.place}.{name}", f"{type(value).__name__} does not fit here")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(str(item) for item in self.get(name, list))


def _fault(place: str, message: str) -> ConfigurationError:
    return ConfigurationError(message, location=place, next_step="Give a file in the cassettes' format.")


# -- replay ----------------------------------------------------------------------------------------------------


def same_endpoint(asked: HttpRequest, recorded: Interaction) -> str | None:
    """How a request departs from the recorded one: another method, another last part of the path, or a stream asked
    for where a whole answer was recorded (or the reverse). ``None`` when it does not."""
    if recorded.request is not None:
        if asked.method.upper() != recorded.request.method.upper():
            return f"method {asked.method} instead of {recorded.request.method}"
        ours, theirs = (urlsplit(url).path.rsplit("/", 1)[-1] for url in (asked.url, recorded.request.path))
        if ours != theirs:
            return f"path ending {ours!r} instead of {theirs!r}"
    try:
        body = json.loads(asked.content)
    except ValueError:
        return None
    wants_stream = isinstance(body, dict) and body.get("stream")
    if isinstance(wants_stream, bool) and recorded.response.status < 400:
        if wants_stream and not recorded.response.is_stream:
            return "a stream was asked for, and a whole answer was recorded"
        if not wants_stream and recorded.response.is_stream:
            return "a whole answer was asked for, and a stream was recorded"
    return None


class ReplayTransport:
    """An `HttpTransport` that answers the n-th request with the n-th recorded response.

    ``requests`` holds what was sent. A request beyond the recording, or one that ``departs`` says something about,
    raises `ProtocolError`. ``cuts`` cut streams: a number is the size of the pieces in bytes, a list the byte positions
    at which one piece ends.
    """

    def __init__(
        self,
        cassette: Cassette,
        *,
        cuts: int | Iterable[int] | None = None,
        departs: Callable[[HttpRequest, Interaction], str | None] = same_endpoint,
    ) -> None:
        if isinstance(cuts, int) and cuts < 1:
            raise ValueError("pieces have at least one byte")
        self._cassette = cassette
        self._cuts = cuts if cuts is None or isinstance(cuts, int) else tuple(cuts)
        self._departs = departs
        self.requests: list[HttpRequest] = []
        #: Whether `aclose` was called.
        self.closed = False

    @property
    def remaining(self) -> int:
        """How many recorded responses were not used yet."""
        return max(0, len(self._cassette) - len(self.requests))

    async def send(self, request: HttpRequest) -> HttpResponse:
        """The next recorded answer, whole."""
        recorded = self._next(request)
        return HttpResponse(recorded.status, recorded.headers, recorded.content)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        """The next recorded answer in pieces."""
        recorded = self._next(request)
        yield HttpStream(recorded.status, recorded.headers, self._pieces(recorded.content))

    async def aclose(self) -> None:
        """Nothing to release; notes that it was called."""
        self.closed = True

    def _next(self, request: HttpRequest) -> RecordedResponse:
        self.requests.append(request)
        number = len(self.requests)
        if number > len(self._cassette):
            raise self._departure(number, f"only {len(self._cassette)} interactions were recorded")
        recorded = self._cassette.interactions[number - 1]
        why = self._departs(request, recorded)
        if why is not None:
            raise self._departure(number, why)
        return recorded.response

    def _departure(self, number: int, why: str) -> ProtocolError:
        return ProtocolError(
            f"the conversation departs from cassette {self._cassette.name!r} at request {number}: {why}",
            next_step="Ask what was recorded, or record the conversation anew.",
        )

    async def _pieces(self, content: bytes) -> AsyncIterator[bytes]:
        cuts = self._cuts
        if isinstance(cuts, int):
            cuts = tuple(range(cuts, len(content), cuts))
        start = 0
        for end in (*sorted(cut for cut in set(cuts or ()) if 0 < cut < len(content)), len(content)):
            yield content[start:end]
            start = end


def replay_transport(
    cassette: Cassette | str | Path,
    *,
    cuts: int | Iterable[int] | None = None,
    departs: Callable[[HttpRequest, Interaction], str | None] = same_endpoint,
) -> ReplayTransport:
    """A transport that replays ``cassette`` (or the file of that name); see `ReplayTransport`."""
    found = cassette if isinstance(cassette, Cassette) else Cassette.load(cassette)
    return ReplayTransport(found, cuts=cuts, departs=departs)
