"""The address in ``OLLAMA_HOST``, read as Ollama's own programs read it: most of it may be left out.

Servers take the same variable for where they listen, so it often holds an address that no client can connect to.
"""

from __future__ import annotations

import ipaddress

__all__ = ("address_of",)

_PORT = 11434
_CLOUD = "ollama.com"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


def address_of(host: str) -> str:
    """The address that ``host`` stands for. A scheme brings its own port, without one it is 11434; a name that stands
    for all addresses of a machine becomes that of the machine itself.

    >>> address_of("gpu-box"), address_of(":8080"), address_of("https://gpu-box/models/")
    ('http://gpu-box:11434', 'http://127.0.0.1:8080', 'https://gpu-box/models')
    """
    text = host.strip().strip("\"'")
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = ("https" if text == _CLOUD else "http"), text
    place, _, path = rest.partition("/")
    name, port = _parted(place)
    name = _EVERYWHERE.get(name, name) or "127.0.0.1"
    if not port and not found and text != _CLOUD:
        port = str(_PORT)
    path = path.strip("/")
    return f"{scheme}://{name}{f':{port}' if port else ''}{f'/{path}' if path else ''}"


def _parted(place: str) -> tuple[str, str]:
    """Host and port; an IPv6 address may stand without brackets where it has no port."""
    try:
        return f"[{ipaddress.IPv6Address(place.strip('[]'))}]", ""
    except ValueError:
        name, _, port = place.rpartition(":")
    return (name, port) if name or place.startswith(":") else (place, "")
