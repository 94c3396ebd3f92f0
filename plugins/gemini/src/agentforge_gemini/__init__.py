"""Models behind the generateContent API for AgentForge: Google Gemini, and the models of Vertex AI."""
