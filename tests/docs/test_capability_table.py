"""The table of capabilities is what the profiles say: every vendor row of every plugin in this checkout.

Run as a program it writes the page anew: ``python tests/docs/test_capability_table.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from agentforge.cli.known_rows import KnownRow, known_rows
from agentforge.cli.row_words import CAPABILITY_HEADS, PLACE_HEADS, capability_words, place_words
from agentforge.plugin import Plugins

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "capabilities.md"
INTRO = (
    "# Capabilities\n\n"
    "What each vendor's row says of its models, by the type of bean that asks them. Every entry is a default: models "
    "of one vendor differ, some types know more of a model by its name, and endpoints change. "
    "[`agentforge probe`](../guides/probing.md) asks a model what it really can, and a bean or "
    "[a row of your own](../providers/vendor-rows.md) says otherwise.\n\n"
    "`agentforge models --profiles` prints the same as one wide table for the plugins that are installed, `--json` "
    "with every field of each profile. A type is listed with the vendors that are known to have its API, and "
    "`generic`, the row of an endpoint that nobody knows. "
    "This page is written from the code: `python tests/docs/test_capability_table.py`.\n\n"
    "| word | means |\n"
    "| --- | --- |\n"
    "| yes | it is sent as it was asked |\n"
    "| mapped | it is said in another way that means the same, such as fewer tools for a list of allowed ones, or no "
    "tools at all for `none` |\n"
    "| dropped | it is left out, with a notice on the reply |\n"
    "| no | it is refused before anything is sent (AF313) |\n"
    "| \N{EN DASH} | there is nothing to say: no tools, no field, no key |\n\n"
    "`unsupported` in `profile_overrides` [sets](../guides/models.md#vendors) which of *mapped*, *dropped* and *no* it "
    "is; only `none` and `allowed` among the choices have another way.\n\n"
    "| column | says |\n"
    "| --- | --- |\n"
    "| tools | `native`: the API has tools; `json_schema`: they are described in the prompt, and calls are read from "
    "the answer; `none`: there are none |\n"
    "| choices | what `tool_choice` may be: `auto` (the model decides), `none` (no call), `required` (some call), "
    "`tool` (this one), `allowed` (one of these); a choice that is not listed is refused |\n"
    "| parallel calls | `settable`: one reply may have several calls, and `parallel_tool_calls: false` ends that; "
    "`always`: it may, and nothing ends it; `never`: one call at a time |\n"
    "| strict | whether a tool may be `strict`, so that its arguments are held to its schema |\n"
    "| JSON, JSON Schema | whether an answer may be held to be an object (`response_format: json`), or to a schema |\n"
    "| JSON with tools | whether a request may have such a format and tools, and the model still calls them |\n"
    "| tools while thinking | whether a request may have tools and a reasoning effort |\n"
    "| calls in pieces | whether a stream has the arguments of a call piece by piece; `no`: each call comes whole, in "
    "one event |\n"
    "| media | what a message may hold beside text |\n"
    "| effort, seed | whether `reasoning_effort` and `seed` are taken |\n"
    "| sent back | the fields of the model's earlier turns, mostly its reasoning, that are sent to it again in the "
    "next request; types that keep their reasoning in the parts of a turn have no such field |\n"
    "| key | the environment variable of the key |\n"
)


def rows() -> Iterator[KnownRow]:
    """The rows of the plugins in this checkout; one that is wrong fails the test."""

    def wrong(text: str) -> None:
        raise AssertionError(text)

    folders = [folder.parent.name for folder in sorted(ROOT.glob("plugins/*/pyproject.toml"))]
    return known_rows(Plugins(folders), told=wrong)


def page(found: Sequence[KnownRow]) -> str:
    """The whole page."""
    parts = [INTRO]
    for type_name, of_type in groupby(found, key=lambda row: row.type_name):
        listed = list(of_type)
        parts.append(f"## `{type_name}`\n\n{table(('vendor', *CAPABILITY_HEADS), map(cells, listed))}")
        parts.append(table(("vendor", *PLACE_HEADS), map(place, listed)))
    return "\n".join(parts)


def table(heads: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    """A table of the page."""
    made = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in made)


def cells(row: KnownRow) -> Sequence[str]:
    """What a row says, its names as code."""
    *words, back = capability_words(row)
    return f"`{row.vendor}`", *words, _as_code(back)


def place(row: KnownRow) -> Sequence[str]:
    """Where a vendor lives, and whose key it takes."""
    address, key = place_words(row)
    return f"`{row.vendor}`", address if address == "yours" else f"`{address}`", _as_code(key)


def _as_code(words: str) -> str:
    return re.sub(r"\b(?!needed\b)\w+", r"`\g<0>`", words)


def test_the_page_is_what_the_rows_say() -> None:
    """Word for word; a row that is new, gone or changed is noticed."""
    assert PAGE.read_text("utf-8") == page(list(rows()))


def test_a_type_is_listed_with_those_who_have_its_api() -> None:
    """Vendors share rows between two APIs; of most no page says that they have the other."""
    vendors = [row.vendor for row in rows() if row.type_name == "openai.responses"]

    assert sorted(vendors) == ["azure", "deepseek", "generic", "openai", "xai"]


def test_of_calls_nothing_is_said_where_there_are_no_tools() -> None:
    """Six columns would speak of what cannot be."""
    [row] = [each for each in rows() if each.vendor == "perplexity"]
    said = dict(zip(CAPABILITY_HEADS, capability_words(row), strict=True))

    assert said["tools"] == "none"
    assert {name for name, word in said.items() if word == "\N{EN DASH}"} == {
        "choices",
        "parallel calls",
        "strict",
        "JSON with tools",
        "tools while thinking",
        "calls in pieces",
        "sent back",
    }


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(page(list(rows())), "utf-8")


if __name__ == "__main__":
    main()
