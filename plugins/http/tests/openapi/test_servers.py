"""Where requests go, whose word counts for it, and where credentials never go."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge_http.openapi.documents import one_document
from agentforge_http.openapi.importing import Imported, ImportOptions, import_description
from plugins.http.tests.openapi.support import document

URL = "https://docs.example.com/v2/api.json"


def load(
    servers: Any = None,
    *,
    url: str | None = None,
    item: Any = None,
    operation: Any = None,
    version: str = "3.1.0",
    more: Any = None,
    **options: Any,
) -> Imported:
    paths = {"/x": {**({"servers": item} if item else {}), "get": {**({"servers": operation} if operation else {})}}}
    extra = {**({"servers": servers} if servers is not None else {}), **(more or {})}
    return import_description(
        one_document(document(paths, version=version, **extra), url=url), ImportOptions(**options)
    )


def server(*args: Any, **kwargs: Any) -> tuple[str, bool]:
    made = load(*args, **kwargs)
    assert made.operations, made.report.left_out
    return made.operations[0].base_url, made.operations[0].host_is_trusted


@pytest.mark.parametrize(
    ("servers", "url", "base_url", "expected"),
    [
        ([{"url": "https://a.test/v1/"}, {"url": "https://b.test"}], None, None, "https://a.test/v1"),
        ([{"url": "https://a.test"}], None, "https://own.test/v9", "https://own.test/v9"),
        ([{"url": "https://a.test"}], URL, None, "https://a.test"),
        ([{"url": "//h.test/base"}], None, None, "https://h.test/base"),
        ([{"url": "//h.test/base"}], URL.replace("https", "http"), None, "http://h.test/base"),
        ([{"url": "/v3"}], URL, None, "https://docs.example.com/v3"),
        ([{"url": "v3"}], URL, None, "https://docs.example.com/v2/v3"),
        ([{"url": "../"}], URL, None, "https://docs.example.com"),
        ([], URL, None, "https://docs.example.com"),
        (None, URL, None, "https://docs.example.com"),
        ([{"url": "https://a.test/v1?key=1#x"}], None, None, "https://a.test/v1"),
        (None, None, "https://own.test/", "https://own.test"),
    ],
)
def test_the_server_is_the_setting_or_the_first_of_the_description(
    servers: Any, url: Any, base_url: Any, expected: str
) -> None:
    """Relative ones start from the description's own address."""
    assert server(servers, url=url, base_url=base_url)[0] == expected


def test_servers_of_an_operation_go_before_those_of_its_path_and_of_the_description() -> None:
    """As the standard says; the setting goes before all, and the report tells so."""
    root, path, own = ([{"url": f"https://{name}.test"}] for name in ("root", "path", "own"))
    assert server(root, item=path, operation=own)[0] == "https://own.test"
    assert server(root, item=path)[0] == "https://path.test"
    made = load(root, item=path, base_url="https://set.test")
    assert made.operations[0].base_url == "https://set.test"
    assert "base_url goes before them" in made.report.operations[0].notes[0]


@pytest.mark.parametrize(
    ("more", "url", "expected"),
    [
        ({"host": "h.test", "basePath": "/v1", "schemes": ["http", "https"]}, None, "https://h.test/v1"),
        ({"host": "h.test:8443", "schemes": ["http"]}, None, "http://h.test:8443"),
        ({"host": "h.test", "basePath": "v1/"}, None, "https://h.test/v1"),
        ({"host": "h.test"}, "http://docs.test/s.json", "http://h.test"),
        ({"basePath": "/v1"}, "http://docs.test:81/s.json", "http://docs.test:81/v1"),
        ({"host": "h.test", "schemes": ["ws"]}, None, "https://h.test"),
        ({"host": "http://h.test/", "basePath": "/v1", "schemes": ["https"]}, None, "https://h.test/v1"),
    ],
)
def test_the_address_of_a_swagger_description_is_put_together(more: Any, url: Any, expected: str) -> None:
    """From host, basePath and schemes; what is missing is that of the description's own address."""
    assert server(version="2.0", more=more, url=url)[0] == expected


VARIABLES = [
    {
        "url": "https://{region}.test:{port}/{base}",
        "variables": {
            "region": {"default": "eu", "enum": ["eu", "us"]},
            "port": {"default": 8443},
            "base": {"enum": ["v2", "v1"]},
        },
    }
]


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "https://eu.test:8443/v2"), ({"region": "us", "base": "v1"}, "https://us.test:8443/v1")],
)
def test_variables_of_a_server_have_defaults_and_can_be_set(given: Any, expected: str) -> None:
    """A default that is missing is the first of the choices."""
    assert server(VARIABLES, server_variables=given)[0] == expected


@pytest.mark.parametrize(
    ("servers", "options", "fault", "step"),
    [
        (None, {}, "the description names no server", "base_url"),
        ([], {}, "the description names no server", "base_url"),
        ([{"url": "/v1"}], {}, "only the relative server '/v1'", "base_url"),
        (VARIABLES, {"server_variables": {"region": "mars"}}, "'region' cannot be 'mars'", "server_variables.region"),
        ([{"url": "https://{who}.test"}], {}, "has the variable 'who', which has no default", "server_variables.who"),
        ([{"url": "ftp://a.test"}], {}, "is not an http or https address", "base_url"),
        ([{"url": "https://u:p@a.test"}], {}, "holds credentials", "base_url"),
        ([{"url": "https://a b.test"}], {}, "is not valid", "base_url"),
        ([{"url": "http://localhost:8000"}], {}, "'localhost' of the description is not on the public", "base_url"),
        ([{"url": "http://127.0.0.1"}], {}, "is not on the public Internet", "base_url"),
        ([{"url": "http://[::1]:80"}], {}, "is not on the public Internet", "base_url"),
        ([{"url": "http://169.254.169.254/latest"}], {}, "is not on the public Internet", "base_url"),
        ([{"url": "http://api.internal"}], {}, "is not on the public Internet", "base_url"),
        ([{"url": "http://intranet/api"}], {}, "is not on the public Internet", "base_url"),
        ([{"url": "http://2130706433/"}], {}, "is not on the public Internet", "base_url"),
    ],
)
def test_a_server_that_cannot_be_used_is_an_error_that_names_the_setting(
    servers: Any, options: Any, fault: str, step: str
) -> None:
    """When the description is loaded, and not at the first call."""
    made = load(servers, **options)
    assert made.operations == () and isinstance(made.server_fault, ConfigurationError)
    assert fault in made.server_fault.message and step in str(made.server_fault.next_step)
    assert fault in made.report.left_out[0].reason


@pytest.mark.parametrize(
    ("servers", "options", "trusted"),
    [
        ([{"url": "https://a.test"}], {}, False),
        ([{"url": "https://a.test"}], {"url": URL}, False),
        ([{"url": "/v3"}], {"url": URL}, True),
        ([{"url": "https://DOCS.example.com:443/v3"}], {"url": URL}, True),
        ([{"url": "https://docs.example.com:444/v3"}], {"url": URL}, False),
        ([{"url": "http://docs.example.com/v3"}], {"url": URL}, False),
        ([{"url": "http://127.0.0.1:9/v1"}], {"url": "http://127.0.0.1:9/api.json"}, True),
        (None, {"base_url": "http://127.0.0.1:9"}, True),
        (None, {"base_url": "http://127.0.0.1:9", "trusted": False}, False),
        (None, {"url": URL, "trusted": False}, False),
    ],
)
def test_only_the_configuration_makes_a_host_trusted(servers: Any, options: Any, trusted: bool) -> None:
    """By base_url, or by the address of the description itself; never by what a description says."""
    assert server(servers, **options)[1] is trusted


def test_credentials_do_not_go_where_only_a_fetched_description_leads() -> None:
    """Whoever can change the description could send them to themselves."""
    servers = [{"url": "https://evil.test"}]
    made = load(servers, url=URL, carries_credentials=True)
    assert made.operations == () and made.server_fault is not None
    assert "names the server 'evil.test', which the configuration does not" in made.server_fault.message
    assert "base_url" in str(made.server_fault.next_step)

    assert server([{"url": "/v3"}], url=URL, carries_credentials=True) == ("https://docs.example.com/v3", True)
    assert server(servers, url=URL, carries_credentials=True, base_url="https://evil.test")[1]
    assert server(servers, carries_credentials=True)[0] == "https://evil.test"  # a file beside the configuration


def test_a_variable_that_no_server_has_is_noted() -> None:
    """It is most likely a slip."""
    made = load([{"url": "https://a.test"}], server_variables={"regoin": "eu"})
    assert made.report.notes == ("no server has the variable 'regoin', which server_variables gives",)


@pytest.mark.parametrize(
    ("url", "allow_hosts"),
    [("http://api.internal", ("*.internal",)), ("http://10.1.2.3/v1", ("10.1.0.0/16",)), ("http://wiki", ("wiki",))],
)
def test_internal_hosts_that_the_configuration_allows_may_be_named_by_a_description(url: str, allow_hosts: Any) -> None:
    """They are called as any other that it names: each address is checked against the same list."""
    assert server([{"url": url}], allow_hosts=allow_hosts) == (url, False)
    assert load([{"url": url}], allow_hosts=("other.internal",)).operations == ()


def test_a_server_that_is_no_address_leaves_its_operations_out() -> None:
    """With the setting that helps, and not with an error of a library."""
    made = load([{"url": "https://["}], url=URL)
    assert made.operations == () and made.server_fault is not None
    assert made.server_fault.message == "the server 'https://[' of the description is no address"
