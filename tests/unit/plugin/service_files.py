"""What tests of AI services in files share: a module of interfaces and parts, and files over it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from agentforge import AgentForge

__all__ = ("Files",)

PARTS = '''
"""What the tests of services scan."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from agentforge import Hidden, ImageContent, system, tool, user
from agentforge.advisor import Advised


@runtime_checkable
class Assistant(Protocol):
    """A clerk."""

    @system("At {shop}.")
    async def chat(self, message: str, user_id: Annotated[str, Hidden] = "nobody", shop: str = "Tea") -> str: ...

    def classify(self, message: str) -> Literal["order", "other"]: ...


class Second(Protocol):
    """Another one, with a method of the same parameters."""

    async def answer(self, message: str) -> int: ...


class Brief(Protocol):
    """And a third."""

    async def chat(self, message: str) -> str: ...


class Expert(Protocol):
    """A tool of others."""

    @tool("Answers questions about tea.")
    async def ask(self, question: str) -> str: ...


class Lively:
    """Has verbs of its own, and of the model's."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def chat(self, message: str) -> str: ...

    @user("Say hello.")
    def start(self) -> str: ...

    @user("Say goodbye.")
    async def close(self) -> str: ...

    def warm(self) -> None:
        self.events.append("warm")

    async def cool(self) -> None:
        self.events.append("cool")


class Front:
    """Has a service by its type."""

    def __init__(self, assistant: Assistant, second: Second | None = None) -> None:
        self.assistant, self.second = assistant, second


class Desk:
    """Tools."""

    @tool("Whether there is some of an item.")
    def in_stock(self, item: str, user_id: Annotated[str, Hidden] = "none") -> str:
        return f"{item} for {user_id}"


class Clock:
    """Another one."""

    @tool("Answers what time it is.")
    def ask(self, question: str) -> str:
        return "noon"


class Noting:
    """An advisor."""

    def __init__(self) -> None:
        self.count = 0

    async def advise(self, run, request, chain) -> Advised:
        self.count += 1
        return await chain.next(run, request)


class NoInterface:
    """No method is left for a model."""

    def chat(self, message: str) -> str:
        return message


class Wrong(Protocol):
    """Much is wrong with it."""

    @system("At {shpo}.")
    async def first(self, message: str, shop: str) -> str: ...

    async def second(self, message: str) -> Any: ...

    @system(file="none.txt")
    async def third(self, message: str) -> str: ...


class Twice(Protocol):
    """Two tools of one name."""

    @tool(name="ask")
    async def first(self, question: str) -> str: ...

    @tool(name="ask")
    async def second(self, question: str) -> str: ...


class Seeing(Protocol):
    """A tool that takes what no model can write."""

    @tool
    async def ask(self, picture: ImageContent) -> str: ...


class Telling(Protocol):
    """A tool that gives what no model can read."""

    @tool
    def ask(self, question: str) -> AsyncIterator[str]: ...


def chat(message: str) -> str: ...
'''
BASE = """
model: {type: scripted, turns: [Hello.]}
client: {type: chat_client, model: model}
"""


class Files:
    """A folder with the parts and configurations over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = f"service_parts_{folder.name.replace('-', '_')}"
        (folder / f"{self.module}.py").write_text(PARTS, "utf-8")

    def write(self, beans: str, base: str = BASE) -> Path:
        """The root file, with these beans below the usual ones."""
        path = self.folder / "agentforge.yaml"
        lines = "".join(f"  {line}\n" for line in f"{base}{beans}".splitlines() if line)
        path.write_text(f"scan: [{self.module}]\nbeans:\n{lines}", "utf-8")
        return path

    def app(self, beans: str, base: str = BASE) -> AgentForge:
        """The application of it."""
        return AgentForge.load(self.write(beans, base), environment={"SHOP": "Hill"})

    def part(self, name: str) -> Any:
        """A class of the parts, as the application has it."""
        return getattr(importlib.import_module(self.module), name)
