"""The program ``agentforge``: one module for each command, `main` for the words of the command line and its end.

It is a user of the framework like any other; nothing of it is needed to use AgentForge in Python.
"""

__all__ = ()
