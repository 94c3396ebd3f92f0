"""What holds for the recorded answers of every wire, plain and streamed, wherever the network cuts them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import ChatResponse
from tests.support.wire_exchange import Reading

__all__ = ("RecordedStreams", "Recordings", "check_calls")


class Recordings:
    """The recordings of one form, which lie in these folders, and what is in them."""

    def __init__(self, reading: Reading[Any], form: str, *folders: str, files: int) -> None:
        self.reading = reading
        self._form = form
        self._folders = folders
        self._files = files

    def files(self, shared: Path) -> list[Path]:
        """The files of all folders."""
        found = [path for name in self._folders for path in (shared / "cassettes" / name).glob(f"{self._form}-*.json")]
        assert len(found) == self._files
        return sorted(found)

    def interactions(self, shared: Path) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """File, position and interaction of each recording."""
        for file in self.files(shared):
            for position, interaction in enumerate(json.loads(file.read_text())["interactions"]):
                yield file.stem, position, interaction

    def answers(self, shared: Path) -> Iterator[tuple[str, int, Any]]:
        """File, position and body of each recorded answer that is none of an error."""
        for name, position, interaction in self.interactions(shared):
            if interaction["response"]["status"] == 200:
                yield name, position, interaction["response"]["body"]

    def failed(self, shared: Path) -> list[dict[str, Any]]:
        """The other answers."""
        answers = (interaction["response"] for _, _, interaction in self.interactions(shared))
        return [answer for answer in answers if answer["status"] != 200]

    def answer(self, shared: Path, stem: str, position: int = 0) -> Any:
        """The body of one, by the name of its file without the form's."""
        wanted = (f"{self._form}-{stem}", position)
        return next(body for name, at, body in self.answers(shared) if (name, at) == wanted)

    def streams(self, shared: Path) -> list[bytes]:
        """The bodies of the streamed ones."""
        return [body.encode() for _, _, body in self.answers(shared) if isinstance(body, str)]

    def decoded(self, body: Any) -> ChatResponse:
        """The response in a body of either kind."""
        return self.reading.streamed(body.encode()) if isinstance(body, str) else self.reading.plain(body)


class RecordedStreams:
    """A test derives from it and says whose recordings it reads."""

    RECORDINGS: ClassVar[Recordings]
    #: How many of them are streams.
    STREAMS: ClassVar[int]
    EXAMPLES: ClassVar[int] = 60

    def test_every_stream_is_read_the_same_at_every_cut(self, shared: Path) -> None:
        outcome, bodies = self.RECORDINGS.reading.outcome, self.RECORDINGS.streams(shared)
        whole = {body: outcome(body) for body in bodies}
        assert len(whole) == self.STREAMS

        @settings(max_examples=self.EXAMPLES, deadline=None)
        @given(st.sampled_from(bodies), st.lists(st.floats(0, 1), min_size=1, max_size=8))
        def check(body: bytes, cuts: list[float]) -> None:
            edges = sorted({0, len(body), *(int(cut * len(body)) for cut in cuts)})
            assert outcome(*(body[at:to] for at, to in itertools.pairwise(edges))) == whole[body]

        check()

    def test_streams_are_read_the_same_byte_by_byte(self, shared: Path) -> None:
        outcome = self.RECORDINGS.reading.outcome
        for body in self.RECORDINGS.streams(shared):
            assert outcome(*(body[at : at + 1] for at in range(len(body)))) == outcome(body)


def check_calls(response: ChatResponse, where: str) -> None:
    """Each call has a name, an object as arguments, and an id that no other has."""
    calls = response.ai_message.tool_execution_requests
    assert len({call.id for call in calls}) == len(calls), where
    assert all(call.name and isinstance(call.arguments_as_map(), dict) for call in calls), where
