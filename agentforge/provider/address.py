"""Where requests go and what they carry: prepared once, so that nothing is put together per request."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.errors import ConfigurationError
from agentforge.http import is_secret_header, parse_base_url
from agentforge.masking import Secrets
from agentforge.provider.row import EndpointRow

__all__ = ("api_key_of", "base_url_of", "header_pairs")


def base_url_of(row: EndpointRow, base_url: str | None, environment: Mapping[str, str]) -> str:
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


def api_key_of(row: EndpointRow, api_key: str | None, environment: Mapping[str, str]) -> str | None:
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
            next_step=f"Set the environment variable {row.key_variable}, or give api_key."
            if row.key_variable
            else "Give api_key, or say key_variable in its row.",
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"the API key of vendor {row.name!r} holds characters that no header can carry",
            next_step="Copy the key again; look for line breaks and typographic characters.",
        )
    return key


def header_pairs(
    row: EndpointRow,
    key: str | None,
    secrets: Secrets,
    *,
    headers: Mapping[str, str] | None = None,
    own: Mapping[str, str | None] | None = None,
) -> tuple[tuple[bytes, bytes], ...]:
    """The header list; ``own`` are those of the wire. Headers of the user's win, and those that look secret are
    registered as such.

    Raises `ConfigurationError` for a header that HTTP cannot carry; its value is not shown.
    """
    made: dict[str, str] = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    if key is not None:
        bearer = row.auth == "bearer"
        made["authorization" if bearer else row.auth] = f"Bearer {key}" if bearer else key
    for name, value in {**row.headers, **(own or {})}.items():
        if value:
            made[name] = value
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
