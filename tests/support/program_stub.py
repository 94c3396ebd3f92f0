"""Stands in the place of the program `agentforge`: hands all that it was started with to `fork_server.py`, and ends as
the program there ends.

Started as ``python -I -S -E program_stub.py SOCKET SCRIPT FORM WORDS`` (`tests.support.programs` puts the first three
into a copy of this file) it takes hundredths of a second, so it imports nothing but what is part of the interpreter.
"""

import _socket  # the public module imports several others
import marshal
import os
import sys

__all__ = ()


def _main() -> int:
    address, script, form, *words = sys.argv[1:]
    mask = os.umask(0)
    os.umask(mask)
    try:
        for stream in range(3):
            os.fstat(stream)
        folder = os.getcwd()
    except OSError:  # a stream is closed, or the folder is gone: nothing that can be handed over
        real = ["-m", "agentforge"] if form == "module" else [script]
        os.execv(sys.executable, [sys.executable, *real, *words])
    started_with = marshal.dumps((script, form == "module", words, folder, dict(os.environb), mask))
    server = _socket.socket(_socket.AF_UNIX)
    server.connect(address)
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in range(3))
    head = len(started_with).to_bytes(4, sys.byteorder)
    server.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    server.sendall(started_with)
    told = server.recv(4)
    if len(told) < 4:
        sys.exit("the process from which programs are forked is gone")
    code = int.from_bytes(told, sys.byteorder, signed=True)
    if code < 0:  # ended by a signal
        import signal

        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    # There is nothing to clean up, which takes as long as all the rest.
    os._exit(_main())
