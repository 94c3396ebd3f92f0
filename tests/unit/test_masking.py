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


def test_a_secret_that_begins_with_another_is_masked_whole() -> None:
    assert Secrets(["sk-1234", "sk-12345678"]).mask("the key sk-12345678") == "the key ***"


def test_joining_two_sets_keeps_what_each_masks_and_writes_no_form_twice() -> None:
    """A set that is joined turn after turn does not grow."""
    first, second = Secrets(SECRETS[:2]), Secrets(SECRETS[2:])
    both = first | second

    assert repr(both | first | second | both) == repr(both) == repr(Secrets(SECRETS))
    assert "TOPSECRET" not in both.mask(f"{SECRETS} {json.dumps(SECRETS)}")
    assert first.mask(SECRETS[2]) == SECRETS[2]


@given(st.text(min_size=4, max_size=20), st.sampled_from(FORMS[:3]))
def test_what_was_written_with_a_secret_does_not_hold_it(secret: str, form: Callable[[str], str]) -> None:
    assert Secrets([secret]).mask(form(secret)).strip("'\"{}[]t: ") in ("***", "")
