"""What the YAML parser complains about, said with the place and the usual cause."""

from __future__ import annotations

import re
from typing import Any

from agentforge.config import codes
from agentforge.config.faults import Reporter
from agentforge.config.nodes import LINE_BREAK, Mark

__all__ = ("MAX_DEPTH", "report_yaml_error")

#: How deep mappings and lists may nest, aliases expanded.
MAX_DEPTH = 64

_PLACEHOLDER = re.compile(r"\$\{[^}]*(?:\$\{[^}]*\}[^}]*)?\}?")
_NEGATION = re.compile(r"![A-Za-z_][\w.=-]*")
_QUOTED = re.compile(r""" "(?:[^"\\]|\\.)*" | '[^']*' """, re.VERBOSE)
# A longer line is no text for people, and one full of open quotes would take minutes.
_LONGEST_LINE = 2_000


def report_yaml_error(error: Any, text: str, file: str, reporter: Reporter) -> None:
    """Report an error of PyYAML; a placeholder without quotes, the commonest cause, is pointed at itself."""
    lines = LINE_BREAK.split(text)
    places = [found for found in (getattr(error, "problem_mark", None), getattr(error, "context_mark", None)) if found]
    for place in places:
        if place.line < len(lines) and (found := _unquoted_placeholder(lines[place.line])):
            reporter.report(
                codes.BAD_SYNTAX,
                "a placeholder without quotes breaks the YAML here",
                Mark(file, place.line + 1, found.start() + 1),
                next_step=f'Put it in quotes: "{found[0]}".',
            )
            return
    for place in places:
        # What is meant as "not this" begins a tag.
        if place.line < len(lines) and (negation := _NEGATION.match(lines[place.line], place.column)):
            reporter.report(
                codes.BAD_SYNTAX,
                "a word that begins with '!' is a tag for YAML",
                Mark(file, place.line + 1, place.column + 1),
                next_step=f'Put it in quotes: "{negation[0]}".',
            )
            return
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read")
    context = getattr(error, "context", None)
    line, column = (places[0].line + 1, places[0].column + 1) if places else (1, 1)
    if "nesting depth" in problem:
        # The parser has a bound of its own, which it may meet before the first event.
        message = f"nested deeper than {MAX_DEPTH} levels"
        reporter.report(codes.TOO_LARGE, message, Mark(file, line, column), next_step="Write it flatter.")
        return
    reporter.report(
        codes.BAD_SYNTAX,
        f"not valid YAML: {problem}" + (f" ({context})" if context else ""),
        Mark(file, line, column),
        next_step=_next_step(problem, lines[line - 1] if line <= len(lines) else "", column - 1),
    )


def _unquoted_placeholder(line: str) -> re.Match[str] | None:
    if len(line) > _LONGEST_LINE:
        return None
    # Quoted parts keep their length, so that columns stay right.
    return _PLACEHOLDER.search(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), line))


def _next_step(problem: str, line: str, column: int) -> str:
    if "tab" in problem or "\t" in line[: len(line) - len(line.lstrip())] or "'\\t'" in problem:
        return "Indent with spaces; YAML takes no tabs there."
    if "mapping values" in problem:
        return "A text that holds ': ' needs quotes."
    before = line[:column].rstrip()
    if "expected key" in problem and before[-1:] in ("'", '"') and line[column : column + 1].isalnum():
        inside = "''" if before[-1] == "'" else '\\"'
        return f"The quoted text ends before this; a quote inside of it is written {inside}."
    if "expected <block end>" in problem or "did not find expected key" in problem or "block" in problem:
        return "Check the indentation of this line against the ones above."
    return "Check brackets, quotes and indentation from here upwards."
