"""Programs that tests start are forked from one that has imported everything (`tests.support.programs`): here they are
held against real ones, which say and do the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import REAL, REAL_MODULE, agentforge, folder_of_programs, python_m_agentforge

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="without forks all programs are real")

CONFIG = """
agentforge: 1
scan: [desk]
beans:
  model: {type: scripted, turns: [{calls: [{name: say, args: {text: 早}}]}, "说过了。"], repeat: true}
  desk: {type: python_tools, component: Desk}
  assistant: {type: chat_client, model: model, tools: [desk]}
"""
DESK = '''
import os
from agentforge import tool

exec(os.environ.get("AT_IMPORT", ""))

class Desk:
    @tool
    def say(self, text: str) -> str:
        """Say a text."""
        print("said")
        return text
'''
#: What a program finds, as far as the interpreter and the caller give it.
STATE = """
import json, locale, logging, signal, sys, threading, time, tempfile, warnings
main = sys.modules["__main__"]
told = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
streams = ((sys.stdin, sys.__stdin__), (sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__))
print(json.dumps({
    "words": [sys.argv, sys.orig_argv[1:]],
    "search": sys.path,
    "folder": os.getcwd(),
    "mask": os.umask(0o77),
    "environment": dict(sorted(os.environ.items())),
    "streams": [
        [s.encoding, s.errors, s.mode, s.name, s.fileno(), s.isatty(), s.newlines, s.line_buffering, s.write_through,
         type(s.buffer).__name__, s.buffer.name, s is plain]
        for s, plain in streams
    ],
    "main": [main.__name__, main.__file__],
    "interpreter": [sys.executable, sys.prefix, sys.dont_write_bytecode, sys.excepthook is sys.__excepthook__],
    "place": [locale.setlocale(locale.LC_ALL), time.tzname, tempfile.gettempdir()],
    "signals": [str(signal.getsignal(each)) for each in sorted(signal.valid_signals()) if each not in told],
    "masked": list(signal.pthread_sigmask(0, [])),
    "wakes": signal.set_wakeup_fd(-1) == -1,
    "warnings": [str(each) for each in warnings.filters],
    "threads": threading.active_count(),
    "open": sorted(map(int, os.listdir("/dev/fd")))[:4],
    "logs": len(logging.getLogger().handlers),
}), file=open(os.environ["STATE"], "w"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a file and its tools."""
    (tmp_path / "agentforge.yaml").write_text(CONFIG, "utf-8")
    (tmp_path / "desk.py").write_text(DESK, "utf-8")
    return tmp_path


def told(
    command: tuple[str, ...], *words: str, cwd: Path, said: str = "", environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """The exit code and what was printed, but for times and the texts that a library draws."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("AGENTFORGE_", "OPENAI_"))}
    done = subprocess.run(
        [*command, *words],
        cwd=cwd,
        input=said,
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    out, err = (re.sub(r"\b\d+\.\d+\b|\bchatcmpl-\w+|\brun[-_]\w+|(?<=_id\": \")[^\"]+", "…", each) for each in
                (done.stdout, done.stderr))  # fmt: skip
    return done.returncode, out, err


SAME = [
    pytest.param(["--version"], "", {}, id="version"),
    pytest.param(["chekc"], "", {}, id="no command"),
    pytest.param(["tools", "--help"], "", {}, id="help"),
    pytest.param(["check", "--json"], "", {"AGENTFORGE_BEANS__MODEL__TURN": "x"}, id="a fault by the environment"),
    pytest.param(["check", "--config", "nowhere.yaml"], "", {}, id="no file"),
    pytest.param(["chat"], "one\n早\n", {"COLUMNS": "50"}, id="a session"),
    pytest.param(["tools", "list"], "", {"NO_COLOR": "1", "COLUMNS": "60"}, id="tools"),
    pytest.param(["check"], "", {"AT_IMPORT": "raise SystemExit(7)"}, id="a module that ends the program"),
    pytest.param(["check"], "", {"AT_IMPORT": "os._exit(9)"}, id="a module that ends the process"),
    pytest.param(["check"], "", {"AT_IMPORT": "os.kill(os.getpid(), 9)"}, id="a signal"),
    pytest.param(
        ["check"],
        "",
        {
            "AT_IMPORT": "import atexit, threading, time; atexit.register(print, 'at exit');"
            "threading.Thread(target=lambda: (time.sleep(0.3), print('thread', flush=True))).start()"
        },
        id="what goes on after the command",
    ),
    pytest.param(["check"], "", {"AT_IMPORT": "import os; os.close(1)"}, id="output that is gone"),
]


@pytest.mark.parametrize(("words", "said", "environment"), SAME)
def test_it_says_and_ends_as_the_real_one(
    project: Path, words: list[str], said: str, environment: dict[str, str]
) -> None:
    """Exit code, standard output and standard error."""
    real, forked = (
        told(command, *words, cwd=project, said=said, environment=environment)
        for command in (REAL_MODULE, python_m_agentforge())
    )

    assert forked == real


@pytest.mark.parametrize(
    ("real", "forked"), [(REAL, agentforge), (REAL_MODULE, python_m_agentforge)], ids=["script", "module"]
)
def test_it_finds_what_the_real_one_finds(
    project: Path, real: tuple[str, ...], forked: Callable[[], tuple[str, ...]]
) -> None:
    """Words, search path, environment, folder, streams and all that the interpreter says of its start."""
    found: list[dict[str, Any]] = []
    for number, command in enumerate((real, forked())):
        environment = {
            "AT_IMPORT": STATE,
            "STATE": str(project / "state"),
            "PYTHONPATH": os.pathsep.join([".", str(project / "lib"), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "",
            "TZ": "XYZ-5",
            "LATE": "早",
        }
        code, out, err = told(command, "check", cwd=project, environment=environment)
        assert code == 0, (number, out, err)
        found.append(json.loads((project / "state").read_text("utf-8")))

    assert found[1] == found[0]
    assert found[0]["place"][1] == ["XYZ", "XYZ"]


@pytest.mark.parametrize(
    ("words", "files", "environment"),
    [
        (["check"], {"yaml.py": "raise SystemExit('ours')"}, {}),
        (["--version"], {"agentforge/__init__.py": "raise SystemExit('ours')"}, {}),
        (["--version"], {"lib/sitecustomize.py": "print('ours')"}, {"PYTHONPATH": "lib"}),
        (["check"], {"lib/pydantic/__init__.py": "raise SystemExit('ours')"}, {"PYTHONPATH": "lib"}),
        (["check"], {}, {"PYTHONIOENCODING": "cp1252", "AT_IMPORT": "import sys; print(sys.__stdout__.encoding)"}),
        (["--version"], {}, {"PYTHONWARNINGS": "error::nowhere.Warning"}),
    ],
    ids=["a library's name", "our name", "sitecustomize", "on the path", "encoding", "warnings"],
)
def test_what_it_could_not_be_is_a_real_program(
    project: Path, words: list[str], files: dict[str, str], environment: dict[str, str]
) -> None:
    """A module of the caller's that hides a loaded one; what the interpreter reads at its start."""
    without = told(python_m_agentforge(), *words, cwd=project)
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    real, forked = (
        told(command, *words, cwd=project, environment=environment) for command in (REAL_MODULE, python_m_agentforge())
    )

    assert forked == real != without


def test_who_ends_it_ends_the_program(project: Path) -> None:
    """Nothing is left of a program that a test has given up."""
    waits = f"open({str(project / 'pid')!r}, 'w').write(str(os.getpid())); import time; time.sleep(600)"
    environment = {**os.environ, "AT_IMPORT": waits}
    with subprocess.Popen([*agentforge(), "check"], cwd=project, env={**environment, "PYTHONPATH": "."}) as process:
        started = _soon(lambda: (project / "pid").exists() and (project / "pid").read_text())
        process.kill()

    assert started and _soon(lambda: not _is_there(int((project / "pid").read_text())))


def test_many_run_at_once_and_apart(project: Path) -> None:
    """Each client gets the output and the exit code of its own program."""
    clients = [
        subprocess.Popen(
            [*agentforge(), "check", "--json"],
            cwd=project,
            env={**os.environ, "PYTHONPATH": ".", "AT_IMPORT": f"os.write(1, b'{number}'); os._exit({number})"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(10, 18)
    ]
    ends = [(client.communicate(timeout=60)[0], client.returncode) for client in clients]

    assert ends == [(f"{number}", number) for number in range(10, 18)]


def test_a_closed_stream_or_a_folder_that_is_gone_is_the_real_ones_matter(project: Path) -> None:
    """They cannot be handed over."""
    ends = []
    for command in (REAL, agentforge()):
        done = subprocess.run(
            ["sh", "-c", '"$0" --version <&- >out.txt', *command],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": "."},
        )
        gone = subprocess.run(
            ["sh", "-c", 'mkdir -p gone && cd gone && rmdir ../gone && "$0" --version', *command],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=60,
        )
        ends.append((done.returncode, done.stderr, (project / "out.txt").read_text("utf-8"), gone.returncode))

    assert ends[0] == ends[1]


def test_the_process_behind_it_ends_with_who_started_it() -> None:
    """And takes its folder with it, also when it is killed."""
    work = "import os; from tests.support.programs import folder_of_programs as f; print(f(), flush=True); os._exit(1)"
    done = subprocess.run([sys.executable, "-c", work], cwd=ROOT, capture_output=True, text=True, timeout=60)
    folder = Path(done.stdout.strip())

    assert done.returncode == 1 and folder != Path(folder_of_programs())
    assert _soon(lambda: not folder.exists())


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel says it there")
def test_nothing_runs_beside_the_process_that_is_forked(project: Path) -> None:
    """No library has started a thread, which a child would miss."""
    environment = {"AT_IMPORT": "print(len(os.listdir(f'/proc/{os.getppid()}/task')), file=__import__('sys').stderr)"}
    code, _, err = told(python_m_agentforge(), "check", cwd=project, environment=environment)

    assert (code, err) == (0, "1\n")


def _soon(holds: Callable[[], object]) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
