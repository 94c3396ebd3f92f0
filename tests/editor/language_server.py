"""A client of an editor's language server: what an editor would underline, offer and explain in a file."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ("LanguageServer",)

_PATIENCE = 60.0


class LanguageServer:
    """One server process on pipes, over the files of one folder. Use it with ``with``; it ends with the block."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self._folder = folder
        self._number = 0
        self._answers: dict[int, Any] = {}
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self._found: dict[str, list[dict[str, Any]]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        workspace = {"uri": self._folder.as_uri(), "name": "project"}
        capabilities = {
            "textDocument": {"hover": {"contentFormat": ["markdown"]}, "completion": {"completionItem": {}}},
            "workspace": {"configuration": True, "workspaceFolders": True},
        }
        self.ask(
            "initialize",
            processId=None,
            rootUri=self._folder.as_uri(),
            workspaceFolders=[workspace],
            capabilities=capabilities,
        )
        self._send({"method": "initialized", "params": {}})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.ask("shutdown")
                self._send({"method": "exit"})
                self._process.wait(_PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                stream.close()

    def faults(self, name: str, text: str) -> list[tuple[int, str]]:
        """Open a file of the folder with this text: the line (from 1) and the words of everything underlined."""
        (self._folder / name).write_text(text, "utf-8")
        uri = (self._folder / name).as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        while uri not in self._found:
            self._take()
        return [(found["range"]["start"]["line"] + 1, found["message"]) for found in self._found[uri]]

    def offers(self, name: str, line: int, column: int) -> set[str]:
        """What an editor would offer at a place (from 1) of an open file."""
        found = self.ask("textDocument/completion", **self._place(name, line, column)) or {"items": []}
        items = found["items"] if isinstance(found, dict) else found
        return {item["label"] for item in items}

    def words_at(self, name: str, line: int, column: int) -> str:
        """What an editor would show over a place (from 1) of an open file."""
        found = self.ask("textDocument/hover", **self._place(name, line, column))
        return "" if found is None else str(found["contents"]["value"])

    def ask(self, method: str, **params: Any) -> Any:
        """The result of one request; whatever else comes meanwhile is seen to."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        while number not in self._answers:
            self._take()
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        return answer.get("result")

    def _place(self, name: str, line: int, column: int) -> dict[str, Any]:
        position = {"line": line - 1, "character": column - 1}
        return {"textDocument": {"uri": (self._folder / name).as_uri()}, "position": position}

    def _take(self) -> None:
        message = self._messages.get(timeout=_PATIENCE)
        if "method" not in message:
            self._answers[message["id"]] = message
        elif message["method"] == "textDocument/publishDiagnostics":
            self._found[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif message["method"] == "workspace/configuration":
            asked = [item.get("section") for item in message["params"]["items"]]
            # Only the schema that the file itself names: nothing is fetched from a catalogue.
            yaml = {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}}
            self._send({"id": message["id"], "result": [yaml if section == "yaml" else {} for section in asked]})
        elif "id" in message:
            self._send({"id": message["id"], "result": None})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.decode("ascii").partition(":")
                length = int(value) if name.lower() == "content-length" else length
                header = stream.readline()
            self._messages.put(json.loads(stream.read(length)))
