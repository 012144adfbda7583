"""Single scores and their age: a matrix of scorers by clusters, a list, or only unusual ones.

The form depends on the size of the screen. A fleet has hundreds of thousands of scores.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.hub.times import age_text
from gitops_dsf.show.tables import table
from gitops_dsf.views.status.scores import Cell, ScorerView
from gitops_dsf.wording import names_text, plural

MATRIX_CLUSTERS: Final = 20
"""A matrix of scores has at most this many clusters, so that it fits on a screen."""
MATRIX_SCORERS: Final = 6
"""A matrix of scores has at most this many scorers."""
MAX_LINES: Final = 10
"""Lines about scores that are not fresh, where there is no matrix."""
_NOT_FRESH: Final = (ScoreState.EXPIRED, ScoreState.EMPTY, ScoreState.MISSING)
"""States that are listed where there is no matrix, in this order. OCM counts all three as 0."""
_WITHOUT_VALUE: Final = frozenset(
    {ScoreState.MISSING, ScoreState.WAITING, ScoreState.MASKED, ScoreState.EMPTY}
)


def score_lines(scorers: Sequence[ScorerView], *, everything: bool) -> Iterator[str]:
    """Yields a matrix if it fits on a screen or everything is asked for, else what is not fresh.

    At least one of the scorers must count a cluster.
    """
    views = [scorer for scorer in scorers if scorer.shown]
    largest = max(scorer.shown for scorer in views)
    if len(views) <= MATRIX_SCORERS and (everything or largest <= MATRIX_CLUSTERS):
        # Scorers may have different clusters, so together there can be more than of the largest.
        clusters = _clusters(views)
        if everything or len(clusters) <= MATRIX_CLUSTERS:
            yield "Scores (and their age)"
            yield from _matrix(views, clusters).splitlines()
            return
    if everything:
        yield "Scores (and their age)"
        yield from _list(views).splitlines()
        return
    scorers_text = plural(len(views), "scorer")
    clusters_text = plural(largest, "cluster")
    yield (
        f"Scores: {scorers_text} x {clusters_text}, too many for a screen; --scorer, --cluster or"
        " --all shows them"
    )
    yield from _not_fresh(views)


def _clusters(views: Sequence[ScorerView]) -> list[str]:
    """All clusters of these scorers, sorted."""
    names: set[str] = set()
    for view in views:
        for cell in view.cells():
            names.add(cell.cluster)
    return sorted(names)


def _matrix(views: Sequence[ScorerView], clusters: Sequence[str]) -> str:
    """One row for each cluster, one column for each scorer."""
    headers = ["cluster"]
    rows = {name: [name] for name in clusters}
    for view in views:
        headers.append(view.scorer.name)
        cells = {cell.cluster: cell for cell in view.cells()}
        for name, row in rows.items():
            # A scorer need not run on every cluster.
            row.append(_cell_text(cells.get(name)))
    return table(headers, rows.values())


def _list(views: Sequence[ScorerView]) -> str:
    """One row for each score, because a matrix of many scorers is wider than any terminal."""
    rows: list[list[str]] = []
    for view in views:
        for cell in view.cells():
            rows.append([view.scorer.name, cell.cluster, _cell_text(cell)])
    return table(["scorer", "cluster", "score"], rows)


def _not_fresh(views: Sequence[ScorerView]) -> Iterator[str]:
    lines = []
    for view in views:
        for state in _NOT_FRESH:
            clusters = view.unusual.get(state)
            if clusters:
                lines.append(f"  {view.scorer.name} {state}: {names_text(clusters)}")
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"  and {len(lines) - MAX_LINES} more such lines"


def _cell_text(cell: Cell | None) -> str:
    """Formats `57 (3 min)`, `12..90 of 4 (8 min) expiring`, `masked`."""
    if cell is None:
        return "-"
    if cell.state in _WITHOUT_VALUE:
        return str(cell.state)
    # A scorer with dimensions publishes several values for a cluster.
    values = sorted(cell.values.values())
    text = str(values[0])
    if len(values) > 1:
        text = f"{values[0]}..{values[-1]} of {len(values)}"
    if cell.age_seconds is not None:
        text += f" ({age_text(cell.age_seconds)})"
    if cell.state is not ScoreState.FRESH:
        text += f" {cell.state}"
    if not cell.expected:
        text += " unexpected"
    return text
