"""The yardstick: the loop that anyone would write on httpx in an afternoon, without errors, limits or validation."""

from __future__ import annotations

import json
from typing import Any

import httpx

from benchmarks.tools import Tally, make_tools

__all__ = ("ByHand",)

_TEXT = {"type": "string"}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "weather": {"city": _TEXT},
    "book": {"item": _TEXT, "quantity": {"type": "integer"}, "note": _TEXT},
}


class ByHand:
    """A conversation partner with a message list, a table of functions and a ``while`` loop."""

    def __init__(self, base_url: str, model: str, *, streamed: bool = False) -> None:
        self.tally = Tally()
        self._functions = {function.__name__: function for function in make_tools(self.tally)}
        self._url = f"{base_url}/chat/completions"
        self._settings: dict[str, Any] = {
            "model": model,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": name,
                        "description": function.__doc__,
                        "parameters": {
                            "type": "object",
                            "properties": _SCHEMAS[name],
                            "required": list(_SCHEMAS[name]),
                            "additionalProperties": False,
                        },
                    },
                }
                for name, function in self._functions.items()
            ],
        }
        if streamed:
            self._settings |= {"stream": True, "stream_options": {"include_usage": True}}
        self._reply = self._streamed if streamed else self._plain
        self._client = httpx.AsyncClient(
            headers={"authorization": "Bearer none"}, timeout=60, limits=httpx.Limits(max_connections=100)
        )

    async def ask(self, prompt: str) -> str:
        """One whole conversation, until the model answers in words."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while True:
            reply = await self._reply(messages)
            calls = reply.get("tool_calls")
            if not calls:
                return str(reply["content"])
            messages.append({"role": "assistant", "content": reply["content"], "tool_calls": calls})
            for call in calls:
                function = self._functions[call["function"]["name"]]
                result = await function(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def _plain(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        response = await self._client.post(self._url, json={**self._settings, "messages": messages})
        response.raise_for_status()
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        return message

    async def _streamed(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        texts: list[str] = []
        calls: list[dict[str, Any]] = []
        pieces: list[list[str]] = []
        body = {**self._settings, "messages": messages}
        async with self._client.stream("POST", self._url, json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    delta = choice["delta"]
                    if delta.get("content"):
                        texts.append(delta["content"])
                    for part in delta.get("tool_calls") or ():
                        if part["index"] == len(calls):
                            calls.append(part)
                            pieces.append([])
                        pieces[part["index"]].append(part["function"]["arguments"])
        for call, arguments in zip(calls, pieces, strict=True):
            call["function"]["arguments"] = "".join(arguments)
            del call["index"]
        return {"content": "".join(texts) or None, "tool_calls": calls}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
