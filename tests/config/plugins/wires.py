"""A plugin with an endpoint of its own and a few rows of vendors, which a file may name, change or add to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from agentforge.model import ModelProfile
from agentforge.plugin import BeanType, hookimpl
from agentforge.provider import EndpointModel, EndpointRow, EndpointSettings, VendorTable, make_model

HOUSE = EndpointRow(name="house", base_url="https://house.example/v1", key_variable="HOUSE_KEY", key_required=True)
GENERIC = EndpointRow(name="generic", capabilities=ModelProfile(unsupported={"tool_name": "map"}))
TABLE = VendorTable(
    "wires", EndpointRow, MappingProxyType({row.name: row for row in (HOUSE, GENERIC)}), default="house"
)


class Line(EndpointModel):
    """A model that only knows where it would ask."""

    VENDORS = TABLE


class LineSettings(EndpointSettings):
    """Settings of a line."""

    VENDORS = TABLE

    def model_of(self, endpoint: Mapping[str, Any]) -> Line:
        return Line(**endpoint)


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """One type."""
    register(BeanType("wires.line", LineSettings, make_model, Line, "A line to a model."))
