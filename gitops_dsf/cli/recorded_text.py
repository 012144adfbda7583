"""Formats what a revision would have decided at recorded moments."""

from collections.abc import Sequence
from typing import Any

from gitops_dsf.cli.table import table
from gitops_dsf.views.backtest.recorded import LIMITS, Moves, Recorded
from gitops_dsf.wording import plural


def recorded_text(found: Sequence[Recorded]) -> str:
    """One line for each Placement that moved."""
    if not found:
        return "the journal has no move of these Placements in this span\n"
    rows = [
        [
            each.key,
            _moves(each.happened),
            f"not known: {each.unknown}" if each.would is None else _moves(each.would),
        ]
        for each in found
    ]
    text = table(["placement", "happened", "with this repository, at the same moments"], rows)
    return text + "\n" + "".join(f"  {limit}\n" for limit in LIMITS)


def recorded_data(found: Sequence[Recorded]) -> dict[str, Any]:
    """The same as JSON data."""
    return {
        "placements": [
            {
                "placement": each.key,
                "happened": _data(each.happened),
                "would": None if each.would is None else _data(each.would),
                "unknown": each.unknown or None,
            }
            for each in found
        ],
        "limits": list(LIMITS),
    }


def _moves(found: Moves) -> str:
    back = f", {found.returns} back and forth" if found.returns else ""
    return f"{plural(found.moves, 'move')}{back}"


def _data(found: Moves) -> dict[str, int]:
    return {"moves": found.moves, "returns": found.returns}
