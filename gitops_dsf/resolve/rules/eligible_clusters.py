"""Checks the clusters for scorers and Placements: at least one, and not too many for a decision."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Position, Severity, codes
from gitops_dsf.hub.decisions import PAGE_CLUSTERS
from gitops_dsf.repository.load import SETTINGS_FILE, FieldPath
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import choosable, eligible
from gitops_dsf.resolve.rankings import multi_kueue_of
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, rule


@rule(needs=(SETTINGS, "ManagedCluster"))
def the_inventory_has_clusters(context: Context) -> Iterator[Diagnostic]:
    """Without clusters, nothing is delivered."""
    if not context.inventory.clusters and not context.is_upstream:
        yield codes.NO_CLUSTERS.at(
            Position(file=SETTINGS_FILE),
            "clusters/ holds no ManagedCluster: no cluster gets the scoring configuration",
            "run gitops-dsf import --context HUB, or write clusters/*.yaml",
        )


@rule(needs=("ManagedCluster", "DynamicScoringConfig"))
def scorers_run_somewhere(context: Context) -> Iterator[Diagnostic]:
    """If masks exclude a scorer from every cluster, it is unused, or a mask is too wide."""
    for name, clusters in context.target_clusters.items():
        scorer = context.complete[name]
        selected = context.inventory.selected(scorer.spec.cluster_selector)
        if selected and not clusters and not scorer.spec.suspend:
            yield codes.NOWHERE.at(
                scorer.position,
                f"masks keep {name} off every cluster that its selector matches",
                "remove the scorer, write suspend: true, or narrow the masks",
            )


@rule(
    needs=(
        CLUSTERS,
        "FleetRepository",
        "ManagedCluster",
        "ManagedClusterSet",
        "DynamicScoringConfig",
    )
)
def applications_have_clusters(context: Context) -> Iterator[Diagnostic]:
    """At least one cluster must be eligible."""
    for ranking in context.declared.rankings:
        rules = ranking.value.spec.placement
        # A set that does not exist has a finding of its own.
        sets_are_known = all(map(context.inventory.knows_set, rules.cluster_sets))
        if not sets_are_known or eligible(context, ranking):
            continue
        field = "clusterSelector" if rules.cluster_selector else "clusterSets"
        path: FieldPath = ("spec", "placement", field)
        is_written = ranking.document.has(path)
        yield codes.NO_ELIGIBLE_CLUSTER.at(
            ranking.document.key_at(path) if is_written else ranking.position,
            f"no cluster of the inventory is eligible for {ranking.name}",
            "correct the labels or the sets"
            if context.unmatched is Severity.WARNING
            else "correct the labels or the sets; if clusters join later, write"
            " allowUnmatchedSelectors: true below spec in gitops-dsf.yaml",
            severity=context.unmatched,
        )


@rule(needs=(CLUSTERS, "FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def rankings_have_enough_clusters(context: Context) -> Iterator[Diagnostic]:
    """If more clusters are wanted than are eligible, all are chosen, whatever their scores are."""
    for ranking in context.declared.rankings:
        wanted = ranking.value.spec.placement.number_of_clusters
        # With multiKueue any number is an error of its own (DSF372), whose hint is to remove it.
        if wanted is not None and multi_kueue_of(ranking) is None:
            count = len(eligible(context, ranking))
            # If there are no clusters, another rule says that none is eligible.
            if 0 < count < wanted:
                position = ranking.at("spec", "placement", "numberOfClusters")
                yield _too_few(context, ranking.name, wanted, count, position)
    for placement in context.declared.placements:
        wanted_by_hand = placement.value.spec.get("numberOfClusters")
        clusters = choosable(context, placement)
        if not isinstance(wanted_by_hand, int) or clusters is None:
            continue
        if 0 < len(clusters) < wanted_by_hand:
            position = placement.at("spec", "numberOfClusters")
            yield _too_few(context, placement.name, wanted_by_hand, len(clusters), position)


@rule()
def decisions_fit_one_object(context: Context) -> Iterator[Diagnostic]:
    """A cluster can be missing for a moment from a decision of more than 100 clusters."""
    for ranking in context.declared.rankings:
        wanted = ranking.value.spec.placement.number_of_clusters
        count = len(eligible(context, ranking))
        if wanted is not None:
            count = min(count, wanted)
        # OCM 1.2.1 rewrites PlacementDecisions one after the other. A new cluster whose name
        # sorts early moves one cluster from each of them to the next.
        if count > PAGE_CLUSTERS:
            hint = (
                f"split it into ScoredPlacements of at most {PAGE_CLUSTERS} clusters, and let no"
                " consumer delete on absence"
            )
            if ranking.document.kind == "ScoredApplication":
                hint = (
                    "keep moves.strategy MakeBeforeBreak or Keep, or split it into applications of"
                    f" at most {PAGE_CLUSTERS} clusters"
                )
            yield _many(
                ranking.name,
                count,
                ranking.document.key_at(("spec", "placement")),
                hint,
            )
    for placement in context.declared.placements:
        number = placement.value.spec.get("numberOfClusters")
        wanted = number if isinstance(number, int) and not isinstance(number, bool) else None
        clusters = choosable(context, placement)
        counts = [] if wanted is None else [wanted]
        # If the clusters are not known, only the requested number is.
        if clusters is not None:
            counts.append(len(clusters))
        if counts and min(counts) > PAGE_CLUSTERS:
            field = "clusterSets" if wanted is None else "numberOfClusters"
            yield _many(
                placement.name,
                min(counts),
                placement.document.key_at(("spec", field)),
                f"split it into Placements of at most {PAGE_CLUSTERS} clusters, and let nothing"
                " that follows it delete on absence",
            )


def _too_few(
    context: Context, name: str, wanted: int, count: int, position: Position
) -> Diagnostic:
    clusters = "1 cluster" if count == 1 else f"{count} clusters"
    return codes.TOO_FEW_CLUSTERS.at(
        position,
        f"{name} asks for {wanted} clusters, and {clusters} of the inventory can be chosen: it runs"
        " on all of them, whatever their scores are",
        "write 1, or let more clusters be eligible"
        if count == 1
        else f"write {count} or less, or let more clusters be eligible",
        # Clusters that join later are expected if the settings say so.
        severity=Severity.NOTICE if context.settings.allow_unmatched_selectors else None,
    )


def _many(name: str, count: int, position: Position, hint: str) -> Diagnostic:
    return codes.MANY_DECISIONS.at(
        position,
        f"{name} may choose {count} clusters: above {PAGE_CLUSTERS} a decision is several objects,"
        " rewritten one by one, and a cluster can be in none of them for a moment",
        hint,
    )
