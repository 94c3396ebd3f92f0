"""`agentforge probe`: a model that can everything agrees with its profile, and each disguise is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentforge.testing import ScriptedEndpoint
from tests.support.disguises import Asked, Turn, disguised, refusal

FORMS = {
    "chat": ("openai.chat", "openai", "gpt-4.1"),
    "responses": ("openai.responses", "openai", "gpt-5"),
    "messages": ("anthropic.messages", "anthropic", "claude-opus-4-8"),
}
KEY = "sk-of-the-tests-0123456789"
# What a form has no words for.
WITHOUT = {
    "chat": set(),
    "responses": set(),
    "messages": {"tool_choice.allowed", "response_format.json", "json_with_tools", "seed"},
}
every_form = pytest.mark.parametrize("form", FORMS)
two_forms = pytest.mark.parametrize("form", ["chat", "messages"])


@dataclass(frozen=True)
class Probe:
    """How a probe ended, and what it found."""

    code: int
    data: Mapping[str, Any]
    err: str
    found: Mapping[str, str] = field(init=False)
    notes: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        listed = self.data["capabilities"]
        object.__setattr__(self, "found", {each["name"]: each["found"] for each in listed})
        object.__setattr__(self, "notes", {each["name"]: each["note"] for each in listed})

    @property
    def differing(self) -> dict[str, str]:
        """What was found where the profile says something else."""
        return {each["name"]: each["found"] for each in self.data["capabilities"] if each["agrees"] is False}


def configuration(project: Any, endpoint: ScriptedEndpoint, form: str, more: str = "") -> None:
    """Make the project's file one with a model at the endpoint."""
    url = endpoint.base_url.removesuffix("/v1") if form == "messages" else endpoint.base_url
    kind, vendor, model = FORMS[form]
    vendor = "" if "vendor:" in more else f", vendor: {vendor}"
    bean = f'{{type: {kind}, model: {model}, base_url: "{url}", api_key: {KEY}{vendor}{more}}}'
    project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n  model: {bean}\n")


def probed(project: Any, form: str, turn: Any, *words: str, more: str = "") -> Probe:
    """The probe of a model whose endpoint answers with the turn."""
    with ScriptedEndpoint([turn], repeat=True) as endpoint:
        configuration(project, endpoint, form, more)
        ended = project.run("probe", "model", "--json", *words)
        sent = len(endpoint.requests)
    assert ended.out, ended.err
    made = Probe(ended.code, json.loads(ended.out), ended.err)
    announced = json.loads(ended.err.splitlines()[0])
    assert made.data["requests"] == sent <= announced["at_most"]
    assert KEY not in ended.out + ended.err
    return made


# -- the honest one ----------------------------------------------------------------------------------------------------


@every_form
def test_a_model_that_can_everything_agrees_with_its_profile(project: Any, form: str) -> None:
    """Everything that the form has words for is asked, once, and is there."""
    probe = probed(project, form, disguised())

    assert (probe.code, probe.differing) == (0, {})
    skipped = {name for name, status in probe.found.items() if status == "skipped"}
    assert skipped == WITHOUT[form]
    assert {status for name, status in probe.found.items() if name not in skipped} - {"yes"} <= {"no", "refused"}
    assert probe.found["replay.required"] == "no"
    assert json.loads(probe.err.splitlines()[0])["requests"] >= probe.data["requests"]


def test_for_people_it_is_a_table_with_its_progress_beside_it(project: Any) -> None:
    """What is asked and what it may cost comes first, on standard error; the result is the table and one sentence."""
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        configuration(project, endpoint, "chat")
        ended = project.run("probe", "model")

    said, cost, *progress = ended.err.splitlines()
    assert said == f"model: gpt-4.1 at {endpoint.base_url}, as openai (openai.chat)"
    assert cost == "26 requests if the model goes along, at most 104, each for at most 2,000 tokens"
    assert progress[0] == "  1/25 answer: yes" and len(progress) == 25
    lines = ended.out.splitlines()
    assert lines[0].split() == ["capability", "profile", "found", "note"]
    assert lines[4].split()[:3] == ["tools", "yes", "yes"]
    assert lines[-1] == "the profile agrees; 26 requests sent"


# -- disguises ---------------------------------------------------------------------------------------------------------


def ignores_tools(asked: Asked, turn: Turn) -> Turn:
    return {"text": "It is sunny, I suppose."} if asked.tools and not asked.has_result else turn


def refuses_required(asked: Asked, turn: Turn) -> Turn:
    return refusal("tool_choice 'required' is not supported for this model") if asked.mode == "required" else turn


def answers_required_with_a_text(asked: Asked, turn: Turn) -> Turn:
    return {"text": "Hello."} if asked.mode == "required" else turn


def calls_the_tool_it_likes(asked: Asked, turn: Turn) -> Turn:
    return {"calls": [{"name": "get_weather", "args": {"city": "Oslo"}}]} if asked.mode == "tool" else turn


def calls_against_the_ban(asked: Asked, turn: Turn) -> Turn:
    return {"calls": [{"name": "get_weather", "args": {"city": "Oslo"}}]} if asked.mode == "none" else turn


def makes_one_call_at_a_time(asked: Asked, turn: Turn) -> Turn:
    return {**turn, "calls": turn["calls"][:1]} if "calls" in turn else turn


def makes_all_calls_at_once(asked: Asked, turn: Turn) -> Turn:
    if asked.parallel or "Lima" not in asked.question:
        return turn
    return {"calls": [{"name": "get_weather", "args": {"city": city}} for city in ("Oslo", "Lima")]}


def loses_calls_in_streams(asked: Asked, turn: Turn) -> Turn:
    return {"text": ""} if asked.streamed and "calls" in turn else turn


def cuts_arguments_in_streams(asked: Asked, turn: Turn) -> Turn:
    if not asked.streamed or "calls" not in turn:
        return turn
    [call] = turn["calls"]
    return {"calls": [{"name": call["name"], "arguments": json.dumps(call["args"])[:-12]}]}


def loses_arguments_in_streams(asked: Asked, turn: Turn) -> Turn:
    if not asked.streamed or "calls" not in turn:
        return turn
    return {"calls": [{"name": turn["calls"][0]["name"], "args": {}}]}


def refuses_strict(asked: Asked, turn: Turn) -> Turn:
    return refusal("Unknown field: strict") if asked.strict else turn


def takes_strict_and_does_not_hold_it(asked: Asked, turn: Turn) -> Turn:
    if not asked.strict:
        return turn
    return {"calls": [{"name": "set_heating", "args": {"room": "kitchen", "level": "lukewarm"}}]}


def has_no_schemas_for_answers(asked: Asked, turn: Turn) -> Turn:
    if asked.answer != "json_schema":
        return turn
    return {"text": '{"city": "Oslo", "size": "gigantic"}'} if not asked.tools else turn


def is_held_to_the_form_of_its_answer(asked: Asked, turn: Turn) -> Turn:
    return {"text": "{}"} if asked.answer != "text" and asked.tools else turn


def refuses_tools_while_thinking(asked: Asked, turn: Turn) -> Turn:
    return refusal("Function tools with reasoning are not supported") if asked.tools and asked.thinks else turn


def does_not_hear_the_system(asked: Asked, turn: Turn) -> Turn:
    return {"text": "Paris."} if asked.system else turn


def refuses_pictures(asked: Asked, turn: Turn) -> Turn:
    return refusal("image input is not supported") if asked.has_image else turn


NO_TOOLS = ("tools", "tool_choice.auto", "tool_choice.required", "tool_choice.tool")
DISGUISES: dict[Callable[[Asked, Turn], Turn], tuple[Iterable[str], str, str]] = {
    ignores_tools: (NO_TOOLS, "no", "the text 'It is sunny, I suppose.'"),
    refuses_required: (["tool_choice.required"], "refused", "'required' is not supported for this model"),
    answers_required_with_a_text: (["tool_choice.required"], "no", "no call came, but the text 'Hello.'"),
    calls_the_tool_it_likes: (["tool_choice.tool"], "no", "1 call (get_weather) came instead of get_local_time"),
    calls_against_the_ban: (["tool_choice.none"], "no", "1 call (get_weather) came all the same"),
    makes_one_call_at_a_time: (["parallel_tool_calls"], "no", "one call at a time, in 3 tries"),
    makes_all_calls_at_once: (["parallel_tool_calls.off"], "no", "2 calls came all the same"),
    loses_calls_in_streams: (["streamed_calls"], "no", "in a stream the call is lost"),
    cuts_arguments_in_streams: (["streamed_calls"], "no", "in a stream the call is damaged"),
    loses_arguments_in_streams: (["streamed_calls"], "no", "in a stream the call is damaged"),
    refuses_strict: (["strict_tools"], "refused", "Unknown field: strict"),
    takes_strict_and_does_not_hold_it: (["strict_tools"], "no", "it is taken and not held: level: one of 'low'"),
    has_no_schemas_for_answers: (["response_format.json_schema"], "no", "it is taken and not held: size: one of"),
    is_held_to_the_form_of_its_answer: (["json_with_tools", "json_schema_with_tools"], "no", "calls nothing"),
    refuses_tools_while_thinking: (["tools_with_thinking"], "refused", "with reasoning are not supported"),
    does_not_hear_the_system: (["system"], "no", "it was not followed: the text 'Paris.' came"),
    refuses_pictures: (["images"], "refused", "image input is not supported"),
}


@two_forms
@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda each: each.__name__)
def test_each_disguise_is_found_and_named(project: Any, form: str, disguise: Callable[[Asked, Turn], Turn]) -> None:
    """It, and nothing else; the note says what came, or what the server said."""
    names, status, words = DISGUISES[disguise]
    only = [] if form == "chat" else [word for name in ("tools", *names) for word in ("--only", name)]
    probe = probed(project, form, disguised(disguise), *only)

    assert probe.code == 1
    assert probe.differing == {name: status for name in names if name not in WITHOUT[form]}
    assert all(words in probe.notes[name] for name in probe.differing), probe.notes


@two_forms
def test_a_call_that_does_not_fit_without_a_stream_either_was_not_damaged_by_one(project: Any, form: str) -> None:
    """The model's own arguments are wrong; the same question without a stream tells the two apart."""

    def fills_in_anything(asked: Asked, turn: Turn) -> Turn:
        return {"calls": [{"name": "send_note", "args": {"x": 1}}]} if "send_note" in asked.tools else turn

    probe = probed(project, form, disguised(fills_in_anything), "--only", "streamed_calls")

    assert (probe.code, probe.found["streamed_calls"]) == (0, "unsure")
    assert "none that does without a stream" in probe.notes["streamed_calls"]


def whole_calls(asked: Asked, turn: Turn) -> Turn:
    """A stream of one event for the whole call."""
    if not asked.streamed or "calls" not in turn:
        return turn
    [call] = turn["calls"]
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}
    body = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n"
    return {"headers": {"content-type": "text/event-stream"}, "body": body}


def test_a_call_that_comes_in_one_piece_is_whole_and_no_delta(project: Any) -> None:
    """Some servers stream text, and send calls in one event."""
    probe = probed(project, "chat", disguised(whole_calls))

    assert probe.differing == {"streamed_tool_deltas": "no"}
    assert probe.found["streamed_calls"] == "yes"


def wants_its_reasoning_back(asked: Asked, turn: Turn) -> Turn:
    """Refuses a turn with calls whose reasoning was left out."""
    kept = any("reasoning_content" in each or "thinking" in str(each) for each in asked.turns)
    refused = asked.has_result and asked.thinks and not kept
    return refusal("The reasoning_content of the assistant turn must be passed back.") if refused else turn


@pytest.mark.parametrize(
    ("form", "vendor", "replay"),
    [("chat", "openai", "refused"), ("chat", "generic", "yes"), ("messages", "anthropic", "yes")],
)
def test_reasoning_that_must_go_back_is_found_out(project: Any, form: str, vendor: str, replay: str) -> None:
    """Where the row sends it back all is well, and it is known that it must; else that is a difference."""
    probe = probed(project, form, disguised(wants_its_reasoning_back), more=f", vendor: {vendor}")

    assert probe.found["replay"] == replay
    assert probe.found["replay.required"] == "yes"
    assert "must be passed back" in probe.notes["replay.required"]
    assert ("replay" in probe.differing) is (replay == "refused")
