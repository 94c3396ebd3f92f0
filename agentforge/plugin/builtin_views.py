"""What every source of tools in a file may say of its tools: which, under which names, with which descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from agentforge.plugin.bean_settings import BeanSettings, Field
from agentforge.plugin.checking import Finding
from agentforge.tool import ToolSource, describe, only, prefix, rename, without

__all__ = ("ViewSettings", "check_view", "patterns_of", "view_of", "viewed_names")


class ViewSettings(BeanSettings):
    """Settings of a view. They hold in this order: leaving out, descriptions, new names, the prefix; all but the last
    speak of the tools by the names that the source itself gives them."""

    only: tuple[str, ...] = ()
    """Names of the tools to offer, with * and ? as wildcards; empty: all."""
    without: tuple[str, ...] = ()
    """Names of tools to leave out, with * and ? as wildcards."""
    except_: tuple[str, ...] = Field(default=(), alias="except")
    """Another word for without."""
    rename: dict[str, str] = Field(default_factory=dict)
    """New names of tools, by their own names."""
    describe: dict[str, str] = Field(default_factory=dict)
    """New descriptions of tools, by their own names."""
    prefix: str | None = None
    """Text put in front of every tool's name."""

    def model_post_init(self, context: object) -> None:
        """Refuse an empty name."""
        for name, new in self.rename.items():
            if not new:
                raise ValueError(f"the new name of {name!r} in rename must not be empty")


def view_of(source: ToolSource, settings: ViewSettings) -> ToolSource:
    """The source with these settings applied."""
    if settings.only:
        source = only(source, *settings.only)
    if left_out := (*settings.without, *settings.except_):
        source = without(source, *left_out)
    if settings.describe:
        source = describe(source, settings.describe)
    if settings.rename:
        source = rename(source, settings.rename)
    return prefix(source, settings.prefix) if settings.prefix else source


def viewed_names(settings: ViewSettings, names: Iterable[str]) -> tuple[str, ...]:
    """The names that the view offers of a source with these."""
    return tuple(f"{settings.prefix or ''}{settings.rename.get(name, name)}" for name in _kept(settings, names))


def patterns_of(settings: ViewSettings) -> Iterator[tuple[str, str]]:
    """Each pattern of names with the path of its setting."""
    for key, patterns in (("only", settings.only), ("without", settings.without), ("except", settings.except_)):
        for number, pattern in enumerate(patterns):
            yield pattern, f"{key}.{number}"


def check_view(settings: ViewSettings, names: Sequence[str], owner: str) -> Iterator[Finding]:
    """Patterns and names that fit no tool of a source with these names, and two tools that get one name.

    ``owner`` is the source in words, such as ``the component 'Shop'``.
    """
    known = f"It has {', '.join(names) or 'none'}."
    for pattern, path in patterns_of(settings):
        if not _fits(pattern, names):
            yield Finding(f"no tool of {owner} is named {pattern!r}", path, known)
    kept = _kept(settings, names)
    for key, wanted in (("rename", settings.rename), ("describe", settings.describe)):
        for name in wanted:
            if name not in names:
                yield Finding(f"no tool of {owner} is named {name!r}", f"{key}.{name}", known)
            elif name not in kept:
                yield Finding(f"the tool {name!r} of {owner} is left out", f"{key}.{name}", "Leave this out, too.")
    seen: dict[str, str] = {}
    for name in kept:
        new = settings.rename.get(name, name)
        if new in seen:
            step = "Give one of them another name."
            yield Finding(f"two tools of {owner} get the name {new!r}: {seen[new]!r} and {name!r}", "rename", step)
        seen.setdefault(new, name)


def _kept(settings: ViewSettings, names: Iterable[str]) -> list[str]:
    left_out = (*settings.without, *settings.except_)
    return [
        name for name in names if (not settings.only or _matches(name, settings.only)) and not _matches(name, left_out)
    ]


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _fits(pattern: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)
