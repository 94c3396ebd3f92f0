"""Which bean, or beans, a parameter's type hint asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Generic, Optional, TypeVar

import pytest
from pydantic import AnyUrl

from agentforge.model import ChatModel
from agentforge.plugin import ComponentError, Need, Qualifier, SecretStr
from agentforge.plugin.parameter import need_of
from agentforge.tool import ToolSource

T = TypeVar("T")


class Repository(Generic[T]):
    """A user's own generic class."""


def need(kind: type | None, **more: Any) -> Need:
    return Need("it", kind, more.pop("many", False), more.pop("required", True), **more)


ASKS = {
    "a class": (ChatModel, need(ChatModel)),
    "one that may be missing": (ChatModel | None, need(ChatModel, required=False)),
    "the same in the old words": (Optional[ChatModel], need(ChatModel, required=False)),  # noqa: UP045
    "one with a note": (Annotated[ChatModel, "a note"], need(ChatModel)),
    "a generic class": (Repository[int], need(Repository)),
    "a certain one": (Annotated[ChatModel, Qualifier("x")], need(ChatModel, qualifier="x")),
    "a certain one that may be missing": (
        Annotated[ChatModel, Qualifier("x")] | None,
        need(ChatModel, qualifier="x", required=False),
    ),
    "a certain one of a class of the language": (Annotated[datetime, Qualifier("x")], need(datetime, qualifier="x")),
    "a certain one of any class": (Annotated[Any, Qualifier("x")], need(object, qualifier="x")),
    "a list": (list[ToolSource], need(ToolSource, many=True)),
    "a sequence": (Sequence[ToolSource], need(ToolSource, many=True)),
    "a tuple": (tuple[ToolSource, ...], need(ToolSource, many=True)),
    "a list that may be missing": (list[ToolSource] | None, need(ToolSource, many=True, required=False)),
    "a mapping by name": (dict[str, ToolSource], need(ToolSource, by_name=True)),
    "a mapping in the abstract": (Mapping[str, ToolSource], need(ToolSource, by_name=True)),
    "a callable": (Callable[[], ChatModel], need(ChatModel, provider=True)),
    "a callable that may be missing": (Callable[[], ChatModel] | None, need(ChatModel, provider=True, required=False)),
    "a callable of a certain one": (
        Annotated[Callable[[], ChatModel], Qualifier("x")],
        need(ChatModel, provider=True, qualifier="x"),
    ),
    "the same inside": (
        Callable[[], Annotated[ChatModel, Qualifier("x")]],
        need(ChatModel, provider=True, qualifier="x"),
    ),
    "text": (str, need(None)),
    "anything": (Any, need(None)),
    "a class of the language": (datetime, need(None)),
    "a path": (Path, need(None)),
    "a secret": (SecretStr, need(None)),
    "an address": (AnyUrl, need(None)),
    "a list of texts": (list[str], need(None)),
    "two of a kind": (tuple[ToolSource, ToolSource], need(None)),
    "a mapping by number": (dict[int, ToolSource], need(None)),
    "a mapping of texts": (dict[str, str], need(None)),
    "a callable that takes something": (Callable[[str], ChatModel], need(None)),
    "a callable that gives a time": (Callable[[], datetime], need(None)),
    "one of two": (ChatModel | ToolSource, need(None)),
    "a list of callables": (list[Callable[[], ChatModel]], need(None)),
}


@pytest.mark.parametrize(("hint", "expected"), ASKS.values(), ids=ASKS.keys())
def test_a_hint_asks_for_beans_or_for_a_value(hint: Any, expected: Need) -> None:
    assert need_of("it", hint, required=True, component="Desk") == expected
    assert not need_of("it", hint, required=False, component="Desk").required


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[list[ToolSource], Qualifier("x")],
        list[Annotated[ToolSource, Qualifier("x")]],
        dict[str, Annotated[ToolSource, Qualifier("x")]],
    ],
)
def test_a_qualifier_on_a_collection_is_refused(hint: Any) -> None:
    """It picks one, and a collection has them all."""
    with pytest.raises(ComponentError, match="takes several beans, and a Qualifier picks one"):
        need_of("it", hint, required=True, component="Desk")
