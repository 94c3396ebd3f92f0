"""From an operation and its arguments to the request to send; pure, so that every rule is a line in a table.

No value of a model chooses more than its place: a path value stays inside its segment, a header value on its line;
method, host and the rest of the path are the operation's (threat S8).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from agentforge.errors import ArgumentProblem, ToolArgumentsError, ToolExecutionError
from agentforge_http.body import BodyFault, encode_body, is_json_type
from agentforge_http.header_text import header_fault
from agentforge_http.operation import HttpOperation, HttpParameter
from agentforge_http.styles import cookie_pairs, escape, header_text, member_fault, path_text, query_pairs

__all__ = ("RUN_ARGUMENT", "PreparedRequest", "prepare", "template_names", "with_query")

RUN_ARGUMENT = "\0"
"""What the names of arguments begin with that come from the run: no JSON of a model can name one of them by chance, and
its schema never does."""
_OTHER_PATH = "which would lead to another path"
_PATH_STEP = "Give the name or number of one thing: a part of a path is neither empty nor . or .. ."
_STEP = "Give a value that can stand there; 'agentforge tools show' prints the arguments of a tool."
_INVISIBLE = re.compile(r"[\x00-\x20\x7f]")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def template_names(template: str) -> list[str]:
    """The names in ``{}`` of a template, in order.

    >>> template_names("/users/{id}/posts/{post}")
    ['id', 'post']
    """
    return _PLACEHOLDER.findall(template)


@dataclass(slots=True)
class PreparedRequest:
    """A request without credentials: ``query`` are encoded pairs, ``headers`` and ``cookies`` plain texts."""

    method: str
    address: str = field(repr=False)
    query: list[tuple[str, str]] = field(default_factory=list, repr=False)
    headers: list[tuple[str, str]] = field(default_factory=list, repr=False)
    cookies: list[tuple[str, str]] = field(default_factory=list, repr=False)
    content: bytes = field(default=b"", repr=False)

    def url(self, more: Sequence[tuple[str, str]] = ()) -> str:
        """The whole address; ``more`` are further pairs of the query, not yet encoded, and alone of their names."""
        fixed = {escape(name).lower() for name, _ in more}
        pairs = [pair for pair in self.query if pair[0].lower() not in fixed]
        pairs += [(escape(name), escape(value)) for name, value in more]
        return self.address + ("?" + "&".join(f"{name}={value}" for name, value in pairs) if pairs else "")


def with_query(url: str, pairs: Sequence[tuple[str, str]]) -> str:
    """The address with these members of the query, not yet encoded, but for those whose names it has.

    >>> with_query("https://api.test/x?key=1", [("key", "2"), ("v", "a b")])
    'https://api.test/x?key=1&v=a%20b'
    """
    query = url.partition("?")[2]
    there = {unquote(member.partition("=")[0]) for member in query.split("&")}
    more = "&".join(f"{escape(name)}={escape(value)}" for name, value in pairs if name not in there)
    return f"{url}{'&' if query else '' if url.endswith('?') else '?'}{more}" if more else url


def prepare(operation: HttpOperation, arguments: Mapping[str, Any]) -> PreparedRequest:
    """The request. Raises `ToolArgumentsError` for a value that cannot stand where it has to, and `ToolExecutionError`
    for one of the run, which no model can change."""
    request = PreparedRequest(operation.method, "", [*_constants(operation)])
    problems: list[ArgumentProblem] = []
    path: dict[str, str] = {}
    taken = _names_taken(operation)
    for parameter in operation.parameters:
        if parameter.argument not in arguments:
            continue
        value = arguments[parameter.argument]
        try:
            fault = _place(request, path, parameter, value, taken)
        except UnicodeEncodeError:
            fault = "holds half of a character (a lone surrogate)"
        if fault is not None:
            problems.append(ArgumentProblem(parameter.argument, fault))
    request.headers += operation.constant_headers
    if not any(name.lower() == "accept" for name, _ in request.headers):
        request.headers.append(("accept", operation.accept))
    problems += _put_path(request, operation, path, problems)
    if operation.body is not None:
        try:
            made = encode_body(operation.body, arguments)
        except BodyFault as fault_of_body:
            problems.append(ArgumentProblem(fault_of_body.argument, fault_of_body.message))
        except UnicodeEncodeError:
            problems.append(ArgumentProblem("", "the body holds half of a character (a lone surrogate)"))
        else:
            if made is not None:
                request.content = made[0]
                request.headers = [pair for pair in request.headers if pair[0].lower() != "content-type"]
                request.headers.append(("content-type", made[1]))
    of_run = next((each for each in problems if each.path.startswith(RUN_ARGUMENT)), None)
    if of_run is not None:
        raise ToolExecutionError(
            f"{operation.name!r} was not called: what this run has for {of_run.path[len(RUN_ARGUMENT) :]} "
            f"{of_run.message}",
            tool=operation.name,
            next_step="Look at from_context of the bean, and at what the run was given.",
        )
    if problems:
        told = "; ".join(str(problem) for problem in problems)
        raise ToolArgumentsError(
            f"the arguments of {operation.name!r} cannot be sent: {told}",
            tool=operation.name,
            problems=problems,
            next_step=_PATH_STEP if any(_OTHER_PATH in each.message for each in problems) else _STEP,
        )
    return request


def _constants(operation: HttpOperation) -> list[tuple[str, str]]:
    return [(escape(name), escape(value)) for name, value in operation.constant_query]


def _names_taken(operation: HttpOperation) -> dict[str, set[str]]:
    """The names in query and cookies that have a value of their own; some servers take upper case for lower."""
    taken: dict[str, set[str]] = {"query": {name.lower() for name, _ in operation.constant_query}, "cookie": set()}
    for each in operation.parameters:
        if each.place in taken:
            taken[each.place].add(each.name.lower())
    return taken


def _place(
    request: PreparedRequest,
    path: dict[str, str],
    parameter: HttpParameter,
    value: Any,
    taken: Mapping[str, set[str]],
) -> str | None:
    """Put one value where it goes; what is wrong with it, if anything is."""
    if parameter.content_type is not None and value is not None:
        as_it_is = isinstance(value, str) and not is_json_type(parameter.content_type)
        value = value if as_it_is else json.dumps(value, separators=(",", ":"))
    if parameter.place == "path":
        if value is None:
            return "must not be null: it is a part of the path"
        path[parameter.name] = path_text(parameter.name, value, parameter.style, parameter.explode)
    elif parameter.place == "query":
        pairs = query_pairs(parameter.name, value, parameter.style, parameter.explode, parameter.allow_reserved)
        if (fault := member_fault(pairs, parameter.name, taken["query"])) is not None:
            return fault
        request.query += pairs
    elif parameter.place == "cookie":
        pairs = cookie_pairs(parameter.name, value, parameter.explode)
        if (fault := member_fault(pairs, parameter.name, taken["cookie"])) is not None:
            return fault
        request.cookies += pairs
    else:
        text = header_text(value, parameter.explode)
        if text is not None:
            text = text.strip(" \t")  # which HTTP takes for no part of a value
            fault = header_fault(parameter.name, text, credentials=parameter.argument.startswith(RUN_ARGUMENT))
            if fault is not None:
                return fault
            text.encode()  # what has no bytes is found here
            request.headers.append((parameter.name, text))
    return None


def _put_path(
    request: PreparedRequest, operation: HttpOperation, values: Mapping[str, str], known: Sequence[ArgumentProblem]
) -> list[ArgumentProblem]:
    """Fill the template; a segment that would be empty, ``.`` or ``..`` is refused, as servers leave it out or go up,
    however it is escaped."""
    by_name = {each.name: each.argument for each in operation.parameters if each.place == "path"}
    problems: list[ArgumentProblem] = []
    segments: list[str] = []
    for segment in operation.path.split("/"):
        names = template_names(segment)
        missing = [name for name in names if name not in values]
        told = {problem.path for problem in known}
        problems += [
            ArgumentProblem(by_name.get(name, name), "is missing: it is a part of the path")
            for name in missing
            if by_name.get(name, name) not in told
        ]
        made = _PLACEHOLDER.sub(lambda found: values.get(found[1], "-"), segment)
        bare = _INVISIBLE.sub("", unquote(made))
        if names and not missing and bare in ("", ".", ".."):
            said = f"is {bare!r}" if bare else "is empty"
            problems.append(ArgumentProblem(by_name[names[0]], f"{said}, {_OTHER_PATH}"))
        segments.append(made)
    request.address = operation.base_url + "/".join(segments)
    return problems
