"""``python -m agentforge`` is the program ``agentforge``."""

import sys

from agentforge.cli.main import run

__all__ = ()

if __name__ == "__main__":
    sys.exit(run())
