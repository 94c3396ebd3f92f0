"""Serve an OpenAPI document on this machine, and answer every request with the example that stands in it.

    python config/recipes/travel_desk/stub.py config/recipes/travel_desk/trams.yaml --port 8765

For trying an API without its owner: any document will do. It says of each request what came.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

METHODS = ("get", "post", "put", "patch", "delete")


def examples_of(document: dict[str, Any]) -> dict[tuple[str, re.Pattern[str]], tuple[int, Any]]:
    """For each operation the status and the example of its good answer; an empty object where it has none."""
    found = {}
    for path, item in document.get("paths", {}).items():
        pattern = re.compile(re.sub(r"\\\{[^/]+?\\\}", "[^/]+", re.escape(path)))
        for method in METHODS:
            if method in item:
                found[method.upper(), pattern] = _answer(document, item[method])
    return found


def _answer(document: dict[str, Any], operation: dict[str, Any]) -> tuple[int, Any]:
    for status, response in operation.get("responses", {}).items():
        if str(status).startswith("2"):
            content = _resolved(document, response).get("content", {}).get("application/json", {})
            named = [each.get("value") for each in content.get("examples", {}).values()]
            return int(str(status).replace("XX", "00")), content.get("example", next(iter(named), {}))
    return 200, {}


def _resolved(document: dict[str, Any], value: Any) -> Any:
    while isinstance(value, dict) and str(value.get("$ref", "")).startswith("#/"):
        reference = value["$ref"]
        value = document
        for part in reference[2:].split("/"):
            value = value[part.replace("~1", "/").replace("~0", "~")]
    return value


def server(document: dict[str, Any], port: int) -> ThreadingHTTPServer:
    """A server on the loopback interface; ``port`` 0 takes any that is free."""
    examples = examples_of(document)

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            found = (
                answer
                for (method, where), answer in examples.items()
                if method == self.command and where.fullmatch(path)
            )
            status, value = next(found, (404, {"error": f"there is no {self.command} {path}"}))
            if path == "/openapi.json":
                status, value = 200, document
            print(
                f"{self.command} {self.path} {body.decode(errors='replace')} -> {status}", file=sys.stderr, flush=True
            )
            content = json.dumps(value, default=str).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - the names that the library looks for

        def log_message(self, format: str, *values: object) -> None:
            """What there is to say is said above."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """Serve until it is interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path, help="an OpenAPI document, JSON or YAML")
    parser.add_argument("--port", type=int, default=8765)
    words = parser.parse_args()
    with server(yaml.safe_load(words.document.read_text("utf-8")), words.port) as serving:
        print(f"http://127.0.0.1:{serving.server_port}", flush=True)
        serving.serve_forever()


if __name__ == "__main__":
    main()
