"""The published scores after a change: unchanged, computed, removed or unknown."""

from collections.abc import Mapping
from dataclasses import dataclass

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.scorevalue import map_score
from gitops_dsf.hub.scores import Score, Scores
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.views.preview.scorers import Effect, asks_elsewhere, effect_of
from gitops_dsf.views.preview.version import FleetVersion


@dataclass(frozen=True, kw_only=True, slots=True)
class Unknown:
    """A score that is not known yet: its range (with 0, as it may be missing), and why."""

    low: int
    high: int
    why: str
    exists: bool
    """Whether the AddOnPlacementScore already exists. Its value is then a placeholder in the scores."""


@dataclass(frozen=True, kw_only=True)
class NextScores:
    """Scores after the change. An unknown score has its present value, if it has one."""

    scores: Scores
    unknown: Mapping[str, Mapping[str, Unknown]]
    """By AddOnPlacementScore name, then by cluster."""
    changed: frozenset[str]
    """Names of AddOnPlacementScores with a value that differs or is unknown on any cluster."""


def next_scores(base: FleetVersion | None, head: FleetVersion, snapshot: Snapshot) -> NextScores:
    """Computes the scores after a change. Scores that no scorer of the repository publishes do not change."""
    scores: dict[str, Mapping[str, Score]] = dict(snapshot.scores)
    unknown: dict[str, Mapping[str, Unknown]] = {}
    changed: set[str] = set()
    for resource in sorted({*head.by_resource, *(base.by_resource if base else ())}):
        step = _Resource(resource, base, head, snapshot.scores)
        if not step.differs:
            continue
        scores[resource], unknown[resource] = step.follow()
        if unknown[resource] or scores[resource] != snapshot.scores.get(resource, {}):
            changed.add(resource)
    return NextScores(scores=scores, unknown=unknown, changed=frozenset(changed))


class _Resource:
    """All AddOnPlacementScores of one name."""

    def __init__(self, resource: str, base: FleetVersion | None, head: FleetVersion, scores: Scores) -> None:
        self._before = base.by_resource.get(resource) if base else None
        self._after = head.by_resource.get(resource)
        self._ran = base.runs_on[self._before.name] if base and self._before else frozenset[str]()
        self._runs = head.runs_on[self._after.name] if self._after else frozenset[str]()
        self._table = scores.get(resource, {})
        self._effect: Effect = Effect.UNKNOWN
        self._causes: tuple[str, ...] = ()
        self._elsewhere = frozenset[str]()
        if self._before is not None and self._after is not None:
            self._effect, self._causes = effect_of(self._before, self._after)
            if base is not None:
                kept = self._ran & self._runs
                self._elsewhere = asks_elsewhere(self._before, self._after, base, head, kept)

    @property
    def differs(self) -> bool:
        return (
            self._ran != self._runs
            or bool(self._elsewhere)
            or (bool(self._ran) and self._effect is not Effect.NONE)
        )

    def follow(self) -> tuple[dict[str, Score], dict[str, Unknown]]:
        known: dict[str, Score] = {}
        unknown: dict[str, Unknown] = {}
        for cluster in sorted({*self._table, *self._ran, *self._runs}):
            present = self._table.get(cluster)
            after = present
            if cluster not in self._runs:
                # An agent removes the scores of a scorer that its configuration does not name any more.
                after = None if cluster in self._ran else present
            elif cluster not in self._ran:
                unknown[cluster] = self._unknown("it has not run on this cluster yet", present)
            elif self._effect is Effect.UNKNOWN:
                unknown[cluster] = self._unknown(f"{', '.join(self._causes)} changed", present)
            elif cluster in self._elsewhere:
                unknown[cluster] = self._unknown("source changed", present)
            elif self._effect is Effect.RANGE and present is not None:
                mapped = _mapped(present, self._after)
                if mapped is None:
                    unknown[cluster] = self._unknown(
                        "scoreRange changed and the raw score is not known", present
                    )
                after = mapped or present
            if after is not None:
                known[cluster] = after
        return known, unknown

    def _unknown(self, why: str, present: Score | None) -> Unknown:
        low, high = SCORE_MIN, SCORE_MAX
        score_range = self._after.spec.score_range if self._after else None
        if self._after is not None and score_range is not None:
            ends = (0, self._after.spec.default_score or 0, score_range.output_min, score_range.output_max)
            low, high = min(ends), max(ends)
        return Unknown(low=low, high=high, why=why, exists=present is not None)


def _mapped(present: Score, scorer: EffectiveScorer | None) -> Score | None:
    """The published values in a new range; None unless the raw scores of all dimensions are known."""
    if scorer is None or len(present.raw) != len(present.names):
        return None
    score_range = summarise(scorer).score_range
    values = []
    for raw in present.raw:
        if raw is None:
            return None
        values.append(map_score(raw, score_range).value)
    return Score(present.valid_until, present.names, tuple(values), present.raw)
