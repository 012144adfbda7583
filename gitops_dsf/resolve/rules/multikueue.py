"""Checks ScoredPlacements with multiKueue: no job may be lost, and one writer keeps each order."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.multikueue import KUEUE_NAMESPACE, MAX_CLUSTERS, OCM_CONTROLLER
from gitops_dsf.hub.pace import MAX_TERMS
from gitops_dsf.hub.resources import KUEUE_GROUP
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scored_placement import MultiKueue, ScoredPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import eligible
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, rule
from gitops_dsf.wording import plural

_CONFIG: Final[FieldPath] = ("spec", "multiKueue", "config")

_Ordered = tuple[Item[ScoredPlacement], MultiKueue]


def _ordered(context: Context) -> Iterator[_Ordered]:
    """The ScoredPlacements that order a MultiKueueConfig."""
    for placement in context.declared.scored_placements:
        if placement.value.spec.multi_kueue is not None:
            yield placement, placement.value.spec.multi_kueue


@rule()
def jobs_stay(context: Context) -> Iterator[Diagnostic]:
    """A cluster that leaves a MultiKueueConfig loses its running jobs.

    Kueue 0.19.2 takes their admission back ("Admitting remote no longer exists"). They hang while
    their pods run on, and start from the beginning when the cluster is listed again.
    """
    for placement, multi_kueue in _ordered(context):
        count = placement.value.spec.placement.number_of_clusters
        if count is not None:
            yield codes.JOBS_COUNT.at(
                placement.at("spec", "placement", "numberOfClusters"),
                f"with numberOfClusters {count} a cluster leaves the decision when another one has"
                f" a better score, and would lose the jobs of {multi_kueue.config} that run there",
                "remove numberOfClusters: Kueue offers each job to the best cluster first."
                " clusterSets and clusterSelector say where jobs may run",
            )


@rule()
def configs_have_one_writer(context: Context) -> Iterator[Diagnostic]:
    """Two writers of one list undo each other."""
    first: dict[str, Item[ScoredPlacement]] = {}
    for placement, multi_kueue in _ordered(context):
        other = first.setdefault(multi_kueue.config, placement)
        if other is not placement:
            yield codes.CONFIG_WRITERS.at(
                placement.at(*_CONFIG),
                f"the MultiKueueConfig {multi_kueue.config} is ordered by ScoredPlacement"
                f" {other.name}, too ({other.at(*_CONFIG)}): each would undo what the other does",
                "name another config, and an AdmissionCheck for it",
            )
    for document in context.declared.foreign:
        # All versions of the manifest are one object of the name on the hub.
        if not document.api_version.startswith(f"{KUEUE_GROUP}/"):
            continue
        if document.kind == "MultiKueueConfig" and document.name in first:
            yield _written_here(document, first[document.name])
        if document.kind == "AdmissionCheck":
            yield from _written_by_ocm(document, context, first)


@rule(needs=(SETTINGS,))
def somebody_keeps_the_order(context: Context) -> Iterator[Diagnostic]:
    """Finds orders without a reconciler: then there is no MultiKueueConfig, and no job is sent."""
    if context.settings.reconciler.enabled:
        return
    for placement, multi_kueue in _ordered(context):
        yield codes.ORDER_WITHOUT_RECONCILER.at(
            placement.at("spec", "multiKueue"),
            f"the reconciler writes the MultiKueueConfig {multi_kueue.config}, and"
            " reconciler.enabled is false",
            "write reconciler.enabled: true, or remove multiKueue",
        )


@rule()
def an_order_has_no_groups(context: Context) -> Iterator[Diagnostic]:
    """A MultiKueueConfig is one list."""
    for placement, multi_kueue in _ordered(context):
        if placement.value.spec.placement.decision_groups is not None:
            yield codes.ORDER_FIELD.at(
                placement.document.key_at(("spec", "placement", "decisionGroups")),
                "decisionGroups has no effect on jobs: the MultiKueueConfig"
                f" {multi_kueue.config} is one list of clusters",
                "remove it, or write a ScoredPlacement of its own for the consumer of the groups",
            )


@rule(needs=("ManagedCluster", "ManagedClusterSet", CLUSTERS))
def every_cluster_has_a_place(context: Context) -> Iterator[Diagnostic]:
    """A MultiKueueConfig takes 20 clusters."""
    for placement, multi_kueue in _ordered(context):
        count = len(eligible(context, placement))
        if count > MAX_CLUSTERS:
            yield codes.TOO_MANY_CLUSTERS.at(
                placement.at("spec", "placement"),
                f"{count} clusters are eligible, and a MultiKueueConfig takes {MAX_CLUSTERS}:"
                f" {plural(count - MAX_CLUSTERS, 'cluster')} with the worst scores cannot get jobs"
                f" of {multi_kueue.config}",
                "choose fewer with clusterSets or clusterSelector, or divide them among several"
                " ScoredPlacements",
            )


@rule()
def an_order_fits_its_annotation(context: Context) -> Iterator[Diagnostic]:
    """The reconciler reads a limited number of scores."""
    for placement, _ in _ordered(context):
        count = len(placement.value.spec.scores)
        if count > MAX_TERMS:
            yield codes.BAD_VALUE.at(
                placement.at("spec", "scores", MAX_TERMS),
                f"{count} scores rank it; with multiKueue there can be at most {MAX_TERMS}",
                "remove some",
            )


def _written_here(document: Document, placement: Item[ScoredPlacement]) -> Diagnostic:
    return codes.CONFIG_WRITERS.at(
        document.position,
        f"the reconciler writes the MultiKueueConfig {document.name} for ScoredPlacement"
        f" {placement.name} ({placement.at(*_CONFIG)}), and never one that others apply",
        "remove this document",
    )


def _written_by_ocm(
    document: Document, context: Context, by_config: dict[str, Item[ScoredPlacement]]
) -> Iterator[Diagnostic]:
    """Whether OCM's add-on would write a config of ours, or one of a Placement of ours."""
    if value_at(document.data, ("spec", "controllerName")) != OCM_CONTROLLER:
        return
    name = value_at(document.data, ("spec", "parameters", "name"))
    position = document.at(("spec", "controllerName"))
    hint = (
        "remove this AdmissionCheck; the one with controllerName kueue.x-k8s.io/multikueue names"
        " the config"
    )
    if isinstance(name, str) and name in by_config:
        yield codes.CONFIG_WRITERS.at(
            position,
            f"OCM's kueue add-on writes the MultiKueueConfig {name} for this AdmissionCheck, and"
            f" the reconciler writes it for ScoredPlacement {by_config[name].name}: each undoes"
            " what the other does",
            hint,
        )
        return
    # The add-on looks for a Placement of this name in Kueue's namespace, and lists its decision.
    for placement, multi_kueue in _ordered(context):
        if placement.name == name and context.namespace_of(placement) == KUEUE_NAMESPACE:
            yield codes.CONFIG_WRITERS.at(
                position,
                f"OCM's kueue add-on writes the MultiKueueConfig {name} of this Placement in no"
                f" order, beside {multi_kueue.config}, which the reconciler orders",
                hint,
            )
