"""Checks single scorers: completeness, durations against limits, scorers by query, default scores; and of
those that run on the hub whether the series of each cluster can be recognised.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from dsf_wire.constants import MAX_POINTS, default_ttl_seconds
from dsf_wire.dimension import label_placeholders
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.repository.load import Path
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.inventory import identity_of
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import names_text

HOST_HINT: Final = (
    "write the base URL of the metric source as the spoke sees it, such as"
    " http://prometheus.monitoring.svc:9090"
)


@rule()
def durations_are_positive(context: Context) -> Iterator[Diagnostic]:
    """Interval and step must be at least one second if they are written. Prometheus rejects a step of 0."""
    for scorer in context.each_variant:
        required = [("scoring.params.interval", scorer.spec.scoring.params.interval, "two runs")]
        if scorer.needs_step:
            required.append(("source.params.step", scorer.spec.source.params.step, "two points"))
        for field, value, between in required:
            if value == 0 and scorer.has(field):
                message = f"{field.rpartition('.')[2]} is 0; it must be at least 1 second"
                hint = f"write the seconds between {between}, such as 60"
                yield codes.NOT_POSITIVE.at(scorer.at(field), message, hint)


@rule()
def series_are_not_too_long(context: Context) -> Iterator[Diagnostic]:
    """Prometheus rejects more than 11,000 points per series (range / step + 1)."""
    for scorer in context.each_variant:
        span, step = scorer.spec.source.params.range, scorer.spec.source.params.step
        if scorer.source_type != "Prometheus" or scorer.is_instant or step < 1:
            continue
        points = span // step + 1
        if points > MAX_POINTS:
            most = f"Prometheus returns at most {MAX_POINTS}"
            message = f"range {span} with step {step} asks for {points} points per series; {most}"
            hint = f"write step: {span // MAX_POINTS + 1} or more, or a shorter range"
            yield codes.TOO_MANY_POINTS.at(scorer.at("source.params.step"), message, hint)


@rule()
def sources_are_asked(context: Context) -> Iterator[Diagnostic]:
    """Without a query, or with type None, nothing is asked: the scoring API gets no series."""
    for scorer in context.each_variant:
        if (
            scorer.source_type != "None"
            or scorer.spec.scored_by_query
            or context.waits_for_lock(scorer)
        ):
            continue
        fields = ("source.params.query", "source.host", "source.params.range", "source.params.step")
        name = next((field for field in fields if attrgetter(field)(scorer.spec)), None)
        if name is None:
            continue
        why, hint = "there is no query", "write source.params.query"
        if scorer.spec.source.type:
            why, hint = "source.type is None", "write source.type: Prometheus, or remove the source"
        message = f"{name} has no effect: {why}, so the scoring API gets no series"
        yield codes.UNASKED_SOURCE.at(scorer.at(name), message, hint)


@rule()
def scores_outlive_their_interval(context: Context) -> Iterator[Diagnostic]:
    """A score must stay valid until the next run publishes it again, or Placements lose it."""
    for scorer in context.scorers.values():
        ttl = scorer.spec.score_ttl_seconds
        interval = scorer.spec.scoring.params.interval
        if ttl is not None and interval and ttl < 2 * interval:
            lost = "one late run, and placements lose them"
            message = f"scores expire after {ttl} seconds and are renewed every {interval}: {lost}"
            hint = f"write {default_ttl_seconds(interval)}, or leave it out"
            yield codes.SHORT_TTL.at(scorer.declared.at("spec", "scoreTTLSeconds"), message, hint)


@rule()
def query_scorers_have_a_source(context: Context) -> Iterator[Diagnostic]:
    """Without a source there is no series, and so no score."""
    for scorer in context.each_variant:
        if scorer.spec.scored_by_query and scorer.source_type == "None":
            yield codes.QUERY_WITHOUT_SOURCE.at(
                scorer.at("source.type"),
                "source.type is None, and with scoring.type Query every score is the value of a series",
                "write source.type: Prometheus or Kubernetes, or scoring.type: API if there is a scoring API",
            )


@rule()
def default_scores_can_be_published(context: Context) -> Iterator[Diagnostic]:
    """The default score needs a source that can be without series, and an item name without labels."""
    for scorer in context.each_variant:
        spec = scorer.spec
        if spec.default_score is None or context.waits_for_lock(scorer):
            continue
        where = scorer.declared.document.key_at(("spec", "defaultScore"))
        labels = label_placeholders(spec.score_dimension_format)
        if labels:
            label = f"the label of ${{{labels[0].name}}} in scoreDimensionFormat"
            message = f"defaultScore has no item: without series {label} is not known"
            hint = "write a scoreDimensionFormat without labels, such as ${scoreName}, or remove defaultScore"
            yield codes.DEFAULT_SCORE.at(where, message, hint)
        if scorer.source_type == "None":
            message = "defaultScore is published when the source has no series, and this scorer has no source"
            yield codes.DEFAULT_SCORE.at(
                where, message, "write source.params.query, or remove defaultScore"
            )
        if spec.score_destination == "None":
            message = (
                "defaultScore has no effect: scoreDestination is None, so no score is published"
            )
            yield codes.DEFAULT_SCORE.at(where, message, "remove one of them")


@rule()
def scorers_are_complete(context: Context) -> Iterator[Diagnostic]:
    """A scorer must be complete, unless its /config is still unknown."""
    for scorer in context.each_variant:
        if context.waits_for_lock(scorer):
            continue
        for field in scorer.missing:
            last = field.rpartition(".")[2]
            if last in {"interval", "step"} and scorer.has(field):
                continue  # written as 0, which another rule reports
            if last == "host" and not scorer.spec.scored_by_query:
                continue  # it would be the host of configURL, which is not a URL; another rule reports that
            because = (
                "its lock does not say it either"
                if scorer.lock
                else "without it the scorer cannot run"
            )
            message = f"spec.{field} is missing, and {because}"
            yield codes.INCOMPLETE_SCORER.at(scorer.at(field), message, _HINTS[last])


_HINTS = {
    "host": HOST_HINT,
    "interval": "write the seconds between two runs, such as interval: 60",
    "name": "write the score's name, such as name: cpu-forecast",
    "query": "write a PromQL expression",
    "step": "write the seconds between two points of a series, such as step: 60",
}


NAMED = 3
"""Clusters that a finding names at most."""
_LABEL: Path = ("spec", "source", "clusterLabel")


@rule()
def hub_scorers_know_their_clusters(context: Context) -> Iterator[Diagnostic]:
    """A central store has the series of all clusters, so a label must tell them apart."""
    for scorer in context.scorers.values():
        item = scorer.declared
        if (
            item.value.spec.on_hub
            and scorer.source_type == "Prometheus"
            and not item.document.has(_LABEL)
        ):
            message = (
                "a scorer that runs on the hub must say which label of a series names its cluster"
            )
            hint = "write source.clusterLabel: {name: cluster}, with the label that your store has"
            yield codes.NO_CLUSTER_LABEL.at(item.document.at(_LABEL), message, hint)


@rule()
def settings_fit_where_it_runs(context: Context) -> Iterator[Diagnostic]:
    """The hub scorer asks a central store. An agent has the series of one cluster only."""
    for scorer in context.scorers.values():
        if not scorer.spec.on_hub:
            continue
        item, ref = scorer.declared, scorer.spec.source.ref
        source = context.source_of(scorer)
        if source is not None and [each.value.cluster_selector for each in source.variants] != [
            None
        ]:
            depends = f"MetricSource {source.name} depends on the cluster"
            message = f"{depends}, and the hub scorer asks one store for all clusters"
            hint = "name a MetricSource with one variant and no clusterSelector, or write runsOn: Spokes"
            yield codes.WRONG_PLACE.at(
                item.document.key_at(("spec", "source", "ref")), message, hint
            )
            continue
        asked = context.variants[item.name][0]
        kind = PUSHED if asked.is_pushed else asked.source_type
        if kind != "Prometheus" and not context.waits_for_lock(scorer):
            place = ("spec", "source", "ref")
            position = asked.at("source.type") if ref is None else item.document.key_at(place)
            message = f"source.type {kind} gives no series of a central store, and this scorer runs on the hub"
            hint = "write a query and the host of the central store, or runsOn: Spokes"
            yield codes.WRONG_PLACE.at(position, message, hint)


@rule()
def clusters_have_identities(context: Context) -> Iterator[Diagnostic]:
    """Each target cluster needs the claim or label that series are compared with, and its own value."""
    for name, clusters in sorted(context.target_clusters.items()):
        item = context.scorers[name].declared
        label = item.value.spec.source.cluster_label
        if not item.value.spec.on_hub or label is None or item.value.spec.suspend:
            continue
        kind, key = ("claim", label.claim) if label.claim is not None else ("label", label.label)
        if key is None:
            continue
        owners: dict[str | None, list[str]] = {}
        for cluster in sorted(clusters):
            value = identity_of(context.inventory.clusters[cluster], f"{kind}:{key}")
            owners.setdefault(value, []).append(cluster)
        position = item.at(*_LABEL, kind)
        if without := owners.pop(None, []):
            them = "it" if len(without) == 1 else "them"
            message = f"{_named(without)} without the {kind} {key}: {item.name} cannot score {them}"
            hint = "run gitops-dsf import again, which takes this claim or label from the hub"
            yield codes.NO_IDENTITY.at(
                position, message, f"{hint}, or exclude {them} with clusterSelector"
            )
        for value, names in sorted(owners.items()):
            if len(names) > 1:
                message = f"{_named(names)} have the same value {value} of the {kind} {key}"
                hint = "correct the inventory, or compare with a claim or label that differs between clusters"
                yield codes.SAME_IDENTITY.at(position, message, hint)


def _named(clusters: list[str]) -> str:
    return f"{'cluster' if len(clusters) == 1 else 'clusters'} {names_text(clusters, most=NAMED)}"
