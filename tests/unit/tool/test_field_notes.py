"""`P` on the fields of a type: it describes, at any depth, wherever types are used; what it cannot say is refused."""

from __future__ import annotations

import typing
from collections.abc import Awaitable, Callable
from dataclasses import InitVar, dataclass, field, make_dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pydantic.dataclasses
import pytest
import typing_extensions
from pydantic import BaseModel, Field, RootModel, create_model
from typing_extensions import TypeAliasType

from agentforge import MemoryId, P, Run, ToolContext
from agentforge.advisor import OutputType
from agentforge.errors import ConfigurationError, ToolArgumentsError, ToolDeclarationError
from agentforge.tool import Hidden, StaticTools, augmented, function_tool
from agentforge.tool.execution import bound_tools_from


class Town(BaseModel):
    """A town."""

    label: Annotated[str, P("its name")]
    near: list[Town] = []
    next: Annotated[Town | None, P("the next one")] = None


TOWN = {"$ref": "#/$defs/Town"}
TOWN_ITSELF = {
    "type": "object",
    "description": "A town.",
    "properties": {
        "label": {"type": "string", "description": "its name"},
        "near": {"type": "array", "items": TOWN, "default": []},
        "next": {"anyOf": [TOWN, {"type": "null"}], "description": "the next one", "default": None},
    },
    "required": ["label"],
    "additionalProperties": False,
}
# name: (type, schema)
FIELDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "by_p": (Annotated[str, P("by P", "in two texts")], {"type": "string", "description": "by P\nin two texts"}),
    "by_field": (Annotated[str, Field(description="by Field")], {"type": "string", "description": "by Field"}),
    "p_first": (Annotated[str, P("by P"), Field(description="by Field")], {"type": "string", "description": "by P"}),
    "p_last": (Annotated[str, Field(description="by Field"), P("by P")], {"type": "string", "description": "by P"}),
    "empty": (Annotated[str, P(), Field(description="by Field")], {"type": "string", "description": "by Field"}),
    "by_text": (Annotated[str, "what pydantic does not read"], {"type": "string"}),
    "count": (Annotated[int, P("how many"), Field(ge=1)], {"type": "integer", "minimum": 1, "description": "how many"}),
    "choice": (
        Annotated[Literal["a", "b"], P("which")],
        {"type": "string", "enum": ["a", "b"], "description": "which"},
    ),
    "maybe": (
        Annotated[str | None, P("perhaps")],
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "perhaps"},
    ),
    "items": (list[Annotated[str, P("a tag")]], {"type": "array", "items": {"type": "string", "description": "a tag"}}),
    "both": (
        Annotated[list[Annotated[str, P("a tag")]], P("all tags")],
        {"type": "array", "items": {"type": "string", "description": "a tag"}, "description": "all tags"},
    ),
    "first": (Annotated[Town, P("where it begins")], {**TOWN, "description": "where it begins"}),
    "last": (Annotated[Town, P("the end"), Field(description="by Field")], {**TOWN, "description": "the end"}),
    "other": (Town, TOWN),
    "towns": (
        dict[str, Annotated[Town, P("a further one")]],
        {"type": "object", "additionalProperties": {**TOWN, "description": "a further one"}},
    ),
}
HINTS = {name: hint for name, (hint, _) in FIELDS.items()}
KINDS: dict[str, Any] = {
    "dataclass": make_dataclass("Stay", HINTS.items()),
    "pydantic dataclass": pydantic.dataclasses.dataclass(make_dataclass("Stay", HINTS.items())),
    "model": create_model("Stay", **{name: (hint, ...) for name, hint in HINTS.items()}),  # type: ignore[call-overload]
    "typed dict": typing_extensions.TypedDict("Stay", HINTS),  # type: ignore[operator]
}


def tool_of(hint: Any, default: Any = ...) -> Any:
    """A tool whose one parameter ``stay`` has this type."""

    def book(stay: Any) -> Any:
        return stay

    book.__annotations__ = {"stay": hint}
    if default is not ...:
        book.__defaults__ = (default,)
    [made] = bound_tools_from(book)
    return made


def schema_of(hint: Any, default: Any = ...) -> dict[str, Any]:
    """The whole schema of that tool."""
    return dict(tool_of(hint, default).specification.parameters.schema)


def around(kind: Any) -> Any:
    """A type with a field that holds some."""
    return make_dataclass("Around", [("stays", Annotated[list[kind], P("all of them")])])


async def parameter(kind: Any) -> Any:
    return schema_of(around(kind))


async def input_type(kind: Any) -> Any:
    return function_tool(print, name="t", input_type=around(kind)).specification.parameters.schema


async def further_arguments(kind: Any) -> Any:
    def search(text: str) -> str:
        return text

    source = augmented(StaticTools(bound_tools_from(search)), around(kind), lambda told: None)
    [made] = await source.tools(Run())
    return made.specification.parameters.schema


async def answer(kind: Any) -> Any:
    return OutputType(around(kind)).schema


User = Callable[[Any], Awaitable[Any]]
USERS: dict[str, User] = {
    "a tool": parameter,
    "a function tool": input_type,
    "further arguments": further_arguments,
    "an answer": answer,
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_fields_are_described(kind: Any, user: User) -> None:
    """By P, then by pydantic's Field; beside a reference, and nowhere else where the same type is used."""
    made = await user(kind)

    assert made["$defs"]["Stay"]["properties"] == {name: schema for name, (_, schema) in FIELDS.items()}
    assert made["$defs"]["Town"] == TOWN_ITSELF
    holder = made["$defs"].get("Around", made)
    assert holder["properties"]["stays"] == {
        "type": "array",
        "items": {"$ref": "#/$defs/Stay"},
        "description": "all of them",
    }


def test_fields_of_a_typed_dict_of_the_standard_library_are_described() -> None:
    """Which pydantic does not take inside of other types before Python 3.12."""
    made = schema_of(list[typing.TypedDict("Stay", HINTS)])  # type: ignore[misc, operator]
    assert made["$defs"]["Stay"]["properties"] == {name: schema for name, (_, schema) in FIELDS.items()}


class Pair(NamedTuple):
    left: Annotated[str, P("the first"), Field(description="by Field")]
    right: Annotated[Town, P("the last")]


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
async def test_places_of_a_named_tuple_are_described(user: User) -> None:
    made = (await user(Pair))["$defs"]["Pair"]

    assert made["items"] == {
        "anyOf": [{"type": "string", "description": "the first"}, {**TOWN, "description": "the last"}]
    }
    assert made["description"] == "In this order: string, Town"


class DescribedRoot(RootModel[list[str]]):
    root: Annotated[list[str], P("all of them")]


Tag = TypeAliasType("Tag", Annotated[str, P("a tag")])
PARTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "an item": (
        list[Annotated[str, P("a tag")]],
        {"type": "array", "items": {"type": "string", "description": "a tag"}},
    ),
    "a member": (
        Annotated[str, P("a word")] | int,
        {"anyOf": [{"type": "string", "description": "a word"}, {"type": "integer"}]},
    ),
    "an item that is defined once": (
        list[Annotated[Town, P("a stop")]],
        {"type": "array", "items": {**TOWN, "description": "a stop"}},
    ),
}


@pytest.mark.parametrize(("hint", "expected"), PARTS.values(), ids=PARTS)
def test_a_part_of_a_parameter_is_described(hint: Any, expected: dict[str, Any]) -> None:
    assert schema_of(hint)["properties"]["stay"] == expected


@pytest.mark.parametrize(("hint", "words"), [(DescribedRoot, "all of them"), (list[Tag], "a tag")])
def test_what_a_name_stands_for_is_described_where_it_is_defined(hint: Any, words: str) -> None:
    [made] = schema_of(hint)["$defs"].values()
    assert made["description"] == words


def test_a_description_stays_where_it_was_written() -> None:
    """Not with the type, which others describe otherwise or not at all, also one that names itself."""
    here, there = (create_model("Place", town=(Annotated[Town, P(words)], ...)) for words in ("here", "there"))

    for kind, words in ((there, "there"), (here, "here")):
        assert schema_of(kind)["$defs"]["Place"]["properties"]["town"] == {**TOWN, "description": words}
    assert schema_of(list[Town])["properties"]["stay"]["items"] == TOWN
    assert schema_of(Town)["properties"]["stay"] == TOWN


def test_the_type_is_as_it_was_for_the_rest_of_the_program() -> None:
    """Pydantic's own schema of it has the descriptions, and nothing of ours."""
    model = KINDS["model"]
    schema_of(model)
    made = model.model_json_schema()

    assert made["properties"]["by_p"] == {"title": "By P", "type": "string", "description": "by P\nin two texts"}
    assert "agentforge" not in str(made)
    assert Town.model_json_schema()["$defs"]["Town"]["properties"]["near"]["items"] == TOWN


# -- what is to be written for the rest ----------------------------------------------------------


@dataclass
class StopDataclass:
    city: Annotated[str, P("name of the city"), Field(alias="town")]
    remark: Annotated[str | None, P("what else")] = None


class StopModel(BaseModel):
    city: Annotated[str, P("name of the city"), Field(alias="town")]
    remark: Annotated[str | None, P("what else")] = None


class StopTypedDict(typing_extensions.TypedDict):
    city: Annotated[str, P("name of the city"), Field(alias="town")]
    remark: typing_extensions.NotRequired[Annotated[str | None, P("what else")]]


@pytest.mark.parametrize("kind", [StopDataclass, StopModel, StopTypedDict])
def test_a_field_has_another_name_and_a_default_of_its_own(kind: Any) -> None:
    """The model writes the alias, errors name it, and so does a default that is shown."""
    made = tool_of(kind)
    definition = made.specification.parameters.schema["$defs"][kind.__name__]
    bound = made.bind({"stay": {"town": "Oslo"}})["stay"]

    assert definition["properties"]["town"] == {"type": "string", "description": "name of the city"}
    assert definition["properties"]["remark"]["description"] == "what else"
    assert definition["required"] == ["town"]
    assert (bound if isinstance(bound, dict) else vars(bound))["city"] == "Oslo"
    with pytest.raises(ToolArgumentsError, match=r"stay\.town: is required"):
        made.bind({"stay": {"city": "Oslo"}})
    assert schema_of(kind, bound)["properties"]["stay"]["default"]["town"] == "Oslo"


# -- what is refused -----------------------------------------------------------------------------


@dataclass
class OtherName:
    city: Annotated[str, P("name of the city", name="town")]


class MayBeLeftOut(BaseModel):
    city: Annotated[str, P(required=False)]


class MustBeGiven(typing_extensions.TypedDict):
    city: typing_extensions.NotRequired[Annotated[str, P(required=True)]]


class HasDefault(NamedTuple):
    left: Annotated[str, P(default=None)]


@dataclass
class Items:
    tags: list[Annotated[str, P(name="tag")]]


@dataclass
class Taken:
    tags: InitVar[Annotated[str, P(name="tag")]]


class Root(RootModel[list[str]]):
    root: Annotated[list[str], P(name="everything")]


@dataclass
class DefaultIsNote:
    city: str = P("name of the city")  # type: ignore[assignment]


class ModelDefaultIsNote(BaseModel):
    city: str = P("name of the city")  # type: ignore[assignment]


class PlaceDefaultIsNote(NamedTuple):
    city: str = P("name of the city")  # type: ignore[assignment]


@dataclass
class BareNote:
    city: Annotated[str, P]


@dataclass
class IsNote:
    city: P


@dataclass
class HoldsContext:
    city: str
    context: ToolContext


class ModelHoldsContext(BaseModel, arbitrary_types_allowed=True):
    context: ToolContext | None = None


class HoldsHidden(typing_extensions.TypedDict):
    user: Annotated[str, Hidden]


class HoldsOtherHidden(BaseModel):
    user: Annotated[str, Hidden("user_id")] = "nobody"


class HoldsMemoryId(NamedTuple):
    conversation: Annotated[str, MemoryId]


@dataclass
class HoldsRuns:
    runs: list[Run] = field(default_factory=list)


@dataclass
class Deep:
    again: Deep | None
    inner: dict[str, list[tuple[HoldsContext | None, int]]]


class Later(BaseModel):
    stay: AfterAll


class AfterAll(BaseModel):
    city: Annotated[str, P(name="town")]


def inside_of_a_function() -> Any:
    @dataclass
    class Local:
        again: Local | None
        city: Annotated[str, P(name="town")]

    return Local


Named = TypeAliasType("Named", Annotated[str, P(name="tag")])
HIDES = "which the framework gives"
DESCRIBES = "in its P, which describes there and does nothing else"
REFUSED: dict[str, tuple[Any, str, str]] = {
    "a name": (OtherName, f"a field 'OtherName.city' with name= {DESCRIBES}", "Write Field(alias=...) beside it"),
    "not required": (MayBeLeftOut, f"a field 'MayBeLeftOut.city' with required= {DESCRIBES}", "str | None = None"),
    "required": (MustBeGiven, "a field 'MustBeGiven.city' with required=", "Without one it is required"),
    "a default, also None": (HasDefault, f"a field 'HasDefault.left' with default= {DESCRIBES}", "default of its own"),
    "in an item of a field": (Items, "a field 'Items.tags' with name=", "alias"),
    "in what is taken and not kept": (Taken, "a field 'Taken.tags' with name=", "alias"),
    "in a root": (Root, "a field 'Root.root' with name=", "alias"),
    "in an item of a parameter": (list[Annotated[str, P(name="tag")]], "a part with name=", "alias"),
    "in a member of a union": (Annotated[str, P(default="x")] | None, "a part with default=", "default of its own"),
    "behind an alias": (Named, "a part with name=", "alias"),
    "in a type that was not defined yet": (Later, "a field 'AfterAll.city' with name=", "alias"),
    "in a type that only a function knows": (inside_of_a_function(), "a field 'Local.city' with name=", "alias"),
    "P as a default": (DefaultIsNote, "'DefaultIsNote.city' whose default is a P", "city: Annotated[..., P(...)]"),
    "P as a model's default": (ModelDefaultIsNote, "'ModelDefaultIsNote.city' whose default is a P", "Annotated"),
    "P as a place's default": (PlaceDefaultIsNote, "'PlaceDefaultIsNote.city' whose default is a P", "Annotated"),
    "P itself": (BareNote, "a field 'BareNote.city' with P itself", 'Write P("...")'),
    "P itself as a type": (IsNote, "a field 'IsNote.city' with P itself", 'Write P("...")'),
    "P itself on a parameter": (Annotated[str, P], "a part with P itself", 'Write P("...")'),
    "the context": (HoldsContext, f"a field 'HoldsContext.context' of type ToolContext, {HIDES}", "of its own for it"),
    "the context, where any type may be": (ModelHoldsContext, "'ModelHoldsContext.context' of type ToolContext", "own"),
    "a hidden value": (HoldsHidden, f"a field 'HoldsHidden.user' of type Hidden, {HIDES}", "of its own for it"),
    "a hidden value of a name": (HoldsOtherHidden, "'HoldsOtherHidden.user' of type Hidden", "of its own for it"),
    "a memory id": (HoldsMemoryId, "'HoldsMemoryId.conversation' of type MemoryId", "of its own for it"),
    "a list of runs": (HoldsRuns, "'HoldsRuns.runs' of type Run", "of its own for it"),
    "far inside": (Deep, "'HoldsContext.context' of type ToolContext", "of its own for it"),
    "an item that is hidden": (list[Annotated[str, Hidden]], "a part of type Hidden", "of its own for it"),
    "the context or another": (ToolContext | str, "a part of type ToolContext", "of its own for it"),
}


@pytest.mark.parametrize(("hint", "fault", "next_step"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_what_to_write_instead(hint: Any, fault: str, next_step: str) -> None:
    with pytest.raises(ToolDeclarationError) as caught:
        tool_of(hint)

    assert caught.value.message.startswith("parameter 'stay' of tool 'book' has ")
    assert fault in caught.value.message
    assert next_step in str(caught.value.next_step)


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize(
    "kind", [OtherName, MayBeLeftOut, HasDefault, DefaultIsNote, BareNote, HoldsContext, HoldsHidden]
)
async def test_wherever_the_type_is_used(user: User, kind: Any) -> None:
    with pytest.raises((ToolDeclarationError, ConfigurationError), match=rf"has a field '{kind.__name__}\."):
        await user(kind)


def test_of_an_answer_in_words_of_an_answer() -> None:
    with pytest.raises(ConfigurationError) as caught:
        OutputType(OtherName)

    assert caught.value.message.startswith("OtherName cannot be the type of an answer: it has a field 'OtherName.city'")


@dataclass
class Fine:
    """What looks like it, and is not meant."""

    last: ClassVar[Annotated[Run | None, P(name="run")]] = None
    context: Annotated[str, "a ToolContext in words", P('P(name="x") in words')] = "P"
    again: Fine | None = None


def test_what_is_no_field_and_what_is_only_words_passes() -> None:
    made = schema_of(Fine)["$defs"]["Fine"]["properties"]
    assert list(made) == ["context", "again"]
    assert made["context"]["description"] == 'P(name="x") in words'
