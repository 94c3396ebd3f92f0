"""What goes with a call beside its arguments: values of the run, idempotency keys; and what a tool says of itself."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import Run, ToolOutcome
from agentforge_http import Auth, Credentials, HttpBody, HttpSender, RunValue
from plugins.http.tests.support import FakeTransport, executed, operation, parameter, tool_at

GOOD = (200, {"content-type": "application/json"}, b'{"ok": true}')


# -- values of the run ---------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {"tenant_id": {"type": "string"}, "q": {"type": "string"}},
    "required": ["tenant_id", "q"],
    "additionalProperties": False,
}
USER = {"user": {"id": 7, "token": "user-token-1"}, "roles": ["a", "b"]}


def with_context(*entries: RunValue, **more: Any) -> tuple[Any, FakeTransport]:
    transport = FakeTransport(GOOD)
    made = operation("https://api.test", schema=SCHEMA, parameters=(parameter("tenant_id"), parameter("q")), **more)
    return tool_at(made, transport, from_context=entries)[0], transport


async def test_values_of_the_run_are_outside_the_schema() -> None:
    """The model neither sees nor sets them; lists and numbers are written as any argument."""
    tool, transport = with_context(
        RunValue.parsed("tenant_id", "tenant"),
        RunValue.parsed("header.X-User", "user_data.user.id"),
        RunValue.parsed("header.Authorization", "user_data.user.token", prefix="Bearer "),
        RunValue.parsed("query.role", "user_data.roles"),
        RunValue.parsed("cookie.chat", "memory_id"),
        RunValue.parsed("header.X-Run", "run_id"),
        RunValue.parsed("header.X-None", "user_data.nothing", required=False),
    )
    run = Run(tenant="acme", memory_id="m1", user_data=USER)
    execution = await executed(tool, {"q": "x"}, run=run)
    sent = transport.requests[0]

    assert set(tool.specification.parameters.properties) == {"q"} and tool.specification.parameters.required == ("q",)
    assert execution.outcome is ToolOutcome.OK
    assert sent.url == "https://api.test/x?tenant_id=acme&q=x&role=a&role=b"
    assert [transport.header(name) for name in ("x-user", "authorization", "cookie", "x-run", "x-none")] == [
        "7",
        "Bearer user-token-1",
        "chat=m1",
        run.id,
        None,
    ]


@pytest.mark.parametrize("arguments", [{"q": "x", "tenant_id": "evil"}, {"q": "x", "\0tenant_id": "evil"}])
async def test_a_model_cannot_give_a_value_of_the_run(arguments: dict[str, str]) -> None:
    """It is refused like any surplus argument; and where the schema is open it goes nowhere."""
    entry = RunValue.parsed("tenant_id", "tenant")
    tool, transport = with_context(entry)
    assert (await executed(tool, arguments, run_options={"tenant": "acme"})).outcome is ToolOutcome.INVALID_ARGUMENTS
    assert not transport.requests

    transport = FakeTransport(GOOD)
    made = operation("https://api.test", parameters=(parameter("tenant_id"), parameter("q")))
    loose = RunValue.parsed("tenant_id", "tenant", required=False)
    tool, _ = tool_at(made, transport, from_context=[loose])
    await executed(tool, arguments)
    assert transport.requests[0].url == "https://api.test/x?q=x"


@pytest.mark.parametrize(
    ("entry", "user_data"),
    [
        (RunValue.parsed("tenant_id", "tenant"), {}),
        (RunValue.parsed("header.X-User", "user_data.user.token"), {}),
        (RunValue.parsed("header.X-User", "user_data.user.token"), {"user": "no mapping"}),
        (RunValue.parsed("header.X-User", "user_data.token"), {"token": ""}),
        (RunValue.parsed("header.X-User", "user_data.token"), {"token": object()}),
    ],
)
async def test_a_value_that_is_missing_fails_the_call_before_it_is_sent(entry: RunValue, user_data: Any) -> None:
    """An error of the tool, which names the value and not what is in it."""
    tool, transport = with_context(entry)
    arguments = {"q": "x"} if entry.place is None else {"q": "x", "tenant_id": "a"}
    execution = await executed(tool, arguments, run_options={"user_data": user_data})

    assert execution.outcome is ToolOutcome.FAILED and entry.source in execution.result_text()
    assert not transport.requests


async def test_values_of_the_run_may_be_members_of_the_body() -> None:
    """And of the path."""
    transport = FakeTransport(GOOD)
    made = operation(
        "https://api.test",
        "/t/{tenant}",
        "POST",
        parameters=(parameter("tenant", "path"),),
        body=HttpBody("application/json", members={"user": "user", "q": "q"}),
    )
    entries = [RunValue.parsed("path.tenant", "tenant"), RunValue.parsed("user", "user_data.user.id")]
    tool, _ = tool_at(made, transport, from_context=entries)
    await executed(tool, {"q": "x", "user": "evil", "tenant": "evil"}, run_options={"tenant": "a/b", "user_data": USER})

    assert transport.requests[0].url == "https://api.test/t/a%2Fb"
    assert transport.requests[0].content == b'{"user":7,"q":"x"}'


# -- idempotency ---------------------------------------------------------------------------------


async def keys_of(arguments: list[dict[str, Any]], *, method: str = "POST", **options: Any) -> list[str | None]:
    """The keys that one reply's calls are sent with."""
    transport = FakeTransport(GOOD)
    body = HttpBody("application/json", members={"order": "order", "n": "n"}) if method == "POST" else None
    tool, _ = tool_at(operation(method=method, body=body), transport, idempotency_header="Idempotency-Key", **options)
    calls = {"calls": [{"name": tool.name, "id": f"c{n}", "args": each} for n, each in enumerate(arguments)]}
    await ToolService(tool).chat(ScriptedChatModel([calls, "done"]), None, "go", context=Run(tenant="acme"))
    return [transport.header("idempotency-key", number) for number in range(len(transport.requests))]


async def test_a_write_carries_a_key_of_its_own_or_of_its_business() -> None:
    """The same for the same order, in whatever run; else one for each call."""
    first = await keys_of(
        [{"order": "A", "n": 1}, {"order": "A", "n": 2}, {"order": "B"}], idempotency_argument="order"
    )
    again = await keys_of([{"order": "B"}], idempotency_argument="order")
    assert first[0] == first[1] != first[2] == again[0] and all(first)

    plain_keys = await keys_of([{"order": "A"}, {"order": "A"}])
    assert len(set(plain_keys)) == 2 and all(plain_keys)
    assert await keys_of([{}], method="GET") == [None]


async def test_the_action_may_be_a_value_of_the_run() -> None:
    """Two calls of one tenant are then one action."""
    entry = RunValue.parsed("order", "tenant")
    keys = await keys_of([{"n": 1}, {"n": 2}], idempotency_argument="order", from_context=[entry])

    assert keys[0] == keys[1] is not None


# -- what the tool says of itself ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "declared", "effect"),
    [
        ("GET", None, "read"),
        ("HEAD", None, "read"),
        ("OPTIONS", None, "read"),
        ("POST", None, "write"),
        ("DELETE", None, "write"),
        ("POST", "read", "read"),
        ("GET", "write", "write"),
    ],
)
def test_the_effect_comes_from_the_method(method: str, declared: Any, effect: str) -> None:
    """Unless it is declared."""
    tool, _ = tool_at(operation(method=method, effect=declared), FakeTransport())

    assert tool.effect == effect


def test_where_a_tool_comes_from_is_kept() -> None:
    """For policies and audit; the digest is that of its definition."""
    tool, _ = tool_at(
        operation("https://api.test", own_name="getX", version="2.1"),
        FakeTransport(),
        source_name="orders",
        serial="s",
        sequential=True,
        return_behavior=ReturnBehavior.IMMEDIATE,
    )
    other, _ = tool_at(operation("https://api.test", path="/y"), FakeTransport())
    origin = tool.origin

    assert origin is not None and (origin.kind, origin.server, origin.version, origin.name) == (
        "http",
        "api.test",
        "2.1",
        "getX",
    )
    assert origin.digest and other.origin is not None and origin.digest != other.origin.digest
    assert (tool.source_name, tool.serial, tool.sequential) == ("orders", "s", True)
    assert tool.return_behavior is ReturnBehavior.IMMEDIATE


async def test_arguments_are_checked_before_anything_is_sent() -> None:
    """By the schema, whole (promise 4)."""
    transport = FakeTransport(GOOD)
    tool, _ = tool_at(operation(schema=SCHEMA), transport)
    for arguments in ({}, {"q": 1, "tenant_id": "a", "more": 1}, "not json", "[]"):
        assert (await executed(tool, arguments)).outcome is ToolOutcome.INVALID_ARGUMENTS

    assert not transport.requests


def test_basic_credentials_are_masked_in_both_forms() -> None:
    """The password, and the pair as it is sent."""
    pair = base64.b64encode(b"ann:pw-12345").decode()
    sender = HttpSender(auth=Auth(Credentials(headers=(("authorization", f"Basic {pair}"),))))

    assert sender.secrets.mask(f"{pair} pw-12345") == "*** ***"
