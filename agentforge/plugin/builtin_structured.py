"""The bean type ``structured_output``: the form of answers as a JSON Schema, in the file or in one beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from agentforge.advisor import OutputType, StructuredOutputAdvisor
from agentforge.errors import ConfigurationError
from agentforge.plugin.bean_settings import BeanSettings, CountFromZero, as_value_error
from agentforge.plugin.bean_type import BeanContext, BeanType
from agentforge.plugin.checking import CheckContext, Finding

__all__ = ("STRUCTURED_OUTPUT", "StructuredOutputSettings")

_LARGEST = 1024 * 1024


class StructuredOutputSettings(BeanSettings):
    """What `structured_output` takes: either ``json_schema`` or ``file``."""

    json_schema: dict[str, Any] | None = None
    """The JSON Schema of an answer."""
    file: str | None = None
    """A JSON or YAML file of one, relative to the file the bean stands in."""
    mode: Literal["auto", "native", "tool", "prompt"] = "auto"
    """How the model is asked: by its own structured output, by a tool that gives the answer, in words; auto: the first
    of these that it can do."""
    max_reprompts: CountFromZero = 2
    """How often an answer that does not fit is asked for again."""

    def model_post_init(self, context: object) -> None:
        """Find what cannot be."""
        if (self.json_schema is None) == (self.file is None):
            raise ValueError("give either json_schema or file")
        if self.json_schema is not None:
            with as_value_error():
                OutputType(self.json_schema)


def _make(settings: StructuredOutputSettings, context: BeanContext) -> StructuredOutputAdvisor[Any]:
    """The advisor. Raises `ConfigurationError` for a file that cannot be read."""
    schema = settings.json_schema if settings.file is None else _read(context.folder / settings.file)
    return StructuredOutputAdvisor(schema, settings.mode, settings.max_reprompts)


def _check(settings: StructuredOutputSettings, context: CheckContext) -> Iterator[Finding]:
    """The schema of a file, found when the configuration is checked."""
    if settings.file is None:
        return
    try:
        OutputType(_read(context.folder / settings.file))
    except ConfigurationError as error:
        yield Finding(error.message, "file", error.next_step)


def _read(path: Path) -> Mapping[str, Any]:
    """The mapping of a file. Raises `ConfigurationError`; what the file holds is not shown."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigurationError(
            f"the schema file '{path}' cannot be read: {reason}", next_step="Correct the path."
        ) from None
    if len(raw) > _LARGEST:
        raise ConfigurationError(f"the schema file '{path}' is larger than 1 MiB", next_step="Use a smaller schema.")
    data = _parsed(raw, path)
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise ConfigurationError(f"the schema file '{path}' holds no JSON object", next_step="Write a JSON Schema.")
    return data


def _parsed(raw: bytes, path: Path) -> object:
    try:
        text = raw.decode("utf-8-sig")
        if path.suffix.lower() not in (".yaml", ".yml"):
            return json.loads(text)
        import yaml

        return yaml.safe_load(text)
    except ImportError:
        raise
    except (ValueError, RecursionError) as error:
        place = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigurationError(
            f"the schema file '{path}' is not valid JSON{place}", next_step="Correct the file."
        ) from None
    except Exception as error:  # what YAML raises is known by no name here
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark is not None else ""
        raise ConfigurationError(
            f"the schema file '{path}' is not valid YAML{place}", next_step="Correct the file."
        ) from None


STRUCTURED_OUTPUT = BeanType(
    "structured_output",
    StructuredOutputSettings,
    _make,
    StructuredOutputAdvisor,
    "Has the model answer with JSON that fits a schema, and asks again for what does not.",
    check=_check,
)
"""The type."""
