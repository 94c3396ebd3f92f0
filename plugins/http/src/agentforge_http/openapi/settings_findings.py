"""What is wrong between the settings of ``http.openapi``, whatever the description says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError
from agentforge.plugin import Finding
from agentforge_http.openapi.description import METHODS
from agentforge_http.openapi.documents import is_url, url_fault
from agentforge_http.picking import pick_of
from agentforge_http.settings_findings import (
    address_findings,
    header_findings,
    http_findings,
    near_miss,
    place_of,
)

if TYPE_CHECKING:
    from agentforge_http.openapi.settings import OpenApiSettings

__all__ = ("openapi_findings",)


def openapi_findings(settings: OpenApiSettings) -> Iterator[Finding]:
    """Addresses, methods, names and expressions that cannot be."""
    yield from http_findings(settings)
    yield from header_findings("spec_headers", settings.spec_headers)
    if not settings.spec.strip():
        yield Finding("spec is empty", "spec", "Give a file or an http or https address.")
    elif not is_url(settings.spec):
        if not settings.required:
            message = "required: false is for a description at an address; one in a file is there or is a mistake"
            yield Finding(message, "required", "Leave it out.")
    elif (fault := url_fault(settings.spec)) is not None:
        yield Finding(f"the address of spec {fault}", "spec", "Credentials go into spec_headers.")
    if settings.base_url is not None:
        yield from address_findings("base_url", settings.base_url)
    for number, method in enumerate(settings.methods):
        if method.lower() not in METHODS:
            near = near_miss(method, METHODS)
            step = f"Did you mean {near.upper()}?" if near else f"Give {', '.join(METHODS).upper()}."
            yield Finding(f"methods has {method!r}, which is none", f"methods.{number}", step)
    for name, new in settings.rename.items():
        if not new:
            message = f"the new name of {name!r} in rename must not be empty"
            yield Finding(message, place_of("rename", name), "Give a name, or leave it out.")
    for name in settings.auth_by_scheme:
        if name in settings.tokens_by_scheme:
            message = f"auth_by_scheme and tokens_by_scheme both give {name!r}"
            yield Finding(message, place_of("tokens_by_scheme", name), "Leave out one of the two.")
    for pattern, expression in settings.pick.items():
        try:
            pick_of(expression)
        except ConfigurationError as error:
            yield Finding(error.message, place_of("pick", pattern), error.next_step)
