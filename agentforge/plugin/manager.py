"""Plugins loaded one by one and only when something names them; a broken one is set aside and harms nothing else."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentforge.plugin.command import Command
from agentforge.plugin.discovery import Found, discover, distinct, how_to_get
from agentforge.plugin.faults import PluginError, ends_the_program, place_of, words_of
from agentforge.plugin.secret_source import SecretSourceError, SecretTimeoutError, asked
from agentforge.plugin.state import PluginState, State

if TYPE_CHECKING:
    from agentforge.plugin.bean_type import BeanType
    from agentforge.plugin.vendor_profile import VendorProfile

__all__ = ("Plugins",)

_log = logging.getLogger("agentforge.plugin")
_BUILTIN = "agentforge:builtin"  # no entry point can have this name


class Plugins:
    """The installed plugins of one application context.

    ``allow``: only these names may load (``None``: all, empty: none). ``block``: these may not. ``entry_points``: the
    plugins to know instead of the installed ones. ``secret_timeout``: the seconds that a plugin has to give a secret;
    one that takes longer is not asked again. Nothing is read before the first use, nothing is imported before a
    plugin is asked for by `load`. Safe to use from several threads.
    """

    def __init__(
        self,
        allow: Collection[str] | None = None,
        block: Collection[str] = (),
        entry_points: Iterable[Found] | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
        secret_timeout: float = 30.0,
    ) -> None:
        self._allow = None if allow is None else frozenset(allow)
        self._block = frozenset(block)
        self._narrowed: tuple[frozenset[str] | None, frozenset[str]] = (None, frozenset())
        self._given = None if entry_points is None else distinct(entry_points)
        self._clock = clock
        self._patience = secret_timeout
        #: Those that did not answer when they were asked for a secret; they are not waited for again.
        self._stuck: set[str] = set()
        self._lock = threading.RLock()
        self._found: Mapping[str, tuple[Found, ...]] | None = None
        self._states: dict[str, tuple[PluginState, ...]] = {}
        self._types: dict[str, dict[str, BeanType]] = {}
        self._commands: dict[str, tuple[Command, ...]] = {}
        self._profiles: dict[str, tuple[VendorProfile, ...]] = {}
        self._modules: dict[str, object] = {}
        self._observers: dict[str, tuple[tuple[str, Any], ...]] = {}
        self._reported: set[tuple[str, str]] = set()
        self._manager: Any = None

    def fresh(self) -> Plugins:
        """Another set of the same plugins under the same switches, with nothing loaded: for another configuration."""
        return Plugins(self._allow, self._block, self._given, clock=self._clock, secret_timeout=self._patience)

    # -- what there is ---------------------------------------------------------------------------

    def states(self) -> tuple[PluginState, ...]:
        """Every installed plugin by name; of a duplicate name each distribution."""
        with self._lock:
            return tuple(state for name in self._installed() for state in self._states[name])

    def state(self, name: str) -> PluginState | None:
        """The plugin of this name; ``None`` when none is installed."""
        with self._lock:
            return self._states[name][0] if name in self._installed() else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the installed plugins."""
        with self._lock:
            return tuple(self._installed())

    # -- loading ---------------------------------------------------------------------------------

    def restrict(self, allow: Collection[str] | None, block: Collection[str]) -> None:
        """Let only the plugins of ``allow`` load (``None``: all) and none of ``block``, of those that may at all.

        Takes the place of an earlier restriction. A plugin that is loaded already is put out: its types, commands,
        vendors and hooks are gone, only its module stays imported.
        """
        with self._lock:
            self._narrowed = (None if allow is None else frozenset(allow), frozenset(block))
            for name, entries in self._installed().items():
                states = self._states[name]
                if self._blocked(name) is None and states[0].state != "blocked":
                    continue
                if states[0].state == "active":
                    self._put_out(name)
                self._states[name] = tuple(self._first_state(entry, entries) for entry in entries)
            self._observers.clear()

    def load(self, prefix: str) -> None:
        """Import the plugin of this name and register all it brings, once; a failure is kept in its state.

        Does nothing for a name that is not installed, blocked or ambiguous; ask `state` what came of it. Catches
        what the plugin raises, `SystemExit` too, and lets an interrupt and the end by a signal pass.
        """
        with self._lock:
            found = self._installed().get(prefix)
            if found is None or self._states[prefix][0].state != "found":
                return
            self._states[prefix] = (self._loaded(found[0], self._states[prefix][0]),)
            self._observers.clear()

    def load_all(self) -> None:
        """Load every plugin that may be loaded."""
        for name in self.names:
            self.load(name)

    def types_of(self, prefix: str) -> Mapping[str, BeanType]:
        """The bean types of a loaded plugin by name; none for one that is not active."""
        with self._lock:
            return dict(self._types.get(prefix, {}))

    def commands_of(self, prefix: str) -> tuple[Command, ...]:
        """The commands of a loaded plugin."""
        with self._lock:
            return self._commands.get(prefix, ())

    def vendor_profiles(self, family: str) -> Mapping[str, VendorProfile]:
        """The vendors that loaded plugins bring for a family of wires, by name."""
        with self._lock:
            found = (item for items in self._profiles.values() for item in items if item.family == family)
            return {item.name: item for item in found}

    def builtin_types(self) -> Mapping[str, BeanType]:
        """The core's own bean types, registered through the same hooks at their first use."""
        with self._lock:
            if _BUILTIN not in self._types:
                from agentforge.plugin import builtin
                from agentforge.plugin.registration import register

                made = register(self._pluggy(), builtin, _BUILTIN, prefix=None)
                self._types[_BUILTIN] = {item.name: item for item in made.types}
            return dict(self._types[_BUILTIN])

    # -- secrets ---------------------------------------------------------------------------------

    def secret(self, name: str, plugin: str | None = None) -> str | None:
        """The secret of this name: of ``plugin`` alone, which is loaded for it, else of the first active plugin that
        has it; ``None`` when none has.

        Raises `PluginError` for a plugin that cannot be asked, and for one that failed while no other had the secret.
        Its words may hold anything, so they are not shown: only the class of what it raised, and where.
        """
        if plugin is not None:
            self.load(plugin)
            self._expect_active(plugin)
        with self._lock:
            sources = self._observers_of("agentforge_secret")
        if plugin is not None:
            sources = tuple(source for source in sources if source[0] == plugin)
            if not sources:
                raise PluginError(
                    f"the plugin {plugin!r} gives no secrets", next_step="It has no hook agentforge_secret."
                )
        failed: list[PluginError] = []
        for owner, implementation in sources:
            try:
                if owner in self._stuck:
                    raise SecretSourceError(f"it gave no answer in {self._patience:g} s")
                found = asked(implementation, name, self._patience)
                if found is not None:
                    return found
            except BaseException as error:
                if ends_the_program(error):
                    raise
                if isinstance(error, SecretTimeoutError):
                    self._stuck.add(owner)
                ours = isinstance(error, SecretSourceError)
                words = str(error) if ours else f"{type(error).__name__}{place_of(error)}"
                failure = PluginError(
                    f"the plugin {owner!r} failed to give the secret {name!r}: {words}",
                    next_step=f"Correct the plugin {owner!r} or what it needs, or give the secret in the environment.",
                )
                failure.__cause__ = error
                failed.append(failure)
        if failed:
            raise failed[0]
        return None

    # -- observing -------------------------------------------------------------------------------

    def call_observers(self, hook: str, **arguments: object) -> None:
        """Call an observing hook of every active plugin, in the order they were loaded.

        One that raises does not keep the others from being called; it is named once in the log. ``arguments`` are
        those of the hook's specification.
        """
        observers = self._observers.get(hook)
        if observers is None:
            with self._lock:
                observers = self._observers[hook] = self._observers_of(hook)
        for plugin, implementation in observers:
            try:
                implementation.function(*[arguments[name] for name in implementation.argnames])
            except BaseException as error:
                if ends_the_program(error):
                    raise
                self._report(plugin, hook, error)

    def observes(self, hook: str) -> bool:
        """Whether an active plugin implements the hook, so that what it is told need not be made for nobody."""
        with self._lock:
            return bool(self._observers_of(hook))

    # -- inside ----------------------------------------------------------------------------------

    def _installed(self) -> Mapping[str, tuple[Found, ...]]:
        if self._found is None:
            found: dict[str, tuple[Found, ...]] = {}
            for entry in self._given if self._given is not None else discover():
                found[entry.name] = (*found.get(entry.name, ()), entry)
            self._found = found
            for name, entries in found.items():
                self._states[name] = tuple(self._first_state(entry, entries) for entry in entries)
        return self._found

    def _blocked(self, name: str) -> str | None:
        """Why a plugin may not load; ``None`` when it may."""
        if name in self._block:
            return "it is switched off"
        if self._allow is not None and name not in self._allow:
            return "it is not in the list of plugins that may load"
        only, disabled = self._narrowed
        if name in disabled:
            return "the configuration switches it off"
        if only is not None and name not in only:
            return "it is not among the plugins that the configuration allows"
        return None

    def _first_state(self, entry: Found, same_name: tuple[Found, ...]) -> PluginState:
        state: State = "found"
        reason = self._blocked(entry.name)
        if reason is not None:
            state = "blocked"
        elif len(same_name) > 1:
            state = "duplicate"
            rivals = " and ".join(f"{other.distribution} {other.version} ({other.value})" for other in same_name)
            reason = f"several distributions bring a plugin of this name: {rivals}"
        return PluginState(entry.name, entry.distribution, entry.version, state, reason=reason)

    def _loaded(self, entry: Found, before: PluginState) -> PluginState:
        from agentforge.plugin.registration import IncompatibleError, register

        started = self._clock()
        state: State = "failed"
        known = [item for items in self._profiles.values() for item in items]
        try:
            module = entry.load()
            made = register(self._pluggy(), module, entry.name, prefix=entry.name, known=known)
        except BaseException as error:
            if ends_the_program(error):
                raise
            if isinstance(error, IncompatibleError):
                state = "incompatible"
            reason = words_of(error) + place_of(error)
            _log.warning("plugin %r (%s %s) was set aside: %s", entry.name, entry.distribution, entry.version, reason)
            return replace(before, state=state, seconds=self._clock() - started, reason=reason, cause=error)
        self._types[entry.name] = {item.name: item for item in made.types}
        self._commands[entry.name] = made.commands
        self._profiles[entry.name] = made.profiles
        self._modules[entry.name] = module
        return replace(
            before,
            state="active",
            seconds=self._clock() - started,
            types=tuple(self._types[entry.name]),
            hooks=made.hooks,
        )

    def _put_out(self, name: str) -> None:
        """Undo the registration of a plugin that is active."""
        self._manager.unregister(self._modules.pop(name))
        for brought in (self._types, self._commands, self._profiles):
            brought.pop(name, None)

    def _expect_active(self, name: str) -> None:
        state = self.state(name)
        if state is None:
            raise PluginError(f"no plugin {name!r} is installed", next_step=how_to_get(name))
        if state.state != "active":
            raise PluginError(str(state), next_step="Correct or allow it; 'agentforge plugins' says more.")

    def _pluggy(self) -> Any:
        if self._manager is None:
            import pluggy

            from agentforge.plugin import hooks

            self._manager = pluggy.PluginManager("agentforge")
            self._manager.add_hookspecs(hooks)
        return self._manager

    def _observers_of(self, hook: str) -> tuple[tuple[str, Any], ...]:
        if self._manager is None:
            return ()
        # In the order in which they were loaded; pluggy's own calls go the other way.
        found = sorted(
            getattr(self._manager.hook, hook).get_hookimpls(),
            key=lambda implementation: implementation.trylast - implementation.tryfirst,
        )
        return tuple((implementation.plugin_name, implementation) for implementation in found)

    def _report(self, plugin: str, hook: str, error: BaseException) -> None:
        with self._lock:
            first = (plugin, hook) not in self._reported
            self._reported.add((plugin, hook))
        if first:
            _log.warning("plugin %r failed in its hook %s: %s", plugin, hook, words_of(error))
