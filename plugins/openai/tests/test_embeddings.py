"""Texts as vectors: what is sent, what is made of the answer, and the bean type `openai.embeddings`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.errors import AuthenticationError, ConfigurationError, InvalidRequestError, ProtocolError
from agentforge.http import HttpTimeouts, RetryPolicy
from agentforge.masking import Secrets
from agentforge.model import EmbeddingModel, ToolSpecification
from agentforge.plugin import BeanContext, BeanType, Catalogue, Components, Plugins
from agentforge.tool.search import EmbeddingIndex
from agentforge_openai import OpenAiEmbeddingModel
from plugins.openai.tests.support import FakeTransport


def answer(*vectors: Any, tokens: int = 4, **more: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": "m-1", "usage": usage, **more}


def model_on(transport: FakeTransport, **settings: Any) -> OpenAiEmbeddingModel:
    usual = {"model": "m", "base_url": "https://llm.example/v1", "api_key": "key-for-tests", "max_retries": 0}
    return OpenAiEmbeddingModel(**{**usual, **settings}, transport=transport)


async def test_texts_become_vectors_in_their_order() -> None:
    """Whatever the order of the answer; with what it cost and who answered."""
    shuffled = answer([1, 0.5], [0.0, 2])
    shuffled["data"].reverse()
    transport = FakeTransport(shuffled)
    async with model_on(transport, headers={"x-team": "blue"}) as model:
        made = await model.embed(["北京", "Oslo"])

    assert isinstance(model, EmbeddingModel)
    assert made.vectors == ((1.0, 0.5), (0.0, 2.0)) and made.model_name == "m-1"
    assert (made.token_usage.input_tokens, made.token_usage.total_tokens) == (4, 4)
    assert transport.bodies == [{"model": "m", "input": ["北京", "Oslo"]}]
    assert transport.requests[0].url == "https://llm.example/v1/embeddings"
    assert (transport.header("authorization"), transport.header("x-team")) == ("Bearer key-for-tests", "blue")


async def test_many_texts_go_in_several_requests() -> None:
    """One after the other; what they cost is added."""
    transport = FakeTransport(answer([1], [2]), answer([3], tokens=7))
    made = await model_on(transport, batch_size=2, dimensions=1).embed(["a", "b", "c"])

    assert made.vectors == ((1.0,), (2.0,), (3.0,)) and made.token_usage.total_tokens == 11
    assert [body["input"] for body in transport.bodies] == [["a", "b"], ["c"]]
    assert {body["dimensions"] for body in transport.bodies} == {1}


async def test_of_no_text_nothing_is_asked() -> None:
    transport = FakeTransport()
    assert (await model_on(transport).embed([])).vectors == () and transport.requests == []
    with pytest.raises(TypeError, match="not one text"):
        await model_on(transport).embed("text")


ADDRESSES = [
    ({"vendor": "azure", "base_url": "https://desk.example"}, "https://desk.example/openai/v1/embeddings"),
    (
        {"vendor": "azure", "base_url": "https://desk.example", "api_version": "2024-10-21"},
        "https://desk.example/openai/deployments/m/embeddings?api-version=2024-10-21",
    ),
    ({"vendor": "openai", "base_url": None}, "https://api.openai.com/v1/embeddings"),
    ({"base_url": "https://gate.example/chat/completions/v1"}, "https://gate.example/chat/completions/v1/embeddings"),
]


@pytest.mark.parametrize(("settings", "url"), ADDRESSES)
async def test_the_address_is_beside_that_of_completions(settings: dict[str, Any], url: str) -> None:
    transport = FakeTransport(answer([1]))
    await model_on(transport, environment={}, **settings).embed(["a"])
    assert transport.requests[0].url == url


WRONG: list[tuple[Any, type[Exception], str]] = [
    (answer([1]), ProtocolError, "1 vectors for 2 texts"),
    (answer([1], []), ProtocolError, "1 vectors for 2 texts"),
    (answer([1], ["x"]), ProtocolError, "1 vectors for 2 texts"),
    (answer([1], "AAAA"), ProtocolError, "1 vectors for 2 texts"),
    ({"data": [{"embedding": [1], "index": 0}, {"embedding": [1], "index": 0}]}, ProtocolError, "vectors for 2 texts"),
    ({"data": None}, ProtocolError, "0 vectors for 2 texts"),
    ({"choices": []}, ProtocolError, "0 vectors for 2 texts"),
    (b'{"data": [{"embedding": [NaN]}]}', ProtocolError, "a JSON object"),
    (b"<html>", ProtocolError, "a JSON object"),
    ({"error": {"message": "no such input", "code": "invalid_value"}}, InvalidRequestError, "no such input"),
    ((401, {"error": {"message": "wrong key-for-tests"}}), AuthenticationError, r"wrong \*\*\*"),
]


@pytest.mark.parametrize(("body", "error", "text"), WRONG)
async def test_an_answer_that_is_none_is_an_error(body: Any, error: type[Exception], text: str) -> None:
    """Of the taxonomy, without the key."""
    with pytest.raises(error, match=text):
        await model_on(FakeTransport(body)).embed(["a", "b"])


async def test_items_without_a_number_are_in_order() -> None:
    transport = FakeTransport({"data": [{"embedding": [1]}, {"embedding": [2]}]})
    made = await model_on(transport).embed(["a", "b"])
    assert made.vectors == ((1.0,), (2.0,)) and made.model_name is None


REFUSED = [
    ({"model": ""}, "model is empty"),
    ({"batch_size": 0}, "batch_size is a whole number from 1, not 0"),
    ({"dimensions": True}, "dimensions is a whole number from 1, not True"),
    ({"max_retries": -1}, "max_retries must be a whole number from 0, not -1"),
    ({"retry": 2}, "retry must be a RetryPolicy, not int"),
    ({"vendor": "opnai"}, "no vendor row 'opnai'"),
    ({"base_url": "localhost"}, "base_url is not an http or https address"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        model_on(FakeTransport(), **settings)


async def test_an_index_of_tools_uses_it() -> None:
    transport = FakeTransport(answer([1, 0], [0, 1]), answer([0, 0.9]))
    index = EmbeddingIndex(model_on(transport), [ToolSpecification("a"), ToolSpecification("b")])
    assert list(await index.search("like b", 1)) == ["b"]


# -- the bean type -------------------------------------------------------------------------------

BASE = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-123456"}


@pytest.fixture
def bean_type() -> BeanType:
    found = Catalogue(Plugins()).find("openai.embeddings")
    assert isinstance(found, BeanType)
    return found


def test_the_bean_is_an_embedding_model(bean_type: BeanType, tmp_path: Path) -> None:
    """With what the file says, and its secrets masked."""
    context = BeanContext("vectors", tmp_path, Components((), tmp_path), Secrets())
    model = bean_type.create(bean_type.settings(**{**BASE, "dimensions": 64, "batch_size": 10}), context)

    assert bean_type.provides is EmbeddingModel and isinstance(model, OpenAiEmbeddingModel)
    assert repr(model) == "OpenAiEmbeddingModel(vendor='generic', model='m', base_url='http://127.0.0.1:9/v1')"
    assert context.secrets.mask("sk-123456") == "***"
    assert bean_type.endpoints is not None
    assert tuple(bean_type.endpoints(bean_type.settings(**BASE), context)) == ("http://127.0.0.1:9/v1",)


def test_every_setting_reaches_the_model(bean_type: BeanType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import inspect

    from agentforge_openai import embedding_type

    given: dict[str, Any] = {}
    monkeypatch.setattr(embedding_type, "OpenAiEmbeddingModel", lambda **settings: given.update(settings))
    bean_type.settings(**{**BASE, "dimensions": 64, "batch_size": 10, "timeouts": {"read": "5s"}, "max_retries": 1})

    assert (given["dimensions"], given["batch_size"]) == (64, 10)
    assert (given["timeouts"], given["retry"]) == (HttpTimeouts(read=5.0), RetryPolicy(1))
    assert set(inspect.signature(OpenAiEmbeddingModel).parameters) - set(given) == {"max_retries"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"batch_size": 0}, "batch_size"), ({"model": ""}, "model is empty"), ({"tool_mode": "native"}, "tool_mode")],
)
def test_what_it_would_refuse_is_found_with_the_settings(
    bean_type: BeanType, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bean_type.settings(**{**BASE, **settings})


async def test_a_file_joins_it_with_a_search(tmp_path: Path) -> None:
    index = {"type": "embedding_index", "model": "vectors"}
    beans = {
        "vectors": {"type": "openai.embeddings", **BASE},
        "model": {"type": "scripted", "turns": ["Hello."]},
        "assistant": {"type": "chat_client", "model": "model", "advisors": [{"type": "tool_search", "index": index}]},
    }
    async with AgentForge.from_mapping({"beans": json.loads(json.dumps(beans))}, folder=tmp_path) as app:
        assert isinstance(app.get("vectors"), OpenAiEmbeddingModel)
