"""Checks a fleet against the size limits of OCM and Argo CD before anything is written."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.hub.scorerlist import MAX_PARTS
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.works import ClusterWork, shard_of
from gitops_dsf.render.applicationsets import application_set
from gitops_dsf.render.hubscorer import configuration
from gitops_dsf.render.scorerlist import (
    MAX_PART_BYTES,
    fits,
    list_data,
    scorer_texts,
    size_of,
)
from gitops_dsf.render.works import WorkRenderer, payload_bytes, works_directory
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.repository import MAX_SHARDS
from gitops_dsf.wording import plural

WORK_LIMIT_BYTES = 512_000
"""Limit of OCM's ManifestWork webhook (docs/contributing/behaviour.md#manifestwork-size)."""

CONFIGMAP_LIMIT_BYTES = 1_048_576
"""The API server refuses a ConfigMap whose keys and values are larger (ValidateConfigMap)."""

# The store of the API server takes 1.5 MB in one object. This leaves a reserve for fields of
# others.
SET_LIMIT_BYTES = 1_000_000

# Argo CD rejects 10 MB, and the status of an Application lists every object
# (docs/contributing/behaviour.md#limits-of-an-application). Both leave room for a fleet to grow.
SHARD_LIMIT_CLUSTERS = 500
SHARD_LIMIT_BYTES = 8_000_000


def check_limits(fleet: CheckedFleet, declared: Declared) -> Iterator[Diagnostic]:
    """Reports what OCM's webhook or Argo CD would reject, at the field that people would change."""
    scorers = {scorer.name: scorer.position for scorer in declared.scorers}
    yield from _works(fleet, scorers)
    yield from _application_sets(fleet, declared)
    settings = declared.repository
    if settings is not None:
        yield from _shards(fleet, settings.at("spec", "output", "shards"))
        yield from _hub_configuration(fleet, settings.position)
        yield from _scorer_list(fleet, scorers, settings.position)


def _works(fleet: CheckedFleet, scorers: Mapping[str, Position]) -> Iterator[Diagnostic]:
    """One finding for all clusters that share a configuration."""
    clusters: dict[int, list[ClusterWork]] = defaultdict(list)
    for work in fleet.works:
        clusters[id(work.configuration)].append(work)
    for works in clusters.values():
        configuration = works[0].configuration
        size = payload_bytes(configuration)
        if size <= WORK_LIMIT_BYTES:
            continue
        summaries = configuration.summaries
        largest = max(summaries, key=lambda summary: len(msgspec.json.encode(summary)))
        yield codes.LARGE_WORK.at(
            scorers.get(largest.name, Position(file=SETTINGS_FILE)),
            f"the ManifestWork of {_listed(works)} would be {size} bytes with {len(summaries)}"
            f" scorers, of which {largest.name} is the largest; OCM refuses more than"
            f" {WORK_LIMIT_BYTES}",
            "run fewer scorers there (clusterSelector, masks) or shorten scoring.arguments and"
            " queries",
        )


def _listed(works: Sequence[ClusterWork]) -> str:
    """The first cluster, and how many there are besides."""
    first = works[0].cluster
    if len(works) == 1:
        return first
    return f"{first} and {plural(len(works) - 1, 'more cluster')}"


def _application_sets(fleet: CheckedFleet, declared: Declared) -> Iterator[Diagnostic]:
    """Reports ApplicationSets with too many labels and claims, alone or together.

    Others are small.
    """
    described = fleet.cluster_parameters
    sizes: dict[str, int] = {}
    for app in fleet.applications:
        clusters = described.get(app.metadata.name)
        if clusters:
            rendered = application_set(app, namespace="argocd", clusters=clusters)
            sizes[app.metadata.name] = len(emit(rendered).encode())
    total = sum(sizes.values())
    largest = max(sizes.values(), default=0)
    for application in declared.applications:
        size = sizes.get(application.name, 0)
        # All of them are in one Application of Argo CD. If they are too large together, the largest
        # ones are what people can change.
        if size > SET_LIMIT_BYTES or (total > SHARD_LIMIT_BYTES and size == largest):
            yield codes.LARGE_SET.at(
                application.at("spec", "placement"),
                f"with labels and claims of {len(described[application.name])} clusters, the"
                f" ApplicationSet of {application.name} would have {size / 1e6:.1f} MB of at most"
                f" {SET_LIMIT_BYTES / 1e6:g}, and all such ones {total / 1e6:.1f} MB of at most"
                f" {SHARD_LIMIT_BYTES / 1e6:g}",
                "choose fewer clusters (clusterSets, clusterSelector), or read fewer labels and"
                " claims",
            )


def _hub_configuration(fleet: CheckedFleet, position: Position) -> Iterator[Diagnostic]:
    if fleet.hub_scoring is None:
        return
    size = size_of(configuration(fleet.hub_scoring))
    if size > CONFIGMAP_LIMIT_BYTES:
        yield codes.LARGE_HUB_CONFIG.at(
            position,
            f"the ConfigMap of the hub scorer would be {size} bytes with"
            f" {len(fleet.hub_scoring.clusters)} clusters and"
            f" {len(fleet.hub_scoring.configuration.summaries)} scorers; Kubernetes refuses more"
            f" than {CONFIGMAP_LIMIT_BYTES}",
            "compare with fewer claims and labels (source.clusterLabel), shorten scoring.arguments"
            " and queries, or split the fleet",
        )


def _scorer_list(
    fleet: CheckedFleet, scorers: Mapping[str, Position], position: Position
) -> Iterator[Diagnostic]:
    texts = scorer_texts(fleet)
    data = list_data(texts)
    if all(map(fits, data.values())):
        return
    total = sum(map(size_of, data.values()))
    largest = max(texts, key=lambda name: len(texts[name]))
    yield codes.LARGE_LIST.at(
        scorers.get(largest, position),
        f"the list of {plural(len(texts), 'scorer')} for the reconciler would be {total} bytes, of"
        f" which {largest} is the largest; it has room for {MAX_PARTS} ConfigMaps of"
        f" {MAX_PART_BYTES} bytes",
        "shorten scoring.arguments and queries, or split the fleet",
    )


def _shards(fleet: CheckedFleet, position: Position) -> Iterator[Diagnostic]:
    """One finding for all shards, because one setting fixes them."""
    renderer = WorkRenderer()
    sizes = {work.cluster: renderer.size(work) for work in fleet.works}
    shards = fleet.repository.spec.output.shards
    clusters, total = _filled(sizes, shards)
    overfull = _overfull(clusters, total)
    if not overfull:
        return
    worst = max(overfull, key=lambda shard: (total[shard], clusters[shard]))
    others = len(overfull) - 1
    if others:
        yield codes.FULL_SHARD.at(
            position,
            f"{works_directory(worst)} would hold {clusters[worst]} clusters in"
            f" {total[worst] / 1e6:.1f} MB; {others} more are overfull, too; one Argo CD"
            f" Application takes {SHARD_LIMIT_CLUSTERS} clusters or {SHARD_LIMIT_BYTES / 1e6:g} MB",
            _cure(sizes, shards),
        )
    else:
        yield codes.FULL_SHARD.at(
            position,
            f"{works_directory(worst)} would hold {clusters[worst]} clusters in"
            f" {total[worst] / 1e6:.1f} MB; one Argo CD Application takes {SHARD_LIMIT_CLUSTERS}"
            f" clusters or {SHARD_LIMIT_BYTES / 1e6:g} MB",
            _cure(sizes, shards),
        )


def _cure(sizes: Mapping[str, int], shards: int) -> str:
    """The smallest number of shards that holds every work, with the hash that assigns them."""
    for number in range(shards + 1, MAX_SHARDS + 1):
        clusters, total = _filled(sizes, number)
        if not _overfull(clusters, total):
            return f"set spec.output.shards to {number} in {SETTINGS_FILE}"
    return (
        f"{MAX_SHARDS} shards, the most there can be, do not hold them: split the fleet, or run"
        " fewer scorers"
    )


def _filled(sizes: Mapping[str, int], shards: int) -> tuple[Counter[int], Counter[int]]:
    """Clusters and bytes per shard."""
    clusters: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for cluster, size in sizes.items():
        shard = shard_of(cluster, shards)
        clusters[shard] += 1
        total[shard] += size
    return clusters, total


def _overfull(clusters: Counter[int], total: Counter[int]) -> list[int]:
    """The shards with more clusters or bytes than one Application of Argo CD takes."""
    overfull: list[int] = []
    for shard in sorted(clusters):
        if clusters[shard] > SHARD_LIMIT_CLUSTERS or total[shard] > SHARD_LIMIT_BYTES:
            overfull.append(shard)
    return overfull
