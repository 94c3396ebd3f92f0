"""What becomes of an answer: the bytes decide, the declared content type is a hint, and sizes are bounded."""

from __future__ import annotations

import base64
import json
import time
import tracemalloc
import zlib
from typing import Any

import pytest

from agentforge.model import AudioContent, FileContent, ImageContent, TextContent
from agentforge.tool.execution import ToolExecution, ToolOutcome
from plugins.http.tests.support import FakeTransport, executed, operation, tool_at
from tests.support.loopback import endless, gzipped, plain, serve

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(20)
PDF = b"%PDF-1.7\n\x00\x01"
JSON = "application/json"
NO_NUMBERS = {"a": None, "b": [None, None, 100.0]}


async def answered(body: bytes, content_type: str | None = None, status: int = 200, **more: Any) -> ToolExecution:
    """A call whose answer is this."""
    headers = {} if content_type is None else {"content-type": content_type}
    headers |= more.pop("headers", {})
    tool, _ = tool_at(operation("https://api.test"), FakeTransport((status, headers, body)), **more)
    return await executed(tool)


TEXTS = [
    (JSON, b'{"a": 1}', '{"a": 1}', {"a": 1}),
    ("application/problem+json; charset=utf-8", b"[1]", "[1]", [1]),
    (JSON, b"null", "null", None),
    (JSON, b"\xef\xbb\xbf{}", "{}", {}),
    (JSON, b'{"a": NaN, "b": [-Infinity, 1e999, 1e2]}', '{"a": NaN, "b": [-Infinity, 1e999, 1e2]}', NO_NUMBERS),
    ("text/plain; charset=punycode", b"a-b9", "a-b9", "a-b9"),
    ("text/plain; charset=raw_unicode_escape", b"\\u0041", "\\u0041", "\\u0041"),
    ("text/plain; charset=iso-8859-1", b"caf\xe9", "café", "café"),
    ("text/plain", "grüß".encode(), "grüß", "grüß"),
    ("text/plain", b"caf\xe9", "café", "café"),
    ("text/plain; charset=nonsense", b"abc", "abc", "abc"),
    ("text/plain; charset=zip", b"abc", "abc", "abc"),
    ("text/plain", "hi".encode("utf-16"), "hi", "hi"),
    ('text/html; charset="utf-8"', b"<p>x</p>", "<p>x</p>", "<p>x</p>"),
    ("image/svg+xml", b"<svg/>", "<svg/>", "<svg/>"),
    ("application/yaml", b"a: 1", "a: 1", "a: 1"),
    (None, b'{"a": 1}', '{"a": 1}', {"a": 1}),
    (None, b"{no json", "{no json", "{no json"),
    ("text/plain", b"GIF89a is a format", "GIF89a is a format", "GIF89a is a format"),
    ("text/csv", b"OggS,ID3", "OggS,ID3", "OggS,ID3"),
    ("application/octet-stream", b"only text", "only text", "only text"),
    ("application/octet-stream", b"", "Success (status 200, no content)", None),
]


@pytest.mark.parametrize(("content_type", "body", "text", "result"), TEXTS)
async def test_texts_and_json(content_type: str | None, body: bytes, text: str, result: object) -> None:
    """The model gets the text as it came, the application the parsed JSON."""
    execution = await answered(body, content_type)

    assert execution.outcome is ToolOutcome.OK
    assert execution.result_text() == text and execution.result.result == result


NOTES = [
    (JSON, b"not json", "not json\n[the answer says that it is JSON and is none: "),
    (JSON, b"[" * 100_000, "["),
    (JSON, b"<html>login</html>", "<html>login</html>\n[the answer says that it is JSON"),
    ("image/png", b"no such image", "no such image\n[the answer says that it is image/png and is text]"),
    (
        "text/plain",
        b"\x00\x01\x02\xff",
        "[the answer says that it is text/plain and is none: 4 bytes that are not shown]",
    ),
    ("image/png", b"\x00\x01\x02\xff", "[the answer says that it is image/png and is none: 4 bytes"),
    (JSON, b"\x00\x01\x02\xff", "[the answer says that it is application/json and is none: 4 bytes"),
    (None, b"\x00\x01\x02\xff", "[the answer does not say what it is: 4 bytes"),
]


@pytest.mark.parametrize(("content_type", "body", "text"), NOTES)
async def test_an_answer_that_is_not_what_it_says(content_type: str | None, body: bytes, text: str) -> None:
    """The text is given with a note; what a model could not be shown is said, not passed on."""
    execution = await answered(body, content_type)

    assert execution.outcome is ToolOutcome.OK and execution.result_text().startswith(text)


PARTS: list[tuple[str | None, bytes, type, str]] = [
    ("image/png", PNG, ImageContent, "image/png"),
    ("image/jpeg", PNG, ImageContent, "image/png"),
    ("text/plain", PNG, ImageContent, "image/png"),
    (None, PNG, ImageContent, "image/png"),
    ("application/octet-stream", b"\xff\xd8\xff\xe0" + bytes(9), ImageContent, "image/jpeg"),
    ("image/webp", b"RIFF\x24\x00\x00\x00WEBPVP8 " + bytes(9), ImageContent, "image/webp"),
    ("image/gif", b"GIF89a" + bytes(9), ImageContent, "image/gif"),
    ("audio/wav", WAV, AudioContent, "audio/wav"),
    ("audio/x-wav", WAV, AudioContent, "audio/wav"),
    ("audio/mpeg", b"ID3\x04" + bytes(9), AudioContent, "audio/mpeg"),
    ("application/pdf", PDF, FileContent, "application/pdf"),
    ("application/zip", b"PK\x03\x04\x00\xff", FileContent, "application/zip"),
    ('x"y,z', b"PK\x03\x04\x00\xff", FileContent, "application/octet-stream"),
]


@pytest.mark.parametrize(("content_type", "body", "kind", "media_type"), PARTS)
async def test_images_sounds_and_files(content_type: str | None, body: bytes, kind: Any, media_type: str) -> None:
    """A part of its real kind, with the bytes as they came."""
    execution = await answered(body, content_type)
    (part,) = execution.result.contents

    assert isinstance(part, kind) and part.media_type == media_type  # type: ignore[attr-defined]
    assert base64.b64decode(part.data) == body == execution.result.result  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="r.zip"', "r.zip"),
        ("attachment; filename*=UTF-8''gr%C3%BC%C3%9F.zip", "grüß.zip"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ("attachment", None),
        ('attachment; filename="a\x1b[31m.zip"', "a[31m.zip"),
    ],
)
async def test_the_name_of_a_file_names_no_folder(header: str, name: str | None) -> None:
    """And holds nothing that does not print."""
    body = b"PK\x03\x04\x00\xff"
    execution = await answered(body, "application/zip", headers={"content-disposition": header})
    (part,) = execution.result.contents

    assert isinstance(part, FileContent) and part.name == name


@pytest.mark.parametrize("status", [201, 202, 204, 205])
async def test_an_empty_answer_is_a_success(status: int) -> None:
    """Which says its status."""
    assert (await answered(b"", None, status)).result_text() == f"Success (status {status}, no content)"


DOCUMENT = {"items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}], "a/b": {"m~n": "x"}, "0": "zero", "none": None}
PICKS = [
    ("/items/1/name", "b", "b"),
    ("/items/0", '{"name":"a","n":1}', {"name": "a", "n": 1}),
    ("/a~1b/m~0n", "x", "x"),
    ("/0", "zero", "zero"),
    ("items[*].name", '["a","b"]', ["a", "b"]),
    ("items[?n > `1`] | [0].{it: name}", '{"it":"b"}', {"it": "b"}),
    ("length(items)", "2", 2),
    ("/none", "null", None),  # which stands there
]


@pytest.mark.parametrize(("pick", "text", "result"), PICKS)
async def test_a_part_is_picked(pick: str, text: str, result: object) -> None:
    """By JSON pointer or JMESPath, whatever the content type says."""
    for content_type in (JSON, "text/plain", None):
        execution = await answered(json.dumps(DOCUMENT).encode(), content_type, pick=pick)
        assert (execution.result_text(), execution.result.result) == (text, result)


async def test_a_write_that_was_done_is_no_failure_whatever_its_answer() -> None:
    """A model that is told of one would do it again."""
    cannot = "nothing can be picked from the answer"
    for body, pick, says in ((b'{"a": 1}', "/b", "nothing at '/b'"), (b"no json", "a", cannot), (b"", "a", cannot)):
        tool, _ = tool_at(operation(method="POST"), FakeTransport((201, {"content-type": JSON}, body)), pick=pick)
        execution = await executed(tool)
        assert execution.outcome is ToolOutcome.OK
        assert execution.result_text().startswith(f"Success (status 201); but {says}")


@pytest.mark.parametrize(
    ("pick", "body", "there"),
    [
        ("no.such", b'{"a": 1, "b": {"no": 2}}', "its members are a, b"),
        ("/b/such", b'{"a": 1, "b": {"no": 2}}', "its members are a, b"),
        ("/items/-", b'{"items": [1]}', "its members are items"),
        (f"/items/{'9' * 5000}", b'{"items": [1]}', "its members are items"),
        ("a", b"{}", "it has no members"),
        ("/2", b"[1, 2]", "it is a list of 2"),
        ("a", b"5", "it is a single value"),
        ("a", b"null", "it is null"),
        ("x", json.dumps(dict.fromkeys(range(23))).encode(), ", 18, 19 and 3 others"),
    ],
)
async def test_where_nothing_is_to_pick_the_model_is_told_what_there_is(pick: str, body: bytes, there: str) -> None:
    """By names alone; to a program the result is none."""
    execution = await answered(body, JSON, pick=pick)

    text = execution.result_text()
    assert text.startswith(f"nothing at {pick!r} in the answer; ") and text.endswith(there)
    assert execution.result.result is None and execution.outcome is ToolOutcome.OK


@pytest.mark.parametrize(
    ("pick", "body", "says"),
    [
        ("length(a)", b'{"a": 1}', "nothing can be picked"),
        ("a", b"not json", "the answer is not JSON: not json"),
        ("a", b"", "the answer is empty"),
        ("a", PNG, "the answer is not text"),
        ("a", b"[" * 100_000, "the answer is not JSON"),
    ],
)
async def test_what_cannot_be_picked_is_an_error(pick: str, body: bytes, says: str) -> None:
    """That says why."""
    execution = await answered(body, JSON, pick=pick)

    assert execution.outcome is ToolOutcome.FAILED and says in execution.result_text()


STATUSES = [
    (404, JSON, b'{"detail": "no such user"}', 'the API answered with status 404: {"detail": "no such user"}'),
    (422, JSON, b'{\n "errors": {"author": ["is required"]}}', 'status 422: {"errors": {"author": ["is required"]}}'),
    (502, "text/html", b"<h1>Bad gateway</h1>", "status 502: Bad gateway"),
    (500, None, b"", "status 500: the body is empty"),
    (500, "image/png", PNG, "bytes that are no text"),
    (400, "text/plain", b"a\r\n\x1b[31mb", "status 400: a \ufffd[31mb"),
    (302, "text/html", b"x", "status 302: it redirects without saying where, which is not followed"),
    (304, None, b"", "status 304: the body is empty"),
    (
        500,
        JSON,
        b'{"error": {"api_key": "k-1", "hint": "x"}}',
        'status 500: {"error": {"api_key": "***", "hint": "x"}}',
    ),
]


@pytest.mark.parametrize(("status", "content_type", "body", "text"), STATUSES)
async def test_a_status_that_is_not_good_is_an_execution_error(
    status: int, content_type: str | None, body: bytes, text: str
) -> None:
    """With the status and what the API says."""
    execution = await answered(body, content_type, status)

    assert execution.outcome is ToolOutcome.FAILED and text in execution.result_text()
    assert execution.result.cause.status == status  # type: ignore[union-attr]


async def test_a_page_of_html_is_shortened_and_a_body_is_capped() -> None:
    """An error page is its title and a few words, no scripts; any other body 2,000 characters."""
    page = (
        "<!doctype html><html><head><title>Oops</title><style>p{}</style></head><script>evil()</script><p>" + "x " * 999
    )
    shown = (await answered(page.encode(), "text/html", 503)).result_text()
    assert "status 503: Oops: x x" in shown and "evil" not in shown and "p{}" not in shown and len(shown) < 300

    shown = (await answered(b"y" * 9_999, "text/plain", 500)).result_text()
    assert 2_000 < len(shown) < 2_100 and shown.endswith("…")


@pytest.mark.parametrize(("status", "wait"), [(429, "7"), (503, "1.5")])
async def test_the_wait_that_an_api_asks_for_is_told(status: int, wait: str) -> None:
    """The only header that is."""
    headers = {"retry-after": wait, "x-internal": "secret-host"}
    shown = (await answered(b"slow down", "text/plain", status, headers=headers)).result_text()

    assert f"status {status} (it asks to wait {wait} s): slow down" in shown and "secret-host" not in shown


# -- bounds --------------------------------------------------------------------------------------


async def over_the_wire(answer: Any, **options: Any) -> tuple[ToolExecution, Any]:
    """A call over a real connection."""
    pick = options.pop("pick", None)
    async with serve(answer) as server:
        tool, sender = tool_at(operation(server.url("")), sender=options, pick=pick)
        execution = await executed(tool)
        await sender.aclose()
        await server.all_closed()
        return execution, server


@pytest.mark.parametrize("letter", ["x", "ü", "好"])
async def test_a_text_that_is_too_large_is_cut_at_a_character_and_says_so(letter: str) -> None:
    """And JSON is then text."""
    body = (letter * 5_000).encode()
    for kind in ("text/plain", JSON):
        execution, _ = await over_the_wire(plain(body, kind=kind), max_response_bytes=1_000)
        text, _, note = execution.result_text().partition("\n")
        assert set(text) == {letter} and 997 < len(text.encode()) <= 1_000
        assert note == "[cut: the answer is larger than 1,000 bytes (max_response_bytes)]"


async def test_an_answer_of_just_the_size_is_whole() -> None:
    """The bound itself is allowed."""
    execution, _ = await over_the_wire(plain(b"x" * 1_000, kind="text/plain"), max_response_bytes=1_000)

    assert execution.result_text() == "x" * 1_000


@pytest.mark.parametrize(("body", "pick"), [(b'{"a": "' + b"x" * 5_000 + b'"}', "a"), (PNG + bytes(5_000), None)])
async def test_what_cannot_be_cut_is_an_error_that_names_the_setting(body: bytes, pick: str | None) -> None:
    """JSON to pick from, and files."""
    execution, _ = await over_the_wire(plain(body), max_response_bytes=1_000, pick=pick)

    assert execution.outcome is ToolOutcome.FAILED and "larger than 1,000 bytes" in execution.result_text()
    assert "max_response_bytes" in str(execution.result.cause)


async def test_reading_stops_at_the_bound() -> None:
    """A body without end: what is not needed is not read, and the connection is closed."""
    tracemalloc.start()
    try:
        execution, _ = await over_the_wire(endless())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert "[cut:" in execution.result_text() and peak < 16 * 1024 * 1024


async def test_a_compressed_answer_is_read_and_a_bomb_is_refused() -> None:
    """A few kilobytes that would become forty megabytes stop at ten; a smaller one is cut as any text is."""
    execution, server = await over_the_wire(gzipped(b'{"a": 1}'))
    assert execution.result.result == {"a": 1} and server.requests[0].headers["accept-encoding"] == "gzip"

    execution, _ = await over_the_wire(gzipped(b"x" * 100_000), max_response_bytes=1_000)
    assert execution.result_text().startswith("x" * 1_000 + "\n[cut:")

    packer = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    packed = b"".join([*(packer.compress(bytes(1024 * 1024)) for _ in range(40)), packer.flush()])
    tracemalloc.start()
    try:
        execution, _ = await over_the_wire(plain(packed, "Content-Encoding: gzip"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert execution.outcome is ToolOutcome.FAILED and "too large" in execution.result_text()
    assert peak < 32 * 1024 * 1024


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "x-nonsense"])
async def test_an_encoding_that_was_not_asked_for_is_refused(encoding: str) -> None:
    """By its name."""
    execution, _ = await over_the_wire(plain(b"abc", f"Content-Encoding: {encoding}"))

    assert execution.outcome is ToolOutcome.FAILED and repr(encoding) in execution.result_text()
    assert isinstance(execution.result.contents[0], TextContent)


async def test_numbers_that_are_none_are_null_in_what_is_picked() -> None:
    """So that what a model reads is JSON."""
    assert (await answered(b'{"a": [NaN, 1]}', JSON, pick="a")).result_text() == "[null,1]"


@pytest.mark.parametrize("pick", [None, "@", "{a: {b: {c: {d: @}}}}"])
async def test_depth_is_no_crash(pick: str | None) -> None:
    """Also just below what can be read, where it can perhaps not be written again."""
    for depth in (*range(880, 1000, 7), 5_000):
        result = (await answered(b"[" * depth + b'"\\/"' + b"]" * depth, JSON, pick=pick)).result
        assert not result.is_error or "nested too deeply" in str(result.cause) or "is not JSON" in str(result.cause)


async def test_a_number_of_too_many_digits_is_told_in_plain_words() -> None:
    """And not in Python's, which name a function of its own."""
    text = (await answered(b"1" * 5_000, JSON)).result_text()

    assert text.endswith("[the answer says that it is JSON and is none: a number of it has too many digits]")


@pytest.mark.parametrize("charset", ["punycode", "idna"])
async def test_no_charset_takes_the_square_of_the_time(charset: str) -> None:
    """A megabyte that a server calls punycode would take a minute, and the event loop with it."""
    before = time.process_time()
    await answered(b"a" * 1_000 + b"-" + b"b9" * 300_000, f"text/plain; charset={charset}")

    assert time.process_time() - before < 30
