"""A model that runs inside the process: no key, no network, no server to start."""

from agentforge_local.model import LocalLlamaModel
from agentforge_local.weights import SMOLLM2

__all__ = ("SMOLLM2", "LocalLlamaModel")
