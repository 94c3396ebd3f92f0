"""What every plugin has to do, as a class of tests to subclass: its metadata, its types, its hooks."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from agentforge.model.scripted import ScriptedChatModel, call
from agentforge.testing.contracts.running import must, run, skip
from agentforge.tool import StaticTools
from agentforge.tool.execution import DefaultToolExecutor

if TYPE_CHECKING:
    from agentforge.plugin import BeanType, Found, Plugins, PluginState

__all__ = ("PluginContract",)

_T = TypeVar("_T")
_NO_SUCH_SECRET = "NO_SECRET_HAS_THIS_NAME_0815"


class PluginContract:
    """The tests of a plugin as a whole: write ``class TestMyPlugin(PluginContract)`` and override `plugin`.

    Override `beans` too where its types cannot be made from nothing. ``patience`` (60) bounds each test in seconds.
    """

    patience = 60.0

    def plugin(self) -> str | Found:
        """The plugin's name, when it is installed; else what its metadata would say, as a `Found`."""
        raise TypeError(f"{type(self).__name__} must override plugin()")

    def beans(self) -> Mapping[str, Mapping[str, Any]]:
        """Definitions as in a file, by bean id, that use every type of the plugin at least once.

        By default each type with its name alone.
        """
        return {f"bean_{number}": {"type": name} for number, name in enumerate(self._loaded()[1].types)}

    def environment(self) -> Mapping[str, str]:
        """The variables that the beans find; by default none."""
        return {}

    def test_it_loads(self) -> None:
        """Its entry point is there, its module can be imported, and all that it registers is taken."""
        state = self._loaded()[1]
        must(state.hooks, "it implements no hook: mark its functions with hookimpl")

    def test_it_says_for_which_version_it_was_written(self) -> None:
        """``AGENTFORGE_API`` stands in its module, so that a later version knows what to expect."""
        from agentforge.plugin import AGENTFORGE_API

        module = self._found().load()
        said = getattr(module, "AGENTFORGE_API", None)
        must(said is not None, f"its module does not say AGENTFORGE_API = {AGENTFORGE_API}")

    def test_its_types_are_described(self) -> None:
        """A summary that is a sentence, and a text for every setting, those inside it too."""
        from agentforge.plugin import BeanSettings

        for item in self._types().values():
            must(item.summary.rstrip().endswith((".", "。")), f"the summary of {item.name} is no sentence")
            silent = [
                f"{model.__name__}.{name}"
                for model in _models(item.settings, BeanSettings)
                for name, field in model.model_fields.items()
                if not (field.description or "").strip()
            ]
            must(not silent, f"settings of {item.name} without a text below them: {', '.join(silent)}")

    def test_unknown_settings_are_refused(self) -> None:
        """A name that was misspelt is found when the file is checked."""
        for item in self._types().values():
            kept = item.settings.model_config.get("extra")
            must(kept == "forbid", f"the settings of {item.name} take unknown keys (extra={kept!r})")

    def test_each_type_makes_what_it_promises(self) -> None:
        """The beans of `beans` are checked, made, started and closed; each is what its type provides."""
        from agentforge.config import ConfigurationFaults
        from agentforge.container import AgentForge
        from agentforge.plugin import fits

        types = self._types()
        if not types:
            skip("the plugin brings no bean types")
        beans = self.beans()
        unused = sorted(set(types) - set(_type_names(beans)))
        must(not unused, f"no bean of beans() has the type {', '.join(unused)}")

        async def work() -> None:
            app = AgentForge.from_mapping({"beans": beans}, environment=self.environment(), plugins=self._plugins())
            try:
                app.check()
            except ConfigurationFaults as faults:
                raise AssertionError(f"the beans of beans() have faults:\n{faults}") from faults
            async with app:
                for bean_id, planned in app.plan.beans.items():
                    item = planned.bean_type
                    if item is None or item.name not in types:
                        continue
                    made = await app.resolve(bean_id) if bean_id in app.plan.declared else None
                    if made is not None:
                        right = fits(type(made), item.provides)
                        must(right, f"{item.name} made a {type(made).__name__}, which is no {item.provides.__name__}")

        self._run(work())

    def test_its_commands_have_names_and_summaries(self) -> None:
        """They stand in ``agentforge PLUGIN --help``."""
        plugins, state = self._loaded()
        for command in plugins.commands_of(state.name):
            must(command.name and " " not in command.name, f"{command.name!r} is no name of a command")
            must(command.summary.strip(), f"the command {command.name!r} has no summary")

    def test_it_has_no_secret_that_nobody_gave_it(self) -> None:
        """For an unknown name its hook gives ``None``, so that other sources are asked."""
        plugins, state = self._loaded()
        if "agentforge_secret" not in state.hooks:
            skip("the plugin gives no secrets")
        found = plugins.secret(_NO_SUCH_SECRET, state.name)
        must(found is None, "it gives a value for a secret that does not exist")

    def test_its_observers_take_every_event(self) -> None:
        """A conversation with a tool, plain and streamed, and one that fails: no hook of it raises."""
        from agentforge.container import AgentForge

        async def work() -> None:
            plugins, _ = self._loaded()
            tools = StaticTools([DefaultToolExecutor(_echo).bound_tool()])
            turns: list[Any] = [call("_echo", text="hello"), "Done.", call("_echo", text="hello"), "Done."]
            beans = {
                "model": ScriptedChatModel([*turns, RuntimeError("scripted failure")]),
                "echo": tools,
                "assistant": {"type": "chat_client", "model": "model", "tools": ["echo"]},
            }
            with _troubles() as said:
                async with AgentForge.from_mapping({"beans": beans}, environment={}, plugins=plugins) as app:
                    client = app.get("assistant")
                    await client.chat("Hello")
                    async with client.stream("Hello") as events:
                        async for _ in events:
                            pass
                    with suppress(RuntimeError):
                        await client.chat("Hello")
            must(not said, "; ".join(said))

        self._run(work())

    # -- inside ----------------------------------------------------------------------------------

    def _found(self) -> Found:
        from agentforge.plugin import Found, discover

        wanted = self.plugin()
        if isinstance(wanted, Found):
            return wanted
        entries = [entry for entry in discover() if entry.name == wanted]
        must(entries, f"no plugin {wanted!r} is installed; install the distribution, or give a Found")
        must(len(entries) == 1, f"several distributions bring a plugin {wanted!r}: {entries}")
        return entries[0]

    def _plugins(self) -> Plugins:
        from agentforge.plugin import Plugins

        return Plugins(entry_points=[self._found()])

    def _loaded(self) -> tuple[Plugins, PluginState]:
        plugins = self._plugins()
        plugins.load_all()
        [state] = plugins.states()
        must(state.state == "active", f"the plugin {state.words}: {state.reason}")
        return plugins, state

    def _types(self) -> Mapping[str, BeanType]:
        plugins, state = self._loaded()
        return plugins.types_of(state.name)

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return run(lambda: work, patience=self.patience)


def _models(settings: type[Any], base: type) -> Iterator[type[Any]]:
    """The settings and those inside them."""
    yield settings
    for field in settings.model_fields.values():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, base):
            yield from _models(inner, base)


def _type_names(value: object) -> Iterator[str]:
    """Every ``type:`` of some definitions, those of beans in place too, and names that stand for one."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _type_names(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _type_names(inner)
    elif isinstance(value, str):
        yield value


@contextmanager
def _troubles() -> Iterator[list[str]]:
    """What is logged about plugins meanwhile."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("agentforge.plugin")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


def _echo(text: str) -> str:
    """Says the text again."""
    return text
