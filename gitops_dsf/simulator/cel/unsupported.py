"""What the simulator does not know about an expression."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The simulator has no answer. Conclude nothing from it."""

    expression: str
    reason: str
    cluster: str | None = None
    """The cluster where it came up; None if the whole expression is not supported."""

    def __str__(self) -> str:
        where = f" on cluster {self.cluster}" if self.cluster else ""
        return (
            f"CEL expression {self.expression!r}{where} uses what the simulator does not support:"
            f" {self.reason}"
        )
