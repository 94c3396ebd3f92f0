"""Where requests go and what they carry: prepared once, so that nothing is put together per request."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from agentforge.errors import ConfigurationError
from agentforge.http import is_secret_header, parse_base_url
from agentforge.masking import Secrets
from agentforge_openai.profile import VendorRow

__all__ = ("api_key_of", "base_url_of", "completions_url", "embeddings_url", "header_pairs")


def base_url_of(row: VendorRow, base_url: str | None, environment: Mapping[str, str]) -> str:
    """The given base, else the row's environment variable, else the row's own, without a slash at the end.

    Raises `ConfigurationError` when there is none, and for anything but a plain http(s) address: a query or a
    fragment is refused, and so are credentials in it.
    """
    from_environment = environment.get(row.base_url_variable) if row.base_url_variable else None
    base = base_url or from_environment or row.base_url
    if not base:
        variable = f", or set {row.base_url_variable}" if row.base_url_variable else ""
        raise ConfigurationError(
            f"vendor {row.name!r} has no address of its own", next_step=f"Give base_url{variable}."
        )
    origin = "base_url" if base_url or not from_environment else f"{row.base_url_variable} in the environment"
    return parse_base_url(base, origin)


def api_key_of(row: VendorRow, api_key: str | None, environment: Mapping[str, str]) -> str | None:
    """The given key, else the one in the row's environment variable.

    Raises `ConfigurationError` naming the variable when a key is needed and missing, or is no header text.
    """
    key = api_key if api_key is not None else environment.get(row.key_variable or "")
    key = (key or "").strip()
    if not key:
        if not row.key_required:
            return None
        raise ConfigurationError(
            f"vendor {row.name!r} needs an API key and none was given",
            next_step=f"Set the environment variable {row.key_variable}, or give api_key.",
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"the API key of vendor {row.name!r} holds characters that no header can carry",
            next_step="Copy the key again; look for line breaks and typographic characters.",
        )
    return key


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


def header_pairs(
    row: VendorRow,
    key: str | None,
    secrets: Secrets,
    *,
    headers: Mapping[str, str] | None = None,
    organization: str | None = None,
    project: str | None = None,
) -> tuple[tuple[bytes, bytes], ...]:
    """The header list; headers of the user's own win, and those that look secret are registered as such.

    Raises `ConfigurationError` for a header that HTTP cannot carry; its value is not shown.
    """
    made: dict[str, str] = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    if key is not None:
        made["api-key" if row.auth == "api-key" else "authorization"] = (
            key if row.auth == "api-key" else f"Bearer {key}"
        )
    if organization:
        made["openai-organization"] = organization
    if project:
        made["openai-project"] = project
    for name, value in (headers or {}).items():
        made[name.lower()] = value
        if is_secret_header(name):
            secrets.add(value)
            secrets.add(value.rpartition(" ")[2])
    for name, value in made.items():
        if not (name.isascii() and value.isascii()) or any(ord(sign) < 32 for sign in name + value):
            raise ConfigurationError(
                f"the header {name!r} holds characters that HTTP cannot carry",
                next_step="Look for line breaks and for characters beyond ASCII in its name and value.",
            )
    return tuple((name.encode("ascii"), value.encode("ascii")) for name, value in made.items())
