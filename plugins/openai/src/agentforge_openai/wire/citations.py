"""The sources that a reply names, in the forms that servers use.

- ``annotations`` of the message or of deltas, of type ``url_citation``: the documented form, with a place in the text
  whose end is behind the last character. Others leave out title or place (from 0 to 0 is none), add what the source
  says, or write all of it without the inner object.
- ``citations`` of the body or of each chunk: addresses, or objects. Their order counts: ``[1]`` in the text is the
  first. ``search_results`` beside them have the titles; alone they are the list.
- ``citations`` of the message: objects.

Annotations of other types, such as parsed files, name no source and are left alone. Nothing of this has to go back: an
assistant turn of this wire has no place for it, and where annotations are taken again, all they save is to parse a file
once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agentforge.model import Citation

__all__ = ("Sources",)

_TEXTS = ("content", "exactQuote", "snippet", "text")


class Sources:
    """Collects the sources of one reply, whole or in pieces. What is malformed is none, and never an error."""

    __slots__ = ("_annotations", "_listed", "_of_message", "_results")

    def __init__(self) -> None:
        self._annotations: list[object] = []
        self._of_message: list[object] = []
        self._listed: list[object] = []
        self._results: list[object] = []

    def add_of_message(self, message: Mapping[str, object]) -> None:
        """Take those of a message, or the further ones of a delta."""
        for item in _list(message.get("annotations")):
            if isinstance(item, dict) and item.get("type") in (None, "url_citation"):
                inner = item.get("url_citation")
                self._annotations.append(inner if isinstance(inner, dict) else item)
        self._of_message += _list(message.get("citations"))

    def add_of_body(self, body: Mapping[str, object]) -> None:
        """Take the lists of a body or of a chunk; every chunk has them anew, so the last of each counts."""
        self._listed = _list(body.get("citations")) or self._listed
        self._results = _list(body.get("search_results")) or self._results

    def citations(self, text: str) -> tuple[Citation, ...]:
        """The sources of a reply with this text: the annotations, each once, then what only the lists name."""
        found = list(dict.fromkeys(_read(self._annotations, text)))
        for further in (dict.fromkeys(_read(self._of_message, text)), self._of_lists(text)):
            named = {citation.url for citation in found if citation.url is not None}
            found += [citation for citation in further if citation.url not in named]
        return tuple(found)

    def _of_lists(self, text: str) -> Iterable[Citation]:
        results = list(_read(self._results, text))
        if not self._listed:
            return results
        known = {citation.url: citation for citation in results}
        # Only an address is filled up: what the list itself says of a source is said of this reply.
        return (known.get(one.url, one) if one == Citation(one.url) else one for one in _read(self._listed, text))


def _read(items: Iterable[object], text: str) -> Iterator[Citation]:
    for item in items:
        said = {"url": item} if isinstance(item, str) else item
        if isinstance(said, dict) and (citation := _citation(said, text)) is not None:
            yield citation


def _citation(said: Mapping[str, object], text: str) -> Citation | None:
    url, title = _word(said.get("url")), _word(said.get("title"))
    quoted = next((found for name in _TEXTS if (found := _word(said.get(name))) is not None), None)
    if url is None and title is None and quoted is None:
        return None
    start, end = said.get("start_index"), said.get("end_index")
    if type(start) is int and type(end) is int and 0 <= start < end <= len(text):
        return Citation(url, title, quoted, start, end)
    return Citation(url, title, quoted)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and not value.isspace() else None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
