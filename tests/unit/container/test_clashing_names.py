"""Two sources of one file with a tool of one name: found when the file is checked, or when their servers are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from agentforge import ToolService
from agentforge.errors import DuplicateToolError
from agentforge.model import ToolSpecification
from agentforge.plugin import BeanContext, BeanSettings, BeanType, CheckContext, hookimpl
from agentforge.tool import BoundTool, ToolOrigin, ToolSource
from agentforge.tool.execution import Run, bound_tool_from
from tests.unit.container.kit import Kit, faults_of


class ServerSettings(BeanSettings):
    """The tools of a server, and whether they are known before it is asked."""

    tools: tuple[str, ...]
    written: bool = False


class Server:
    """A source whose tools are known once it is started."""

    def __init__(self, settings: ServerSettings, context: BeanContext) -> None:
        self._names = settings.tools
        self._id = context.bean_id
        self._tools: tuple[BoundTool, ...] | None = None

    async def start(self) -> None:
        """Ask the server."""
        self._tools = tuple(
            bound_tool_from(
                ToolSpecification(name),
                lambda request: f"{self._id}:{request.name}",
                source_name=self._id,
                origin=ToolOrigin("far", self._id),
            )
            for name in self._names
        )

    def known_tools(self) -> Sequence[BoundTool] | None:
        """Its tools."""
        return self._tools

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """Its tools."""
        assert self._tools is not None
        return self._tools


def written_names(settings: ServerSettings, context: CheckContext) -> Iterable[str] | None:
    """The names, where the file holds them; ``ID`` stands for the bean's own, ``FOLDER`` for that of its file."""
    here = {"ID": context.bean_id, "FOLDER": context.folder.name}
    return [here.get(name, name) for name in settings.tools] if settings.written else None


class FarPlugin:
    """The plugin ``far``."""

    @hookimpl
    def agentforge_bean_types(self, register: Callable[[BeanType], None]) -> None:
        """One type."""
        register(BeanType("far.tools", ServerSettings, Server, ToolSource, "Far.", tool_names=written_names))


@pytest.fixture
def far(kit: Kit) -> Kit:
    """The kit with the plugin."""
    kit.add_plugin("far", FarPlugin())
    return kit


def beans(written: bool, service: str = "") -> str:
    """Two servers with a tool of one name, and a service with both."""
    return f"""
    git: {{type: far.tools, tools: [search, log], written: {str(written).lower()}}}
    docs: {{type: far.tools, tools: [search], written: {str(written).lower()}}}
    desk: {{type: tool_service, tools: [git, docs]{service}}}
    """


def test_names_that_the_file_holds_are_compared_when_it_is_checked(far: Kit) -> None:
    """With the names of both beans, at the place of the second."""
    (fault,) = faults_of(far.beans(beans(True)))

    assert fault.message == "two tools are named 'search': of 'git' and of 'docs'"
    assert "prefix" in (fault.next_step or "")


async def test_names_that_servers_tell_are_compared_at_the_start(far: Kit) -> None:
    """Before any request, with both sources and the place of the service."""
    app = far.beans(beans(False))
    app.check()
    with pytest.raises(DuplicateToolError) as caught:
        await app.start()

    assert "'git'" in caught.value.message and "'docs'" in caught.value.message
    assert "bean 'desk'" in (caught.value.location or "")
    assert "on_clash" in (caught.value.next_step or "")


@pytest.mark.parametrize("written", [True, False])
async def test_prefix_lets_both_be_offered(far: Kit, written: bool) -> None:
    """Each under its bean's name."""
    async with far.beans(beans(written, ", on_clash: prefix")) as app:
        service: Any = app.get("desk")
        assert isinstance(service, ToolService)
        from agentforge.model.scripted import ScriptedChatModel

        model = ScriptedChatModel(["No more."])
        await service.chat(model, None, "Which?")

    assert [each.name for each in model.requests[0].parameters.tools] == ["git_search", "log", "docs_search"]


async def test_a_client_finds_it_as_well(far: Kit) -> None:
    """Though nobody has asked it anything."""
    text = beans(False).replace("type: tool_service", "type: chat_client, model: {type: scripted, turns: [Hello.]}")
    app = far.beans(text)
    with pytest.raises(DuplicateToolError, match="'search'"):
        await app.start()


def test_a_source_is_asked_in_its_own_place(far: Kit) -> None:
    """By its own id, and with the folder of the file that it stands in."""
    far.write("far/away.yaml", "beans: {docs: {type: far.tools, tools: [ID, FOLDER], written: true}}")
    clash = "beans: {local: {type: far.tools, tools: [far], written: true}, desk: {type: tool_service, tools: [%s]}}"
    (fault,) = faults_of(far.load("include: [far/away.yaml]\n" + clash % "docs, local"))

    assert fault.message == "two tools are named 'far': of 'docs' and of 'local'"
    far.load("include: [far/away.yaml]\n" + (clash % "docs, local").replace("[far]", "[away]")).check()
