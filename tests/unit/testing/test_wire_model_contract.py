"""Every test of the suite for models behind a wire catches one that is wrong in just that."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ImageContent, SystemMessage, TextContent
from agentforge.model.scripted import ScriptedChatModel
from agentforge.provider import Answering
from agentforge.testing import ChatModelContract, WireModelContract
from tests.unit.testing.small_wire import SmallModel, SmallStream, SmallWire, turns_of
from tests.unit.testing.wrong import caught, names_of


@dataclass(frozen=True)
class Fault:
    """A test, what is changed in the small wire, its model or its stream, and a part of what the test says."""

    test: str
    words: str
    kind: type
    changes: dict[str, Callable[..., Any]]
    name: str

    def __str__(self) -> str:
        return self.name


@contextmanager
def spoiled(fault: Fault) -> Iterator[None]:
    """The small model with the fault in it."""
    before = {name: vars(fault.kind)[name] for name in fault.changes}
    for name, method in fault.changes.items():
        setattr(fault.kind, name, method)
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(fault.kind, name, method)


def fault(test: str, words: str, kind: type, name: str, **changes: Callable[..., Any]) -> Fault:
    return Fault(f"test_{test}", words, kind, changes, name)


RIGHT = {kind: dict(vars(kind)) for kind in (SmallWire, SmallModel, SmallStream)}


def right(kind: type, name: str) -> Callable[..., Any]:
    """The method as it is, for a change that makes something else of what it gives."""
    method: Callable[..., Any] = RIGHT[kind][name]
    return method


def without(field: str) -> Callable[..., Any]:
    """Fields of the body without one of them."""
    return lambda self, asked, shape: {**right(SmallWire, "fields")(self, asked, shape), field: None}


def turns_without(kind: type) -> Callable[..., Any]:
    def encode_turn(self: Any, message: Any, shape: Any, notices: Any) -> bytes:
        if isinstance(message, kind):
            return b""
        made: bytes = right(SmallWire, "encode_turn")(self, message, shape, notices)
        return made

    return encode_turn


def part_without_image(self: Any, part: Any, shape: Any, notices: Any) -> object:
    return {"text": ""} if isinstance(part, ImageContent) else right(SmallWire, "part")(self, part, shape, notices)


def part_in_ascii(self: Any, part: Any, shape: Any, notices: Any) -> object:
    if isinstance(part, TextContent):
        return {"text": part.text.encode("ascii", "ignore").decode()}
    return right(SmallWire, "part")(self, part, shape, notices)


def calls_changed(**changes: Any) -> Callable[..., Any]:
    return lambda self, call, shape: {**right(SmallWire, "call")(self, call, shape), **changes}


def turn_without_thinking(self: Any, message: Any, shape: Any, notices: Any) -> bytes:
    made: bytes = right(SmallWire, "encode_turn")(self, message, replace(shape, provider="nobody"), notices)
    return made


def results_changed(**changes: Any) -> Callable[..., Any]:
    return lambda self, message, shape, notices: {
        **right(SmallWire, "result")(self, message, shape, notices),
        **changes,
    }


def turn_without_state_check(self: Any, message: Any, shape: Any, notices: Any) -> bytes:
    states = [part.provider_state for part in message.contents if getattr(part, "provider_state", None)]
    if not states:
        made: bytes = right(SmallWire, "encode_turn")(self, message, shape, notices)
        return made
    return right(SmallWire, "encode_turn")(self, message, replace(shape, provider=states[0].provider), notices)  # type: ignore[no-any-return]


def turn_without_name(self: Any, message: Any, shape: Any, notices: Any) -> bytes:
    plain = type(message)(message.contents) if getattr(message, "name", None) else message
    made: bytes = right(SmallWire, "encode_turn")(self, plain, shape, notices)
    return made


def extended_by_commas(self: Any, joined: bytes, last: Any, pieces: Any, shape: Any) -> bytes:
    """As if there were no roles: a turn of the same role is not merged."""
    return b"%b,%b]" % (joined[:-1], b",".join(turns_of(pieces)))


def extended_without_system(self: Any, joined: bytes, last: Any, pieces: Any, shape: Any) -> bytes | None:
    said = [(message, piece) for message, piece in pieces if not isinstance(message, SystemMessage)]
    made: bytes | None = right(SmallWire, "extended")(self, joined, last, said, shape)
    return made


class Memory:
    """What a wire must not have: it keeps what it joined first."""

    kept: bytes | None = None


def join_once(self: Any, pieces: Any, shape: Any) -> bytes:
    memory = vars(self).setdefault("memory", Memory())
    memory.kept = memory.kept or right(SmallWire, "join")(self, pieces, shape)
    kept: bytes = memory.kept
    return kept


NUMBERS = count()


def head_changed(**changes: Callable[[Any], Any]) -> Callable[..., Any]:
    def encode_head(self: Any, settled: Any, endpoint: Any, tools: Any, *, with_tools: bool) -> Any:
        head = right(SmallWire, "encode_head")(self, settled, endpoint, tools, with_tools=with_tools)
        return replace(head, **{name: change(head) for name, change in changes.items()})

    return encode_head


def tools_without(key: str) -> Callable[..., Any]:
    def encode_tools(self: Any, tools: Any, endpoint: Any) -> Any:
        block = right(SmallWire, "encode_tools")(self, tools, endpoint)
        listed = [{name: value for name, value in tool.items() if name != key} for tool in json.loads(block.body)]
        return replace(block, body=json.dumps(listed).encode())

    return encode_tools


def call_without_alias(self: Any, item: Any, answering: Answering) -> Any:
    return right(SmallModel, "call_of")(self, item, replace(answering, aliases={}))


def decode_without_alias(self: Any, content: Any, answering: Answering, headers: Any) -> Any:
    return right(SmallModel, "_decode")(self, content, replace(answering, aliases={}), headers)


def decoder_without_alias(self: Any, answering: Answering, status: int, headers: Any) -> Any:
    return right(SmallModel, "_decoder")(self, replace(answering, aliases={}), status, headers)


def no_thinking(when_streamed: bool) -> Callable[..., Any]:
    def thinking_of(self: Any, text: str, answering: Answering, *, streamed: bool) -> Any:
        lost = streamed is when_streamed
        return [] if lost else right(SmallModel, "thinking_of")(self, text, answering, streamed=streamed)

    return thinking_of


def thinking_without_state(self: Any, text: str, answering: Answering, *, streamed: bool) -> Any:
    made = right(SmallModel, "thinking_of")(self, text, answering, streamed=streamed)
    return [replace(part, provider_state=None) for part in made] if streamed else made


def lines_of_one_chunk(self: Any, chunk: bytes) -> list[bytes]:
    """Half lines between chunks are forgotten."""
    return [line for line in chunk.split(b"\n") if line.endswith(b"}")]


def lines_decoded_early(self: Any, chunk: bytes) -> list[bytes]:
    """Characters between chunks are broken."""
    self.waiting = getattr(self, "waiting", b"")
    made: list[bytes] = right(SmallStream, "lines")(self, chunk.decode("utf-8", "replace").encode())
    return made


def finish_anyhow(self: Any) -> Any:
    self.last = self.last or {"end": "done", "in": 0, "out": 0}
    return right(SmallStream, "finish")(self)


def response_without_notices(self: Any, parts: Any, last: Any, answering: Answering, *, streamed: bool) -> Any:
    return right(SmallModel, "response_of")(self, parts, last, replace(answering, notices=()), streamed=streamed)


def turn(words: str, name: str, test: str, **changes: Callable[..., Any]) -> Fault:
    return fault(test, words, SmallWire, name, **changes)


GROWS = "a_history_that_grows_is_sent_as_if_it_were_new"
CUT = "a_history_that_was_cut_or_changed_is_sent_as_if_it_were_new"
DIFFER = "histories_that_differ_become_requests_that_differ"
ALIASED = "names_that_the_provider_refuses_have_an_alias_everywhere"
EVENTS = "a_stream_gives_the_same_events_wherever_it_is_cut"
SAME = "a_reply_is_the_same_plain_and_streamed_part_by_part"


def first_part_only(self: Any, message: Any, shape: Any, notices: Any) -> bytes:
    made: bytes = right(SmallWire, "encode_turn")(self, message, shape, notices)
    return made.partition(b"},{")[0] + (b"}" if b"},{" in made else b"")


def turn_of_user(self: Any, message: Any, shape: Any, notices: Any) -> bytes:
    """Every part stands in the order of its text."""
    made: bytes = right(SmallWire, "encode_turn")(self, message, shape, notices)
    return b"},{".join(sorted(made[1:-1].split(b"},{"))).join((b"{", b"}"))


LOST = [
    fault(
        "every_parameter_that_is_set_is_sent", f"{field} is not in the request", SmallWire, field, fields=without(sent)
    )
    for field, sent in (
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_output_tokens", "limit"),
        ("stop", "stop"),
        ("seed", "seed"),
        ("response_format", "form"),
        ("custom_parameters", "x_suite"),
    )
]
EFFORT = "reasoning_effort makes no difference"
CHOICE = "is not in the request, and no notice says so"

#: The faults that a plugin had and kept, and others like them.
FAULTS = [
    *LOST,
    fault("every_parameter_that_is_set_is_sent", EFFORT, SmallWire, "effort", fields=without("effort")),
    fault("every_choice_of_tools_is_sent", CHOICE, SmallWire, "choice", fields=without("choice")),
    fault("every_choice_of_tools_is_sent", "parallel_tool_calls", SmallWire, "parallel", fields=without("parallel")),
    turn(
        "model_name is neither",
        "model",
        "the_model_of_a_request_is_asked",
        encode_head=head_changed(opening=lambda head: b'{"model":"m",'),
    ),
    *(
        turn(
            f"{what} is not in the request",
            f"tools-{key}",
            "tools_are_sent_with_all_that_describes_them",
            encode_tools=tools_without(key),
        )
        for what, key in (
            ("the name of a tool", "name"),
            ("the description of a tool", "about"),
            ("a property of a tool's schema", "input"),
            ("strict of a tool", "strict"),
        )
    ),
    turn(
        "beside 'files_read_file",
        "no-alias-in-turns",
        ALIASED,
        call=lambda self, call, shape: {**right(SmallWire, "call")(self, call, shape), "tool": call.name},
    ),
    turn(
        "under another name",
        "other-alias",
        ALIASED,
        name_of=lambda self, name, pattern: "tool_1",
    ),
    # -- turns
    turn("a user's text", "first-part-only", "every_text_is_sent", encode_turn=first_part_only),
    turn("the text of a user is not", "ascii", "every_text_is_sent", part=part_in_ascii),
    turn("a system message is not", "no-system", "system_messages_are_sent", encode_turn=turns_without(SystemMessage)),
    turn("the name of a user", "no-user-name", "names_of_users_are_sent", encode_turn=turn_without_name),
    turn("the arguments of a call", "no-arguments", "calls_and_results_are_sent", call=calls_changed(input="{}")),
    turn("the text of a result", "no-result-text", "calls_and_results_are_sent", result=results_changed(said=[])),
    turn("an image of a user is not", "image-is-nothing", "media_are_sent", part=part_without_image),
    turn("an image of a result is not", "image-is-nothing", "media_of_results_are_sent", part=part_without_image),
    turn("whether a call failed", "no-error-flag", DIFFER, result=results_changed(failed=False)),
    turn("the order of the parts", "sorted", DIFFER, encode_turn=turn_of_user),
    turn("comes once", "results-without-id", "a_result_names_its_call", result=results_changed(result="")),
    turn("comes once", "calls-without-id", "a_result_names_its_call", call=calls_changed(call="")),
    turn(
        "opaque state of another provider",
        "state-of-others",
        "what_only_another_provider_can_read_stays_behind",
        encode_turn=turn_without_state_check,
    ),
    turn(
        "the name of a called tool is not",
        "no-call-name",
        "calls_and_results_are_sent",
        call=calls_changed(tool="tool"),
    ),
    # -- growth
    *(
        turn(
            "it lacks",
            "extended-is-old",
            f"a_history_{kind}grows_is_sent_as_if_it_were_new",
            extended=lambda self, joined, last, pieces, shape: joined,
        )
        for kind in ("that_", "with_tools_that_")
    ),
    turn("it lacks 'Later instructions.'", "late-system-lost", GROWS, extended=extended_without_system),
    turn("is right", "not-merged", GROWS, extended=extended_by_commas),
    turn("that was cut at its end", "join-keeps", CUT, join=join_once),
    turn(
        "another body each time",
        "numbered",
        "the_same_request_has_the_same_body",
        encode_head=head_changed(opening=lambda head: b'{"n":%d,' % next(NUMBERS)),
    ),
    # -- answers
    fault(SAME, "thinking differs", SmallModel, "no-plain-thinking", thinking_of=no_thinking(when_streamed=False)),
    fault(
        "a_streamed_reply_equals_a_plain_one",
        "thinking differs",
        SmallModel,
        "no-plain-thinking",
        thinking_of=no_thinking(when_streamed=False),
    ),
    fault(
        "a_stream_ends_with_its_response",
        "pieces of thinking",
        SmallModel,
        "no-streamed-thinking",
        thinking_of=no_thinking(when_streamed=True),
    ),
    fault(SAME, "the parts differ", SmallModel, "no-signature", thinking_of=thinking_without_state),
    fault(EVENTS, "a stream that is cut", SmallStream, "half-lines", lines=lines_of_one_chunk),
    fault(EVENTS, "in one piece it has", SmallStream, "half-characters", lines=lines_decoded_early),
    fault(
        "a_stream_that_ends_too_early_is_an_error",
        "was taken for whole",
        SmallStream,
        "ends-anyhow",
        finish=finish_anyhow,
    ),
    fault("aliases_of_names_are_taken_back", "in a plain reply", SmallModel, "no-alias", call_of=call_without_alias),
    fault(
        "aliases_of_names_are_taken_back",
        "in a plain reply",
        SmallModel,
        "no-alias-plain",
        _decode=decode_without_alias,
    ),
    fault(
        "aliases_of_names_are_taken_back",
        "in a streamed reply",
        SmallModel,
        "no-alias-streamed",
        _decoder=decoder_without_alias,
    ),
    fault("a_reply_goes_back_as_it_came", "the text of a plain reply", SmallWire, "ascii", part=part_in_ascii),
    turn("(provider_state)", "no-state-back", "a_reply_goes_back_as_it_came", encode_turn=turn_without_thinking),
    fault(
        "notices_of_a_request_are_on_its_response",
        "answering.notices",
        SmallModel,
        "no-notices",
        response_of=response_without_notices,
    ),
]


@pytest.mark.parametrize("wrong", FAULTS, ids=lambda each: f"{each.test.removeprefix('test_')}-{each.name}")
def test_a_wrong_wire_is_caught(wrong: Fault) -> None:
    """With a sentence that says what is wrong."""
    with spoiled(wrong):
        said = caught(WireModelContract, wrong.test, patience=20, model_answering=lambda self, turns: SmallModel(turns))

    assert wrong.words in said


@pytest.mark.parametrize("test", sorted(names_of(WireModelContract)))
def test_a_right_wire_passes(test: str) -> None:
    """So that it is the fault that is caught, and nothing else."""
    made = type("Right", (WireModelContract,), {"model_answering": lambda self, turns: SmallModel(turns)})()

    getattr(made, test)()


def test_every_test_of_the_suite_is_shown_to_fail() -> None:
    """Those that the suite for all models has as well are shown there."""
    assert {wrong.test for wrong in FAULTS} >= names_of(WireModelContract) - names_of(ChatModelContract)


def test_a_model_that_is_behind_no_wire_is_told_which_suite_holds() -> None:
    """It has no preview to look at."""
    said = caught(
        WireModelContract,
        "test_every_text_is_sent",
        model_answering=lambda self, turns: ScriptedChatModel(turns),
    )

    assert said == "ScriptedChatModel is no WireModel of agentforge.provider; hold it to ChatModelContract"


def test_a_refusal_without_a_next_step_is_caught() -> None:
    """A refusal is as good as sending, if it helps."""

    def part(self: Any, part: Any, shape: Any, notices: Any) -> object:
        if isinstance(part, ImageContent):
            raise UnsupportedFeatureError("no images")
        return right(SmallWire, "part")(self, part, shape, notices)

    with spoiled(fault("media_are_sent", "", SmallWire, "refuses", part=part)):
        said = caught(WireModelContract, "test_media_are_sent", model_answering=lambda self, turns: SmallModel(turns))

    assert said == "the refusal 'no images' does not say what to do next (next_step)"


def test_a_protocol_without_ids_says_so() -> None:
    """Results are paired by their order there, and nothing is asked about ids."""
    made = type("NoIds", (WireModelContract,), {"sends_ids": False})()

    with pytest.raises(unittest.SkipTest, match="sends_ids is false"):
        made.test_a_result_names_its_call()
