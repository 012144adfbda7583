"""The next score of a cluster after an edit of its scorer that leaves the raw scores alone.

A published score bounds the raw score behind it (`score_intervals`). So another scoreRange,
deadband, defaultScore or name of the score gives each item an interval, often of one number.

Guaranteed: the score that an agent with the edited scorer publishes for the raw score of its last
cycle is in the interval, both at once and after the next refresh. A score to which the edit does
nothing stays as it is.

Not guaranteed: anything about a raw score that has changed since. That includes a change that waits
for minIntervalSeconds, and cycles that failed after the score was published. Nor the next refresh
of a score to which the edit does nothing: it would be written without the edit, too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from dsf_wire.dimension import fill, label_placeholders, placeholders
from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.raw_results import RawResult
from gitops_dsf.hub.scorers import counted_span
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.resolve.computed_items import computed_items
from gitops_dsf.resolve.score_intervals import (
    mapped,
    published_next,
    raw_scores,
    within_deadband,
)
from gitops_dsf.resolve.scorer import EffectiveScorer

MISSING: Final = Interval(0, 0)
"""OCM counts a missing score, and a missing item, as 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NextScore:
    """The AddOnPlacementScore of one cluster after a change, as far as it is known."""

    why: str
    """The change."""
    exists: bool
    """Whether the hub has the score under its names already, and keeps it."""
    items: Mapping[str, Interval] = field(default_factory=dict)
    others: Interval = MISSING
    """The interval of every other item."""
    bounded: bool = True
    """Whether the present score limits the next one. If not, only a run shows it."""

    def interval(self, item: str) -> Interval:
        return self.items.get(item, self.others)

    @property
    def exact(self) -> bool:
        """Whether the next score is certain."""
        return self.others.exact and all(interval.exact for interval in self.items.values())


def unbounded(scorer: EffectiveScorer, why: str, *, exists: bool) -> NextScore:
    """A score that only the next run shows: anything that the scorer can publish, or nothing."""
    low, high = counted_span(scorer.published, scorer.spec.default_score)
    return NextScore(why=why, exists=exists, others=Interval(low, high), bounded=False)


def published_causes(before: EffectiveScorer, after: EffectiveScorer) -> tuple[str, ...]:
    """Changed fields that decide what is published of a raw score."""
    causes = []
    if before.score_range != after.score_range:
        causes.append("scoreRange")
    if before.spec.default_score != after.spec.default_score:
        causes.append("defaultScore")
    # With a larger deadband the present score stays, and a refresh comes with any deadband.
    if before.spec.publish.deadband > after.spec.publish.deadband:
        causes.append("publish.deadband")
    if before.score_name != after.score_name:
        causes.append("score name")
    if before.dimension_format != after.dimension_format:
        causes.append("scoreDimensionFormat")
    return tuple(causes)


def keeps_item_names(before: EffectiveScorer, after: EffectiveScorer) -> bool:
    """Whether the new name of every item is known: it is the old one, or the only one."""
    old = before.dimension_format
    new = after.dimension_format
    if old == new and (before.score_name == after.score_name or not _names_score(old)):
        return True
    return not label_placeholders(old) and not label_placeholders(new)


def is_renamed(before: EffectiveScorer, after: EffectiveScorer) -> bool:
    """Whether OCM finds the published scores under another name after the change."""
    # A score that is not published has no name on the hub.
    if "None" in (before.spec.score_destination, after.spec.score_destination):
        return False
    is_item = before.dimension_format != after.dimension_format
    if before.score_name != after.score_name:
        is_item = is_item or _names_score(before.dimension_format)
    return is_item or before.resource_name != after.resource_name


def _names_score(template: str) -> bool:
    return any(placeholder.name == "scoreName" for placeholder in placeholders(template))


@dataclass(frozen=True, eq=False)
class ScorerEdit:
    """A scorer before and after a change that leaves its raw scores as they are."""

    before: EffectiveScorer
    after: EffectiveScorer
    _computed: dict[int, Interval | None] = field(default_factory=dict)
    """The results of the agent with the new map, by the published score."""
    _followed: dict[tuple[object, ...], NextScore] = field(default_factory=dict)
    """The next scores, by the present items. Thousands of clusters share a few."""

    @property
    def why(self) -> str:
        return f"{', '.join(published_causes(self.before, self.after))} changed"

    @property
    def same_object(self) -> bool:
        """Whether the AddOnPlacementScore keeps its name."""
        return self.before.resource_name == self.after.resource_name

    def next_score(self, present: PublishedScore, *, cluster: str) -> NextScore:
        """The next score of a cluster, from its present score, which an agent has published."""
        # Without {cluster} in the names, clusters with equal scores have equal answers.
        key = (present.names, present.values, cluster if self._names_cluster else "")
        if key not in self._followed:
            self._followed[key] = self._follow(present, cluster)
        return self._followed[key]

    def next_by_results(
        self, present: PublishedScore, results: Iterable[RawResult], *, cluster: str, why: str
    ) -> NextScore | None:
        """The next score if the raw scores behind the present one are known.

        It is None if they cannot be those behind it, because the base makes other items of them:
        results are missing, or they are of another revision of the scorer.
        """
        raw_results = tuple(results)
        # A store can lag behind the hub, or hold raw scores of before the last edit.
        if set(computed_items(self.before, raw_results, cluster=cluster)) != set(present.names):
            return None
        if self._leaves_results and self._leaves_items:
            stays = {name: Interval(score, score) for name, score in present.items()}
            return NextScore(why=why, exists=True, items=stays)
        return self.next_computed(present, raw_results, cluster=cluster, why=why)

    def next_computed(
        self,
        present: PublishedScore | None,
        results: Iterable[RawResult],
        *,
        cluster: str,
        why: str,
    ) -> NextScore | None:
        """The next score if the edited scorer has these results; None if its cycle would fail.

        `present` is the score of now; None if there is none, or it has expired.
        """
        computed = computed_items(self.after, results, cluster=cluster)
        if not computed:
            return None
        is_kept = self.same_object and present is not None and set(present.names) == set(computed)
        if present is None or not is_kept:
            return NextScore(why=why, exists=False, items=computed)
        deadband = self.after.spec.publish.deadband
        for name, score in present.items():
            if not computed[name].meets(within_deadband(score, deadband=deadband)):
                # The agent writes all items together, as soon as one of them leaves the deadband.
                return NextScore(why=why, exists=True, items=computed)
        items = {
            name: published_next(computed[name], present=score, deadband=deadband)
            for name, score in present.items()
        }
        return NextScore(why=why, exists=True, items=items)

    @property
    def _leaves_items(self) -> bool:
        """Whether results make the same items as before."""
        before = self.before
        after = self.after
        return (
            self.same_object
            and before.dimension_format == after.dimension_format
            and before.score_name == after.score_name
            and before.spec.score_aggregation == after.spec.score_aggregation
        )

    @cached_property
    def _names_cluster(self) -> bool:
        """Whether the names of items depend on the cluster."""
        for template in (self.before.dimension_format, self.after.dimension_format):
            if any(placeholder.name == "cluster" for placeholder in placeholders(template)):
                return True
        return False

    def _follow(self, present: PublishedScore, cluster: str) -> NextScore:
        outcomes = []
        by_map = self._by_map(present, cluster)
        if by_map is not None:
            outcomes.append(by_map)
        if self._may_be_default(present, cluster):
            outcomes.append(self._by_default(present, cluster))
        if not outcomes:
            # Another program wrote it, or a revision of the scorer that is not the base.
            reason = f"{self.why}, and the present score is not one that the base publishes"
            return unbounded(self.after, reason, exists=self.same_object)
        # There are one or two outcomes. An item that only one of them has may be missing.
        names: dict[str, None] = {}
        for outcome in outcomes:
            names |= dict.fromkeys(outcome)
        items = {}
        for name in names:
            intervals = [outcome.get(name, MISSING) for outcome in outcomes]
            items[name] = intervals[0].joined(intervals[-1])
        is_kept = self.same_object and all(present.names == tuple(names) for names in outcomes)
        return NextScore(why=self.why, exists=is_kept, items=items)

    def next_missing(self, expired: PublishedScore | None, *, cluster: str) -> NextScore | None:
        """The next score of a cluster without one, or with an expired one; None if it stays so.

        A scorer that has given no result gives none by another map. But defaultScore is published
        where the source answers without series.
        """
        default = self.after.spec.default_score
        if default is None or self.before.spec.default_score is not None:
            return None
        name = self._default_item(self.after, cluster)
        # The cycle may fail before the source answers. Then the score stays missing.
        items = {name: MISSING.joined(Interval(default, default))}
        exists = self.same_object and expired is not None and expired.names == (name,)
        return NextScore(why=self.why, exists=exists, items=items)

    def _by_map(self, present: PublishedScore, cluster: str) -> dict[str, Interval] | None:
        """The items if the present ones come from results; None if they cannot."""
        names = self._new_names(present, cluster)
        if names is None:
            return None
        # Under a new name nothing is published yet, so no deadband holds the new score back.
        is_rewritten = not self.same_object or names != present.names
        items = {}
        for name, score in zip(names, present.values, strict=True):
            computed = self._compute(score)
            if computed is None:
                return None
            if is_rewritten:
                items[name] = computed
            elif self._leaves_results:
                items[name] = Interval(score, score)
            else:
                deadband = self.after.spec.publish.deadband
                items[name] = published_next(computed, present=score, deadband=deadband)
        return items

    @property
    def _leaves_results(self) -> bool:
        """Whether results are published as before. A larger deadband changes no present score."""
        before = self.before
        after = self.after
        is_tighter = after.spec.publish.deadband < before.spec.publish.deadband
        return before.score_range == after.score_range and not is_tighter

    def _compute(self, published: int) -> Interval | None:
        if published not in self._computed:
            deadband = self.before.spec.publish.deadband
            scores = within_deadband(published, deadband=deadband)
            raw = raw_scores(scores, self.before.score_range)
            self._computed[published] = None if raw is None else mapped(raw, self.after.score_range)
        return self._computed[published]

    def _new_names(self, present: PublishedScore, cluster: str) -> tuple[str, ...] | None:
        """The items under their new names; None if they are not named as the base names them."""
        before = self.before
        # The labels of results name these items, and an edit that renames them is left to the next
        # run (keeps_item_names).
        if label_placeholders(before.dimension_format):
            return present.names
        if present.names != (self._default_item(before, cluster),):
            return None
        return (self._default_item(self.after, cluster),)

    def _may_be_default(self, present: PublishedScore, cluster: str) -> bool:
        """Whether the source may have no series, so that the present score is defaultScore."""
        default = self.before.spec.default_score
        if default is None or present.names != (self._default_item(self.before, cluster),):
            return False
        deadband = self.before.spec.publish.deadband
        return within_deadband(default, deadband=deadband).holds(present.values[0])

    def _by_default(self, present: PublishedScore, cluster: str) -> dict[str, Interval]:
        """The items of a source without series."""
        default = self.after.spec.default_score
        if default is None:
            # The cycle fails. What is published counts until it expires, and the new name has none.
            if not self.same_object:
                return {}
            score = present.values[0]
            return {present.names[0]: MISSING.joined(Interval(score, score))}
        name = self._default_item(self.after, cluster)
        exactly = Interval(default, default)
        if not self.same_object or present.names != (name,):
            return {name: exactly}
        deadband = self.after.spec.publish.deadband
        return {name: published_next(exactly, present=present.values[0], deadband=deadband)}

    @staticmethod
    def _default_item(scorer: EffectiveScorer, cluster: str) -> str:
        """The only item of a format without labels."""
        return fill(
            scorer.dimension_format, cluster=cluster, score_name=scorer.score_name, labels={}
        )
