"""The model behind `openai.chat`: the Chat Completions wire over the HTTP seam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ModelError
from agentforge.http import HttpTimeouts, HttpTransport, RetryPolicy
from agentforge.model import ChatRequestParameters, ChatResponse, Notice
from agentforge.provider import Head, WireModel
from agentforge_openai.address import completions_url
from agentforge_openai.profile import VendorRow
from agentforge_openai.vendors import CHAT_VENDORS
from agentforge_openai.wire.chat_wire import ChatWire
from agentforge_openai.wire.errors import parse_error
from agentforge_openai.wire.reply import ChatAnswering
from agentforge_openai.wire.response import decode_response
from agentforge_openai.wire.stream import StreamDecoder

if TYPE_CHECKING:
    import httpx

__all__ = ("OpenAiChatModel",)


class OpenAiChatModel(WireModel[ChatAnswering]):
    """A model behind a Chat Completions endpoint.

    ``vendor`` is the name of a row or a `VendorRow`; unset, it is ``generic`` when ``base_url`` is given, else
    ``openai``. ``api_key`` defaults to the row's environment variable. ``timeouts`` takes a number of seconds for the
    whole exchange. ``defaults`` are merged below each request's parameters. ``tool_mode="json_schema"`` describes the
    tools in the prompt instead of sending them. ``names`` is ``alias`` (tools whose names the vendor refuses go under
    others) or ``error``; unset, the row decides. ``profile_overrides`` changes fields of the `ModelProfile` where the
    row does not hold for this model. ``http_client`` is an ``httpx.AsyncClient`` of your own; it is not closed here.
    ``retry`` sets more of the policy than ``max_retries``. ``max_connections`` (100) bounds what the transport holds,
    ``max_body_bytes`` (64 MiB) an answer, plain or streamed; beside a transport of your own it bounds streams only.
    ``environment`` is where the row's variables are looked up, by default the process's. A model may be used from
    several threads.

    Raises `ConfigurationError` for settings that cannot be honoured; a ``ca_bundle`` is read with the first request.

    >>> OpenAiChatModel(model="m", base_url="http://localhost:8000/v1")
    OpenAiChatModel(vendor='generic', model='m', base_url='http://localhost:8000/v1')
    """

    VENDORS = CHAT_VENDORS

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        vendor: str | VendorRow | None = None,
        defaults: ChatRequestParameters | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: HttpTimeouts | float | None = None,
        max_retries: int = 2,
        retry: RetryPolicy | None = None,
        max_connections: int | None = None,
        max_body_bytes: int | None = None,
        proxy: str | None = None,
        ca_bundle: str | None = None,
        verify: bool | str = True,
        transport: str | HttpTransport | Callable[[], HttpTransport] = "httpx",
        http_client: httpx.AsyncClient | None = None,
        organization: str | None = None,
        project: str | None = None,
        api_version: str | None = None,
        tool_mode: Literal["native", "json_schema"] | None = None,
        names: Literal["alias", "error"] | None = None,
        profile_overrides: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._api_version = api_version
        super().__init__(
            wire=ChatWire(),
            model=model,
            api_key=api_key,
            base_url=base_url,
            vendor=vendor,
            defaults=defaults,
            headers=headers,
            own_headers={"openai-organization": organization, "openai-project": project},
            timeouts=timeouts,
            max_retries=max_retries,
            retry=retry,
            transport=transport,
            verify=verify,
            environment=environment,
            client=http_client,
            proxy=proxy,
            ca_bundle=ca_bundle,
            max_connections=max_connections,
            max_body_bytes=max_body_bytes,
            tool_mode=tool_mode,
            names=names,
            profile_overrides=profile_overrides,
        )

    def _error(self, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        return parse_error(status, headers, content, secrets=self.secrets)

    def _url(self, base_url: str, model: str, *, stream: bool) -> str:
        return completions_url(self._row, base_url, model, self._api_version)

    def _answering(self, head: Head[Any], notices: tuple[Notice, ...]) -> ChatAnswering:
        return ChatAnswering(
            provider=head.shape.provider,
            aliases=head.tools.aliases,
            notices=notices,
            reasoning_only_in_total=self._row.reasoning_only_in_total,
            splits_names=self._row.splits_names,
            unfinished_calls_allowed=self._row.unfinished_calls_allowed,
        )

    def _decode(self, content: bytes, answering: ChatAnswering, headers: Mapping[str, str]) -> ChatResponse:
        return decode_response(content, answering, headers=headers, secrets=self.secrets)

    def _decoder(self, answering: ChatAnswering, status: int, headers: Mapping[str, str]) -> StreamDecoder:
        return StreamDecoder(
            answering, status=status, headers=headers, secrets=self.secrets, max_bytes=self._max_body_bytes
        )
