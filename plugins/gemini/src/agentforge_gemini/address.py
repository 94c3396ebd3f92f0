"""Where a model stands: the address of an endpoint, of a project at Vertex AI, and of one model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from agentforge.errors import ConfigurationError

__all__ = ("check_model", "is_vertex", "model_url", "project_url")

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_VERSION = re.compile(r"/v\d+[a-z0-9]*(?:/|$)")
_HOST = re.compile(r"(?:([a-z0-9-]+)-)?aiplatform(?:\.([a-z0-9-]+)\.rep)?\.googleapis\.com")
#: Where resources stand below a project; anything else before a slash is a publisher.
_COLLECTIONS = ("endpoints", "models", "tunedModels")
#: Locations of several regions have hosts of another form.
_SEVERAL = ("us", "eu")


def is_vertex(base_url: str | None) -> bool:
    """Whether an address is one of Vertex AI.

    >>> is_vertex("https://europe-west4-aiplatform.googleapis.com/v1"), is_vertex("https://llm.example")
    (True, False)
    """
    return _vertex_host(base_url) is not None


def check_model(model: str) -> None:
    """Raise `ConfigurationError` for a name that would lead out of its place in an address."""
    if "/" in model and not {"", ".", ".."}.isdisjoint(model.split("/")):
        raise ConfigurationError(
            f"model {model!r} is no part of an address",
            next_step="Give its name, such as gemini-3.5-flash, or a whole resource, such as tunedModels/mine.",
        )


def project_url(
    project: str | None, location: str | None, version: str, environment: Mapping[str, str], base_url: str | None = None
) -> str | None:
    """The address of a project at Vertex AI; ``None`` where no project is known. What is not given is read from
    ``GOOGLE_CLOUD_PROJECT`` and ``GOOGLE_CLOUD_LOCATION``; ``base_url`` stands in the place of the host, and may name
    the location.

    Raises `ConfigurationError` for a name that no address can hold.

    >>> project_url("shop", "europe-west4", "v1", {})
    'https://europe-west4-aiplatform.googleapis.com/v1/projects/shop/locations/europe-west4'
    """
    project = project or environment.get("GOOGLE_CLOUD_PROJECT") or None
    host = _vertex_host(base_url)
    location = location or (host and (host[1] or host[2])) or environment.get("GOOGLE_CLOUD_LOCATION") or "global"
    if project is None:
        return None
    for name, value in (("project", project), ("location", location)):
        if not _PART.fullmatch(value):
            raise ConfigurationError(
                f"{name} {value!r} is no part of an address",
                next_step="Give its id, such as shop or us-central1.",
            )
    if base_url is None:
        base_url = f"https://{_host(location)}"
    return f"{_versioned(base_url, version)}/projects/{project}/locations/{location}"


def model_url(base_url: str, version: str, resource: str, model: str, *, stream: bool) -> str:
    """The address of a request. A name with a slash in it is a resource of its own (``tunedModels/…``), or that of a
    publisher's model (``acme/m``) where models have publishers.

    >>> model_url("https://llm.example", "v1beta", "models/{model}", "m", stream=True)
    'https://llm.example/v1beta/models/m:streamGenerateContent?alt=sse'
    """
    base = _versioned(base_url, version)
    if model.startswith("projects/"):
        base, resource = base.partition("/projects/")[0], "{model}"
    elif "/" in model:
        publisher, _, name = model.partition("/")
        if resource.startswith("publishers/") and "/" not in name and publisher not in _COLLECTIONS:
            model = f"publishers/{publisher}/models/{name}"
        resource = "{model}"
    path = resource.replace("{model}", quote(model, safe="/@:-._~"))
    return f"{base}/{path}:streamGenerateContent?alt=sse" if stream else f"{base}/{path}:generateContent"


def _vertex_host(base_url: str | None) -> re.Match[str] | None:
    try:
        host = urlsplit(base_url or "").hostname or ""
    except ValueError:
        return None  # refused where it is used
    return _HOST.fullmatch(host)


def _host(location: str) -> str:
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in _SEVERAL:
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-aiplatform.googleapis.com"


def _versioned(base_url: str, version: str) -> str:
    """The address with the version of the API, where it names none."""
    base = base_url.rstrip("/")
    return base if _VERSION.search(urlsplit(base).path) else f"{base}/{version}"
