"""Calls of a server's tools: what an outcome means here, what is told meanwhile, and how a call ends early."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from agentforge import Run, ScriptedChatModel, ToolService
from agentforge.errors import ToolArgumentsError, ToolExecutionError
from agentforge.masking import Secrets
from agentforge.tool.execution import ToolOutcome
from agentforge_mcp.answers import Answers
from agentforge_mcp.errors import McpLostError, McpRequestError
from agentforge_mcp.executor import context_meta
from agentforge_mcp.options import ElicitationRequest, McpOptions
from agentforge_mcp.telling import Telling
from plugins.mcp.tests.support import ask, bound, run_tool, source_of


def said(journal: Path, method: str) -> list[Any]:
    """The parameters of all messages of a method that a server noted."""
    messages = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    return [message.get("params", {}) for message in messages if message.get("method") == method]


ERRORS = [
    (
        "the tool failed",
        {"result": {"content": [{"type": "text", "text": "no such order"}], "isError": True}},
        ToolExecutionError,
        "FAILED",
        "no such order",
    ),
    (
        "arguments that the server refuses",
        {"error": {"code": -32602, "message": "n must be even"}},
        ToolArgumentsError,
        "INVALID_ARGUMENTS",
        "n must be even",
    ),
    (
        "another error of the protocol",
        {"error": {"code": -32603, "message": "out of order"}},
        McpRequestError,
        "FAILED",
        "the MCP server 'scripted' refused the call of 't': out of order (-32603)",
    ),
    (
        "a code that the SDK uses itself",
        {"error": {"code": -32000, "message": "busy"}},
        McpRequestError,
        "FAILED",
        "refused the call of 't': busy",
    ),
    (
        "an answer that breaks the protocol",
        {"result": {"content": [{"type": "smell"}]}},
        McpLostError,
        "FAILED",
        "the answer of the MCP server 'scripted' to the call of 't' cannot be read: it breaks the protocol (content.0",
    ),
    ("no answer at all", {"exit": 3}, McpLostError, "FAILED", "exited with code 3 before it answered the call of 't'"),
]


@pytest.mark.parametrize(
    ("action", "kind", "outcome", "words"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS]
)
async def test_each_kind_of_failure_has_its_outcome(
    action: Mapping[str, Any], kind: type[Exception], outcome: str, words: str
) -> None:
    """The model is told, and the siblings keep their results."""
    async with source_of({"tools": ["t", "ok"], "on": {"t": [action]}}) as source:
        with pytest.raises(kind, match=re.escape(words)):
            await run_tool((await bound(source))["t"])
        if "exit" in action:
            return
        result = await ask(source, ("t", {}), ("ok", {"n": 1}), arguments_error_handler="return_to_model")
        first, second = result.tool_executions
        assert first.outcome is ToolOutcome[outcome] and words in first.result_text()
        assert (second.outcome, second.result_text()) == (ToolOutcome.OK, '{"n": 1}')


async def test_arguments_that_do_not_fit_are_not_sent(tmp_path: Path) -> None:
    """Numbers go out exactly as the model wrote them, however long."""
    journal = tmp_path / "journal"
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = {"tools": [{"name": "t", "inputSchema": schema}], "journal": str(journal)}
    async with source_of(script) as source:
        options = {"arguments_error_handler": "return_to_model"}
        refused = await ask(source, ("t", {"n": "x"}), **options)
        assert refused.tool_executions[0].outcome is ToolOutcome.INVALID_ARGUMENTS
        assert said(journal, "tools/call") == []
        fine = await ask(source, ("t", {"n": 12345678901234567890123}), **options)
        assert fine.tool_executions[0].result_text() == '{"n": 12345678901234567890123}'


async def test_a_hundred_calls_side_by_side_each_get_their_own_answer() -> None:
    """Ten are cancelled by their callers, which disturbs no other; as many run at once as are allowed."""
    async with source_of({"tools": ["echo", "slow"], "on": {"slow": [{"sleep": 0.2}, {"text": "late"}]}}) as source:
        tools = await bound(source)
        calls = [asyncio.ensure_future(run_tool(tools["echo"], {"n": number})) for number in range(90)]
        cancelled = [asyncio.ensure_future(run_tool(tools["slow"])) for _ in range(10)]
        await asyncio.sleep(0.05)
        for each in cancelled:
            each.cancel()
        texts = [result.text for result in await asyncio.gather(*calls)]
        assert texts == [f'{{"n": {number}}}' for number in range(90)]
        assert all(
            isinstance(each, asyncio.CancelledError)
            for each in await asyncio.gather(*cancelled, return_exceptions=True)
        )
        assert (await run_tool(tools["echo"], {"n": 1})).text == '{"n": 1}'


async def test_calls_wait_for_one_another_where_the_server_takes_few() -> None:
    """Two at a time, here."""
    script = {"tools": ["slow"], "on": {"slow": [{"sleep": 0.1}, {"text": "ok"}]}}
    async with source_of(script, connection={"max_concurrent_calls": 2}) as source:
        tool = (await bound(source))["slow"]
        begun = time.monotonic()
        await asyncio.gather(*[run_tool(tool) for _ in range(4)])
        assert time.monotonic() - begun > 0.18


@pytest.mark.parametrize("how", ["time-out of the tool", "time-out of the connection", "cancelled"])
async def test_a_call_that_ends_early_is_cancelled_once_and_its_late_answer_dropped(how: str, tmp_path: Path) -> None:
    """The server is told with the request's id; what it says afterwards disturbs no later call."""
    journal = tmp_path / "journal"
    script = {
        "tools": ["slow", "fast"],
        "on": {"slow": [{"until_cancelled": True}, {"text": "late"}]},
        "journal": str(journal),
    }
    timeout = 0.1 if how == "time-out of the tool" else None
    limit = 0.1 if how == "time-out of the connection" else None
    async with source_of(
        script, timeout=timeout, connection={"call_timeout": limit}, effects={"slow": "write"}
    ) as source:
        tools = await bound(source)
        if how == "cancelled":
            call = asyncio.ensure_future(run_tool(tools["slow"]))
            await asyncio.sleep(0.1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        else:
            begun = time.monotonic()
            result = await ask(source, ("slow", {}))
            assert time.monotonic() - begun < 4
            assert result.tool_executions[0].outcome is ToolOutcome.IN_DOUBT
        assert (await run_tool(tools["fast"], {"n": 1})).text == '{"n": 1}'
        await asyncio.sleep(0.05)
        assert (await run_tool(tools["fast"], {"n": 2})).text == '{"n": 2}'
    (cancelled,) = said(journal, "notifications/cancelled")
    messages = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    slow = next(m for m in messages if m.get("method") == "tools/call" and m["params"]["name"] == "slow")
    assert cancelled["requestId"] == slow["id"]


async def test_a_start_that_takes_too_long_is_not_cancelled_on_the_wire(tmp_path: Path) -> None:
    """The protocol forbids it for the handshake."""
    journal = tmp_path / "journal"
    script = {"journal": str(journal), "mute": True}
    source = source_of(script, connection={"start_timeout": 0.2, "close_timeout": 0.2})
    with pytest.raises(ToolExecutionError, match=r"did not answer within 0\.2 s"):
        await source.start()
    methods = [json.loads(line)["method"] for line in journal.read_text("utf-8").splitlines()]
    assert methods == ["server/discover", "initialize"]


LOGGED = [
    ("half way", "half way"),
    ({"msg": "step 0", "extra": None}, "step 0"),
    ({"message": "step 1"}, "step 1"),
    ({"step": 2, "ok": True}, '{"step": 2, "ok": true}'),
    (7, "7"),
]


async def test_what_a_server_logs_is_told_as_text() -> None:
    """Whatever it is."""
    logs = [
        {"notify": {"method": "notifications/message", "params": {"level": "info", "data": row[0]}}} for row in LOGGED
    ]
    said: list[str] = []
    async with source_of({"tools": ["t"], "on": {"t": [*logs, {"text": "done"}]}}) as source:
        await source.connection.call_tool("t", on_log=lambda level, text: said.append(text))
    assert said == [row[1] for row in LOGGED]


async def test_progress_and_logs_are_notices_of_the_run() -> None:
    """In order, before the result of the call."""
    log = {"method": "notifications/message", "params": {"level": "info", "data": "half way"}}
    actions = [
        {"progress": {"progress": 1, "total": 2}},
        {"notify": log},
        {"sleep": 0.02},
        {"progress": {"progress": 2, "total": 2, "message": "almost"}},
        {"text": "done"},
    ]
    async with source_of({"tools": ["t"], "on": {"t": actions}}, name="desk") as source:
        service = ToolService(source)
        model = ScriptedChatModel([{"calls": [{"id": "c1", "name": "t", "args": {}}]}, {"text": "done"}])
        seen = []
        async with service.stream(model, None, "go") as events:
            async for event in events:
                name = type(event).__name__
                if name == "Notice":
                    seen.append((event.code, event.message))
                elif name in ("ToolStarted", "ToolFinished"):
                    seen.append((name, ""))
    assert seen == [
        ("ToolStarted", ""),
        ("mcp_progress", "1 of 2"),
        ("mcp_log", "half way"),
        ("mcp_progress", "almost"),
        ("ToolFinished", ""),
    ]


def test_a_synchronous_program_calls_tools_too() -> None:
    """Its calls run on another loop than the server's, which is started on whichever is first."""
    model = ScriptedChatModel([{"calls": [{"id": "c1", "name": "echo", "args": {"n": 1}}]}, {"text": "done"}])
    source = source_of({"tools": ["echo"]})

    async def main() -> Any:
        async with source:
            service = ToolService(source)
            with service:
                return await asyncio.to_thread(service.chat_sync, model, None, "go")

    result = asyncio.run(main())
    assert [each.result_text() for each in result.tool_executions] == ['{"n": 1}']
    assert source.connection.state == "closed"


def test_a_loop_that_has_ended_takes_its_server_along() -> None:
    """The next use starts it again on its own loop."""
    source = source_of({"tools": ["echo"]})

    async def once(number: int) -> str:
        tool = (await bound(source))["echo"]
        return str((await run_tool(tool, {"n": number})).text)

    first = asyncio.run(once(1))
    second = asyncio.run(once(2))
    asyncio.run(source.aclose())
    assert (first, second) == ('{"n": 1}', '{"n": 2}')


class Notes:
    """Elicitation handlers, and what they were asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[ElicitationRequest] = []

    async def __call__(self, request: ElicitationRequest) -> Any:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


FORM = {"message": "Which city?", "requestedSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}
QUESTION = {"method": "elicitation/create", "params": {"mode": "form", **FORM}}
ANSWERS = [
    ("refused by default", None, {"error": -32600}),
    ("answered", Notes({"city": "Paris"}), {"action": "accept", "content": {"city": "Paris"}}),
    ("declined", Notes(None), {"action": "decline"}),
    ("a handler that fails", Notes(ValueError("secret")), {"action": "cancel"}),
]


@pytest.mark.parametrize("modern", [False, True], ids=["asked in between", "asked by the result"])
@pytest.mark.parametrize(("handler", "answer"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
async def test_a_server_that_asks_the_user_is_answered_as_the_file_says(
    handler: Notes | None, answer: dict[str, Any], modern: bool
) -> None:
    """In the newest version the question is a result to answer, and the call is made again with the answer."""
    old = [{"ask": QUESTION}]
    new = [{"input_required": {"inputRequests": {"q": QUESTION}, "requestState": "opaque"}}]
    script = {"tools": ["t"], "on": {"t": new if modern else old}, "modern": modern}
    async with source_of(script, name="desk", connection={"elicitation": handler}) as source:
        tool = (await bound(source))["t"]
        if modern and handler is None:
            with pytest.raises(McpRequestError, match="Elicitation not supported"):
                await run_tool(tool)
            return
        found = json.loads((await run_tool(tool)).text)
    if modern:
        assert found == [{"q": answer}, "opaque"]
    elif handler is None:
        assert found["error"]["code"] == answer["error"]
    else:
        assert found["result"] == answer
    if handler is not None:
        assert handler.asked[-1].server == "desk" and handler.asked[-1].message == "Which city?"
        assert handler.asked[-1].schema["properties"] == {"city": {"type": "string"}}


async def test_a_server_that_asks_again_and_again_is_not_answered_for_ever() -> None:
    """Nor one that only wants its state back."""
    script = {
        "tools": ["t"],
        "modern": True,
        "on": {"t": [{"result": {"resultType": "input_required", "requestState": "x"}}]},
    }
    async with source_of(script, connection={"max_input_rounds": 2}) as source:
        with pytest.raises(McpRequestError, match="again and again"):
            await run_tool((await bound(source))["t"])


SAMPLING = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}], "maxTokens": 9_999},
}


@pytest.mark.parametrize("allowed", [False, True])
async def test_a_server_asks_a_model_only_where_the_file_names_one(allowed: bool) -> None:
    """And for no more tokens than it says."""
    model = ScriptedChatModel([{"text": "4", "usage": {"input": 3, "output": 5}}])
    script = {"tools": ["t"], "on": {"t": [{"ask": SAMPLING}]}}
    options = {"sampling": model, "sampling_tokens": 50} if allowed else {}
    async with source_of(script, connection=options) as source:
        run = Run()
        found = json.loads((await run_tool((await bound(source))["t"], {}, run)).text)
    if allowed:
        assert run.token_usage.output_tokens == 5, "what the server had the model write is the run's to pay"
        assert found["result"]["content"] == {"type": "text", "text": "4"}
        assert model.requests[0].parameters.max_output_tokens == 50
    else:
        assert found["error"]["message"] == "Sampling not supported"


async def test_what_a_client_can_do_is_only_said_where_it_is_allowed(tmp_path: Path) -> None:
    """So that a server does not even ask."""
    for name, options, expected in (
        ("nothing", {}, set()),
        ("both", {"elicitation": Notes(None), "sampling": ScriptedChatModel([])}, {"elicitation", "sampling"}),
    ):
        journal = tmp_path / name
        async with source_of({"tools": [], "journal": str(journal)}, connection=options):
            (params,) = said(journal, "initialize")
        assert set(params["capabilities"]) == expected
        assert params["clientInfo"]["name"] == "agentforge"


async def test_a_server_is_told_of_the_run_what_the_file_names_and_nothing_else(tmp_path: Path) -> None:
    """By default nothing; what is not there is not sent."""
    run = Run(tenant="acme", roles=["agent"], user_data={"token": "sk-canary-22", "region": "eu", "at": object})
    for names, expected in (((), {}), (("tenant", "region", "user"), {"tenant": "acme", "region": "eu"})):
        journal = tmp_path / f"journal{len(names)}"
        async with source_of({"tools": ["t"], "journal": str(journal)}, send_context=names) as source:
            await run_tool((await bound(source))["t"], {}, run)
        (params,) = said(journal, "tools/call")
        meta = {key: value for key, value in params.get("_meta", {}).items() if key != "progressToken"}
        assert meta == expected
        assert "sk-canary-22" not in journal.read_text("utf-8")
    assert context_meta(run.context, ("at",)) == {"at": "<class 'object'>"}


EXTRAS = {
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    "tools": ["list_prompts"],
    "answers": {
        "resources/list": {"result": {"resources": [{"uri": "file:///a", "name": "a", "mimeType": "text/plain"}]}},
        "resources/templates/list": {"result": {"resourceTemplates": [{"uriTemplate": "file:///{x}", "name": "any"}]}},
        "resources/read": {"result": {"contents": [{"uri": "file:///a", "text": "words"}]}},
        "prompts/list": {"result": {"prompts": [{"name": "hi", "arguments": [{"name": "who", "required": True}]}]}},
        "prompts/get": {"error": {"code": -32602, "message": "who is missing"}},
    },
}


async def test_resources_and_prompts_are_tools_where_they_are_asked_for() -> None:
    """Under names that no tool of the server has; a server without them offers none."""
    async with source_of({"tools": ["t"]}, resources=True, prompts=True) as source:
        assert list(await bound(source)) == ["t"]
    async with source_of(EXTRAS, resources=True, prompts=True) as source:
        tools = await bound(source)
        assert list(tools) == ["list_prompts", "list_resources", "read_resource", "mcp_list_prompts", "get_prompt"]
        listed = (await run_tool(tools["list_resources"])).result
        assert listed == [
            {"uri": "file:///a", "name": "a", "media_type": "text/plain"},
            {"uri_template": "file:///{x}", "name": "any"},
        ]
        assert (await run_tool(tools["read_resource"], {"uri": "file:///a"})).text == "words"
        assert (await run_tool(tools["mcp_list_prompts"])).result[0]["arguments"][0]["name"] == "who"
        with pytest.raises(ToolArgumentsError, match="who is missing"):
            await run_tool(tools["get_prompt"], {"name": "hi"})
        await source.refresh()
        assert (await bound(source))["read_resource"] is tools["read_resource"]


LISTS = [
    ("tools/list", "list_tools"),
    ("resources/list", "list_resources"),
    ("resources/templates/list", "list_resources"),
    ("prompts/list", "list_prompts"),
]


@pytest.mark.parametrize(("method", "asked"), LISTS)
async def test_no_list_is_waited_for_without_end(method: str, asked: str) -> None:
    """A page has the time of a start, and the error names that setting."""
    async with source_of({**EXTRAS, "silent": [method]}, lazy=True) as source:
        connection = source.connection
        await connection.start()
        connection.options = replace(connection.options, start_timeout=0.1)
        with pytest.raises(McpLostError, match=f"'scripted' did not answer {method} within 0.1 s") as caught:
            await getattr(connection, asked)()
    assert caught.value.next_step == "Raise start_timeout, or see why it is slow."


async def test_a_model_is_asked_for_a_call_alone_and_some_call_pays() -> None:
    """A server that nobody asks anything is refused; of calls side by side one pays what cannot be told apart."""
    model = ScriptedChatModel([{"text": "4", "usage": {"input": 3, "output": 5}}] * 3)
    script = {"tools": ["t", "wait"], "on": {"t": [{"ask": SAMPLING}], "wait": [{"sleep": 0.2}, {"text": "ok"}]}}
    async with source_of(script, connection={"sampling": model}) as source:
        tools, first, second = await bound(source), Run(), Run()
        await asyncio.gather(run_tool(tools["wait"], {}, first), run_tool(tools["t"], {}, second))
        assert sorted(run.token_usage.output_tokens or 0 for run in (first, second)) == [0, 5]
    answers = Answers("desk", McpOptions(sampling=model), lambda usage, name: None, lambda: False)
    refused = await answers.sample(None, types.CreateMessageRequestParams.model_validate(SAMPLING["params"]))
    assert isinstance(refused, types.ErrorData) and len(model.requests) == 1


async def test_a_server_asks_for_a_few_things_at_once() -> None:
    """And not for as many as a message holds."""
    required = {"input_required": {"inputRequests": {f"k{n}": QUESTION for n in range(30)}, "requestState": "s"}}
    script = {"tools": ["t"], "modern": True, "on": {"t": [required]}}
    async with source_of(script, connection={"elicitation": Notes(None)}) as source:
        with pytest.raises(McpRequestError, match="more than 20 things at once"):
            await run_tool((await bound(source))["t"])


@pytest.mark.parametrize("given", [[1], {"a": object()}], ids=["no mapping", "no value of a form"])
async def test_an_answer_that_no_form_holds_cancels(given: Any) -> None:
    """The server is told; the connection goes on."""
    answers = Answers("desk", McpOptions(elicitation=lambda request: given), lambda usage, name: None, lambda: True)
    asked = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
    found = await answers.elicit(None, asked)
    assert isinstance(found, types.ElicitResult) and found.action == "cancel"


async def test_progress_that_is_no_number_is_not_told_and_its_words_are_bounded() -> None:
    """They come from a stranger and go to whoever listens."""
    told: list[tuple[str, str]] = []

    class Listening:
        async def notify(self, code: str, message: str, details: Any = None) -> None:
            told.append((message, json.dumps(details, allow_nan=False)))

    context: Any = Listening()
    async with Telling(context, "desk", Secrets(["sk-canary-3"])) as telling:
        telling.progress(float("inf"), None, "nothing")
        telling.progress(1.0, float("nan"), "key sk-canary-3 \x1b[31m" + "x" * 10_000)
    ((message, details),) = told
    assert message.startswith("key *** \\x1b[31mxxx") and len(message) < 600
    assert json.loads(details)["total"] is None


@pytest.mark.parametrize(("levels", "read"), [(150, True), (400, False)])
async def test_a_result_may_be_nested_as_deep_as_the_sdk_bears(levels: int, read: bool) -> None:
    """A deeper one is told at once, and is no fault of the connection."""
    result = '{"content": [], "structuredContent": ' + '{"a":' * levels + "1" + "}" * levels + "}"
    script = {"tools": ["t"], "on": {"t": [{"write": f'{{"jsonrpc": "2.0", "id": %ID%, "result": {result}}}\n'}]}}
    async with source_of(script, connection={"call_timeout": 2.0}) as source:
        tool = (await bound(source))["t"]
        if read:
            assert (await run_tool(tool)).text.startswith('{"a": {"a": ')
        else:
            with pytest.raises(McpLostError, match="cannot be read: it is nested too deep"):
                await run_tool(tool)
        assert source.connection.restarts == 0
