"""Stock tools, and the view over them that asks for a thought with each call and logs it."""

import logging
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from agentforge import P, ToolSource, tool
from agentforge.tool import AugmentedCall, augmented

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InnerThought:
    """What the model says beside the arguments. The order is that of the schema: first think, then fill in the rest."""

    inner_thought: Annotated[str, P("调用前的思考：为什么现在调用。 Why you make this call now."), Field(min_length=1)]
    confidence: Annotated[float, P("把握，0 到 1。 How sure you are that it helps."), Field(ge=0, le=1)]


class StockTools:
    """A dictionary stands in for the warehouse."""

    def __init__(self) -> None:
        self._stock = {"chair": 12, "table": 4}

    @tool("查询仓库库存。 How many of a product are left.", effect="read")
    def count_stock(self, product: Annotated[str, P("产品：chair 或 table")]) -> int:
        """What the shelves hold; nothing of what is not sold here."""
        return self._stock.get(product, 0)


def with_thoughts(source: ToolSource) -> ToolSource:
    """The source's tools, each with a thought and a confidence that are logged before it runs."""
    return augmented(source, InnerThought, _log_thought)


def _log_thought(call: AugmentedCall) -> None:
    thought: InnerThought = call.value
    _log.info("%s (%.0f %%): %r", call.request.name, thought.confidence * 100, thought.inner_thought)
