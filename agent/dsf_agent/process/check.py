"""The verb ``check``: one cycle of every scorer as a table. Nothing is published.

The exit code is 0 if all gave scores, 1 if one did not, and 2 for a scorer that does not exist.
"""

import asyncio
import logging
import sys
from dataclasses import dataclass
from typing import Final

from dsf_agent.configuration.snapshot import ConfigurationSnapshot, publishes
from dsf_agent.configuration.watch import UnusableFile, observe
from dsf_agent.errors import AgentError
from dsf_agent.process.build import Adapters
from dsf_wire import scorename
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary
from dsf_wire.text import printable

HEAD: Final = ("SCORER", "SERIES", "BYTES", "RESULTS", "DROPPED", "CLAMPED", "PUBLISH", "STATE")
ITEMS_SHOWN: Final = 5
NAME_SHOWN: Final = 60
"""Longest name that is printed, in characters."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ScorerLine:
    """The line of one scorer, and its notes below the table."""

    cells: tuple[str, ...]
    notes: tuple[str, ...]
    good: bool


async def run(adapters: Adapters, *, only: list[str]) -> int:
    """Prints the table. Returns the exit code."""
    try:
        path = adapters.settings.files[0]
        snapshot = await asyncio.to_thread(observe, adapters.settings.files)
        if isinstance(snapshot, UnusableFile):
            print(printable(f"gitops-dsf-agent: {snapshot.text}"), file=sys.stderr)
            return 1
        # An entry with a mistake has a line, too, which says what is wrong.
        names = {scorer.name for scorer in snapshot.scorers}
        names |= {problem.name for problem in snapshot.problems}
        unknown = sorted(set(only) - names)
        if unknown:
            valid = ", ".join(_shown(scorer.name) for scorer in snapshot.scorers) or "none"
            missing = ", ".join(unknown)
            text = f"gitops-dsf-agent: {path} has no scorer {missing}; it has these: {valid}"
            print(printable(text), file=sys.stderr)
            return 2
        adapters.use_clusters(snapshot)
        rows = await _rows(adapters, snapshot, only=only)
    finally:
        await adapters.close()
    _print(rows)
    if not rows:
        print(printable(f"{path} has no scorers"))
    return 0 if all(row.good for row in rows) else 1


async def _rows(
    adapters: Adapters, snapshot: ConfigurationSnapshot, *, only: list[str]
) -> list[ScorerLine]:
    scorers = [scorer for scorer in snapshot.scorers if not only or scorer.name in only]
    await adapters.cluster.follow(scorers)
    # All at once, so that a check takes as long as its slowest scorer.
    rows = list(await asyncio.gather(*(_row(adapters, scorer) for scorer in scorers)))
    for problem in snapshot.problems:
        if not only or problem.name in only:
            name = _shown(problem.name) or f"entry {problem.index}"
            rows.append(_failed(name, "bad_entry", f"entry {problem.index}: {problem.reason}"))
    return rows


def _failed(name: str, state: str, note: str) -> ScorerLine:
    return ScorerLine(cells=(name, *"------", state), notes=(note,), good=False)


async def _row(adapters: Adapters, scorer: ScorerSummary) -> ScorerLine:
    own = _shown(scorer.name)
    try:
        result = await adapters.cycle(scorer, publication=None).run()
    except AgentError as error:
        return _failed(own, f"{error.stage}: {error.reason.value}", f"{own}: {error}")
    # A bug that one scorer meets must not hide the lines of the others.
    except Exception as error:
        extra = {"scorer": scorer.name, "reason": Reason.INTERNAL.value}
        log.exception("a cycle failed because of a bug in the agent", extra=extra)
        return _failed(own, Reason.INTERNAL.value, f"{own}: {type(error).__name__}: {error}")
    items = result.items
    item_texts = [f"{_shown(name)}={value}" for name, value in list(items.items())[:ITEMS_SHOWN]]
    if len(items) > len(item_texts):
        item_texts.append(f"and {len(items) - len(item_texts)} more")
    target = scorename.sanitise(scorer.score_name) if publishes(scorer) else "(not published)"
    notes = [f"{own}: {target}: {', '.join(item_texts) or 'no items'}"]
    if result.by_default:
        notes.append(f"{own}: the source has no series, so this is the default score")
    for reason, count in sorted(result.dropped.items()):
        notes.append(f"{own}: dropped {count}: {reason}")
    if result.first_fault:
        notes.append(f"{own}: the first dropped result: {result.first_fault}")
    notes += [f"{own}: the source warns: {warning}" for warning in result.warnings]
    counts = (result.series, result.size, result.results, result.dropped.total(), result.clamped)
    published = str(len(items)) if publishes(scorer) else "-"
    return ScorerLine(
        cells=(own, *map(str, counts), published, "ok"), notes=tuple(notes), good=True
    )


def _shown(name: str) -> str:
    """A name that is safe to print: without control characters and not too long."""
    return printable(name, max_characters=NAME_SHOWN)


def _print(rows: list[ScorerLine]) -> None:
    table = [HEAD, *(row.cells for row in rows)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEAD))]
    for cells in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        print(printable(line.rstrip()))
    for row in rows:
        for note in row.notes:
            print(printable(note))
