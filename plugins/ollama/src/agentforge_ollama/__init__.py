"""Models behind Ollama's own chat API for AgentForge."""
