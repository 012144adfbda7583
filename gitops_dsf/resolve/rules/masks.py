"""Checks the masks of the DynamicScoringConfig."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.glob import is_glob, matches
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME, DynamicScoringConfig, Mask
from gitops_dsf.resolve.context import Context, needs
from gitops_dsf.resolve.targets import masked_clusters
from gitops_dsf.wording import did_you_mean, names_text


def the_config_is_the_one(context: Context) -> Iterator[Diagnostic]:
    """Only one DynamicScoringConfig is read, by its name, as upstream does."""
    for item in context.declared.scoring_configs:
        if item.name != SINGLETON_NAME:
            message = f"a DynamicScoringConfig named {item.name} is never read"
            hint = f"write name: {SINGLETON_NAME}, and all masks into that one object"
            yield codes.CONFIG_NAME.at(item.position, message, hint)


@needs("ManagedCluster", "DynamicScorer")
def masks_name_what_exists(context: Context) -> Iterator[Diagnostic]:
    """A mask with a misspelt name has no effect."""
    for item, index, mask in _masks(context):
        yield from _cluster(context, item, index, mask)
        yield from _score(context, item, index, mask)


def masks_are_written_once(context: Context) -> Iterator[Diagnostic]:
    """A mask that is written twice is probably a mistake: one of them should differ."""
    seen: dict[tuple[str, str], int] = {}
    for item, index, mask in _masks(context):
        selector = mask.cluster_selector.model_dump_json() if mask.cluster_selector is not None else ""
        key = (mask.cluster_name or selector, mask.score_name)
        if key in seen:
            first = item.at("spec", "masks", seen[key])
            message = f"this mask is already on line {first.line}"
            yield codes.DUPLICATE_MASK.at(item.at("spec", "masks", index), message, "remove one of them")
        seen.setdefault(key, index)


def _masks(context: Context) -> Iterator[tuple[Item[DynamicScoringConfig], int, Mask]]:
    for item in context.declared.scoring_configs[:1]:
        for index, mask in enumerate(item.value.spec.masks):
            yield item, index, mask


def _cluster(
    context: Context, item: Item[DynamicScoringConfig], index: int, mask: Mask
) -> Iterator[Diagnostic]:
    if not context.inventory.clusters or masked_clusters(mask, context.inventory):
        return
    if mask.cluster_name is None:
        position = item.document.key_at(("spec", "masks", index, "clusterSelector"))
        message = "clusterSelector matches no cluster of the inventory"
        yield codes.MATCHES_NOTHING.at(position, message, "correct the labels, or remove the mask")
    elif is_glob(mask.cluster_name):
        message = f"{mask.cluster_name} matches no cluster of the inventory"
        position = item.at("spec", "masks", index, "clusterName")
        yield codes.MATCHES_NOTHING.at(position, message, "correct the pattern, or remove the mask")
    else:
        message = f"there is no ManagedCluster {mask.cluster_name} in clusters/"
        hint = (
            did_you_mean(mask.cluster_name, context.inventory.clusters)
            or "remove the mask, or import the cluster"
        )
        yield codes.UNKNOWN_CLUSTER.at(item.at("spec", "masks", index, "clusterName"), message, hint)


def _score(
    context: Context, item: Item[DynamicScoringConfig], index: int, mask: Mask
) -> Iterator[Diagnostic]:
    names = {scorer.score_name for scorer in context.scorers.values() if scorer.score_name}
    if any(matches(name, mask.score_name) for name in names):
        return
    open_names = any(
        context.waits_for_lock(scorer) and not scorer.score_name for scorer in context.scorers.values()
    )
    if open_names and not context.locks_are_final:
        return  # the mask may be for a scorer whose score name is not known yet
    position = item.at("spec", "masks", index, "scoreName")
    known = f"scores here: {names_text(sorted(names), most=8) or 'none'}"
    if is_glob(mask.score_name):
        yield codes.MATCHES_NOTHING.at(position, f"{mask.score_name} matches no score", known)
        return
    scorer = context.scorers.get(mask.score_name)
    hint = did_you_mean(mask.score_name, names) or known
    if scorer is not None and scorer.score_name:
        hint = f"{mask.score_name} is the scorer; its score is {scorer.score_name}"
    yield codes.UNKNOWN_SCORE.at(position, f"there is no score {mask.score_name}", hint)
