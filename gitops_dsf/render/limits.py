"""Checks a fleet against the size limits of OCM and Argo CD before anything is written."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.works import shard_of
from gitops_dsf.render.delivery import application_set
from gitops_dsf.render.hubscorer import configuration
from gitops_dsf.render.works import WorkRenderer, payload_bytes, works_directory
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.repository import MAX_SHARDS

WORK_LIMIT_BYTES = 512_000
"""Limit of OCM's ManifestWork webhook (docs/contributing/behaviour.md#manifestwork-size)."""

CONFIGMAP_LIMIT_BYTES = 1_048_576
"""The API server refuses a ConfigMap whose keys and values are larger together (ValidateConfigMap).
"""

SET_LIMIT_BYTES = 1_000_000
"""The store of the API server takes 1.5 MB in one object; this leaves a reserve for fields of
others.
"""

SHARD_LIMIT_CLUSTERS = 500
SHARD_LIMIT_BYTES = 8_000_000
"""Argo CD rejects 10 MB (docs/contributing/behaviour.md#limits-of-an-application)."""


def check_limits(fleet: CheckedFleet, declared: Declared) -> Iterator[Diagnostic]:
    """Reports what OCM's webhook or Argo CD would reject, at the field that people would change."""
    yield from _works(fleet, {item.name: item.position for item in declared.scorers})
    yield from _application_sets(fleet, declared)
    settings = declared.repository
    if settings is not None:
        yield from _shards(fleet, settings.at("spec", "output", "shards"))
        yield from _hub_configuration(fleet, settings.position)


def _works(fleet: CheckedFleet, scorers: Mapping[str, Position]) -> Iterator[Diagnostic]:
    clusters = defaultdict(list)
    for work in fleet.works:
        clusters[id(work.configuration)].append(work)
    for works in clusters.values():
        size = payload_bytes(works[0].configuration)
        if size > WORK_LIMIT_BYTES:
            first, more = works[0].cluster, len(works) - 1
            which = (
                first
                if not more
                else f"{first} and {more} more {'cluster' if more == 1 else 'clusters'}"
            )
            summaries = works[0].configuration.summaries
            largest = max(summaries, key=lambda summary: len(msgspec.json.encode(summary)))
            yield codes.LARGE_WORK.at(
                scorers.get(largest.name, Position(file=SETTINGS_FILE)),
                f"the ManifestWork of {which} would be {size} bytes with {len(summaries)} scorers,"
                f" of which {largest.name} is the largest; OCM refuses more than"
                f" {WORK_LIMIT_BYTES}",
                "run fewer scorers there (clusterSelector, masks) or shorten scoring.arguments and"
                " queries",
            )


def _application_sets(fleet: CheckedFleet, declared: Declared) -> Iterator[Diagnostic]:
    """Reports ApplicationSets with too many labels and claims, alone or together.

    Others are small.
    """
    described = fleet.cluster_parameters
    sizes = {
        app.metadata.name: len(
            emit(application_set(app, namespace="argocd", clusters=clusters)).encode()
        )
        for app in fleet.applications
        if (clusters := described.get(app.metadata.name))
    }
    total = sum(sizes.values())
    for item in declared.applications:
        size = sizes.get(item.name, 0)
        if size > SET_LIMIT_BYTES or (total > SHARD_LIMIT_BYTES and size == max(sizes.values())):
            yield codes.LARGE_SET.at(
                item.at("spec", "placement"),
                f"with labels and claims of {len(described[item.name])} clusters, the"
                f" ApplicationSet of {item.name} would have {size / 1e6:.1f} MB of at most"
                f" {SET_LIMIT_BYTES / 1e6:g}, and all such ones {total / 1e6:.1f} MB of at most"
                f" {SHARD_LIMIT_BYTES / 1e6:g}",
                "choose fewer clusters (clusterSets, clusterSelector), or read fewer labels and"
                " claims",
            )


def _hub_configuration(fleet: CheckedFleet, position: Position) -> Iterator[Diagnostic]:
    if fleet.hub_scoring is None:
        return
    size = sum(
        len(key) + len(text.encode()) for key, text in configuration(fleet.hub_scoring).items()
    )
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


def _shards(fleet: CheckedFleet, place: Position) -> Iterator[Diagnostic]:
    """One finding for all shards, because one setting fixes them."""
    renderer = WorkRenderer()
    sizes = {work.cluster: renderer.size(work) for work in fleet.works}
    shards = fleet.repository.spec.output.shards
    count, total = _filled(sizes, shards)
    overfull = [shard for shard in sorted(count) if not _fits(count[shard], total[shard])]
    if not overfull:
        return
    worst = max(overfull, key=lambda shard: (total[shard], count[shard]))
    others = f"; {len(overfull) - 1} more are overfull, too" if len(overfull) > 1 else ""
    yield codes.FULL_SHARD.at(
        place,
        f"{works_directory(worst)} would hold {count[worst]} clusters in {total[worst] / 1e6:.1f}"
        f" MB{others}; one Argo CD Application takes {SHARD_LIMIT_CLUSTERS} clusters or"
        f" {SHARD_LIMIT_BYTES / 1e6:g} MB",
        _cure(sizes, shards),
    )


def _cure(sizes: Mapping[str, int], shards: int) -> str:
    """The smallest number of shards that holds every work, with the hash that assigns them."""
    for number in range(shards + 1, MAX_SHARDS + 1):
        count, total = _filled(sizes, number)
        if all(_fits(count[shard], total[shard]) for shard in count):
            return f"set spec.output.shards to {number} in {SETTINGS_FILE}"
    return (
        f"{MAX_SHARDS} shards, the most there can be, do not hold them: split the fleet, or run"
        " fewer scorers"
    )


def _filled(sizes: Mapping[str, int], shards: int) -> tuple[Counter[int], Counter[int]]:
    """Clusters and bytes per shard."""
    count: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for cluster, size in sizes.items():
        shard = shard_of(cluster, shards)
        count[shard] += 1
        total[shard] += size
    return count, total


def _fits(clusters: int, size: int) -> bool:
    return clusters <= SHARD_LIMIT_CLUSTERS and size <= SHARD_LIMIT_BYTES
