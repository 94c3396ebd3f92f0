"""A server of several protocols that is not ours (the package ``llmock``), as a process on a free loopback port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

__all__ = ("mock_provider",)


@contextmanager
def mock_provider(*options: str) -> Iterator[str]:
    """The server's address, without a path; it calls each tool that it is offered, and ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    listen = ["--host", "127.0.0.1", "--port", str(port), "--tool-mode", "auto", "--log-level", "warning"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from llmock.cli import app; app()", "serve", *listen, *options],
        env={name: value for name, value in os.environ.items() if not name.startswith("LLMOCK_")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, trust_env=False, timeout=30.0) as client:
            for _ in range(600):
                assert process.poll() is None, "the server ended before it listened"
                try:
                    client.get("/health").raise_for_status()
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
