"""One bean of a configuration with what it needs, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.container import PlannedBean
from agentforge.container.alone import one_bean_alone
from agentforge.model import ChatRequest

BEANS: dict[str, Any] = {
    "first": {"type": "scripted", "turns": [{"error": {"type": "overloaded", "message": "busy"}}]},
    "second": {"type": "scripted", "turns": ["Hello."], "bean": {"lazy": True}},
    "both": {"type": "fallback", "models": ["first", "second"]},
    "broken": {"type": "scripted", "file": "there-is-none.yaml"},
}


async def test_only_what_it_needs_is_made() -> None:
    """A bean that cannot be made keeps none that has nothing to do with it; the application has not started."""
    app = AgentForge.from_mapping({"beans": BEANS})
    async with one_bean_alone(app, "both") as model:
        reply = await model.chat(ChatRequest("Hi"))

    assert reply.ai_message.text == "Hello."


async def test_each_is_made_as_it_was_changed() -> None:
    """The plan of the application stays as it is."""
    app = AgentForge.from_mapping({"beans": BEANS})

    def renamed(bean: PlannedBean) -> PlannedBean:
        if bean.id != "second":
            return bean
        settings: Any = bean.settings
        return replace(bean, settings=settings.model_copy(update={"name": "other"}))

    async with one_bean_alone(app, "second", changed=renamed) as model:
        assert model.profile.name == "other"
    async with one_bean_alone(app, "second") as model:
        assert model.profile.name == "scripted"
        assert not model.closed
    assert model.closed


async def test_a_prototype_is_one_bean_too_and_is_closed() -> None:
    beans = {"model": {"type": "scripted", "turns": ["Hello."], "bean": {"scope": "prototype"}}}
    async with one_bean_alone(AgentForge.from_mapping({"beans": beans}), "model") as model:
        assert not model.closed
    assert model.closed


async def test_what_the_block_raises_passes_and_the_beans_are_closed() -> None:
    app = AgentForge.from_mapping({"beans": BEANS})
    with pytest.raises(LookupError, match="of the block"):
        async with one_bean_alone(app, "second") as model:
            raise LookupError("of the block")

    assert model.closed
