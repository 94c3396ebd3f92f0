"""An MCP server that does what a script says, faults included: plain JSON-RPC over stdio or HTTP, no SDK.

Run as a program, see `support.script_command`, with the script as JSON text, or the file of one. Its keys:

- ``tools``: what is listed, or ``pages``: lists of tools with the cursor of the next one. A tool is a name or a
  definition; ``lists``: what further listings give, one after the other, the last one again and again.
- ``on``: for each tool what a call does, one action after the other, see `act`.
- ``protocol``: the version that ``initialize`` answers with; ``modern``: answers ``server/discover`` too.
- ``before``: actions before anything is read. ``capabilities``, ``name``: what it says of itself.
- ``mute``: answers nothing; ``silent``: methods that are not answered.
- ``answers``: what other methods are answered. ``list_error``: what further listings are
  answered, ``list_delay``: seconds before that.
- ``journal``: a file that every message it gets is noted in, one a line.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

TYPE_CHECKING = False  # as type checkers know it; the module of that name takes as long to load as all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Say = Callable[[Mapping[str, Any]], None]

__all__ = ("Scripted", "main")

OPEN = {"type": "object", "additionalProperties": True}


class Scripted:
    """The script at work; ``say`` sends one message to the client."""

    def __init__(self, script: Mapping[str, Any]) -> None:
        self.script = script
        self.listings = 0
        self.lists = list(script.get("lists", ()))
        self.answers: dict[Any, Any] = {}
        self.cancelled: set[Any] = set()
        self.changed = threading.Condition()
        self.subscriptions: list[tuple[Any, Say]] = []

    def note(self, message: Mapping[str, Any]) -> None:
        """Write a message down, in the order in which they come."""
        journal = self.script.get("journal")
        if journal:
            with open(journal, "a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")

    def take(self, message: Mapping[str, Any], say: Say) -> None:
        """Do what a message asks for."""
        method, identity = message.get("method"), message.get("id")
        with self.changed:
            if method is None:
                self.answers[identity] = message
            elif method == "notifications/cancelled":
                self.cancelled.add(message["params"]["requestId"])
            self.changed.notify_all()
        if method is None or identity is None:
            return
        answer = self.answer(str(method), message.get("params") or {}, message, say)
        if answer is not None:
            say({"jsonrpc": "2.0", "id": identity, **answer})

    def answer(
        self, method: str, params: Mapping[str, Any], message: Mapping[str, Any], say: Say
    ) -> Mapping[str, Any] | None:
        """The answer to a request; ``None`` for none."""
        script = self.script
        about = {
            "capabilities": script.get("capabilities", {"tools": {"listChanged": True}}),
            "serverInfo": {"name": script.get("name", "scripted"), "version": "1.0"},
        }
        if script.get("mute") or method in script.get("silent", ()):
            return None
        if method == "initialize":
            wanted = script.get("protocol", "2025-11-25")
            return {"result": {"protocolVersion": wanted, **about}}
        if method == "server/discover" and script.get("modern"):
            info = {"io.modelcontextprotocol/serverInfo": about["serverInfo"]}
            versions = script.get("versions", ["2026-07-28"])
            found = {"supportedVersions": versions, "capabilities": about["capabilities"], "_meta": info}
            return {"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **found}}
        if method == "subscriptions/listen" and script.get("modern"):
            self.subscriptions.append((message["id"], say))
            honored = {"notifications": params["notifications"]}
            self.tell_subscribers("notifications/subscriptions/acknowledged", honored)
            return None
        if method == "tools/list":
            return self.page(params.get("cursor"))
        if method == "tools/call":
            return self.call(params, message, say)
        if method in script.get("answers", {}):
            return dict(script["answers"][method])
        return {"error": {"code": -32601, "message": f"no method {method}"}}

    def tell_subscribers(self, method: str, params: Mapping[str, Any]) -> None:
        """In the newest version notices go to those who asked for them, each with the id of the asking."""
        for identity, say in self.subscriptions:
            meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": identity}}
            say({"jsonrpc": "2.0", "method": method, "params": {**params, **meta}})

    def page(self, cursor: str | None) -> Mapping[str, Any]:
        """A page of the listing."""
        script, self.listings = self.script, self.listings + 1
        if "list_error" in script and self.listings > 1:
            return {"error": script["list_error"]}
        extra = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if script.get("modern") else {}
        if "pages" in script:
            pages = script["pages"]
            at = min(self.listings - 1, len(pages) - 1)
            page = pages[at]
            following = {"nextCursor": page["nextCursor"]} if "nextCursor" in page else {}
            return {"result": {"tools": [definition(each) for each in page["tools"]], **following, **extra}}
        tools = script.get("tools", ())
        if self.listings > 1 and self.lists:
            tools = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        delay = script.get("list_delay")
        if delay and self.listings > 1:
            time.sleep(delay)
        return {"result": {"tools": [definition(each) for each in tools], **extra}}

    def call(self, params: Mapping[str, Any], message: Mapping[str, Any], say: Say) -> Mapping[str, Any] | None:
        """What a call gives."""
        name = params.get("name")
        actions = self.script.get("on", {}).get(name)
        if actions is None:
            return self.result(json.dumps(params.get("arguments", {})))
        for action in actions:
            answer = self.act(action, params, message, say)
            if answer is not None:
                return answer
        return None

    def result(self, text: str) -> Mapping[str, Any]:
        """A good result."""
        kind = {"resultType": "complete"} if self.script.get("modern") else {}
        return {"result": {"content": [{"type": "text", "text": text}], **kind}}

    def act(
        self, action: Mapping[str, Any], params: Mapping[str, Any], message: Mapping[str, Any], say: Say
    ) -> Mapping[str, Any] | None:
        """One action: its one key says what, its value how."""
        ((what, how),) = action.items()
        if what in ("result", "error"):
            return {what: how}
        if what == "text":
            return self.result(how)
        if what == "repeat":
            return self.result(how[0] * how[1])
        if what == "sleep":
            time.sleep(how)
        elif what == "exit":
            sys.stderr.flush()
            os._exit(how)
        elif what == "write":
            sys.stdout.write(how.replace("%ID%", json.dumps(message.get("id"))))
            sys.stdout.flush()
        elif what == "stderr":
            sys.stderr.write(how[0] * how[1])
            sys.stderr.flush()
        elif what == "hang":
            time.sleep(600)
        elif what == "notify" and self.script.get("modern"):
            self.tell_subscribers(how["method"], how.get("params", {}))
        elif what == "notify":
            say({"jsonrpc": "2.0", **how})
        elif what == "progress":
            token = params.get("_meta", {}).get("progressToken")
            told = {"progressToken": token, **how}
            say({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
        elif what == "ask":
            say({"jsonrpc": "2.0", "id": "ask-1", **how})
            with self.changed:
                self.changed.wait_for(lambda: "ask-1" in self.answers, timeout=5)
            return self.result(json.dumps(self.answers.get("ask-1")))
        elif what == "input_required":
            if "inputResponses" in params:
                return self.result(json.dumps([params["inputResponses"], params.get("requestState")]))
            return {"result": {"resultType": "input_required", **how}}
        elif what == "until_cancelled":
            with self.changed:
                self.changed.wait_for(lambda: message["id"] in self.cancelled, timeout=5)
        elif what == "environment":
            return self.result(json.dumps(dict(os.environ)))
        elif what == "once":
            # The first time in this folder's life, even of another process.
            marker, actions = how
            if not os.path.exists(marker):
                with open(marker, "w", encoding="utf-8"):
                    pass
                for each in actions:
                    self.act(each, params, message, say)
        else:
            raise AssertionError(what)
        return None


def definition(tool: Any) -> Any:
    """A tool by its name alone takes anything."""
    return {"name": tool, "inputSchema": OPEN} if isinstance(tool, str) else tool


def serve_stdio(scripted: Scripted) -> None:
    """Messages line by line; each is seen to on a thread of its own."""
    writing = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        with writing:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    for action in scripted.script.get("before", ()):
        scripted.act(action, {}, {}, say)
    for line in sys.stdin:
        message = json.loads(line)
        scripted.note(message)
        threading.Thread(target=scripted.take, args=(message, say), daemon=True).start()


def serve_http(scripted: Scripted) -> None:
    """One address; the port is written to standard output. ``http`` in the script says what else it does:
    ``sessions``: whether there are session ids; ``forget``: calls after which a session is forgotten; ``stream``:
    answers are streams of events; ``drop``: tools whose stream ends after its headers; ``redirect``: where to,
    counted in the file ``hits``; ``unasked``: an encoding, ``cut``: calls are answered in half;
    ``certificate``: a file, for TLS;
    ``token``: the bearer token that is asked for; ``oauth``: a file in which requests for one are noted."""
    # Imported here: most scripts are spoken to over stdio, and start in a third of the time without it.
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    rules = scripted.script.get("http", {})
    state = {"sessions": 0, "calls": 0, "redirects": 0, "forgotten": False}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words: Any) -> None:
            pass

        def answer(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            here = f"http://127.0.0.1:{server.server_address[1]}"
            path = self.path
            if "oauth" in rules and path.startswith("/.well-known/oauth-protected-resource"):
                about = {"resource": f"{here}/mcp", "authorization_servers": [here]}
            elif "oauth" in rules and path.startswith("/.well-known/oauth-authorization-server"):
                about = {
                    "issuer": here,
                    "authorization_endpoint": f"{here}/authorize",
                    "token_endpoint": f"{here}/token",
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["client_credentials"],
                }
            else:
                return self.answer(405, b"{}")
            return self.answer(200, json.dumps(about).encode())

        def do_DELETE(self) -> None:
            self.answer(200, b"{}")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if "oauth" in rules and self.path == "/token":
                with open(rules["oauth"], "a", encoding="utf-8") as file:
                    file.write(json.dumps([self.headers.get("Authorization"), body.decode()]) + "\n")
                token = {"access_token": rules["token"], "token_type": "Bearer", "expires_in": 3600}
                return self.answer(200, json.dumps(token).encode())
            if "redirect" in rules:
                state["redirects"] += 1
                with open(rules["hits"], "w", encoding="utf-8") as file:
                    file.write(str(state["redirects"]))
                return self.answer(307, b"", Location=rules["redirect"])
            if "token" in rules and self.headers.get("Authorization") != f"Bearer {rules['token']}":
                return self.answer(401, b"{}", WWW_Authenticate="Bearer")
            message = json.loads(body)
            method = message.get("method")
            session = self.headers.get("Mcp-Session-Id")
            if rules.get("sessions") and method not in ("initialize", "server/discover"):
                if method == "tools/call":
                    state["calls"] += 1
                if state["calls"] == rules.get("forget") and not state["forgotten"]:
                    state["forgotten"] = True
                    return self.answer(404, b"{}")
                if session != f"s{state['sessions']}":
                    return self.answer(404, b"{}")
            if method == "tools/call" and message["params"]["name"] in rules.get("drop", ()):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.flush()
                self.close_connection = True
                return None
            said: list[Mapping[str, Any]] = []
            scripted.note(message)
            scripted.take(message, said.append)
            if not said:
                return self.answer(202, b"")
            headers = {}
            if method == "initialize" and rules.get("sessions"):
                state["sessions"] += 1
                headers["Mcp_Session_Id"] = f"s{state['sessions']}"
            if rules.get("unasked") and method == "tools/call":
                return self.answer(200, b"x", Content_Encoding=rules["unasked"])
            if rules.get("cut") and method == "tools/call":
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"jsonrpc": "2.0", ')
                self.close_connection = True
                return None
            if rules.get("stream"):
                events = "".join(f"data: {json.dumps(each)}\n\n" for each in said).encode()
                return self.answer(200, events, "text/event-stream", **headers)
            return self.answer(200, json.dumps(said[-1]).encode(), **headers)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if "certificate" in rules:
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(rules["certificate"])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def main() -> None:
    """The program."""
    given = sys.argv[1]
    if not given.startswith("{"):
        with open(given, encoding="utf-8") as file:
            given = file.read()
    made = Scripted(json.loads(given))
    if "--http" in sys.argv:
        serve_http(made)
    else:
        serve_stdio(made)
