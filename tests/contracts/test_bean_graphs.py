"""Bean graphs of any form, compiled and built in this process: no circle gets as far as the container's library (which
would end the process), starts and stops respect the graph, and a failing start or stop leaves nothing open.

Beans are made from settings or are components; they need one another through settings, mappings, arguments, types,
qualifiers and ``depends_on``, ask for one another later, or ask the application while they are made.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.config import ConfigurationFaults
from agentforge.container import AgentForge
from agentforge.container.codes import BEAN_CYCLE
from agentforge.errors import AgentForgeError
from tests.unit.container.kit import Kit, ThingSettings, Trouble

#: What a bean has to have before it is made.
HARD = ("needs", "named", "depends_on", "argument", "nested", "typed", "qualified")
#: What it can ask for later.
SOFT = ("later", "callable", "written")
#: What it asks for while it is made.
EAGER = ("called", "looked up")
_TROUBLES: tuple[Trouble, ...] = ("", "", "", "raises", "raises ours", "cancelled", "ends")
_numbers = itertools.count()


@dataclass
class Node:
    """One bean: whether it is a component, its edges by their kind, and how it fails."""

    component: bool
    edges: dict[str, list[int]]
    lazy: bool = False
    make: Trouble = ""
    start: Trouble = ""
    close: Trouble = ""

    def targets(self, *kinds: str) -> list[str]:
        """The ids of what it reaches by edges of these kinds."""
        return [f"b{target}" for kind in kinds for target in self.edges.get(kind, ())]


@dataclass
class Built:
    """A graph as an application, and what its beans noted."""

    nodes: Sequence[Node]
    log: list[str] = field(default_factory=list)
    app: AgentForge | None = None

    def noted(self, what: str) -> list[str]:
        """The ids of the beans that noted it, in order."""
        return [entry.removeprefix(f"{what} ") for entry in self.log if entry.startswith(f"{what} ")]

    def graph(self, *kinds: str) -> dict[str, list[str]]:
        """Each bean with what it reaches."""
        return {f"b{number}": node.targets(*kinds) for number, node in enumerate(self.nodes)}


@st.composite
def graphs(
    draw: st.DrawFn, *, kinds: Sequence[str] = (*HARD, *SOFT), upwards: Sequence[str] = (), troubled: bool = False
) -> list[Node]:
    """Up to eight beans. Edges of the kinds ``upwards`` go only to beans before, so that they close no circle."""
    count = draw(st.integers(1, 8))
    nodes = []
    for number in range(count):
        edges: dict[str, list[int]] = {}
        for kind in draw(st.lists(st.sampled_from(kinds), max_size=3, unique=True)):
            allowed = range(number) if kind in upwards else range(count)
            if allowed:
                edges[kind] = draw(st.lists(st.sampled_from(allowed), min_size=1, max_size=2, unique=True))
        node = Node(draw(st.booleans()), edges, lazy=draw(st.booleans()))
        if number in edges.get("typed", ()) and node.component:
            edges["qualified"] = edges.pop("typed")  # by its type a bean never finds itself
        if troubled:
            node.make, node.start, node.close = (draw(st.sampled_from(_TROUBLES)) for _ in range(3))
        nodes.append(node)
    return nodes


# -- from a graph to an application --------------------------------------------------------------


def source(nodes: Sequence[Node]) -> str:
    """The module of the components: each takes by its constructor what its edges say."""
    lines = [
        "from __future__ import annotations",
        "from collections.abc import Callable",
        "from typing import Annotated, Any",
        "from agentforge.plugin import Qualifier",
        "from tests.unit.container.kit import Plain, Thing",
    ]
    for number, node in enumerate(nodes):
        parameters = ["self", "what: Any = None", "nested: dict[str, Any] | None = None"]
        for target in node.edges.get("typed", ()):
            # By its own class where it has one, so that nothing else fits.
            own = nodes[target].component
            hint = f"B{target}" if own else f"Annotated[Thing, Qualifier('b{target}')]"
            parameters.append(f"typed_{target}: {hint} = None")
        for target in node.edges.get("qualified", ()):
            parameters.append(f"qualified_{target}: Annotated[Thing, Qualifier('b{target}')] = None")
        for kind in ("callable", "called"):
            for target in node.edges.get(kind, ()):
                parameters.append(f"{kind}_{target}: Callable[[], Annotated[Thing, Qualifier('b{target}')]] = None")
        called = [f"        assert called_{target}() is not None" for target in node.edges.get("called", ())]
        looked = [
            f"        assert BUILT.app.get('b{target}') is not None" for target in node.edges.get("looked up", ())
        ]
        lines += [
            f"class B{number}(Plain):",
            f"    def __init__({', '.join(parameters)}) -> None:",
            *called,
            *looked,
            f"        super().__init__('b{number}', BUILT.log, SETTINGS[{number}])",
        ]
    return "\n".join(lines)


def settings_of(node: Node) -> ThingSettings:
    """How it fails."""
    return ThingSettings(make=node.make, start=node.start, close=node.close)


def bean_of(number: int, node: Node) -> dict[str, Any]:
    """The definition of a bean."""
    options: dict[str, Any] = {"lazy": node.lazy, "depends_on": node.targets("depends_on")}
    if node.component:
        arguments: dict[str, Any] = {}
        if whats := [{"ref": target} for target in node.targets("needs", "argument")]:
            arguments["what"] = whats
        nested = {
            **{f"n{target}": {"deep": [{"ref": target}]} for target in node.targets("named", "nested")},
            **{f"w{target}": {"ref": target, "provider": True} for target in node.targets("later", "written")},
        }
        if nested:
            arguments["nested"] = nested
        return {"type": "component", "component": f"B{number}", "arguments": arguments, "bean": options}
    found: dict[str, Any] = {
        "type": "t.plain",
        "needs": node.targets("needs", "argument", "typed"),
        "named": {target: target for target in node.targets("named", "nested", "qualified")},
        "make": node.make,
        "start": node.start,
        "close": node.close,
        "bean": options,
    }
    later = node.targets(*SOFT)
    return found | ({"later": later[0]} if later else {})


@contextlib.contextmanager
def built(nodes: Sequence[Node]) -> Iterator[Built]:
    """The application of a graph; beans of settings cannot ask for others while they are made."""
    for node in nodes:
        if not node.component:
            for kind in EAGER:
                node.edges.pop(kind, None)
    made = Built(nodes)
    name = f"container_graph_{next(_numbers)}"
    module = ModuleType(name)
    vars(module).update(BUILT=made, SETTINGS=[settings_of(node) for node in nodes])
    exec(source(nodes), vars(module))
    kit = Kit(Path(tempfile.gettempdir()), log=made.log)
    beans = {f"b{number}": bean_of(number, node) for number, node in enumerate(nodes)}
    sys.modules[name] = module
    try:
        made.app = AgentForge.from_mapping(
            {"scan": [name], "beans": beans}, folder=kit.folder, environment={}, plugins=kit.plugins()
        )
        yield made
    finally:
        del sys.modules[name]


async def lived(made: Built, while_it_lives: Any = None) -> BaseException | None:
    """Start and stop the application; what ended it early."""
    assert made.app is not None
    try:
        async with made.app:
            if while_it_lives is not None:
                while_it_lives(made.app)
    except BaseException as error:  # a cancellation that a bean raises is one too
        return error
    return None


def has_circle(graph: dict[str, list[str]], among: set[str] | None = None) -> bool:
    """Whether beans are left after all that reach nothing were taken away, again and again."""
    left = {name: targets for name, targets in graph.items() if among is None or name in among}
    while free := [name for name, targets in left.items() if not any(each in left for each in targets)]:
        for name in free:
            del left[name]
    return bool(left)


def reached(graph: dict[str, list[str]], starts: Sequence[str]) -> set[str]:
    """These beans and all that they reach."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(graph[current])
    return found


def respects(order: Sequence[str], graph: dict[str, list[str]]) -> bool:
    """Whether each bean stands behind all that it reaches."""
    place = {name: number for number, name in enumerate(order)}
    return all(place[each] < place[name] for name in order for each in graph[name])


# -- the properties ------------------------------------------------------------------------------


@settings(deadline=None)
@given(graphs())
def test_a_circle_is_always_a_fault_and_never_built_and_every_other_graph_is_planned(nodes: list[Node]) -> None:
    """Whoever asks later closes none."""
    with built(nodes) as made:
        assert made.app is not None
        graph = made.graph(*HARD)
        if has_circle(graph):
            with pytest.raises(ConfigurationFaults) as raised:
                made.app.check()
            assert {fault.code for fault in raised.value.diagnostics} == {BEAN_CYCLE}
            assert all(fault.next_step and " -> " in fault.message for fault in raised.value.diagnostics)
            assert isinstance(asyncio.run(lived(made)), ConfigurationFaults)
            assert made.log == []
            return
        needs = {name: list(bean.needs) for name, bean in made.app.plan.beans.items()}
        assert respects(list(needs), needs)
        assert {name: set(found) for name, found in needs.items()} == {
            name: set(found) for name, found in graph.items()
        }


@settings(deadline=None)
@given(graphs(upwards=HARD))
def test_beans_are_started_in_the_order_of_the_graph_and_closed_in_reverse(nodes: list[Node]) -> None:
    """Those that are lazy only where others need them; what was asked for later is there when it is asked for."""
    with built(nodes) as made:
        graph = made.graph(*HARD)
        eager = [f"b{number}" for number, node in enumerate(nodes) if not node.lazy]

        def ask_later(app: AgentForge) -> None:
            assert set(made.noted("start")) == reached(graph, eager)
            for name in graph:
                assert app.get(name) is app.get(name)

        error = asyncio.run(lived(made, ask_later))

        assert error is None
        started, closed = made.noted("start"), made.noted("close")
        assert sorted(started) == sorted(made.noted("make")) == sorted(graph)
        assert respects(started, graph) and respects(made.noted("make"), graph)
        assert closed == made.noted("make")[::-1]
        assert respects(closed[::-1], graph)


@settings(deadline=None)
@given(graphs(kinds=(*HARD, *SOFT, *EAGER), upwards=HARD))
def test_a_circle_that_shows_only_while_beans_are_made_is_an_error_with_its_way(nodes: list[Node]) -> None:
    """Constructors that ask the application, or call what was given to be called later."""
    with built(nodes) as made:
        graph = made.graph(*HARD, *EAGER)
        eager = [f"b{number}" for number, node in enumerate(nodes) if not node.lazy]

        error = asyncio.run(lived(made))

        wanted = reached(graph, eager)
        if has_circle(graph, wanted):
            assert isinstance(error, AgentForgeError)
            assert error.code == BEAN_CYCLE
            assert " -> " in error.message and error.next_step
        else:
            assert error is None
            assert set(made.noted("start")) == wanted
            assert respects(made.noted("make"), graph)
        assert made.noted("close") == made.noted("make")[::-1]


@settings(deadline=None)
@given(graphs(kinds=(*HARD, *SOFT, *EAGER), upwards=(*HARD, *EAGER), troubled=True))
def test_whatever_fails_nothing_stays_open(nodes: list[Node]) -> None:
    """Every bean that was made is closed once, in reverse, and each failure is told."""
    with built(nodes) as made:
        trouble = {f"b{number}": node for number, node in enumerate(nodes)}

        error = asyncio.run(lived(made))

        whole = [name for name in made.noted("make") if not trouble[name].make]
        assert made.noted("close") == whole[::-1]
        assert len(made.noted("start")) == len(set(made.noted("start")))
        failed = [name for name in made.noted("make") if trouble[name].make]
        failed += [name for name in made.noted("start") if trouble[name].start]
        failed_to_close = [name for name in whole if trouble[name].close]
        assert (error is not None) is bool(failed or failed_to_close)
        assert len(failed) <= 1


@settings(deadline=None)
@given(graphs(upwards=HARD), st.integers(0, 7), st.sampled_from(["prototype", "invocation"]))
def test_a_bean_of_another_scope_changes_nothing_of_that(nodes: list[Node], which: int, scope: str) -> None:
    """Its users are built after what it needs, and whatever was made for them is closed with them."""
    with built(nodes) as made:
        assert made.app is not None
        name = f"b{which % len(nodes)}"
        beans = {f"b{number}": bean_of(number, node) for number, node in enumerate(nodes)}
        beans[name]["bean"]["scope"] = scope
        kit = Kit(Path(tempfile.gettempdir()), log=made.log)
        module = next(each for each in sys.modules if each.startswith("container_graph_"))
        made.app = AgentForge.from_mapping(
            {"scan": [module], "beans": beans}, folder=kit.folder, environment={}, plugins=kit.plugins()
        )

        error = asyncio.run(lived(made))

        assert error is None
        assert sorted(made.noted("make")) == sorted(made.noted("close"))


def test_the_beans_of_these_graphs_are_what_the_kit_s_are() -> None:
    """The measure itself: a component of a graph notes its life as any other."""
    nodes = [Node(True, {}), Node(True, {"typed": [0], "written": [0]}), Node(False, {"needs": [1], "later": [0]})]
    with built(nodes) as made:
        assert asyncio.run(lived(made)) is None

    assert made.noted("make") == made.noted("start") == ["b0", "b1", "b2"]
    assert made.noted("close") == ["b2", "b1", "b0"]
