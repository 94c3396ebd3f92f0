"""Seed A's `ToolServiceTest` and more: registration, the conversation, return behaviour, errors, bounds.

Every conversation runs twice, blocking and streamed: both must come to the same result.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentforge import (
    AiMessage,
    BoundTool,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    ReturnBehavior,
    Run,
    ScriptedChatModel,
    SystemMessage,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResult,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolParameters,
    ToolService,
    ToolSpecification,
    UserMessage,
    tool,
)
from agentforge.errors import (
    ConfigurationError,
    DuplicateToolError,
    RunStateError,
    ToolChoiceError,
    ToolDeclarationError,
    ToolRoundTripLimitError,
)
from agentforge.model.scripted import call, calls
from tests.unit.tool.execution.support import WeatherTools, converse, valid


class Direct:
    @tool("T")
    def t(self) -> str:
        return "t"

    @tool("I", return_behavior=ReturnBehavior.IMMEDIATE)
    def i(self) -> str:
        return "i"

    @tool("L", return_behavior=ReturnBehavior.IMMEDIATE_IF_LAST)
    def last(self) -> int:
        return 7


SPECIFICATION = ToolSpecification(
    "echo", "Echo a text.", ToolParameters.builder().add_property("text", "string", "the text", True).build()
)


# -- registration: the five forms of seed A 4.1 ------------------------------------------------------

FORMS = {
    "a list of objects": lambda s: s.tools([WeatherTools()]),
    "one object": lambda s: s.tools(WeatherTools()),
    "one method by its name": lambda s: s.tool(WeatherTools(), "get_weather"),
    "a specification and its executor": lambda s: s.tool(
        ToolSpecification("get_weather", "w", SPECIFICATION.parameters), lambda request: "from the executor"
    ),
    "a mapping of specification to executor": lambda s: s.tools(
        {ToolSpecification("get_weather", "w", SPECIFICATION.parameters): lambda request: "from the mapping"}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_registration_form_offers_the_tool(form: str) -> None:
    service = ToolService()
    FORMS[form](service)
    assert "get_weather" in [specification.name for specification in service.tool_specifications]


@pytest.mark.parametrize("form", FORMS)
def test_a_name_that_is_taken_is_refused_whatever_the_form(form: str) -> None:
    service = ToolService(WeatherTools())
    with pytest.raises(DuplicateToolError, match="get_weather") as caught:
        FORMS[form](service)
    assert isinstance(caught.value, ValueError) and caught.value.code == "AF404"


def test_only_declared_methods_are_offered() -> None:
    service = ToolService(WeatherTools())
    assert [specification.name for specification in service.tool_specifications] == ["get_weather", "now"]


@pytest.mark.parametrize("item", [object(), 3, None])
def test_what_is_no_tool_is_refused(item: object) -> None:
    with pytest.raises(ToolDeclarationError):
        ToolService(item)


def test_a_specification_without_an_executor_is_refused() -> None:
    with pytest.raises(ToolDeclarationError, match="executor"):
        ToolService().tool(SPECIFICATION)


def test_an_unknown_method_name_is_refused() -> None:
    with pytest.raises(ToolDeclarationError, match="get_wether"):
        ToolService().tool(WeatherTools(), "get_wether")


EXECUTORS = {
    "(request)": lambda request: request.arguments_as_map()["text"],
    "(request, context)": lambda request, context: f"{request.arguments_as_map()['text']}",
}


@pytest.mark.parametrize("form", EXECUTORS)
async def test_an_executor_takes_the_request_and_if_it_wants_the_context(form: str) -> None:
    service = ToolService().tool(SPECIFICATION, EXECUTORS[form])
    result = await converse(service, [call("echo", text="hi"), "done"])
    assert result.tool_executions[0].result_text() == "hi"


async def test_an_async_executor_may_give_a_whole_result() -> None:
    async def echo(request: ToolExecutionRequest) -> ToolExecutionResult:
        return ToolExecutionResult("said", result={"n": 1}, attributes={"seen": True})

    result = await converse(ToolService().tool(SPECIFICATION, echo), [call("echo", text="x"), "done"])
    assert result.tool_executions[0].result.result == {"n": 1}
    assert result.tool_executions[0].result.attributes == {"seen": True}


# -- the conversation ----------------------------------------------------------------------------


async def test_the_weather_conversation_of_seed_a() -> None:
    service = ToolService(WeatherTools())
    result = await converse(service, [call("get_weather", city="杭州"), "杭州今天 22℃，天气晴，适合出行。"])

    assert result.final_response.ai_message.text == "杭州今天 22℃，天气晴，适合出行。"
    assert len(result.tool_executions) == 1
    execution = result.tool_executions[0]
    assert (execution.result_text(), execution.has_failed()) == ("杭州: 22℃, sunny", False)
    assert execution.start is not None and execution.finish is not None and execution.duration().total_seconds() >= 0
    assert len(result.intermediate_responses) == 1
    assert [type(message) for message in result.messages] == [
        UserMessage,
        AiMessage,
        ToolExecutionResultMessage,
        AiMessage,
    ]


async def test_the_conversation_goes_on_with_its_messages() -> None:
    service = ToolService(WeatherTools())
    first = await service.chat(ScriptedChatModel([call("now"), "10:00"]), None, "time?")
    model = ScriptedChatModel(["again 10:00"])
    second = await service.chat(model, None, [*first.messages, UserMessage("and now?")])
    assert model.requests[0].messages == (*first.messages, UserMessage("and now?"))
    assert second.messages[:-1] == model.requests[0].messages


async def test_the_callers_messages_are_never_changed() -> None:
    given = [SystemMessage("be brief"), UserMessage("time?")]
    kept = list(given)
    await ToolService(WeatherTools()).chat(ScriptedChatModel([call("now"), "10:00"]), None, given)
    assert given == kept


async def test_several_rounds_list_all_executions_in_order_and_sum_the_usage() -> None:
    turns = [call("get_weather", city="A"), calls(call("now"), call("get_weather", city="B")), "done"]
    result = await converse(ToolService(WeatherTools()), turns)
    assert [(e.request.name, e.round) for e in result.tool_executions] == [
        ("get_weather", 0),
        ("now", 1),
        ("get_weather", 1),
    ]
    replies = [*result.intermediate_responses, result.final_response]
    assert result.token_usage.total_tokens == sum(reply.token_usage.total_tokens or 0 for reply in replies)


async def test_results_stand_in_the_order_of_the_calls_though_the_last_is_done_first() -> None:
    gate = asyncio.Event()

    @tool
    async def slow() -> str:
        "Waits for the fast one."
        await gate.wait()
        return "S"

    @tool
    async def fast() -> str:
        "Lets the slow one go."
        gate.set()
        return "F"

    result = await ToolService(slow, fast).chat(ScriptedChatModel([calls(call("slow"), call("fast")), "x"]), None, "q")
    texts = [m.text for m in result.messages if isinstance(m, ToolExecutionResultMessage)]
    assert texts == ["S", "F"]


async def test_a_history_with_a_lost_result_is_mended_and_said() -> None:
    broken = [UserMessage("q"), AiMessage(tool_execution_requests=[ToolExecutionRequest("b9", "now")])]
    result = await ToolService(WeatherTools()).chat(ScriptedChatModel(["ok"]), None, broken)
    assert valid(result.messages)
    assert [notice.code for notice in result.notices] == ["history_call_without_result"]


# -- parameters (seed A 4.3) -------------------------------------------------------------------------


async def test_registered_tools_are_always_in_the_request_and_the_callers_settings_stay() -> None:
    model = ScriptedChatModel(["hi"])
    await ToolService(WeatherTools()).chat(model, ChatRequestParameters(temperature=0.1, model_name="m"), "q")
    sent = model.requests[0].parameters
    assert [specification.name for specification in sent.tools] == ["get_weather", "now"]
    assert (sent.temperature, sent.model_name) == (0.1, "m")


async def test_tools_in_the_callers_parameters_are_united_with_the_registered_ones() -> None:
    model = ScriptedChatModel(["hi"])
    await ToolService(WeatherTools()).chat(model, ChatRequestParameters(tools=(SPECIFICATION,)), "q")
    assert [s.name for s in model.requests[0].parameters.tools] == ["get_weather", "now", "echo"]


@pytest.mark.parametrize("names", [("get_weather",), ("echo", "echo")])
async def test_a_name_twice_between_parameters_and_registered_tools_is_refused(names: tuple[str, ...]) -> None:
    parameters = ChatRequestParameters(tools=tuple(ToolSpecification(name) for name in names))
    with pytest.raises(DuplicateToolError):
        await ToolService(WeatherTools()).chat(ScriptedChatModel(["hi"]), parameters, "q")


async def test_a_forced_choice_holds_for_the_first_round_only_with_a_notice() -> None:
    model = ScriptedChatModel([call("now"), "10:00"])
    parameters = ChatRequestParameters(tool_choice=ToolChoice.tool("now"))
    result = await ToolService(WeatherTools()).chat(model, parameters, "q")
    assert [request.parameters.tool_choice for request in model.requests] == [ToolChoice.tool("now"), ToolChoice.AUTO]
    assert [notice.code for notice in result.notices] == ["tool_choice_first_round_only"]


async def test_a_forced_choice_among_some_tools_goes_on_as_a_free_choice_among_them() -> None:
    model = ScriptedChatModel([call("now"), "10:00"])
    forced = ToolChoice.allowed(["now"], required=True)
    await ToolService(WeatherTools()).chat(model, ChatRequestParameters(tool_choice=forced), "q")
    assert [request.parameters.tool_choice for request in model.requests] == [forced, ToolChoice.allowed(["now"])]


@pytest.mark.parametrize("pauses", [1, 3])
async def test_a_reply_that_paused_is_continued_and_the_forced_choice_holds_until_one_is_whole(pauses: int) -> None:
    paused = ChatResponse(AiMessage("thinking"), FinishReason.PAUSE)
    model = ScriptedChatModel([*[paused] * pauses, call("now"), "10:00"])
    result = await ToolService(WeatherTools()).chat(model, ChatRequestParameters(tool_choice="required"), "q")
    assert result.text == "10:00" and valid(result.messages)
    choices = [request.parameters.tool_choice for request in model.requests]
    assert choices == [ToolChoice.REQUIRED] * (pauses + 1) + [ToolChoice.AUTO]
    assert [notice.code for notice in result.notices] == ["tool_choice_first_round_only"]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (FinishReason.LENGTH, "the reply was cut off at the output limit before it made one"),
        (FinishReason.ERROR, "the model's reply ended in an error before it made one"),
        (FinishReason.STOP, "and the model made none"),
    ],
)
async def test_why_a_forced_choice_brought_no_call_is_said(reason: FinishReason, told: str) -> None:
    model = ScriptedChatModel([ChatResponse(AiMessage("I wou"), reason)])
    with pytest.raises(ToolChoiceError, match=told):
        await ToolService(WeatherTools()).chat(model, ChatRequestParameters(tool_choice="required"), "q")


@pytest.mark.parametrize(
    "choice", [ToolChoice.REQUIRED, ToolChoice.tool("now"), ToolChoice.allowed(["now"], required=True)]
)
async def test_a_forced_choice_that_brings_no_call_is_a_clear_error_with_the_history(choice: ToolChoice) -> None:
    parameters = ChatRequestParameters(tool_choice=choice)
    with pytest.raises(ToolChoiceError) as caught:
        await ToolService(WeatherTools()).chat(ScriptedChatModel(["I would rather talk"]), parameters, "q")
    assert caught.value.partial.messages[-1] == AiMessage("I would rather talk")  # type: ignore[attr-defined]


async def test_a_refusal_is_an_answer_even_where_a_call_was_forced() -> None:
    refusal = ChatResponse(AiMessage("I cannot help"), FinishReason.REFUSAL)
    result = await ToolService(WeatherTools()).chat(
        ScriptedChatModel([refusal]), ChatRequestParameters(tool_choice=ToolChoice.REQUIRED), "q"
    )
    assert result.text == "I cannot help"


# -- return behaviour --------------------------------------------------------------------------------


async def test_an_immediate_tool_answers_the_caller_without_another_model_call() -> None:
    model = ScriptedChatModel([call("i")])
    result = await ToolService(Direct()).chat(model, None, "q")
    assert len(model.requests) == 1
    assert (result.returned_directly, result.text, result.immediate_results) == (True, "i", ("i",))
    assert result.final_response.ai_message.has_tool_execution_requests
    assert result.final_response.ai_message.text is None
    assert valid(result.messages)


async def test_all_values_of_an_immediate_batch_come_back_in_call_order() -> None:
    result = await converse(ToolService(Direct()), [calls(call("i"), call("last"))])
    assert result.immediate_results == ("i", 7)
    assert result.text == "i\n7"


async def test_an_immediate_tool_beside_an_ordinary_one_goes_to_the_model() -> None:
    result = await converse(ToolService(Direct()), [calls(call("i"), call("t")), "both"])
    assert (result.returned_directly, result.text) == (False, "both")


async def test_after_an_immediate_return_the_conversation_can_go_on() -> None:
    service = ToolService(Direct())
    first = await service.chat(ScriptedChatModel([call("i")]), None, "q")
    model = ScriptedChatModel(["hello"])
    await service.chat(model, None, [*first.messages, UserMessage("hello")])
    assert valid(model.requests[0].messages)


# -- limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 5, 8])
async def test_more_rounds_than_allowed_are_a_typed_error_with_all_messages(limit: int) -> None:
    model = ScriptedChatModel([call("now")], repeat=True)
    service = ToolService(WeatherTools(), max_tool_calling_round_trips=limit)
    with pytest.raises(ToolRoundTripLimitError, match=str(limit)) as caught:
        await service.chat(model, None, "q")
    assert isinstance(caught.value, RuntimeError)
    assert len(model.requests) == limit + 1
    partial = caught.value.partial
    assert valid(partial.messages)  # type: ignore[attr-defined]
    assert [e.outcome for e in partial.tool_executions] == [ToolOutcome.OK] * limit + [ToolOutcome.LIMITED]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "setting",
    [
        {"max_concurrent_tools": 0},
        {"max_tool_calling_round_trips": -1},
        {"tool_timeout": 0},
        {"max_result_bytes": 0},
        {"execution_error_handler": "return_to_modell"},
    ],
)
def test_a_setting_that_cannot_hold_is_refused_when_the_service_is_made(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        ToolService(**setting)


# -- runs --------------------------------------------------------------------------------------------


async def test_a_run_made_by_the_caller_is_used_and_only_once() -> None:
    run = Run(memory_id="m", tenant="acme", roles=["agent"], user_data={"k": 1})
    service = ToolService(WeatherTools())
    await service.chat(ScriptedChatModel([call("now"), "10:00"]), None, "q", context=run)
    assert len(run.tool_executions) == 1 and valid(run.messages)
    with pytest.raises(RunStateError, match="used already"):
        await service.chat(ScriptedChatModel(["x"]), None, "q", context=run)


async def test_bound_tools_of_any_origin_can_be_registered() -> None:
    async def invoke(request: ToolExecutionRequest, bound: Any, run: Run) -> ToolExecutionResult:
        return ToolExecutionResult.success(f"{request.name} {bound}")

    bound = BoundTool(ToolSpecification("raw"), lambda arguments: arguments, invoke)
    result = await converse(ToolService(bound), [call("raw", a=1), "ok"])
    assert result.tool_executions[0].result_text() == "raw {'a': 1}"
