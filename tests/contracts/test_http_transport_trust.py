"""What every transport promises of certificates, proxies and its options."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import (
    ConfigurationError,
    ModelConnectionError,
)
from agentforge.http import HttpRequest, make_transport
from tests.support.loopback import (
    make_certificate,
    plain,
    serve,
    tunnel,
)
from tests.support.transports import PATIENT, every, opened, post, with_options, words

# -- TLS and proxies -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


Trust = Callable[[Path], dict[str, Any]]


@with_options
async def test_a_certificate_of_nobody_is_refused(kind: str, certificate: tuple[Path, ssl.SSLContext]) -> None:
    """Servers are verified by default; trying again would not help, so it is not tried."""
    async with serve(plain(), context=certificate[1]) as server, opened(kind) as transport:
        with pytest.raises(ModelConnectionError, match="not trusted") as caught:
            await transport.send(post(server))
        assert not caught.value.retryable
        assert "ca_bundle" in (caught.value.next_step or "")
        assert server.requests == []


@with_options
async def test_https_where_no_tls_is_spoken_is_said_in_plain_words(kind: str) -> None:
    """With what to do; the system's own words come last."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, opened(kind) as transport:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ModelConnectionError) as caught:
            await transport.send(HttpRequest("POST", f"https://{host}/", (), b"", PATIENT))

    error = caught.value
    assert error.message.startswith(f"could not connect to '{host}': it does not speak TLS; is the address http://? (")
    assert "http://" in (error.next_step or "") and not error.sent


@with_options
@pytest.mark.parametrize(
    "trust",
    [
        pytest.param(lambda path: {"ca_bundle": str(path)}, id="ca_bundle"),
        pytest.param(lambda path: {"verify": str(path)}, id="verify is a file"),
        pytest.param(lambda path: {"verify": ssl.create_default_context(cafile=path)}, id="verify is a context"),
        pytest.param(lambda path: {"verify": False}, id="verify is off"),
    ],
)
async def test_a_certificate_that_is_trusted(kind: str, trust: Trust, certificate: tuple[Path, ssl.SSLContext]) -> None:
    """By a bundle, a context, or because verification is off."""
    path, context = certificate
    async with serve(plain(), context=context) as server, opened(kind, **trust(path)) as transport:
        for _ in range(2):
            assert (await transport.send(post(server, url=server.url(host="localhost")))).status == 200
        assert server.connections == 1


@with_options
async def test_the_environments_bundle(
    kind: str, certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``SSL_CERT_FILE`` is honoured, unless the environment is not to be trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    async with serve(plain(), context=certificate[1]) as server:
        async with opened(kind) as transport:
            assert (await transport.send(post(server))).status == 200
        async with opened(kind, trust_env=False) as transport:
            with pytest.raises(ModelConnectionError, match="not trusted"):
                await transport.send(post(server))


@with_options
async def test_an_address_that_was_checked_is_connected_to(kind: str) -> None:
    """The URL's host is not looked up again, and is what the server is told."""
    async with serve(plain(), plain()) as server, opened(kind) as transport:
        request = replace(post(server), url=f"http://api.test:{server.port}/v1?q=a%2Fb", connect_to="127.0.0.1")
        for _ in range(2):
            assert (await transport.send(request)).status == 200
        assert [seen.headers["host"] for seen in server.requests] == [f"api.test:{server.port}"] * 2
        assert [seen.target for seen in server.requests] == ["/v1?q=a%2Fb"] * 2
        assert [seen.connection for seen in server.requests] == [1, 1]


@with_options
async def test_the_certificate_is_that_of_the_host_and_not_of_the_address(
    kind: str, certificate: tuple[Path, ssl.SSLContext]
) -> None:
    """A server at the address that was checked has to prove that it is the host."""
    path, context = certificate
    async with serve(plain(), context=context) as server, opened(kind, ca_bundle=str(path)) as transport:
        request = replace(post(server), url=f"https://localhost:{server.port}/", connect_to="127.0.0.1")
        assert (await transport.send(request)).status == 200
        stranger = replace(request, url=f"https://api.test:{server.port}/")
        with pytest.raises(ModelConnectionError, match="not trusted"):
            await transport.send(stranger)


@every
async def test_an_address_that_was_checked_is_kept_or_refused(kind: str) -> None:
    """What the caller brought connects where it likes, so it is not asked."""
    async with serve(plain()) as server, opened(kind) as transport:
        request = replace(post(server), url=f"http://api.test:{server.port}/", connect_to="127.0.0.1")
        if " with " not in kind:
            assert (await transport.send(request)).status == 200
            return
        with pytest.raises(ConfigurationError, match="looks up hosts itself"):
            await transport.send(request)
        assert server.requests == []


@with_options
async def test_verification_off_is_logged_once(
    kind: str, certificate: tuple[Path, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    """S26: whoever switches it off is told, and not at every request."""
    with caplog.at_level(logging.WARNING, "agentforge.http"):
        async with serve(plain(), context=certificate[1]) as server, opened(kind, verify=False) as transport:
            for _ in range(3):
                await transport.send(post(server))
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "TLS certificates are not verified (verify=False)"
    ]


@with_options
async def test_a_forward_proxy(kind: str) -> None:
    """Plain HTTP goes to the proxy with the whole address; its credentials go to it alone, as a header."""
    async with serve(plain(b"by proxy")) as proxy:
        options = {"proxy": f"http://user:canary%2Fpw@127.0.0.1:{proxy.port}"}
        async with opened(kind, **options) as transport:
            request = HttpRequest("POST", "http://model.test/v1?k=1", ((b"x-a", b"b"),), b"{}", PATIENT)
            answers = [await transport.send(request) for _ in range(2)]
    assert [answer.content for answer in answers] == [b"by proxy"] * 2
    assert [seen.target for seen in proxy.requests] == ["http://model.test/v1?k=1"] * 2
    assert proxy.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpjYW5hcnkvcHc="
    assert proxy.requests[0].headers["host"] == "model.test"


@with_options
async def test_a_tunnel_through_a_proxy(kind: str, certificate: tuple[Path, ssl.SSLContext]) -> None:
    """HTTPS goes through CONNECT; the proxy's credentials never reach the server, the key never the proxy."""
    path, context = certificate
    async with serve(plain(b"inside"), context=context) as server, serve(tunnel(server.port)) as proxy:
        options = {"proxy": f"http://user:pw@127.0.0.1:{proxy.port}", "ca_bundle": str(path)}
        async with opened(kind, **options) as transport:
            answer = await transport.send(post(server, url=server.url(host="localhost")))
    assert answer.content == b"inside"
    connect = proxy.requests[0]
    assert (connect.method, connect.target) == ("CONNECT", f"localhost:{server.port}")
    assert connect.headers["proxy-authorization"] == "Basic dXNlcjpwdw=="
    assert "authorization" not in connect.headers
    assert "proxy-authorization" not in server.requests[0].headers


@with_options
async def test_a_proxy_that_refuses(kind: str) -> None:
    """The error says that it was the proxy, and how it may be set."""
    refusal = plain(b"who are you", status="407 Proxy Authentication Required")
    async with serve(refusal) as proxy, opened(kind, proxy=f"http://127.0.0.1:{proxy.port}") as transport:
        with pytest.raises(ModelConnectionError, match=r"the proxy to 'localhost:1' refused or failed.*407") as caught:
            await transport.send(HttpRequest("POST", "https://localhost:1/?key=canary-key", (), b"", PATIENT))
    assert "canary-key" not in words(caught.value)


@with_options
async def test_the_environments_proxy(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S26: it leads to other machines and never to this one; ``trust_env=False`` ignores it."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with serve(plain(b"direct")) as server, serve(plain(b"by proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        outside = HttpRequest("POST", "http://model.test/", (), b"", PATIENT)
        async with opened(kind) as transport:
            assert (await transport.send(outside)).content == b"by proxy"
            for host in ("127.0.0.1", "localhost"):
                assert (await transport.send(post(server, url=server.url(host=host)))).content == b"direct"
    assert len(proxy.requests) == 1


# -- options -------------------------------------------------------------------------------------


@with_options
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_connections": 0}, "'max_connections' must be at least 1"),
        ({"verify": False, "ca_bundle": "x.pem"}, "both 'verify' and 'ca_bundle'"),
        ({"ca_bundle": "/does/not/exist.pem"}, "'/does/not/exist.pem' does not exist"),
        ({"proxy": "socks4://127.0.0.1:1"}, "'socks4' is not supported"),
        ({"proxy": "http://user:canary-pw@:x"}, "not valid"),
        ({"verifi": True}, "no option 'verifi'"),
    ],
)
async def test_an_option_that_cannot_be_honoured(kind: str, options: dict[str, Any], message: str) -> None:
    """Refused when the transport is made, with what to do, without a secret."""
    with pytest.raises(ConfigurationError, match=message) as caught:
        make_transport(kind, **options)
    assert caught.value.next_step
    assert "canary-pw" not in words(caught.value)


@with_options
async def test_a_bundle_that_is_none(kind: str, tmp_path: Path) -> None:
    """A file without certificates is found at the first HTTPS request, before it is sent."""
    (tmp_path / "empty.pem").write_text("nothing")
    async with opened(kind, ca_bundle=str(tmp_path / "empty.pem")) as transport:
        with pytest.raises(ConfigurationError, match="cannot be read"):
            await transport.send(HttpRequest("POST", "https://127.0.0.1:1/", (), b"", PATIENT))
