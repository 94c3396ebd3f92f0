"""The rows: every endpoint of these two forms that is known by name, with what it wants, refuses and ignores.

Every value is a default. Models of one vendor differ, so a user overrides what does not hold: ``profile_overrides`` for
capabilities, a row of their own for forms (``vendor: {like: …}`` in a file).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentforge.model import PriceTable
from agentforge.provider import VendorTable
from agentforge_openai import rows_of_hosts, rows_of_makers
from agentforge_openai.profile import VendorRow
from agentforge_openai.rows_of_hosts import GENERIC, OLLAMA
from agentforge_openai.rows_of_makers import AZURE, DASHSCOPE, DEEPSEEK, OPENAI

__all__ = (
    "AZURE",
    "CHAT_VENDORS",
    "DASHSCOPE",
    "DEEPSEEK",
    "GENERIC",
    "OLLAMA",
    "OPENAI",
    "VENDORS",
    "prices_of",
    "vendor_row",
)

_ROWS: tuple[VendorRow, ...] = tuple(
    getattr(module, name) for module in (rows_of_makers, rows_of_hosts) for name in module.__all__
)

#: The rows by name.
VENDORS: Mapping[str, VendorRow] = MappingProxyType({row.name: row for row in _ROWS})

#: The rows with what finds them; ``openai`` is also the family that other plugins bring rows for.
CHAT_VENDORS = VendorTable("openai", VendorRow, VENDORS, default="openai")


def prices_of(row: VendorRow) -> PriceTable | None:
    """What the models of this row cost, as far as it is known: what other vendors, and platforms, ask for models of the
    same names is theirs."""
    if row.name != OPENAI.name:
        return None
    from agentforge_openai.prices import PRICES

    return PRICES


def vendor_row(vendor: str | VendorRow | Mapping[str, object]) -> VendorRow:
    """The row of that name, or the one that a mapping describes; a row is returned as it is. Raises
    `ConfigurationError` for an unknown name and for a mapping that is wrong.

    >>> vendor_row("deepseek").key_variable
    'DEEPSEEK_API_KEY'
    """
    return CHAT_VENDORS.row(vendor)
