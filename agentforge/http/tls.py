"""One way to trust servers for every transport: the same certificates and the same switch, whichever library is below.

Built when the first HTTPS address is asked for, never for plain HTTP: loading the certificates costs more than a
whole request.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl

__all__ = ("TlsSettings",)


class TlsSettings:
    """What to verify servers against.

    ``verify`` is ``True`` (the default certificates; with ``trust_env`` the file or folder that ``SSL_CERT_FILE`` or
    ``SSL_CERT_DIR`` names), a file or folder, a context of your own, or ``False``: no verification, which is logged.
    ``ca_bundle`` is the same as a file or folder in ``verify``. Raises `ConfigurationError` for contradicting settings
    and for files that do not exist.
    """

    __slots__ = ("_context", "_none", "_place", "_trust_env", "_verify")

    def __init__(self, verify: bool | str | ssl.SSLContext, ca_bundle: str | None, trust_env: bool) -> None:
        if ca_bundle is not None and verify is not True:
            raise ConfigurationError(
                "both 'verify' and 'ca_bundle' are set", next_step="Leave 'verify' out when 'ca_bundle' is given."
            )
        place = ca_bundle if ca_bundle is not None else verify if isinstance(verify, str) else None
        if place is not None and not os.path.exists(place):
            raise ConfigurationError(
                f"the certificate bundle {place!r} does not exist", next_step="Give the path of a PEM file or folder."
            )
        self._verify = verify
        self._place = place
        self._trust_env = trust_env
        self._context: ssl.SSLContext | None = None
        self._none: ssl.SSLContext | None = None
        if verify is False:
            logging.getLogger("agentforge.http").warning(
                "TLS certificates are not verified (verify=False): anyone on the way can read and change the traffic"
            )

    def context(self) -> ssl.SSLContext:
        """The context, made at the first call and shared from then on."""
        if self._context is None:
            self._context = self._build()
        return self._context

    def none(self) -> ssl.SSLContext:
        """A context without certificates, which trusts nobody: it fills the place where TLS is not spoken."""
        if self._none is None:
            import ssl

            self._none = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self._none

    def _build(self) -> ssl.SSLContext:
        import ssl

        if isinstance(self._verify, ssl.SSLContext):
            return self._verify
        if self._verify is False:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        file, folder = self._where()
        try:
            return ssl.create_default_context(cafile=file, capath=folder)
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(
                f"the certificate bundle {file or folder!r} cannot be read: {error}",
                next_step="Give the path of a PEM file, or of a folder prepared for OpenSSL.",
            ) from error

    def _where(self) -> tuple[str | None, str | None]:
        """The file and the folder of the certificates."""
        if self._place is not None:
            return (None, self._place) if os.path.isdir(self._place) else (self._place, None)
        if self._trust_env:
            if file := os.environ.get("SSL_CERT_FILE"):
                return file, None
            if folder := os.environ.get("SSL_CERT_DIR"):
                return None, folder
        import certifi

        return certifi.where(), None
