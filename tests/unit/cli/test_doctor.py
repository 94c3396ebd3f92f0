"""`agentforge doctor`: the installation and the configuration together, every finding with what to do."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentforge
from tests.support.loopback import plain, serve

PLUGIN = """
from pathlib import Path
from agentforge.plugin import BeanSettings, BeanType, SecretStr, hookimpl

class Settings(BeanSettings):
    command: list[str] = []
    script_file: str | None = None
    ca_bundle: str | None = None
    data: Path | None = None
    address: str | None = None
    key: SecretStr | None = None

def endpoints(settings, context):
    if settings.address == "torn":
        raise ValueError("out of order")
    address = settings.address or context.environment.get("DESK_URL")
    return [address] if address else []

@hookimpl
def agentforge_bean_types(register):
    register(BeanType("desk.server", Settings, lambda _: object(), object, "A server.", endpoints=endpoints))
"""


@pytest.fixture
def desk(project: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A project with a plugin whose beans name programs, files and addresses."""
    module = f"{project.module}_server"
    project.write(f"{module}.py", PLUGIN)
    project.install("desk", module)
    monkeypatch.syspath_prepend(project.folder)
    yield project
    sys.modules.pop(module, None)


def found(project: Any, *words: str, **environment: str) -> dict[str, list[dict[str, Any]]]:
    """The findings by name; the exit code fits them."""
    ended = project.run("doctor", "--json", *words, environment=environment)
    assert ended.out, ended.err
    data = json.loads(ended.out)
    assert data["ok"] == (ended.code == 0) == (not any(each["level"] == "fault" for each in data["findings"]))
    by_name: dict[str, list[dict[str, Any]]] = {}
    for each in data["findings"]:
        by_name.setdefault(each["name"], []).append(each)
    return by_name


def bean(project: Any, settings: str) -> None:
    """Make the configuration one with a server of these settings."""
    project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n  s: {{type: desk.server, {settings}}}\n")


def test_a_sound_installation_with_a_sound_file(project: Any) -> None:
    """Everything that was looked at is said."""
    ended = project.run("doctor")

    assert ended.code == 0, ended.out
    for name in ("python", "package", "dependencies", "configuration"):
        assert f"ok       {name}: " in ended.out
    assert ended.out.splitlines()[-1].startswith("0 faults, ")


def test_faults_of_the_file_are_findings(project: Any) -> None:
    """Each under its code and at its place, with its next step; secrets and variables that are unset among them."""
    project.write(
        "agentforge.yaml", 'agentforge: 1\nbeans:\n  a: {type: scripte}\n  b: {type: scripted, name: "${NAME}"}\n'
    )
    [unknown], [unset] = (found(project)[code] for code in ("AF211", "AF111"))

    assert (unknown["level"], unknown["next_step"]) == ("fault", "Did you mean 'scripted'?")
    assert unknown["where"].endswith("agentforge.yaml:3:13") and unset["where"].endswith("agentforge.yaml:4:29")


def test_without_a_file_the_installation_alone_is_checked(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody named one; a named one that is not there is a fault."""
    monkeypatch.chdir(project.folder / "..")
    [missing] = found(project, AGENTFORGE_CONFIG="")["no-configuration"]

    assert missing["level"] == "warning"
    assert missing["next_step"] == "Name one with --config FILE, or begin a project with agentforge init."
    assert found(project, "--config", "nowhere.yaml")["AF101"][0]["level"] == "fault"


@pytest.mark.parametrize(
    ("settings", "name", "what"),
    [
        ("command: [no-such-program, -v]", "program-missing", "'no-such-program'"),
        ("command: [./tool]", "program-missing", "'./tool'"),
        ("script_file: gone.txt", "file-missing", "gone.txt"),
        ("ca_bundle: gone.pem", "file-missing", "gone.pem"),
        ("data: gone", "file-missing", "gone"),
    ],
)
def test_what_a_bean_names_and_is_not_there(desk: Any, settings: str, name: str, what: str) -> None:
    """Is a fault at the setting of the bean."""
    bean(desk, settings)
    [finding] = found(desk)[name]

    assert finding["level"] == "fault" and what in finding["what"]
    assert finding["where"].startswith("beans.s.") and "agentforge.yaml:3:3" in finding["where"]


def test_what_a_bean_names_and_is_there(desk: Any) -> None:
    """A program in PATH or beside the file, files from the folder of the file."""
    tool = desk.folder / "tool"
    tool.write_text("", "utf-8")
    tool.chmod(0o755)
    bean(desk, f"command: [./tool, x], script_file: {desk.module}.py, ca_bundle: {Path(desk.file)}, data: .")
    names = found(desk)

    assert not {"program-missing", "file-missing"} & set(names)
    bean(desk, "command: [tool]")
    assert "program-missing" in found(desk, PATH="")
    assert "program-missing" not in found(desk, PATH=str(desk.folder))


def test_secrets_that_others_may_read(project: Any) -> None:
    """The `.env` file, and the folder of secrets with what is in it; what only the owner reads is well."""
    env, folder = project.folder / ".env", project.folder / "secrets"
    env.write_text("", "utf-8")
    folder.mkdir(mode=0o700)
    (folder / "OPEN").write_text("x", "utf-8")
    (folder / "CLOSED").write_text("x", "utf-8")
    for path, mode in ((env, 0o644), (folder / "OPEN", 0o640), (folder / "CLOSED", 0o600)):
        path.chmod(mode)
    findings = found(project, AGENTFORGE_SECRETS_DIR=str(folder))["secrets-readable"]

    assert [each["where"] for each in findings] == [str(env), str(folder / "OPEN")]
    assert {each["level"] for each in findings} == {"warning"}


async def test_endpoints_are_tried_only_when_asked(desk: Any) -> None:
    """One HEAD request without a key; any answer is one, and none is a fault."""
    async with serve(plain(b"", status="401 Unauthorized")) as server:
        bean(desk, f"address: {server.url()}, key: sk-very-secret")
        offline = await asyncio.to_thread(found, desk)
        assert server.requests == []

        online = await asyncio.to_thread(found, desk, "--online")
        [request] = server.requests
    gone = await asyncio.to_thread(found, desk, "--online")

    assert "was not tried" in offline["endpoint"][0]["what"]
    assert request.method == "HEAD" and "sk-very-secret" not in str(request)
    assert "status 401" in online["endpoint"][0]["what"]
    [finding] = gone["endpoint-unreachable"]
    assert finding["level"] == "fault" and finding["where"].startswith("beans.s ") and finding["next_step"]


def test_an_endpoint_of_the_variables(desk: Any) -> None:
    """What a bean type finds there is told as well."""
    bean(desk, "data: .")

    assert "http://127.0.0.1:9/x" in found(desk, DESK_URL="http://127.0.0.1:9/x")["endpoint"][0]["what"]


def test_a_plugin_that_cannot_say_what_it_calls(desk: Any) -> None:
    """Harms only itself."""
    bean(desk, "address: torn")
    findings = found(desk)

    assert "ValueError: out of order" in findings["endpoint-unknown"][0]["what"] and "plugin" in findings


def test_plugins_and_whether_they_are_used(desk: Any) -> None:
    """One that is broken is a warning, and a fault for a file that needs it."""
    desk.write(f"{desk.module}_broken.py", "raise ImportError('out of order')")
    desk.install("broken", f"{desk.module}_broken")
    idle = found(desk)
    [state] = [each for each in idle["plugin"] if each["what"].startswith("desk ")]
    [broken] = idle["plugin-failed"]

    assert state["what"].endswith("this configuration does not use it")
    assert broken["level"] == "warning" and "out of order" in broken["what"] and broken["next_step"]
    bean(desk, "data: .")
    [state] = [each for each in found(desk)["plugin"] if each["what"].startswith("desk ")]
    assert "does not use it" not in state["what"]
    desk.write("agentforge.yaml", "agentforge: 1\nbeans:\n  s: {type: broken.door}\n")
    assert found(desk)["AF201"][0]["level"] == "fault"


def test_a_plugin_that_was_switched_off(desk: Any) -> None:
    """Is said, and no fault where nobody needs it."""
    [blocked] = found(desk, AGENTFORGE_DISABLE_PLUGINS="desk")["plugin-blocked"]

    assert blocked["level"] == "ok"


def kit(folder: Path, *, requires: tuple[str, ...] = (), digest: str | None = None) -> None:
    """Metadata of a distribution of ours in a folder that is searched first."""
    info = folder / f"agentforge_kit-{agentforge.__version__}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", "Name: agentforge-kit", f"Version: {agentforge.__version__}"]
    (info / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {each}" for each in requires)]) + "\n")
    if digest is not None:
        (info / "RECORD").write_text(f"agentforge/__init__.py,sha256={digest},\n")


def digest_of(path: Path) -> str:
    """As a RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed distributions in front of all others, in which the package is ours."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "agentforge").symlink_to(Path(agentforge.__file__).parent)
    monkeypatch.syspath_prepend(folder)
    return folder


def test_files_that_somebody_overwrote(project: Any, site: Path) -> None:
    """What the installer noted tells."""
    kit(site, digest="0" * 43)
    [finding] = found(project)["package-overwritten"]

    assert finding["level"] == "fault" and "agentforge/__init__.py" in finding["what"]


def test_files_as_they_were_installed(project: Any, site: Path) -> None:
    """Are well."""
    kit(site, digest=digest_of(Path(agentforge.__file__)))

    assert found(project)["package"][0]["level"] == "ok"


def test_a_package_that_hides_ours(project: Any, site: Path) -> None:
    """The distribution is installed, and what is imported is something else."""
    kit(site)
    (site / "agentforge").unlink()
    (site / "agentforge").mkdir()
    (site / "agentforge" / "__init__.py").write_text("", "utf-8")
    [finding] = found(project)["package-shadowed"]

    assert finding["level"] == "fault" and str(site / "agentforge") in finding["what"]
    assert finding["where"] == str(Path(agentforge.__file__).parent)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("top_level.txt", "other\nagentforge\n"),
        ("RECORD", "other/__init__.py,,\nagentforge/__init__.py,sha256=abc,12\n"),
        ("RECORD", '"agentforge.py",,\n'),
    ],
    ids=["said", "a folder", "a file"],
)
def test_a_stranger_that_brings_the_same_package(project: Any, site: Path, name: str, text: str) -> None:
    """Whichever of them is installed last overwrites the other."""
    info = site / "agentforge-4.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agentforge\nVersion: 4.2\n", "utf-8")
    (info / name).write_text(text, "utf-8")
    [finding] = found(project)["package-not-ours"]

    assert finding["level"] == "fault" and "the distribution agentforge " in finding["what"]
    assert "pip uninstall agentforge" in finding["next_step"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("top_level.txt", "agentforge_desk\n"),
        ("RECORD", "agentforge_desk/__init__.py,,\nagentforge_desk-1.dist-info/RECORD,,\nagentforge-data.txt,,\n"),
        ("RECORD", ""),
    ],
)
def test_a_neighbour_whose_name_is_like_ours_is_none(project: Any, site: Path, name: str, text: str) -> None:
    """Nothing of ours is in it."""
    info = site / "agentforge_desk-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agentforge-desk\nVersion: 1\n", "utf-8")
    (info / name).write_text(text, "utf-8")

    assert "package-not-ours" not in found(project)


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("pluggy>=99", "dependency-version"),
        ("pluggy<1,>=0.5", "dependency-version"),
        ("no-such-thing>=1", "dependency-missing"),
        ("pluggy>=1.0,<99,!=1.0.1", None),
        ("no-such-thing; extra == 'more'", None),
        ("pluggy", None),
    ],
)
def test_what_the_distribution_needs(project: Any, site: Path, requirement: str, name: str | None) -> None:
    """Missing or of another version is a fault; what only an extra needs does not count."""
    kit(site, requires=(requirement,))
    findings = found(project)

    assert {each for each in findings if each.startswith("dependency-")} == ({name} if name else set())
    if name:
        assert findings[name][0]["level"] == "fault" and "pip install" in findings[name][0]["next_step"]


def test_no_secret_is_shown(desk: Any) -> None:
    """Nor in text."""
    bean(desk, "address: 'http://127.0.0.1:9/', key: sk-very-secret, script_file: sk-very-secret")

    assert "sk-very-secret" not in desk.run("doctor").out + desk.run("doctor", "--json").out
