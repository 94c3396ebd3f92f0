"""The recipe ``router``: three experts, each an AI service with a model of its own, are the tools of another client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from agentforge import AgentForge, ChatClient, ToolChatResult, ToolOutcome
from agentforge.advisor import BudgetExceededError
from agentforge.client import Prompt
from agentforge.model import ToolExecutionRequest
from agentforge.testing import EndpointRequest, ScriptedEndpoint, call
from tests.support.recipes import chat, load, names_of, sent

EXPERTS = {"medical": "ask_physician", "legal": "ask_lawyer", "technical": "ask_technician"}
"""The name of each expert's model in these tests, and of the tool that it is to the router."""
ROLES = {"medical": "You are a physician.", "legal": "You are a lawyer.", "technical": "You are a technician."}
MODELS = {"OPENAI_MODEL": "router", **{f"{name.upper()}_MODEL": name for name in EXPERTS}}
USERS = {"u-7f3a": ["Router AX-2, firmware 1.9"], "u-5d02": ["Printer P-40", "Laptop N-13"]}
BROKEN = "我的路由器坏了"

# What the user writes, whom the router asks, and in which words.
QUESTIONS = [
    ("我头疼三天了，该吃什么药？", "medical", "头疼三天，可以用什么药？"),
    ("My head has hurt for three days.", "medical", "Headache for three days: which medicine?"),
    ("房东不退押金怎么办？", "legal", "租约结束后房东不退押金，如何处理？"),
    ("The landlord keeps my deposit!", "legal", "A landlord keeps the deposit after the lease: what can be done?"),
    (f"{BROKEN}，怎么办？", "technical", "路由器无法连接，如何排查？"),
    ("Nothing works since the update.", "technical", "No connection after an update: what to check?"),
]


@dataclass
class Desk:
    """The recipe at work, its models being one endpoint that tells them apart by name."""

    app: AgentForge
    endpoint: ScriptedEndpoint

    def prompt(self, text: str) -> Prompt:
        return self.app.get(ChatClient).prompt(text)

    def asked(self, model: str) -> list[EndpointRequest]:
        return [request for request in self.endpoint.requests if request.body["model"] == model]


@asynccontextmanager
async def desk(turns: Mapping[str, list[Any]], **environment: str) -> AsyncIterator[Desk]:
    """A desk whose models, by name, say these turns; a further one is an error."""
    left = {name: iter(told) for name, told in turns.items()}

    def reply(request: EndpointRequest) -> Any:
        return next(left[request.body["model"]])

    endpoint = ScriptedEndpoint([reply], repeat=True)
    async with endpoint, load("router", endpoint, **MODELS, **environment) as app:
        yield Desk(app, endpoint)


async def hold(prompt: Prompt, *, streamed: bool = False) -> ToolChatResult:
    """The turn, over the face that is asked for."""
    if not streamed:
        return await prompt.call()
    async with prompt.stream() as events:
        async for _ in events:
            pass
    return events.result


def asks(expert: str, question: str) -> ToolExecutionRequest:
    """The router's call of an expert."""
    return call(EXPERTS[expert], question=question)


def messages_of(request: EndpointRequest) -> list[tuple[str, object]]:
    """Who says what in a request, but for the system message, which is the first."""
    first, *rest = request.body["messages"]
    assert first["role"] == "system"
    return [(each["role"], each.get("content")) for each in rest]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("text", "expert", "question"), QUESTIONS)
async def test_the_right_expert_is_asked_with_a_prompt_of_its_own(
    text: str, expert: str, question: str, streamed: bool
) -> None:
    """The router sees three tools and none of an expert's; the expert sees the question and nothing of the router; its
    answer is what the router reads."""
    turns: dict[str, list[Any]] = {"router": [asks(expert, question), "Done."], expert: [f"An answer of {expert}."]}
    async with desk(turns) as at:
        reply = await hold(at.prompt(text), streamed=streamed)

    assert [request.body["model"] for request in at.endpoint.requests] == ["router", expert, "router"]
    first, second = at.asked("router")
    [inner] = at.asked(expert)
    assert names_of(first) == names_of(second) == list(EXPERTS.values())
    assert names_of(inner) == (["devices"] if expert == "technical" else [])

    system, asked = inner.body["messages"]
    assert system["content"].startswith(ROLES[expert])
    assert asked == {"role": "user", "content": question}
    assert text.lower().encode() in sent(first) and text.lower().encode() not in sent(inner)

    assert second.body["messages"][-1]["role"] == "tool"
    assert second.body["messages"][-1]["content"] == f"An answer of {expert}."
    [execution] = reply.tool_executions
    assert (execution.request.name, execution.outcome) == (EXPERTS[expert], ToolOutcome.OK)
    assert (execution.result_text(), reply.content) == (f"An answer of {expert}.", "Done.")


async def test_two_experts_in_one_reply_are_asked_side_by_side() -> None:
    """The first answers only after the second has; the router reads them in the order of its calls all the same."""
    answered = asyncio.Event()

    async def slow(request: EndpointRequest) -> str:
        await answered.wait()
        return "Rest."

    def quick(request: EndpointRequest) -> str:
        answered.set()
        return "Write to him."

    both = [asks("medical", "Is mould harmful?"), asks("legal", "There is mould: who pays?")]
    async with desk({"router": [both, "Rest, and write."], "medical": [slow], "legal": [quick]}) as at:
        reply = await at.prompt("There is mould in my room.").call()

    told = [(each["role"], each["content"]) for each in at.asked("router")[1].body["messages"][-2:]]
    assert told == [("tool", "Rest."), ("tool", "Write to him.")]
    assert [each.result_text() for each in reply.tool_executions] == ["Rest.", "Write to him."]


def used(tokens: int, **turn: Any) -> dict[str, Any]:
    """A turn that says what it took."""
    return {**turn, "usage": {"input": tokens - 1, "output": 1}}


# Eight replies, of which no two sums are alike: a total shows which are in it.
SPENDING: dict[str, list[Any]] = {
    "router": [
        used(1_000, calls=[{"name": name, "args": {"question": "Well?"}} for name in EXPERTS.values()]),
        used(2_000, calls=[{"name": "ask_lawyer", "args": {"question": "And then?"}}]),
        used(4_000, text="Done."),
    ],
    "medical": [used(10_000, text="Rest.")],
    "legal": [used(100_000, text="Write."), used(200_000, text="Sue.")],
    "technical": [used(1_000_000, calls=[{"name": "devices"}]), used(2_000_000, text="Update it.")],
}


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_tokens_of_all_runs_are_the_turns(streamed: bool) -> None:
    """Those of the router and of every expert, each once."""
    no_limit = {"AGENTFORGE_BEANS__ASSISTANT__ADVISORS": "[]"}
    async with desk(SPENDING, **no_limit) as at:
        reply = await hold(at.prompt("Well?"), streamed=streamed)

    assert len(at.endpoint.requests) == 8
    assert reply.token_usage.total_tokens == 3_317_000
    assert (reply.token_usage.input_tokens, reply.token_usage.output_tokens) == (3_317_000 - 8, 8)


# After the router's first reply and the experts that it asks 3,111,000 tokens are used, after its second 3,313,000.
BUDGETS = [(1_000, 1), (3_111_000, 1), (3_111_001, 2), (3_313_000, 2), (3_313_001, 3)]


@pytest.mark.parametrize(("tokens", "rounds"), BUDGETS)
async def test_the_routers_budget_counts_its_experts(tokens: int, rounds: int) -> None:
    """No request of the router begins once it is used up, whoever used it."""
    budget = {"AGENTFORGE_BEANS__ASSISTANT__ADVISORS": f"[{{type: budget, tokens: {tokens}, on_limit: raise}}]"}
    async with desk(SPENDING, **budget) as at:
        if rounds == 3:
            assert (await at.prompt("Well?").call()).content == "Done."
        else:
            with pytest.raises(BudgetExceededError, match="tokens"):
                await at.prompt("Well?").call()

    assert len(at.asked("router")) == rounds


async def test_an_expert_remembers_its_own_part_of_the_conversation() -> None:
    """Under the router's memory id and the tool's name; another conversation is another, and so is the router's own."""
    turns: dict[str, list[Any]] = {
        "router": [reply for at in range(3) for reply in (asks("technical", f"Question {at}?"), f"Told {at}.")],
        "technical": ["Answer 0.", "Answer 1.", "Answer 2.", "Answer 3."],
    }
    async with desk(turns) as at:
        for memory_id in ("anna", "anna", "ben"):
            await at.prompt(f"Text for {memory_id}").memory_id(memory_id).call()
        technician = at.app.get("technical")
        assert await technician.ask_technician("Question 3?", "anna/ask_technician") == "Answer 3."

    first, second, ben, directly = map(messages_of, at.asked("technical"))
    turn_0 = [("user", "Question 0?"), ("assistant", "Answer 0.")]
    turn_1 = [("user", "Question 1?"), ("assistant", "Answer 1.")]
    assert first == [("user", "Question 0?")]
    assert second == [*turn_0, ("user", "Question 1?")]
    assert ben == [("user", "Question 2?")]
    assert directly == [*turn_0, *turn_1, ("user", "Question 3?")]
    routed = messages_of(at.asked("router")[2])
    assert routed == [("user", "Text for anna"), ("assistant", "Told 0."), ("user", "Text for anna")]


async def test_an_expert_without_a_memory_remembers_nothing() -> None:
    """Whatever the conversation is called."""
    turns: dict[str, list[Any]] = {
        "router": [asks("medical", "First?"), "Told.", asks("medical", "Second?"), "Told."],
        "medical": ["Rest.", "Rest more."],
    }
    async with desk(turns) as at:
        for _ in range(2):
            await at.prompt("Well?").memory_id("anna").call()

    assert [messages_of(request) for request in at.asked("medical")] == [[("user", "First?")], [("user", "Second?")]]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("user", USERS)
async def test_the_users_id_reaches_the_experts_tool_and_no_request(user: str, streamed: bool) -> None:
    """Two runs deep, and looked for in all that went over the wire; not even the parameter's name is there."""
    turns: dict[str, list[Any]] = {
        "router": [asks("technical", "What is broken?"), "Done."],
        "technical": [call("devices"), "That one."],
    }
    async with desk(turns) as at:
        await hold(at.prompt("It is broken.").tool_context(user_id=user), streamed=streamed)

    last = at.asked("technical")[1].body["messages"][-1]
    assert (last["role"], json.loads(last["content"])) == ("tool", USERS[user])
    [offered] = at.asked("technical")[0].body["tools"]
    assert offered["function"]["parameters"].get("properties", {}) == {}
    assert len(at.endpoint.requests) == 4
    for request in at.endpoint.requests:
        assert not any(each.encode() in sent(request) for each in (*USERS, "user_id"))


async def test_two_users_at_the_same_time_are_looked_up_each() -> None:
    """Of one router: no technician answers before both were asked."""
    both = asyncio.Barrier(len(USERS))

    async def looks_up(request: EndpointRequest) -> ToolExecutionRequest:
        await both.wait()
        return call("devices")

    def repeats(request: EndpointRequest) -> str:
        return str(request.body["messages"][-1]["content"])

    turns: dict[str, list[Any]] = {
        "router": [asks("technical", "Which?"), asks("technical", "Which?"), repeats, repeats],
        "technical": [looks_up, looks_up, repeats, repeats],
    }
    async with desk(turns) as at:
        replies = await asyncio.gather(*(at.prompt("Which?").tool_context(user_id=user).call() for user in USERS))

    assert [json.loads(reply.content or "") for reply in replies] == list(USERS.values())


async def test_the_router_cannot_call_what_is_an_experts() -> None:
    """It was not offered, so it does not run; what it is told names the experts."""
    async with desk({"router": [call("devices"), "Sorry."]}) as at:
        reply = await at.prompt(BROKEN).call()

    [execution] = reply.tool_executions
    assert execution.outcome is ToolOutcome.UNKNOWN_TOOL
    assert execution.result_text() == (
        "There is no tool named 'devices'. Available tools: ask_physician, ask_lawyer, ask_technician."
    )


async def test_an_expert_that_cannot_answer_leaves_the_others_their_answers() -> None:
    """The router is told which one failed, and goes on."""
    both = [asks("medical", "Is it broken?"), asks("legal", "Who pays?")]
    turns: dict[str, list[Any]] = {
        "router": [both, "Half."],
        "medical": [{"error": {"type": "invalid_request"}}],
        "legal": ["He does."],
    }
    async with desk(turns) as at:
        reply = await at.prompt("My arm!").call()

    assert [each.outcome for each in reply.tool_executions] == [ToolOutcome.FAILED, ToolOutcome.OK]
    told = [each["content"] for each in at.asked("router")[1].body["messages"][-2:]]
    assert "scripted invalid_request error" in told[0] and told[1] == "He does."
    assert reply.content == "Half."


@pytest.mark.parametrize("text", ["房东不修路由器，我能少付房租吗？", "My router is broken; may I pay less?"])
def test_it_runs_as_a_program(text: str) -> None:
    """The script asks two experts, whatever it is asked."""
    said = chat("router", text)

    assert [(each["name"], each["outcome"]) for each in said["tool_executions"]] == [
        ("ask_technician", "ok"),
        ("ask_lawyer", "ok"),
    ]
