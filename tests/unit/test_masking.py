"""A registered secret is found in a text in each form in which programs write it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.masking import Secrets

SECRETS = ["TOPSECRET\nline two", 'TOPSECRET"q\\z', "TOPSECRET'quoted'", "秘密-TOPSECRET", "TOPSECRET-plain"]
FORMS: list[Callable[[str], str]] = [
    str,
    repr,
    json.dumps,
    lambda secret: json.dumps({"t": secret}, ensure_ascii=False),
    lambda secret: repr({"t": [secret]}),
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_masked_in_every_form(secret: str, form: Callable[[str], str]) -> None:
    masked = Secrets([secret]).mask(f"before {form(secret)} after")

    assert "TOPSECRET" not in masked
    assert masked.startswith("before ") and masked.endswith(" after")


@given(st.text(min_size=4, max_size=20), st.sampled_from(FORMS[:3]))
def test_what_was_written_with_a_secret_does_not_hold_it(secret: str, form: Callable[[str], str]) -> None:
    assert Secrets([secret]).mask(form(secret)).strip("'\"{}[]t: ") in ("***", "")
