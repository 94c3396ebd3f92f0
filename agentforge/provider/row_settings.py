"""A vendor's row as a mapping: what a file, a program or another plugin may say of one, checked field by field.

The models that check it are made from the classes of rows themselves, so that a new field of a row is one here, in the
editor's schema and in every fault. Most programs only name a vendor: they are made when a mapping is first read.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache, reduce
from operator import or_
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, WithJsonSchema, create_model

from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.http import parse_base_url
from agentforge.model import Degradation, ModelProfile, ResponseFormat, ToolChoice
from agentforge.plugin.bean_settings import AfterValidator, BeanSettings, CountFromZero, as_value_error
from agentforge.plugin.bean_settings import Field as SettingsField
from agentforge.provider.field_notes import field_notes
from agentforge.provider.names import alias_of, call_id_of
from agentforge.provider.row import EndpointRow
from agentforge.tool.spec import SchemaSubset

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ("first_fault", "row_from", "row_settings")

RowT = TypeVar("RowT", bound=EndpointRow)

#: What a row's own fields say of them, whatever its capabilities say.
_NO_SETTINGS: Mapping[type | None, tuple[str, ...]] = {
    ModelProfile: ("name", "replay", "strict_subset"),
    None: ("named_by_user",),
}
#: Where a row lives, and whose key goes there: one is not taken over without the other.
_PLACE = ("base_url", "base_url_variable", "further_base_urls")
_KEY: Mapping[str, object] = {"key_variable": None, "key_required": False}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_PATTERN_FITS = "\0" * 1000


class _Part(BeanSettings):
    """A mapping that changes some fields of a value of ``KIND``; what is not given stays as it is."""

    model_config = ConfigDict(validate_default=False)

    KIND: ClassVar[type[Any] | None] = None


@cache
def row_settings(kind: type[EndpointRow], vendors: tuple[str, ...], subsets: tuple[str, ...]) -> type[BeanSettings]:
    """The model of a mapping that describes a row of ``kind``: its fields, none of which must be given but ``name``,
    and ``like``, the row that it starts from. ``vendors`` and ``subsets`` are the names that an editor can offer."""
    offered = {"anyOf": [{"enum": list(vendors)}, {"type": "string"}]}
    own: dict[str, Any] = {
        "like": (
            Annotated[str, WithJsonSchema(offered)],
            _field("The vendor whose row this one starts from; unset: the one for endpoints that nobody knows."),
        ),
        "name": (
            str,
            SettingsField(
                pattern=r"^[a-z][a-z0-9_-]*$",
                description="What the row is called. What a provider wants back of its replies is kept apart by it.",
            ),
        ),
    }
    return _Maker(sorted(kind.FEATURES), subsets).part(kind, own)


def row_from(base: RowT, given: BaseModel, subsets: Mapping[str, SchemaSubset], *, elsewhere: bool = False) -> RowT:
    """The row ``base`` with what was given. Mappings add to those of the row; everything else takes the place of what
    is there. With an address of its own the row reads no variable of the one that it starts from; where it is used
    ``elsewhere``, none of a key.

    Raises `ConfigurationError` for a part that the row has not, and of which too little was given.
    """
    changes = _changes(base, given, subsets)
    changes.pop("like", None)
    moved = "base_url" in changes and changes["base_url"] != base.base_url
    if moved:
        own = {each.name: each.default for each in fields(type(base)) if each.name in _PLACE}
        changes = {**own, **_KEY, **changes}
    elif elsewhere:
        changes = {**_KEY, **changes}
    return replace(base, **changes)


def first_fault(error: ValidationError, given: Mapping[str, object], model: type[BaseModel]) -> ConfigurationError:
    """What is wrong with a mapping that stands in no file, in the words that a file gets."""
    from agentforge.config import Reporter, from_mapping
    from agentforge.config.fitting import report_validation

    reporter = Reporter()
    node = from_mapping(_plain(given))
    report_validation(error, node, model, reporter, path="vendor")
    found = reporter.diagnostics[0]
    place = found.path.removeprefix("vendor.").rpartition(".")[0] if found.path else ""
    return ConfigurationError(f"{place}: {found.message}" if place else found.message, next_step=found.next_step)


class _Maker:
    """Makes models of dataclasses, each once."""

    def __init__(self, features: Iterable[str], subsets: tuple[str, ...]) -> None:
        self._subsets = subsets
        self._known: dict[tuple[type, bool], type[_Part]] = {}
        #: Types that are narrower than those of the class, as it is made of what was checked before.
        self._narrow: Mapping[str, Any] = {
            "tool_choice": frozenset[Literal[get_args(get_type_hints(ToolChoice)["mode"])]],  # type: ignore[misc]
            "response_formats": frozenset[Literal[get_args(get_type_hints(ResponseFormat)["type"])]],  # type: ignore[misc]
            "max_tools": CountFromZero | None,
            "tool_name_pattern": Annotated[str, AfterValidator(_checked(_tool_names))],
            "unsupported": _policies(features),
        }

    def part(self, kind: type[Any], own: Mapping[str, Any] | None = None, *, whole: bool = False) -> type[_Part]:
        """The model of a class; ``whole``: every field without a default must be given."""
        known = self._known.get((kind, whole))
        if known is not None:
            return known
        hints, notes = get_type_hints(kind), field_notes(kind)  # type: ignore[arg-type]
        declared: dict[str, Any] = dict(own or {})
        for each in fields(kind):
            if each.name in declared or each.name in _NO_SETTINGS.get(kind if kind is ModelProfile else None, ()):
                continue
            declared[each.name] = (
                self._type(kind, each, hints[each.name]),
                SettingsField(description=notes.get(each.name))
                if whole and each.default is MISSING and each.default_factory is MISSING
                else _field(notes.get(each.name)),
            )
        made: type[_Part] = create_model(f"{kind.__name__}Settings", __base__=_Part, **declared)
        made.KIND = kind
        self._known[kind, whole] = made
        return made

    def _type(self, kind: type[Any], field: Field[Any], hint: Any) -> Any:
        if kind is ModelProfile:
            return self._narrow.get(field.name, hint)
        if field.name == "capabilities":  # of a profile as well where only some of its fields are held
            return self.part(ModelProfile)
        words, refused = getattr(kind, "WORDS", {}).get(field.name), getattr(kind, "REFUSES", {}).get(field.name)
        found = self._with_parts(hint)
        if words is not None:
            found = _on_texts(found, Literal[words])
        checks = _CHECKS.get(field.name)
        if checks is None and field.name in getattr(kind, "PATTERNS", ()):
            checks = _pattern
        if checks is not None:
            found = _on_texts(found, _checked(checks))
        return found if refused is None else Annotated[found, AfterValidator(_without(refused))]

    def _with_parts(self, hint: Any, *, whole: bool = False) -> Any:
        """The type with models in the place of classes."""
        if isinstance(hint, type) and is_dataclass(hint):
            if hint is SchemaSubset and not whole:
                return Literal[self._subsets] | self.part(hint)
            return self.part(hint, whole=whole)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return reduce(or_, (self._with_parts(each, whole=whole) for each in arguments))
        if origin is tuple:
            return tuple[tuple(self._with_parts(each, whole=True) for each in arguments)]  # type: ignore[misc]
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return dict[arguments]  # type: ignore[misc,valid-type]
        return hint


def _field(description: str | None) -> Any:
    return SettingsField(default=None, description=description, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)  # unset is what the row says, which differs


def _policies(features: Iterable[str]) -> type[_Part]:
    """What becomes of each feature, by its name, which is no word of Python."""
    declared: dict[str, Any] = {
        f"feature_{number}": (Degradation, SettingsField(default=None, alias=name, json_schema_extra=_without_default))
        for number, name in enumerate(features)
    }
    return create_model("PolicySettings", __base__=_Part, **declared)


# -- checks ----------------------------------------------------------------------------------------


def _checked(check: Callable[[str], None]) -> Callable[[str], str]:
    def checked(text: str) -> str:
        with as_value_error():
            check(text)
        return text

    return checked


def _on_texts(hint: Any, check: Any) -> Any:
    """The type with a check on the texts in it, or with another type for them."""
    if hint is str:
        return Annotated[str, AfterValidator(check)] if inspect.isroutine(check) else check
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return reduce(or_, (_on_texts(each, check) for each in arguments))
    if origin in (tuple, frozenset, dict):
        return origin[tuple(_on_texts(each, check) for each in arguments)]
    return hint


def _pattern(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise ConfigurationError(
            f"it is no regular expression: {error}", next_step="Correct it; in YAML write it in single quotes."
        ) from None


def _without(refused: frozenset[str]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        for each in (value,) if isinstance(value, str) else value or ():
            if each.lower() in refused:
                with as_value_error():
                    raise ConfigurationError(
                        f"{each!r} cannot stand here, as each request has it from elsewhere",
                        next_step="Leave it out; the bean, or another field of the row, says it.",
                    )
        return value

    return checked


def _address(text: str) -> None:
    parse_base_url(text, "base_url")


def _further_address(text: str) -> None:
    parse_base_url(text, "an address of the vendor")


def _variable(text: str) -> None:
    if not _VARIABLE.fullmatch(text):
        raise ConfigurationError(
            "it is not the name of an environment variable",
            next_step="Write a name such as HOUSE_KEY; a key itself is api_key of the bean.",
        )


def _call_ids(text: str) -> None:
    _pattern(text)
    _fits(lambda: call_id_of(_NO_PATTERN_FITS, text), "no id that is made for a call of another provider would fit it")


def _tool_names(text: str) -> None:
    _pattern(text)
    _fits(lambda: alias_of(_NO_PATTERN_FITS, text), "no alias that is made for another name would fit it")


def _fits(make: Callable[[], object], fault: str) -> None:
    try:
        make()
    except AgentForgeError:
        raise ConfigurationError(
            fault, next_step="Allow letters and digits, 9 or at least 16 of them; or leave it out."
        ) from None


#: The fields of any part that are more than their types.
_CHECKS: Mapping[str, Callable[[str], None]] = {
    "base_url": _address,
    "base_url_variable": _variable,
    "key_variable": _variable,
    "user_name_pattern": _tool_names,
    "further_base_urls": _further_address,
    "call_id_pattern": _call_ids,
}


# -- from a checked mapping to a row ---------------------------------------------------------------


def _changes(base: Any, given: BaseModel, subsets: Mapping[str, SchemaSubset]) -> dict[str, Any]:
    return {
        name: _value(name, getattr(given, name), getattr(base, name, None), subsets) for name in given.model_fields_set
    }


def _value(name: str, given: Any, before: Any, subsets: Mapping[str, SchemaSubset]) -> Any:
    if isinstance(given, _Part):
        if given.KIND is None:
            return {**(before or {}), **given.model_dump(exclude_unset=True, by_alias=True)}
        changes = _changes(before, given, subsets)
        if isinstance(before, Mapping):
            return {**before, **changes}
        if before is not None:
            return replace(before, **changes)
        return _new(name, given.KIND, changes)
    if isinstance(given, tuple):
        return tuple(_value(name, each, None, subsets) for each in given)
    if isinstance(given, dict) and isinstance(before, Mapping):
        return {**before, **given}
    if isinstance(given, str) and isinstance(before, SchemaSubset | None) and name in ("subset", "schemas"):
        return subsets[given]
    return given


def _new(name: str, kind: type[Any], changes: dict[str, Any]) -> Any:
    needed = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    for missing in needed:
        if missing not in changes:
            raise ConfigurationError(
                f"{name!r} of the vendor needs {missing!r}, as the row that it starts from has no {name}",
                next_step=f"Add '{missing}: …', or start from a row that has it.",
            )
    return kind(**changes)


def _plain(value: Any) -> Any:
    """The mapping as a file could hold it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(each) for each in value]
    return value
