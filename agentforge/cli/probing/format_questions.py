"""Questions about the form of an answer: JSON, a schema, and each beside tools."""

from __future__ import annotations

import json

from agentforge.cli.probing.asker import Asker
from agentforge.cli.probing.call_questions import way_to_call
from agentforge.cli.probing.found import Found, no, yes
from agentforge.cli.probing.judging import cut_short, named, said, schema_problem
from agentforge.cli.probing.questions import SIZE_SCHEMA, WEATHER, WEATHER_IN_OSLO
from agentforge.model import ResponseFormat

__all__ = ("answers_in_json", "answers_in_schema", "calls_beside_json", "calls_beside_schema")

_SCHEMA = ResponseFormat.json_schema(SIZE_SCHEMA, name="size_of_city")


async def answers_in_json(asker: Asker) -> Found:
    """An object and nothing around it."""
    response = await asker.ask("What is Oslo? Put the answer into a JSON object.", response_format=ResponseFormat.JSON)
    try:
        value = json.loads(response.ai_message.text or "")
    except ValueError:
        return cut_short(response) or no(f"it is taken, but {said(response)} came")
    return yes("JSON came") if isinstance(value, dict) else no(f"it is taken, but {said(response)} came")


async def answers_in_schema(asker: Asker) -> Found:
    """A schema, and a question that asks for a value which it does not allow."""
    question = "How big is Oslo? Answer in JSON, and write the size as the word 'gigantic', exactly so."
    response = await asker.ask(question, response_format=_SCHEMA)
    problem = schema_problem(response.ai_message.text or "", SIZE_SCHEMA)
    if problem is None:
        return yes("the answer fits, against the question's wish")
    return cut_short(response) or no(f"it is taken and not held: {problem}")


async def calls_beside_json(asker: Asker) -> Found:
    """A question that needs a tool, while the answer has to be JSON."""
    return await _calls_beside(asker, ResponseFormat.JSON)


async def calls_beside_schema(asker: Asker) -> Found:
    """The same with a schema."""
    return await _calls_beside(asker, _SCHEMA)


async def _calls_beside(asker: Asker, wanted: ResponseFormat) -> Found:
    question = f"{WEATHER_IN_OSLO} Then answer in JSON."
    response = await asker.ask(question, tools=[WEATHER], response_format=wanted, **way_to_call(asker))
    if named(response):
        return yes("a call came")
    return cut_short(response) or no(
        f"the model is held to the form and calls nothing: {said(response)} came", again=True
    )
