"""What a change does to an object's fields, and to each scorer: clusters, and whether scores are known."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.platform import scorer as rendered
from gitops_dsf.repository.model.base import Metadata
from gitops_dsf.resolve.credentials import Kind, Sent, credentials, in_words, sent, sent_by_hub
from gitops_dsf.resolve.scorer import EffectiveScorer

_PLACES: Final = frozenset({"configURL", "host", "query"})


class FieldChange(Struct, frozen=True, kw_only=True):
    """One field: its path (such as `source.params.query`), and its value before and after; None if it is
    missing.
    """

    path: str
    before: Any
    after: Any


class Change(StrEnum):
    """What happened to an object."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class Effect(StrEnum):
    """What a change of a scorer does to the scores of clusters that keep it."""

    NONE = "none"
    RANGE = "range"
    """Only the mapping from raw to published scores changes. A cluster without a score gets none by it."""
    UNKNOWN = "unknown"
    """The raw scores change. They are unknown until the scorer has run."""


class CredentialSent(Struct, frozen=True, kw_only=True):
    """A credential that a scorer did not send before. Without a Secret it is the token of the agent's pod."""

    section: str
    kind: str
    secret: str | None
    to: str

    def __str__(self) -> str:
        return f"{in_words(Kind(self.kind), self.secret)} to {self.to}"


class ScorerChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """The change of one scorer."""

    name: str
    change: Change
    fields: tuple[FieldChange, ...]
    gained: tuple[str, ...]
    """Clusters where it runs only after the change, sorted."""
    lost: tuple[str, ...]
    """Clusters where it no longer runs. Their scores are removed and count as 0."""
    kept: int
    """The number of clusters where it runs before and after."""
    effect: Effect
    unknown_because: tuple[str, ...]
    """Fields whose change makes the raw scores unknown."""
    other_source: tuple[str, ...]
    """Clusters that keep it with another variant of its MetricSource, sorted. Raw scores are unknown."""
    credentials: tuple[CredentialSent, ...]


def altered(change: ScorerChange, base: CheckedFleet | None, head: CheckedFleet) -> frozenset[str]:
    """Clusters that keep a scorer and whose scores may differ after the change."""
    if change.effect is Effect.NONE:
        return frozenset(change.other_source)
    ran = base.runs_on.get(change.name, frozenset()) if base else frozenset[str]()
    return ran & head.runs_on.get(change.name, frozenset())


def rescored(
    changes: Iterable[ScorerChange], base: CheckedFleet | None, head: CheckedFleet
) -> dict[str, frozenset[str]]:
    return {
        change.name: altered(change, base, head).union(change.gained, change.lost)
        for change in changes
    }


def scorer_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[ScorerChange, ...]:
    names = sorted({*head.scorer_by_name, *(base.scorer_by_name if base else ())})
    return tuple(found for name in names for found in _changes(name, base, head))


@dataclass(frozen=True)
class Shift:
    """A scorer before and after a change: where it ran and runs, and what becomes of its scores there."""

    before: EffectiveScorer | None
    after: EffectiveScorer | None
    ran: frozenset[str]
    runs: frozenset[str]
    effect: Effect
    """Variants of MetricSources apart. NONE if the scorer comes or goes."""
    causes: tuple[str, ...]
    elsewhere: frozenset[str]


def shift_of(
    before: EffectiveScorer | None,
    after: EffectiveScorer | None,
    base: CheckedFleet | None,
    head: CheckedFleet,
) -> Shift:
    """What a change does to a scorer that is in the base as `before` and in the head as `after`."""
    ran = base.runs_on[before.name] if base and before else frozenset[str]()
    runs = head.runs_on[after.name] if after else frozenset[str]()
    effect, elsewhere = Effect.NONE, frozenset[str]()
    causes: tuple[str, ...] = ()
    if base and before and after:
        causes = raw_causes(before, after)
        if before.spec.score_aggregation != after.spec.score_aggregation:
            causes += ("scoreAggregation",)
        if before.dimension_format != after.dimension_format:
            causes += ("scoreDimensionFormat",)
        if causes:
            effect = Effect.UNKNOWN
        elif before.spec.score_range != after.spec.score_range:
            effect = Effect.RANGE
        elsewhere = frozenset(_asks_elsewhere(before, after, base, head, ran & runs))
    return Shift(before, after, ran, runs, effect, causes, elsewhere)


def raw_causes(before: EffectiveScorer, after: EffectiveScorer) -> tuple[str, ...]:
    """Changed fields that make past raw scores useless. Items can be computed anew from them."""
    return tuple(title for title, old, new in _raw_inputs(before, after) if old != new)


def _raw_inputs(before: EffectiveScorer, after: EffectiveScorer) -> Iterator[tuple[str, Any, Any]]:
    """Everything that a raw score and its labels depend on."""
    if before.spec.source.ref is None and after.spec.source.ref is None:
        yield from _places(before, after)
    yield "query", before.spec.source.params.query, after.spec.source.params.query
    yield "range", before.spec.source.params.range, after.spec.source.params.range
    yield "step", before.spec.source.params.step, after.spec.source.params.step
    yield "scoring type", before.scoring_type, after.scoring_type
    yield "scoring API", before.scoring_endpoint, after.scoring_endpoint
    yield "arguments", before.spec.scoring.arguments, after.spec.scoring.arguments
    yield "defaultScore", before.spec.default_score, after.spec.default_score
    yield "score name", before.score_name, after.score_name


def _places(before: EffectiveScorer, after: EffectiveScorer) -> Iterator[tuple[str, Any, Any]]:
    """Where the metrics come from."""
    yield "source type", before.source_type, after.source_type
    yield "source", before.source_endpoint, after.source_endpoint
    yield "headers", _plain_headers(before), _plain_headers(after)
    yield "parameters", before.source_parameters, after.source_parameters


def _plain_headers(item: EffectiveScorer) -> list[tuple[str, str | None]]:
    """Headers such as the tenant, which choose what a source answers. Values of Secrets are not known."""
    headers = item.variant.headers if item.variant is not None else []
    return [(header.name, header.value) for header in headers if header.secret_ref is None]


def _asks_elsewhere(
    before: EffectiveScorer,
    after: EffectiveScorer,
    base: CheckedFleet,
    head: CheckedFleet,
    clusters: Iterable[str],
) -> Iterator[str]:
    """The clusters whose variant of a MetricSource changes: it was edited, or the cluster's labels were."""
    if before.spec.source.ref is None and after.spec.source.ref is None:
        return
    known: dict[tuple[int, int], bool] = {}
    for cluster in clusters:
        old, new = (
            base.on_cluster(before, cluster),
            head.on_cluster(after, cluster),
        )
        key = id(old), id(new)
        if key not in known:
            known[key] = any(one != other for _, one, other in _places(old, new))
        if known[key]:
            yield cluster


def _changes(name: str, base: CheckedFleet | None, head: CheckedFleet) -> Iterator[ScorerChange]:
    before, after = base.scorer_by_name.get(name) if base else None, head.scorer_by_name.get(name)
    shift = shift_of(before, after, base, head)
    ran, runs = shift.ran, shift.runs
    fields = field_changes(_fields(before, base), _fields(after, head))
    if before is None or after is None:
        # Of a new scorer only what it asks, and where metrics go.
        fields = tuple(field for field in fields if after and _is_place(field.path))
    # A cluster that joins or leaves the inventory is no change of a scorer.
    common = base.cluster_names & head.cluster_names if base else frozenset[str]()
    sent_before = set(credentials_of(before, base))
    sent_now = [item for item in sorted(credentials_of(after, head)) if item not in sent_before]
    if before and after and not (fields or sent_now or shift.elsewhere or (ran ^ runs) & common):
        return
    yield ScorerChange(
        name=name,
        change=Change.ADDED
        if before is None
        else Change.REMOVED
        if after is None
        else Change.CHANGED,
        fields=fields,
        gained=tuple(sorted(runs - ran)),
        lost=tuple(sorted(ran - runs)),
        kept=len(ran & runs),
        effect=shift.effect,
        unknown_because=shift.causes,
        other_source=tuple(sorted(shift.elsewhere)),
        credentials=tuple(
            CredentialSent(
                section=item.section,
                kind=item.kind,
                secret=item.secret or None,
                to=f"{item.scheme}://{item.host}",
            )
            for item in sent_now
        ),
    )


def _is_place(path: str) -> bool:
    """Whether a field says what a scorer asks, or where metrics go."""
    section, _, name = path.rpartition(".")
    return name in _PLACES or section.endswith(("source.parameters", "].parameters"))


def credentials_of(item: EffectiveScorer | None, fleet: CheckedFleet | None) -> tuple[Sent, ...]:
    """The credentials that a scorer of a fleet sends, and the reconciler for it, with their hosts."""
    if item is None or fleet is None:
        return ()
    found: dict[Sent, None] = {}
    for each in fleet.by_variant[item.name]:
        used = credentials(each.spec.source.auth, each.variant)
        found |= dict.fromkeys(sent("source", each.source_endpoint, used))
    found |= dict.fromkeys(
        sent("scoring", item.scoring_endpoint, credentials(item.spec.scoring.auth))
    )
    pages = sent_by_hub(item, fleet.repository.spec)
    if all(may for _, may in pages):
        found |= dict.fromkeys(one for one, _ in pages)
    return tuple(found)


def _fields(item: EffectiveScorer | None, fleet: CheckedFleet | None) -> dict[str, Any]:
    """The effective fields as the hub sees them, so that a changed lock counts like an edited scorer; and
    what people wrote into its metadata.
    """
    if item is None or fleet is None:
        return {}
    return {
        "metadata": notes(item.declared.value.metadata),
        **rendered(item, fleet.by_variant[item.name], fleet.repository)["spec"],
    }


def notes(metadata: Metadata) -> dict[str, Any]:
    """Labels and annotations as people wrote them. Other programs may obey them."""
    return {"annotations": metadata.annotations, "labels": metadata.labels}


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Returns the leaves that differ, in order of path."""
    old, new = dict(_leaves(before, "")), dict(_leaves(after, ""))
    # Kubernetes drops nulls, so null counts as missing.
    return tuple(
        FieldChange(path=path, before=old.get(path), after=new.get(path))
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    )


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - whatever an object holds
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(item, Mapping) for item in value)
    ):
        titles = [_title(item) for item in value]
        for index, item in enumerate(value):
            # If titles were not unique, one item would hide another.
            name = (
                titles[index] if titles[index] and titles.count(titles[index]) == 1 else str(index)
            )
            yield from _leaves(item, f"{path}[{name}]")
    else:
        yield path, value


def _title(item: Mapping[str, Any]) -> str:
    """A readable name for an item of a list: the prioritizer's score, a toleration's key, or a name."""
    coordinate = item.get("scoreCoordinate")
    if isinstance(coordinate, Mapping):
        add_on = coordinate.get("addOn")
        if isinstance(add_on, Mapping):
            return f"{add_on.get('resourceName')}/{add_on.get('scoreName')}"
        return str(coordinate.get("builtIn") or "")
    for key in ("groupName", "name", "key", "scorer"):
        if isinstance(item.get(key), str):
            return str(item[key])
    return ""
