"""Settings that are beans: the mark on a field, and how the container reads the marks of a settings model.

The declared type of a field says that its text names a bean; nothing in the file does. `Qualifier` is the mark of a
constructor's parameter that wants one certain bean.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin
from weakref import WeakKeyDictionary

from agentforge.plugin.faults import BeanTypeError

if TYPE_CHECKING:
    from agentforge.plugin.bean_settings import BeanSettings

__all__ = ("Qualifier", "Ref", "RefField", "given_by", "references_of", "settings_in")


@dataclass(frozen=True, slots=True)
class Qualifier:
    """Marks a constructor's parameter that takes the bean of this name: ``store: Annotated[Store, Qualifier("main")]``.

    An alias will do. What ``arguments`` of the file say of the parameter goes over it.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Ref:
    """Marks a settings field that is a bean: ``model: Annotated[ChatModel, Ref()]``.

    In the file it is a bean's id, ``{ref: id}`` or a whole definition in place; when the factory runs it is the bean.
    Also inside ``list``, ``tuple``, ``dict[str, ...]`` and ``| None``. With ``or_type`` a name that no bean has may be
    a type that needs no settings; in a list or mapping that always holds. ``Annotated[Callable[[], X], Ref()]`` is a
    callable that gives the bean, which may then need the one that has it.
    """

    or_type: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Any object: the container has checked the bean's type before it builds."""
        from pydantic_core import core_schema

        return core_schema.any_schema()

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """In the file: a bean's id, a reference, or a definition."""
        return {"anyOf": [{"type": "string"}, {"type": "object"}]}


@dataclass(frozen=True, slots=True)
class RefField:
    """One field that takes beans: the contract they fulfil, whether it is a list, whether it may be left out, whether
    a plain name may be a type that needs no settings; whether it is a mapping of names to beans, whether it takes a
    callable that gives the bean."""

    kind: type
    many: bool
    optional: bool
    or_type: bool
    by_name: bool = False
    provider: bool = False


#: Every application asks for those of every type.
_read_once: WeakKeyDictionary[type[BeanSettings], Mapping[str, RefField]] = WeakKeyDictionary()


def references_of(settings_model: type[BeanSettings]) -> Mapping[str, RefField]:
    """The fields of a settings model that are beans, by name; those of a settings model inside it by dotted path
    (``error_handlers.arguments``).

    Raises `BeanTypeError` for a `Ref` in a place that the container cannot fill, such as a list in a list.
    """
    found = _read_once.get(settings_model)
    if found is None:
        found = MappingProxyType(_references_of(settings_model))
        if settings_model.__pydantic_complete__:  # else its annotations are still to come
            _read_once[settings_model] = found
    return found


def _references_of(settings_model: type[BeanSettings]) -> dict[str, RefField]:
    found: dict[str, RefField] = {}
    for name, field in settings_model.model_fields.items():
        annotation: Any = field.annotation
        if field.metadata:
            annotation = Annotated[(annotation, *field.metadata)]
        nested = settings_in(annotation)
        if nested is not None:
            for path, inner in references_of(nested).items():
                found[f"{name}.{path}"] = inner
            continue
        reference = _read(annotation, optional=not field.is_required())
        if reference is not None:
            found[name] = reference
        elif _mentions_ref(annotation):
            raise BeanTypeError(
                f"{settings_model.__name__}.{name} has a Ref where no bean can be put",
                next_step="Use Annotated[X, Ref()], alone or in list[...], tuple[..., ...] or dict[str, ...]; "
                "a callable only alone: Annotated[Callable[[], X], Ref()].",
            )
    return found


def _read(annotation: Any, *, optional: bool) -> RefField | None:
    inner, may_be_none = _without_none(annotation)
    optional = optional or may_be_none
    single = _ref_of(inner)
    if single is not None:
        kind, or_type = single
        given = given_by(kind)
        if given is not None:
            return RefField(_class_of(given), False, optional, or_type, provider=True)
        return RefField(_class_of(kind), False, optional, or_type)
    if get_origin(inner) is Annotated:
        inner = get_args(inner)[0]
    origin, arguments = get_origin(inner), get_args(inner)
    by_name = origin in (dict, Mapping) and len(arguments) == 2 and arguments[0] is str
    if origin in (list, tuple, Sequence):
        items = [item for item in arguments if item is not Ellipsis]
    else:
        items = [arguments[1]] if by_name else []
    one = _ref_of(items[0]) if len(items) == 1 else None
    if one is None or given_by(one[0]) is not None:
        return None
    return RefField(_class_of(one[0]), not by_name, optional, True, by_name=by_name)


def _ref_of(annotation: Any) -> tuple[Any, bool] | None:
    if get_origin(annotation) is not Annotated:
        return None
    kind, *metadata = get_args(annotation)
    for item in metadata:
        if isinstance(item, Ref):
            return kind, item.or_type
    return None


def _class_of(kind: Any) -> type:
    return kind if isinstance(kind, type) and kind is not Any else object


def given_by(hint: Any) -> Any | None:
    """What a callable without arguments gives, of the hint ``Callable[[], X]``: X; ``None`` for any other hint.

    >>> given_by(Callable[[], int]), given_by(Callable[[str], int]), given_by(int)
    (<class 'int'>, None, None)
    """
    if get_origin(hint) is not Callable:
        return None
    arguments = get_args(hint)
    return arguments[1] if len(arguments) == 2 and arguments[0] == [] else None


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (typing.Union, types.UnionType):
        kept = [item for item in get_args(annotation) if item is not type(None)]
        if len(kept) == 1:
            return kept[0], len(kept) < len(get_args(annotation))
    return annotation, False


def settings_in(annotation: Any) -> type[BeanSettings] | None:
    """The settings that a field holds, which may be left out; ``None`` for a field that holds anything else."""
    from agentforge.plugin.bean_settings import BeanSettings

    inner = _without_none(annotation)[0]
    return inner if isinstance(inner, type) and issubclass(inner, BeanSettings) else None


def _mentions_ref(annotation: Any) -> bool:
    if isinstance(annotation, Ref):
        return True
    nested = settings_in(annotation)
    if nested is not None and references_of(nested):
        return True  # in a list, a mapping or a union nothing says which of the values it is
    metadata = getattr(annotation, "__metadata__", ())
    return any(_mentions_ref(part) for part in (*metadata, *get_args(annotation)))
