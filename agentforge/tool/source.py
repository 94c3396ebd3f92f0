"""A tool with all that is needed to call it, and where tools come from.

A `BoundTool` is LangChain4j's pair of specification and executor; a `ToolSource` is its tool provider: asked
before every model call, it looks at the run and answers with the tools of this request. Views over a source
(`only`, `without`, `prefix`, `rename`, `augmented`) are sources themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from agentforge.errors import ToolDeclarationError
from agentforge.model.specification import ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.declare import ReturnBehavior, check_timeout

if TYPE_CHECKING:
    from agentforge.tool.execution.result import ToolExecutionResult
    from agentforge.tool.execution.run import Run, ToolContext

__all__ = (
    "ArgumentBinder",
    "BoundTool",
    "Effect",
    "ToolExecutor",
    "ToolOrigin",
    "ToolSelector",
    "ToolSource",
    "known_tools",
)

Effect: TypeAlias = Literal["read", "write"]

ToolExecutor: TypeAlias = Callable[[ToolExecutionRequest], Any] | Callable[[ToolExecutionRequest, "ToolContext"], Any]
"""The extension point (seed A 3.1.2): any callable ``(request)`` or ``(request, context)``, sync or async, that gives
text, a `ToolExecutionResult`, or whatever else a tool may return."""

ToolSelector: TypeAlias = Callable[[Sequence["BoundTool"], "Run"], Sequence["BoundTool"]]
"""Chooses what a request offers: gets all tools of the run's sources, gives those to offer, which may be others too.
A tool that is not among them is unknown to the model and cannot be called. The same sequence object again says that
nothing changed."""


class ArgumentBinder(Protocol):
    """Checks the parsed arguments against the whole schema and coerces them exactly, before anything runs.

    Returns what the executor is handed in `BoundTool.invoke`; raises `ToolArgumentsError` with every problem.
    """

    def __call__(self, arguments: dict[str, object], /) -> Any: ...


@dataclass(frozen=True, slots=True)
class ToolOrigin:
    """Where a tool comes from that is no function of this program, for policies and audit.

    ``kind`` is ``http``, ``mcp`` or another word of its source's; ``server`` and ``version`` are those of whoever
    offers it, ``name`` is what they call it, ``digest`` that of its definition. ``annotations`` are hints as they came
    (such as MCP's ``readOnlyHint``): a stranger's words, which no policy may be lowered by.
    """

    kind: str
    server: str | None = None
    version: str | None = None
    name: str | None = None
    annotations: Mapping[str, object] = field(default_factory=dict)
    digest: str | None = None

    def __str__(self) -> str:
        server = self.server if self.version is None else f"{self.server} {self.version}"
        return self.kind if self.server is None else f"{self.kind} {server}"


@dataclass(frozen=True, slots=True, eq=False)
class BoundTool:
    """One callable tool; compared by identity.

    ``bind`` validates, ``invoke(request, bound, run)`` runs the tool and converts its result; with ``blocking`` it is
    a plain function that the batch calls on a worker thread (and whose result may still be awaitable). ``timeout`` in
    seconds overrides the service's; ``None`` takes it. ``effect`` undeclared means the safety of a write with the
    coercion of a read. ``serial`` names a key: calls that share it never run side by side. ``sequential`` makes the
    call a barrier in its batch. ``origin`` is where it comes from, ``None`` for a function of this program.
    """

    specification: ToolSpecification
    bind: ArgumentBinder
    invoke: Callable[[ToolExecutionRequest, Any, Run], ToolExecutionResult | Awaitable[ToolExecutionResult]]
    return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM
    effect: Effect | None = None
    source_name: str = "local"
    timeout: float | None = None
    serial: str | None = None
    sequential: bool = False
    blocking: bool = False
    origin: ToolOrigin | None = None

    def __post_init__(self) -> None:
        check_timeout(self.timeout, f"tool {self.specification.name!r}")
        if self.effect not in (None, "read", "write"):
            raise ToolDeclarationError(
                f"the effect of tool {self.specification.name!r} must be 'read' or 'write', not {self.effect!r}"
            )

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.specification.name


@runtime_checkable
class ToolSource(Protocol):
    """Where tools come from. Returning the same sequence object again says that nothing changed.

    A source whose tools are no matter of the run may have a method ``known_tools``, see there.
    """

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The tools for the next request of ``run``."""
        ...


def known_tools(source: object) -> Sequence[BoundTool] | None:
    """What a started source offers without a run being asked about, by its own ``known_tools``; ``None``: not known."""
    ask = getattr(source, "known_tools", None)
    return None if ask is None else ask()
