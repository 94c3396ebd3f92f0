"""The process from which the programs of the tests are forked: what they all import is imported in it, once.

It is started by `tests.support.programs` with the path of a socket, and ends when its standard input does. A client of
it, `program_stub.py`, is started in the place of the program and hands over all that a program is started with; a child
of this process becomes that program. What a child could not become truly (another encoding, a module that is hidden by
one of the caller's) it starts as a real program instead.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.metadata
import io
import marshal
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import all_suffixes
from types import ModuleType

__all__ = ("Request", "become", "is_same_start", "load", "serve")

#: What commands import inside of functions, beside our own modules.
LIBRARIES = (
    "ctypes",
    "dependency_injector.wiring",
    "email.parser",
    "email_validator",
    "encodings.utf_8_sig",
    "http.client",
    "httpcore",
    "httpx",
    "importlib.readers",
    "jsonschema_rs",
    "pydantic.networks",
    "pydantic_settings",
    "sqlite3",
    "yaml",
)
#: Not loaded: what is no part of a program.
_LEFT_OUT = ("__main__", "templates", "testing")
#: What the interpreter reads from the environment and a child cannot read again.
_READ_AT_START = ("LANG", "LC_", "PYTHON", "COVERAGE_", "COV_CORE_")
_SET_BY_CHILD = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")


@dataclass(frozen=True)
class Request:
    """All that a program is started with: the file ``script``, or, as a ``module``, `python -m agentforge`."""

    script: str
    module: bool
    words: list[str]
    folder: str
    environment: dict[bytes, bytes]
    mask: int
    streams: tuple[int, ...]

    @property
    def command(self) -> list[str]:
        """The command line of the real program."""
        return [sys.executable, *(["-m", "agentforge"] if self.module else [self.script]), *self.words]

    @property
    def first_on_path(self) -> str:
        """What the interpreter puts first on the search path."""
        return self.folder if self.module else os.path.dirname(os.path.realpath(self.script))

    @property
    def search_path(self) -> list[str]:
        """The folders that the environment puts next on the search path."""
        named = os.fsdecode(self.environment.get(b"PYTHONPATH", b""))
        return [os.path.join(self.folder, each) for each in named.split(os.pathsep)] if named else []


def load() -> None:
    """Import what programs need: all of our modules and the libraries. Nothing of it starts a thread."""
    entries = importlib.metadata.entry_points(group="agentforge_kit.plugin")
    for name in ("agentforge", *sorted({entry.module.partition(".")[0] for entry in entries})):
        _load_all(name)
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _load_all(name: str) -> None:
    package = importlib.import_module(name)
    for each in pkgutil.iter_modules(package.__path__, f"{name}."):
        if each.name.rpartition(".")[2] not in _LEFT_OUT:
            _load_all(each.name) if each.ispkg else importlib.import_module(each.name)


def serve(path: str) -> Request | None:
    """Fork a child for each client. Returns the request in a child, and nothing at the end of standard input."""
    ended, wake = socket.socketpair()
    for each in (ended, wake):
        each.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    clients: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(path)
        listener.listen(64)
        for source in (listener, ended, sys.stdin):
            selector.register(source, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    for child in clients:
                        os.kill(child, signal.SIGKILL)
                    return None
                if key.fileobj is ended:
                    ended.recv(4096)
                    _tell_the_ends(clients, selector)
                elif key.fileobj is listener:
                    client = listener.accept()[0]
                    request = _received(client)
                    if request is None:
                        client.close()
                        continue
                    child = os.fork()
                    if not child:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        for each in (ended, wake, client, *clients.values()):
                            each.close()
                        return request
                    for stream in request.streams:
                        os.close(stream)
                    clients[child] = client
                    selector.register(client, selectors.EVENT_READ, child)
                elif key.data in clients:  # the client is gone, and so has its program to
                    os.kill(key.data, signal.SIGKILL)
                    selector.unregister(key.fileobj)


def _tell_the_ends(clients: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    while clients:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with clients.pop(child) as client:
            with suppress(KeyError):
                selector.unregister(client)
            code = os.waitstatus_to_exitcode(status)
            with suppress(OSError):  # it may not have waited for it
                client.sendall(code.to_bytes(4, sys.byteorder, signed=True))


def _received(client: socket.socket) -> Request | None:
    size = 3 * 4
    head, ancillary, _, _ = client.recvmsg(4, socket.CMSG_SPACE(size))
    if len(head) < 4 or not ancillary:
        return None
    descriptors = ancillary[0][2]
    streams = tuple(int.from_bytes(descriptors[at : at + 4], sys.byteorder) for at in range(0, size, 4))
    left, parts = int.from_bytes(head, sys.byteorder), []
    while left:
        parts.append(client.recv(left))
        left -= len(parts[-1])
    script, module, words, folder, environment, mask = marshal.loads(b"".join(parts))
    return Request(script, module, words, folder, environment, mask, streams)


def is_same_start(request: Request) -> bool:
    """Whether a child can become this program: the interpreter would start the same, and find each module that is
    loaded where it was found."""
    ours, theirs = (
        {name: text for name, text in each.items() if _is_read_at_start(os.fsdecode(name))}
        for each in (os.environb, request.environment)
    )
    first = [request.folder] if request.module else []
    return ours == theirs and not any(_hides_a_module(folder) for folder in (*first, *request.search_path))


def _is_read_at_start(name: str) -> bool:
    return name.startswith(_READ_AT_START) and name not in _SET_BY_CHILD


def _hides_a_module(folder: str) -> bool:
    """Whether a folder holds a module of a name that is loaded from elsewhere."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        word, dot, suffix = name.partition(".")
        if dot and not f".{suffix}".endswith(tuple(all_suffixes())):
            continue
        if word in ("sitecustomize", "usercustomize"):
            return True
        place = getattr(sys.modules.get(word), "__file__", None)
        if place and word != "__main__" and not os.path.realpath(place).startswith(os.path.realpath(folder) + os.sep):
            return True
    return False


def become(request: Request, plain_path: list[str]) -> None:
    """Make this process the program: with its streams, environment, folder, search path and words."""
    for target, stream in enumerate(request.streams):
        os.dup2(stream, target)
    os.closerange(3, max(request.streams) + 1)
    os.umask(request.mask)
    os.chdir(request.folder)
    if not is_same_start(request):
        os.execve(sys.executable, request.command, request.environment)
    os.environ.clear()
    os.environb.update(request.environment)
    time.tzset()
    sys.dont_write_bytecode = bool(request.environment.get(b"PYTHONDONTWRITEBYTECODE"))
    path = [*map(os.path.abspath, request.search_path), *plain_path]
    sys.path[:] = [request.first_on_path, *dict.fromkeys(path)]
    importlib.invalidate_caches()
    sys.path_importer_cache.clear()
    import agentforge

    main = os.path.join(os.path.dirname(agentforge.__file__), "__main__.py") if request.module else request.script
    sys.argv[:] = [main, *request.words]
    sys.orig_argv[:] = request.command
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        opened = _stream(number, name, unbuffered=bool(request.environment.get(b"PYTHONUNBUFFERED")))
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)
    sys.modules["__main__"] = ModuleType("__main__")
    sys.modules["__main__"].__file__ = main


def _stream(number: int, name: str, *, unbuffered: bool) -> io.TextIOWrapper:
    """A standard stream as the interpreter opens it, in the encoding that it chose when it was started."""
    before, mode = getattr(sys, name), "r" if name == "stdin" else "w"
    plain = unbuffered and mode == "w"
    raw = io.FileIO(number, f"{mode}b", closefd=False)
    raw.name = f"<{name}>"
    stream = io.TextIOWrapper(
        io.BufferedReader(raw) if mode == "r" else raw if plain else io.BufferedWriter(raw),
        encoding=before.encoding,
        errors=before.errors,
        newline=None if mode == "r" else "\n",
        line_buffering=not plain and (name == "stderr" or os.isatty(number)),
        write_through=plain,
    )
    vars(stream)["mode"] = mode
    return stream


def _main() -> None:
    plain_path = sys.path[1:]
    load()
    assert threading.active_count() == 1, "a program cannot be forked from a process with threads"
    request = serve(sys.argv[1])
    if request is None:
        shutil.rmtree(os.path.dirname(sys.argv[1]))
        return
    become(request, plain_path)
    from agentforge.cli.main import run

    _end(run())


def _end(code: int) -> None:
    """End as the interpreter does, but for the modules, which it tears down one by one: that takes longer than most
    commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):  # the interpreter has something to say about that
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    # Replaced by the program's; without a name of its own it would be torn down.
    this = sys.modules["__main__"]
    _main()
