"""Without a vendor, the address says whose row holds; a key is read for the very host that it belongs to only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from agentforge.provider import EndpointRow, VendorTable

HOUSE = EndpointRow(name="house", base_url="https://api.house.example/v1", key_variable="HOUSE_KEY")
LOCAL = EndpointRow(name="local", base_url="http://localhost:11434/v1")
OTHER = EndpointRow(name="generic")
DESK = EndpointRow(name="desk")
ROWS = MappingProxyType({row.name: row for row in (DESK, HOUSE, LOCAL, OTHER)})
TABLE = VendorTable("tests", EndpointRow, ROWS, default="house")


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        (None, "house"),
        ("", "house"),
        ("https://api.house.example/v1", "house"),
        ("https://api.house.example", "house"),
        ("https://API.House.Example:443/beta/", "house"),
        ("http://localhost:11434", "local"),
        # Another origin, however alike it looks: an unencrypted way, another port, a host around or inside the name.
        ("http://api.house.example/v1", "generic"),
        ("https://api.house.example:8443/v1", "generic"),
        ("https://api.house.example.evil.example/v1", "generic"),
        ("https://evil.example/api.house.example/v1", "generic"),
        ("https://api.house.example@evil.example/v1", "generic"),
        ("https://house.example/v1", "generic"),
        ("http://localhost:8000/v1", "generic"),
        # What is no address is said where it is used.
        ("nonsense", "generic"),
        ("https://api.house.example:port", "generic"),
        ("https://[", "generic"),
    ],
)
def test_the_row_is_the_one_whose_origin_it_is(base_url: str | None, name: str) -> None:
    assert TABLE.row(None, base_url=base_url).name == name


@pytest.mark.parametrize("base_url", [None, "https://llm.example", "https://api.house.example/v1"])
def test_a_named_vendor_goes_before_the_address(base_url: str | None) -> None:
    assert TABLE.row("desk", base_url=base_url) is DESK
    assert TABLE.row(LOCAL, base_url=base_url) is LOCAL


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://llm.acme.example/v2", "acme"),
        ("https://llm.acme.example:444/v2", None),
        ("https://api.house.example", None),
        (None, None),
    ],
)
def test_a_vendor_that_a_plugin_brings_is_found_by_its_address_too(base_url: str | None, expected: str | None) -> None:
    """What is found among the table's own rows is left to the model."""
    brought: dict[str, Mapping[str, object]] = {"acme": {"base_url": "https://llm.acme.example/v1"}, "odd": {}}
    found = TABLE.named(None, brought, base_url)
    assert (found.name if isinstance(found, EndpointRow) else found) == expected
