"""What a wire makes of a request's parameters and tools: each one is sent, refused, or left out with a notice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ResponseFormat,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge.testing.contracts.model_suite import WEATHER
from agentforge.testing.contracts.running import must
from agentforge.testing.contracts.wire_suite import HELLO, Refused, Sent, WireSuite, marked

if TYPE_CHECKING:
    from agentforge.provider import WireModel

__all__ = ("ILLEGAL_NAMES", "WireAskingSuite")

#: Names that few providers take: white space and a slash, another script, too long.
ILLEGAL_NAMES = ("files/read file", "天气", "very_long_name_" * 12)
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_TIME = ToolSpecification("get_time", "The time.", ToolParameters({"type": "object", "properties": {}}))


class WireAskingSuite(WireSuite):
    """The part of `WireModelContract` about what is asked for."""

    def test_every_parameter_that_is_set_is_sent(self) -> None:
        """Sampling, limits, stop texts, a seed, an effort, the form of the answer, fields of the provider's own: a
        request with one is another request, refused, or has a notice; and another value is another request. (Of the
        efforts one may be what the model does anyhow, and so may more calls than one at a time.)"""
        sets: dict[str, Sequence[Any]] = {
            "temperature": (0.25, 0.75),
            "top_p": (0.25, 0.75),
            "max_output_tokens": (1717, 2929),
            "stop": (["END-1"], ["END-2"], ["END-1", "END-2"]),
            "seed": (17, 29),
            "response_format": (ResponseFormat.JSON, ResponseFormat.json_schema(_SCHEMA, name="reply")),
            "custom_parameters": ({"x_suite": "0815"}, {"x_suite": "0816"}),
        }

        async def work() -> None:
            async with self.wire() as model:
                asked = {
                    name: [ChatRequestParameters(**{name: value}) for value in values] for name, values in sets.items()
                }
                efforts = [None, *(ChatRequestParameters(reasoning_effort=effort) for effort in ("low", "high"))]
                checks = [partial(self._all_differ, model, name, each) for name, each in asked.items()]
                self.all_hold([*checks, partial(self._one_differs, model, "reasoning_effort", efforts)])

        self.run(work())

    def test_the_model_of_a_request_is_asked(self) -> None:
        """In the body or in the address."""

        async def work() -> None:
            async with self.wire() as model:
                plain = self.sent_whole(model, "a greeting")
                other = self.sent(model, HELLO, ChatRequestParameters(model_name="another-model-0815"))
                if isinstance(other, Refused) or other.notices != plain.notices:
                    return
                url = model._url("https://llm.example", "another-model-0815", stream=False)
                must(
                    "another-model-0815" in url or other.says("another-model-0815"),
                    "model_name is neither in the body nor in the address",
                )

        self.run(work())

    def test_every_choice_of_tools_is_sent(self) -> None:
        """None, any, one, some of them, one after another: each makes another request, is refused or noticed."""
        choices = [
            ("tool_choice 'none'", {"tool_choice": ToolChoice.NONE}),
            ("tool_choice 'required'", {"tool_choice": ToolChoice.REQUIRED}),
            ("tool_choice of one tool", {"tool_choice": ToolChoice.tool(WEATHER.name)}),
            ("tool_choice of some tools", {"tool_choice": ToolChoice.allowed([WEATHER.name])}),
            (
                "tool_choice of some tools, required,",
                {"tool_choice": ToolChoice.allowed([WEATHER.name], required=True)},
            ),
        ]

        async def work() -> None:
            async with self.wire(tools=True) as model:
                tools = [WEATHER, _TIME]
                offered = ChatRequestParameters(tools=tools)
                both = [offered.with_(parallel_tool_calls=wanted) for wanted in (True, False)]
                checks = [
                    partial(self._all_differ, model, what, [offered.with_(**changes)], without=offered)
                    for what, changes in choices
                ]
                self.all_hold([*checks, partial(self._one_differs, model, "parallel_tool_calls", both)])

        self.run(work())

    def test_tools_are_sent_with_all_that_describes_them(self) -> None:
        """Name, description, and the schema with its properties, their descriptions and choices; strict where asked."""
        about, inner, city = marked("what the tool does"), marked("what the property is"), "city_0815"
        schema: dict[str, object] = {
            "type": "object",
            "properties": {
                city: {"type": "string", "description": inner},
                "unit": {"type": "string", "enum": ["celsius-0815", "kelvin-0815"]},
            },
            "required": [city, "unit"],
            "additionalProperties": False,
        }

        async def work() -> None:
            async with self.wire(tools=True) as model:
                tool = ToolSpecification("look_up_0815", about, ToolParameters(schema))
                strict = ToolSpecification("look_up_0815", about, ToolParameters(schema), strict=True)
                loose = ChatRequestParameters(tools=[_TIME, tool])
                sent = self.sent_whole(model, "a request with tools", HELLO, loose)
                for what, found in (
                    ("the name of a tool", "look_up_0815" in sent.texts),
                    ("the name of another tool", _TIME.name in sent.texts),
                    ("the description of a tool", sent.says(about)),
                    ("a property of a tool's schema", sent.has_key(city)),
                    ("the description of a property", sent.says(inner)),
                    ("the choices of a property", "kelvin-0815" in sent.texts),
                ):
                    must(found, f"{what} is not in the request")
                asked = ChatRequestParameters(tools=[_TIME, strict])
                self._all_differ(model, "strict of a tool", [asked], without=loose)

        self.run(work())

    def test_names_that_the_provider_refuses_have_an_alias_everywhere(self) -> None:
        """In the tools, in calls of the history and in what forces a call: `alias_of`, `TurnShape.wire_name`. Or such
        names are refused."""

        async def work() -> None:
            async with self.wire(tools=True) as model:
                for name in ILLEGAL_NAMES:
                    tool = ToolSpecification(name, "A tool.", ToolParameters({"type": "object", "properties": {}}))
                    parameters = ChatRequestParameters(tools=[tool])
                    offered = self.sent(model, HELLO, parameters)
                    if isinstance(offered, Refused):
                        continue
                    alias = model.preview_tools([tool]).aliases.get(name, name)
                    must(alias in offered.texts, f"the tool {name!r} is offered under another name than {alias!r}")
                    called = self.sent_whole(model, "a turn with a call", _turn_of(name))
                    must(alias in called.texts, f"a call of {name!r} is not called {alias!r} in the history")
                    must(alias == name or name not in called.texts, f"a turn holds the name {name!r} beside {alias!r}")
                    forced = self.sent(model, HELLO, parameters.with_(tool_choice=ToolChoice.tool(name)))
                    must(
                        isinstance(forced, Refused) or alias == name or name not in forced.texts,
                        f"tool_choice holds the name {name!r} where the tool is called {alias!r}",
                    )

        self.run(work())

    # -- inside ----------------------------------------------------------------------------------

    def _all_differ(
        self,
        model: WireModel[Any],
        what: str,
        asked: Sequence[ChatRequestParameters],
        *,
        without: ChatRequestParameters | None = None,
    ) -> None:
        plain = self.sent_whole(model, f"a request without {what}", HELLO, without)
        bodies = {plain.body}
        for parameters in asked:
            sent = self.sent(model, HELLO, parameters)

            def is_another(sent: Sent) -> bool:
                return sent.body not in bodies

            self.arrives(what, sent, is_another, known=plain.notices)
            if isinstance(sent, Sent):
                bodies.add(sent.body)

    def _one_differs(self, model: WireModel[Any], what: str, asked: Sequence[ChatRequestParameters | None]) -> None:
        """Fail when all of these are the same request, and nothing is said about any."""
        found = [self.sent(model, HELLO, parameters) for parameters in asked]
        told = any(isinstance(each, Refused) for each in found)
        sent = [each for each in found if isinstance(each, Sent)]
        told = told or len({(each.body, tuple(notice.code for notice in each.notices)) for each in sent}) > 1
        must(told, f"{what} makes no difference in the request, is not refused, and no notice tells of it")


def _turn_of(name: str) -> list[ChatMessage]:
    call = ToolExecutionRequest("call_1", name, "{}")
    return [UserMessage("Go."), AiMessage([call]), ToolExecutionResultMessage("call_1", name, "Done.")]
