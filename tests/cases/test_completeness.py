"""No field case is lost: each row of the kinds tested here is carried over unchanged, or named with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cases.support import KINDS, case_file

#: What the test files look at, by form and outcome; a row of another kind would be collected by none of them.
TESTED = {
    "model_output": {
        ("openai_response", "execute"),
        ("gemini_response", "execute"),
        ("openai_response", "accept_or_reject"),
        ("openai_response", "error_to_model"),
        ("openai_response", "final_answer"),
        ("history", "history_valid"),
    },
    "streaming": {("sse", "accept"), ("sse", "typed_error"), ("sse", "execute")},
    "schema": {
        ("python_tool", "accept"),
        ("python_tool", "execute"),
        ("python_tool", "accept_or_reject"),
        ("python_tool", "reject_at_build"),
        ("json_schema", "degrade"),
        ("json_schema", "accept"),
    },
    "tool_loop": {
        ("loop_script", "typed_error"),
        ("loop_script", "history_valid"),
        ("loop_script", "error_to_model"),
        ("loop_script", "final_answer"),
        ("loop_script", "request_as_given"),
        ("loop_script", "accept"),
    },
    "config": {
        ("config", "accept"),
        ("config", "reject_at_build"),
        ("container", "accept"),
        ("container", "reject_at_build"),
        ("container", "typed_error"),
        ("plugins", "accept"),
        ("plugins", "reject_at_build"),
    },
    "http": {
        ("http_tool", "error_to_model"),
        ("http_tool", "request_as_given"),
        ("openapi_call", "accept"),
        ("openapi_call", "error_to_model"),
        ("openapi_call", "mixed"),
        ("openapi_call", "reject_at_build"),
        ("openapi_call", "request_as_given"),
    },
    "mcp": {("mcp_script", "accept"), ("mcp_script", "degrade"), ("mcp_script", "error_to_model")},
}
#: A kind whose rows lie in several files: requests and answers, and what comes before them.
FILES = {"http": ("http", "openapi")}


def rows_of(kind: str, part: str = "cases") -> list[dict[str, Any]]:
    """All rows of a kind that are carried over, or that are not."""
    return [row for name in FILES.get(kind, (kind,)) for row in case_file(name)[part]]


@pytest.mark.parametrize("kind", KINDS)
def test_each_form_and_outcome_has_a_test(kind: str) -> None:
    found = rows_of(kind)

    assert {(row["input"]["form"], row["expected"]["outcome"]) for row in found} == TESTED[kind]
    if kind == "tool_loop":  # these have a test each
        accepted = [row["id"] for row in found if row["expected"]["outcome"] == "accept"]
        assert accepted == ["TL-22", "TL-24", "TL-28"]


@pytest.fixture(scope="module")
def field_cases(shared: Path) -> list[dict[str, Any]]:
    """All rows of the recorded material."""
    found: list[dict[str, Any]] = yaml.safe_load((shared / "cases" / "field-cases.yaml").read_text("utf-8"))["cases"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_tested_or_left_out_with_a_reason(kind: str, field_cases: list[dict[str, Any]]) -> None:
    tested = [row["id"] for row in rows_of(kind)]
    left_out = [row["id"] for row in rows_of(kind, "not_here")]

    assert sorted(tested + left_out) == sorted(row["id"] for row in field_cases if row["kind"] == kind)
    assert all(row["reason"].strip() for row in rows_of(kind, "not_here"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_carried_row_says_what_it_said(kind: str, field_cases: list[dict[str, Any]]) -> None:
    """Input and expectation are the recorded ones; our own additions stand apart, in ``checks`` and ``left_out``."""
    recorded = {row["id"]: row for row in field_cases}
    for row in rows_of(kind):
        own = {key: value for key, value in row.items() if key not in ("checks", "left_out")}
        assert {"kind": kind, **own} == recorded[row["id"]]
