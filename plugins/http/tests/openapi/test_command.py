"""``agentforge http import SPEC``: what would be imported, and what not, and why."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from agentforge.cli.main import run
from plugins.http.tests.openapi.server import running
from plugins.http.tests.openapi.support import document

SPEC = document(
    {
        "/items": {"get": {"operationId": "list items", "summary": "All of them.", "tags": ["a"]}, "post": {}},
        "/items/{id}": {"put": {"requestBody": {"content": {"application/xml": {"schema": {"type": "object"}}}}}},
    },
    servers=[{"url": "https://api.example.com"}],
    webhooks={"made": {}},
    components={"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "k"}}},
)


def printed(*words: str, spec: Any = SPEC, folder: Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    (folder / "api.json").write_text(spec if isinstance(spec, str) else json.dumps(spec))
    out, err = io.StringIO(), io.StringIO()
    code = run(["http", "import", str(folder / "api.json"), *words], stdout=out, stderr=err, environment={})
    return code, out.getvalue(), err.getvalue()


def test_the_report_is_a_table_of_what_is_imported_and_what_is_not(tmp_path: Path) -> None:
    """With the tool's name, the operation, its effect, and the reason for whatever is missing."""
    code, out, err = printed(folder=tmp_path)
    assert (code, err) == (0, "")
    assert out == (
        "Shop 3 (OpenAPI 3.1.0)\n"
        "\n"
        "tool        operation    effect  security  notes\n"
        "list_items  GET /items   read\n"
        "post_items  POST /items  write\n"
        "\n"
        "left out   name          what             why\n"
        "operation  put_items_id  PUT /items/{id}  its body is application/xml, which cannot be sent\n"
        "webhook                  made             it is a call to us, not by us\n"
        "\n"
        "2 operations imported, 2 left out\n"
        "security scheme key: API key in query 'k'\n"
        "requests go to https://api.example.com\n"
    )


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--only", "list*"], ["list_items"]),
        (["--except", "list items"], ["post_items"]),
        (["--tag", "a"], ["list_items"]),
        (["--method", "post"], ["post_items"]),
        (["--only", "list*", "--only", "post*"], ["list_items", "post_items"]),
    ],
)
def test_it_chooses_as_the_settings_do(tmp_path: Path, words: list[str], names: list[str]) -> None:
    """What is not chosen is only counted."""
    code, out, _ = printed(*words, folder=tmp_path)
    assert code == 0 and [name for name in ("list_items", "post_items") if name in out] == names
    assert " not chosen\n" in out


def test_it_is_data_for_machines(tmp_path: Path) -> None:
    """The whole report, with the schemas where they are asked for."""
    code, out, _ = printed("--json", "--base-url", "http://127.0.0.1:8000", folder=tmp_path)
    data = json.loads(out)
    assert code == 0
    assert [(each["name"], each["own_name"], each["server"]) for each in data["operations"]] == [
        ("list_items", "list items", "http://127.0.0.1:8000"),
        ("post_items", "post /items", "http://127.0.0.1:8000"),
    ]
    assert [each["kind"] for each in data["left_out"]] == ["operation", "webhook"] and "schemas" not in data
    data = json.loads(printed("--json", "--schemas", folder=tmp_path)[1])
    assert data["schemas"]["list_items"]["type"] == "object"


def test_names_and_effects_are_tried_before_they_are_in_a_file(tmp_path: Path) -> None:
    """As the settings have them."""
    words = ("--rename", "list items=find", "--prefix", "shop_", "--effect", "*=read", "--effect", "li*=write")
    code, out, _ = printed(*words, "--json", folder=tmp_path)
    told = [(each["name"], each["effect"]) for each in json.loads(out)["operations"]]
    assert (code, told) == (0, [("shop_find", "write"), ("shop_post_items", "read")])


@pytest.mark.parametrize("words", [["--only", "lst_items"], ["--except", "lst_items"], ["--rename", "lst_items=a"]])
def test_a_name_that_no_operation_has_is_said(tmp_path: Path, words: list[str]) -> None:
    """With the near miss."""
    _, out, _ = printed(*words, folder=tmp_path)
    assert "note: no operation of the description is named 'lst_items'. Did you mean 'list_items'?\n" in out


def test_one_operation_id_of_two_operations_is_noted(tmp_path: Path) -> None:
    """The second is called otherwise than it is written."""
    paths = {"/a": {"get": {"operationId": "same"}, "post": {"operationId": "same"}}}
    _, out, _ = printed("--base-url", "https://a.test", spec=document(paths), folder=tmp_path)
    assert "same_post_a" in out and "its operationId is that of another operation, too" in out


def test_a_file_that_is_not_there_is_looked_for_where_one_is() -> None:
    """Beside no configuration."""
    err = io.StringIO()
    assert run(["http", "import", "nowhere.yaml"], stderr=err, environment={}) == 1
    assert "there is no file 'nowhere.yaml'" in err.getvalue() and "the folder you are in" in err.getvalue()


def test_a_description_without_a_server_is_shown_with_what_it_needs(tmp_path: Path) -> None:
    """One looks before one configures."""
    code, out, _ = printed(spec={**SPEC, "servers": []}, folder=tmp_path)
    assert code == 0 and "2 operations imported" in out
    assert "note: the description names no server. Write the address of the API as base_url.\n" in out


@pytest.mark.parametrize(
    ("spec", "words", "code", "said"),
    [
        (SPEC, ["--only", "nothing"], 1, ""),
        ({"openapi": "3.1.0", "webhooks": {"a": {}}}, [], 1, ""),
        ({"openapi": "9.9"}, [], 1, "its version '9.9' is not known"),
        ("a: [", [], 1, "it is not YAML"),
        (SPEC, ["--rename", "a"], 2, "'a' is not written as OLD=NEW"),
        (SPEC, ["--effect", "a=delete"], 2, "'a=delete' is not written as NAME=read or NAME=write"),
        (SPEC, ["--methd", "GET"], 2, "there is no option '--methd'"),
        (SPEC, ["--method", "FETCH"], 2, "FETCH"),
        (SPEC, ["--base-url", "example.com"], 1, "--base-url is not an http or https address"),
    ],
)
def test_it_fails_where_nothing_could_be_imported(
    tmp_path: Path, spec: Any, words: list[str], code: int, said: str
) -> None:
    """1 for a description, 2 for words that make no sense; the fault on standard error, without a traceback."""
    found, _, err = printed(*words, spec=spec, folder=tmp_path)
    assert found == code and said in err and "Traceback" not in err
    assert bool(err) is bool(said)


def test_a_description_at_an_address_is_fetched(tmp_path: Path) -> None:
    """From this machine, too: whoever types an address means it."""
    with running() as address:
        out = io.StringIO()
        code = run(["http", "import", f"{address}/openapi.json", "--json"], stdout=out, environment={})
    data = json.loads(out.getvalue())
    assert code == 0 and data["title"] == "Echo" and len(data["operations"]) == 18
    assert {each["server"] for each in data["operations"]} == {address}

    err = io.StringIO()
    assert run(["http", "import", "http://127.0.0.1:9/none.json"], stderr=err, environment={}) == 1
    assert "the description at http://127.0.0.1:9/none.json cannot be fetched" in err.getvalue()
