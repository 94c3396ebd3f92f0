"""Requests checked against the types of Google's own package, in which unknown keys, also those of schemas, are faults.

The package spells its fields in snake_case and reads the API's spelling too, and it takes words that it does not list
with a warning; both are faults here.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

__all__ = ("check_request",)

#: Objects whose names are not the API's.
_FREE = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "properties", "labels")


def check_request(body: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` or ``UserWarning`` for a body that does not fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _request_type().model_validate_json(json.dumps(body))
    odd = [name for name in _names_in(body) if "_" in name]
    if odd:
        raise ValueError(f"not in the API's spelling: {odd}")


@cache
def _request_type() -> Any:
    """A request's body, made of the package's types."""
    from google.genai import types
    from pydantic import ConfigDict, create_model

    fields: dict[str, Any] = {
        "contents": (list[types.Content], ...),
        "systemInstruction": (types.Content, None),
        "tools": (list[types.Tool], None),
        "toolConfig": (types.ToolConfig, None),
        "generationConfig": (types.GenerationConfig, None),
        "safetySettings": (list[types.SafetySetting], None),
        "cachedContent": (str, None),
        "labels": (dict[str, str], None),
    }
    return create_model("Request", __config__=ConfigDict(extra="forbid"), **fields)


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            if name not in _FREE:
                yield from _names_in(inner)
    elif isinstance(value, list):
        for each in value:
            yield from _names_in(each)
