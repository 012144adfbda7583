"""Checks where scorers run, by selectors and masks, and which clusters may be chosen. Taints change often and
do not count.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gitops_dsf.diagnostics import Diagnostic, Position, Severity, codes
from gitops_dsf.hub.glob import is_glob, matches
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.placements import PAGE_CLUSTERS
from gitops_dsf.repository.load import SETTINGS_FILE, Path, value_at
from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.repository.model.config import SINGLETON_NAME, DynamicScoringConfig, Mask
from gitops_dsf.repository.model.declared import Item, RankingItem
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS, ManagedCluster, RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.inventory import ClusterInventory
from gitops_dsf.resolve.rules.registry import CLUSTERS, PLACEMENTS, SETTINGS, rule
from gitops_dsf.resolve.rules.selectors import IF_MEANT
from gitops_dsf.resolve.targets import masked_clusters
from gitops_dsf.wording import did_you_mean, names_text


@rule(needs=(SETTINGS, "ManagedCluster"))
def the_inventory_has_clusters(context: Context) -> Iterator[Diagnostic]:
    """Without clusters, nothing is delivered."""
    if not context.inventory.clusters and not context.is_upstream:
        message = "clusters/ holds no ManagedCluster: no cluster gets the scoring configuration"
        hint = "run gitops-dsf import --context HUB, or write clusters/*.yaml"
        yield codes.NO_CLUSTERS.at(Position(file=SETTINGS_FILE), message, hint)


@rule(needs=("ManagedCluster", "DynamicScoringConfig"))
def scorers_run_somewhere(context: Context) -> Iterator[Diagnostic]:
    """If masks exclude a scorer from every cluster, either the scorer is unused or a mask is too wide."""
    for name, clusters in context.target_clusters.items():
        scorer = context.complete[name]
        selected = context.inventory.selected(scorer.spec.cluster_selector)
        if selected and not clusters and not scorer.spec.suspend:
            message = f"masks keep {name} off every cluster that its selector matches"
            hint = "remove the scorer, write suspend: true, or narrow the masks"
            yield codes.NOWHERE.at(scorer.position, message, hint)


@rule(needs=("ManagedClusterSet",))
def sets_exist(context: Context) -> Iterator[Diagnostic]:
    """The sets that a Placement chooses from must exist."""
    known = {*context.inventory.sets, *BUILT_IN_SETS}
    for item in (*context.declared.rankings, *context.declared.placements):
        below = () if item.document.kind == "Placement" else ("placement",)
        for place in item.document.items("spec", *below, "clusterSets"):
            name = value_at(item.document.data, place)
            if isinstance(name, str) and name not in known:
                message = f"there is no ManagedClusterSet {name} in clusters/"
                hint = did_you_mean(name, known) or "write the set into clusters/, or name another"
                yield codes.UNKNOWN_SET.at(item.at(*place), message, hint)


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
    for item in context.declared.rankings:
        rules = item.value.spec.placement
        known = all(map(context.inventory.knows_set, rules.cluster_sets))
        if known and not eligible(context, item):
            path = (
                "spec",
                "placement",
                "clusterSelector" if rules.cluster_selector else "clusterSets",
            )
            position = item.document.key_at(path) if item.document.has(path) else item.position
            message = f"no cluster of the inventory is eligible for {item.name}"
            hint = f"correct the labels or the sets{IF_MEANT[context.unmatched]}"
            yield codes.NO_ELIGIBLE_CLUSTER.at(position, message, hint, severity=context.unmatched)


@rule(needs=(CLUSTERS, "FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def rankings_have_enough_clusters(context: Context) -> Iterator[Diagnostic]:
    """Where more clusters are wanted than are eligible, all of them are chosen, whatever their scores are."""
    for item in context.declared.rankings:
        number = item.value.spec.placement.number_of_clusters
        if number is not None:
            position = item.at("spec", "placement", "numberOfClusters")
            yield from _too_few(context, item.name, number, eligible(context, item), position)
    for placement in context.declared.placements:
        written, clusters = (
            placement.value.spec.get("numberOfClusters"),
            choosable(context, placement),
        )
        if isinstance(written, int) and clusters is not None:
            position = placement.at("spec", "numberOfClusters")
            yield from _too_few(context, placement.name, written, clusters, position)


def _too_few(
    context: Context, name: str, number: int, clusters: frozenset[str], position: Position
) -> Iterator[Diagnostic]:
    """Nothing is said where no cluster is eligible: another rule does."""
    if 0 < len(clusters) < number:
        can = "1 cluster" if len(clusters) == 1 else f"{len(clusters)} clusters"
        message = (
            f"{name} asks for {number} clusters, and {can} of the inventory can be chosen: it runs on all of"
            " them, whatever their scores are"
        )
        most = "1" if len(clusters) == 1 else f"{len(clusters)} or less"
        hint = f"write {most}, or let more clusters be eligible"
        # Clusters that join later are expected where the settings say so.
        severity = Severity.NOTICE if context.settings.allow_unmatched_selectors else None
        yield codes.TOO_FEW_CLUSTERS.at(position, message, hint, severity=severity)


@rule(needs=("ManagedClusterSet",))
def sets_of_clusters_exist(context: Context) -> Iterator[Diagnostic]:
    """A cluster whose set does not exist is in no set, so only Placements of the set global can choose it."""
    clusters: dict[str, list[Item[ManagedCluster]]] = {}
    for item in context.declared.clusters:
        name = item.value.metadata.labels.get(CLUSTER_SET_LABEL)
        if name and not context.inventory.knows_set(name):
            clusters.setdefault(name, []).append(item)
    for name, items in clusters.items():
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        message = f"{items[0].name}{more} would be in the ManagedClusterSet {name}, which is not in clusters/"
        hint = (
            did_you_mean(name, [*context.inventory.sets, *BUILT_IN_SETS])
            or "write the set into clusters/"
        )
        position = items[0].at("metadata", "labels", CLUSTER_SET_LABEL)
        yield codes.UNKNOWN_SET_OF_CLUSTER.at(position, message, hint)


@rule(needs=("ManagedCluster", "ManagedClusterSet", *PLACEMENTS))
def clusters_are_in_a_set(context: Context) -> Iterator[Diagnostic]:
    """A cluster without a label of a set is in `default` and `global` only.

    A notice, because a cluster may be in the inventory for its scores alone.
    """
    chosen = {
        name
        for item in context.declared.rankings
        for name in item.value.spec.placement.cluster_sets
    }
    for placement in context.declared.placements:
        sets = placement.value.spec.get("clusterSets")
        if not isinstance(sets, list) or not sets:
            return  # it chooses from all sets that are bound in its namespace
        chosen.update(name for name in sets if isinstance(name, str))
    missed = context.inventory.unlabelled - context.inventory.members(chosen)
    items = [item for item in context.declared.clusters if item.name in missed]
    if not chosen or not items or not all(map(context.inventory.knows_set, chosen)):
        return
    who = (
        f"{items[0].name} and {len(items) - 1} more are"
        if len(items) > 1
        else f"{items[0].name} is"
    )
    message = (
        f"{who} in no ManagedClusterSet but OCM's default and global, and all Placements choose from"
        f" {names_text(sorted(chosen))}: nothing is ever placed there"
    )
    hint = f"write the label {CLUSTER_SET_LABEL} with the set that it belongs to"
    yield codes.IN_NO_SET.at(items[0].position, message, hint)


@rule()
def decisions_fit_one_object(context: Context) -> Iterator[Diagnostic]:
    """With more than 100 clusters in one decision, a cluster can be missing from it for a moment."""
    for item in context.declared.rankings:
        number = item.value.spec.placement.number_of_clusters
        most = len(eligible(context, item))
        chosen = most if number is None else min(most, number)
        if chosen > PAGE_CLUSTERS:
            most_of = f"of at most {PAGE_CLUSTERS} clusters"
            hint = (
                f"split it into ScoredPlacements {most_of}, and let no consumer delete on absence"
            )
            if item.document.kind == "ScoredApplication":
                keep = "keep moves.strategy MakeBeforeBreak or Keep"
                hint = f"{keep}, or split it into applications {most_of}"
            yield _many(item.name, chosen, item.document.key_at(("spec", "placement")), hint)
    for placement in context.declared.placements:
        written = placement.value.spec.get("numberOfClusters")
        number = written if isinstance(written, int) and not isinstance(written, bool) else None
        clusters = choosable(context, placement)
        # If the clusters are not known, only the requested number is.
        known = None if clusters is None else len(clusters)
        counts = [count for count in (number, known) if count is not None]
        if counts and min(counts) > PAGE_CLUSTERS:
            path = ("spec", "numberOfClusters" if number is not None else "clusterSets")
            hint = f"split it into Placements of at most {PAGE_CLUSTERS} clusters"
            hint = f"{hint}, and let nothing that follows it delete on absence"
            yield _many(placement.name, min(counts), placement.document.key_at(path), hint)


def _many(name: str, count: int, position: Position, hint: str) -> Diagnostic:
    message = (
        f"{name} may choose {count} clusters: above {PAGE_CLUSTERS} a decision is several objects, rewritten"
        " one by one, and a cluster can be in none of them for a moment"
    )
    return codes.MANY_DECISIONS.at(position, message, hint)


def eligible(context: Context, item: RankingItem) -> frozenset[str]:
    """Clusters that match the sets and the selector of a ranking."""
    rules = item.value.spec.placement
    members, selector = context.inventory.members(rules.cluster_sets), rules.cluster_selector
    return members if selector is None else members & context.inventory.selected(selector)


def choosable(context: Context, item: Item[RawPlacement]) -> frozenset[str] | None:
    """Clusters by the Placement's sets and label selectors; None if claims, CEL or a mistake hide them."""
    spec = item.value.spec
    sets, predicates = spec.get("clusterSets"), spec.get("predicates") or []
    if not isinstance(sets, list) or not sets or not isinstance(predicates, list):
        return None
    if not all(isinstance(name, str) for name in sets):
        return None
    members = context.inventory.members(sets)
    if not predicates:
        return members
    selected = [_selected(context.inventory, predicate) for predicate in predicates]
    known = [clusters for clusters in selected if clusters is not None]
    return members & frozenset().union(*known) if len(known) == len(selected) else None


def _selected(inventory: ClusterInventory, predicate: Any) -> frozenset[str] | None:  # noqa: ANN401 - plain data
    required = predicate.get("requiredClusterSelector") if isinstance(predicate, Mapping) else None
    if not isinstance(required, Mapping) or not required.keys() <= {"labelSelector"}:
        return None
    try:
        return inventory.selected(LabelSelector.model_validate(required.get("labelSelector") or {}))
    except ValidationError:
        return None


@rule()
def the_config_is_the_one(context: Context) -> Iterator[Diagnostic]:
    """Only one DynamicScoringConfig is read, by its name, as upstream does."""
    for item in context.declared.scoring_configs:
        if item.name != SINGLETON_NAME:
            message = f"a DynamicScoringConfig named {item.name} is never read"
            hint = f"write name: {SINGLETON_NAME}, and all masks into that one object"
            yield codes.CONFIG_NAME.at(item.position, message, hint)


@rule(needs=("ManagedCluster", "DynamicScorer"))
def masks_name_what_exists(context: Context) -> Iterator[Diagnostic]:
    """A mask with a misspelt name has no effect."""
    clusters = context.inventory.clusters
    for item, index, mask in _masks(context):
        where: Path = ("spec", "masks", index)
        yield from _score(context, item, where, mask.score_name)
        if not clusters or masked_clusters(mask, context.inventory):
            continue
        name = mask.cluster_name
        if name is None:
            position = item.document.key_at((*where, "clusterSelector"))
            message = "clusterSelector matches no cluster of the inventory"
            yield codes.MATCHES_NOTHING.at(
                position, message, "correct the labels, or remove the mask"
            )
        elif is_glob(name):
            message, hint = (
                f"{name} matches no cluster of the inventory",
                "correct the pattern, or remove the mask",
            )
            yield codes.MATCHES_NOTHING.at(item.at(*where, "clusterName"), message, hint)
        else:
            message = f"there is no ManagedCluster {name} in clusters/"
            hint = did_you_mean(name, clusters) or "remove the mask, or import the cluster"
            yield codes.UNKNOWN_CLUSTER.at(item.at(*where, "clusterName"), message, hint)


@rule()
def masks_are_written_once(context: Context) -> Iterator[Diagnostic]:
    """A mask that is written twice is probably a mistake: one of them should differ."""
    seen: dict[tuple[str, str], int] = {}
    for item, index, mask in _masks(context):
        selector = (
            mask.cluster_selector.model_dump_json() if mask.cluster_selector is not None else ""
        )
        key = (mask.cluster_name or selector, mask.score_name)
        if key in seen:
            first = item.at("spec", "masks", seen[key])
            message = f"this mask is already on line {first.line}"
            yield codes.DUPLICATE_MASK.at(
                item.at("spec", "masks", index), message, "remove one of them"
            )
        seen.setdefault(key, index)


def _masks(context: Context) -> Iterator[tuple[Item[DynamicScoringConfig], int, Mask]]:
    for item in context.declared.scoring_configs[:1]:
        for index, mask in enumerate(item.value.spec.masks):
            yield item, index, mask


def _score(
    context: Context, item: Item[DynamicScoringConfig], where: Path, wanted: str
) -> Iterator[Diagnostic]:
    scorers = context.scorers.values()
    names = {scorer.score_name for scorer in scorers if scorer.score_name}
    if any(matches(name, wanted) for name in names):
        return
    open_names = any(context.waits_for_lock(scorer) and not scorer.score_name for scorer in scorers)
    if open_names and not context.locks_are_final:
        return  # the mask may be for a scorer whose score name is not known yet
    position = item.at(*where, "scoreName")
    known = f"scores here: {names_text(sorted(names), most=8) or 'none'}"
    if is_glob(wanted):
        yield codes.MATCHES_NOTHING.at(position, f"{wanted} matches no score", known)
        return
    scorer = context.scorers.get(wanted)
    hint = did_you_mean(wanted, names) or known
    if scorer is not None and scorer.score_name:
        hint = f"{wanted} is the scorer; its score is {scorer.score_name}"
    yield codes.UNKNOWN_SCORE.at(position, f"there is no score {wanted}", hint)
