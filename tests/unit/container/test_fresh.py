"""Another context of the same configuration, for tests and for a second life."""

from __future__ import annotations

import pytest

from agentforge.container import ContextStateError
from tests.unit.container.kit import Kit, Plain


async def test_a_fresh_context_has_beans_of_its_own(kit: Kit) -> None:
    """From the same configuration, though the file has changed, and with the same overrides."""
    mine = Plain("mine", kit.log)
    app = kit.beans("a: {type: t.thing, label: old}\nb: {type: t.thing}").override("b", mine)
    async with app:
        kit.write("app.yaml", "beans:\n  a: {type: t.thing, label: new}\n")
        other = app.fresh()
        assert repr(other).endswith("not started)")
        async with other:
            assert other.get("a") is not app.get("a")
            assert other.get("a").settings.label == "old"
            assert other.get("b") is mine
        assert kit.log.count("close a") == 1
    async with app.fresh() as third:
        assert third.get("b") is mine


async def test_an_override_after_the_start_is_refused_and_a_fresh_context_advised(kit: Kit) -> None:
    mine = Plain("mine", kit.log)
    async with kit.beans("a: {type: t.thing}") as app:
        with pytest.raises(ContextStateError) as raised:
            app.override("a", mine)
        assert raised.value.next_step == "Use 'app.fresh().override('a', ...)', and start that."
        async with app.fresh().override("a", mine) as other:
            assert other.get("a") is mine
        assert app.get("a") is not mine
