"""Images, sound and files are given as bytes, as base64 or by an address; what no provider could use is refused."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentforge.errors import RunStateError
from agentforge.model import AudioContent, FileContent, ImageContent, UserMessage, messages_from_json, messages_to_json

KINDS: list[Any] = [ImageContent, AudioContent, FileContent]
kinds = pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])


@kinds
@pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
def test_bytes_are_kept_in_base64_and_stored_so(kind: Any, form: Any) -> None:
    """The part is encoded once; what is stored is text and comes back as the same part."""
    part = kind(data=form(b"\x89PNG\r\n"))

    assert part.data == "iVBORw0K" and part == kind(data="iVBORw0K")
    assert dataclasses.replace(part, media_type="image/gif").data is part.data
    stored = json.dumps(messages_to_json([UserMessage([part])]))
    assert messages_from_json(stored) == (UserMessage([part]),)


@given(st.binary(max_size=80))
def test_what_base64_makes_of_any_bytes_is_taken_as_it_is(data: bytes) -> None:
    """Also when it is broken into lines, which are put together."""
    text = base64.b64encode(data).decode()

    assert FileContent(data=text).data == text == FileContent(data=data).data
    assert FileContent(data=base64.encodebytes(data).decode()).data == text


@given(st.text(alphabet="AZaz09+/=-_ \n.é", max_size=12))
@example("0000=")
@example("AAAA====")
def test_a_text_is_taken_exactly_when_it_can_be_decoded(text: str) -> None:
    """Line breaks and blanks aside."""
    plain = "".join(text.split())
    try:
        decoded = base64.b64decode(plain.encode("ascii"), validate=True)
        # Some versions of Python take padding behind a text that needs none; not every server does.
        fits = len(decoded) == len(plain) * 3 // 4 - plain.count("=")
    except ValueError:
        fits = False

    if fits:
        assert FileContent(data=text).data == plain
    else:
        with pytest.raises(ValueError, match="is no base64"):
            FileContent(data=text)


@kinds
@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ("!!", ValueError, "is no base64: give the bytes themselves"),
        ("a-_=", ValueError, "is no base64"),
        ("AAA", ValueError, "is no base64"),
        ("data:image/png;base64,AAAA", ValueError, "what follows the comma of a data URL"),
        (3, TypeError, "bytes or base64 text, not int"),
        (Path("a.png"), TypeError, r"data=path\.read_bytes\(\)"),
    ],
)
def test_data_that_is_none_is_refused_without_being_shown(
    kind: Any, data: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        kind(data=data)
    assert str(data) not in str(caught.value)


@kinds
@pytest.mark.parametrize(
    "url", ["https://a.example/a.png", "http://127.0.0.1/a", "data:image/png;base64,AA==", "gs://b/c"]
)
def test_an_address_that_somebody_can_fetch_is_kept(kind: Any, url: str) -> None:
    assert kind(url=url).url == url and kind(url).data is None


@kinds
@pytest.mark.parametrize(
    "url", ["a.png", "/tmp/a.png", "C:/a.png", "C:\\a.png", "file:///tmp/a.png", "FILE://a", "~/a", ""]
)
def test_a_file_of_this_machine_is_no_address(kind: Any, url: str) -> None:
    """The error says how its bytes are given."""
    with pytest.raises(ValueError, match=r"no provider can fetch the url .*data=path\.read_bytes\(\)"):
        kind(url=url)


def test_a_path_is_no_address_and_a_long_one_is_not_repeated() -> None:
    wrong: Any = Path("a.png")
    with pytest.raises(TypeError, match=r"is a text, not \w*Path; for a file, read the file"):
        ImageContent(url=wrong)
    with pytest.raises(ValueError, match="no provider can fetch") as caught:
        ImageContent(url="iVBORw0KGgo" * 1_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("part", [{"data": "!!"}, {"url": "a.png"}])
def test_a_stored_part_that_cannot_be_is_refused_with_its_place(part: dict[str, str]) -> None:
    stored = {
        "version": 1,
        "messages": [{"type": "user", "contents": [{"type": "image", "media_type": "image/png", **part}]}],
    }

    with pytest.raises(RunStateError) as caught:
        messages_from_json(stored)
    assert caught.value.location == "messages[0].contents[0]"
