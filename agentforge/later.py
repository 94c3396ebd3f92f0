"""Names of a package that are loaded on first use, so that to start is cheap: one rule for every package."""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ("loaded_later",)


def loaded_later(
    names: dict[str, object], home: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose ``globals()`` are ``names``.

    ``home`` says for each name in which module of the package it is; a name that is its own home is that module.

    >>> get, _ = loaded_later({"__name__": "agentforge"}, {"nearest": "config"})
    >>> get("nearest")("modle", ["model"])
    'model'
    >>> get("farthest")
    Traceback (most recent call last):
        ...
    AttributeError: module 'agentforge' has no attribute 'farthest'
    """
    package = str(names["__name__"])

    def get(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f"{package}.{home[name]}")
        value = names[name] = module if home[name] == name else getattr(module, name)
        return value

    def listed() -> list[str]:
        public = names.get("__all__", ())
        return sorted({*names, *(public if isinstance(public, tuple) else ())})

    return get, listed
