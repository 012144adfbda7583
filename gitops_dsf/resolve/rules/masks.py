"""Checks masks: they must be read, name existing scorers and clusters, and be written once."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.globs import is_glob, matches
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME, DynamicScoringConfig, Mask
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.targets import masked_clusters
from gitops_dsf.wording import did_you_mean, names_text


@rule()
def the_config_is_the_one(context: Context) -> Iterator[Diagnostic]:
    """Only one DynamicScoringConfig is read, by its name, as upstream does."""
    for config in context.declared.scoring_configs:
        if config.name != SINGLETON_NAME:
            yield codes.CONFIG_NAME.at(
                config.position,
                f"a DynamicScoringConfig named {config.name} is never read",
                f"write name: {SINGLETON_NAME}, and all masks into that one object",
            )


@rule(needs=("ManagedCluster", "DynamicScorer"))
def masks_name_what_exists(context: Context) -> Iterator[Diagnostic]:
    """A mask with a misspelt name has no effect."""
    for config, index, mask in _masks(context):
        path: FieldPath = ("spec", "masks", index)
        yield from _score(context, config, path, mask.score_name)
        yield from _clusters(context, config, path, mask)


@rule()
def masks_are_written_once(context: Context) -> Iterator[Diagnostic]:
    """A mask that is written twice is probably a mistake: one of them should differ."""
    seen: dict[tuple[str, str], int] = {}
    for config, index, mask in _masks(context):
        selector = mask.cluster_selector
        clusters = mask.cluster_name or ("" if selector is None else selector.model_dump_json())
        key = (clusters, mask.score_name)
        if key in seen:
            first = config.at("spec", "masks", seen[key])
            yield codes.DUPLICATE_MASK.at(
                config.at("spec", "masks", index),
                f"this mask is already on line {first.line}",
                "remove one of them",
            )
        seen.setdefault(key, index)


def _masks(context: Context) -> Iterator[tuple[Item[DynamicScoringConfig], int, Mask]]:
    # There is one such object. Another one has an error for its name.
    for config in context.declared.scoring_configs[:1]:
        for index, mask in enumerate(config.value.spec.masks):
            yield config, index, mask


def _clusters(
    context: Context, config: Item[DynamicScoringConfig], path: FieldPath, mask: Mask
) -> Iterator[Diagnostic]:
    inventory_clusters = context.inventory.clusters
    # In a repository without an inventory no mask would match anything.
    if not inventory_clusters or masked_clusters(mask, context.inventory):
        return
    name = mask.cluster_name
    if name is None:
        yield codes.MATCHES_NOTHING.at(
            config.document.key_at((*path, "clusterSelector")),
            "clusterSelector matches no cluster of the inventory",
            "correct the labels, or remove the mask",
        )
    elif is_glob(name):
        yield codes.MATCHES_NOTHING.at(
            config.at(*path, "clusterName"),
            f"{name} matches no cluster of the inventory",
            "correct the pattern, or remove the mask",
        )
    else:
        yield codes.UNKNOWN_CLUSTER.at(
            config.at(*path, "clusterName"),
            f"there is no ManagedCluster {name} in clusters/",
            did_you_mean(name, inventory_clusters) or "remove the mask, or import the cluster",
        )


def _score(
    context: Context, config: Item[DynamicScoringConfig], path: FieldPath, wanted: str
) -> Iterator[Diagnostic]:
    scorers = context.scorers.values()
    names = {scorer.score_name for scorer in scorers if scorer.score_name}
    if any(matches(name, wanted) for name in names):
        return
    has_open_names = any(
        context.waits_for_lock(scorer) and not scorer.score_name for scorer in scorers
    )
    if has_open_names and not context.locks_are_final:
        return  # the mask may be for a scorer whose score name is not known yet
    position = config.at(*path, "scoreName")
    list_of_scores = f"scores here: {names_text(sorted(names), max_names=8) or 'none'}"
    if is_glob(wanted):
        yield codes.MATCHES_NOTHING.at(position, f"{wanted} matches no score", list_of_scores)
        return
    scorer = context.scorers.get(wanted)
    # Masks name scores, and people confuse them with scorers.
    if scorer is not None and scorer.score_name:
        hint = f"{wanted} is the scorer; its score is {scorer.score_name}"
    else:
        hint = did_you_mean(wanted, names) or list_of_scores
    yield codes.UNKNOWN_SCORE.at(position, f"there is no score {wanted}", hint)
