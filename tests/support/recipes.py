"""How the tests run a recipe of ``config/recipes/``: as a program, and with an endpoint on this machine."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentforge import AgentForge
from agentforge.testing import EndpointRequest, ScriptedEndpoint
from tests.support.programs import python_m_agentforge

__all__ = ("KEY", "RECIPES", "Said", "chat", "load", "names_of", "run", "sent", "session")

RECIPES = Path(__file__).parents[2] / "config" / "recipes"
KEY = "sk-example-0123456789"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Said:
    """What a program said: the result as JSON, and all that went to standard error."""

    result: dict[str, Any]
    errors: str


def run(recipe: str, *words: str, environment: Mapping[str, str] | None = None) -> Said:
    """What ``agentforge chat --json`` says, with a script in the place of the model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTFORGE_", "OPENAI_"))}
    config = ["--config", str(RECIPES / recipe / "agentforge.yaml"), "--profile", "scripted"]
    done = subprocess.run(
        [*python_m_agentforge(), "chat", *words, *config, "--json", "--no-stream"],
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return Said(json.loads(done.stdout), done.stderr)


def chat(recipe: str, *words: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The result alone."""
    return run(recipe, *words, environment=environment).result


def session(recipe: str, *questions: str) -> Said:
    """What a session with these questions says on a terminal, with a script in the place of the model: the answers, and
    the calls on standard error."""
    from agentforge.cli.main import run as run_program

    config = ["--config", str(RECIPES / recipe / "agentforge.yaml"), "--profile", "scripted"]
    typed, out, err = _Terminal("".join(f"{question}\n" for question in questions)), io.StringIO(), io.StringIO()
    assert run_program(["chat", *config], stdin=typed, stdout=out, stderr=err, environment={}) == 0, err.getvalue()
    return Said({"text": out.getvalue()}, err.getvalue())


def load(recipe: str, endpoint: ScriptedEndpoint, **more: str) -> AgentForge:
    """The recipe as it is, its provider being an endpoint on this machine. ``more`` is the environment's."""
    environment = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": KEY, **more}
    return AgentForge.load(RECIPES / recipe / "agentforge.yaml", environment=environment)


def names_of(request: EndpointRequest) -> list[str]:
    """The tools that a request offers."""
    return [tool["function"]["name"] for tool in request.body.get("tools", ())]


def sent(request: EndpointRequest) -> bytes:
    """All of a request that went over the wire: the path, the headers and the bytes of the body, in small letters."""
    assert json.loads(request.content) == request.body
    return b" ".join([request.path.encode(), repr(request.headers).encode(), request.content]).lower()
