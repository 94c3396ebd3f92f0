"""What is wrong in the settings of an endpoint is told at its place, all of it at once, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.plugin import BeanContext, Catalogue, Components, Plugins
from plugins.http.tests.test_beans import BASE, faults_of, faults_of_each

FAULTS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"headers": {"X-A": "a\nb"}}, "headers.X-A", "control character", "line breaks"),
    ({"headers": {"X A": "a"}}, "headers.X A", "its name is not valid HTTP", "blanks"),
    ({"headers": {"Host": "x"}}, "headers.Host", "belongs to the connection", "Leave it out."),
    ({"headers": {"a.b c": "x"}}, "headers", "the header 'a.b c' of headers", "blanks"),
    (
        {"headers": {"Authorization": "x"}, "auth": {"bearer": "y"}},
        "headers.Authorization",
        "headers and auth both give Authorization",
        "Leave it out",
    ),
    ({"from_context": {"tenant_id": "tenant"}}, "from_context.tenant_id", "no argument", "header.tenant_id"),
    ({"from_context": {"X-Tenant": "tenant"}}, "from_context.X-Tenant", "no argument", "header.X-Tenant sends it"),
    ({"from_context": {"ct": "tenant"}, "parameters": {"cat": "string"}}, "from_context.ct", "'ct'", "mean 'cat'?"),
    ({"from_context": {"headers.X-T": "tenant"}}, "from_context", "no argument 'headers.X-T'", "mean 'header.X-T'?"),
    ({"from_context": {"path.tenant": "tenant"}}, "from_context", "no placeholder {tenant}", "The placeholders are"),
    ({"from_context": {"header.X-T": "tennant"}}, "from_context", "'tennant' of 'header.X-T'", "mean 'tenant'?"),
    ({"from_context": {"header.X-T": "userdata.t"}}, "from_context", "'userdata.t'", "mean 'user_data.t'?"),
    ({"from_context": {"header.Host": "tenant"}}, "from_context", "belongs to the connection", "connection"),
    ({"from_context": {"header.": "tenant"}}, "from_context", "names nothing", "header.NAME"),
    ({"idempotency_argument": "no"}, "idempotency_argument", "goes with idempotency_header", "Set"),
    ({"method": "POST", "idempotency_header": "Host"}, "idempotency_header", "belongs to the connection", "Write"),
    ({"allow_hosts": ["api.corp", "*"]}, "allow_hosts.1", "'*' in allow_hosts", "*.corp.example"),
    ({"ca_bundle": "x.pem", "insecure_skip_tls_verification": True}, "ca_bundle", "contradict", "one of the two"),
    ({"parameters": {"c": {"type": "string", "requird": True}}}, "parameters.c.requird", "no word", "'required'?"),
    ({"parameters": {"c": {"type": "string", "wirename": "q"}}}, "parameters.c.wirename", "no word", "'wire_name'?"),
    ({"parameters": {"c": {"type": "string", "required": "yes"}}}, "parameters.c.required", "true or false", "true"),
    ({"parameters": {"c": {"type": "string", "allow_reserved": 1}}}, "parameters.c.allow_reserved", "true or", "true"),
    ({"parameters": {"c": {"type": "string", "zzz": 1}}}, "parameters.c.zzz", "no word", "Leave it out, or"),
    (
        {"parameters": {"c": {"type": "array", "items": {"type": "string", "minLenght": 1}}}},
        "parameters.c.items.minLenght",
        "no word",
        "'minLength'?",
    ),
    (
        {"parameters": {"c": {"anyOf": [{"type": "string"}, {"wire_name": "a"}]}}},
        "parameters.c.anyOf.1.wire_name",
        "no word",
        "beside the type",
    ),
    (
        {"parameters": {"type": "object", "properties": {"a": {"type": "string", "formt": "date"}}}},
        "parameters.properties.a.formt",
        "no word",
        "'format'?",
    ),
    ({"parameters": {"type": "object", "properties": {}, "requierd": []}}, "parameters.requierd", "no word", "req"),
]  # fmt: skip


@pytest.fixture(scope="module")
def found_in_all() -> list[list[tuple[str, str, str | None]]]:
    """What is found in each of the beans."""
    return faults_of_each({**BASE, **bean} for bean, _, _, _ in FAULTS)


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=lambda number: FAULTS[number][1])
def test_each_fault_stands_at_its_setting(number: int, found_in_all: Any) -> None:
    """Alone, with a near miss where there is one."""
    _, path, says, step = FAULTS[number]
    ((place, message, told),) = found_in_all[number]

    assert place == path and says in message and step in str(told)


def test_all_of_them_are_told_at_once() -> None:
    """Those of shared settings beside those of an endpoint."""
    bean = {
        "headers": {"Host": "a", "X A": "b"},
        "from_context": {"header.X": "tennant", "order": "tenant"},
        "parameters": {"a": {"type": "string", "requird": True}},
        "pick": "a[",
    }
    found = [place.removeprefix("beans.probe.") for place, _, _ in faults_of({**BASE, **bean})]

    assert sorted(found) == [
        *("from_context", "from_context.order", "headers.Host", "headers.X A"),
        *("parameters.a.requird", "pick"),
    ]


@pytest.mark.parametrize("word", ["title", "$comment", "x-internal", "examples", "contentEncoding", "deprecated"])
def test_words_of_json_schema_and_notes_for_others_are_no_fault(word: str) -> None:
    """Where they stand in a schema; a name of a property is no word."""
    inner = {"type": "object", "properties": {"requird": {"type": "string"}}}
    parameters = {"c": {"type": "string", word: True if word == "deprecated" else ["a"] if word == "examples" else "a"}}
    assert faults_of({**BASE, "parameters": {**parameters, "d": inner}}) == []


def test_one_name_of_two_endpoints_is_reported_once() -> None:
    """Also where a service takes them."""
    tools = [{"name": "a", "path": "/1"}, {"name": "a", "path": "/2"}]
    bean = {"type": "http.tools", "base_url": "https://api.test", "tools": tools}
    found = faults_of(bean, service={"type": "tool_service", "tools": ["probe"]})

    assert [(place, message) for place, message, _ in found] == [
        ("beans.probe.tools.1.name", "two tools are named 'a'")
    ]


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("http.tool", {"url": "https://a.test", "headers": {"Host": "x"}}, "headers.Host: the header 'Host'"),
        ("http.tool", {"url": "https://a.test", "from_context": {"a": "tennant"}}, "from_context.a: 'tennant'"),
        ("http.client_credentials", {"token_url": "a.test", "client_id": "i", "client_secret": "s"}, "token_url"),
    ],
)
def test_settings_that_nobody_checked_make_no_bean(tmp_path: Any, kind: str, settings: Any, says: str) -> None:
    """A program that makes one without a file hears of the first fault."""
    found: Any = Catalogue(Plugins()).find(kind)
    with pytest.raises(ConfigurationError, match=says):
        found.create(found.settings(**settings), BeanContext("probe", tmp_path, Components((), tmp_path)))


def test_an_address_of_a_token_endpoint_is_checked() -> None:
    """At its setting."""
    login = {"type": "http.client_credentials", "token_url": "login.test/t", "client_id": "i", "client_secret": "s"}
    assert [place for place, _, _ in faults_of(login)] == ["beans.probe.token_url"]
