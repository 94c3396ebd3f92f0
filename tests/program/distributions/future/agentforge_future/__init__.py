"""A plugin for another version of the hooks."""

AGENTFORGE_API = (2, 0)
