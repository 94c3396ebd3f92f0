"""The parts of a small desk."""


class Clock:
    """Tells the time."""


class Stranger:
    """Of which there is no bean."""


class Desk:
    """Has a clock."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock


class Hall:
    """Wants what is not there."""

    def __init__(self, stranger: Stranger) -> None:
        self.stranger = stranger
