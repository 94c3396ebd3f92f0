"""The official package's types of a request, strict: unknown keys are forbidden at every depth."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Union, get_args

from typing_extensions import NoExtraItems, is_typeddict

__all__ = ("checked",)


@cache
def _adapter(beta: bool) -> Any:
    import anthropic.types as types
    from anthropic.types import beta as beta_types
    from pydantic import TypeAdapter

    for package in (types, beta_types):
        for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            if found.name.endswith(("_param", "_params")):
                for kind in vars(importlib.import_module(found.name)).values():
                    # What the package itself leaves open (schemas) stays so.
                    if is_typeddict(kind) and not hasattr(kind, "__pydantic_config__"):
                        more = getattr(kind, "__extra_items__", NoExtraItems)
                        kind.__pydantic_config__ = {"extra": "forbid" if more is NoExtraItems else "allow"}
    for name in ("user_message_param", "assistant_message_param"):
        _without_answers(importlib.import_module(f"anthropic.types.{name}"), "MessageContentParam")
        _without_answers(importlib.import_module(f"anthropic.types.beta.beta_{name}"), "BetaMessageContentParam")
    if beta:
        return TypeAdapter(beta_types.message_create_params.MessageCreateParams)
    return TypeAdapter(types.MessageCreateParams)


def _without_answers(module: ModuleType, name: str) -> None:
    """Take the blocks of answers out of what content may be: they are open, so that anything would fit them."""
    text, blocks = get_args(getattr(module, name))
    kinds = tuple(kind for kind in get_args(get_args(blocks)[0]) if is_typeddict(kind))
    setattr(module, name, Union[text, Iterable[Union[kinds]]])  # noqa: UP007  (made of values)


def checked(body: Mapping[str, Any], *, beta: bool = False) -> Any:
    """The body as the types read it. Raises ``pydantic.ValidationError``."""
    return _whole(_adapter(beta).validate_python(body))


def _whole(value: Any) -> Any:
    """All of it: iterables are checked only as they are read."""
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, (str, bytes)) or not isinstance(value, (list, tuple, Iterator)):
        return value
    return [_whole(item) for item in value]
