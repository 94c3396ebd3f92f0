"""The documents of one description: the root and what it refers to in other files, all read before the import begins.

References lead only to where the root may: to files inside its folder, or to addresses of its own host. Whatever else
they name is a fault of the operation that needs it, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge_http.openapi.reading import read_document
from agentforge_http.picking import found_at, pointer_steps
from agentforge_http.sender import origin_of

__all__ = (
    "MAX_DOCUMENTS",
    "Documents",
    "Found",
    "fetched_documents",
    "file_documents",
    "is_url",
    "one_document",
    "url_fault",
)

MAX_DOCUMENTS = 200
"""How many files or addresses one description may consist of."""
MAX_BYTES = 8 * 1024 * 1024
"""How large a description may be, unless somebody says otherwise."""

Fetch = Callable[[str], Awaitable[bytes]]


class Found:
    """A value with the document it stands in, and its path there."""

    __slots__ = ("document", "pointer", "value")

    def __init__(self, value: Any, document: str, pointer: str) -> None:
        self.value = value
        self.document = document
        self.pointer = pointer

    def __repr__(self) -> str:
        return f"Found({self.document}#{self.pointer})"


class Documents:
    """All documents by their names; ``root`` is the name of the first, ``url`` its address where it has one.

    ``faults`` says of a document that is referred to why it is not there.
    """

    def __init__(self, root: str, values: Mapping[str, Any], faults: Mapping[str, str], url: str | None) -> None:
        self.root = root
        self.values = dict(values)
        self.faults = dict(faults)
        self.url = url
        self._found: dict[tuple[str, str], Found | str] = {}

    @property
    def value(self) -> Any:
        """The root document."""
        return self.values[self.root]

    def find(self, reference: str, document: str) -> Found | str:
        """What a reference in ``document`` leads to, followed to a value that is no reference itself; a text says why
        it leads nowhere."""
        known = self._found.get((reference, document))
        if known is None:
            known = self._found[reference, document] = self._follow(reference, document)
        return known

    def _follow(self, reference: str, document: str) -> Found | str:
        seen: list[tuple[str, str]] = []
        while True:
            target, _, pointer = reference.partition("#")
            name = _absolute(target, document) if target else document
            if name not in self.values:
                reason = self.faults.get(name, "it was not read")
                return f"the reference {reference[:200]!r} leads nowhere: {reason}"
            place = (name, pointer)
            if place in seen or len(seen) > 64:
                return f"the reference {reference[:200]!r} leads back to itself"
            seen.append(place)
            value = _at(self.values[name], pointer)
            if value is None:
                return f"the reference {reference[:200]!r} leads nowhere"
            only_reference = isinstance(value, dict) and isinstance(value.get("$ref"), str) and len(value) == 1
            if not only_reference:
                return Found(value, name, pointer)
            reference, document = value["$ref"], name


def _absolute(target: str, document: str) -> str:
    """The name of the document that ``target`` means in ``document``; itself where it can be the name of none."""
    try:
        if is_url(document) or is_url(target):
            return urljoin(document, target) if is_url(document) else target
        return str((Path(document).parent / unquote(target)).resolve())
    except (ValueError, OSError):
        return target


def _at(value: Any, pointer: str) -> Any:
    """What a JSON pointer, perhaps percent-encoded, points at; ``None`` when there is nothing."""
    if not pointer:
        return value
    if not pointer.startswith("/"):
        return None
    try:
        return found_at(value, pointer_steps(unquote(pointer)))
    except LookupError:
        return None


def url_fault(url: str) -> str | None:
    """What is wrong with the address of a description, in words that do not show it; ``None`` for a good one.

    >>> url_fault("https://ann:pw@specs.test/api.json")
    'holds a user name or a password'
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is no valid address"
    if not parts.hostname:
        return "names no host"
    return "holds a user name or a password" if "@" in parts.netloc else None


def is_url(text: str) -> bool:
    """Whether a name is an address and not a file."""
    return text[:8].lower().startswith(("http://", "https://"))


def one_document(value: Any, name: str = "document", url: str | None = None) -> Documents:
    """A description that is there already as plain values; it can refer to nothing but itself."""
    root = url or name
    return Documents(root, {root: value}, {}, url)


def file_documents(path: Path, *, max_bytes: int = MAX_BYTES) -> Documents:
    """Read a description from a file, with the files of its folder that it refers to. Raises `ConfigurationError` for a
    root that cannot be read; other faults are kept."""
    path = path.resolve()
    root = str(path)
    values: dict[str, Any] = {root: read_document(_bytes(path, max_bytes), path.name, max_bytes=max_bytes)}
    faults: dict[str, str] = {}
    waiting = [root]
    left = max_bytes
    while waiting:
        document = waiting.pop()
        for target in _targets(values[document]):
            name = _absolute(target, document)
            if name in values or name in faults:
                continue
            fault = _refusal(name, target, path, len(values))
            if fault is None:
                try:
                    content = _bytes(Path(name), left)
                    values[name] = read_document(content, Path(name).name, max_bytes=left)
                    left -= len(content)
                    waiting.append(name)
                    continue
                except ConfigurationError as error:
                    fault = error.message
            faults[name] = fault
    return Documents(root, values, faults, None)


def _refusal(name: str, target: str, root: Path, count: int) -> str | None:
    if is_url(name) or "://" in target:
        return "a document on disk cannot refer to another host, and nothing is fetched"
    if not Path(name).is_relative_to(root.parent):
        return f"{target[:100]!r} is outside the folder of the description"
    if count >= MAX_DOCUMENTS:
        return f"the description has more than {MAX_DOCUMENTS} files"
    return None


def _bytes(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigurationError(
            f"the document {path.name!r} cannot be read: {error.strerror or type(error).__name__}",
            next_step="Check the name; it is relative to the file it stands in.",
        ) from None


async def fetched_documents(url: str, fetch: Fetch, *, max_bytes: int = MAX_BYTES) -> Documents:
    """Fetch a description, and the documents of its host that it refers to. Raises what ``fetch`` raises for the root,
    and `ConfigurationError` for one that cannot be read; other faults are kept."""
    content = await fetch(url)
    values: dict[str, Any] = {url: read_document(content, _shown(url), max_bytes=max_bytes)}
    faults: dict[str, str] = {}
    left = max_bytes - len(content)
    waiting = [url]
    while waiting:
        document = waiting.pop()
        for target in _targets(values[document]):
            name = _absolute(target, document)
            if name in values or name in faults:
                continue
            if not is_url(name) or url_fault(name) is not None or origin_of(name) != origin_of(url):
                faults[name] = "it is on another host than the description, and is not fetched"
            elif len(values) >= MAX_DOCUMENTS:
                faults[name] = f"the description has more than {MAX_DOCUMENTS} documents"
            elif left <= 0:
                faults[name] = f"the description has more than {max_bytes:,} bytes"
            else:
                try:
                    content = await fetch(name)
                    left -= len(content)
                    values[name] = read_document(content, _shown(name), max_bytes=left + len(content))
                    waiting.append(name)
                except AgentForgeError as error:
                    faults[name] = error.message
    return Documents(url, values, faults, url)


def _shown(url: str) -> str:
    return url.partition("?")[0]


def _targets(value: Any) -> Iterator[str]:
    """The other documents that references in ``value`` name, each once."""
    seen: set[str] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            reference = item.get("$ref")
            if isinstance(reference, str):
                target = reference.partition("#")[0]
                if target and target not in seen:
                    seen.add(target)
                    yield target
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
