"""A client for the conformance suite: `McpTools` over the address it is given, and all that the server there offers.

    python conformance_client.py URL

Scenarios of OAuth with a person at a browser, and of extensions, are not for it. The suite starts
a program a scenario, and loading the SDK takes longer than most of them: where ``CONFORMANCE_PORT`` says where, the
service of `conformance_work.py` does the work for all.
"""

from __future__ import annotations

import json
import os
import socket
import sys


def main(url: str) -> int:
    """The exit code; what is to be said of the scenario goes to standard error."""
    context = os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"
    port = os.environ.get("CONFORMANCE_PORT")
    if port is None:
        import asyncio

        from conformance_work import done  # type: ignore[import-not-found]

        code, said = asyncio.run(done(url, context))
    else:
        with socket.create_connection(("127.0.0.1", int(port))) as resident:
            resident.sendall(json.dumps({"url": url, "context": context}).encode() + b"\n")
            answer = json.loads(resident.makefile().read())
        code, said = answer["code"], answer["said"]
    print(said, file=sys.stderr)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
