"""What holds for the bean type of every model behind an endpoint; its own settings stand in the test of its plugin."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agentforge.http import CircuitBreaker, HttpTimeouts, RateLimit, RetryBudget, RetryPolicy
from agentforge.masking import Secrets
from agentforge.model import ChatModel, ChatRequestParameters
from agentforge.plugin import BeanContext, BeanType, Catalogue, Components, Plugins

__all__ = ("BASE", "EndpointBean", "EndpointBeanWithSettings")

BASE = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-123456"}


class EndpointBean:
    """A test derives from it and says which type it is of."""

    #: The type's name, and the class of the models that it makes.
    TYPE: ClassVar[str]
    MODEL: ClassVar[type[Any]]
    #: A row that needs a key, with the key's variable, and the variable of the address.
    VENDOR: ClassVar[str]
    KEY_VARIABLE: ClassVar[str]
    BASE_URL_VARIABLE: ClassVar[str]

    @pytest.fixture
    def bean_type(self) -> BeanType:
        """As a file finds it: by its prefix, through the entry point."""
        found = Catalogue(Plugins()).find(self.TYPE)
        assert isinstance(found, BeanType)
        return found

    @pytest.fixture
    def context(self, tmp_path: Path) -> BeanContext:
        return BeanContext("model", tmp_path, Components((), tmp_path), Secrets())

    @pytest.fixture
    def given(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """What the model was last made with."""
        seen: dict[str, Any] = {}
        begin = self.MODEL.__init__

        @wraps(begin)
        def noting(made: Any, /, **settings: Any) -> None:
            seen.clear()
            seen.update(settings)
            begin(made, **settings)

        monkeypatch.setattr(self.MODEL, "__init__", noting)
        return seen

    def test_the_type_is_found_by_its_prefix(self, bean_type: BeanType, context: BeanContext) -> None:
        """It provides a `ChatModel`, takes no beans and needs settings."""
        model = bean_type.create(bean_type.settings(**BASE), context)

        assert bean_type.provides is ChatModel and isinstance(model, ChatModel)
        assert bean_type.needs_settings and bean_type.references == {}
        assert repr(model) == f"{self.MODEL.__name__}(vendor='generic', model='m', base_url='http://127.0.0.1:9/v1')"

    def test_the_defaults_are_those_of_the_model(
        self, bean_type: BeanType, context: BeanContext, given: dict[str, Any]
    ) -> None:
        """Each setting that a file leaves out is what the class would take."""
        bean_type.create(bean_type.settings(**BASE), context)
        usual = {name: p.default for name, p in inspect.signature(self.MODEL).parameters.items()}

        assert given["timeouts"] == HttpTimeouts() and given["retry"] == RetryPolicy()
        assert given["defaults"] == ChatRequestParameters()
        assert given["environment"] is context.environment
        same = set(given) - {"timeouts", "retry", "defaults", "environment", *BASE}
        assert {name: given[name] for name in same} == {name: usual[name] for name in same}

    @pytest.mark.parametrize(
        ("settings", "name", "value"),
        [
            ({"headers": {"x-team": "blue"}}, "headers", {"x-team": "blue"}),
            ({"timeouts": {"connect": "2s", "total": None}}, "timeouts", HttpTimeouts(connect=2.0, total=None)),
            ({"timeouts": {"read": "500ms", "write": 1, "pool": "1m"}}, "timeouts", HttpTimeouts(10.0, 0.5, 1.0, 60.0)),
            ({"max_retries": "0"}, "retry", RetryPolicy(0)),
            ({"retry": {"base": 1, "cap": 2, "retry_after_cap": "5m"}}, "retry", RetryPolicy(2, 1.0, 2.0, 300.0)),
            ({"circuit_breaker": False}, "circuit_breaker", False),
            ({"circuit_breaker": {"failures": 5, "probes": 2}}, "circuit_breaker", CircuitBreaker(5, probes=2)),
            (
                {"circuit_breaker": {"failure_ratio": 0.9, "window": "1m", "open_for": "2s", "open_cap": "10s"}},
                "circuit_breaker",
                CircuitBreaker(failure_ratio=0.9, window=60.0, open_for=2.0, open_cap=10.0),
            ),
            ({"retry_budget": False}, "retry_budget", False),
            ({"retry_budget": {"ratio": 0, "reserve": 1, "window": "1s"}}, "retry_budget", RetryBudget(0.0, 1, 1.0)),
            ({"rate_limit": {"requests_per_minute": 60}}, "rate_limit", RateLimit(60)),
            (
                {"rate_limit": {"tokens_per_minute": "50k", "max_wait": "10s"}},
                "rate_limit",
                RateLimit(tokens_per_minute=50_000, max_wait=10.0),
            ),
            ({"max_connections": 5}, "max_connections", 5),
            ({"max_body_bytes": 1000}, "max_body_bytes", 1000),
            ({"proxy": "http://127.0.0.1:3128"}, "proxy", "http://127.0.0.1:3128"),
            ({"insecure_skip_tls_verification": True}, "verify", False),
            ({"transport": "aiohttp"}, "transport", "aiohttp"),
            ({"names": "error"}, "names", "error"),
            ({"profile_overrides": {"max_tools": 5}}, "profile_overrides", {"max_tools": 5}),
            (
                {"defaults": {"temperature": "0.5", "stop": ["END"], "seed": 1, "custom_parameters": {"x": 1}}},
                "defaults",
                ChatRequestParameters(temperature=0.5, stop=("END",), seed=1, custom_parameters={"x": 1}),
            ),
            (
                {
                    "defaults": {
                        "top_p": 0.9,
                        "max_output_tokens": 100,
                        "parallel_tool_calls": False,
                        "reasoning_effort": "low",
                    }
                },
                "defaults",
                ChatRequestParameters(
                    top_p=0.9, max_output_tokens=100, parallel_tool_calls=False, reasoning_effort="low"
                ),
            ),
        ],
    )
    def test_every_setting_reaches_the_model(
        self,
        bean_type: BeanType,
        context: BeanContext,
        given: dict[str, Any],
        settings: dict[str, Any],
        name: str,
        value: Any,
    ) -> None:
        """Text of a placeholder is read as the setting's type."""
        model = bean_type.create(bean_type.settings(**{**BASE, **settings}), context)

        assert isinstance(model, self.MODEL) and given[name] == value

    def test_every_argument_of_the_model_has_a_setting(self, given: dict[str, Any], bean_type: BeanType) -> None:
        """But for the client of the caller's own, which no file can hold, and what `retry` says already; the variables
        are those of the application."""
        bean_type.settings(**BASE)

        beside = {"http_client", "max_retries"}
        assert set(inspect.signature(self.MODEL).parameters) - set(given) == beside

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"modle": "m"}, "modle"),
            ({"model": ""}, "model is empty"),
            ({"vendor": "nobodys"}, "there is no vendor row 'nobodys'"),
            ({"base_url": "localhost:8000"}, "base_url is not an http or https address"),
            ({"base_url": "http://u:p@127.0.0.1/v1"}, "holds credentials"),
            ({"api_key": "sk\u2013123"}, "characters that no header can carry"),
            ({"profile_overrides": {"max_tool": 5}}, "profile_overrides has no field 'max_tool'"),
            ({"transport": "requests"}, "transport"),
            ({"verify": False}, "verify"),
            ({"timeouts": {"read": 0}}, "timeouts.read"),
            ({"circuit_breaker": {"open_for": 0}}, "circuit_breaker"),
            ({"circuit_breaker": {"failure_ratio": 2}}, "circuit_breaker"),
            ({"retry_budget": {"ratio": -1}}, "retry_budget"),
            ({"rate_limit": {}}, "a rate limit without a limit"),
            ({"rate_limit": {"requests_per_minute": 0}}, "rate_limit.requests_per_minute"),
            ({"defaults": {"temprature": 0}}, "defaults.temprature"),
            ({"defaults": {"reasoning_effort": "huge"}}, "defaults.reasoning_effort"),
        ],
    )
    def test_what_the_model_would_refuse_is_found_with_the_settings(
        self, bean_type: BeanType, settings: dict[str, Any], message: str
    ) -> None:
        """Before anything is built or sent; the key is in none of the texts."""
        with pytest.raises(ValueError, match="validation error") as caught:
            bean_type.settings(**{**BASE, **settings})

        assert message in str(caught.value) and "sk-123456" not in str(caught.value)

    def test_a_key_that_a_vendor_needs_is_looked_for(
        self, bean_type: BeanType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The variable that would hold it is named."""
        monkeypatch.delenv(self.KEY_VARIABLE, raising=False)
        with pytest.raises(ValueError, match="validation error") as caught:
            bean_type.settings(**{**BASE, "vendor": self.VENDOR, "api_key": None})

        assert self.KEY_VARIABLE in str(caught.value)

    def test_secrets_are_masked_in_the_settings_and_in_the_context(
        self, bean_type: BeanType, context: BeanContext
    ) -> None:
        """The key, headers and a proxy's password are texts that do not show."""
        settings = bean_type.settings(**BASE, headers={"x-token": "hd-98765"}, proxy="http://u:pw-4321@127.0.0.1:1")
        bean_type.create(settings, context)

        assert not any(secret in repr(settings) for secret in ("sk-123456", "hd-98765", "pw-4321"))
        assert context.secrets.mask("sk-123456 hd-98765 pw-4321") == "*** *** ***"

    def test_a_bundle_of_certificates_is_looked_for_beside_the_file(
        self, bean_type: BeanType, context: BeanContext, given: dict[str, Any]
    ) -> None:
        """A relative path starts at the file that the bean stands in, an absolute one stays."""
        bean_type.create(bean_type.settings(**BASE, ca_bundle="ca.pem"), context)
        assert given["ca_bundle"] == str(context.folder / "ca.pem")
        bean_type.create(bean_type.settings(**BASE, ca_bundle="/etc/ca.pem"), context)
        assert given["ca_bundle"] == "/etc/ca.pem"

    def test_it_says_what_the_model_asks(self, bean_type: BeanType, tmp_path: Path) -> None:
        """For `agentforge doctor --online`; behind a proxy only the proxy could tell."""

        def asked(environment: dict[str, str], **settings: Any) -> tuple[str, ...]:
            context = BeanContext("model", tmp_path, Components((), tmp_path), environment=environment)
            assert bean_type.endpoints is not None
            return tuple(bean_type.endpoints(bean_type.settings(**{**BASE, **settings}), context))

        assert asked({}) == ("http://127.0.0.1:9/v1",)
        elsewhere = "http://127.0.0.1:8/v1"
        assert asked({self.BASE_URL_VARIABLE: elsewhere}, base_url=None) == (elsewhere,)
        assert asked({}, proxy="http://user:pass@127.0.0.1:7") == ()


class EndpointBeanWithSettings(EndpointBean):
    """The same, with the settings that only this type has."""

    #: Settings with the name and the value that the model gets, and such as it refuses, with a part of the error.
    OWN: ClassVar[Sequence[tuple[dict[str, Any], str, Any]]]
    REFUSED: ClassVar[Sequence[tuple[dict[str, Any], str]]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """The tables are those of the deriving class."""
        for names, table in (("own, name, value", self.OWN), ("refused, message", self.REFUSED)):
            if names.partition(",")[0] in metafunc.fixturenames:
                metafunc.parametrize(names, table)

    def test_settings_of_its_own_reach_the_model(
        self,
        bean_type: BeanType,
        context: BeanContext,
        given: dict[str, Any],
        own: dict[str, Any],
        name: str,
        value: Any,
    ) -> None:
        bean_type.create(bean_type.settings(**{**BASE, **own}), context)

        assert given[name] == value

    def test_what_the_model_would_refuse_of_these_is_found_too(
        self, bean_type: BeanType, refused: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match="validation error") as caught:
            bean_type.settings(**{**BASE, **refused})

        assert message in str(caught.value)
