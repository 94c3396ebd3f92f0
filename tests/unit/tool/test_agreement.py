"""One truth: what the schema takes, binding takes; and what binding takes strictly, the schema takes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Literal, Optional

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from agentforge.errors import ToolArgumentsError
from agentforge.tool.declare import tool
from agentforge.tool.execution.default_executor import DefaultToolExecutor
from tests.unit.tool.samples import Level

# A busy machine is no fault of the code: no example has a time limit.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Inner(BaseModel):
    n: int
    unit: Unit = Unit.C


class Outer(BaseModel):
    inner: Inner
    items: list[Inner] = []
    name: str | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    n: int


@dataclass
class Place:
    city: str
    at: tuple[int, int] = (0, 0)


HINTS: tuple[Any, ...] = (
    str,
    int,
    float,
    bool,
    None,
    Any,
    Unit,
    Level,
    Literal["a", 1, True, None],
    Optional[int],  # noqa: UP045
    list[int],
    list[list[str]],
    set[int],
    tuple[int, int],
    tuple[bool, ...],
    dict[str, int],
    dict[str, Any],
    int | str,
    int | Inner | None,
    Inner,
    Outer,
    Open,
    Place,
    list[Place],
)
_KEYS = st.sampled_from(["a", "n", "unit", "inner", "items", "name", "city", "at"])
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers(-(2**53), 2**53)
    | st.integers(-3, 3).map(float)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["a", "", "1", "celsius", "C", "fahrenheit"])
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
# Objects that often fit, as random ones nearly never do.
_INNER = st.fixed_dictionaries(
    {"n": _SCALARS}, optional={"unit": st.sampled_from(["celsius", "x", None]), "z": _SCALARS}
)
_OUTER = st.fixed_dictionaries({"inner": _INNER}, optional={"items": st.lists(_INNER, max_size=2), "name": _SCALARS})
_PLACE = st.fixed_dictionaries({"city": _SCALARS}, optional={"at": st.lists(_SCALARS, max_size=3)})
SOME = VALUES | _INNER | _OUTER | _PLACE | st.lists(_PLACE, max_size=2)


def executor(hint: Any, *, strict: bool) -> DefaultToolExecutor:
    def sample(a: Any) -> None: ...

    sample.__annotations__ = {"a": hint}
    return DefaultToolExecutor(tool("d", strict=strict)(sample))


TOOLS = {str(hint): (executor(hint, strict=True), executor(hint, strict=False)) for hint in HINTS}
CHECKS = {
    name: jsonschema_rs.validator_for(dict(exact.specification.parameters.schema)) for name, (exact, _) in TOOLS.items()
}


def binds(made: DefaultToolExecutor, arguments: dict[str, Any]) -> bool:
    try:
        made.bind(arguments)
    except ToolArgumentsError:
        return False
    return True


@pytest.mark.parametrize("name", TOOLS)
@CALM
@given(value=SOME)
def test_schema_and_binding_agree(name: str, value: Any) -> None:
    strictly, laxly = TOOLS[name]
    arguments = {"a": value}
    fits = CHECKS[name].is_valid(arguments)
    bound = binds(strictly, arguments)
    if fits:
        assert bound, "the schema takes it, binding does not"
        assert binds(laxly, arguments)
    elif bound:
        # Only this is more than the schema says: null for a field that has a default.
        assert _has_null(value)


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_null(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_has_null(inner) for inner in value)
    return value is None
