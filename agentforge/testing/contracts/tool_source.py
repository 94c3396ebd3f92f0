"""What every source of tools has to do, as a class of tests to subclass."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from agentforge.errors import ToolArgumentsError
from agentforge.model import ToolSpecification
from agentforge.model.scripted import ScriptedChatModel, call
from agentforge.testing.contracts.running import must, opened, run, skip
from agentforge.tool import BoundTool, ToolSource
from agentforge.tool.execution import Run, ToolOutcome, ToolService

__all__ = ("ToolSourceContract",)

_T = TypeVar("_T")


class ToolSourceContract:
    """The tests of a tool source: write ``class TestMySource(ToolSourceContract)`` and override `source`.

    Override `examples` as well, and the tools are called for real. ``patience`` (60) bounds each test in seconds.
    """

    patience = 60.0

    def source(self) -> Any:
        """A fresh `ToolSource`, or an asynchronous context manager around one; the suite starts and closes it."""
        raise TypeError(f"{type(self).__name__} must override source()")

    def examples(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        """Calls that must end well: names of tools and their arguments."""
        return ()

    def test_it_is_a_tool_source(self) -> None:
        """`tools` is awaited and gives a sequence of `BoundTool`, one at least."""

        async def work() -> None:
            async with self._opened() as source:
                must(isinstance(source, ToolSource), f"{type(source).__name__} has no tools()")
                must(inspect.iscoroutinefunction(source.tools), "tools must be async")
                found = await source.tools(Run())
                must(isinstance(found, Sequence), f"tools() gave {type(found).__name__}, not a sequence")
                must(found, "the source offers no tool")
                for tool in found:
                    must(isinstance(tool, BoundTool), f"tools() gave a {type(tool).__name__}, not a BoundTool")

        self._run(work())

    def test_each_tool_has_a_name_of_its_own_and_a_description(self) -> None:
        """By the name a model calls it, by the description it chooses it."""

        async def work() -> None:
            async with self._opened() as source:
                found = await source.tools(Run())
                names = [tool.name for tool in found]
                twice = sorted({name for name in names if names.count(name) > 1})
                must(not twice, f"several tools have the name {', '.join(twice)}")
                for tool in found:
                    text = tool.specification.description
                    must(text and text.strip(), f"the tool {tool.name!r} has no description")

        self._run(work())

    def test_each_tool_declares_its_parameters_as_a_json_schema(self) -> None:
        """An object schema that can be sent, and that a validator takes."""

        async def work() -> None:
            import jsonschema_rs

            async with self._opened() as source:
                for tool in await source.tools(Run()):
                    parameters = tool.specification.parameters
                    schema = parameters.schema
                    must(schema.get("type") == "object", f"the parameters of {tool.name!r} are no object")
                    try:
                        json.dumps(schema, allow_nan=False)
                        jsonschema_rs.validator_for(dict(schema))
                    except (TypeError, ValueError) as error:
                        raise AssertionError(f"the schema of {tool.name!r} is none: {error}") from error
                    unknown = set(tool.specification.parameters.required) - set(
                        tool.specification.parameters.properties
                    )
                    must(not unknown, f"{tool.name!r} requires {', '.join(sorted(unknown))}, which it does not declare")

        self._run(work())

    def test_arguments_that_are_missing_are_refused(self) -> None:
        """Before anything runs, with `ToolArgumentsError`, which a strategy can answer."""

        async def work() -> None:
            async with self._opened() as source:
                for tool in await source.tools(Run()):
                    if not tool.specification.parameters.required:
                        continue
                    try:
                        tool.bind({})
                    except ToolArgumentsError:
                        continue
                    except Exception as error:
                        raise AssertionError(f"{tool.name!r} refused missing arguments with {error!r}") from error
                    raise AssertionError(f"{tool.name!r} took a call without its required arguments")

        self._run(work())

    def test_it_offers_the_same_to_the_same_run(self) -> None:
        """Asked again, also by several runs at once, it has the same tools, which were not changed meanwhile."""

        async def work() -> None:
            async with self._opened() as source:
                first = await source.tools(Run())
                before = [_said(tool.specification) for tool in first]
                again = await asyncio.gather(*(source.tools(Run()) for _ in range(3)))
                for found in again:
                    after = [_said(tool.specification) for tool in found]
                    must(after == before, "asked again without a reason it offers something else")
                must([_said(tool.specification) for tool in first] == before, "what it gave before was changed")

        self._run(work())

    def test_a_service_offers_its_tools(self) -> None:
        """A model is told of every tool, by the names that the source gave."""

        async def work() -> None:
            async with self._opened() as source:
                names = [tool.name for tool in await source.tools(Run())]
                model = ScriptedChatModel(["Hello."])
                with ToolService(source) as service:
                    await service.chat(model, None, "Hello")
                offered = [tool.name for tool in model.requests[0].parameters.tools]
                must(offered == names, f"a model is offered {offered}, the source has {names}")

        self._run(work())

    def test_its_tools_answer(self) -> None:
        """Each example of `examples` ends well in a run, with something to tell the model."""
        examples = list(self.examples())
        if not examples:
            skip("examples() names no calls")

        async def work() -> None:
            for name, arguments in examples:
                async with self._opened() as source:
                    model = ScriptedChatModel([call(name, arguments), "Done."])
                    with ToolService(source) as service:
                        result = await service.chat(model, None, "Do it.")
                [made] = result.tool_executions
                must(made.outcome is ToolOutcome.OK, f"{name} ended as {made.outcome.value}: {made.result_text()}")
                must(made.result.contents, f"{name} gave a result without contents")

        self._run(work())

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Any]:
        async with opened(self.source(), ToolSource) as source:
            yield source

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return run(lambda: work, patience=self.patience)


def _said(specification: ToolSpecification) -> str:
    return json.dumps(specification.to_json(), sort_keys=True, default=repr)
