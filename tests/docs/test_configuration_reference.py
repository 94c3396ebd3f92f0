"""The tables of bean types in the guide on configuration are those of the settings models, word for word.

Run as a program it writes them anew: ``python tests/docs/test_bean_types.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest

from agentforge.plugin import BeanSettings, BeanType, Plugins, Ref

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "configuration.md"
WORDS = {str: "text", bool: "true or false", int: "whole number", float: "number", Any: "anything"}


def bean_types() -> dict[str, BeanType]:
    """The core's types and those of the plugins in this checkout, in the order in which they are registered."""
    plugins = Plugins()
    found = dict(plugins.builtin_types())
    for folder in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        plugins.load(folder.parent.name)
        found |= plugins.types_of(folder.parent.name)
    return found


def section(bean_type: BeanType, others: dict[str, BeanType]) -> str:
    """What the page says of one type; of settings that are more than another type's only what they add."""
    base = next((each for each in others.values() if each.settings is bean_type.settings.__base__), None)
    inherited = frozenset(base.settings.model_fields) if base is not None else frozenset()
    rows = list(rows_of(bean_type.settings, leave_out=inherited))
    lines = [f"### `{bean_type.name}`", "", f"{bean_type.summary} {provided(bean_type)}"]
    if base is not None:
        lines += ["", f"All settings of `{base.name}`, and:"]
    elif not rows:
        lines[-1] += " No settings."
    if rows:
        lines += ["", "| setting | takes | default | is |", "| --- | --- | --- | --- |", *rows]
    return "\n".join(lines) + "\n"


def provided(bean_type: BeanType) -> str:
    """For whom the bean is good."""
    return "It is what its class is." if bean_type.provides is object else f"It is a `{bean_type.provides.__name__}`."


def rows_of(
    settings: type[BeanSettings], prefix: str = "", *, leave_out: frozenset[str] = frozenset()
) -> Iterator[str]:
    """The rows of a table; settings inside settings have dotted names."""
    for name, field in settings.model_fields.items():
        if name in leave_out:
            continue
        kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        if isinstance(kind, type) and issubclass(kind, BeanSettings):
            yield from rows_of(kind, f"{prefix}{name}.")
            continue
        default = "required" if field.is_required() else shown(field.get_default(call_default_factory=True), kind)
        words = " ".join((field.description or "").split()).replace("|", "\\|")
        yield f"| `{prefix}{name}` | {taken(kind)} | {default} | {words} |"


def taken(kind: Any) -> str:
    """A declared type in a reader's words."""
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(taken(each) for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Annotated:
        inner, *marks = get_args(kind)
        if any(isinstance(mark, Ref) for mark in marks):
            return f"bean: `{inner.__name__}`"
        if "seconds_of" in str(marks):
            return "duration"
        lowest = [mark.ge for mark in _flat(marks) if getattr(mark, "ge", None) is not None]
        return taken(inner) + (f" from {lowest[0]}" if lowest else "")
    if get_origin(kind) is Literal:
        return " or ".join(f"`{each}`" for each in get_args(kind))
    if get_origin(kind) in (list, tuple):
        item = taken(get_args(kind)[0])
        return f"list of {item.replace('bean:', 'beans:')}" if item != "anything" else "list"
    if get_origin(kind) is dict:
        item = taken(get_args(kind)[1])
        return "mapping" if item == "anything" else f"mapping to {item}"
    return "secret" if getattr(kind, "__name__", "") == "SecretStr" else WORDS[kind]


def _flat(marks: list[Any]) -> Iterator[Any]:
    for mark in marks:
        yield from (mark, *getattr(mark, "metadata", ()))


def shown(default: object, kind: Any) -> str:
    """A default as it would be written in the file."""
    if default is None:
        return "unset"
    if default in ((), {}, []):
        return "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        return f"`[{', '.join(map(str, default))}]`"
    if taken(kind) == "duration":
        return f"`{default:g}s`"
    return f"`{default}`"


def on_page(text: str, name: str) -> str:
    """The part of the page from the type's heading to the next heading."""
    found = re.search(rf"^### `{re.escape(name)}`$.*?(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


TYPES = bean_types()


@pytest.mark.parametrize("name", TYPES)
def test_the_page_has_every_setting_of_a_bean_type(name: str) -> None:
    """With its default and its description as the settings model has them."""
    assert on_page(PAGE.read_text("utf-8"), name).strip() == section(TYPES[name], TYPES).strip()


def test_the_page_has_no_other_bean_type() -> None:
    """A type that was taken away or renamed is noticed, and so is one that stands there twice."""
    headings = re.findall(r"^### `([a-z_.]+)`$", PAGE.read_text("utf-8"), re.MULTILINE)

    assert sorted(headings) == sorted(TYPES)


def test_a_setting_is_described_by_its_declaration() -> None:
    """Type, default and text come from the model."""

    class Settings(BeanSettings):
        """Of the test."""

        wanted: str
        """What is wanted."""
        mode: Literal["one", "two"] | None = None
        """One, two | neither."""
        deep: tuple[str, ...] = ("a",)
        """Several."""

    bean_type = BeanType("test", Settings, lambda settings: object(), object, "For a test.")

    assert section(bean_type, {}).splitlines()[2:] == [
        "For a test. It is what its class is.",
        "",
        "| setting | takes | default | is |",
        "| --- | --- | --- | --- |",
        "| `wanted` | text | required | What is wanted. |",
        r"| `mode` | `one` or `two` | unset | One, two \| neither. |",
        "| `deep` | list of text | `[a]` | Several. |",
    ]


def main() -> None:
    """Write the tables of the page anew; types that it lacks are printed."""
    text = PAGE.read_text("utf-8")
    for name, bean_type in TYPES.items():
        old, new = on_page(text, name).strip(), section(bean_type, TYPES).strip()
        if old:
            text = text.replace(old, new)
        else:
            print(f"{new}\n")
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
