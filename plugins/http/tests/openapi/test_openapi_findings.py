"""What is wrong in the settings of a description is told at its place, before the description is looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.plugin import BeanContext, Catalogue, CheckContext, Components, Plugins
from plugins.http.tests.openapi.support import document


@pytest.mark.parametrize(
    ("settings", "path", "fault"),
    [
        ({"spec": " "}, "spec", "spec is empty"),
        ({"base_url": "api.example.com"}, "base_url", "not an http or https address"),
        ({"base_url": "https://u:secret@a.test"}, "base_url", "holds credentials"),
        ({"methods": ["GET", "PSOT"]}, "methods.1", "methods has 'PSOT'"),
        ({"rename": {"health": ""}}, "rename.health", "the new name of 'health' in rename must not be empty"),
        (
            {"auth_by_scheme": {"key": {"bearer": "t"}}, "tokens_by_scheme": {"key": object()}},
            "tokens_by_scheme.key",
            "",
        ),
        ({"allow_hosts": ["*"]}, "allow_hosts.0", "no host"),
        ({"spec_headers": {"Host": "a"}}, "spec_headers.Host", "belongs to the connection"),
        ({"from_context": {"header.X-A": "tennant"}}, "from_context", "'tennant' of 'header.X-A' in from_context"),
        ({"required": False}, "required", "is for a description at an address"),
    ],
)
def test_settings_that_cannot_be_are_found_at_their_place(settings: Any, path: str, fault: str, tmp_path: Path) -> None:
    """Whatever the description says; no secret is told. A source that is made of them all the same is refused."""
    paths = {"/health": {"get": {"operationId": "health"}}}
    schemes = {"key": {"type": "apiKey"}}
    spec = document(paths, components={"securitySchemes": schemes})
    (tmp_path / "api.json").write_text(json.dumps(spec))
    kind: Any = Catalogue(Plugins()).find("http.openapi")
    made = kind.settings(**{"spec": "api.json", "base_url": "https://api.example.com/v1", **settings})
    found = list(kind.check(made, CheckContext("api", tmp_path, Components((), tmp_path))))

    assert [each for each in found if each.path == path and fault in each.message and each.next_step], found
    assert "secret" not in str(found)
    with pytest.raises(ConfigurationError):
        kind.create(made, BeanContext("api", tmp_path, Components((), tmp_path)))
