"""Which addresses are called (threat S7): hosts of the trusted file as they stand, all others only if public."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, ToolExecutionError
from agentforge.tool.execution import ToolOutcome
from agentforge_http import AddressGuard, HostList, guard
from agentforge_http.guard import is_public
from plugins.http.tests.support import FakeTransport, executed, operation, parameter, tool_at
from tests.support.loopback import plain, serve

#: Addresses that a document or a redirect may name to reach what is not public.
REFUSED = [
    "http://127.0.0.1/",
    "http://127.1.2.3:8080/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7F.1/",
    "http://127.0.0.1./",
    "http://127.0.0.0x1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://00.0.0.0/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://192.168.1/",
    "http://3232235521/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://169.254.0.1/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://192.88.99.1/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://good.example@127.0.0.1/",
    "http://good.example:80@10.0.0.1/",
    "http://user:pw@good.example/",
    "http://good.example\\@127.0.0.1/",
    "http://good.example#@127.0.0.1/\\",
    "http://\u2460\u2461\u2466.0.0.1/",
    "http://127\u3002 0.0.1/",
    "http://127%2e0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http:///etc/hosts",
    "file:///etc/hosts",
    "gopher://127.0.0.1/",
    "ftp://good.example/",
    "http://good.example:99999/",
    "http://-bad-.example/",
    "//good.example/",
]


async def never(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{host} was looked up")


def scripted(*answers: Sequence[str]) -> Any:
    """A resolver that gives these one after the other, the last again and again; ``asked`` are the hosts."""
    left = list(answers)

    async def resolve(host: str, port: int) -> Sequence[str]:
        resolve.asked.append((host, port))  # type: ignore[attr-defined]
        return left.pop(0) if len(left) > 1 else left[0]

    resolve.asked = []  # type: ignore[attr-defined]
    return resolve


@pytest.mark.parametrize("url", REFUSED)
async def test_what_is_not_public_is_refused_before_anything_is_looked_up(url: str) -> None:
    """In every form that some reader of addresses understands."""
    with pytest.raises(ToolExecutionError) as caught:
        await AddressGuard(resolver=never).check(url, trusted=False)

    assert caught.value.next_step and "pw" not in str(caught.value)


def test_there_are_at_least_sixty_of_them() -> None:
    """As the threat table asks."""
    assert len(set(REFUSED)) >= 60


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://93.184.215.14/", "93.184.215.14"),
        ("https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"),
        ("https://172.32.0.1/", "172.32.0.1"),
        ("https://100.128.0.1:8443/x", "100.128.0.1"),
    ],
)
async def test_public_addresses_are_called(url: str, address: str) -> None:
    """Just beside the ranges, too."""
    assert await AddressGuard(resolver=never).check(url, trusted=False) == address


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["93.184.215.14", "10.0.0.1"],
        ["::1"],
        ["fe80::1%eth0"],
        ["::ffff:10.0.0.1"],
        [],
    ],
)
async def test_a_host_is_refused_when_any_of_its_addresses_is_not_public(answers: list[str]) -> None:
    """Or when it has none."""
    with pytest.raises(ToolExecutionError):
        await AddressGuard(resolver=scripted(answers)).check("https://api.example/", trusted=False)


async def test_a_host_that_is_looked_up_is_connected_to_at_the_address_that_was_checked() -> None:
    """The name with a dot at its end is the same host."""
    resolver = scripted(["93.184.215.14", "93.184.215.15"])

    assert await AddressGuard(resolver=resolver).check("https://API.example./x", trusted=False) == "93.184.215.14"
    assert resolver.asked == [("api.example", 443)]


async def test_a_host_of_a_trusted_file_is_called_as_it_stands() -> None:
    """Loopback and private ones too; but nothing else than http and https."""
    guard = AddressGuard(resolver=never)

    assert await guard.check("http://127.0.0.1:8000/x", trusted=True) is None
    assert await guard.check("http://intranet/x", trusted=True) is None
    with pytest.raises(ToolExecutionError, match="kind 'file'"):
        await guard.check("file:///etc/hosts", trusted=True)


@pytest.mark.parametrize(
    ("allowed", "url", "answers", "expected"),
    [
        (["api.corp.example"], "http://api.corp.example/", None, None),
        (["*.corp.example"], "http://a.b.corp.example/", None, None),
        (["API.corp.example."], "http://api.corp.example/", None, None),
        (["10.1.0.0/16"], "http://10.1.2.3/", None, "10.1.2.3"),
        (["10.1.0.0/16"], "http://x.example/", ["10.1.2.3"], "10.1.2.3"),
        (["127.0.0.1"], "http://127.0.0.1/", None, "127.0.0.1"),
        (["::1"], "http://[::1]/", None, "::1"),
        (["*.corp.example"], "http://corp.example/", ["10.0.0.1"], "refused"),
        (["*.corp.example"], "http://evilcorp.example/", ["10.0.0.1"], "refused"),
        (["api.corp.example"], "http://api.corp.example.evil.test/", ["10.0.0.1"], "refused"),
        (["10.1.0.0/16"], "http://10.2.0.1/", None, "refused"),
        (["10.1.0.0/16"], "http://x.example/", ["10.1.0.1", "127.0.0.1"], "refused"),
    ],
)
async def test_internal_hosts_are_called_where_they_are_allowed(
    allowed: list[str], url: str, answers: Any, expected: str | None
) -> None:
    """By name, by suffix, by network; what only looks alike is not."""
    guard = AddressGuard(HostList(allowed), scripted(answers) if answers is not None else never)
    if expected == "refused":
        with pytest.raises(ToolExecutionError):
            await guard.check(url, trusted=False)
    else:
        assert await guard.check(url, trusted=False) == expected


@pytest.mark.parametrize("entry", ["", "*", "*.", "0.0.0.0/0", "::/0", "http://x", "a b", "10.0.0.1/8", "127.1", "x/y"])
def test_what_is_no_host_and_no_network_cannot_be_allowed(entry: str) -> None:
    """Nor everything at once."""
    with pytest.raises(ConfigurationError, match="allow_hosts"):
        HostList([entry])


def test_public_is_what_no_registry_keeps_for_itself() -> None:
    """Agrees with the standard library wherever that says no."""
    assert is_public("1.1.1.1") and not is_public("240.0.0.1") and not is_public("::ffff:1.1.1.1")


# -- through a tool ------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["http://10.0.0.1", "http://localhost", "http://2130706433", "http://[::ffff:7f00:1]"])
async def test_a_tool_from_a_fetched_document_calls_nothing_that_is_not_public(url: str) -> None:
    """The model gets an error, and no socket is opened."""
    transport = FakeTransport()
    guard = AddressGuard(resolver=scripted(["127.0.0.1"]))
    tool, _ = tool_at(operation(url, host_is_trusted=False), transport, sender={"guard": guard})
    execution = await executed(tool)

    assert execution.outcome is ToolOutcome.FAILED and "may not be called" in execution.result_text()
    assert execution.result.cause.tool == "probe" and transport.requests == []  # type: ignore[union-attr]


async def test_a_name_server_that_answers_twice_is_asked_once() -> None:
    """DNS rebinding: the second answer would be loopback, and is never used: the request goes to the address that was
    checked, with the host's own name in the Host header."""
    resolver = scripted(["127.0.0.1"], ["169.254.169.254"])
    async with serve(plain(b'"ok"')) as server:
        guard = AddressGuard(HostList(["127.0.0.0/8"]), resolver)
        made = operation(f"http://rebind.example:{server.port}", host_is_trusted=False)
        tool, sender = tool_at(made, sender={"guard": guard})
        first = await executed(tool)
        second = await executed(tool)
        await sender.aclose()

    assert first.result_text() == '"ok"'
    assert second.outcome is ToolOutcome.FAILED
    assert len(resolver.asked) == 2  # once for each call
    assert [seen.headers["host"] for seen in server.requests] == [f"rebind.example:{server.port}"]


async def test_the_host_is_never_a_models_to_choose() -> None:
    """Whatever the arguments say, the request goes to the operation's host."""
    transport = FakeTransport()
    how = (parameter("id", "path"), parameter("q"), parameter("X-H", "header"))
    tool, _ = tool_at(operation("https://api.test", "/v1/{id}", parameters=how), transport)
    for value in ("@evil.test", "//evil.test", "https://evil.test/", "\\\\evil.test"):
        await executed(tool, {"id": value, "q": value, "X-H": value, "host": "evil.test", "method": "DELETE"})

    assert len(transport.requests) == 4
    assert all(seen.url.startswith("https://api.test/v1/") and seen.method == "GET" for seen in transport.requests)


async def test_the_real_resolver_is_asked_for_the_host() -> None:
    """localhost is one wherever there is no network, and it is not public."""
    assert socket.gethostbyname("localhost").startswith("127.")
    with pytest.raises(ToolExecutionError, match="not on the public Internet"):
        await AddressGuard().check("http://localhost/", trusted=False)


async def test_a_name_server_that_says_nothing_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit of the transport holds for it."""
    monkeypatch.setattr(guard, "_LOOKUP", 0.01)

    async def silent(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return ()

    with pytest.raises(ToolExecutionError, match=r"no name server said within 0\.01 s where the host 'a\.test' is"):
        await AddressGuard(resolver=silent).check("https://a.test/", trusted=False)
