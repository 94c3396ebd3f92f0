"""`agentforge probe` as the check of a key and an endpoint: what keeps every answer away is said at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.testing import ScriptedEndpoint
from tests.support.disguises import Asked, Turn, disguised, refusal

KEY = "sk-of-the-tests-0123456789"
FORMS = {
    "chat": "type: openai.chat, vendor: openai, model: gpt-4.1",
    "messages": "type: anthropic.messages, vendor: anthropic, model: claude-opus-4-8",
}
two_forms = pytest.mark.parametrize("form", FORMS)
ENDS: dict[str, tuple[Any, str, str, str]] = {
    "a wrong key": (
        refusal(f"Incorrect API key provided: {KEY}", 401),
        "AF301",
        "Incorrect API key provided: ***",
        "Check the API key of this model",
    ),
    "a key without rights": (refusal("not in this project", 403), "AF302", "not in this project", "check its rights"),
    "a wrong path or model": (
        refusal("no such model", 404),
        "AF303",
        "no such model",
        "Check the model's name and base",
    ),
    "a quota that is used up": (
        {"status": 429, "body": {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}},
        "AF307",
        "You exceeded your quota",
        "waiting does not help",
    ),
    "an endpoint that is out of order": (refusal("out of order", 503), "AF308", "out of order", "probe again later"),
    "an endpoint that hangs": ({"stall": True}, "AF309", "", "--timeout gives it longer than these 0.3 s"),
    "a connection that breaks": ({"disconnect": True}, "AF310", "broke", "look at the log of the server"),
    "a page": (
        {"headers": {"content-type": "text/html"}, "body": "<html><title>Log in</title></html>"},
        "AF311",
        "the answer is not ",
        "whether a proxy or a login page answers",
    ),
    "an error inside a good answer": (
        {"body": {"error": {"message": "the model behind us is away", "code": "upstream"}}},
        "AF3",
        "the model behind us is away",
        "next: ",
    ),
}


def file_of(project: Any, url: str, form: str) -> None:
    """Make the project's file one with a model at the address."""
    base = url.removesuffix("/v1") if form == "messages" else url
    bean = f'{{{FORMS[form]}, base_url: "{base}", api_key: {KEY}, max_retries: 0}}'
    project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n  model: {bean}\n")


@two_forms
@pytest.mark.parametrize("case", ENDS)
def test_what_keeps_every_answer_away_ends_it_at_once(project: Any, form: str, case: str) -> None:
    """One request, one block with the server's words, the place and what to do; no table, and never the key."""
    turn, code, words, step = ENDS[case]
    with ScriptedEndpoint([turn], repeat=True) as endpoint:
        file_of(project, endpoint.base_url, form)
        ended = project.run("probe", "model", "--timeout", "0.3")
        assert len(endpoint.requests) == 1

    assert (ended.code, ended.out) == (1, "")
    block = ended.err[ended.err.index("[AF") :]
    assert block.startswith(f"[{code}") and words in block and step in block
    assert "Traceback" not in ended.err and KEY not in ended.err


def test_a_limit_of_the_bean_is_not_said_to_be_the_probes(project: Any) -> None:
    """What the bean itself sets is what to raise; ``--timeout`` would change nothing."""
    with ScriptedEndpoint([{"stall": True}], repeat=True) as endpoint:
        bean = f'{{{FORMS["chat"]}, base_url: "{endpoint.base_url}", api_key: {KEY}, timeouts: {{total: 0.2}}}}'
        project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n  model: {bean}\n")
        ended = project.run("probe", "model", "--timeout", "5")

    assert "Raise timeouts.total" in ended.err and "--timeout" not in ended.err


@pytest.mark.parametrize("case", ["an endpoint that is out of order", "a connection that breaks"])
def test_settings_are_not_blamed_for_what_they_did_not_cause(project: Any, case: str) -> None:
    with ScriptedEndpoint([ENDS[case][0]], repeat=True) as endpoint:
        file_of(project, endpoint.base_url, "chat")
        ended = project.run("probe", "model")

    assert "Correct the bean's settings" not in ended.err


@two_forms
def test_nobody_at_the_address_is_said_as_well(project: Any, form: str) -> None:
    """As data: one object on standard error, after what was announced."""
    with ScriptedEndpoint(["x"]) as endpoint:
        url = endpoint.base_url
    file_of(project, url, form)
    ended = project.run("probe", "model", "--json", "--timeout", "2")

    assert (ended.code, ended.out) == (1, "")
    announced, error = map(json.loads, ended.err.splitlines())
    assert announced["requests"] > 0
    assert error["error"]["code"] == "AF310" and error["error"]["next_step"]


def test_a_key_that_is_taken_away_meanwhile_ends_it(project: Any) -> None:
    """What no later request can get past is no finding about a capability."""

    def expires(asked: Asked, turn: Turn) -> Turn:
        return refusal("the key has expired", 401) if asked.tools else turn

    with ScriptedEndpoint([disguised(expires)], repeat=True) as endpoint:
        file_of(project, endpoint.base_url, "chat")
        ended = project.run("probe", "model")
        assert len(endpoint.requests) == 4

    assert (ended.code, ended.out) == (1, "")
    assert "[AF301]" in ended.err and "the key has expired" in ended.err


def test_an_endpoint_that_no_longer_answers_ends_it(project: Any) -> None:
    """After three questions without an answer the first one is asked again, and gets none either."""
    seen: list[Asked] = []

    def goes_away(asked: Asked, turn: Turn) -> Turn:
        seen.append(asked)
        return refusal("out of order", 503) if len(seen) > 3 else turn

    with ScriptedEndpoint([disguised(goes_away)], repeat=True) as endpoint:
        file_of(project, endpoint.base_url, "chat")
        ended = project.run("probe", "model")

    assert (ended.code, ended.out, len(seen)) == (1, "", 3 + 3 + 1)
    assert "tools: unsure" in ended.err and "[AF308]" in ended.err and "out of order" in ended.err


def test_an_endpoint_that_fails_at_tools_only_is_asked_on(project: Any) -> None:
    """It still answers the first question, so that the others have a meaning; what fails is left open."""

    def fails(asked: Asked, turn: Turn) -> Turn:
        return refusal("internal error", 500) if asked.tools else turn

    with ScriptedEndpoint([disguised(fails)], repeat=True) as endpoint:
        file_of(project, endpoint.base_url, "chat")
        ended = project.run("probe", "model", "--json")

    found = {each["name"]: each["found"] for each in json.loads(ended.out)["capabilities"]}
    assert found["tools"] == found["tool_choice.required"] == "unsure"
    assert found["seed"] == found["images"] == "yes"


def test_one_question_without_an_answer_is_no_difference(project: Any) -> None:
    """A server that fails at one of them leaves it open, and the exit code is 0."""

    def fails(asked: Asked, turn: Turn) -> Turn:
        return refusal("internal error", 500) if asked.strict else turn

    with ScriptedEndpoint([disguised(fails)], repeat=True) as endpoint:
        file_of(project, endpoint.base_url, "chat")
        ended = project.run("probe", "model")

    assert ended.code == 0
    assert ended.out.splitlines()[-1].startswith("the profile agrees; nothing can be said of strict_tools; ")


def test_a_model_that_only_streams_is_asked_in_streams(project: Any) -> None:
    """The plain question is refused, which is found, and all others are streamed."""

    def only_streams(asked: Asked, turn: Turn) -> Turn:
        return turn if asked.streamed else refusal("This model only supports stream mode")

    with ScriptedEndpoint([disguised(only_streams)], repeat=True) as endpoint:
        file_of(project, endpoint.base_url, "chat")
        ended = project.run("probe", "model", "--json")
        assert [request.body.get("stream") is True for request in endpoint.requests].count(False) == 1

    data = json.loads(ended.out)
    assert [each["name"] for each in data["capabilities"] if each["agrees"] is False] == ["answer"]
    assert "only supports stream mode" in data["capabilities"][0]["note"]
