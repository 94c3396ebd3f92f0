"""The tools of one request: what was offered under which name, ready to be looked up and called.

Made once for an unchanged set of sources and then shared by all rounds and conversations; its parameter objects keep
their identity, so that a wire encodes an unchanged tool block once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError, DuplicateToolError, ToolDeclarationError
from agentforge.model.request import ChatRequestParameters, ToolChoice
from agentforge.model.specification import ToolSpecification
from agentforge.tool.execution.gate import CallNext
from agentforge.tool.execution.state import OfferedTool
from agentforge.tool.source import BoundTool

if TYPE_CHECKING:
    from agentforge.tool.execution.clashes import OnClash

__all__ = ("ToolSet",)

_CACHED_PARAMETERS = 16


class ToolSet:
    """Bound tools, united with the user's own specifications (which have no executor)."""

    def __init__(
        self,
        groups: Sequence[Sequence[BoundTool]],
        unbound: Sequence[ToolSpecification],
        compile_chain: Callable[[BoundTool], CallNext],
        on_clash: OnClash = "error",
    ) -> None:
        self.groups = tuple(groups)
        self.unbound = tuple(unbound)
        self.tools: dict[str, BoundTool] = {}
        self.chains: dict[str, CallNext] = {}
        self.offered: dict[str, OfferedTool] = {}
        specifications: list[ToolSpecification] = []
        for group in groups:
            for tool in group:
                if not isinstance(tool, BoundTool):
                    raise ToolDeclarationError(
                        f"a tool source gave {type(tool).__name__} instead of a BoundTool",
                        next_step="Make them with bound_tools_from(...) of agentforge.tool.execution.",
                    )
        if on_clash == "prefix":
            from agentforge.tool.execution.clashes import apart

            groups = apart(groups)
        for group in groups:
            for tool in group:
                self._claim(tool.name, f"tool source {tool.source_name!r}")
                self.tools[tool.name] = tool
                self.chains[tool.name] = compile_chain(tool)
                self.offered[tool.name] = OfferedTool(tool.return_behavior, tool.specification)
                specifications.append(tool.specification)
        seen: set[str] = set()
        for specification in unbound:
            if specification.name in seen:
                raise DuplicateToolError(
                    f"the request's own parameters hold two tools named {specification.name!r}",
                    tool=specification.name,
                )
            seen.add(specification.name)
            self._claim(specification.name, "the request's own parameters")
            specifications.append(specification)
        self.specifications = tuple(specifications)
        self.names = tuple(specification.name for specification in specifications)
        #: The bound tools, the same object each time.
        self.bound = tuple(self.tools.values())
        self._parameters: dict[tuple[int, bool], tuple[ChatRequestParameters | None, ChatRequestParameters]] = {}

    def matches(self, groups: Sequence[Sequence[BoundTool]], unbound: Sequence[ToolSpecification]) -> bool:
        """Whether this set was made of the very same sequences."""
        return (
            len(groups) == len(self.groups)
            and all(a is b for a, b in zip(groups, self.groups, strict=True))
            and (unbound is self.unbound or tuple(unbound) == self.unbound)
        )

    def parameters(self, user: ChatRequestParameters | None, *, first_round: bool) -> ChatRequestParameters:
        """The user's parameters with these tools. A forced tool choice holds for the first round only."""
        key = (id(user), first_round)
        cached = self._parameters.get(key)
        if cached is not None and cached[0] is user:
            return cached[1]
        made = (user or ChatRequestParameters()).with_(tools=self.specifications)
        choice = made.tool_choice
        if choice is not None:
            self._check(choice)
        if choice is not None and choice.forces_a_call and not first_round:
            later = ToolChoice.allowed(choice.names) if choice.mode == "allowed" else ToolChoice.AUTO
            made = made.with_(tool_choice=later)
        if len(self._parameters) >= _CACHED_PARAMETERS:
            self._parameters.pop(next(iter(self._parameters)))
        self._parameters[key] = user, made
        return made

    def _check(self, choice: ToolChoice) -> None:
        if choice.forces_a_call and not self.names:
            raise ConfigurationError("tool_choice asks for a call and no tool is offered", next_step="Register a tool.")
        for name in choice.names:
            if name not in self.names:
                raise ConfigurationError(
                    f"tool_choice names the tool {name!r}, which is not offered",
                    next_step=f"Offered are {', '.join(self.names) or 'none'}.",
                )

    def _claim(self, name: str, origin: str) -> None:
        if name in self.tools:
            from agentforge.tool.execution.clashes import clash_error

            raise clash_error(name, f"tool source {self.tools[name].source_name!r}", origin)
