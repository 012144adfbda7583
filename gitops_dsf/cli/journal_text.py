"""Formats records of the journal as text."""

from collections.abc import Iterable, Sequence
from datetime import UTC

from dsf_wire.text import printable_lines
from gitops_dsf.cli.terminal import table
from gitops_dsf.cli.verdict_text import explanation_text
from gitops_dsf.journal.record import Record, ScoreChange
from gitops_dsf.wording import names_text, prioritizer_text

MOST_NAMED = 3
MOST_SCORES = 20


def log_text(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        change, largest = _largest_change(record), ""
        if change is not None:
            name, before, after = prioritizer_text(change.name), _value(change.before), _value(change.after)
            largest = f"{name} on {change.cluster} {before} -> {after}"
        rows.append(
            [
                time_text(record),
                record.placement,
                _named(record.from_) if record.from_ is not None else "?",
                _to(record),
                largest,
                record.commit[:10],
            ]
        )
    return table(["time (UTC)", "placement", "from", "to", "largest change of a score", "commit"], rows)


def explained_text(record: Record) -> str:
    lines = [f"{time_text(record)} UTC: {record.placement} {_what(record)}"]
    if record.applications:
        lines.append(
            f"  ApplicationSet{'s' if len(record.applications) > 1 else ''} {', '.join(record.applications)}"
        )
    lines.append(f"  live commit of the fleet repository: {record.commit or 'not known'}")
    if record.admitted is not None:
        gain = "" if record.gain is None else f", for {record.gain:+.1f} points by the written weights"
        lines.append(f"  admitted at {record.admitted.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC{gain}")
    if record.doubt:
        lines.append(f"  note: {record.doubt}")
    text = printable_lines(lines) + "\n" + _scores(record)
    for each in record.clusters:
        text += "\n" + explanation_text(each, placement=record.placement)
    return text


def time_text(record: Record) -> str:
    """`2026-06-01 03:12:07`, in UTC."""
    return f"{record.time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _what(record: Record) -> str:
    if record.kind == "Start":
        return f"is decided for {_to(record)}; the decision before is not known"
    if record.from_ is not None:
        text = f"moved from {_named(record.from_)} to {_to(record)}"
    else:
        text = f"has {record.count} clusters now: {_named(record.left)} left, {_named(record.joined)} joined"
    return (
        f"{text}, while no reconciler looked; this is when it was found" if record.kind == "Later" else text
    )


def _to(record: Record) -> str:
    return f"{record.count} clusters" if record.to is None else _named(record.to)


def _named(clusters: Iterable[str]) -> str:
    return names_text(clusters, most=MOST_NAMED) or "no cluster"


def _scores(record: Record) -> str:
    if not record.scores:
        return "  no score changed since the record before\n"
    shown = record.scores[:MOST_SCORES]
    rows = [
        [prioritizer_text(each.name), each.cluster, _value(each.before), _value(each.after)] for each in shown
    ]
    text = table(["score", "cluster", "before", "now"], rows, right={2, 3})
    more = len(record.scores) - len(shown) + record.more_scores
    return f"{text}  and {more} more scores\n" if more else text


def _largest_change(record: Record) -> ScoreChange | None:
    """The largest change of a score of a cluster that left or joined, if values before are known."""
    moved = {*record.left, *record.joined}
    known = [each for each in record.scores if each.cluster in moved and each.before is not None]
    return max(known, key=lambda each: abs((each.after or 0) - (each.before or 0)), default=None)


def _value(value: int | None) -> str:
    return "none" if value is None else str(value)
