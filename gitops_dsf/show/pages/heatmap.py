"""The scores of a fleet as a heat map: clusters by scorers.

A fleet of 2,000 clusters and 50 scorers has 100,000 cells, which no browser opens in two seconds as
a table. So the page has the first rows as a table, and all cells as compact data from which its
script draws the rows in view. Guaranteed: nothing is left out. Without the script, `groups` still
names all scores that are not as they should be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec
from markupsafe import Markup

from dsf_wire.text import printable
from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.show.status.clusters import cluster_text
from gitops_dsf.views.status.clusters import ClusterView
from gitops_dsf.views.status.scores import USUAL, Cell, ScorerView

MAX_CELLS: Final = 1_500
"""Cells in the table that needs no script."""
MIN_ROWS: Final = 15
"""Rows of that table, however many scorers there are."""
MAX_NAMED: Final = 40
"""Clusters that a group names. The heat map and `-o json` have all of them."""
MAX_FAILURES: Final = 2_000
"""Different messages about failures that the page has. Other cells have only the reason."""
_NONE: Final = " "
"""Stands for a cluster on which a scorer does not run."""


class StateMark(NamedTuple):
    """The mark of a state. Each state has one, because not everybody sees colours."""

    name: str
    mark: str
    severity: int
    """Rows with the highest sum come first."""
    meaning: str


MARKS: Final[Mapping[ScoreState, StateMark]] = {
    ScoreState.FRESH: StateMark("fresh", "", 0, "counts"),
    ScoreState.EXPIRING: StateMark("expiring", " !", 1, "counts, and should have been renewed"),
    ScoreState.EXPIRED: StateMark("expired", " ✕", 40, "too old, counts as 0"),
    ScoreState.MISSING: StateMark("missing", "–", 50, "never published, counts as 0"),
    ScoreState.EMPTY: StateMark("empty", "∅", 40, "published without a value, counts as 0"),
    ScoreState.WAITING: StateMark("waiting", "…", 2, "new: the first score is not due yet"),
    ScoreState.MASKED: StateMark("masked", "m", 0, "a mask excludes the cluster"),
    ScoreState.ENDLESS: StateMark("endless", " ∞", 5, "without an end, so it never expires"),
}
FAILURE_SEVERITY: Final = 10
"""The severity of a scorer that fails now, also while its last score still counts."""
CLUSTER_SEVERITY: Final = 20
"""The severity of a cluster that is not reached, tainted or being deleted."""
_LETTERS: Final = {state: chr(ord("a") + index) for index, state in enumerate(MARKS)}
"""One letter for each state, in the data."""


class StateCount(NamedTuple):
    """A state with how many cells have it."""

    letter: str
    state: StateMark
    cells: int


class ReasonCount(NamedTuple):
    """A reason why there are no scores, with how many cells have it."""

    reason: str
    cells: int


class HeatCell(NamedTuple):
    """A cell of the table."""

    classes: str
    """The classes for its state, and for whether the scorer fails there."""
    text: str
    """The value with the mark of the state."""
    title: str
    spoken: str
    """The text that a screen reader adds; empty for a fresh score without a failure."""


class HeatRow(NamedTuple):
    """A cluster of the table."""

    cluster: str
    note: str
    cells: tuple[HeatCell | None, ...]


class StateGroup(NamedTuple):
    """Clusters on which a scorer has the same problem."""

    scorer: str
    state: StateMark
    reason: str
    """The reason, as the agent gives it; empty if it gives none."""
    message: str
    """The message of the first of the clusters."""
    total: int
    clusters: tuple[str, ...]
    """The first of them."""

    @property
    def more(self) -> int:
        """The number of clusters that are not named."""
        return self.total - len(self.clusters)


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """The content of the heat map."""

    scorers: tuple[str, ...]
    clusters: int
    rows: tuple[HeatRow, ...]
    """The first rows, those with problems first."""
    counts: tuple[StateCount, ...]
    reasons: tuple[ReasonCount, ...]
    groups: tuple[StateGroup, ...]
    data: Markup
    """Every cell as JSON, for the script of the page."""

    @property
    def whole(self) -> bool:
        """Whether the table has every cluster."""
        return len(self.rows) == self.clusters


class _Column(msgspec.Struct):
    """The cells of a scorer, by index of the cluster."""

    s: str
    """States, one letter for each cluster."""
    v: list[int | str | None]
    """Values: a number, or `12..90` for a score with several."""
    a: list[int | None]
    """Ages in minutes."""
    f: list[int | None]
    """Indexes of failures; empty if the scorer fails nowhere."""


class _Failure(msgspec.Struct, frozen=True):
    """The reason why a scorer gives no scores."""

    reason: str
    message: str


class _Data(msgspec.Struct):
    clusters: list[str]
    notes: dict[int, str]
    """The problems of the clusters themselves."""
    scorers: list[str]
    states: dict[str, dict[str, str]]
    columns: list[_Column]
    failures: list[_Failure]
    order: list[int]
    """Indexes of clusters, those with problems first."""


@dataclass(kw_only=True)
class _HeatmapTally:
    """The counts while the cells of one scorer after the other are read."""

    severity: list[int]
    """The severity of each cluster, by its index."""
    counts: Counter[ScoreState] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    groups: dict[tuple[str, ScoreState, str], list[str]] = field(default_factory=dict)
    messages: dict[tuple[str, ScoreState, str], str] = field(default_factory=dict)
    """The message of the first cluster of each group."""
    failures: dict[_Failure, int] = field(default_factory=dict)
    """Different failures, with their indexes."""

    def failure(self, cell: Cell) -> int | None:
        """Counts the failure of a cell, and returns its index."""
        if cell.failure is None:
            return None
        reason = printable(cell.failure.reason)
        self.reasons[reason] += 1
        # Equal messages are one entry, to which the cells point: most failures have one cause.
        failure = _Failure(reason, printable(cell.failure.message))
        if failure not in self.failures and len(self.failures) >= MAX_FAILURES:
            # A fleet in which every cluster has another message would make a page too large.
            failure = _Failure(reason, "gitops-dsf status --cluster shows the message")
        return self.failures.setdefault(failure, len(self.failures))


def heat_map(clusters: Sequence[ClusterView], scorers: Sequence[ScorerView]) -> HeatMap | None:
    """The heat map; None if there is no score to show."""
    names = _names(clusters, scorers)
    # Indexes and not names: a hundred thousand cells would repeat them.
    index_of = {name: index for index, name in enumerate(names)}
    if not names or not scorers:
        return None
    tally = _HeatmapTally(severity=[0] * len(names))
    notes: dict[int, str] = {}
    for cluster in clusters:
        if not cluster.calm:
            index = index_of[cluster.cluster]
            notes[index] = printable(cluster_text(cluster))
            tally.severity[index] = CLUSTER_SEVERITY
    columns = [_column(scorer, index_of, tally) for scorer in scorers]
    order = sorted(range(len(names)), key=lambda index: (-tally.severity[index], index))
    titles = tuple(scorer.scorer.name for scorer in scorers)
    states: dict[str, dict[str, str]] = {}
    for state, mark in MARKS.items():
        states[_LETTERS[state]] = {"name": mark.name, "mark": mark.mark}
    data = _Data(
        clusters=list(map(printable, names)),
        notes=notes,
        scorers=list(map(printable, titles)),
        states=states,
        columns=columns,
        failures=list(tally.failures),
        order=order,
    )
    visible = order[: max(MIN_ROWS, MAX_CELLS // len(scorers))]
    return HeatMap(
        scorers=titles,
        clusters=len(names),
        rows=tuple(_rows(data, visible)),
        counts=tuple(_counts(tally.counts)),
        reasons=tuple(ReasonCount(*pair) for pair in tally.reasons.most_common()),
        groups=tuple(_groups(tally)),
        data=_script_json(data),
    )


def _names(clusters: Sequence[ClusterView], scorers: Sequence[ScorerView]) -> list[str]:
    """Every cluster, sorted: also one that only a score names, where clusters could not be read."""
    names = {view.cluster for view in clusters}
    for view in scorers:
        names.update(view.published, view.expected, view.masked)
    return sorted(names)


def _column(view: ScorerView, index_of: Mapping[str, int], tally: _HeatmapTally) -> _Column:
    states = [_NONE] * len(index_of)
    values: list[int | str | None] = [None] * len(index_of)
    ages: list[int | None] = [None] * len(index_of)
    failures: list[int | None] = [None] * len(index_of)
    for cell in view.cells():
        index = index_of[cell.cluster]
        states[index] = _LETTERS[cell.state]
        values[index] = _value(cell)
        ages[index] = None if cell.age_seconds is None else cell.age_seconds // 60
        tally.counts[cell.state] += 1
        tally.severity[index] += MARKS[cell.state].severity
        failures[index] = tally.failure(cell)
        reason = ""
        message = ""
        if cell.failure is not None:
            tally.severity[index] += FAILURE_SEVERITY
            reason = cell.failure.reason
            message = cell.failure.message
        if cell.state not in USUAL or cell.failure is not None:
            key = view.scorer.name, cell.state, reason
            tally.groups.setdefault(key, []).append(cell.cluster)
            tally.messages.setdefault(key, message)
    # Most scorers fail nowhere, and a list of nothing for each cluster would make the page larger.
    is_failing = any(failure is not None for failure in failures)
    return _Column(s="".join(states), v=values, a=ages, f=failures if is_failing else [])


def _value(cell: Cell) -> int | str | None:
    """`57`, or `12..90` of a score with several values."""
    if not cell.values:
        return None
    lowest = min(cell.values.values())
    highest = max(cell.values.values())
    return lowest if len(cell.values) == 1 else f"{lowest}..{highest}"


def _rows(data: _Data, indexes: Sequence[int]) -> Iterator[HeatRow]:
    """The same rows that the script draws."""
    for index in indexes:
        cells: list[HeatCell | None] = []
        for column in data.columns:
            cells.append(_cell(data, column, index))
        yield HeatRow(data.clusters[index], data.notes.get(index, ""), tuple(cells))


def _cell(data: _Data, column: _Column, index: int) -> HeatCell | None:
    state = data.states.get(column.s[index])
    if state is None:
        return None
    value = column.v[index]
    age = column.a[index]
    text = "" if value is None else str(value)
    parts = [text, state["name"]] if text else [state["name"]]
    if age is not None:
        parts.append(f"{age} min old")
    title = ", ".join(parts)
    position = column.f[index] if column.f else None
    classes = state["name"]
    if position is not None:
        failure = data.failures[position]
        title = f"{title}: {failure.reason}: {failure.message}"
        classes += " failing"
    return HeatCell(
        classes=classes,
        text=text + state["mark"],
        title=title,
        spoken=title if state["mark"] or position is not None else "",
    )


def _counts(counts: Counter[ScoreState]) -> Iterator[StateCount]:
    for state, mark in MARKS.items():
        if counts[state]:
            yield StateCount(_LETTERS[state], mark, counts[state])


def _groups(tally: _HeatmapTally) -> Iterator[StateGroup]:
    """The groups with most clusters first."""
    # Equally large groups are sorted by name, so that the same hub has the same page.
    largest_first = sorted(tally.groups, key=lambda key: (-len(tally.groups[key]), key))
    for key in largest_first:
        scorer, state, reason = key
        clusters = tally.groups[key]
        yield StateGroup(
            scorer=scorer,
            state=MARKS[state],
            reason=reason,
            message=tally.messages[key],
            total=len(clusters),
            clusters=tuple(clusters[:MAX_NAMED]),
        )


def _script_json(data: _Data) -> Markup:
    """JSON that may stand in a `script` element: no text in it can end the element."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # JSON of our own, in which no character is left that HTML reads.
    return Markup(text)  # noqa: S704
