"""JSON values in which members are of another kind, or gone: what a decoder must read, or refuse in its own words."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ModelError

__all__ = ("check_mutated", "events_of", "mutated", "sse_of")

_ODD = st.sampled_from([None, True, 0, -1, 1.5, "", "x", "\ud83d", [], ["x"], [None], {}, {"a": 1}, 10**30])


@st.composite
def mutated(draw: st.DrawFn, values: Sequence[Any]) -> Any:
    """One of the values in which up to three members are something else, or gone."""
    value = copy.deepcopy(draw(st.sampled_from(values)))
    for _ in range(draw(st.integers(1, 3))):
        inside = value
        while isinstance(inside, dict | list) and inside:
            key = draw(st.sampled_from(sorted(inside) if isinstance(inside, dict) else range(len(inside))))
            if draw(st.booleans()) or not isinstance(inside[key], dict | list) or not inside[key]:
                if draw(st.integers(0, 4)):
                    inside[key] = copy.deepcopy(draw(_ODD))
                else:
                    del inside[key]
                break
            inside = inside[key]
    return value


def check_mutated(bodies: Iterable[Any], plain: Callable[[bytes], object], streamed: Callable[[bytes], object]) -> None:
    """Read bodies (objects, or texts of streams) with members of other kinds; all that is raised is `ModelError`."""
    values = [events_of(body) if isinstance(body, str) else body for body in bodies]

    @settings(max_examples=80, deadline=None)
    @given(mutated(values))
    def holds(value: Any) -> None:
        with contextlib.suppress(ModelError):
            if isinstance(value, list):
                streamed(sse_of(value))
            else:
                plain(json.dumps(value).encode())

    holds()


def events_of(stream: bytes | str) -> list[Any]:
    """The data of the events of a stream, those that are JSON."""
    text = stream.decode() if isinstance(stream, bytes) else stream
    lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line.startswith("{")]


def sse_of(events: Any) -> bytes:
    """Such data as a stream again."""
    return b"".join(
        b"data: %b\n\n" % json.dumps(one).encode() for one in (events if type(events) is list else [events])
    )
