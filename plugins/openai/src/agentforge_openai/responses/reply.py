"""What both decoders fill and one method turns into a `ChatResponse`, so that plain and streamed replies are equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatResponse,
    Citation,
    Content,
    Notice,
    ProviderState,
    TextContent,
    TokenUsage,
    ToolExecutionRequest,
)
from agentforge.provider import MENDED, Answering
from agentforge_openai.responses.finish import finish_of
from agentforge_openai.responses.items import (
    CALLS,
    arguments_of,
    call_state,
    is_item,
    may_wrap,
    message_parts,
    opaque,
    reasoning_part,
    wrapped,
)
from agentforge_openai.responses.usage import decode_usage
from agentforge_openai.wire.citations import Sources

__all__ = ("Reply", "ResponsesAnswering")

# Items that ask the caller to do something, for which we have no form.
_FOR_THE_CALLER = frozenset(
    {"computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request"}
)


@dataclass(frozen=True, slots=True)
class ResponsesAnswering(Answering):
    """``stores``: whether the server keeps the response where it does not say; ``offered``: the tools as sent."""

    stores: bool = False
    offered: bytes = b""


class Reply:
    """One reply while it is read: what the body says of itself, and the output items by their place."""

    __slots__ = ("_answering", "_ids", "_seen", "body", "id", "items", "mended", "model", "usage")

    def __init__(self, answering: ResponsesAnswering) -> None:
        self._answering = answering
        self._ids: dict[tuple[int, int], tuple[str, bool]] = {}
        self._seen: set[str] = set()
        self.items: dict[int, dict[str, Any]] = {}
        self.body: Mapping[str, Any] = {}
        self.id: str | None = None
        self.model: str | None = None
        self.usage: Mapping[str, object] | None = None
        self.mended = False

    def add_body(self, body: Mapping[str, Any]) -> None:
        """Take a response object, whole or as far as it goes; the last one counts."""
        self.body = body
        self.id = _word(body.get("id")) or self.id
        self.model = _word(body.get("model")) or self.model
        usage = body.get("usage")
        if isinstance(usage, dict) and usage:
            self.usage = usage

    def add_output(self) -> None:
        """Take the items of the body, which win over those that came alone; but reasoning that is encrypted is good
        as it came first, and is encrypted anew in each copy."""
        output = self.body.get("output")
        if not isinstance(output, list) or not output:
            return
        known = self.items
        self.items = {at: item for at, item in enumerate(output) if is_item(item)}
        for at, item in self.items.items():
            before = known.get(at)
            if (
                before is not None
                and item.get("type") == "reasoning"
                and before.get("id") == item.get("id")
                and before.get("encrypted_content")
            ):
                self.items[at] = before

    @property
    def token_usage(self) -> TokenUsage:
        """The tokens as far as reported."""
        return decode_usage(self.usage) if self.usage is not None else TokenUsage()

    def requests(self, at: int, item: Mapping[str, Any]) -> list[ToolExecutionRequest]:
        """The calls of the item at this place; asked again, they have the same ids."""
        answering, identity = self._answering, _word(item.get("call_id")) or ""
        inner = wrapped(item, answering.offered)
        if inner is not None:
            state = ProviderState(answering.provider, {"wrapped": True})
            made = []
            for n, (name, text) in enumerate(inner):
                key, given = self._identity((at, n), f"{identity}-{n}")
                made.append(ToolExecutionRequest(key, answering.aliases.get(name, name), text, given, state))
            return made
        key, given = self._identity((at, 0), identity)
        state = call_state(item, answering.provider)
        return [ToolExecutionRequest(key, self.name_of(item), arguments_of(item), given, state)]

    def _identity(self, place: tuple[int, int], identity: str) -> tuple[str, bool]:
        found = self._ids.get(place)
        if found is None:
            given = bool(identity) and identity not in self._seen
            found = self._ids[place] = (identity if given else self._answering.new_id(), given)
            self._seen.add(found[0])
        return found

    def may_be_wrapped(self, item: Mapping[str, Any]) -> bool:
        """Whether the call that begins may turn out to be several in one."""
        return may_wrap(item, self._answering.offered)

    def name_of(self, item: Mapping[str, Any]) -> str:
        """Our name of the called tool."""
        name = item.get("name")
        name = name.strip() if isinstance(name, str) else ""
        return self._answering.aliases.get(name, name)

    def response(self, raw_body: bytes | None = None) -> ChatResponse:
        """The finished reply."""
        provider = self._answering.provider
        parts: list[Content | ToolExecutionRequest] = []
        citations: list[Citation] = []
        notices = list(self._answering.notices)
        has_calls = has_cut_call = refused = False
        length = 0
        for at in sorted(self.items):
            item = self.items[at]
            kind = item.get("type")
            if kind in CALLS:
                parts += self.requests(at, item)
                has_calls = True
                has_cut_call = has_cut_call or item.get("status") == "incomplete"
            elif kind == "message":
                for part in message_parts(item, provider):
                    parts.append(part)
                    if isinstance(part, TextContent) and part.provider_state is not None:
                        said = part.provider_state.data["part"]
                        citations += _citations(said, part.text, length)
                        length += len(part.text)
                        refused = refused or (isinstance(said, dict) and said.get("type") == "refusal")
            elif kind == "reasoning":
                parts.append(reasoning_part(item, provider))
            else:
                parts.append(opaque(item, provider))
                if kind in _FOR_THE_CALLER:
                    notices.append(_for_the_caller(str(kind)))
        details = self.body.get("incomplete_details")
        reason, word, notice = finish_of(
            _word(self.body.get("status")),
            _word(details.get("reason")) if isinstance(details, dict) else None,
            has_calls=has_calls,
            has_cut_call=has_cut_call,
            refused=refused,
        )
        if notice is not None:
            notices.append(notice)
        if self.mended:
            notices.append(MENDED)
        return ChatResponse(
            ai_message=AiMessage(parts, provider_state=self._turn_state()),
            finish_reason=reason,
            token_usage=self.token_usage,
            id=self.id,
            model_name=self.model,
            raw_finish_reason=word,
            notices=tuple(notices),
            raw_body=raw_body,
            citations=tuple(dict.fromkeys(citations)),
        )

    def _turn_state(self) -> ProviderState | None:
        kept = self.body.get("store")
        if self.id is None or not (kept if isinstance(kept, bool) else self._answering.stores):
            return None
        return ProviderState(self._answering.provider, {"response_id": self.id})


def _citations(part: object, text: str, offset: int) -> list[Citation]:
    """The sources of one content part, with their places in the text of the whole reply."""
    if not isinstance(part, dict) or not part.get("annotations"):
        return []
    sources = Sources()
    sources.add_of_message(part)
    return [
        one if one.start is None or one.end is None else replace(one, start=one.start + offset, end=one.end + offset)
        for one in sources.citations(text)
    ]


def _for_the_caller(kind: str) -> Notice:
    return Notice(
        "server_item_unanswered",
        f"the reply holds an item {kind!r}, which asks the caller to act; there is no form for it here",
        {"item": kind},
    )


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
