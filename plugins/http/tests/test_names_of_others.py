"""No argument gives a second value to what is not its own: constants, credentials, values of the run (threats S2, S8).

An object may write its members under names of their own (style ``form``, exploded), and those are a model's to choose.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.tool.execution import Run, ToolOutcome
from agentforge_http import Auth, BodyEncoding, Credentials, HttpBody, RunValue
from plugins.http.tests.support import FakeTransport, executed, operation, parameter, tool_at

AUTH = Auth(Credentials(query=(("key", "k-12345"),), cookies=(("sid", "cookie-123"),)))
TENANT = RunValue.parsed("query.tenant", "tenant")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"filter": {"tenant": "evil"}}, "tenant"),
        ({"filter": {"TENANT": "evil"}}, "TENANT"),
        ({"filter": {"page": 2}}, "page"),
        ({"filter": {"v": "2"}}, "v"),
        ({"deep": {"by": "evil"}}, "deep[by]"),
        ({"cookies": {"lang": "evil"}}, "lang"),
    ],
)
async def test_a_member_with_the_name_of_something_else_is_refused(arguments: Any, named: str) -> None:
    """Servers differ in which of two values they take, and some take upper case for lower."""
    transport = FakeTransport()
    made = operation(
        parameters=(
            parameter("filter"),
            parameter("page"),
            parameter("deep", style="deepObject"),
            parameter("deep[by]"),
            parameter("cookies", "cookie"),
            parameter("lang", "cookie"),
        ),
        constant_query=(("v", "1"),),
    )
    tool, _ = tool_at(made, transport, from_context=[TENANT])
    execution = await executed(tool, arguments, run=Run(tenant="mine"))

    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS and not transport.requests
    assert f"has the member {named!r}, which is the name of something else" in execution.result_text()


async def test_members_of_other_names_go_as_they_are() -> None:
    """And a list of the parameter's own name is no second value."""
    transport = FakeTransport()
    made = operation(parameters=(parameter("filter"), parameter("page")))
    tool, _ = tool_at(made, transport, from_context=[TENANT])
    await executed(tool, {"filter": {"size": 3, "filter": "x"}, "page": [1, 2]}, run=Run(tenant="mine"))

    assert transport.requests[0].url.partition("?")[2] == "size=3&filter=x&page=1&page=2&tenant=mine"


@pytest.mark.parametrize("arguments", [{"tenant": "evil", "sid": "evil"}, {"any": {"Key": "evil"}}])
async def test_what_the_bean_gives_stands_alone(arguments: Any) -> None:
    """Its query, its keys and its cookies: an argument of such a name is not sent."""
    transport = FakeTransport()
    named = (parameter("tenant"), parameter("sid", "cookie"), parameter("any"))
    tool, _ = tool_at(operation(parameters=named), transport, sender={"auth": AUTH, "query": {"tenant": "fixed"}})
    await executed(tool, arguments)

    assert transport.requests[0].url.partition("?")[2] == "tenant=fixed&key=k-12345"
    assert transport.header("cookie") == "sid=cookie-123"


async def test_members_of_a_form_that_are_exploded_are_no_others_either() -> None:
    """A form that a value of the run is a member of."""
    transport = FakeTransport()
    members = {"filter": "filter", "tenant": "tenant"}
    body = HttpBody("application/x-www-form-urlencoded", None, members, True, {"filter": BodyEncoding()})
    tool, _ = tool_at(
        operation(method="POST", body=body), transport, from_context=[RunValue.parsed("tenant", "tenant")]
    )
    refused = await executed(tool, {"filter": {"tenant": "evil"}}, run=Run(tenant="mine"))
    assert refused.outcome is ToolOutcome.INVALID_ARGUMENTS and not transport.requests

    await executed(tool, {"filter": {"size": 1}}, run=Run(tenant="mine"))
    assert transport.requests[0].content == b"size=1&tenant=mine"


@pytest.mark.parametrize(
    ("entry", "value", "says"),
    [
        ("tenant_id", "..", "tenant_id is '..', which would lead to another path"),
        ("header.X-Tenant", "a\r\nHost: b", "header.X-Tenant cannot be sent: its value holds a line break"),
        ("query.tenant", "\ud800", "query.tenant holds half of a character"),
    ],
)
async def test_a_value_of_the_run_that_cannot_be_sent_is_no_fault_of_the_model(
    entry: str, value: str, says: str
) -> None:
    """It cannot change it, and is told of no argument that it does not have."""
    transport = FakeTransport()
    made = operation(path="/{tenant_id}", parameters=(parameter("tenant_id", "path"),))
    tool, _ = tool_at(made, transport, from_context=[RunValue.parsed(entry, "tenant")])
    execution = await executed(tool, {} if entry == "tenant_id" else {"tenant_id": "t"}, run=Run(tenant=value))

    assert execution.outcome is ToolOutcome.FAILED and not transport.requests
    assert execution.result_text().startswith(f"'probe' was not called: what this run has for {says}")
