"""Records of the journal, for a terminal: a table of moves, and one move explained.

A record of a verification, or of a list for Kueue, is one line of the table, and all of it where it
is explained.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from dsf_wire.text import printable_lines
from gitops_dsf.hub.moves.measured import check_text, decided_text
from gitops_dsf.hub.points import points_text
from gitops_dsf.journal.cause import largest_change, scores_of_people
from gitops_dsf.journal.record import Record, RecordedOrder, RecordedVerification
from gitops_dsf.show.explanations import explanation_text
from gitops_dsf.show.tables import table
from gitops_dsf.wording import names_text, prioritizer_text

MAX_NAMED: Final = 3
"""Clusters of a decision that are named."""
MAX_SCORES: Final = 20
"""Changed scores of a move that are shown."""
_OUTCOMES: Final = {
    "Passed": "verified",
    "Returned": "verification failed, it goes back",
    "Failed": "verification failed, it has nowhere to return to",
    "UnknownCompleted": "not verified in time, completed nevertheless",
    "NotReturned": "it could not go back, so it stays where it does worse",
    "Overtaken": "not verified, OCM decided again meanwhile",
}
"""The name of each outcome. Another version may have written one that is not here."""


def log_text(records: Sequence[Record]) -> str:
    """Formats a table with one line for each record."""
    headers = ["time (UTC)", "placement", "from", "to", "cause", "commit"]
    rows = []
    for record in records:
        before = before_text(record)
        cause = cause_text(record)
        commit = record.commit[:10]
        rows.append(
            [time_text(record), record.placement, before, after_text(record), cause, commit]
        )
    return table(headers, rows)


def cause_text(record: Record) -> str:
    """Formats the recorded cause.

    Of a verification it is how that was decided, and of a list for Kueue what changed it. Versions
    that recorded no cause had the largest change of a score in its place.
    """
    if record.verification is not None:
        return verification_text(record.verification)
    if record.order is not None:
        return f"{record.order.config}: {record.order.reason}"
    if record.cause is not None:
        return str(record.cause)
    # The journal is never rewritten, so old records are read for as long as the branch exists.
    change = largest_change(record)
    if change is None:
        return ""
    before = _value(change.before)
    after = _value(change.after)
    return f"{prioritizer_text(change.name)} of {change.cluster} {before} -> {after}"


def explained_text(record: Record) -> str:
    """Formats a move with its cause, the scores that changed, and the points of the clusters.

    Of a verification it formats what was measured, and of a list for Kueue all its clusters.
    """
    if record.verification is not None:
        return printable_lines(_verification_lines(record, record.verification))
    if record.order is not None:
        return printable_lines(_order_lines(record, record.order))
    text = printable_lines(_head(record)) + "\n" + _scores(record)
    for reason in record.clusters:
        text += "\n" + explanation_text(reason, placement=record.placement)
    return text


def verification_text(verification: RecordedVerification) -> str:
    """Formats `verified: shop-slo/shop 84 of at least 80`, or how else it was decided."""
    title = _OUTCOMES.get(verification.outcome, verification.outcome)
    decided = decided_text(verification.checks, verification.detail)
    return f"{title}: {decided}" if decided else title


def _verification_lines(record: Record, verification: RecordedVerification) -> Iterator[str]:
    """The values that were measured where a move led, check by check."""
    title = _OUTCOMES.get(verification.outcome, verification.outcome)
    yield (
        f"{time_text(record)} UTC: {record.placement}, {verification.source or 'new'} ->"
        f" {verification.target}: {title}"
    )
    yield f"  the move began at {_utc_text(verification.since)} UTC"
    # A decision without a measurement has a reason in place of the checks.
    if verification.detail:
        yield f"  {verification.detail}"
        return
    for check in verification.checks:
        text = check_text(check.score, check.value, check.at_least)
        if check.before is None:
            yield f"  {text}"
        else:
            yield f"  {text}; {check.before} on {verification.source} before the move"


def _order_lines(record: Record, order: RecordedOrder) -> Iterator[str]:
    """A list for Kueue, best first, with points."""
    yield (
        f"{time_text(record)} UTC: {record.placement} orders the clusters of MultiKueueConfig"
        f" {order.config}"
    )
    yield f"  cause: {order.reason}"
    for rank, name in enumerate(order.after, 1):
        points = order.points.get(name)
        # A cluster on which a job runs stays in the list, also without a score.
        if points is None:
            yield f"  {rank}. {name}, no points"
        else:
            yield f"  {rank}. {name}, {points_text(points)} points"
    if order.left_out:
        yield f"  no room for {names_text(order.left_out)}"


def _head(record: Record) -> Iterator[str]:
    """The application that moved, with cause and time."""
    yield f"{time_text(record)} UTC: {record.placement} {_what(record)}"
    if len(record.applications) == 1:
        yield f"  ApplicationSet {record.applications[0]}"
    elif record.applications:
        yield f"  ApplicationSets {', '.join(record.applications)}"
    if record.cause is not None:
        yield f"  cause: {record.cause}"
    yield f"  live commit of the fleet repository: {record.commit or 'not known'}"
    if record.admitted is not None:
        admitted = _utc_text(record.admitted)
        if record.gain is None:
            yield f"  admitted at {admitted} UTC"
        else:
            yield (
                f"  admitted at {admitted} UTC, for {record.gain:+.1f} points by the written"
                " weights"
            )
    if record.doubt:
        yield f"  note: {record.doubt}"


def time_text(record: Record) -> str:
    """Formats `2026-06-01 03:12:07`, in UTC."""
    return _utc_text(record.time)


def _utc_text(time: datetime) -> str:
    # A journal may be written in one time zone and read in another, so all times are UTC.
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _what(record: Record) -> str:
    """The change of the decision."""
    # The first record after the journal was turned on has nothing to compare with.
    if record.kind == "Start":
        return f"is decided for {after_text(record)}; the decision before is not known"
    # A decision of very many clusters is not recorded name by name.
    if record.from_ is None:
        change = (
            f"has {record.count} clusters now: {_named(record.left)} left,"
            f" {_named(record.joined)} joined"
        )
    else:
        change = f"moved from {_named(record.from_)} to {after_text(record)}"
    # A move that was found late has the time of the look, not of the move.
    clauses = [change]
    if record.kind == "Later":
        clauses.append("while no reconciler looked; this is when it was found")
    return ", ".join(clauses)


def before_text(record: Record) -> str:
    """Formats the clusters of the decision before; a question mark if they are not known.

    Of a verification it is the cluster that the move left, and of a list for Kueue the list before.
    """
    if record.verification is not None:
        return record.verification.source or "new"
    if record.order is not None:
        return _named(record.order.before)
    return "?" if record.from_ is None else _named(record.from_)


def after_text(record: Record) -> str:
    """Formats the clusters of the new decision, or their number.

    Of a verification it is the cluster where the move led, and of a list for Kueue the list.
    """
    if record.verification is not None:
        return record.verification.target
    if record.order is not None:
        return _named(record.order.after)
    return f"{record.count} clusters" if record.to is None else _named(record.to)


def _named(clusters: Iterable[str]) -> str:
    """The first clusters, in the given order."""
    return names_text(clusters, max_names=MAX_NAMED) or "no cluster"


def _scores(record: Record) -> str:
    scores = scores_of_people(record)
    if not scores:
        return "  no score changed since the record before\n"
    visible = scores[:MAX_SCORES]
    rows = []
    for score in visible:
        name = prioritizer_text(score.name)
        rows.append([name, score.cluster, _value(score.before), _value(score.after)])
    text = table(["score", "cluster", "before", "now"], rows, right={2, 3})
    # The record itself leaves out some, too, if there are too many.
    hidden = len(scores) - len(visible) + record.more_scores
    return f"{text}  and {hidden} more scores\n" if hidden else text


def _value(value: int | None) -> str:
    return "none" if value is None else str(value)
