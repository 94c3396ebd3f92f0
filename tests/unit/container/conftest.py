"""The parts that the tests of the container share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.container.desk import Desk
from tests.unit.container.kit import Kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    """Bean types that note what becomes of their beans."""
    return Kit(tmp_path)


@pytest.fixture
def desk(kit: Kit) -> Desk:
    """The plugin ``d``, known to the kit."""
    made = Desk(kit)
    kit.add_plugin("d", made)
    return made
