"""Registering one plugin as a whole or not at all: version, hooks and all that it brings are checked together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.plugin.command import Command
from agentforge.plugin.faults import PluginError
from agentforge.plugin.hooks import AGENTFORGE_API
from agentforge.plugin.vendor_profile import VendorProfile

__all__ = ("IncompatibleError", "Registration", "register")


class IncompatibleError(PluginError):
    """The plugin was written for another version of the hooks."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What one plugin brought."""

    types: tuple[Any, ...]
    commands: tuple[Command, ...]
    hooks: tuple[str, ...]
    profiles: tuple[VendorProfile, ...] = ()


def register(
    manager: Any, plugin: object, name: str, *, prefix: str | None, known: Iterable[VendorProfile] = ()
) -> Registration:
    """Register ``plugin`` with a pluggy manager and collect what it brings. With ``prefix`` every bean type must begin
    with it and a dot; ``known`` are the vendors of others, whose names are taken.

    Whatever it raises leaves the manager as it was: `IncompatibleError`, `PluginError`, or the plugin's own.
    """
    _check_version(plugin)
    if manager.is_registered(plugin):
        raise PluginError("its module is registered already, under another name")
    try:
        manager.register(plugin, name=name)
        callers = manager.get_hookcallers(plugin) or ()
        for caller in callers:
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    _check_hook(manager, caller, implementation)
        types: list[Any] = []
        commands: list[Command] = []
        _collect(plugin, callers, "agentforge_bean_types", types.append)
        _collect(plugin, callers, "agentforge_commands", commands.append)
        profiles: list[VendorProfile] = []

        def add_profile(family: str, vendor: str, fields: Mapping[str, object]) -> None:
            profiles.append(VendorProfile(family, vendor, fields, plugin=name))

        _collect(plugin, callers, "agentforge_vendor_profiles", add_profile)
        _check_types(types, prefix)
        _check_commands(commands)
        _check_profiles(profiles, known)
    except BaseException:
        if manager.is_registered(plugin):  # a hook that does not fit leaves those before it behind
            manager.unregister(plugin)
        raise
    hooks = tuple(sorted(caller.name for caller in callers))
    return Registration(tuple(types), tuple(commands), hooks, tuple(profiles))


def _check_version(plugin: object) -> None:
    version = getattr(plugin, "AGENTFORGE_API", (1, 0))
    well_formed = (
        isinstance(version, tuple) and len(version) == 2 and all(isinstance(number, int) for number in version)
    )
    if not well_formed:
        raise IncompatibleError(f"AGENTFORGE_API must be two numbers such as (1, 0), it is {version!r}")
    if version[0] != AGENTFORGE_API[0] or version[1] > AGENTFORGE_API[1]:
        theirs, ours = (".".join(map(str, numbers)) for numbers in (version, AGENTFORGE_API))
        raise IncompatibleError(
            f"it was written for version {theirs} of the plugin interface, and this is {ours}",
            next_step="Install a version of the plugin that fits, or another agentforge-kit.",
        )


def _check_hook(manager: Any, caller: Any, implementation: Any) -> None:
    if not caller.has_spec():
        if implementation.optionalhook:
            return
        from agentforge.config import nearest

        known = [name for name in vars(manager.hook) if getattr(manager.hook, name).has_spec()]
        near = nearest(caller.name, known)
        raise PluginError(
            f"there is no hook {caller.name!r}" + (f"; did you mean {near!r}?" if near else ""),
            next_step="Correct the function's name, or mark it with hookimpl(optionalhook=True).",
        )
    if implementation.wrapper or implementation.hookwrapper:
        raise PluginError(f"its hook {caller.name!r} is a wrapper; hooks register or observe and wrap nothing")
    made = implementation.function
    if inspect.iscoroutinefunction(made) or inspect.isasyncgenfunction(made) or inspect.isgeneratorfunction(made):
        raise PluginError(
            f"its hook {caller.name!r} is async or yields, and would never run",
            next_step="Make it a plain function.",
        )


def _collect(plugin: object, callers: Iterable[Any], hook: str, add: Callable[..., None]) -> None:
    for caller in callers:
        if caller.name == hook:
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    implementation.function(*[add for _ in implementation.argnames])


def _check_types(types: Iterable[Any], prefix: str | None) -> None:
    from agentforge.plugin.bean_type import BeanType

    seen: set[str] = set()
    for item in types:
        if not isinstance(item, BeanType):
            raise PluginError(f"it registered {type(item).__name__} as a bean type; give a BeanType")
        if prefix is not None and not item.name.startswith(f"{prefix}."):
            raise PluginError(f"its bean type {item.name!r} does not begin with {prefix + '.'!r}")
        if item.name in seen:
            raise PluginError(f"it registered the bean type {item.name!r} twice")
        seen.add(item.name)


def _check_commands(commands: Iterable[Any]) -> None:
    seen: set[str] = set()
    for item in commands:
        if not isinstance(item, Command):
            raise PluginError(f"it registered {type(item).__name__} as a command; give a Command")
        if item.name in seen:
            raise PluginError(f"it registered the command {item.name!r} twice")
        seen.add(item.name)


def _check_profiles(profiles: Iterable[VendorProfile], known: Iterable[VendorProfile]) -> None:
    taken = {(item.family, item.name): item.plugin for item in known}
    for item in profiles:
        owner = taken.get((item.family, item.name))
        if owner == item.plugin:
            raise PluginError(f"it registered the vendor profile {item.name!r} of {item.family!r} twice")
        if owner is not None:
            raise PluginError(
                f"its vendor profile {item.name!r} of {item.family!r} is there already, from the plugin {owner!r}"
            )
        taken[item.family, item.name] = item.plugin
