"""Where each argument goes and how it is written: the styles of OpenAPI, as a real server on loopback receives them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ToolArgumentsError
from agentforge.tool.execution import ToolOutcome
from agentforge_http.encoding import prepare
from agentforge_http.operation import BodyEncoding, HttpBody, HttpOperation
from agentforge_http.styles import cookie_pairs, path_text, query_pairs
from plugins.http.tests.support import FakeTransport, executed, operation, parameter, tool_at
from tests.support.loopback import plain, serve

LIST, OBJECT = ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}

#: Style, explode, and what stands in the path for a text, an empty text, a list and an object (OpenAPI 3.1.1, Style
#: Examples). An empty segment is refused, see below.
PATHS = [
    ("simple", False, "blue", None, "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, "blue", None, "blue,black,brown", "R=100,G=200,B=150"),
    ("label", False, ".blue", None, ".blue,black,brown", ".R,100,G,200,B,150"),
    ("label", True, ".blue", None, ".blue.black.brown", ".R=100.G=200.B=150"),
    ("matrix", False, ";color=blue", ";color", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
    ("matrix", True, ";color=blue", ";color", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
]

#: The same for the query.
QUERIES = [
    ("form", True, "color=blue", "color=", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
    ("form", False, "color=blue", "color=", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    (
        "spaceDelimited",
        False,
        "color=blue",
        "color=",
        "color=blue%20black%20brown",
        "color=R%20100%20G%20200%20B%20150",
    ),
    ("pipeDelimited", False, "color=blue", "color=", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("spaceDelimited", True, "color=blue", "color=", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
    ("pipeDelimited", True, "color=blue", "color=", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
    (
        "deepObject",
        True,
        "color=blue",
        "color=",
        "color=blue&color=black&color=brown",
        "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
    ),
]

HEADERS = [
    (False, "blue", "", "blue,black,brown", "R,100,G,200,B,150"),
    (True, "blue", "", "blue,black,brown", "R=100,G=200,B=150"),
]

COOKIES = [
    (True, "color=blue", "color=", "color=blue,black,brown", "R=100; G=200; B=150"),
    (False, "color=blue", "color=", "color=blue,black,brown", "color=R,100,G,200,B,150"),
]


async def received(made: Any, arguments: dict[str, Any]) -> Any:
    """The request as a server on loopback sees it, and the execution."""
    async with serve(plain()) as server:
        tool, sender = tool_at(made(server.url("")))
        execution = await executed(tool, arguments)
        await sender.aclose()
        return (server.requests[0] if server.requests else None), execution


@pytest.mark.parametrize(("style", "explode", "text", "empty", "many", "members"), PATHS)
async def test_the_styles_of_the_path(
    style: Any, explode: bool, text: str, empty: str | None, many: str, members: str
) -> None:
    """As the table of the standard writes them."""
    for value, expected in (("blue", text), ("", empty), (LIST, many), (OBJECT, members)):
        how = parameter("color", "path", style, explode=explode)
        seen, execution = await received(
            lambda at, how=how: operation(at, "/a/{color}/b", parameters=(how,)), {"color": value}
        )
        if expected is None or (style == "label" and value == ""):
            assert seen is None and execution.outcome is ToolOutcome.INVALID_ARGUMENTS
        else:
            assert seen.target == f"/a/{expected}/b"


@pytest.mark.parametrize(("style", "explode", "text", "empty", "many", "members"), QUERIES)
async def test_the_styles_of_the_query(
    style: Any, explode: bool, text: str, empty: str, many: str, members: str
) -> None:
    """As the table writes them; ``null`` and what has no members is not sent."""
    how = parameter("color", "query", style, explode=explode)
    cases = ((("blue"), text), ("", empty), (LIST, many), (OBJECT, members), (None, None), ([], None), ({}, None))
    for value, expected in cases:
        seen, _ = await received(lambda at: operation(at, "/a", parameters=(how,)), {"color": value})
        assert seen.target == ("/a" if expected is None else f"/a?{expected}")


@pytest.mark.parametrize(("explode", "text", "empty", "many", "members"), HEADERS)
async def test_the_style_of_a_header(explode: bool, text: str, empty: str, many: str, members: str) -> None:
    """Not percent-encoded; ``null`` and what has no members is not sent."""
    how = parameter("X-Color", "header", explode=explode, argument="color")
    cases: Any = (("blue", text), ("", empty), (LIST, many), (OBJECT, members), (None, None), ([], None), ({}, None))
    for value, expected in cases:
        seen, _ = await received(lambda at: operation(at, parameters=(how,)), {"color": value})
        assert seen.headers.get("x-color") == expected


@pytest.mark.parametrize(("explode", "text", "empty", "many", "members"), COOKIES)
async def test_the_style_of_a_cookie(explode: bool, text: str, empty: str, many: str, members: str) -> None:
    """A list is joined whatever explode says, as one of two cookies of a name would hide the other."""
    how = parameter("color", "cookie", explode=explode)
    cases: Any = (("blue", text), ("", empty), (LIST, many), (OBJECT, members), (None, None), ([], None), ({}, None))
    for value, expected in cases:
        seen, _ = await received(lambda at: operation(at, parameters=(how,)), {"color": value})
        assert seen.headers.get("cookie") == expected


@pytest.mark.parametrize(
    ("value", "plain_query", "reserved_query"),
    [
        ("a b", "q=a%20b", "q=a%20b"),
        ("a&b=c", "q=a%26b%3Dc", "q=a%26b=c"),
        ("a+b", "q=a%2Bb", "q=a%2Bb"),
        ("50%", "q=50%25", "q=50%25"),
        ("https://h/p?x#y", "q=https%3A%2F%2Fh%2Fp%3Fx%23y", "q=https://h/p?x%23y"),
        ("ü", "q=%C3%BC", "q=%C3%BC"),
        ("[1]", "q=%5B1%5D", "q=%5B1%5D"),
        (True, "q=true", "q=true"),
        (1.5, "q=1.5", "q=1.5"),
        (12345678901234567890, "q=12345678901234567890", "q=12345678901234567890"),
        ({"a": [1]}, "a=%5B1%5D", "a=%5B1%5D"),
        ([None, "x"], "q=x", "q=x"),
    ],
)
async def test_values_are_escaped_for_the_query(value: Any, plain_query: str, reserved_query: str) -> None:
    """allow_reserved leaves what does no harm there; what is nested deeper is JSON."""
    for reserved, expected in ((False, plain_query), (True, reserved_query)):
        how = parameter("q", allow_reserved=reserved)
        seen, _ = await received(lambda at, how=how: operation(at, "/", parameters=(how,)), {"q": value})
        assert seen.target == f"/?{expected}"


@pytest.mark.parametrize("value", [{"a": [1, "ü"]}, [1], "text", 5, True])
async def test_a_parameter_with_a_content_type_goes_as_json(value: Any) -> None:
    """In the query escaped, in a header as it is."""
    hows = (
        parameter("q", content_type="application/json"),
        parameter("X-J", "header", content_type="application/json", argument="j"),
    )
    seen, _ = await received(lambda at: operation(at, "/", parameters=hows), {"q": value, "j": value})

    text = json.dumps(value, separators=(",", ":"))
    assert dict(parse_qsl(seen.target.partition("?")[2])) == {"q": text}
    assert seen.headers["x-j"] == text


async def test_what_is_not_given_is_not_sent_and_constants_always_are() -> None:
    """A default of the schema is for the server to apply."""
    made = {"type": "object", "properties": {"n": {"type": "integer", "default": 5}}}
    seen, _ = await received(
        lambda at: operation(
            at,
            "/",
            schema=made,
            parameters=(parameter("n"),),
            constant_query=(("k", "a b"),),
            constant_headers=(("X-Fixed", "1"),),
        ),
        {},
    )

    assert seen.target == "/?k=a%20b" and seen.headers["x-fixed"] == "1"


# -- no value leaves its place -------------------------------------------------------------------

_HOSTILE = st.sampled_from(
    [
        "../admin",
        "a/b",
        "%2e%2e",
        "..",
        ".",
        "",
        "\r\n",
        "\0",
        "http://evil.test/x",
        "//evil.test",
        "..\0",
        "?",
        "#",
        "\\..\\",
    ]
)
_TEXTS = st.one_of(_HOSTILE, st.text(max_size=20), st.text("./%\\?#;,=&\r\n\0 ", max_size=8))
_VALUES = st.one_of(_TEXTS, st.lists(_TEXTS, max_size=3), st.dictionaries(_TEXTS, _TEXTS, max_size=3))


@given(value=_VALUES, style=st.sampled_from(["simple", "label", "matrix"]), explode=st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_path_value_never_leaves_its_segment(value: Any, style: Any, explode: bool) -> None:
    """Sent or refused: what is sent has the segments of the template, and none that a server would take out again."""
    made = operation("https://api.test/v1", "/u/{id}/x", parameters=(parameter("id", "path", style, explode=explode),))
    try:
        url = prepare(made, {"id": value}).url()
    except ToolArgumentsError:
        return
    assert url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "api.test", "", "")
    segments = parts.path.split("/")
    assert [segments[index] for index in (0, 1, 2, 4)] == ["", "v1", "u", "x"] and len(segments) == 5
    assert unquote(segments[3]).strip("\0\t\r\n ") not in ("", ".", "..")


@pytest.mark.parametrize("value", ["", ".", "..", " ", "..\0", [], {}, None, "\t..\n"])
async def test_a_value_that_would_lead_to_another_path_is_refused(value: Any) -> None:
    """However it is escaped: servers leave such segments out, or go up. The model is told which argument it was."""
    transport = FakeTransport()
    tool, _ = tool_at(operation(path="/u/{id}", parameters=(parameter("id", "path"),)), transport)
    execution = await executed(tool, {"id": value})

    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS and "id:" in execution.result_text()
    assert not transport.requests
    assert str(getattr(execution.result.cause, "next_step", None)).startswith("Give ")


@pytest.mark.parametrize("place", ["path", "query", "header", "cookie"])
async def test_half_a_character_is_no_text(place: Any) -> None:
    """A lone surrogate has no bytes: refused as an argument, not an error of the tool."""
    made = operation(path="/{p}" if place == "path" else "/", parameters=(parameter("p", place),))
    with pytest.raises(ToolArgumentsError, match="surrogate"):
        prepare(made, {"p": "\ud800"})


@pytest.mark.parametrize("value", ["a\r\nHost: evil.test", "a\nb", "a\0b", "\x1b[31m", ["a", "b\r\n"], {"k\r\n": "v"}])
async def test_a_header_value_with_a_line_break_is_refused(value: Any) -> None:
    """And any other control character."""
    transport = FakeTransport()
    tool, _ = tool_at(operation(parameters=(parameter("X-A", "header"),)), transport)
    execution = await executed(tool, {"X-A": value})

    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS and not transport.requests


@pytest.mark.parametrize(
    "name", ["Host", "Authorization", "Cookie", "Content-Length", "transfer-encoding", "Proxy-Authorization"]
)
async def test_headers_of_the_connection_and_credentials_are_no_parameters(name: str) -> None:
    """Even where a description declares one."""
    transport = FakeTransport()
    tool, _ = tool_at(operation(parameters=(parameter(name, "header"),)), transport)
    execution = await executed(tool, {name: "x"})

    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS and not transport.requests


# -- read back -----------------------------------------------------------------------------------

_WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(value=st.one_of(_WORDS, st.lists(_WORDS, min_size=1, max_size=4)), name=_WORDS)
@settings(deadline=None)
def test_a_form_is_read_back_as_it_was(value: Any, name: str) -> None:
    """Exploded form in the query, by the standard library's reader."""
    made = operation("https://api.test", "/", parameters=(parameter(name, argument="v"),))
    query = prepare(made, {"v": value}).url().partition("?")[2]

    assert parse_qsl(query, keep_blank_values=True) == [
        (name, item) for item in ([value] if isinstance(value, str) else value)
    ]


@given(value=st.dictionaries(_WORDS, _WORDS, min_size=1, max_size=4))
@settings(deadline=None)
def test_a_deep_object_is_read_back_as_it_was(value: dict[str, str]) -> None:
    """Each member under the parameter's name and its own in brackets."""
    made = operation("https://api.test", "/", parameters=(parameter("f", "query", "deepObject"),))
    query = prepare(made, {"f": value}).url().partition("?")[2]

    assert dict(parse_qsl(query, keep_blank_values=True)) == {f"f[{key}]": item for key, item in value.items()}


def test_a_deep_object_goes_to_any_depth() -> None:
    """Lists inside repeat the name."""
    made = operation("https://api.test", "/", parameters=(parameter("f", "query", "deepObject"),))
    query = prepare(made, {"f": {"a": {"b": 1}, "c": [1, 2], "d": None}}).url().partition("?")[2]

    assert parse_qsl(query) == [("f[a][b]", "1"), ("f[c]", "1"), ("f[c]", "2")]


# -- bodies --------------------------------------------------------------------------------------

MEMBERS = {"a": "a", "b": "b", "c": "c-c"}


def posting(body: HttpBody) -> Any:
    """An operation with this body."""

    def made(at: str) -> HttpOperation:
        return operation(at, "/", "POST", body=body)

    return made


@pytest.mark.parametrize(
    ("body", "arguments", "content", "content_type"),
    [
        (HttpBody("application/json", members=MEMBERS), {"a": 1, "c": "ü"}, '{"a":1,"c-c":"ü"}', "application/json"),
        (HttpBody("application/json", members=MEMBERS), {"a": None}, '{"a":null}', "application/json"),
        (HttpBody("application/merge-patch+json", "a"), {"a": [1]}, "[1]", "application/merge-patch+json"),
        (HttpBody("application/json", "a"), {"a": "text"}, '"text"', "application/json"),
        (HttpBody("application/json", members=MEMBERS, required=True), {}, "{}", "application/json"),
        (HttpBody("application/json", members=MEMBERS), {}, "", None),
        (HttpBody("application/json", "a"), {}, "", None),
        (HttpBody("text/plain", "a"), {"a": "grüß"}, "grüß", "text/plain; charset=utf-8"),
        (HttpBody("text/csv; charset=utf-8", "a"), {"a": "1,2"}, "1,2", "text/csv; charset=utf-8"),
        (HttpBody("text/plain", "a"), {"a": 5}, "5", "text/plain; charset=utf-8"),
        (HttpBody("application/octet-stream", "a"), {"a": "aGkK"}, "hi\n", "application/octet-stream"),
        (HttpBody("application/xml", "a"), {"a": "PGEvPg=="}, "<a/>", "application/xml"),
        (
            HttpBody("application/x-www-form-urlencoded", members=MEMBERS),
            {"a": "x y&z", "b": [1, 2], "c": {"k": "v"}},
            "a=x%20y%26z&b=1&b=2&c-c=%7B%22k%22%3A%22v%22%7D",
            "application/x-www-form-urlencoded",
        ),
        (
            HttpBody(
                "application/x-www-form-urlencoded",
                members=MEMBERS,
                encodings={
                    "a": BodyEncoding("deepObject"),
                    "b": BodyEncoding("form", False),
                    "c-c": BodyEncoding(content_type="application/json"),
                },
            ),
            {"a": {"k": "v"}, "b": [1, 2], "c": [1, 2]},
            "a%5Bk%5D=v&b=1,2&c-c=%5B1%2C2%5D",
            "application/x-www-form-urlencoded",
        ),
        (
            HttpBody("application/x-www-form-urlencoded", "a"),
            {"a": {"k": "v"}},
            "k=v",
            "application/x-www-form-urlencoded",
        ),
    ],
)
async def test_bodies(body: HttpBody, arguments: dict[str, Any], content: str, content_type: str | None) -> None:
    """JSON, forms, text and bytes, as the server receives them; nothing at all where nothing was given."""
    seen, _ = await received(posting(body), arguments)

    assert seen.body.decode() == content
    assert seen.headers.get("content-type") == content_type


async def test_a_multipart_body_is_read_back_by_a_server() -> None:
    """Texts, lists as repeated parts, objects as JSON, and files of base64 or text with their names and types."""
    from email import message_from_bytes

    encodings = {
        "file": BodyEncoding(content_type="image/png, image/*", is_binary=True),
        "note": BodyEncoding(is_binary=True),
    }
    body = HttpBody(
        "multipart/form-data", members={n: n for n in ("t", "list", "o", "file", "note")}, encodings=encodings
    )
    arguments = {
        "t": "grüß",
        "list": ["1", "2"],
        "o": {"k": 1},
        "file": "iVBORw0KGgo=",
        "note": {"text": "hello", "file_name": 'a"b\r\n.txt', "content_type": "text/plain"},
    }
    seen, _ = await received(posting(body), arguments)
    raw = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode() + seen.body
    parts = message_from_bytes(raw).get_payload()

    found = [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part["content-type"],
            part.get_payload(decode=True),
        )
        for part in parts  # type: ignore[union-attr]
    ]
    assert found == [
        ("t", None, None, "grüß".encode()),
        ("list", None, None, b"1"),
        ("list", None, None, b"2"),
        ("o", None, "application/json", b'{"k":1}'),
        ("file", "file", "image/png", b"\x89PNG\r\n\x1a\n"),
        ("note", "a%22b%0D%0A.txt", "text/plain", b"hello"),
    ]


@pytest.mark.parametrize(
    ("body", "arguments", "says"),
    [
        (HttpBody("application/octet-stream", "a"), {"a": "not base64!"}, "a: is not base64"),
        (HttpBody("application/octet-stream", "a"), {"a": 5}, "a: has to be text"),
        (
            HttpBody("multipart/form-data", members=MEMBERS, encodings={"a": BodyEncoding(is_binary=True)}),
            {"a": {"text": "x", "content_type": "text/plain\r\nX-Evil: 1"}},
            "a: has a content type that is none",
        ),
        (
            HttpBody("multipart/form-data", members=MEMBERS, encodings={"a": BodyEncoding(is_binary=True)}),
            {"a": ["%%%"]},
            "a: is not base64",
        ),
    ],
)
async def test_a_body_that_cannot_be_made_is_an_argument_error(body: HttpBody, arguments: Any, says: str) -> None:
    """Named, and nothing is sent."""
    seen, execution = await received(posting(body), arguments)

    assert seen is None and execution.outcome is ToolOutcome.INVALID_ARGUMENTS and says in execution.result_text()


@pytest.mark.parametrize(
    ("style", "explode", "value", "path", "query"),
    [
        ("simple", False, [], "", []),
        ("label", False, [], "", []),
        ("label", True, {}, "", []),
        ("matrix", False, [], "", []),
        ("matrix", False, [""], ";c", []),
        ("form", False, [""], None, [("c", "")]),
        ("form", False, ["", ""], None, [("c", ",")]),
        ("form", False, {"a": ""}, None, [("c", "a,")]),
        ("form", False, {"a": None}, None, []),
    ],
)
def test_what_is_empty_is_written_as_rfc_6570_does(
    style: Any, explode: bool, value: Any, path: str | None, query: list[tuple[str, str]]
) -> None:
    """A list without members is not there; one with an empty member is."""
    if path is not None:
        assert path_text("c", value, style, explode) == path
    else:
        assert query_pairs("c", value, style, explode) == query == cookie_pairs("c", value, explode)


async def test_blanks_around_a_header_are_no_part_of_it() -> None:
    """HTTP takes them away; some libraries refuse them."""
    seen, _ = await received(lambda at: operation(at, parameters=(parameter("X-A", "header"),)), {"X-A": " a b\t"})

    assert seen.headers["x-a"] == "a b"


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        ("text/plain", "é".encode()),
        ('text/plain; charset="iso-8859-1"', b"\xe9"),
        ("text/plain; charset=UTF-16-LE", b"\xe9\0"),
    ],
)
async def test_a_text_is_written_in_the_charset_of_its_media_type(media_type: str, content: bytes) -> None:
    """And in UTF-8 where it names none."""
    seen, _ = await received(posting(HttpBody(media_type, "text")), {"text": "é"})

    assert seen.body == content
