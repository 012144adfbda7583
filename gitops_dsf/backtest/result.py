"""The results of a backtest, as they are shown and printed as JSON.

Times are Unix seconds, regret is score points. Without numpy, so that the JSON Schema can be made
where numpy is not installed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.moves.flapping import DecisionChange


class FlappingEpisode(Struct, frozen=True, kw_only=True):
    """Returns that follow each other, and the score that caused them."""

    start: float
    end: float
    clusters: tuple[str, ...]
    """All clusters that were left or joined, in order of name."""
    returns: int
    """The number of moves that went back."""
    cause: str | None
    """Name of the AddOnPlacementScore with the largest swing; None if no score changed."""


class PacedFigures(Struct, frozen=True, kw_only=True, rename="camel"):
    """The figures of one Placement that the pace changes."""

    moves_without: int
    """Moves without the pace."""
    returns_without: int
    """The number of them that went back."""
    regret_without: float
    waits: int
    """The number of times that a move the scores asked for had to wait."""
    dropped: int
    """Waits that no move followed: the scores asked for it no longer, or the span was over."""
    longest_wait_seconds: float


class Figures(Struct, frozen=True, kw_only=True, rename="camel"):
    """The figures of one Placement over the whole span."""

    moves: int
    """The number of changes of the decision."""
    moves_range: tuple[int, int] | None
    """The fewest and the most moves, whenever agents score; None if that is not known."""
    moves_per_day: float | None
    """None for a history of less than an hour."""
    returns: int
    """The number of moves back to a cluster that had just been left."""
    regret: float
    """Score points behind the best choice: averaged over time, summed over the chosen clusters."""
    seconds_on: Mapping[str, float]
    """Time in the decision, by cluster, the longest first."""
    changes: tuple[DecisionChange, ...]
    flapping: tuple[FlappingEpisode, ...]
    paced: PacedFigures | UnsetType = UNSET
    """Absent where moves are not paced."""

    @property
    def causes(self) -> Sequence[str]:
        """The scores that caused flapping, the most frequent first."""
        counts = Counter(episode.cause for episode in self.flapping)
        return [name for name, _ in counts.most_common() if name is not None]


class TriedSetting(NamedTuple):
    """The fields that a trial changes."""

    stickiness: int
    deadband: int | None


class Trial(Struct, frozen=True, kw_only=True):
    """One setting that was tried, and what it leads to."""

    stickiness: int
    deadband: int | None
    """The deadband of all scorers that the Placement ranks by; None for the written ones."""
    moves: int
    returns: int
    """Moves back to a cluster that had just been left."""
    regret: float
    writes: int
    """Writes of the scores that the Placement ranks by, on all its candidates."""

    @property
    def setting(self) -> TriedSetting:
        """The setting that was tried."""
        return TriedSetting(self.stickiness, self.deadband)


class AdvisedField(Struct, frozen=True, kw_only=True):
    """A field of an object of the repository, and its advised value."""

    file: str
    """Relative to the repository."""
    line: int
    """The line of the field, or of the object if the field is not written."""
    field: str
    """`spec.stickiness`."""
    before: int
    after: int
    also: tuple[str, ...] = ()
    """Other Placements that it concerns: namespace/name, in order."""


class Advice(Struct, frozen=True, kw_only=True):
    """The settings that were tried for one Placement."""

    written: Trial
    recommended: Trial
    reason: str
    fields: tuple[AdvisedField, ...] = ()
    """The fields for the recommended values."""
    front: tuple[Trial, ...]
    """The trials with the fewest returns that no other one beats in moves and regret, by moves."""
    trials: tuple[Trial, ...]
    """All of them, by deadband and stickiness."""

    @property
    def changes(self) -> bool:
        """Whether something else than what is written is recommended."""
        return self.recommended.setting != self.written.setting

    @property
    def shown(self) -> tuple[Trial, ...]:
        """The front, and what is written, by moves and regret."""
        trials = {trial.setting: trial for trial in (*self.front, self.recommended, self.written)}
        return tuple(sorted(trials.values(), key=lambda trial: (trial.moves, trial.regret)))

    def mark(self, trial: Trial) -> str:
        """The mark of a trial in the advice: `recommended`, `written`, both, or nothing."""
        marks: list[str] = []
        if trial.setting == self.recommended.setting:
            marks.append("recommended")
        if trial.setting == self.written.setting:
            marks.append("written")
        return ", ".join(marks)


class DemandAdvice(Struct, frozen=True, kw_only=True):
    """A demand that recorded arrivals show."""

    scorer: str
    cases: int
    """Arrivals that nothing else disturbed."""
    mean: float
    """Points of the score that they took."""
    spread: float
    """The standard deviation."""
    field: AdvisedField


class VerifierEstimate(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The estimated failures of a check of moves where the Placement would have run.

    An estimate: the past has the scores of the application where it really ran.
    """

    scorer: str
    dimension: str
    at_least: int | None = None
    no_worse_than: int | None = None
    for_seconds: float
    seconds: float
    """The time for which the Placement was on a cluster and the score was known there."""
    failing_seconds: float
    """The part of this time in which the score was too low, in stretches of `for_seconds` or
    longer.
    """
    failures: int
    """These stretches."""
    unknown: str = ""
    """The reason why nothing is known of the score; empty if something is."""


class OrderFigures(Struct, frozen=True, kw_only=True, rename="camel"):
    """The order of a MultiKueueConfig's clusters in the past, as the scores would have set it."""

    config: str
    changes: int
    """The number of times that they were reordered."""
    changes_per_day: float | None
    """None for a history of less than an hour."""
    seconds_first: Mapping[str, float]
    """Time as the cluster that Kueue offers jobs first, by cluster, the longest first."""
    most_left_out: int
    """The most eligible clusters for which the list had no room at a time."""


class BacktestSpan(Struct, frozen=True, kw_only=True, rename="camel"):
    """The span and the decisions that are compared."""

    start: float
    end: float
    step: float
    waited_for: str
    """The score that did not exist before the start; empty if none was waited for."""


class BacktestSide(Struct, frozen=True, kw_only=True):
    """One revision, by namespace/name of the Placement."""

    title: str
    placements: Mapping[str, Figures]
    unknown: Mapping[str, str]
    """Placements that cannot be decided, and why."""
    gaps: Mapping[str, Mapping[str, float]]
    """The missing share of points, by name of the AddOnPlacementScore and cluster."""
    advice: Mapping[str, Advice]
    demands: Mapping[str, tuple[DemandAdvice, ...]] = {}
    """Demands of paced Placements that are better than those written."""
    unpaced: Mapping[str, str] = {}
    """Paced Placements that take no part in the pace, and why."""
    verification: Mapping[str, tuple[VerifierEstimate, ...]] | UnsetType = UNSET
    """The estimated failures of checks; absent if no Placement verifies its moves."""
    orders: Mapping[str, OrderFigures] | UnsetType = UNSET
    """The orders of clusters for Kueue; absent if no Placement has one."""


class BacktestResult(Struct, frozen=True, kw_only=True):
    """The output of `backtest`. The base is null if one revision was tested."""

    span: BacktestSpan
    base: BacktestSide | None
    head: BacktestSide
    notes: Sequence[str]
    limits: Sequence[str]
