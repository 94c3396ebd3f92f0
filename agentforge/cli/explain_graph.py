"""The bean graph as text for drawing programs: Mermaid and Graphviz's dot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

__all__ = ("drawn",)


def drawn(graph: Mapping[str, Any], form: Literal["mermaid", "dot"]) -> str:
    """The beans and what they use: solid where a bean is built after another, dashed where it asks for it later."""
    return _mermaid(graph) if form == "mermaid" else _dot(graph)


def _mermaid(graph: Mapping[str, Any]) -> str:
    # Ids of our own: a bean may be called "end", which Mermaid takes for its own word.
    numbers = {bean["id"]: f"b{number}" for number, bean in enumerate(graph["beans"])}
    lines = ["flowchart TD"]
    lines += [
        f'  {numbers[bean["id"]]}["{_entity(bean["id"])}<br/>{_entity(bean["type"])}"]' for bean in graph["beans"]
    ]
    for bean in graph["beans"]:
        for use in bean["uses"]:
            arrow = "-.->" if use["provider"] else "-->"
            lines.append(f'  {numbers[bean["id"]]} {arrow}|"{_entity(use["setting"])}"| {numbers[use["bean"]]}')
    return "\n".join(lines)


def _entity(text: str) -> str:
    return "".join(f"#{ord(one)};" if one in '"#<>&|' else one for one in text)


def _dot(graph: Mapping[str, Any]) -> str:
    lines = ["digraph beans {", "  node [shape=box];"]
    lines += [f"  {_quoted(bean['id'])} [label={_quoted(bean['id'], bean['type'])}];" for bean in graph["beans"]]
    for bean in graph["beans"]:
        for use in bean["uses"]:
            style = ", style=dashed" if use["provider"] else ""
            ends = f"{_quoted(bean['id'])} -> {_quoted(use['bean'])}"
            lines.append(f"  {ends} [label={_quoted(use['setting'])}{style}];")
    return "\n".join([*lines, "}"])


def _quoted(*lines: str) -> str:
    return '"' + r"\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
