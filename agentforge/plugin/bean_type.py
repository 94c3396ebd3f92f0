"""A bean type: what ``type: NAME`` in a file stands for, and what its factory is told.

Plugins and the core register their types in the same form; the container knows no other way to make an object.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentforge.masking import Secrets
from agentforge.plugin.bean_settings import BeanSettings
from agentforge.plugin.checking import CheckContext, Finding
from agentforge.plugin.faults import BeanTypeError
from agentforge.plugin.reference import Ref, RefField, references_of

if TYPE_CHECKING:
    from agentforge.plugin.components import Components
    from agentforge.plugin.manager import Plugins
    from agentforge.plugin.parameter import Need

__all__ = ("BeanContext", "BeanSettings", "BeanType", "Ref", "RefField", "fits", "references_of")

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BeanContext:
    """What a factory may use beside its settings.

    ``folder`` is that of the file the bean stands in: relative paths start there. ``components`` are the classes and
    functions of the ``scan`` roots; ``arguments`` are the beans that the container found for the constructor of the
    type's component (see `BeanType.component`). ``secrets`` are those of the configuration; what a factory learns
    beside them it adds. ``plugins`` are those whose observers want to be told of calls. ``environment`` are the
    variables, ``.env`` below them: a factory reads these and not those of the process. ``lazy`` is what ``bean:`` says:
    what is slow to begin waits for its first use then, also where another bean needs this one. ``trusted``: the file is
    believed like a program, and so are the addresses in it. ``common`` is what the beans of one application have in
    common, see `shared`.
    """

    bean_id: str
    folder: Path
    components: Components
    secrets: Secrets = field(default_factory=Secrets)
    arguments: Mapping[str, object] = field(default_factory=dict)
    plugins: Plugins | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    lazy: bool = False
    trusted: bool = True
    common: dict[type, Any] = field(default_factory=dict, repr=False)

    def shared(self, kind: type[T]) -> T:
        """The one object of this class that the beans of the application share, made by the first that asks."""
        found: T = self.common.setdefault(kind, kind())
        return found

    def vendor_profiles(self, family: str) -> Mapping[str, Any]:
        """The vendors that plugins bring for a family of wires, by name (hook ``agentforge_vendor_profiles``)."""
        return {} if self.plugins is None else self.plugins.vendor_profiles(family)


@dataclass(frozen=True, slots=True, eq=False)
class BeanType:
    """One kind of bean.

    ``name`` as in ``type: NAME``, a plugin's with its prefix and a dot. ``factory`` takes the settings, or the
    settings and a `BeanContext`, and returns the bean at once; the container awaits the bean's ``start`` where it has
    one, and its ``aclose`` or ``close`` at the end. ``provides`` is the contract (`ChatModel`, `ToolSource`, ...) by
    which other beans ask for it. ``summary`` is one sentence. ``component`` names the text field of the settings that
    names a class or function of the ``scan`` roots, whose constructor the container then fills; with ``called`` it
    names a function that makes the bean, whose parameters are filled; with ``implements`` it names an interface, of
    which that function makes the class that the bean will have. ``check`` finds what is wrong between settings before
    anything is made, see `agentforge.plugin.checking`. ``endpoints`` gives, from the settings and a context, the http
    addresses that the bean will call, without secrets in them, which `agentforge doctor --online` tries. ``tool_names``
    gives, from the settings and a `CheckContext`, the names of the tools that a source will offer, where they are known
    before it is made (else ``None``): two of one name are then found when the file is checked.

    Raises `BeanTypeError` for a declaration that cannot work.
    """

    name: str
    settings: type[BeanSettings]
    factory: Callable[..., object]
    provides: type
    summary: str
    component: str | None = None
    called: bool = False
    implements: Callable[[Any], type] | None = None
    check: Callable[[Any, CheckContext], Iterable[Finding]] | None = None
    endpoints: Callable[[Any, BeanContext], Iterable[str]] | None = None
    tool_names: Callable[[Any, CheckContext], Iterable[str] | None] | None = None

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault is not None:
            raise BeanTypeError(f"the bean type {self.name!r} is declared wrongly: {fault}")
        references_of(self.settings)  # raises for a reference that nothing could fill

    @property
    def references(self) -> Mapping[str, RefField]:
        """The settings that are beans; see `references_of`."""
        return references_of(self.settings)

    @property
    def needs_settings(self) -> bool:
        """Whether a setting must be given, so that the type's name alone is no definition."""
        return any(item.is_required() for item in self.settings.model_fields.values())

    def provided_by(self, components: Components, name: str) -> type:
        """What a bean is to others whose settings name this component. Raises `ConfigurationError`."""
        if self.implements is None:
            return components.provided_by(name, called=self.called)
        return self.implements(components.find(name))

    def answers(self, provided: type, wanted: type) -> bool:
        """Whether a bean of this type was made to be the very interface that is wanted: it goes before others that have
        its methods by chance, as a model has one that is called ``chat``."""
        return self.implements is not None and wanted in provided.__mro__

    def needs_of(self, components: Components, name: str) -> Mapping[str, Need]:
        """What the container fills of the component: the parameters of its constructor, or of the function. Raises
        `ComponentError`."""
        return {} if self.implements is not None else components.needs(name, called=self.called)

    def create(self, settings: BeanSettings, context: BeanContext) -> object:
        """The bean. What the factory raises passes through; raises `BeanTypeError` when it gives none."""
        bean = self.factory(settings, context) if _takes_context(self.factory) else self.factory(settings)
        if inspect.iscoroutine(bean):
            bean.close()
            bean = None
        if bean is None:
            raise BeanTypeError(
                f"the factory of the bean type {self.name!r} gave no object",
                next_step="Return the bean from a plain function; what has to be awaited goes into its start().",
            )
        return bean

    def _fault(self) -> str | None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            return "a name is lower-case words of letters, digits and underscores, with dots between them"
        if not (isinstance(self.settings, type) and issubclass(self.settings, BeanSettings)):
            return "settings must be a subclass of BeanSettings"
        if not callable(self.factory):
            return "factory must be callable"
        if inspect.iscoroutinefunction(self.factory):
            return "factory must not be async; what has to be awaited goes into the bean's start()"
        if not isinstance(self.provides, type):
            return "provides must be a class or protocol"
        if not self.summary.strip():
            return "it has no summary"
        if self.component is not None and self.component not in self.settings.model_fields:
            return f"its settings have no field {self.component!r} that could name a component"
        if self.implements is not None and (self.component is None or self.called):
            return "implements needs a component that names the interface, and is not called"
        if self.called and self.component is None:
            return "called needs a component that names the function"
        if self.check is not None and (not callable(self.check) or inspect.iscoroutinefunction(self.check)):
            return "check must be a plain function of the settings and a CheckContext"
        return None


def _takes_context(factory: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return False
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in by_position and p.default is p.empty]
    return len(needed) >= 2


def fits(provided: type, wanted: type) -> bool:
    """Whether a bean that provides one contract can stand where another is wanted: the same, a subclass, or for a
    protocol a class that has all its members.

    >>> from agentforge.model import ChatModel
    >>> from agentforge.model.scripted import ScriptedChatModel
    >>> fits(ScriptedChatModel, ChatModel), fits(str, ChatModel)
    (True, False)
    """
    if wanted is object or wanted in provided.__mro__:
        return True
    if not getattr(wanted, "_is_protocol", False):
        return False
    members = _members(wanted)
    declared = {name for base in provided.__mro__[:-1] for name in _declared(base)}
    return bool(members) and members <= declared and all(_same_kind(provided, wanted, name) for name in members)


def _members(protocol: Any) -> set[str]:
    """What a protocol asks for (`typing.get_protocol_members` is of Python 3.13)."""
    found: set[str] = set()
    for base in protocol.__mro__:
        if not getattr(base, "_is_protocol", False) or base is typing.Protocol:
            continue
        found |= {name for name in _declared(base) if not name.startswith("_") or name == "__call__"}
    return found


def _same_kind(provided: type, wanted: type, name: str) -> bool:
    """Whether a method is one, and can be awaited where it has to be: one of the same name that gives something else is
    another, and a value that stands under it is none."""
    asked, given = getattr(wanted, name, None), getattr(provided, name, None)
    if inspect.isfunction(asked) and given is not None and not callable(given) and not isinstance(given, property):
        return False
    if not inspect.iscoroutinefunction(asked) or not inspect.isfunction(given) or inspect.iscoroutinefunction(given):
        return True
    told = str(given.__annotations__.get("return", ""))
    return not told or any(word in told for word in ("Awaitable", "Coroutine", "Future", "Any"))


def _declared(kind: type) -> set[str]:
    annotations = vars(kind).get("__annotations__", {})  # of `type` itself it is no mapping
    return {*vars(kind), *(annotations if isinstance(annotations, Mapping) else ())}
