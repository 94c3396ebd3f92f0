"""Tools that write where the protocol's messages go, say secrets, take their time, and say a lot."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys

from agentforge.plugin import SecretStr
from agentforge.tool import tool
from agentforge.tool.execution import ToolContext

print("a module that says hello")
os.write(1, b"and one that does it below Python\n")


class Noisy:
    """Closing it leaves a mark on standard error."""

    def close(self) -> None:
        """Say so."""
        print("the desk is closed", file=sys.stderr)

    @tool(effect="read")
    def shout(self, text: str) -> str:
        """Write to standard output in three ways, and answer."""
        print("print:", text)
        os.write(1, b"write\n")
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        return text.upper()

    @tool(effect="read")
    def read_stdin(self) -> str:
        """What is on standard input: nothing of the protocol."""
        return repr(os.read(0, 10))

    @tool(effect="read")
    def big(self, size: int) -> str:
        """A long text."""
        return "x" * size

    @tool
    def leak(self, context: ToolContext) -> str:
        """Say a secret, and log it."""
        key: SecretStr = context.user_data["key"]  # type: ignore[assignment]
        logging.getLogger("noisy_tools").warning("the key is %s", key.get_secret_value())
        return f"the key is {key.get_secret_value()}"

    @tool
    async def wait(self) -> str:
        """Never end by itself."""
        print("waiting", file=sys.stderr, flush=True)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            print("cancelled", file=sys.stderr, flush=True)
            raise
        return "late"
