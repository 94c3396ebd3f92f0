"""A link on a page that leads into the project leads to something that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for folder in ("docs", "config") for page in sorted((ROOT / folder).rglob("*.md"))),
    *sorted(ROOT.glob("plugins/*/README.md")),
]
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


def broken(text: str, folder: Path) -> list[str]:
    """The targets of relative links that do not exist: files, and headings of this page or another."""
    found = []
    for target in (match["target"] for match in LINK.finditer(CODE.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        page = folder / path if path else None
        if page is not None and not page.exists():
            found.append(target)
            continue
        if heading and heading not in _anchors(text if page is None else page.read_text("utf-8")):
            found.append(target)
    return found


def _anchors(text: str) -> set[str]:
    return {_anchor(line) for line in text.splitlines() if line.startswith("#")}


def _anchor(heading: str) -> str:
    text = heading.lstrip("#").strip().lower().replace("`", "")
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the project or a heading of the page; addresses elsewhere are not tried."""
    assert broken(page.read_text("utf-8"), page.parent) == []


def test_every_page_is_on_the_index() -> None:
    """A page in `docs/` that `docs/README.md` does not name is found by nobody."""
    docs = ROOT / "docs"
    linked = {match["target"] for match in LINK.finditer((docs / "README.md").read_text("utf-8"))}
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {"README.md"}

    assert sorted(pages - linked) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    """A missing file and a missing heading are, a good one and code are not."""
    (tmp_path / "there.md").write_text("# D\n", "utf-8")
    text = "# A `b` c\n[1](there.md) [2](gone.md) [3](#a-b-c) [4](#nothing) `[5](code.md)` [6](https://example.org)"

    assert broken(f"{text} [7](there.md#d) [8](there.md#e)", tmp_path) == ["gone.md", "#nothing", "there.md#e"]
