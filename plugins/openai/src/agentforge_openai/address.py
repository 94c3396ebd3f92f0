"""Where requests go: the paths of this form, and Azure's."""

from __future__ import annotations

from urllib.parse import quote

from agentforge_openai.profile import VendorRow

__all__ = ("completions_url", "embeddings_url", "responses_url")


def completions_url(row: VendorRow, base_url: str, model: str, api_version: str | None) -> str:
    """The whole address of a request.

    >>> completions_url(VendorRow(name="house"), "https://llm.example/v1", "m", None)
    'https://llm.example/v1/chat/completions'
    """
    if row.path == "plain":
        query = f"?api-version={quote(api_version)}" if api_version else ""
        return f"{base_url}/chat/completions{query}"
    if api_version is None:
        base = base_url if base_url.endswith("/v1") else f"{base_url.removesuffix('/openai')}/openai/v1"
        return f"{base}/chat/completions"
    base = base_url
    if "/openai/deployments/" not in base_url:
        base = f"{base_url.removesuffix('/openai')}/openai/deployments/{quote(model, safe='')}"
    return f"{base}/chat/completions?api-version={quote(api_version)}"


def embeddings_url(row: VendorRow, base_url: str, model: str, api_version: str | None) -> str:
    """The address of a request for vectors, beside that of a completion.

    >>> embeddings_url(VendorRow(name="house"), "https://llm.example/v1", "m", None)
    'https://llm.example/v1/embeddings'
    """
    before, _, after = completions_url(row, base_url, model, api_version).rpartition("/chat/completions")
    return f"{before}/embeddings{after}"


def responses_url(row: VendorRow, base_url: str, api_version: str | None) -> str:
    """The address of a Responses request. Azure names the deployment in the body only, in both of its forms.

    >>> responses_url(VendorRow(name="house", path="azure"), "https://desk.example", "2025-04-01-preview")
    'https://desk.example/openai/responses?api-version=2025-04-01-preview'
    """
    query = f"?api-version={quote(api_version)}" if api_version else ""
    if row.path == "plain":
        return f"{base_url}/responses{query}"
    host = base_url.partition("/openai/")[0].removesuffix("/openai")
    return f"{host}/openai/responses{query}" if query else f"{host}/openai/v1/responses"
