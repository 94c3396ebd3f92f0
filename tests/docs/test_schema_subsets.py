"""The table of schema subsets is what the plugins' data say.

Run as a program it writes the table anew: ``python tests/docs/test_schema_subsets.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentforge.tool.spec import SchemaSubset, SubsetLimits
from tests.support.provider_subsets import KnownSubset, known_subsets

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "declaring-tools.md"
HEADS = ("subset", "strict tools of", "other tools of", "keywords", "references", "null", "objects", "at most")
TABLE = re.compile("^" + re.escape(f"| {' | '.join(HEADS)} |") + r"\n(?:\|.*\|\n)+", re.MULTILINE)
MOST_NAMES = 4


def table() -> str:
    """The whole table."""
    lines = [HEADS, ["---"] * len(HEADS), *map(cells, known_subsets().values())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(known: KnownSubset) -> Sequence[str]:
    """What a subset says, in the words of the page."""
    subset = known.subset
    kept = sorted(subset.allowed) + (["const"] if subset.const else [])
    return (
        f"`{subset.name}`",
        names(known.strict),
        names(known.plain),
        ", ".join(f"`{key}`" for key in kept) or "none",
        "written out" if subset.references == "inline" else f"`$defs`{'' if subset.recursion else ', no circles'}",
        "`nullable`" if subset.null == "nullable" else "a type",
        objects(subset),
        ", ".join(limits(subset.limits)) or "–",
    )


def names(rows: Sequence[str]) -> str:
    """The vendors, as far as there are few; an endpoint that nobody knows is none."""
    vendors = sorted({*rows} - {"generic"})
    return f"{len(vendors)} vendors" if len(vendors) > MOST_NAMES else ", ".join(f"`{row}`" for row in vendors) or "–"


def objects(subset: SchemaSubset) -> str:
    """What objects say of keys that are not declared."""
    if "additionalProperties" in subset.allowed:
        return "say what else they take"
    return "are closed" if subset.says_closed else "say nothing"


def limits(known: SubsetLimits) -> Iterator[str]:
    """The limits that there are."""
    for most, what in (
        (known.levels, "levels"),
        (known.properties, "properties"),
        (known.enum_values, "enum values"),
        (known.characters, "characters"),
        (known.tools, "tools"),
        (known.optionals, "optional properties"),
        (known.unions, "properties of several types"),
    ):
        if most is not None:
            yield f"{most:,} {what}"


def test_the_table_is_what_the_data_say() -> None:
    """Word for word; a subset that is new, gone or changed is noticed."""
    found = TABLE.search(PAGE.read_text("utf-8"))
    assert found is not None and found[0] == table()


def main() -> None:
    """Write the table anew."""
    text = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(), text, count=1), "utf-8")


if __name__ == "__main__":
    main()
