"""Days of leave, for the user who asks. The model fills in the year; who asks is none of its business."""

from typing import Annotated

from agentforge import Hidden, P, tool


class LeaveDesk:
    """A table stands in for the personnel system."""

    def __init__(self) -> None:
        self._days = {("u-7f3a", 2026): 12, ("u-5d02", 2026): 3}

    @tool("查询用户本人剩余的年假天数。 The days of leave that the user has left.", effect="read")
    def days_of_leave(
        self, year: Annotated[int, P("年份，如 2026")], user_id: Annotated[str, Hidden]
    ) -> dict[str, int]:
        """``user_id`` is the value of that name in the tool context of the turn.

        What goes wrong is told without it: the model reads the texts of errors.
        """
        days = self._days.get((user_id, year))
        if days is None:
            raise LookupError(f"Nothing is known of the year {year}.")
        return {"year": year, "days_left": days}
