"""Models behind DashScope's own generation API for AgentForge: Qwen."""
