"""Effects of a change on each scorer: its fields, clusters, scores, and credentials."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, structs

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.scorers import scorer as rendered
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.views.preview.credentials import CredentialSent, newly_sent
from gitops_dsf.views.preview.fields import (
    ChangeKind,
    FieldChange,
    field_changes,
    written_metadata,
)
from gitops_dsf.views.preview.nextscores import NextScores
from gitops_dsf.views.preview.scorershift import ScoreEffect, ScorerShift, shift_of

_DESTINATION_FIELDS: Final = frozenset({"configURL", "host", "query"})
"""Fields that say what a scorer asks, and where metrics go. Of a new scorer only these are shown.
"""


class ScorerChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """The change of one scorer."""

    name: str
    change: ChangeKind
    fields: tuple[FieldChange, ...]
    gained: tuple[str, ...]
    """Clusters where it runs only after the change, sorted."""
    lost: tuple[str, ...]
    """Clusters where it no longer runs. Their scores are removed and count as 0."""
    kept: int
    """The number of clusters where it runs before and after."""
    effect: ScoreEffect
    unknown_because: tuple[str, ...]
    """Fields whose change alone makes the raw scores unknown."""
    other_source: tuple[str, ...]
    """Clusters that keep it with another variant of its MetricSource, sorted.

    Their raw scores are unknown.
    """
    credentials: tuple[CredentialSent, ...]


def scorer_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[ScorerChange, ...]:
    """The scorers that differ, by name. Without a base, every scorer is new."""
    base_scorers = {} if base is None else base.scorer_by_name
    changes = []
    for name in sorted({*head.scorer_by_name, *base_scorers}):
        shift = shift_of(base_scorers.get(name), head.scorer_by_name.get(name), base, head)
        change = _scorer_change(name, shift, base, head)
        if change.change is not ChangeKind.CHANGED or _differs(change, shift, base, head):
            changes.append(change)
    return tuple(changes)


def with_raw_scores(
    changes: Iterable[ScorerChange], base: CheckedFleet, head: CheckedFleet, scores: NextScores
) -> tuple[ScorerChange, ...]:
    """The changes, where what a metric store has makes unknown scores known."""
    marked = []
    for change in changes:
        is_known = False
        if change.effect is ScoreEffect.UNKNOWN and change.kept:
            kept = base.runs_on[change.name] & head.runs_on[change.name]
            resource = head.scorer_by_name[change.name].resource_name
            # A scorer that publishes nothing has no next scores.
            is_known = resource in head.scorer_by_resource and scores.is_bounded(resource, kept)
        marked.append(structs.replace(change, effect=ScoreEffect.KNOWN) if is_known else change)
    return tuple(marked)


def altered(change: ScorerChange, base: CheckedFleet | None, head: CheckedFleet) -> frozenset[str]:
    """Clusters that keep a scorer and whose scores may differ after the change."""
    if change.effect is ScoreEffect.NONE:
        return frozenset(change.other_source)
    if base is None:
        return frozenset()
    ran = base.runs_on.get(change.name, frozenset())
    return ran & head.runs_on.get(change.name, frozenset())


def rescored(
    changes: Iterable[ScorerChange], base: CheckedFleet | None, head: CheckedFleet
) -> dict[str, frozenset[str]]:
    """The clusters of each scorer whose score is added, removed or may differ after the change."""
    clusters: dict[str, frozenset[str]] = {}
    for change in changes:
        clusters[change.name] = altered(change, base, head).union(change.gained, change.lost)
    return clusters


def _scorer_change(
    name: str, shift: ScorerShift, base: CheckedFleet | None, head: CheckedFleet
) -> ScorerChange:
    return ScorerChange(
        name=name,
        change=ChangeKind.of(shift.before, shift.after),
        fields=tuple(_shown_fields(shift, base, head)),
        gained=tuple(sorted(shift.joined)),
        lost=tuple(sorted(shift.left)),
        kept=len(shift.ran & shift.runs),
        effect=shift.effect,
        unknown_because=shift.causes,
        other_source=tuple(sorted(shift.other_variant)),
        credentials=newly_sent(shift.before, shift.after, base, head),
    )


def _differs(
    change: ScorerChange, shift: ScorerShift, base: CheckedFleet | None, head: CheckedFleet
) -> bool:
    """Whether a scorer of both sides is worth an entry of its own."""
    if change.fields or change.credentials or shift.other_variant:
        return True
    # A cluster that joins or leaves the inventory is not a change of its scorers.
    inventory_before = frozenset[str]() if base is None else base.cluster_names
    stayed = inventory_before & head.cluster_names
    return bool((shift.ran ^ shift.runs) & stayed)


def _shown_fields(
    shift: ScorerShift, base: CheckedFleet | None, head: CheckedFleet
) -> Iterator[FieldChange]:
    """The fields that differ; of a new scorer only what it asks, and of a removed one none."""
    if shift.after is None:
        return
    # A new scorer is a new file in the pull request, which reviewers read. What matters beside it
    # is where data goes, which a lock or a default may have decided.
    for field in field_changes(_fields(shift.before, base), _fields(shift.after, head)):
        if shift.before is not None or _is_destination(field.path):
            yield field


def _is_destination(path: str) -> bool:
    """Whether a field is a query of a scorer, or a destination of metrics."""
    section, _, name = path.rpartition(".")
    if name in _DESTINATION_FIELDS:
        return True
    return section.endswith(("source.parameters", "].parameters"))


def _fields(scorer: EffectiveScorer | None, fleet: CheckedFleet | None) -> Mapping[str, Any]:
    """The effective fields as the hub sees them, and what people wrote into the metadata.

    So a changed lock counts like an edited scorer.
    """
    if scorer is None or fleet is None:
        return {}
    return {
        "metadata": written_metadata(scorer.declared.value.metadata),
        **rendered(scorer, fleet.by_variant[scorer.name], fleet.repository)["spec"],
    }
