"""The bean type `http.openapi`: checked with its file, fetched at its start, and called with the right credentials."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ScriptedChatModel, ToolService
from agentforge.errors import ConfigurationError
from agentforge.http import HttpRequest, HttpResponse, HttpStream
from agentforge.masking import Secrets
from agentforge.model.scripted import call, calls
from agentforge.plugin import BeanContext, BeanType, Catalogue, CheckContext, Components, Plugins
from agentforge.tool import ToolSource
from agentforge.tool.execution import Run, ToolExecution
from agentforge_http.guard import AddressGuard
from agentforge_http.openapi.settings import OpenApiSettings
from agentforge_http.openapi.source import OpenApiTools
from agentforge_http.sender import HttpSender
from plugins.http.tests.openapi.support import document

SPEC = document(
    {
        "/orders/{order_no}": {
            "get": {"operationId": "getOrder", "tags": ["orders"], "security": [{"key": []}]},
            "delete": {"operationId": "cancelOrder", "tags": ["orders"], "security": [{"token": [], "key": []}]},
        },
        "/health": {"get": {"operationId": "health", "security": []}},
        "/broken": {"post": {"operationId": "broken", "requestBody": {"content": {"application/xml": {"schema": {}}}}}},
        "/plain": {
            "get": {
                "operationId": "plain",
                "parameters": [{"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}}],
            }
        },
    },
    servers=[{"url": "https://api.example.com/v1"}],
    components={"securitySchemes": {"key": {"type": "apiKey"}, "token": {"type": "http", "scheme": "bearer"}}},
)


class Network:
    """A transport that answers by address and keeps what was sent."""

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        self.answers = dict(answers or {})
        self.requests: list[HttpRequest] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        """The whole answer."""
        self.requests.append(request)
        status, value = self.answers.get(request.url, (200, {"ok": True, "items": [{"n": 1}]}))
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        return HttpResponse(status, {"content-type": "application/json"}, content)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        """The same, in one chunk."""
        answer = await self.send(request)

        async def chunks() -> AsyncIterator[bytes]:
            yield answer.content

        yield HttpStream(answer.status, answer.headers, chunks())

    async def aclose(self) -> None:
        """Nothing to close."""

    def headers(self, number: int = -1) -> dict[str, str]:
        """The headers of a request."""
        return {name.decode(): value.decode() for name, value in self.requests[number].headers}


@pytest.fixture
def bean_type() -> BeanType:
    """As a file finds it: by its prefix, through the entry point."""
    found = Catalogue(Plugins()).find("http.openapi")
    assert isinstance(found, BeanType)
    return found


def context(folder: Path, **more: Any) -> BeanContext:
    return BeanContext("orders", folder, Components((), folder), Secrets(), **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the description in it."""
    (tmp_path / "orders.json").write_text(json.dumps(SPEC))
    return tmp_path


def tools_of(folder: Path, network: Network, **settings: Any) -> OpenApiTools:
    made = OpenApiSettings(**{"spec": "orders.json", "base_url": "https://api.example.com/v1", **settings})
    here = context(folder)
    sender = HttpSender.of(made, here, transport=network, guard=AddressGuard(resolver=_public))
    fetcher = HttpSender(transport=network, max_response_bytes=made.max_document_bytes)
    return OpenApiTools(made, here, sender=sender, fetcher=fetcher)


async def _public(host: str, port: int) -> list[str]:
    return ["93.184.215.14"]


async def called(source: ToolSource, name: str, user_data: Any = None, **arguments: Any) -> ToolExecution:
    """One call of a tool through a service."""
    options = {"execution_error_handler": "return_to_model", "arguments_error_handler": "return_to_model"}
    service = ToolService(source, **options)  # type: ignore[arg-type]
    model = ScriptedChatModel([calls(call(name, arguments)), "done"])
    result = await service.chat(model, None, "go", context=Run(tenant="t1", user_data=user_data))
    return result.tool_executions[0]


def findings(bean_type: BeanType, folder: Path, **settings: Any) -> list[tuple[str, str, str | None]]:
    """What a check of the file says: place, message, next step."""
    assert bean_type.check is not None
    made = bean_type.settings(**{"spec": "orders.json", "base_url": "https://api.example.com/v1", **settings})
    given = CheckContext("orders", folder, Components((), folder))
    return [(each.path, each.message, each.next_step) for each in bean_type.check(made, given)]


def test_the_type_is_found_and_makes_a_source(bean_type: BeanType, folder: Path) -> None:
    """One in a file is known before anything is started, with its origin."""
    settings = OpenApiSettings(spec="orders.json", only=("getOrder",), prefix="shop_")
    source = bean_type.create(settings, context(folder))
    assert isinstance(source, OpenApiTools) and isinstance(source, ToolSource)
    (tool,) = source.known_tools() or ()
    assert (tool.name, tool.effect, tool.source_name) == ("shop_getOrder", "read", "orders")
    assert tool.origin is not None
    assert (tool.origin.kind, tool.origin.server, tool.origin.version, tool.origin.name) == (
        "http",
        "api.example.com",
        "3",
        "getOrder",
    )
    assert repr(source) == "OpenApiTools('orders.json', 1 tools)"
    asyncio.run(source.aclose())


def test_a_good_file_has_no_faults(bean_type: BeanType, folder: Path) -> None:
    """Every setting of it named."""
    assert (
        findings(
            bean_type,
            folder,
            only=["*Order", "health"],
            tags=["orders"],
            methods=["get", "DELETE"],
            effects={"get*": "read"},
            rename={"getOrder": "find"},
            describe={"cancelOrder": "Ours."},
            pick={"getOrder": "/items/0", "can*": "items[*].n"},
            from_context={"order_no": "user_data.order", "header.X-Trace": "run_id"},
            auth_by_scheme={"key": {"api_key": {"name": "X-Key", "value": "k"}}},
            **{"except": ["health"]},
        )
        == []
    )


@pytest.mark.parametrize(
    ("settings", "path", "message", "step"),
    [
        (
            {"only": ["getOrder", "getOder"]},
            "only.1",
            "no operation of the description is named 'getOder'",
            "Did you mean 'getOrder'?",
        ),
        (
            {"except": ["zzz*"]},
            "except.0",
            "no operation of the description is named 'zzz*'",
            "It has getOrder, cancelOrder, health, broken, plain.",
        ),
        (
            {"without": ["Plain"]},
            "without.0",
            "no operation of the description is named 'Plain'",
            "Did you mean 'plain'?",
        ),
        (
            {"rename": {"gtOrder": "x"}},
            "rename.gtOrder",
            "no operation of the description is named 'gtOrder'",
            "Did you mean 'getOrder'?",
        ),
        ({"describe": {"get*": "x"}}, "describe.get*", "no operation of the description is named 'get*'", None),
        ({"effects": {"refund": "write"}}, "effects.refund", "no operation of the description is named 'refund'", None),
        ({"pick": {"getOrder": "a["}}, "pick.getOrder", "pick is no JMESPath expression", None),
        ({"pick": {"nothing": "/a"}}, "pick.nothing", "no operation of the description is named 'nothing'", None),
        (
            {"tags": ["order"]},
            "tags.0",
            "no operation of the description has the tag 'order'",
            "Did you mean 'orders'?",
        ),
        (
            {"only": ["broken"]},
            "only.0",
            "the operation 'broken' cannot be imported: its body is application/xml, which cannot be sent",
            None,
        ),
        ({"only": ["br*"]}, "spec", "no operation of the description was imported", "See agentforge http import SPEC."),
        ({"rename": {"health": "plain"}}, "rename", "two operations get the name 'plain': 'health' and 'plain'", None),
        ({"max_tools": 2}, "max_tools", "the description gives 4 tools, more than 2", None),
        (
            {"from_context": {"order": "tenant"}},
            "from_context.order",
            "there is no argument 'order'",
            "Did you mean 'order_no'?",
        ),
        (
            {"auth_by_scheme": {"keys": {"bearer": "t"}}},
            "auth_by_scheme.keys",
            "the description has no security scheme 'keys'",
            "Did you mean 'key'?",
        ),
        ({"spec": "none.json"}, "spec", "the document 'none.json' cannot be read: No such file or directory", None),
    ],
)
def test_what_fits_nothing_in_the_description_is_found_when_the_file_is_checked(
    bean_type: BeanType, folder: Path, settings: Any, path: str, message: str, step: str | None
) -> None:
    """At the place of the setting, alone, with a near miss where there is one."""
    (found,) = findings(bean_type, folder, **settings)
    assert found[0] == path and found[1].startswith(message)
    if step is not None:
        assert found[2] == step


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ([], "the description names no server"),
        (
            [{"url": "http://127.0.0.1:80/v1"}],
            "the server '127.0.0.1' of the description is not on the public Internet",
        ),
    ],
)
def test_a_server_that_is_missing_or_internal_is_found_then_too(
    bean_type: BeanType, folder: Path, servers: Any, message: str
) -> None:
    """Case HT-06: it names the setting that is missing."""
    (folder / "orders.json").write_text(json.dumps({**SPEC, "servers": servers}))
    (found,) = findings(bean_type, folder, base_url=None, only=["getOrder"])
    assert found[0] == "base_url" and found[1] == message and "base_url" in str(found[2])


@pytest.mark.parametrize("settings", [{"effects": {"a": "delete"}}, {"onyl": ["a"]}])
def test_settings_of_another_shape_are_refused(bean_type: BeanType, settings: Any) -> None:
    """Before anything is looked at."""
    with pytest.raises(ValueError, match=next(iter(settings))):
        bean_type.settings(**{"spec": "orders.json", **settings})


def test_what_can_be_seen_without_a_description_at_an_address_is_checked(bean_type: BeanType, folder: Path) -> None:
    """Expressions; names are not known before the start."""
    found = findings(bean_type, folder, spec="https://api.example.com/openapi.json", pick={"a": "x["}, only=["nothing"])
    assert [path for path, _, _ in found] == ["pick.a"]

    def names(spec: str) -> object:
        assert bean_type.tool_names is not None
        given = CheckContext("orders", folder, Components((), folder))
        return bean_type.tool_names(OpenApiSettings(spec=spec, only=("health",)), given)

    assert names("orders.json") == ["health"]
    assert names("https://api.example.com/openapi.json") is None and names("none.json") is None


def test_faults_stand_at_their_place_in_the_file(folder: Path) -> None:
    """With line and column, all of them at once."""
    (folder / "agentforge.yaml").write_text(
        "agentforge: 1\nbeans:\n  orders:\n    type: http.openapi\n    spec: orders.json\n    only: [getOder]\n"
        "    effects: {health: read, healht: write}\n"
    )
    with pytest.raises(ConfigurationError) as caught:
        AgentForge.load(folder / "agentforge.yaml").check()
    said = str(caught.value)
    assert ":6:12" in said and "Did you mean 'getOrder'?" in said
    assert ":7:" in said and "Did you mean 'health'?" in said


def test_names_that_two_sources_share_are_found_when_the_file_is_checked(folder: Path) -> None:
    """The names of a description in a file are known without a start."""
    (folder / "agentforge.yaml").write_text(
        "agentforge: 1\nbeans:\n  a: {type: http.openapi, spec: orders.json, only: [health]}\n"
        "  b: {type: http.openapi, spec: orders.json, only: [health, plain]}\n"
        "  tools: {type: tool_service, tools: [a, b]}\n"
    )
    with pytest.raises(ConfigurationError, match="health"):
        AgentForge.load(folder / "agentforge.yaml").check()


def test_a_file_of_strangers_reaches_no_file_outside_its_folder(folder: Path) -> None:
    """And its base_url is no word that counts."""
    inner = folder / "inner"
    inner.mkdir()
    (inner / "agentforge.yaml").write_text(
        "agentforge: 1\nbeans:\n  orders: {type: http.openapi, spec: ../orders.json}\n"
    )
    with pytest.raises(ConfigurationError, match="outside the folder"):
        AgentForge.load(inner / "agentforge.yaml", trust="data").check()


# -- calls ---------------------------------------------------------------------------------------


async def test_a_call_is_sent_with_the_credentials_of_the_bean(folder: Path) -> None:
    """And without where the operation switches them off; what is picked is the result."""
    network = Network()
    source = tools_of(
        folder, network, auth={"bearer": "canary-token"}, pick={"*Order": "/items/0/n"}, headers={"X-A": "1"}
    )
    found = await called(source, "getOrder", order_no="a/b")
    assert (found.result_text(), found.has_failed()) == ("1", False)
    assert network.requests[0].url == "https://api.example.com/v1/orders/a%2Fb"
    assert network.headers()["authorization"] == "Bearer canary-token" and network.headers()["X-A"] == "1"
    await called(source, "health")
    assert "authorization" not in network.headers()
    await source.aclose()


async def test_what_is_picked_is_chosen_by_the_names_of_operations(folder: Path) -> None:
    """Whatever their tools are called in the end; a later pattern goes before an earlier one."""
    pick = {"*": "/ok", "getOrder": "/items/0/n"}
    source = tools_of(folder, Network(), pick=pick, rename={"getOrder": "find"}, prefix="shop_")
    assert (await called(source, "shop_find", order_no="1")).result_text() == "1"
    assert (await called(source, "shop_health")).result_text() == "true"
    await source.aclose()


async def test_what_the_settings_send_is_no_argument(folder: Path) -> None:
    """A header that the description declares and the configuration gives."""
    network = Network()
    source = tools_of(folder, network, headers={"x-tenant": "t9"})
    tool = next(each for each in source.known_tools() or () if each.name == "plain")
    assert tool.specification.parameters.properties == {}
    await called(source, "plain")
    assert network.headers()["x-tenant"] == "t9"
    await source.aclose()


async def test_credentials_can_be_given_by_scheme(folder: Path) -> None:
    """Each operation gets those of the first alternative that is given whole; all others those of the bean."""

    class Tokens:
        async def token(self, refused: str | None = None) -> str:
            return "canary-of-tokens"

    network = Network()
    source = tools_of(
        folder,
        network,
        auth={"bearer": "canary-token"},
        auth_by_scheme={"key": {"api_key": {"name": "X-Key", "value": "canary-key"}}},
        tokens_by_scheme={"token": Tokens()},
    )
    await called(source, "getOrder", order_no="1")
    assert network.headers()["X-Key"] == "canary-key" and "authorization" not in network.headers()
    await called(source, "cancelOrder", order_no="1")
    assert network.headers()["X-Key"] == "canary-key"
    assert network.headers()["authorization"] == "Bearer canary-of-tokens"
    await called(source, "plain", **{"X-Tenant": "a"})
    assert network.headers()["authorization"] == "Bearer canary-token" and "X-Key" not in network.headers()
    network.answers["https://api.example.com/v1/orders/2"] = (
        500,
        {"error": "canary-key canary-token canary-of-tokens"},
    )
    failed = await called(source, "cancelOrder", order_no="2")
    assert failed.has_failed() and "canary" not in failed.result_text()
    await source.aclose()


async def test_values_of_the_run_are_not_in_the_schema(folder: Path) -> None:
    """Neither seen nor set by the model."""
    network = Network()
    source = tools_of(folder, network, from_context={"X-Tenant": "tenant", "header.X-User": "user_data.token"})
    tool = next(each for each in source.known_tools() or () if each.name == "plain")
    assert tool.specification.parameters.properties == {}
    await called(source, "plain", {"token": "canary-user"})
    assert (network.headers()["X-Tenant"], network.headers()["X-User"]) == ("t1", "canary-user")
    assert (await called(source, "plain", {"token": "x"}, **{"X-Tenant": "t2"})).has_failed()
    await source.aclose()


async def test_arguments_are_checked_before_anything_is_sent(folder: Path) -> None:
    """Promise 4 holds for imported tools as for any."""
    network = Network()
    source = tools_of(folder, network)
    for arguments in ({}, {"order_no": 5}, {"order_no": "1", "more": 1}):
        assert (await called(source, "getOrder", **arguments)).has_failed()
    assert network.requests == []


# -- descriptions at an address ------------------------------------------------------------------

URL = "https://api.example.com/v1/openapi.json"


async def test_a_description_at_an_address_is_fetched_at_the_start(folder: Path) -> None:
    """With headers of its own, never with the credentials of the API; then its tools are known."""
    network = Network({URL: (200, SPEC)})
    source = tools_of(folder, network, spec=URL, base_url=None, auth={"bearer": "canary-token"})
    assert source.known_tools() is None and source.report is None
    assert repr(source) == f"OpenApiTools({URL!r}, not yet fetched)"
    await source.start()
    assert [each.name for each in source.known_tools() or ()] == ["getOrder", "cancelOrder", "health", "plain"]
    assert "authorization" not in network.headers(0)
    assert network.headers(0)["accept"].startswith("application/json")
    await source.start()
    assert len(network.requests) == 1


async def test_a_lazy_bean_fetches_when_its_tools_are_first_asked_for(folder: Path) -> None:
    """A start that waits for nobody."""
    network = Network({URL: (200, SPEC)})
    settings = OpenApiSettings(spec=URL, only=("health",))
    source = OpenApiTools(settings, context(folder, lazy=True), fetcher=HttpSender(transport=network))
    await source.start()
    assert network.requests == []
    assert [each.name for each in await source.tools(Run())] == ["health"]
    assert await source.tools(Run()) is source.known_tools()
    await source.aclose()


@pytest.mark.parametrize(
    ("status", "content", "settings", "fault"),
    [
        (404, b"no", {}, "cannot be fetched"),
        (200, b"<html>", {}, "it says neither|it holds no mapping|cannot be read"),
        (200, b"{" * 5000, {"max_document_bytes": 1000}, "has more than 1,000 bytes"),
        (200, None, {"only": ["getOder"]}, "only.0: no operation of the description is named 'getOder'"),
        (301, b"", {}, "cannot be fetched"),
    ],
)
async def test_a_description_that_does_not_come_or_fit_is_an_error_at_the_start(
    folder: Path, status: int, content: bytes | None, settings: Any, fault: str
) -> None:
    """Clear, and without what a query in the address may hold."""
    url = f"{URL}?key=canary"
    network = Network({url: (status, SPEC if content is None else content)})
    source = tools_of(folder, network, spec=url, base_url=None, **settings)
    with pytest.raises(ConfigurationError, match=fault) as caught:
        await source.start()
    assert "canary" not in str(caught.value) and caught.value.location is None  # the container says whose it is
    await source.aclose()


async def test_a_fetched_description_cannot_lead_credentials_away(folder: Path) -> None:
    """Its own host is trusted, because the configuration named it; no other is."""
    network = Network({URL: (200, {**SPEC, "servers": [{"url": "https://evil.test"}]})})
    source = tools_of(folder, network, spec=URL, base_url=None, auth={"bearer": "canary-token"})
    with pytest.raises(ConfigurationError, match=r"names the server 'evil\.test'"):
        await source.start()
    await source.aclose()


def test_addresses_that_a_bean_calls_are_told(bean_type: BeanType, folder: Path) -> None:
    """Without the query, for `agentforge doctor --online`."""
    assert bean_type.endpoints is not None

    def told(**settings: Any) -> list[str]:
        assert bean_type.endpoints is not None
        return list(bean_type.endpoints(bean_type.settings(**settings), context(folder)))

    assert told(spec="orders.json") == ["https://api.example.com/v1"]
    assert told(spec="orders.json", base_url="https://own.test/") == ["https://own.test"]
    assert told(spec=f"{URL}?key=1") == [URL]


def test_what_was_left_out_is_logged(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A tool that is missing at run time has its reason somewhere; nothing of it warns of what nobody can change."""
    caplog.set_level("INFO", "agentforge.http")
    source = tools_of(folder, Network())
    assert "bean 'orders': 1 of the operations of its description were left out" in caplog.text
    assert {each.levelname for each in caplog.records} == {"INFO"}
    assert "POST /broken" in caplog.text and "application/xml" in caplog.text
    assert source.report is not None and len(source.report.left_out) == 1
    caplog.clear()
    tools_of(folder, Network(), only=["health"])
    assert caplog.text == ""
