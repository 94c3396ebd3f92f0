"""What `check` finds in AI services of a file: all at once, each with its place, before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentforge import ScriptedChatModel
from agentforge.config import ConfigurationFaults
from tests.unit.plugin.service_files import Files


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Files(tmp_path)


METHODS = "it: {type: ai_service, interface: Assistant, client: client, methods: "

# the beans, and each fault as a line: code, line and column, place, what is said, what to do
FAULTS: list[tuple[str, list[str]]] = [
    (
        "it: {type: ai_service, interface: Asistant, client: client}",
        ["AF203 5:37 it.interface: no component 'Asistant' is defined in MODULE > Did you mean Assistant?"],
    ),
    (
        "it: {type: ai_service, interface: NoInterface, client: client}",
        ["AF125 5:37 it.interface: 'NoInterface' has no method for a model to answer > Give it one without a body: …"],
    ),
    (
        "it: {type: ai_service, interface: chat, client: client}",
        ["AF125 5:37 it.interface: an AI service is made of a class, not of function > …"],
    ),
    (
        "it: {type: ai_service, interface: Assistant, client: model}",
        ["AF213 5:56 it.client: 'client' needs a ChatClient, and 'model' is a ChatModel > Beans that fit: client."],
    ),
    (
        "it: {type: ai_service, interface: Assistant}",
        ["AF109 5:3 it.client: the setting 'client' is missing > Add 'client: …'."],
    ),
    (
        "it: {type: ai_service, interface: Assistant, client: client, max_depth: 0}",
        ["AF108 5:75 it.max_depth: 'max_depth' is at least 1, and this number is less > …"],
    ),
    (
        "it: {type: ai_service, interface: Assistant, client: client, bean: {destroy: shutdown}}",
        ["AF108 5:80 it.bean.destroy: 'destroy' of 'it' is 'shutdown', and Assistant has no such method > …"],
    ),
    (
        "it: {type: ai_service, interface: Wrong, client: client}",
        [
            "AF125 5:37 it.interface: the system prompt of 'first' names 'shpo', which is no parameter > …",
            "AF125 5:37 it.interface: the method 'second' does not say what it returns: Any > …",
            "AF125 5:37 it.interface: the system prompt of 'third': the file 'FOLDER/none.txt' cannot be read: …",
        ],
    ),
    (
        "it: {type: ai_service, interface: Twice, client: client}",
        ["AF108 5:37 it.interface: class 'Twice' has two tools named 'ask' > Give one of them another name: …"],
    ),
    (
        "it: {type: ai_service, interface: Seeing, client: client}",
        ["AF108 5:37 it.interface: the method 'ask' takes 'picture', which no model can write > Take a text, …"],
    ),
    (
        "it: {type: ai_service, interface: Telling, client: client}",
        ["AF108 5:37 it.interface: the method 'ask' gives a stream, which no model can read > …"],
    ),
    # how a method asks
    (
        METHODS + "{clasify: {type: service_method}}}",
        ["AF125 5:83 it.methods.clasify: 'Assistant' has no method 'clasify' that asks a model > Did you mean …"],
    ),
    (
        METHODS + "{chat: model}}",
        ["AF213 5:80 it.methods.chat: 'methods.chat' needs a ServiceMethod, and 'model' is a ChatModel > …"],
    ),
    (
        METHODS + '{chat: {type: service_method, system: "At {shpo}."}}}',
        ["AF125 5:111 it.methods.chat.system: the system prompt of 'chat' names 'shpo', which is no parameter > Did …"],
    ),
    (
        METHODS + '{chat: {type: service_method, system: "For {user_id}."}}}',
        ["AF125 5:111 it.methods.chat.system: the system prompt of 'chat' names 'user_id', which is hidden …"],
    ),
    (
        METHODS + '{chat: {type: service_method, system: "As\\n{\\"a\\": 1}."}}}',
        ["AF125 5:111 it.methods.chat.system: the system prompt of 'chat' has '{\"a\": 1}', which is no name (2:1) …"],
    ),
    (
        METHODS + '{classify: {type: service_method, user: "Hello."}}}',
        ["AF125 5:84 it.methods.classify: the method 'classify' has the parameter 'message', which stands in no …"],
    ),
    (
        METHODS + '{chat: {type: service_method, user: "${file:none.txt}"}}}',
        ["AF101 5:109 it.methods.chat.user: the file 'FOLDER/none.txt' does not exist > Check the path; …"],
    ),
    (
        "how: {type: service_method, mode: often, timeout: 0, max_reprompts: -1, tools: [client], advisors: [model]}",
        [
            "AF108 5:37 how.mode: 'mode' is 'auto', 'native', 'tool' or 'prompt', and this is something else > …",
            "AF108 5:53 how.timeout: 'timeout' is more than 0, and this number is not > …",
            "AF108 5:71 how.max_reprompts: 'max_reprompts' is at least 0, and this number is less > …",
            "AF213 5:83 how.tools.0: 'tools.0' needs a ToolSource, and 'client' is a ChatClient > …",
            "AF213 5:103 how.advisors.0: 'advisors.0' needs an Advisor, and 'model' is a ChatModel > …",
        ],
    ),
    (
        """
how: {type: service_method, advisors: [tool_calling, tool_calling]}
it: {type: ai_service, interface: Brief, client: client, methods: {chat: how}}
""",
        [
            "AF124 6:76 it.methods.chat: a chain has one tool advisor at most, and 'how.advisors.0' "
            "and 'how.advisors.1' both are > Leave …"
        ],
    ),
    # services as tools
    (
        """
it: {type: ai_service, interface: Assistant, client: client}
how: {type: service_method}
outer: {type: chat_client, model: model, tools: [it, how]}
""",
        [
            "AF213 7:52 outer.tools.0: 'tools.0' needs a ToolSource, and 'it' is an Assistant, none of whose methods "
            "is declared with @tool > Declare the methods of Assistant that are tools with @tool.",
            "AF213 7:56 outer.tools.1: 'tools.1' needs a ToolSource, and 'how' is a ServiceMethod > …",
        ],
    ),
    (
        """
it: {type: ai_service, interface: Expert, client: client}
clock: {type: python_tools, component: Clock}
outer: {type: chat_client, model: model, tools: [clock, it]}
""",
        ["AF108 7:59 outer.tools.1: two tools are named 'ask': of 'clock' and of 'it' > Give one of the sources a …"],
    ),
    (
        """
expert: {type: ai_service, interface: Expert, client: client}
clock: {type: python_tools, component: Clock}
outer: {type: chat_client, model: model, tools: [clock]}
how: {type: service_method, tools: [expert]}
it: {type: ai_service, interface: Brief, client: outer, methods: {chat: how}}
""",
        ["AF108 9:75 it.methods.chat: two tools of the method 'chat' are named 'ask': of 'clock' and of 'expert' > …"],
    ),
    (
        """
view: {type: tool_view, source: it, only: [aks]}
it: {type: ai_service, interface: Expert, client: client}
""",
        ["AF108 5:46 view.only.0: no tool of 'it' is named 'aks' > It has ask."],
    ),
    # and where one is wanted
    (
        """
it: {type: ai_service, interface: Assistant, client: client}
again: {type: ai_service, interface: Assistant, client: client}
front: {type: component, component: Front}
""",
        ["AF214 7:3 front: 'assistant' of Front needs one Assistant, and several fit: it, again > …"],
    ),
    (
        """
it: {type: ai_service, interface: Assistant, client: client, bean: {when: {profile: live}}}
front: {type: component, component: Front}
""",
        [
            "AF215 6:3 front: 'assistant' of Front needs an Assistant, and no bean is one > Declare a bean that is an "
            "Assistant, such as {type: ai_service, interface: Assistant, client: …}; out by their conditions are it."
        ],
    ),
]


@pytest.mark.parametrize(("beans", "expected"), FAULTS)
def test_every_fault_is_found_by_check(files: Files, beans: str, expected: list[str]) -> None:
    """Code, line and column, setting, and what to do."""
    with pytest.raises(ConfigurationFaults) as raised:
        files.app(beans).check()

    said = [
        f"{each.code} {each.mark.line}:{each.mark.column} {each.path.removeprefix('beans.')}: "
        f"{each.message} > {each.next_step}".replace(str(files.folder), "FOLDER").replace(files.module, "MODULE")
        for each in raised.value.diagnostics
    ]
    assert [shortened(line, like) for line, like in zip(said, expected, strict=True)] == expected


def shortened(line: str, like: str) -> str:
    """The line, with dots in the one place where the expected one has them."""
    start, dots, end = like.partition("…")
    return like if dots and line.startswith(start) and line.endswith(end) else line


def test_what_is_right_has_no_faults(files: Files) -> None:
    """The nearest that is right: all of the above at once."""
    files.app(
        """
desk: {type: python_tools, component: Desk}
clock: {type: python_tools, component: Clock, prefix: clock_}
noting: {type: component, component: Noting}
how: {type: service_method, system: "At {{}} {shop}.", tools: [desk], advisors: [noting], mode: tool, timeout: 10s}
it: {type: ai_service, interface: Assistant, client: client, methods: {chat: how}, bean: {primary: true}}
again: {type: ai_service, interface: Assistant, client: client}
expert: {type: ai_service, interface: Expert, client: client}
front: {type: component, component: Front}
outer: {type: chat_client, model: model, tools: [clock, expert], tool_choice: ask}
"""
    ).check()


async def test_a_client_that_puts_prefixes_in_front_does_so_for_a_methods_tools(files: Files) -> None:
    """What would be a fault otherwise: one rule for all tools of a request."""
    app = files.app(
        """
expert: {type: ai_service, interface: Expert, client: client}
clock: {type: python_tools, component: Clock}
outer: {type: chat_client, model: asked, tools: [clock], on_clash: prefix}
how: {type: service_method, tools: [expert]}
it: {type: ai_service, interface: Brief, client: outer, methods: {chat: how}}
asked: {type: scripted, turns: [Hello.]}
"""
    )
    app.check()
    model = ScriptedChatModel(["Hello."])
    async with app.override("asked", model):
        assert await app.get("it").chat("Hello?") == "Hello."

    assert sorted(tool.name for tool in model.requests[0].parameters.tools) == ["Expert_ask", "clock_ask"]
