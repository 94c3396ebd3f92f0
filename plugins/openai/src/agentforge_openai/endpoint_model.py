"""What every model behind an endpoint of this plugin is: an address, a key, headers, and one HTTP client."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Self

from agentforge.errors import ConfigurationError
from agentforge.http import HttpClient, HttpTimeouts, HttpTransport, RetryPolicy
from agentforge.masking import Secrets
from agentforge_openai.address import api_key_of, base_url_of, header_pairs
from agentforge_openai.profile import VendorRow
from agentforge_openai.transporting import timeouts_of, transport_options
from agentforge_openai.vendors import vendor_row
from agentforge_openai.wire.errors import parse_error

__all__ = ("EndpointModel",)


class EndpointModel:
    """The settings are those of `OpenAiChatModel`; ``connections`` are those of the transport that is made by name.

    Raises `ConfigurationError` for settings that cannot be honoured.
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None,
        base_url: str | None,
        vendor: str | VendorRow | None,
        headers: Mapping[str, str] | None,
        timeouts: HttpTimeouts | float | None,
        max_retries: int,
        retry: RetryPolicy | None,
        transport: str | HttpTransport | Callable[[], HttpTransport],
        verify: bool | str,
        organization: str | None,
        project: str | None,
        environment: Mapping[str, str] | None,
        **connections: object,
    ) -> None:
        if not model:
            raise ConfigurationError("model is empty", next_step="Give the model's name, or the deployment's on Azure.")
        if retry is not None and not isinstance(retry, RetryPolicy):
            raise ConfigurationError(
                f"retry must be a RetryPolicy, not {type(retry).__name__}",
                next_step="Give RetryPolicy(...), or only max_retries.",
            )
        if not isinstance(max_retries, int) or max_retries < 0:
            raise ConfigurationError(
                f"max_retries must be a whole number from 0, not {max_retries!r}",
                next_step="Give 0 for no retries; the default is 2.",
            )
        environment = os.environ if environment is None else environment
        self._row = vendor_row(vendor if vendor is not None else "generic" if base_url else "openai")
        self._model = model
        self._base_url = base_url_of(self._row, base_url, environment)
        key = api_key_of(self._row, api_key, environment)
        #: What must not leave this model in any text.
        self.secrets = Secrets([key] if key else [])
        self._headers = header_pairs(
            self._row, key, self.secrets, headers=headers, organization=organization, project=project
        )
        self._timeouts = timeouts_of(timeouts)
        self._http = HttpClient(
            transport=transport,
            transport_options=transport_options(transport, verify=None if verify is True else verify, **connections),
            retry=retry if retry is not None else RetryPolicy(max_retries=max_retries),
            secrets=self.secrets,
            error_parser=partial(parse_error, secrets=self.secrets),
        )

    @property
    def base_url(self) -> str:
        """The address of the endpoint that it asks."""
        return self._base_url

    @property
    def model_name(self) -> str:
        """The model that is asked, unless a request names another."""
        return self._model

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}(vendor={self._row.name!r}, model={self._model!r}, base_url={self._base_url!r})"
