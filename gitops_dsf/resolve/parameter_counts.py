"""Sets of parameters that a generator gives: their number is that of the Applications."""

from math import prod

from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import choosable, eligible
from gitops_dsf.resolve.generators import GENERATOR, followed_by, generators


def is_filtered(document: Document, generator: FieldPath) -> bool:
    """Whether a selector lets only some of a generator's parameters through."""
    return bool(value_at(document.data, (*generator[:-1], "selector")))


def known_count(context: Context, document: Document, generator: FieldPath) -> int | None:
    """The most sets of parameters that a generator gives.

    None if that depends on what is not in git.
    """
    # The number of parameters that pass the selector depends on their values.
    if is_filtered(document, generator):
        return None
    content = value_at(document.data, generator)
    kind = generator[-1]
    if kind == "list":
        elements = content.get("elements")
        # elementsYaml is text that parameters of another generator fill in.
        is_known = isinstance(elements, list) and not content.get("elementsYaml")
        return len(elements) if is_known else None
    if kind == GENERATOR:
        return _chosen(context, document, generator)
    inner = generators(document, (*generator, "generators"), depth=1)
    # Generators further inside count for their own parent, which is counted below.
    direct = [nested for nested in inner if len(nested) == len(generator) + 3]
    counts = [known_count(context, document, nested) for nested in direct]
    if kind == "merge":
        # A merge has a set of parameters for each of its first generator.
        return counts[0] if counts else None
    if kind == "matrix" and any(counts):
        # A generator of which nothing is known gives at least one set, or nothing is generated.
        return prod(1 if count is None else count for count in counts)
    return None


def _chosen(context: Context, document: Document, generator: FieldPath) -> int | None:
    """The most clusters that the decisions which a generator follows can have together.

    None if the sets of a Placement, or its expressions, hide them.
    """
    followed = {name for _, name in followed_by(document, generator)}
    home = context.argocd_namespace
    total = 0
    for ranking in context.declared.rankings:
        # Argo CD 3.6.1 looks decisions up in its own namespace alone.
        if ranking.name in followed and context.namespace_of(ranking) == home:
            wanted = ranking.value.spec.placement.number_of_clusters
            count = len(eligible(context, ranking))
            total += count if wanted is None else min(count, wanted)
    for placement in context.declared.placements:
        if placement.name in followed and context.namespace_of(placement) == home:
            limits = []
            clusters = choosable(context, placement)
            if clusters is not None:
                limits.append(len(clusters))
            limit = placement.value.spec.get("numberOfClusters")
            if isinstance(limit, int):
                limits.append(limit)
            if not limits:
                return None
            total += min(limits)
    return total
