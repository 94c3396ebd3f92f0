"""A streamed answer, bytes in and events out, in one pass.

Items are known by their ``output_index``, or by their id where a server gives no number. What an event says of an item
is shown; what the item is, the event ``output_item.done`` says, and the last response object over that; what neither
says is made of the pieces. Events of other kinds are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of
from agentforge.masking import Secrets
from agentforge.model import ChatEvent, ResponseDone, UsageEvent
from agentforge.provider import MAX_BODY_BYTES, EventStreamDecoder, dump_arguments, joined_text, load
from agentforge_openai.responses.errors import error_of, holds_error
from agentforge_openai.responses.items import is_item
from agentforge_openai.responses.reply import Reply, ResponsesAnswering
from agentforge_openai.responses.showing import Showing
from agentforge_openai.wire.response import read_mended

__all__ = ("ResponsesDecoder",)

_NO_HEADERS: Mapping[str, str] = {}
_ADDED = "response.output_item.added"


class ResponsesDecoder(EventStreamDecoder):
    """Decodes one stream: `feed` for each piece of the body, `finish` at its end.

    Raises the error that an event carries, `ProtocolError` for an event that is not JSON (with its number), for a body
    that is no event stream and past ``max_bytes`` (64 MiB), `StreamTruncatedError` when the body ends before the
    response did.
    """

    def __init__(
        self,
        answering: ResponsesAnswering,
        *,
        status: int = 200,
        headers: Mapping[str, str] = _NO_HEADERS,
        secrets: Secrets | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        super().__init__(status=status, headers=headers, secrets=secrets, max_bytes=max_bytes)
        self._reply = Reply(answering)
        self._showing = Showing(self._reply)
        self._is_ours = False
        # Of servers that do not number their items: the places that they have by their ids, and the last one.
        self._places: dict[str, int] = {}
        self._last = -1

    @property
    def partial_text(self) -> str:
        """The text so far."""
        return joined_text(self._showing.texts)

    def _close(self, events: list[ChatEvent]) -> None:
        if not self._ended:
            if self._number and not self._is_ours:
                raise ProtocolError(
                    "the stream ended without any event of a response",
                    request_id=request_id_of(self._headers),
                    next_step="Check that base_url points at a Responses API; for Chat Completions use openai.chat.",
                )
            raise self._early_end("the stream ended before the response did")
        events += self._showing.rest()
        events.append(ResponseDone(self._reply.response()))

    def _take(self, data: bytes, kind: str | None, events: list[ChatEvent]) -> None:
        kind = kind or ""
        if self._ended or not (kind.startswith("response.") or kind in ("", "message", "error")):
            return
        if data[:1] != b"{" and (not data or data.isspace() or data.strip() == b"[DONE]"):
            return
        try:
            event = load(data.decode())
        except (ValueError, RecursionError):
            event, mended = read_mended(data)
            self._reply.mended = self._reply.mended or mended
        if not isinstance(event, dict):
            if kind == "error":
                event = {"message": data.decode("utf-8", "replace")}
            else:
                raise self._no_object()
        said = event.get("type")
        if not isinstance(said, str):
            said = "error" if holds_error(event) else kind
        elif said not in _HANDLERS and (kind == "error" or (not said.startswith("response.") and holds_error(event))):
            said = "error"
        self._is_ours = self._is_ours or said.startswith("response.")
        handler = _HANDLERS.get(said)
        if handler is not None:
            handler(self, event, events)

    # -- events ----------------------------------------------------------------------------------

    def _on_error(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        raise error_of(event, headers=self._headers, secrets=self._secrets, partial_text=self.partial_text)

    def _on_failed(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        self._on_error(_inner(event), events)

    def _on_response(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        self._reply.add_body(_inner(event))

    def _on_end(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        response = _inner(event)
        if response.get("error"):
            self._on_error(response, events)
        self._ended = True
        if "status" not in response:
            response = {**response, "status": str(event["type"]).removeprefix("response.")}
        self._reply.add_body(response)
        if self._reply.usage is not None:
            events.append(UsageEvent(self._reply.token_usage))
        for at, item in self._showing.missing(is_whole=response.get("status") == "completed").items():
            self._reply.items[at] = item
        self._reply.add_output()
        items = self._reply.items
        for at, item in items.items():
            items[at] = self._showing.filled(at, item)

    def _on_added(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        item = event.get("item")
        if is_item(item):
            events += self._showing.begun(self._place(event, item), item)

    def _on_done(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        item = event.get("item")
        if not is_item(item):
            return
        at = self._place(event, item)
        self._reply.items[at] = item = self._showing.filled(at, item)
        events += self._showing.done(at, item)

    def _on_text(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        events += self._showing.text(self._place(event), "text", event.get("content_index"), event.get("delta"))

    def _on_text_done(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        events += self._showing.text_done(self._place(event), "text", event.get("content_index"), event.get("text"))

    def _on_refusal(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        events += self._showing.text(self._place(event), "refusal", event.get("content_index"), event.get("delta"))

    def _on_refusal_done(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        place, part = self._place(event), event.get("content_index")
        events += self._showing.text_done(place, "refusal", part, event.get("refusal"))

    def _on_summary(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        events += self._showing.thinking(self._place(event), "summary", event.get("summary_index"), event.get("delta"))

    def _on_reasoning(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        events += self._showing.thinking(self._place(event), "content", event.get("content_index"), event.get("delta"))

    def _on_arguments(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        delta = event.get("delta")
        if isinstance(delta, str) and delta:
            events += self._showing.arguments(self._place(event), delta)

    def _on_arguments_done(self, event: dict[str, Any], events: list[ChatEvent]) -> None:
        text = event.get("arguments", event.get("input"))
        if text is not None and not isinstance(text, str):
            text = dump_arguments(text)
        self._showing.arguments_done(self._place(event), text)

    def _place(self, event: Mapping[str, Any], item: Mapping[str, Any] | None = None) -> int:
        """The place of an event's item: by its number, else by its id, else that of the last one. ``item`` is given
        where the event holds it, which without number and id is a further one."""
        at = event.get("output_index")
        if type(at) is int:
            if at > self._last:
                self._last = at
            if item is not None and isinstance(identity := item.get("id"), str):
                self._places.setdefault(identity, at)  # for events that give the id alone
            return at
        identity = event.get("item_id") if item is None else item.get("id")
        if isinstance(identity, str) and identity:
            known = self._places.get(identity)
            if known is None:
                self._last += 1
                known = self._places[identity] = self._last
            return known
        if self._last < 0 or (item is not None and (event.get("type") == _ADDED or self._last in self._reply.items)):
            self._last += 1
        return self._last


def _inner(event: Mapping[str, Any]) -> dict[str, Any]:
    response = event.get("response")
    return response if isinstance(response, dict) else {}


_HANDLERS: Mapping[str, Callable[[ResponsesDecoder, dict[str, Any], list[ChatEvent]], None]] = {
    "error": ResponsesDecoder._on_error,
    "response.created": ResponsesDecoder._on_response,
    "response.queued": ResponsesDecoder._on_response,
    "response.in_progress": ResponsesDecoder._on_response,
    "response.completed": ResponsesDecoder._on_end,
    "response.incomplete": ResponsesDecoder._on_end,
    "response.cancelled": ResponsesDecoder._on_end,
    "response.failed": ResponsesDecoder._on_failed,
    _ADDED: ResponsesDecoder._on_added,
    "response.output_item.done": ResponsesDecoder._on_done,
    "response.output_text.delta": ResponsesDecoder._on_text,
    "response.output_text.done": ResponsesDecoder._on_text_done,
    "response.refusal.delta": ResponsesDecoder._on_refusal,
    "response.refusal.done": ResponsesDecoder._on_refusal_done,
    "response.reasoning_summary_text.delta": ResponsesDecoder._on_summary,
    "response.reasoning_text.delta": ResponsesDecoder._on_reasoning,
    "response.function_call_arguments.delta": ResponsesDecoder._on_arguments,
    "response.function_call_arguments.done": ResponsesDecoder._on_arguments_done,
    "response.custom_tool_call_input.delta": ResponsesDecoder._on_arguments,
    "response.custom_tool_call_input.done": ResponsesDecoder._on_arguments_done,
}
