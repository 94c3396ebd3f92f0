"""An interface with prompts."""

from typing import Annotated, Protocol

from agentforge import Hidden, system, user


class Clerk(Protocol):
    """Its methods have a prompt each."""

    @system("You are a clerk of {shpo}.")
    async def chat(self, message: str, shop: str) -> str: ...

    @user("Who is {user_id}?")
    async def greet(self, user_id: Annotated[str, Hidden]) -> str: ...

    @system(file="rules.txt")
    async def rule(self, message: str) -> str: ...

    async def sort(self, message: str) -> bool: ...
