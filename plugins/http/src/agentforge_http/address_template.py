"""The address of an endpoint as a file writes it: host, a path with ``{argument}``, a query of such and constants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, unquote_plus

from agentforge.errors import ConfigurationError
from agentforge.http import parse_base_url

__all__ = ("AddressTemplate",)

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://([^/?#]*)([^?#]*)")
_NAME = re.compile(r"\{([^{}]*)\}")
_LITERAL = "/%:@!$&'()*+,;=~-._"


@dataclass(slots=True)
class AddressTemplate:
    """``path`` is literal text, escaped where it has to be, with ``{name}`` in it; ``in_query`` are the names on the
    wire of arguments in the query."""

    base_url: str
    path: str
    in_path: list[str] = field(default_factory=list)
    in_query: dict[str, str] = field(default_factory=dict)
    constants: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of_url(cls, url: str, name: str = "url") -> AddressTemplate:
        """From a whole address; ``name`` is the setting that holds it. Raises `ConfigurationError`.

        >>> made = AddressTemplate.of_url("https://api.example.com/users/{id}?fields=name&unit={unit}")
        >>> made.base_url, made.path, made.in_query, made.constants
        ('https://api.example.com', '/users/{id}', {'unit': 'unit'}, [('fields', 'name')])
        """
        matched = _ADDRESS.match(url)
        if matched is None:
            raise ConfigurationError(f"{name} is no whole address", next_step="Write it as https://host/path.")
        scheme, host, _ = matched.groups()
        if "{" in host or "}" in host:
            raise ConfigurationError(
                f"the host of {name} holds a placeholder: where a request goes is never the model's to say",
                next_step="Write the host out, or take it from a variable: ${NAME}.",
            )
        base_url = parse_base_url(f"{scheme}://{host}", name)
        return cls.of_path(base_url, url[len(scheme) + 3 + len(host) :])

    @classmethod
    def of_path(cls, base_url: str, path: str) -> AddressTemplate:
        """From an address and what stands behind it. Raises `ConfigurationError`."""
        if "#" in path:
            raise ConfigurationError("the address has a fragment, which is never sent", next_step="Leave out the #.")
        path, mark, query = path.partition("?")
        if path and not path.startswith("/"):
            raise ConfigurationError(f"the path {path!r} does not begin with a slash", next_step="Write it as /path.")
        made = cls(base_url, "")
        made._read_path(path)
        if mark:
            made._read_query(query)
        return made

    def _read_path(self, path: str) -> None:
        segments = [unquote(_NAME.sub("x", segment)) for segment in path.split("/")]
        if any(segment in (".", "..") for segment in segments):
            raise ConfigurationError("the path has a segment . or ..", next_step="Write the path that is meant.")
        parts: list[str] = []
        for literal, name in _pieces(path):
            parts.append(quote(literal, safe=_LITERAL))
            if name is not None:
                self.in_path.append(name)
                parts.append("{" + name + "}")
        self.path = "".join(parts)

    def _read_query(self, query: str) -> None:
        for member in filter(None, query.split("&")):
            wire, _, value = member.partition("=")
            whole = _NAME.fullmatch(value)
            if _NAME.search(wire) or (whole is None and ("{" in value or "}" in value)):
                raise ConfigurationError(
                    f"the member {wire!r} of the query is neither constant nor one placeholder",
                    next_step="Write each as name={argument} or name=constant.",
                )
            if whole is not None:
                self.in_query[_checked(whole[1])] = unquote_plus(wire)
            else:
                self.constants.append((unquote_plus(wire), unquote_plus(value)))


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Literal text, and the placeholder behind it; ``None`` behind the last."""
    at = 0
    for found in _NAME.finditer(text):
        yield _literal(text[at : found.start()]), _checked(found[1])
        at = found.end()
    yield _literal(text[at:]), None


def _literal(text: str) -> str:
    if "{" in text or "}" in text:
        raise ConfigurationError("a brace of the path is not closed", next_step="Write each placeholder as {argument}.")
    return text


def _checked(name: str) -> str:
    if not name.strip():
        raise ConfigurationError("a placeholder names no argument", next_step="Write each as {argument}.")
    return name
