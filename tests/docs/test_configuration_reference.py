"""The configuration reference is what the code says: root keys, options, variables, and every type with its settings.

Run as a program it writes the page anew: ``python tests/docs/test_configuration_reference.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest

from agentforge.config.settings import AgentForgeSettings
from agentforge.plugin import BeanSettings, BeanType, Plugins, Ref
from agentforge.plugin.json_schema import configuration_schema
from agentforge.plugin.settings_schema import PLACEHOLDER

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "configuration.md"
INTRO = (
    "# Configuration reference\n\n"
    "Every key of a configuration file, every option of a bean, every variable of the program, and every setting of "
    "every bean type. The [guide](../guides/configuration.md) says how they work together. "
    "`agentforge schema -o agentforge.schema.json` writes the same for an editor.\n\n"
    "This page is written from the code: `python tests/docs/test_configuration_reference.py`.\n"
)
READING = (
    "A name with a dot is a key inside another: `argument_limits: {max_depth: 8}`; "
    '`tools[].name` is one in each item of a list. "Unset" and "none" are what you get '
    "without the setting. A turn of a script is described in [Testing](../guides/testing.md#scripts-in-yaml), error "
    "strategies in [Errors and limits](../guides/errors-and-limits.md#the-three-strategies).\n"
)
WORDS = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    Any: "anything",
    Path: "path",
}


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
        name = field.alias or name
        kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        if isinstance(kind, type) and issubclass(kind, BeanSettings):
            yield from rows_of(kind, f"{prefix}{name}.")
            continue
        if (inner := _settings_by_name(field.annotation)) is not None:
            yield from rows_of(inner, f"{prefix}{name}.NAME.")
            continue
        if (inner := _settings_in_list(field.annotation)) is not None:
            yield from rows_of(inner, f"{prefix}{name}[].")
            continue
        default = "required" if field.is_required() else shown(field.get_default(call_default_factory=True), kind)
        words = " ".join((field.description or "").split()).replace("|", "\\|")
        if (inner := _settings_or_none(field.annotation)) is not None:
            yield f"| `{prefix}{name}` | {taken(kind)} | {default} | {words} |"
            yield from rows_of(inner, f"{prefix}{name}.")
            continue
        yield f"| `{prefix}{name}` | {taken(kind)} | {default} | {words} |"


def _settings_by_name(kind: Any) -> type[BeanSettings] | None:
    """The settings that a mapping has under names of the user's."""
    inner = get_args(kind)[1] if get_origin(kind) is dict else None
    return inner if isinstance(inner, type) and issubclass(inner, BeanSettings) else None


def _settings_in_list(kind: Any) -> type[BeanSettings] | None:
    """The settings of which a list has any number."""
    inner = get_args(kind)[0] if get_origin(kind) in (list, tuple) else None
    return inner if isinstance(inner, type) and issubclass(inner, BeanSettings) else None


def _settings_or_none(kind: Any) -> type[BeanSettings] | None:
    """The settings that need not be there, or in whose place something shorter may stand."""
    inner = get_args(kind) if get_origin(kind) in (Union, UnionType) else []
    return next((each for each in inner if isinstance(each, type) and issubclass(each, BeanSettings)), None)


def taken(kind: Any) -> str:
    """A declared type in a reader's words."""
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(taken(each) for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Annotated:
        inner, *marks = get_args(kind)
        if any(isinstance(mark, Ref) for mark in marks):
            return f"bean: `{inner.__name__}`" if isinstance(inner, type) and inner is not Any else "bean"
        if "seconds_of" in str(marks):
            return "duration"
        if "amount_of" in str(marks):
            return "whole number from 1"
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
    if isinstance(kind, type) and issubclass(kind, BeanSettings):
        return "mapping"
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


def page(types: dict[str, BeanType]) -> str:
    """The whole page."""
    schema = configuration_schema(types)
    root = schema["properties"]
    options = schema["definitions"]["options"]["properties"]
    lists = next(each["properties"] for each in root["plugins"]["anyOf"] if "properties" in each)
    parts = [
        INTRO,
        "## The root\n\n" + keys_table("key", root),
        "`plugins` as a mapping:\n\n" + keys_table("key", lists),
        "## `bean`: options of the container\n\n" + keys_table("option", options, defaults=True),
        "The conditions of `when`; all that are given must hold:\n\n"
        + keys_table("condition", options["when"]["properties"]),
        "## Variables of the program\n\n" + variables_table(),
        "## Types of the core\n\n" + READING,
        *(section(each, types) for name, each in types.items() if "." not in name),
        "## Types of the plugins\n\nEach comes with its plugin, which is imported when a bean names the type.\n",
        *(section(each, types) for name, each in types.items() if "." in name),
    ]
    return "\n".join(parts)


def keys_table(head: str, properties: dict[str, Any], *, defaults: bool = False) -> str:
    """Keys of the file as its schema describes them."""
    rows = [
        f"| {head} | takes |{' default |' if defaults else ''} is |",
        f"| --- | --- |{' --- |' if defaults else ''} --- |",
    ]
    for name, each in properties.items():
        default = f" {json_shown(each.get('default'))} |" if defaults else ""
        rows.append(f"| `{name}` | {json_taken(each)} |{default} {each['description']} |")
    return "\n".join(rows) + "\n"


def json_taken(schema: dict[str, Any]) -> str:
    """What a schema takes, in a reader's words; a placeholder is taken everywhere and not said."""
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        found = [json_taken(each) for each in schema["anyOf"] if each.get("pattern") != PLACEHOLDER["pattern"]]
        return " or ".join(dict.fromkeys(found))
    kinds = schema.get("type", [])
    kind = next(each for each in ([kinds] if isinstance(kinds, str) else kinds) if each != "null")
    words = {"array": "list of names", "object": "mapping", "string": "text", "boolean": "true or false"}
    return words.get(kind, "whole number")


def json_shown(default: object) -> str:
    """A default as it would be written in the file."""
    return "unset" if default is None else f"`{str(default).lower()}`"


def variables_table() -> str:
    """The settings that are no bean's."""
    rows = ["| variable | takes | default | is |", "| --- | --- | --- | --- |"]
    for name, field in AgentForgeSettings.model_fields.items():
        kind = taken(field.annotation).replace("list of text", "names with commas")
        words = " ".join((field.description or "").split())
        default = shown(field.default, field.annotation)
        rows.append(f"| `AGENTFORGE_{name.upper()}` | {kind} | {default} | {words} |")
    return "\n".join(rows) + "\n"


TYPES = bean_types()


def test_the_page_is_what_the_code_says() -> None:
    """Word for word; a key, an option or a setting that is new, gone or described anew is noticed."""
    assert PAGE.read_text("utf-8") == page(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_every_setting_is_described(name: str) -> None:
    """A row without words helps nobody."""
    assert [row for row in rows_of(TYPES[name].settings) if row.endswith("|  |")] == []


def test_a_setting_is_described_by_its_declaration() -> None:
    """Type, default and text come from the model."""

    class Inner(BeanSettings):
        """Of the test."""

        word: str
        """A word."""

    class Settings(BeanSettings):
        """Of the test."""

        wanted: str
        """What is wanted."""
        mode: Literal["one", "two"] | None = None
        """One, two | neither."""
        deep: tuple[str, ...] = ("a",)
        """Several."""
        more: Inner | None = None
        """What need not be there."""

    Settings.model_rebuild(_types_namespace={"Inner": Inner})
    bean_type = BeanType("test", Settings, lambda settings: object(), object, "For a test.")

    assert section(bean_type, {}).splitlines()[2:] == [
        "For a test. It is what its class is.",
        "",
        "| setting | takes | default | is |",
        "| --- | --- | --- | --- |",
        "| `wanted` | text | required | What is wanted. |",
        r"| `mode` | `one` or `two` | unset | One, two \| neither. |",
        "| `deep` | list of text | `[a]` | Several. |",
        "| `more` | mapping | unset | What need not be there. |",
        "| `more.word` | text | required | A word. |",
    ]


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(page(TYPES), "utf-8")


if __name__ == "__main__":
    main()
