"""What the models of the Gemini API cost, as data: the standard prices of its paid tier for text, images and video, in
US dollars for a million tokens; thinking is output.

Batches, sound as input, searches, maps and the storage of caches have other prices, which are not here; neither are
those of Vertex AI. A model whose figures were not found for input and output is left out, and its cost is not known;
one without a price for cached input is counted as if nothing were cached.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import PriceTable

__all__ = ("PRICES",)

_ROWS: Mapping[str, Mapping[str, object]] = {
    # Until the end of 2026; twice that from then on.
    "gemini-3.8-flash": {"input": "0.75", "output": "3.75", "cached_input": "0.075"},
    "gemini-3.5-flash": {"input": "1.5", "output": "9"},
    "gemini-3.5-flash-lite": {"input": "0.3", "output": "2.5"},
    "gemini-3.1-pro-preview": {
        "input": "2",
        "output": "12",
        "cached_input": "0.2",
        "above": {"input_tokens": 200_000, "input": "4", "output": "18", "cached_input": "0.4"},
    },
    "gemini-3-flash-preview": {"input": "0.5", "output": "3", "cached_input": "0.05", "dated": "2026-07-04"},
}

PRICES = PriceTable(
    _ROWS,
    dated="2026-10-07",
    source="Gemini Developer API pricing, https://ai.google.dev/gemini-api/docs/pricing",
)
"""The table that `gemini.chat` takes; a file's own rows go before it."""
