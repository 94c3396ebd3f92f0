"""What a strict mode makes a model say, ``null`` for what may be left out, is in no answer's text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import ChatClient, ScriptedChatModel
from agentforge.advisor import OutputType, StructuredMode, StructuredOutputAdvisor
from agentforge.advisor.output_type import OutputTypeError
from agentforge.model import AiMessage
from agentforge.tool.execution import RunFinished
from tests.unit.advisor.structuring import profile, said

PLACE = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "zip": {"type": "string"},
        "mayor": {"type": ["string", "null"]},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "at": {"anyOf": [{"$ref": "#/$defs/part"}, {"type": "string"}]},
    },
    "required": ["city"],
    "$defs": {
        "part": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "number"}},
            "required": ["name"],
        }
    },
}


@dataclass
class Part:
    name: str
    size: float = 1.0
    note: str | None = None


@dataclass
class Place:
    city: str
    zip: str = ""
    parts: list[Part] = field(default_factory=list)


TEXTS: list[tuple[str, Any, str, str]] = [
    ("nothing is left out", PLACE, '{"city":"Oslo" }', '{"city":"Oslo" }'),
    ("a field that cannot be null", PLACE, '{"city":"Oslo","zip":null}', '{"city": "Oslo"}'),
    ("one that can be null says so", PLACE, '{"city":"Oslo","mayor":null}', '{"city":"Oslo","mayor":null}'),
    (
        "in lists and behind references",
        PLACE,
        '{"city":"Oslo","parts":[{"name":"a","size":null},{"name":"b","size":2.0}]}',
        '{"city": "Oslo", "parts": [{"name": "a"}, {"name": "b", "size": 2.0}]}',
    ),
    ("in a branch", PLACE, '{"city":"Oslo","at":{"name":"a","size":null}}', '{"city": "Oslo", "at": {"name": "a"}}'),
    ("the word null in a text", PLACE, '{"city":"null"}', '{"city":"null"}'),
    ("letters stay letters", PLACE, '{"city":"Tromsø","zip":null}', '{"city": "Tromsø"}'),
    (
        "digits stay digits",
        {"type": "object", "properties": {"n": {"type": "number"}, "x": {"type": "string"}}},
        '{"n":1.00000000000000000001,"x":null}',
        '{"n": 1.00000000000000000001}',
    ),
    (
        "letters stay letters where digits stay digits",
        {"type": "object", "properties": {"nø": {"type": "number"}, "x": {"type": "string"}}},
        '{"nø":1.00000000000000000001,"x":null}',
        '{"nø": 1.00000000000000000001}',
    ),
    (
        "a type of Python",
        Place,
        '{"city":"Oslo","zip":null,"parts":[{"name":"a","size":null,"note":null}]}',
        '{"city": "Oslo", "parts": [{"name": "a", "note": null}]}',
    ),
    ("a list", list[Part], '{"value":[{"name":"a","size":null}]}', '{"value": [{"name": "a"}]}'),
    ("a list without the object around it", list[Part], '[{"name":"a","size":null}]', '[{"name": "a"}]'),
]


@pytest.mark.parametrize(("of", "text", "kept"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS])
def test_only_what_was_left_out_is_left_out_and_the_value_is_the_same(of: Any, text: str, kept: str) -> None:
    output = OutputType(of)
    assert output.read(text) == (kept, output.parse(text)) == output.read(kept)


_parts = st.fixed_dictionaries(
    {"name": st.text(max_size=4)}, optional={"size": st.none() | st.floats(-9, 9), "more": st.none() | st.integers()}
)


@given(
    st.fixed_dictionaries(
        {"city": st.text(max_size=4)},
        optional={
            "zip": st.none() | st.text(max_size=4),
            "mayor": st.none() | st.text(max_size=4),
            "parts": st.none() | st.lists(_parts, max_size=3),
            "at": st.none() | _parts | st.text(max_size=4),
        },
    )
)
def test_the_text_and_the_value_of_an_answer_say_the_same(answer: dict[str, Any]) -> None:
    """For a schema the value is what the text says, whatever the model named."""
    output = OutputType[Any](PLACE)
    try:
        text, value = output.read(json.dumps(answer))
    except OutputTypeError:
        assert "more" in json.dumps(answer)  # a field that the schema does not know
        return
    assert json.loads(text) == value


@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_reply_and_the_history_hold_the_answer_without_them(mode: StructuredMode, streamed: bool) -> None:
    """In every mode: what is read later is what the user's own schema says."""
    text, kept = '{"city":"Oslo","zip":null,"mayor":null}', '{"city": "Oslo", "mayor": null}'
    model = ScriptedChatModel([said(mode, text)], profile=profile())
    prompt = ChatClient(model, advisors=[StructuredOutputAdvisor(PLACE, mode)]).prompt("Where?")
    if streamed:
        async with prompt.stream() as events:
            done = [event async for event in events][-1]
        assert isinstance(done, RunFinished)
        result = done.result
    else:
        result = await prompt.call()

    assert result.content == kept
    last = result.messages[-1]
    assert isinstance(last, AiMessage) and last.text == kept
