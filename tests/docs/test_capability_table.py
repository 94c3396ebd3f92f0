"""The table of capabilities is what the profiles say: every vendor row of every plugin in this checkout.

Run as a program it writes the page anew: ``python tests/docs/test_capability_table.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from agentforge.cli.known_rows import KnownRow, known_rows
from agentforge.cli.probing.said import claim, claim_of_choice, claim_of_format
from agentforge.plugin import Plugins

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "capabilities.md"
INTRO = (
    "# Capabilities\n\n"
    "What each vendor's row says of its models, by the type of bean that asks them. Every entry is a default: models "
    "of one vendor differ, some types know more of a model by its name, and endpoints change. "
    "[`agentforge probe`](../guides/probing.md) asks a model what it really can, and a bean or "
    "[a row of your own](../providers/vendor-rows.md) says otherwise.\n\n"
    "`agentforge models --profiles` prints the same for the plugins that are installed, `--json` with every field. "
    "This page is written from the code: `python tests/docs/test_capability_table.py`.\n\n"
    "| word | means |\n"
    "| --- | --- |\n"
    "| yes | it is sent as it was asked |\n"
    "| mapped | it is said in another way that means the same, such as fewer tools for a list of allowed ones |\n"
    "| dropped | it is left out, with a notice on the reply |\n"
    "| no | it is refused before anything is sent (AF313) |\n\n"
    "`unsupported` in `profile_overrides` [sets](../guides/models.md#vendors) which of the last three it is.\n"
)
HEADS = (
    "vendor",
    "tools",
    "choices",
    "parallel calls",
    "strict",
    "JSON",
    "JSON Schema",
    "either beside tools",
    "tools while thinking",
    "calls in pieces",
    "media",
    "effort",
    "seed",
    "goes back",
)
CHOICES = ("auto", "none", "required", "tool", "allowed")


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
        parts.append(f"## `{type_name}`\n\n{table(HEADS, map(cells, listed))}")
        parts.append(table(("vendor", "address", "key"), map(place, listed)))
    return "\n".join(parts)


def table(heads: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    """A table of the page."""
    made = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in made)


def cells(row: KnownRow) -> Sequence[str]:
    """What a row says, in the words of the page."""
    profile = row.profile
    said = {mode: claim_of_choice(profile, mode) for mode in CHOICES}
    choices = [mode if word == "yes" else f"{mode} ({word})" for mode, word in said.items() if word != "no"]
    media = [name for name in ("images", "audio", "files") if getattr(profile, name)]
    return (
        f"`{row.vendor}`",
        profile.tool_mode,
        ", ".join(choices) or "none",
        profile.parallel_tool_calls,
        claim(profile, "strict_tools", profile.strict_tools),
        claim_of_format(profile, "json"),
        claim_of_format(profile, "json_schema"),
        claim(profile, "response_format_with_tools", profile.response_format_with_tools),
        claim(profile, "tools_with_thinking", profile.tools_with_thinking),
        "yes" if profile.streamed_tool_deltas else "no",
        ", ".join(media) or "none",
        claim(profile, "reasoning_effort", profile.reasoning_effort),
        claim(profile, "seed", profile.seed),
        ", ".join(f"`{name}`" for name in sorted(profile.replay)) or "–",
    )


def place(row: KnownRow) -> Sequence[str]:
    """Where a vendor lives, and whose key it takes."""
    key = f"`{row.row.key_variable}`" if row.row.key_variable else "–"
    needed = " (needed)" if row.row.key_required else ""
    return f"`{row.vendor}`", f"`{row.row.base_url}`" if row.row.base_url else "yours", key + needed


def test_the_page_is_what_the_rows_say() -> None:
    """Word for word; a row that is new, gone or changed is noticed."""
    assert PAGE.read_text("utf-8") == page(list(rows()))


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(page(list(rows())), "utf-8")


if __name__ == "__main__":
    main()
