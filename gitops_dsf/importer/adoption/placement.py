"""Writes the ranking of a live Placement: of a ScoredPlacement, or of a ScoredApplication.

A ranking says which clusters may be chosen, by which scores, and how sticky a decision is. A
Placement that it cannot express raises NotExpressible.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import Any, Final

import msgspec

from gitops_dsf.hub.application_sets import is_hollow
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.scorers import ScoreKey
from gitops_dsf.importer.adoption.liveset import NotExpressible
from gitops_dsf.importer.manifest import ImportedObject
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.model.ranking import MAX_STICKINESS
from gitops_dsf.resolve.raw_placements import WRITTEN_BY_THE_CRD
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.stickiness import STEADY_POINTS, Weights, choose

_FIELDS: Final = frozenset(
    {
        "clusterSets",
        "decisionStrategy",
        "numberOfClusters",
        "predicates",
        "prioritizerPolicy",
        "tolerations",
    }
)
"""The fields of a Placement's spec that a ranking has fields for."""


@dataclass(kw_only=True)
class _PrioritizerWeights:
    """The prioritizers that OCM runs for a Placement, with the sum of their weights."""

    built_in: Counter[str] = field(default_factory=Counter)
    add_ons: Counter[ScoreKey] = field(default_factory=Counter)


def ranking_of(spec: Mapping[str, Any], scorers: Iterable[EffectiveScorer]) -> ImportedObject:
    """The spec of a ranking that decides as a Placement does. Raises NotExpressible."""
    for name, content in spec.items():
        is_default = WRITTEN_BY_THE_CRD.get(name) == content
        if name not in _FIELDS and not is_hollow(content) and not is_default:
            raise NotExpressible(f"spec.{name} has no place in a ScoredPlacement")
    prioritizer_weights = _prioritizer_weights(spec)
    terms = _terms(prioritizer_weights, scorers)
    base, stickiness = _stickiness(
        [weight for _, weight in terms], prioritizer_weights.built_in["Steady"]
    )
    scores: list[ImportedObject] = []
    for (reference, _), weight in zip(terms, base, strict=True):
        # 1 is the default of our kinds.
        scores.append(reference if weight == 1 else {**reference, "weight": weight})
    return {
        "placement": _rules(spec),
        "scores": scores,
        "stickiness": stickiness,
        # The namespace has the bindings already, and another owner manages them.
        "bindings": "Existing",
    }


def ranked_scores(spec: Mapping[str, Any]) -> tuple[ScoreKey, ...]:
    """The items of AddOnPlacementScores by which OCM ranks for a Placement."""
    try:
        return tuple(_prioritizer_weights(spec).add_ons)
    except NotExpressible:
        # OCM ranks nothing then, and `validate` says why.
        return ()


def _prioritizer_weights(spec: Mapping[str, Any]) -> _PrioritizerWeights:
    """The weights by which OCM ranks. Raises NotExpressible for what OCM would not run."""
    # An import that adopts nothing does without the simulator, which is slow to import.
    from gitops_dsf.simulator import SimulatorInputError, with_defaults  # noqa: PLC0415
    from gitops_dsf.simulator.prioritizers import (  # noqa: PLC0415
        PrioritizerError,
        prioritizers_of,
    )

    policy = {"prioritizerPolicy": spec.get("prioritizerPolicy")}
    manifest = {"kind": "Placement", "metadata": {"name": "p"}, "spec": policy}
    try:
        [stored] = with_defaults([manifest])
        prioritizers = prioritizers_of(msgspec.convert(stored, Placement))
    except (SimulatorInputError, msgspec.ValidationError, PrioritizerError) as error:
        raise NotExpressible(f"OCM does not run its prioritizerPolicy: {error}") from error
    weights = _PrioritizerWeights()
    for prioritizer in prioritizers:
        if prioritizer.built_in is None:
            weights.add_ons[prioritizer.resource, prioritizer.score] += prioritizer.weight
        else:
            weights.built_in[prioritizer.built_in] += prioritizer.weight
    if weights.built_in["Steady"] < 0:
        # It would drive applications away from where they run, which no stickiness says.
        raise NotExpressible("its prioritizer Steady has a negative weight")
    return weights


def _terms(
    prioritizer_weights: _PrioritizerWeights, scorers: Iterable[EffectiveScorer]
) -> list[tuple[ImportedObject, int]]:
    """The scores that rank, each as a ranking refers to it, with its weight."""
    by_resource = {scorer.resource_name: scorer for scorer in scorers if scorer.score_name}
    terms: list[tuple[ImportedObject, int]] = []
    for (resource, score_name), weight in prioritizer_weights.add_ons.items():
        scorer = by_resource.get(resource)
        reference: ImportedObject
        if scorer is None:
            # `validate` says if spec.externalScores of gitops-dsf.yaml does not declare it.
            reference = {"addOn": {"resource": resource, "name": score_name}}
        else:
            reference = {"scorer": scorer.name}
            if scorer.only_item != score_name:
                reference["dimension"] = score_name
        terms.append((reference, weight))
    for name, weight in prioritizer_weights.built_in.items():
        # Steady is the stickiness.
        if name != "Steady":
            terms.append(({"builtIn": name}, weight))
    # Two entries of one score may cancel each other out, and OCM does not run a weight of 0.
    terms = [(reference, weight) for reference, weight in terms if weight]
    if not terms:
        raise NotExpressible("it ranks by no score")
    return terms


def _stickiness(weights: Sequence[int], steady: int) -> tuple[list[int], int]:
    """The smallest weights of the scores, and the points of stickiness that they give.

    Raises NotExpressible where these points are not a whole number.
    """
    divisor = gcd(*weights)
    base = [weight // divisor for weight in weights]
    # Steady adds its weight times 100 to the weighted sum of all scores; points are of their mean.
    points = Fraction(STEADY_POINTS * steady, sum(map(abs, weights)))
    chosen = choose(int(points), base) if points.denominator == 1 else None
    if chosen is None or points > MAX_STICKINESS or not _in_proportion(chosen, divisor, steady):
        raise NotExpressible(
            f"its weights hold a decision by {float(points):g} points, which no stickiness gives"
        )
    return base, int(points)


def _in_proportion(chosen: Weights, divisor: int, steady: int) -> bool:
    return chosen.steady * divisor == steady * chosen.factor


def _rules(spec: Mapping[str, Any]) -> ImportedObject:
    """The rules by which clusters may be chosen, and their number."""
    rules: ImportedObject = {}
    if spec.get("numberOfClusters") is not None:
        rules["numberOfClusters"] = spec["numberOfClusters"]
    if not spec.get("clusterSets"):
        raise NotExpressible(
            "without spec.clusterSets it chooses from every set that is bound to the namespace"
        )
    rules["clusterSets"] = list(spec["clusterSets"])
    selector = _selector(spec.get("predicates") or [])
    if selector is not None:
        rules["clusterSelector"] = selector
    if spec.get("tolerations"):
        rules["tolerations"] = [dict(toleration) for toleration in spec["tolerations"]]
    groups = _groups(value_at(spec, ("decisionStrategy", "groupStrategy")) or {})
    if groups:
        rules["decisionGroups"] = groups
    return rules


def _selector(predicates: Sequence[Mapping[str, Any]]) -> ImportedObject | None:
    """The label selector of a single predicate; None if there is none."""
    if not predicates:
        return None
    # OCM accepts a cluster for which any of the predicates holds.
    if len(predicates) > 1:
        raise NotExpressible("it has several predicates, of which any may hold")
    required = predicates[0].get("requiredClusterSelector") or {}
    for name, content in required.items():
        if name != "labelSelector" and not is_hollow(content):
            raise NotExpressible(f"its predicate has a {name}")
    selector = required.get("labelSelector") or {}
    return None if is_hollow(selector) else dict(selector)


def _groups(strategy: Mapping[str, Any]) -> ImportedObject:
    groups: ImportedObject = {}
    named = strategy.get("decisionGroups") or []
    if named:
        groups["groups"] = [_group(group) for group in named]
    # 100% is the default of OCM's CRD: all clusters in one group.
    size = strategy.get("clustersPerDecisionGroup")
    if size not in (None, "", "100%"):
        groups["clustersPerDecisionGroup"] = size
    return groups


def _group(group: Mapping[str, Any]) -> ImportedObject:
    selector = group.get("groupClusterSelector") or {}
    if not is_hollow(selector.get("claimSelector")):
        raise NotExpressible("a decision group has a claimSelector")
    return {
        "groupName": group.get("groupName"),
        "clusterSelector": dict(selector.get("labelSelector") or {}),
    }
