"""Placeholders: what each form means, that nothing is expanded twice, and that a secret is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.config import (
    Reporter,
    ScalarNode,
    SecretNode,
    Variables,
    from_mapping,
    interpolate,
    read_yaml,
    to_value,
)
from agentforge.errors import ConfigurationError

VARIABLES = {"A": "x", "EMPTY": "", "URL": "http://${HOST}/$1", "NO": "no", "PIN": "0123", "SEVEN": "7"}


def expand(text: str, **variables: str) -> tuple[Any, list[str]]:
    """The value of a quoted text, and the codes of its faults."""
    reporter = Reporter()
    found = interpolate(from_mapping({"key": text}), Variables({**VARIABLES, **variables}), reporter)
    return to_value(found)["key"], [fault.code for fault in reporter.diagnostics]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("${A}", "x"),
        ("<${A}${A}>", "<xx>"),
        ("${B:default}", "default"),
        ("${A:default}", "x"),
        ("${B:}", ""),
        ("${EMPTY:default}", ""),
        ("${URL}", "http://${HOST}/$1"),
        ("${B:http://${C:localhost}/v1}", "http://localhost/v1"),
        ("${B:<${A}>}", "<x>"),
        ("${A:${UNSET}}", "x"),
        ("$${A}", "${A}"),
        ("${B:a $${b} c}", "a ${b} c"),
        ("$5 and $A and a $ b$", "$5 and $A and a $ b$"),
        ("{x} }", "{x} }"),
        ("${B: spaced }", " spaced "),
        ("${A?it is needed}", "x"),
        ("${EMPTY?it is needed}", ""),
        ("${B:${A?it is needed}}", "x"),
        ("${A:${C?it is needed}}", "x"),
    ],
)
def test_a_placeholder_means(text: str, meant: str) -> None:
    assert expand(text) == (meant, [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("${UNSET}", "AF111"),
        ("${UNSET:${ALSO}}", "AF111"),
        ("${secret:UNSET}", "AF113"),
        ("${}", "AF112"),
        ("${A", "AF112"),
        ("${B:open", "AF112"),
        ("${1A}", "AF112"),
        ("${A-B}", "AF112"),
        ("${UNSET?message}", "AF111"),
        ("${UNSET?}", "AF111"),
        ("${secret:UNSET?message}", "AF113"),
        ("${B:${C?message}}", "AF111"),
        ("${A?open", "AF112"),
        ("${A?${B:x}}", "AF112"),
        ("${secret:vault/}", "AF112"),
        ("${secret:vault/../x}", "AF112"),
        ("${secret:a/b}", "AF113"),
        ("${file:}", "AF112"),
        ("${file: }", "AF112"),
        ("${file:${A}}", "AF112"),
        ("${file:a.txt", "AF112"),
        ("${secret:../x}", "AF112"),
        ("${B:${C:${D:deep}}}", "AF112"),
        ("${A:${C:${D:deep}}}", "AF112"),
    ],
)
def test_a_placeholder_that_means_nothing_is_a_fault(text: str, code: str) -> None:
    """The value stays as it was written, and the fault says what to do."""
    assert expand(text) == (text, [code])


def test_keys_are_never_expanded() -> None:
    found = interpolate(from_mapping({"${A}": "${A}"}), Variables(VARIABLES), Reporter())

    assert to_value(found) == {"${A}": "x"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [("${SEVEN}", 7), ('"${SEVEN}"', "7"), ("${NO}", "no"), ("${PIN}", "0123"), ("${B:}", None), ("${B:[1]}", "[1]")],
)
def test_a_plain_value_is_typed_after_it_is_filled(written: str, meant: object) -> None:
    """A quoted one stays text; no value can become a list or a mapping."""
    node = read_yaml(f"key: {written}", "app.yaml", layer="file")
    assert node is not None

    assert to_value(interpolate(node, Variables(VARIABLES), Reporter())) == {"key": meant}


def test_the_filled_value_keeps_its_place_and_layer() -> None:
    node = read_yaml("a: [1, '${A}']", "app.yaml", layer="profile local")
    assert node is not None

    found: Any = interpolate(node, Variables(VARIABLES), Reporter())

    filled = found.entries["a"].node.items[1]
    assert filled == ScalarNode("x", False, filled.mark, "profile local")
    assert str(filled.mark) == "app.yaml:1:8"


@pytest.mark.parametrize("layer", [".env", "environment"])
def test_a_value_from_the_environment_is_taken_as_it_is(layer: str) -> None:
    """A password with a dollar sign stays that password."""
    node = from_mapping({"key": "a${A}b"}, layer=layer)

    assert to_value(interpolate(node, Variables(VARIABLES), Reporter())) == {"key": "a${A}b"}


def test_a_fault_names_the_variable_the_near_miss_and_the_way_to_set_it() -> None:
    reporter = Reporter()
    interpolate(from_mapping({"a": {"b": "${API_KEY}"}}), Variables({"API_KEYS": "v-a-l-u-e"}), reporter)

    [fault] = reporter.diagnostics
    assert (fault.message, fault.path) == ("the variable API_KEY is not set and has no default", "a.b")
    assert fault.next_step == (
        "Did you mean 'API_KEYS'? Otherwise set API_KEY in the environment or in a .env file beside the"
        " configuration, or give a default: ${API_KEY:value}."
    )


def test_the_message_of_a_variable_that_must_be_set_is_in_the_fault() -> None:
    reporter = Reporter()
    interpolate(from_mapping({"a": "${REGION? where your data may be kept }"}), Variables({"REGIONS": "eu"}), reporter)

    [fault] = reporter.diagnostics
    assert fault.message == "the variable REGION is not set: where your data may be kept"
    assert fault.next_step == (
        "Did you mean 'REGIONS'? Otherwise set REGION in the environment or in a .env file beside the configuration."
    )


def test_a_secret_is_found_and_shown_nowhere(tmp_path: Path) -> None:
    """The environment comes first, then the secrets directory; the last line break of a file is not part of it."""
    (tmp_path / "FILE_KEY").write_text("from-the-file\n", "utf-8")
    variables = Variables({"ENV_KEY": "from-the-env"}, tmp_path)
    node = from_mapping({"a": "Bearer ${secret:ENV_KEY}", "b": "${secret:FILE_KEY}", "c": "${secret:NONE:word}"})

    found: Any = interpolate(node, variables, Reporter())

    assert all(isinstance(entry.node, SecretNode) for entry in found.entries.values())
    values = to_value(found)
    assert {key: secret.get_secret_value() for key, secret in values.items()} == {
        "a": "Bearer from-the-env",
        "b": "from-the-file",
        "c": "word",
    }
    shown = repr(found) + repr(values) + repr(variables) + str(found.entries["a"].node)
    assert "from-the" not in shown
    assert variables.secrets.mask("from-the-env, from-the-file, word") == "***, ***, word"


def test_a_missing_secret_says_where_it_was_looked_for(tmp_path: Path) -> None:
    reporter = Reporter()
    interpolate(from_mapping({"a": "${secret:KEY}"}), Variables({}, tmp_path), reporter)

    [fault] = reporter.diagnostics
    assert fault.next_step == (
        f"Set KEY in the environment or in a .env file beside the configuration, or write it into {tmp_path / 'KEY'}."
    )


@pytest.mark.parametrize(
    ("written", "meant"), [("${secret:NONE:}", None), ("${secret:EMPTY}", None), ('"${secret:NONE:}"', "")]
)
def test_an_empty_secret_is_an_empty_value(written: str, meant: str | None) -> None:
    """Plain it is nothing, quoted an empty text, which still is a secret."""
    node = read_yaml(f"key: {written}", "app.yaml", layer="file")
    assert node is not None

    found = to_value(interpolate(node, Variables(VARIABLES), Reporter()))["key"]

    assert (found if found is None else found.get_secret_value()) == meant


# -- where secrets come from --------------------------------------------------------------------------


def vault(name: str, plugin: str | None) -> str | None:
    """A source as the plugins are one: ``vault`` has two secrets, ``broken`` fails, ``absent`` is not installed."""
    if plugin == "broken" or name == "BROKEN":
        raise ValueError("the answer was from-the-vault")
    if plugin == "absent":
        raise ConfigurationError("no plugin 'absent' is installed", next_step="Install it.")
    return {"app/model/key": "from-the-vault", "VAULT_KEY": "from-the-vault"}.get(name)


def secret(text: str, secrets_dir: Path | None = None) -> tuple[str, list[tuple[str, str]]]:
    """The secret that a text asks for, and its faults."""
    reporter = Reporter()
    variables = Variables({"ENV_KEY": "from-the-env"}, secrets_dir, vault)
    found: Any = interpolate(from_mapping({"key": text}), variables, reporter)
    assert "from-the" not in repr(found) + repr(variables)
    return found.get("key").text, [(fault.code, fault.message) for fault in reporter.diagnostics]


def test_the_sources_are_asked_after_environment_and_folder(tmp_path: Path) -> None:
    (tmp_path / "FILE_KEY").write_text("from-the-file\n", "utf-8")
    texts = ["${secret:ENV_KEY}", "${secret:FILE_KEY}", "${secret:VAULT_KEY}"]

    assert [secret(text, tmp_path) for text in texts] == [
        ("from-the-env", []),
        ("from-the-file", []),
        ("from-the-vault", []),
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("${secret:vault/app/model/key}", "from-the-vault"),
        ("${secret:vault/ENV_KEY:none}", "none"),
        ("${secret:vault/none:${secret:vault/app/model/key}}", "from-the-vault"),
    ],
)
def test_a_named_plugin_alone_is_asked(text: str, meant: str) -> None:
    """Neither the environment nor another plugin answers in its place."""
    assert secret(text) == (meant, [])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("${secret:vault/app/key}", ("AF113", "the plugin 'vault' has no secret app/key")),
        ("${secret:vault/app/key?ask Ada}", ("AF113", "the plugin 'vault' has no secret app/key: ask Ada")),
        ("${secret:broken/key}", ("AF122", "the secret key cannot be asked for: ValueError")),
        ("${secret:broken/key:default}", ("AF122", "the secret key cannot be asked for: ValueError")),
        ("${secret:BROKEN}", ("AF122", "the secret BROKEN cannot be asked for: ValueError")),
        ("${secret:absent/key}", ("AF122", "no plugin 'absent' is installed")),
    ],
)
def test_a_source_that_has_nothing_or_fails_is_a_fault(text: str, fault: tuple[str, str]) -> None:
    """The words of a failure are not shown: they may hold the secret."""
    assert secret(text) == (text, [fault])


def test_a_source_is_not_asked_for_what_is_not_used() -> None:
    assert expand("${A:${secret:broken/key}}") == ("x", [])


# -- texts of files -----------------------------------------------------------------------------------


def from_file(folder: Path, written: str, **given: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The value of ``system``, written in a file of ``folder``, and its faults."""
    reporter = Reporter()
    name = str(folder / "app.yaml")
    node = read_yaml(f"system: {written}", name, layer=given.pop("layer", "file"))
    assert node is not None
    found = interpolate(node, Variables({"A": "x"}, folder=folder, **given), reporter)
    return to_value(found)["system"], [
        (fault.code, fault.message.replace(str(folder), "")) for fault in reporter.diagnostics
    ]


def test_the_text_of_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    """From the folder of the file that names it, without the last line break; nothing in it is expanded."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.txt").write_text("Be brief: ${A}, $${A}\nand {kind}.\n", "utf-8")
    (tmp_path / "number").write_text("42", "utf-8")

    assert from_file(tmp_path, "${file:prompts/system.txt}") == ("Be brief: ${A}, $${A}\nand {kind}.", [])
    assert from_file(tmp_path, "'${A}: ${file: prompts/../number }!'") == ("x: 42!", [])
    assert from_file(tmp_path, "${file:number}") == ("42", [])
    assert from_file(tmp_path, f"${{B:${{file:{tmp_path / 'number'}}}}}") == ("42", [])
    assert from_file(tmp_path / "prompts", "${file:../number}") == ("42", [])


def test_a_program_names_a_file_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "system.txt").write_text("Be brief.", "utf-8")
    reporter = Reporter()

    found = interpolate(from_mapping({"a": "${file:system.txt}"}), Variables({}, folder=tmp_path), reporter)

    assert (to_value(found), reporter.diagnostics) == ({"a": "Be brief."}, ())


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("gone.txt", ("AF101", "the file '/gone.txt' does not exist")),
        ("folder", ("AF101", "the file '/folder' is no file")),
        ("latin.txt", ("AF102", "the file '/latin.txt' is not UTF-8: byte 4 is 0xe9")),
        ("large.txt", ("AF104", "the file '/large.txt' is larger than 1,048,576 bytes")),
    ],
)
def test_a_file_that_is_no_text_of_ours_is_a_fault_at_the_value(
    path: str, fault: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "large.txt").write_bytes(b"x" * (1024 * 1024 + 1))

    assert from_file(tmp_path, f"${{file:{path}}}") == (f"${{file:{path}}}", [fault])


def test_a_file_that_may_not_be_read_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed.txt").write_text("closed", "utf-8")

    def refused(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)

    assert from_file(tmp_path, "${file:closed.txt}")[1] == [
        ("AF101", "the file '/closed.txt' cannot be read: Permission denied")
    ]


def test_a_zero_byte_in_a_path_is_a_fault() -> None:
    assert expand("${file:a\0b}")[1] == ["AF101"]


@pytest.mark.parametrize("layer", ["environment", ".env", "command line"])
def test_a_value_from_outside_names_no_file(layer: str, tmp_path: Path) -> None:
    """The environment's is a text like any other; on the command line it is a fault."""
    (tmp_path / "system.txt").write_text("Be brief.", "utf-8")
    faults = [("AF115", "a file's text cannot be taken in from here")] if layer == "command line" else []

    assert from_file(tmp_path, "${file:system.txt}", layer=layer) == ("${file:system.txt}", faults)


@pytest.mark.parametrize("key", ["type", "component", "command"])
def test_no_file_says_what_is_run(key: str) -> None:
    reporter = Reporter()
    interpolate(from_mapping({"beans": {"a": {key: "${file:x}"}}}), Variables({}), reporter)

    assert [(fault.code, fault.path) for fault in reporter.diagnostics] == [("AF115", f"beans.a.{key}")]


def test_the_data_of_a_stranger_reads_no_file_outside_its_folder(tmp_path: Path) -> None:
    """Whatever way leads there; what is inside may be read."""
    inside, outside = tmp_path / "inside", tmp_path / "outside.txt"
    inside.mkdir()
    outside.write_text("key", "utf-8")
    (inside / "link.txt").symlink_to(outside)
    (inside / "own.txt").write_text("own", "utf-8")

    for way in ("../outside.txt", str(outside), "link.txt"):
        [(code, message)] = from_file(inside, f"${{file:{way}}}", trust="data")[1]
        assert code == "AF123"
        assert "is outside the folder of the configuration" in message
        assert from_file(inside, f"${{file:{way}}}") == ("key", [])
    assert from_file(inside, "${file:own.txt}", trust="data") == ("own", [])


@pytest.mark.parametrize("key", ["scan", "include", "plugins"])
def test_what_is_loaded_takes_no_placeholder(key: str) -> None:
    """Whatever form the key has; a key of that name further down is anybody's."""
    reporter = Reporter()
    data = {key: {"required": ["${A}"]}, "beans": {"a": {key: ["${A}"]}}}

    found = to_value(interpolate(from_mapping(data), Variables(VARIABLES), reporter))

    assert [(fault.code, fault.path) for fault in reporter.diagnostics] == [("AF115", f"{key}.required.0")]
    assert found == {key: {"required": ["${A}"]}, "beans": {"a": {key: ["x"]}}}


_PIECES = st.lists(st.sampled_from(["${A}", "${B:d}", "$${A}", "$", "{", "x", "${secret:S}"]), max_size=6).map("".join)


@given(st.text(alphabet="$ {}:ABsecrt", max_size=20), st.text(alphabet="$ {}:ABsecrt", max_size=20))
def test_what_a_variable_holds_is_never_expanded(first: str, second: str) -> None:
    """Whatever it looks like, it comes out as it went in, beside another as well."""
    assert expand("<${A}|${B}>", A=first, B=second) == (f"<{first}|{second}>", [])


@given(st.text(alphabet="$ {}:ABsecrt?", max_size=30) | _PIECES)
def test_any_text_is_expanded_or_is_a_fault(text: str) -> None:
    """A text without ``${`` is itself; a faulty one stays as it was."""
    found, codes = expand(text, S="a-secret")

    if "${" not in text:
        assert (found, codes) == (text, [])
    if codes:
        assert (found, len(codes)) == (text, 1)


def test_placeholders_bring_in_so_much_and_no_more(tmp_path: Path) -> None:
    """A line names a long text many times; the rest follows from the first that was too much, and is not told."""
    (tmp_path / "long.txt").write_text("x" * 1_000_000, "utf-8")
    reporter = Reporter()
    node = from_mapping({"texts": ["${file:long.txt}"] * 40})

    interpolate(node, Variables({}, folder=tmp_path), reporter)

    assert [(fault.code, fault.path) for fault in reporter.diagnostics] == [("AF104", "texts.16")]


def test_an_open_placeholder_full_of_literals_is_refused_at_once() -> None:
    """Looking for the end again from each of them would take minutes."""
    assert expand("${A:" + "$${" * 300_000, B="b")[1] == ["AF112"]


def test_a_secret_is_asked_for_once(tmp_path: Path) -> None:
    """However many values hold it: a vault takes its time, and may answer otherwise the next time."""
    asked: list[str] = []

    def source(name: str, plugin: str | None) -> str | None:
        asked.append(name)
        return "k-test-789"

    variables = Variables({}, sources=source)

    assert [variables.secret("A"), variables.secret("A"), variables.secret("A", "vault")] == ["k-test-789"] * 3
    assert asked == ["A", "A"]
