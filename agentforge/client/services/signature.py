"""One method of an AI service, read once: what each parameter is for, its prompts, and what it gives.

A parameter is hidden (`MemoryId`, `Hidden`, `Run`), a picture or another part of the message, a value of a prompt, or
the message itself: the one that is left.
"""

from __future__ import annotations

import collections.abc
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentforge.client.services.answer import ServiceAnswer, answer_of
from agentforge.client.services.declare import ServiceMethod
from agentforge.client.services.faults import ServiceDeclarationError
from agentforge.client.services.template import PromptTemplate, text_of
from agentforge.errors import RunArgumentError, ToolDeclarationError
from agentforge.model import AudioContent, ChatMessage, Content, FileContent, ImageContent, TextContent, UserMessage
from agentforge.tool.execution import Run
from agentforge.tool.spec.hints import HiddenValue, injected_kind, resolve_hint

__all__ = ("Asked", "ServiceSignature", "expect_tool", "read_method")

_MEDIA = (ImageContent, AudioContent, FileContent)
_NO_TEXTS = (*typing.get_args(Content), *typing.get_args(ChatMessage))
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_LARGEST = 1024 * 1024
#: A name in the braces of other template languages, which ours would tell the model as they stand.
_DOUBLED = re.compile(r"(?<!\{)\{\{\s*(\w+)\s*\}\}(?!\})")


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of one call, by what they are for; ``defaults`` are hidden values that the call left out."""

    system: str | None
    messages: tuple[ChatMessage, ...]
    context: Mapping[str, object]
    memory_id: object = None
    run: Run | None = None
    defaults: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceSignature:
    """A method: ``message`` is the parameter that is the user's message (``None`` where a prompt or a picture is),
    ``media`` are those that are parts of it, ``hidden`` those that go into the tool context, each with its name there.
    """

    name: str
    signature: inspect.Signature
    is_async: bool
    answer: ServiceAnswer
    system: PromptTemplate | None
    user: PromptTemplate | None
    message: str | None
    media: tuple[str, ...]
    hidden: Mapping[str, str]
    memory_id: str | None
    run: str | None
    #: The parameters that a caller may give messages, or parts of them other than these.
    messages: tuple[str, ...] = ()

    def asked(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Asked:
        """What a call with these arguments asks. Raises `TypeError` for arguments that do not fit the signature and
        `RunArgumentError` for a message that is none."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        given = set(bound.arguments)
        bound.apply_defaults()
        values = bound.arguments
        run = values[self.run] if self.run is not None else None
        if run is not None and not isinstance(run, Run):
            raise RunArgumentError(f"{self.run!r} of {self.name!r} is a Run, not {type(run).__name__}")
        return Asked(
            self.system.render(values) if self.system is not None else None,
            self._messages(values),
            {name: values[parameter] for parameter, name in self.hidden.items() if parameter in given},
            values[self.memory_id] if self.memory_id is not None else None,
            run,
            {name: values[parameter] for parameter, name in self.hidden.items() if parameter not in given},
        )

    def _messages(self, values: Mapping[str, Any]) -> tuple[ChatMessage, ...]:
        media = [part for name in self.media for part in _parts_of(values[name], name, self.name)]
        if self.user is not None:
            return (UserMessage([TextContent(self.user.render(values)), *media]),)
        given = values[self.message] if self.message is not None else None
        several = list(given) if isinstance(given, list | tuple) else [] if given is None else [given]
        if any(isinstance(each, ChatMessage) for each in several):
            return self._history(several, media)
        if not several and not media:
            raise RunArgumentError(f"this call of {self.name!r} asks nothing", next_step="Give it a message.")
        if all(isinstance(each, str | Content) for each in several):
            return (UserMessage([*several, *media]),)
        return (UserMessage([TextContent(text_of(given, self.message)), *media]),)

    def _history(self, several: Sequence[Any], media: Sequence[Content]) -> tuple[ChatMessage, ...]:
        """Messages, texts among them as the user's, and what is added to the last."""
        made = [UserMessage(each) if isinstance(each, str) else each for each in several]
        for each in made:
            if not isinstance(each, ChatMessage):
                raise RunArgumentError(f"{self.message!r} of {self.name!r} has a {type(each).__name__} among messages")
        last = made[-1]
        if media and not isinstance(last, UserMessage):
            raise RunArgumentError(f"the last message of {self.name!r} is not the user's, so nothing can be added")
        return (*made[:-1], UserMessage([*last.contents, *media], name=last.name)) if media else tuple(made)


def read_method(function: Callable[..., Any], how: ServiceMethod) -> ServiceSignature:
    """Read a method of an interface. Raises `ServiceDeclarationError` that names the method and what to change."""
    name = function.__name__
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        raise _refused(name, "has parameters that cannot be read") from None
    rows = list(found.parameters.values())[1:]
    memory_id: str | None = None
    run: str | None = None
    media: list[str] = []
    hidden: dict[str, str] = {}
    visible: list[str] = []
    no_texts: list[str] = []
    messages: list[str] = []
    for row in rows:
        if row.kind in (row.VAR_POSITIONAL, row.VAR_KEYWORD):
            raise _refused(name, f"takes {'*' * (1 + (row.kind is row.VAR_KEYWORD))}{row.name}", "Name each parameter.")
        hint = Any if row.annotation is row.empty else _hint(row.annotation, function, name, row.name)
        kind = injected_kind(hint, row, name)
        if kind == "context":
            step = "Take a Run, or values marked with Annotated[..., Hidden]."
            raise _refused(name, f"takes a ToolContext as {row.name!r}, which only tools are given", step)
        if kind in ("memory_id", "run"):
            if (memory_id if kind == "memory_id" else run) is not None:
                what = "memory id" if kind == "memory_id" else "run"
                raise _refused(name, f"has two parameters for the {what}", "Leave one of them out.")
            memory_id, run = (row.name, run) if kind == "memory_id" else (memory_id, row.name)
        elif isinstance(kind, HiddenValue):
            if kind.name in hidden.values():
                step = 'Give one of them another name: Annotated[..., Hidden("name")].'
                raise _refused(name, f"has two hidden values of the name {kind.name!r}", step)
            hidden[row.name] = kind.name
        elif _is_of(_MEDIA, hint):
            media.append(row.name)
        else:
            visible.append(row.name)
            if _names_any(_NO_TEXTS, hint):
                messages.append(row.name)
        if _is_of(_NO_TEXTS, hint):
            no_texts.append(row.name)
    never = {*hidden, *(each for each in (memory_id, run) if each is not None)}
    system, user = _templates(how, name, visible, no_texts, never)
    message = _message(name, visible, media, system, user)
    if found.return_annotation is found.empty:
        raise _refused(name, "does not say what it returns", f"Write 'def {name}(...) -> str', or another type.")
    is_async = inspect.iscoroutinefunction(function)
    answer = answer_of(_hint(found.return_annotation, function, name, "return"), is_async=is_async, method=name)
    return ServiceSignature(
        name,
        found.replace(parameters=rows),
        is_async,
        answer,
        system,
        user,
        message,
        tuple(media),
        hidden,
        memory_id,
        run,
        tuple(messages),
    )


def expect_tool(method: ServiceSignature, tool: str) -> None:
    """Raise `ToolDeclarationError` for a method that cannot be a tool of another client."""
    if method.answer.streams:
        raise ToolDeclarationError(
            f"the method {method.name!r} gives a stream, which no model can read",
            tool=tool,
            next_step="Declare a method as a tool that returns its answer whole.",
        )
    if method.media:
        raise ToolDeclarationError(
            f"the method {method.name!r} takes {method.media[0]!r}, which no model can write",
            tool=tool,
            next_step="Take a text, or an address of the picture, in a method that is a tool.",
        )
    if method.messages:
        raise ToolDeclarationError(
            f"the method {method.name!r} takes {method.messages[0]!r}, a message or a part of one, which no model may "
            "write for another",
            tool=tool,
            next_step="Take a text in a method that is a tool.",
        )


def _message(
    name: str,
    visible: Sequence[str],
    media: Sequence[str],
    system: PromptTemplate | None,
    user: PromptTemplate | None,
) -> str | None:
    """The parameter that is the user's message; ``None`` where a prompt or a picture is."""
    used = {*(system.names if system is not None else ()), *(user.names if user is not None else ())}
    left = [each for each in visible if each not in used]
    if user is not None:
        if left:
            step = f"Write {{{left[0]}}} in a prompt, or mark it with Annotated[..., Hidden]."
            raise _refused(name, f"has the parameter {left[0]!r}, which stands in no prompt", step)
        return None
    if len(left) == 1:
        return left[0]
    if not left:
        if media:
            return None
        step = 'Give it a message: a parameter that stands in no prompt, or @user("...").'
        raise _refused(name, "has no message for the model", step)
    listed = " and ".join(map(repr, left))
    if "memory_id" in left:
        step = "Mark the conversation's id: memory_id: MemoryId, or Annotated[str, MemoryId]."
        raise _refused(name, f"has several parameters that could be the message: {listed}", step)
    step = 'Write @user("... {name} ...") with their names, or mark some with Annotated[..., Hidden].'
    raise _refused(name, f"has several parameters that could be the message: {listed}", step)


def _templates(
    how: ServiceMethod, method: str, visible: Sequence[str], no_texts: Sequence[str], never: set[str]
) -> tuple[PromptTemplate | None, PromptTemplate | None]:
    what: Literal["system", "user"] = "system"
    try:
        system = _template(what, how.system, method, visible, no_texts, never)
        what = "user"
        return system, _template(what, how.user, method, visible, no_texts, never)
    except ServiceDeclarationError as error:
        error.prompt = what
        raise


def _template(
    what: str,
    given: str | Path | None,
    method: str,
    visible: Sequence[str],
    no_texts: Sequence[str],
    never: set[str],
) -> PromptTemplate | None:
    if given is None:
        return None
    where = f"the {what} prompt of {method!r}"
    text = given if isinstance(given, str) else _read(given, where)
    try:
        made = PromptTemplate(text)
    except ServiceDeclarationError as error:
        place = f"{given}:{error.location}" if isinstance(given, Path) else error.location
        message = error.message.replace("the prompt", where)
        raise ServiceDeclarationError(message, location=place, next_step=error.next_step) from None
    doubled = next((each for each in _DOUBLED.finditer(text) if each[1] in visible), None)
    if doubled is not None:
        message = f"{where} has {doubled[0]!r}, which is the text {{{doubled[1]}}} and not the parameter's value"
        raise ServiceDeclarationError(message, next_step=f"Write {{{doubled[1]}}}, in single braces.")
    for name in made.names:
        if name in no_texts:
            step = "Leave it out: it is the message, or a part of it."
            raise ServiceDeclarationError(f"{where} names {name!r}, which is no text", next_step=step)
        if name in visible:
            continue
        if name in never:
            step = "Leave it out, or take a parameter that is not hidden."
            message = f"{where} names {name!r}, which is hidden and goes into no request"
            raise ServiceDeclarationError(message, next_step=step)
        import difflib

        near = difflib.get_close_matches(name, visible, n=1)
        step = f"Did you mean {{{near[0]}}}?" if near else f"Its parameters are: {', '.join(visible) or 'none'}."
        raise ServiceDeclarationError(f"{where} names {name!r}, which is no parameter", next_step=step)
    return made


def _read(path: Path, where: str) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise ServiceDeclarationError(
                f"{where}: the file '{path}' is larger than 1 MiB", next_step="Name the file of the prompt."
            )
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ServiceDeclarationError(
            f"{where}: the file '{path}' is not UTF-8", next_step="Save it as UTF-8."
        ) from None
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ServiceDeclarationError(
            f"{where}: the file {str(path)!r} cannot be read: {reason}", next_step="Correct the path."
        ) from None


def _hint(annotation: object, function: Any, method: str, parameter: str) -> Any:
    try:
        return resolve_hint(annotation, function, tool=method, parameter=parameter)
    except ToolDeclarationError as error:
        message = error.message.replace(f"of tool {method!r}", f"of method {method!r}")
        message = message.replace("parameter 'return' of", "the result of")
        raise ServiceDeclarationError(message, next_step=error.next_step) from None


def _is_of(kinds: tuple[type, ...], hint: Any) -> bool:
    """Whether a type is one of these, several of them, or either of these and ``None``."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _is_of(kinds, arguments[0])
    inner = [each for each in arguments if each not in (type(None), Ellipsis)]
    if origin in _LISTS or (inner and len(inner) < len(arguments)) or len(inner) > 1:
        return bool(inner) and all(_is_of(kinds, each) for each in inner)
    return isinstance(hint, type) and issubclass(hint, kinds)


def _names_any(kinds: tuple[type, ...], hint: Any) -> bool:
    """Whether a type is one of these, or names one anywhere inside it."""
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return issubclass(hint, kinds)
    return any(_names_any(kinds, each) for each in typing.get_args(hint))


def _parts_of(value: Any, parameter: str, method: str) -> list[Content]:
    parts = [] if value is None else list(value) if isinstance(value, Iterable) else [value]
    for part in parts:
        if not isinstance(part, _MEDIA):
            raise RunArgumentError(
                f"{parameter!r} of {method!r} is a part of a message, not {type(part).__name__}",
                next_step="Give an ImageContent, an AudioContent or a FileContent, or several.",
            )
    return parts


def _refused(method: str, fault: str, step: str | None = None) -> ServiceDeclarationError:
    return ServiceDeclarationError(f"the method {method!r} {fault}", next_step=step)
