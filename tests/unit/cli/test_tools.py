"""`agentforge tools`: what models are offered, and one call without a model."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

TWO = """
agentforge: 1
scan: [MODULE]
beans:
  model: {type: scripted, turns: []}
  weather: {type: python_tools, component: WeatherTools, only: [get_weather]}
  other: {type: python_tools, component: WeatherTools}
  pages: {type: python_tools, component: SlyTools, prefix: web_}
  desk: {type: tool_service, tools: [weather, pages]}
  assistant: {type: chat_client, model: model, tools: [other]}
"""


def test_the_tools_of_all_services_and_clients(project: Any) -> None:
    """Bean by bean, with their parameters and the first line of their description."""
    project.write("agentforge.yaml", TWO)
    ended = project.run("tools", "list")

    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[:2] for line in ended.out.splitlines()[1:]] == [
        ["desk", "get_weather"],
        ["desk", "web_read_page"],
        ["desk", "web_read_book"],
        ["assistant", "get_weather"],
        ["assistant", "broken"],
    ]
    assert "city, days" in ended.out and "Current weather of a city." in ended.out


def test_one_bean_narrows_the_list(project: Any) -> None:
    """As data: specifications with the bean that offers them."""
    project.write("agentforge.yaml", TWO)
    found = json.loads(project.run("tools", "list", "--bean", "assistant", "--json").out)

    assert [(tool["bean"], tool["name"]) for tool in found] == [("assistant", "get_weather"), ("assistant", "broken")]
    assert found[0]["parameters"]["required"] == ["city"]


def test_a_tool_as_a_model_sees_it(project: Any) -> None:
    """Name, description and JSON Schema."""
    ended = project.run("tools", "show", "get_weather")
    schema = json.loads(ended.out[ended.out.index("{") :])

    assert ended.out.startswith("get_weather (bean assistant)\n\nCurrent weather of a city.\n")
    assert schema["properties"]["city"] == {"type": "string"}
    assert json.loads(project.run("tools", "show", "get_weather", "--json").out)["parameters"] == schema


@pytest.mark.parametrize(
    ("words", "stdin", "result"),
    [
        (["get_weather", '{"city": "杭州"}'], "", "杭州: 22 degrees\n"),
        (["get_weather", "-"], '{"city": "Paris"}\n', "Paris: 22 degrees\n"),
        (["web_read_page"], "", "\x1b[2Jgone\n-> get_weather {}\n"),
    ],
)
def test_a_call_gives_its_result(project: Any, words: list[str], stdin: str, result: str) -> None:
    """On standard output, with arguments from the command line, from standard input, or none."""
    project.write("agentforge.yaml", TWO)
    ended = project.run("tools", "call", *words, stdin=stdin)

    assert (ended.code, ended.out) == (0, result)


@pytest.mark.parametrize("handler", ["rethrow", "return_to_model", "mask"])
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["get_weather", "{}"], "AF401", "city: is required"),
        (["get_weather", '{"city": 5, "x": 1}'], "AF401", "x: is not a parameter"),
        (["get_weather", "{broken"], "AF401", "get_weather"),
        (["get_weather", "[1]"], "AF401", "get_weather"),
        (["broken", '{"reason": "rain"}'], "AF402", "because of rain"),
    ],
)
def test_a_call_that_fails_is_an_error(project: Any, handler: str, words: list[str], code: str, said: str) -> None:
    """Whatever the error handlers of the service would tell a model."""
    project.script("[]", more=f", error_handlers: {{arguments: {handler}, execution: {handler}}}")
    ended = project.run("tools", "call", *words, "--json")
    error = json.loads(ended.err.splitlines()[-1])["error"]

    assert (ended.code, ended.out) == (1, "")
    assert error["code"] == code and said in error["message"]


def test_a_call_as_data(project: Any) -> None:
    """Name, arguments, outcome, result, seconds."""
    data = json.loads(project.run("tools", "call", "get_weather", '{"city": "Paris", "days": 2.0}', "--json").out)

    assert data.pop("seconds") >= 0
    assert data == {
        "name": "get_weather",
        "arguments": {"city": "Paris", "days": 2.0},
        "outcome": "ok",
        "result": "Paris: 22 degrees",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "get_wether"], "Did you mean 'get_weather'?"),
        (["call", "fly"], "There is get_weather, broken."),
        (["list", "--bean", "weather"], "is no tool service or chat client: its type is python_tools"),
        (["list", "--bean", "asistant"], "Did you mean 'assistant'?"),
    ],
)
def test_a_name_that_does_not_exist(project: Any, words: list[str], said: str) -> None:
    """Says what there is."""
    ended = project.run("tools", *words)

    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err


def test_different_tools_of_one_name_need_the_bean(project: Any) -> None:
    """Equal ones do not: the first bean's is taken."""
    project.write(
        f"{project.module}.py",
        "from agentforge import tool\n"
        "class First:\n    @tool('One.')\n    def act(self) -> str:\n        return '1'\n"
        "class Second:\n    @tool('Two.')\n    def act(self, x: int) -> str:\n        return '2'\n",
    )
    text = """
agentforge: 1
scan: [MODULE]
beans:
  a: {type: tool_service, tools: [one]}
  b: {type: tool_service, tools: [OTHER]}
  one: {type: python_tools, component: First}
  two: {type: python_tools, component: Second}
"""
    project.write("agentforge.yaml", text.replace("OTHER", "one"))
    assert project.run("tools", "call", "act").out == "1\n"

    project.write("agentforge.yaml", text.replace("OTHER", "two"))
    assert "different tools named 'act': a, b" in project.run("tools", "call", "act").err
    assert project.run("tools", "call", "act", '{"x": 1}', "--bean", "b").out == "2\n"


def test_no_service_and_no_client(project: Any) -> None:
    """Says which bean would bring tools."""
    project.write("agentforge.yaml", "agentforge: 1\nbeans: {}\n")
    ended = project.run("tools", "list")

    assert ended.code == 1 and "neither a tool service nor a chat client" in ended.err


def test_a_client_without_tools(project: Any) -> None:
    """Is no fault."""
    project.write(
        "agentforge.yaml",
        "agentforge: 1\nbeans: {bot: {type: chat_client, model: {type: scripted, turns: []}}}\n",
    )
    ended = project.run("tools", "list")

    assert (ended.code, ended.out) == (0, "")
    assert "no tools are offered by bot" in ended.err


def test_a_strict_tool_is_shown_as_one(project: Any) -> None:
    """As it changes what a model may write."""
    project.write(
        f"{project.module}.py",
        "from agentforge import tool\n@tool('Acts.', strict=True)\ndef act(x: int) -> str:\n    return ''\n",
    )
    project.script("[]", component="act")

    assert project.run("tools", "show", "act").out.endswith("\nstrict: yes\n")


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("Ask('is that right?')", "waits for a decision"),
        ("Refuse(ToolOutcome.DENIED, 'not for you')", "not for you (tool 'get_weather', denied)"),
    ],
)
def test_a_call_passes_the_gates(project: Any, gated: Callable[[str], None], verdict: str, said: str) -> None:
    """A refusal is an error; so is a call that would wait for a decision."""
    gated(verdict)
    project.script("[]", more=", gates: [{type: desk.gate}]")
    ended = project.run("tools", "call", "get_weather", '{"city": "Paris"}')

    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err


def test_bytes_that_are_no_text_are_no_arguments(project: Any) -> None:
    """Whether they are given as words or piped in."""
    assert "the JSON is not UTF-8 text" in project.run("tools", "call", "get_weather", '{"city": "\udce9"}').err
    piped = io.TextIOWrapper(io.BytesIO(b"\xff"), "utf-8")
    assert "standard input is not UTF-8 text" in project.run("tools", "call", "get_weather", "-", stdin=piped).err


def test_the_result_is_shown_though_a_bean_fails_to_close(project: Any) -> None:
    """The tool has run; what becomes of the beans afterwards is another error."""
    door = "door: {type: python_tools, component: StuckDoor}\n  desk: {type: tool_service, tools: [door]}"
    project.write("agentforge.yaml", f"agentforge: 1\nscan: [MODULE]\nbeans:\n  {door}\n")
    ended = project.run("tools", "call", "ring")

    assert (ended.code, ended.out) == (1, "ding\n")
    assert "the door is stuck" in ended.err and "Traceback" not in ended.err


PERSON = """
from typing import Annotated
from agentforge import Hidden, MemoryId, ToolContext, tool


class PersonTools:
    @tool("Says for whom it is.")
    def whose(
        self, user_id: Annotated[str, Hidden], conversation: Annotated[str, MemoryId], context: ToolContext
    ) -> str:
        return f"{user_id} {conversation} {context.tenant} {sorted(context.roles)}"
"""
PERSON_FILE = """
agentforge: 1
scan: [MODULE]
beans:
  model: {type: scripted, turns: []}
  person: {type: python_tools, component: PersonTools}
  desk: {type: tool_service, tools: [person]}
  assistant:
    type: chat_client
    model: model
    tools: [person]
    tool_context: {user_id: U-7}
    memory_id: talk
    tenant: acme
    roles: [agent]
"""


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ([], "U-7 talk acme ['agent']"),
        (["--bean", "assistant"], "U-7 talk acme ['agent']"),
        (["--set", "beans.assistant.tool_context.user_id=U-8"], "U-8 talk acme ['agent']"),
        (["--set", "beans.assistant.roles=[]"], "U-7 talk acme []"),
    ],
)
def test_a_call_has_what_turns_of_its_client_have(project: Any, words: list[str], result: str) -> None:
    """Its tool context, memory id, tenant and roles; of equal tools a client's comes first, wherever it stands."""
    project.write(f"{project.module}.py", PERSON)
    project.write("agentforge.yaml", PERSON_FILE)
    ended = project.run("tools", "call", "whose", *words)

    assert (ended.code, ended.out) == (0, f"{result}\n")


def test_a_service_by_itself_has_no_such_values(project: Any) -> None:
    """The error says what is missing."""
    project.write(f"{project.module}.py", PERSON)
    project.write("agentforge.yaml", PERSON_FILE)
    ended = project.run("tools", "call", "whose", "--bean", "desk")

    assert (ended.code, ended.out) == (1, "")
    assert "needs 'user_id'" in ended.err


def test_what_a_client_is_offered_depends_on_its_roles(project: Any) -> None:
    """Where a source looks at them: the list is that of a turn of the client."""
    project.write(
        f"{project.module}.py",
        "from agentforge import ToolSource, tool\nfrom agentforge.tool import selecting\n"
        "class Desk:\n    @tool('Refunds.')\n    def refund(self) -> str:\n        return 'done'\n"
        "def by_role(source: ToolSource) -> ToolSource:\n"
        "    return selecting(source, lambda run, tools: tools if 'agent' in run.roles else [])\n",
    )
    project.write(
        "agentforge.yaml",
        """
agentforge: 1
scan: [MODULE]
beans:
  model: {type: scripted, turns: []}
  desk: {type: python_tools, component: Desk}
  chosen: {type: factory, function: by_role, arguments: {source: desk}}
  agent: {type: chat_client, model: model, tools: [chosen], roles: [agent]}
  guest: {type: chat_client, model: model, tools: [chosen]}
""",
    )
    found = json.loads(project.run("tools", "list", "--json").out)

    assert [(tool["bean"], tool["name"]) for tool in found] == [("agent", "refund")]
    assert project.run("tools", "call", "refund").out == "done\n"
    assert "there is no tool 'refund'" in project.run("tools", "call", "refund", "--bean", "guest").err
