"""Questions about calls: whether they come, and whether each choice and the switch for parallel ones is honoured."""

from __future__ import annotations

from agentforge.cli.probing.asker import Asker, Conversation
from agentforge.cli.probing.found import Found, Skipped, no, unsure, yes
from agentforge.cli.probing.judging import cut_short, misfit, named, said
from agentforge.cli.probing.questions import BOTH_CITIES, CLOCK, HEATING, NOTE, WEATHER, WEATHER_IN_OSLO
from agentforge.cli.text import count
from agentforge.model import ToolChoice, UserMessage

__all__ = (
    "calls_in_parallel",
    "calls_one_at_a_time",
    "calls_tools",
    "holds_strict",
    "honours_allowed",
    "honours_auto",
    "honours_none",
    "honours_required",
    "honours_tool",
    "way_to_call",
)


def way_to_call(asker: Asker) -> dict[str, ToolChoice]:
    """The parameters with which this model calls. Raises `Skipped` where no way is known."""
    if asker.calling is None:
        raise Skipped("no call can be got from this model")
    return {} if asker.calling is ToolChoice.AUTO else {"tool_choice": asker.calling}


async def calls_tools(asker: Asker) -> Found:
    """One tool and a question that needs it."""
    question = (UserMessage(WEATHER_IN_OSLO),)
    response = await asker.ask(question, tools=[WEATHER])
    calls = response.ai_message.tool_execution_requests
    if not calls:
        return cut_short(response) or no(f"no call came, but {said(response)}", again=True)
    problem = next((found for call in calls if (found := misfit(call, WEATHER))), None)
    if problem is not None:
        return cut_short(response) or unsure(f"a call came that does not fit: {problem}")
    asker.called = Conversation(question, {"tools": [WEATHER]}, response)
    return yes(f"{calls[0].name} {calls[0].arguments[:60]}")


async def honours_auto(asker: Asker) -> Found:
    """The same, and the choice said."""
    response = await asker.ask(WEATHER_IN_OSLO, tools=[WEATHER], tool_choice=ToolChoice.AUTO)
    if named(response):
        return yes("it is taken, and a call came")
    return cut_short(response) or no(f"no call came, but {said(response)}", again=True)


async def honours_none(asker: Asker) -> Found:
    """A question that asks for a call, and the ban of it."""
    way_to_call(asker)
    response = await asker.ask(WEATHER_IN_OSLO, tools=[WEATHER], tool_choice=ToolChoice.NONE)
    if named(response):
        return no(f"{said(response)} came all the same")
    return cut_short(response) or yes("no call came")


async def honours_required(asker: Asker) -> Found:
    """A question that needs no tool."""
    response = await asker.ask("Say hello.", tools=[WEATHER], tool_choice=ToolChoice.REQUIRED)
    if named(response):
        return yes("a call came though nothing asked for one")
    return cut_short(response) or no(f"no call came, but {said(response)}")


async def honours_tool(asker: Asker) -> Found:
    """A question for one tool, and the order to call the other."""
    choice = ToolChoice.tool(CLOCK.name)
    response = await asker.ask(WEATHER_IN_OSLO, tools=[WEATHER, CLOCK], tool_choice=choice)
    if set(named(response)) == {CLOCK.name}:
        return yes("the named tool was called, and no other")
    return cut_short(response) or no(f"{said(response)} came instead of {CLOCK.name}")


async def honours_allowed(asker: Asker) -> Found:
    """A question for a tool that is not among those allowed."""
    way_to_call(asker)
    choice = ToolChoice.allowed([CLOCK.name], required=asker.forces)
    response = await asker.ask(WEATHER_IN_OSLO, tools=[WEATHER, CLOCK, NOTE], tool_choice=choice)
    if any(notice.code == "tools_narrowed" for notice in response.notices):
        raise Skipped("this form has no list of allowed tools: only those are offered instead")
    if set(named(response)) == {CLOCK.name}:
        return yes("only an allowed tool was called")
    if not named(response) and not asker.forces:
        return cut_short(response) or yes("no other tool was called")
    return cut_short(response) or no(f"{said(response)} came instead of {CLOCK.name}")


async def calls_in_parallel(asker: Asker) -> Found:
    """Two questions that do not need one another."""
    response = await asker.ask(BOTH_CITIES, tools=[WEATHER], **way_to_call(asker))
    calls = named(response)
    if len(calls) > 1:
        return yes(f"{len(calls)} calls in one reply")
    if not calls:
        return cut_short(response) or unsure(f"no call came, but {said(response)}")
    return cut_short(response) or no("one call at a time", again=True)


async def calls_one_at_a_time(asker: Asker) -> Found:
    """The same, and parallel calls turned off."""
    response = await asker.ask(BOTH_CITIES, tools=[WEATHER], parallel_tool_calls=False, **way_to_call(asker))
    calls = named(response)
    if len(calls) > 1:
        return no(f"{count(len(calls), 'call')} came all the same")
    if not calls:
        return cut_short(response) or unsure(f"no call came, but {said(response)}")
    return cut_short(response) or yes("one call came")


async def holds_strict(asker: Asker) -> Found:
    """A strict tool, and a question that asks for a value which its schema does not allow."""
    response = await asker.ask(
        "Set the heating of the kitchen to the level 'lukewarm', written exactly so.",
        tools=[HEATING],
        **way_to_call(asker),
    )
    calls = response.ai_message.tool_execution_requests
    if not calls:
        return cut_short(response) or unsure(f"it is taken, but no call came: {said(response)}")
    problem = next((found for call in calls if (found := misfit(call, HEATING))), None)
    if problem is None:
        return yes("the arguments fit, against the question's wish")
    return cut_short(response) or no(f"it is taken and not held: {problem}")
