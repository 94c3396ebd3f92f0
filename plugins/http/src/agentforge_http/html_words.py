"""What an HTML page says, where an API answers with one: its title and its text.

In time that grows with the page alone, whatever a stranger puts into it.
"""

from __future__ import annotations

import re

__all__ = ("html_words",)

_TITLE = re.compile(r"<title\b", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style|svg|head)\b", re.IGNORECASE)
_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "svg", "head", "title")}


def html_words(page: str) -> str:
    """The title and the text, without tags, comments and what no browser shows.

    >>> " ".join(html_words("<head><title>502</title></head><!-- x --><h1>Bad gateway</h1>").split())
    '502: Bad gateway'
    """
    title = _title(page)
    return f"{title}: {_text(page)}" if title else _text(page)


def _title(page: str) -> str:
    found = _TITLE.search(page)
    start = page.find(">", found.end()) if found is not None else -1
    end = _ENDS["title"].search(page, start) if start >= 0 else None
    return page[start + 1 : end.start()].strip() if end is not None else ""


def _text(page: str) -> str:
    parts: list[str] = []
    at = 0
    while (start := page.find("<", at)) >= 0:
        parts.append(page[at:start])
        end = _end_of(page, start)
        if end is None:
            parts.append(page[start:])
            break
        at = end
    else:
        parts.append(page[at:])
    return " ".join(parts)


def _end_of(page: str, start: int) -> int | None:
    """Behind the tag, comment or hidden part that begins at ``start``, one that is cut off being the rest of the page;
    ``None`` where no tag ends any more."""
    if page.startswith("<!--", start):
        end = page.find("-->", start + 4)
        return end + 3 if end >= 0 else len(page)
    hidden = _HIDDEN.match(page, start)
    if hidden is not None:
        closing = _ENDS[hidden[1].lower()].search(page, hidden.end())
        return closing.end() if closing is not None else len(page)
    end = page.find(">", start)
    return end + 1 if end >= 0 else None
