"""Scorers: one row for each, with its health, its scores by state, and a summary."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.hub.times import age_text
from gitops_dsf.show.tables import table
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import plural

MAX_ROWS: Final = 40
"""Scorers shown without --all. Those with scores that are not fresh come first."""
_ALWAYS_COUNTED: Final = frozenset({ScoreState.FRESH, ScoreState.EXPIRED, ScoreState.MISSING})
"""States that have a column even if no score has them, so that a reader sees the 0."""
_WRONG: Final = frozenset(
    {ScoreState.EXPIRED, ScoreState.EMPTY, ScoreState.MISSING, ScoreState.ENDLESS}
)


def scorer_lines(views: Sequence[ScorerView], *, everything: bool) -> Iterator[str]:
    """Yields the table of scorers, and a line for each with scores at its defaultScore."""
    if not views:
        yield "  none"
        return
    visible = list(views)
    hidden: list[ScorerView] = []
    if not everything and len(views) > MAX_ROWS:
        ordered = sorted(views, key=lambda view: (_is_calm(view), view.scorer.name))
        visible = ordered[:MAX_ROWS]
        hidden = ordered[MAX_ROWS:]
    yield from _table(visible).splitlines()
    for view in visible:
        # An agent publishes defaultScore for a cluster without a series, and the published score
        # does not show that. So it is unknown which of the two it is.
        if view.at_default:
            yield (
                f"  {view.scorer.name}: {plural(view.at_default, 'score')} at defaultScore"
                f" {view.scorer.spec.default_score}: the source there has no series, or the score"
                " is the same"
            )
    if hidden and all(map(_is_calm, hidden)):
        yield f"  and {len(hidden)} more, all fresh; --scorer or --all shows them"
    elif hidden:
        yield f"  and {len(hidden)} more; --scorer or --all shows them"


def _is_calm(view: ScorerView) -> bool:
    """Whether all its scores are known and as they should be."""
    if not view.known or view.unexpected or view.failing:
        return False
    if view.scorer.health == "Inactive":
        return False
    return not any(view.counts[state] for state in _WRONG)


def _table(views: Sequence[ScorerView]) -> str:
    states = [state for state in ScoreState if _has_column(state, views)]
    has_unexpected = any(view.unexpected for view in views)
    headers = ["scorer", "health", "config", *map(str, states)]
    if has_unexpected:
        headers.append("unexpected")
    headers += ["min", "median", "max", "oldest"]
    rows = [_row(view, states, has_unexpected=has_unexpected) for view in views]
    return table(headers, rows, right=range(3, len(headers)))


def _has_column(state: ScoreState, views: Sequence[ScorerView]) -> bool:
    return state in _ALWAYS_COUNTED or any(view.counts[state] for view in views)


def _row(view: ScorerView, states: Sequence[ScoreState], *, has_unexpected: bool) -> list[str]:
    row = [view.scorer.name, health_text(view), config_text(view)]
    for state in states:
        row.append(_count_text(view, view.counts[state]))
    if has_unexpected:
        row.append(_count_text(view, len(view.unexpected)))
    row += map(_value_text, view.values)
    row.append("-" if view.oldest is None else age_text(view.oldest))
    return row


def _value_text(value: int | None) -> str:
    return "-" if value is None else str(value)


def _count_text(view: ScorerView, count: int) -> str:
    # Without the right to read scores or clusters every count is 0, which would say "none".
    return str(count) if view.known else "?"


def health_text(view: ScorerView) -> str:
    scorer = view.scorer
    # It runs nowhere, so whether its API is healthy is not what people want to know.
    if view.suspended:
        return f"suspended by {view.suspended}"
    if scorer.scored_by_query and not scorer.health:
        return "no API"
    if not scorer.health:
        return "not probed"
    condition = scorer.condition("Scored" if scorer.scored_by_query else "Healthy")
    # Where upstream's controller writes the health, ours may be another.
    if condition.reason and condition.status != "True" and scorer.health in {"Inactive", "Unknown"}:
        return f"{scorer.health} ({condition.reason})"
    return scorer.health


def config_text(view: ScorerView) -> str:
    """Whether /config still has the accepted content.

    A scorer in mode None, or without an API, has no /config.
    """
    if view.scorer.spec.mode != "Full" or view.scorer.scored_by_query:
        return "-"
    return view.scorer.condition("ConfigSynced").reason or "not probed"
