"""What a linearisation has to say about the network, with the line of the user's code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Where:
    """A line of the user's code."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Remark:
    """One thing removed or not exact, and where; ``where`` is None when no line of the user's is known."""

    text: str
    where: Where | None = None

    def __str__(self) -> str:
        return self.text if self.where is None else f"{self.where}: {self.text}"
