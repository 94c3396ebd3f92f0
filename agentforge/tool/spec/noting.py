"""What a compiler of schemas has to say of single places."""

from __future__ import annotations

from dataclasses import dataclass

from agentforge.tool.spec.walk import escaped_step

__all__ = ("Noting", "SchemaNote")


@dataclass(frozen=True, slots=True)
class SchemaNote:
    """Something about one place of a schema: ``code`` is stable, ``path`` a JSON pointer (empty: the root)."""

    code: str
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path or 'the root'}: {self.text}"


class Noting:
    """Collects problems and notices."""

    def __init__(self) -> None:
        self.problems: list[SchemaNote] = []
        self.notices: list[SchemaNote] = []

    def problem(self, path: tuple[str, ...], code: str, text: str) -> None:
        """Note why there is no strict form."""
        self.problems.append(SchemaNote(code, _pointer(path), text))

    def notice(self, path: tuple[str, ...], code: str, text: str) -> None:
        """Note what the strict form does not carry."""
        self.notices.append(SchemaNote(code, _pointer(path), text))


def _pointer(path: tuple[str, ...]) -> str:
    return "".join(f"/{escaped_step(step)}" for step in path)
