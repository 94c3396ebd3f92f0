"""The recipes of ``config/recipes/``: each runs as its page says, and does what it is there to show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentforge import AgentForge, ChatClient
from agentforge.testing import ScriptedEndpoint, call
from tests.support.recipes import KEY, RECIPES, chat, load, sent

NAMES = sorted(path.parent.name for path in RECIPES.glob("*/agentforge.yaml"))
ORDER = "SO20261113001"
QUESTION = f"帮我看看 {ORDER} 到哪了"
TENANT = "acme"


def test_the_page_has_a_row_for_each_recipe() -> None:
    """And each has a script to run without a key."""
    page = (RECIPES / "README.md").read_text("utf-8")

    assert sorted(re.findall(r"^\| \[`(\w+)`\]\(\1/agentforge\.yaml\)", page, re.MULTILINE)) == NAMES
    assert all((RECIPES / name / "agentforge-scripted.yaml").exists() for name in NAMES)


@pytest.mark.parametrize("recipe", NAMES)
async def test_a_recipe_has_no_faults(recipe: str, tmp_path: Path) -> None:
    """With the model that it names, which nobody asks."""
    environment = {"OPENAI_API_KEY": KEY, "MEMORY_FILE": str(tmp_path / "c.db")}
    app = AgentForge.load(RECIPES / recipe / "agentforge.yaml", environment=environment)
    app.check()
    if recipe == "travel_desk":
        return  # it starts a program: test_recipe_travel_desk.py has that

    async with app:
        assert isinstance(app.get(ChatClient), ChatClient)


# -- the order desk --------------------------------------------------------------------------------


async def test_the_order_is_found_for_the_tenant_and_no_request_holds_the_tenant() -> None:
    """Looked for in everything that went over the wire: paths, headers and the bytes of the bodies."""
    asks = call("query_order", order_no=ORDER)
    async with ScriptedEndpoint([asks, "您的订单在杭州，正在运输途中。"]) as endpoint:
        async with load("order_desk", endpoint) as app:
            reply = await app.get(ChatClient).prompt(QUESTION).tool_context(tenant_id=TENANT).call()
        first, second = endpoint.requests

    assert reply.content == "您的订单在杭州，正在运输途中。"
    [execution] = reply.tool_executions
    assert execution.result.result.place == "Hangzhou"
    [offered] = first.body["tools"]
    assert list(offered["function"]["parameters"]["properties"]) == ["order_no"]
    assert first.body["messages"][-1] == {"role": "user", "content": QUESTION}
    assert second.body["messages"][-1]["role"] == "tool"
    assert json.loads(second.body["messages"][-1]["content"])["status"] == "in transit"
    for request in (first, second):
        assert TENANT.encode() not in sent(request) and b"tenant" not in sent(request)


@pytest.mark.parametrize(
    ("tenant", "told"), [("globex", f"There is no order {ORDER}."), ("acme", '"status":"in transit"')]
)
async def test_one_tenant_sees_nothing_of_another(tenant: str, told: str) -> None:
    """The same question, asked for two tenants: the call says for whom, whatever the file says."""
    turns = [call("query_order", order_no=ORDER), "Done."]
    async with ScriptedEndpoint(turns) as endpoint, load("order_desk", endpoint, TENANT="initech") as app:
        reply = await app.get(ChatClient).prompt(QUESTION).tool_context(tenant_id=tenant).call()

    assert told in reply.tool_executions[0].result_text()


async def test_a_tenant_that_the_model_makes_up_is_refused() -> None:
    """There is no such parameter, so the tool is not called."""
    turns = [call("query_order", order_no=ORDER, tenant_id="globex"), "Sorry."]
    async with ScriptedEndpoint(turns) as endpoint, load("order_desk", endpoint) as app:
        reply = await app.get(ChatClient).prompt(QUESTION).tool_context(tenant_id=TENANT).call()

    [execution] = reply.tool_executions
    assert execution.has_failed() and "tenant_id" in execution.result_text()


def test_the_order_desk_runs_as_a_program() -> None:
    """For the tenant of the environment, as the file says."""
    known, unknown = (chat("order_desk", QUESTION, environment={"TENANT": name}) for name in (TENANT, "globex"))

    assert known["tool_executions"][0]["outcome"] == "ok"
    assert known["text"].startswith(f"{ORDER} left Hangzhou")
    assert unknown["tool_executions"][0]["outcome"] != "ok"


# -- the others ------------------------------------------------------------------------------------


async def test_a_conversation_goes_on_in_another_process(tmp_path: Path) -> None:
    """The program stores a turn; an application reads it, and a second conversation knows nothing of it."""
    file = {"MEMORY_FILE": str(tmp_path / "conversations.db")}
    chat("remembering", "I live in Oslo.", "--memory-id", "anna", environment=file)

    async with ScriptedEndpoint(["In Oslo.", "I do not know."]) as endpoint:
        async with load("remembering", endpoint, **file) as app:
            for memory_id in ("anna", "ben"):
                await app.get(ChatClient).prompt("Where do I live?").memory_id(memory_id).call()
        anna, ben = ([message["content"] for message in each.body["messages"][1:]] for each in endpoint.requests)

    assert anna == ["I live in Oslo.", "I will keep that in mind.", "Where do I live?"]
    assert ben == ["Where do I live?"]


async def test_the_second_model_answers_for_the_first() -> None:
    """Where the first is overloaded; it is asked for in the same words, and a notice says what happened."""
    turns = [{"error": {"type": "overloaded", "message": "later"}}, "Hello."]
    no_retry = {"AGENTFORGE_BEANS__FIRST__MAX_RETRIES": "0"}
    async with ScriptedEndpoint(turns) as endpoint, load("fallback", endpoint, **no_retry) as app:
        reply = await app.get(ChatClient).prompt("Hello?").call()

    assert reply.content == "Hello."
    assert [request.body["model"] for request in endpoint.requests] == ["gpt-5-mini", "gpt-5-nano"]
    assert len({json.dumps(request.body["messages"]) for request in endpoint.requests}) == 1
    assert [notice.code for notice in reply.notices] == ["model_fallback"]


async def test_what_may_not_pass_does_not_pass() -> None:
    """A password reaches no model; an address in an answer is masked."""
    async with ScriptedEndpoint(["It was anna@example.com."]) as endpoint, load("guarded", endpoint) as app:
        client = app.get(ChatClient)
        refused = await client.prompt("My password: hunter2").call()
        masked = await client.prompt("Who was here?").call()

    assert refused.content == "Please do not send me passwords."
    assert masked.content == "It was ***."
    assert [request.body["messages"][-1]["content"] for request in endpoint.requests] == ["Who was here?"]
