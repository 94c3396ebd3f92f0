"""The order desk's tools. A table stands in for the database; what matters is who may see which row."""

from dataclasses import dataclass
from typing import Annotated

from agentforge import P, ToolContext, tool


@dataclass(frozen=True)
class OrderStatus:
    """What is told of an order. The model reads it as JSON."""

    order_no: str
    status: str
    place: str
    since: str


class OrderBook:
    """Orders by tenant: a number of one tenant says nothing to another."""

    def __init__(self) -> None:
        self._orders = {
            ("acme", "SO20261113001"): OrderStatus("SO20261113001", "in transit", "Hangzhou", "2026-11-14"),
            ("globex", "SO20261113002"): OrderStatus("SO20261113002", "delivered", "Oslo", "2026-11-16"),
        }

    def find(self, order_no: str, tenant: str) -> OrderStatus | None:
        """The order, if it is one of this tenant's."""
        return self._orders.get((tenant, order_no.strip().upper()))


class OrderTools:
    """What the assistant may do. The model fills in the number; the tenant comes from the application."""

    def __init__(self, book: OrderBook) -> None:
        self._book = book

    @tool("按订单号查询订单状态，用户问物流、发货、退款进度时调用。 The state of an order, by its number.")
    def query_order(
        self, order_no: Annotated[str, P("订单号，形如 SO20261113001")], context: ToolContext
    ) -> OrderStatus:
        """Look the order up, for the tenant of this call alone."""
        tenant = context.user_data.get("tenant_id")
        if not isinstance(tenant, str):
            raise PermissionError("It is not known for whom the order is asked.")
        found = self._book.find(order_no, tenant)
        if found is None:
            raise LookupError(f"There is no order {order_no}.")
        return found
