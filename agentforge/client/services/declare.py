"""What is noted on the methods of an AI service's interface, or given beside it: prompts, tools, advisors, parameters.

Decorators only note; everything is read when a service is made. On a class they hold for all of its methods.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from agentforge.advisor import Advisor, StructuredMode
from agentforge.client.services.faults import ServiceDeclarationError
from agentforge.model import ChatRequestParameters
from agentforge.tool.declare import is_seconds

__all__ = ("ServiceMethod", "beside", "noted_on", "service_method", "system", "user")

_F = TypeVar("_F", bound=Callable[..., Any])
#: Under such a name it is no member of a protocol that it is noted on (Python 3.11).
_ATTRIBUTE = "_abc_agentforge_service"
_MODES = (None, "auto", "native", "tool", "prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMethod:
    """How a method asks; everything may be left out.

    ``system`` and ``user`` are prompts with parameters' names in braces, or the path of a file with one; a relative
    path begins where the interface's module lies. ``tools`` and ``advisors`` are the method's own, beside the client's.
    ``parameters`` go over the client's. ``timeout`` (seconds) bounds a turn. ``mode`` and ``max_reprompts`` say how a
    value is asked for, see `StructuredOutputAdvisor`. Raises `ServiceDeclarationError`.
    """

    system: str | Path | None = None
    user: str | Path | None = None
    tools: Sequence[Any] = ()
    advisors: Sequence[Advisor] = ()
    parameters: ChatRequestParameters | None = None
    timeout: float | None = None
    mode: StructuredMode | None = None
    max_reprompts: int | None = None

    def __post_init__(self) -> None:
        for name, prompt in (("system", self.system), ("user", self.user)):
            if prompt is not None and not isinstance(prompt, str | Path):
                raise ServiceDeclarationError(f"the {name} prompt is a text or a path, not {type(prompt).__name__}")
        for name, several in (("tools", self.tools), ("advisors", self.advisors)):
            if isinstance(several, str) or not isinstance(several, Sequence):
                raise ServiceDeclarationError(f"{name} is a list, not {type(several).__name__}")
        if self.parameters is not None and not isinstance(self.parameters, ChatRequestParameters):
            kind = type(self.parameters).__name__
            raise ServiceDeclarationError(f"parameters are ChatRequestParameters, not {kind}")
        if self.timeout is not None and not is_seconds(self.timeout):
            raise ServiceDeclarationError(f"timeout is seconds above 0, not {self.timeout!r}")
        if self.mode not in _MODES:
            raise ServiceDeclarationError(f"mode is one of {', '.join(map(repr, _MODES[1:]))}, not {self.mode!r}")
        reprompts = self.max_reprompts
        if reprompts is not None and (not isinstance(reprompts, int) or isinstance(reprompts, bool) or reprompts < 0):
            raise ServiceDeclarationError(f"max_reprompts is a whole number from 0, not {reprompts!r}")

    def over(self, below: ServiceMethod) -> ServiceMethod:
        """What both say: this where they differ, and tools and advisors of both."""
        return ServiceMethod(
            system=below.system if self.system is None else self.system,
            user=below.user if self.user is None else self.user,
            tools=(*below.tools, *self.tools),
            advisors=(*below.advisors, *self.advisors),
            parameters=ChatRequestParameters.merge(below.parameters, self.parameters),
            timeout=below.timeout if self.timeout is None else self.timeout,
            mode=below.mode if self.mode is None else self.mode,
            max_reprompts=below.max_reprompts if self.max_reprompts is None else self.max_reprompts,
        )


def system(text: str | None = None, *, file: str | Path | None = None) -> Callable[[_F], _F]:
    """The system message of a method, or of all methods of a class: a text with parameters' names in braces, or a file
    with one beside the interface's module. It takes the place of the client's. Raises `ServiceDeclarationError`.

    >>> from typing import Protocol
    >>> class Assistant(Protocol):
    ...     @system("You are a courteous clerk of {shop}.")
    ...     async def chat(self, message: str, *, shop: str) -> str: ...
    """
    return _noting(ServiceMethod(system=_prompt("system", text, file)))


def user(text: str | None = None, *, file: str | Path | None = None) -> Callable[[_F], _F]:
    """The user's message of a method: a text with parameters' names in braces, or a file with one. Without it the one
    parameter that is left is the message. Raises `ServiceDeclarationError`.

    >>> from typing import Protocol
    >>> class Translator(Protocol):
    ...     @user("Translate into {language}: {text}")
    ...     def translate(self, text: str, language: str) -> str: ...
    """
    return _noting(ServiceMethod(user=_prompt("user", text, file)))


def service_method(
    *,
    tools: Sequence[Any] = (),
    advisors: Sequence[Advisor] = (),
    parameters: ChatRequestParameters | None = None,
    timeout: float | None = None,
    mode: StructuredMode | None = None,
    max_reprompts: int | None = None,
) -> Callable[[_F], _F]:
    """How else a method asks; see `ServiceMethod`. Raises `ServiceDeclarationError`."""
    return _noting(
        ServiceMethod(
            tools=tools,
            advisors=advisors,
            parameters=parameters,
            timeout=timeout,
            mode=mode,
            max_reprompts=max_reprompts,
        )
    )


def noted_on(target: Any) -> ServiceMethod:
    """What the decorators noted on a function or class itself; of a class, not what its bases have."""
    found = vars(target).get(_ATTRIBUTE)
    return found if isinstance(found, ServiceMethod) else ServiceMethod()


def beside(how: ServiceMethod, owner: type) -> ServiceMethod:
    """The same, with relative paths as they are from where the module of a class lies."""
    home = getattr(sys.modules.get(owner.__module__), "__file__", None)
    if home is None or not (isinstance(how.system, Path) or isinstance(how.user, Path)):
        return how
    system, user = (Path(home).parent / each if isinstance(each, Path) else each for each in (how.system, how.user))
    return replace(how, system=system, user=user)


def _noting(noted: ServiceMethod) -> Callable[[_F], _F]:
    def note(target: _F) -> _F:
        if not callable(target):
            raise ServiceDeclarationError(
                f"a prompt stands above a method or a class, not above {type(target).__name__}"
            )
        setattr(target, _ATTRIBUTE, noted.over(noted_on(target)))
        return target

    return note


def _prompt(what: str, text: str | None, file: str | Path | None) -> str | Path:
    if text is not None and not isinstance(text, str):
        raise ServiceDeclarationError(
            f"@{what} takes a text, not {type(text).__name__}", next_step=f'Write @{what}("...") above the method.'
        )
    if (text is None) == (file is None):
        raise ServiceDeclarationError(f"@{what} takes either a text or a file")
    return text if text is not None else Path(file or "")
