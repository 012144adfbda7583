"""Requirements of a Placement: its predicates, and the scores that rank its clusters.

CEL expressions are not evaluated here. They are only searched for the scores that they read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

import msgspec
from msgspec import Struct

from gitops_dsf.hub import objects
from gitops_dsf.hub.multikueue import MULTIKUEUE_ANNOTATION
from gitops_dsf.hub.pace import (
    MOVES_SCORE,
    PACE_ANNOTATION,
    PacedRanking,
    paced_ranking,
    written,
)
from gitops_dsf.hub.selectors import Selector, SelectorError, compile_selector

BuiltIn = Literal["Balance", "ResourceAllocatableCPU", "ResourceAllocatableMemory", "Steady"]
BUILT_INS: Final[tuple[BuiltIn, ...]] = get_args(BuiltIn)
"""OCM's own prioritizers."""
EVERYTHING: Final = Selector()
_HAS_SCORE: Final = re.compile(
    r'managedCluster\.scores\(("(?:[^"\\]|\\.)*")\)\.exists\(score, score\.name =='
    r' ("(?:[^"\\]|\\.)*")\)'
)
"""The expression that onMissingScore: Exclude renders."""
_NAMED: Final = re.compile(r"""\.scores\(\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\)""")
"""A call whose argument is a literal without escapes."""
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "r": "\r"}
"""Escapes that do not stand for the character itself."""


class RankedBy(Struct, frozen=True):
    """A score that ranks clusters, with a weight other than 0."""

    resource: str
    """Name of the AddOnPlacementScore."""
    dimension: str
    weight: int


class Predicate(Struct, frozen=True):
    """A predicate: all its selectors and expressions must match.

    An empty one matches every cluster.
    """

    labels: Selector = EVERYTHING
    claims: Selector = EVERYTHING
    expressions: tuple[str, ...] = ()


class PlacementSummary(Struct, frozen=True):
    """The kept part of a Placement, for programs that follow thousands of them."""

    uid: str
    wanted: int | None
    """numberOfClusters; None means every eligible cluster."""
    ranked_by: tuple[RankedBy, ...]
    predicates: tuple[Predicate, ...] = ()
    paced: objects.Placement | None = None
    """The whole Placement, if its moves are paced."""
    multikueue: str = ""
    """The annotation of the order of clusters for Kueue; empty if there is none."""
    digest: str = ""
    """Changes with everything that decides: the spec, and the annotation of a pace.

    What verifies moves is left out. It decides nothing, and changes with each edit of a scorer.
    """

    def may_choose(self, *, labels: Mapping[str, str], claims: Mapping[str, str]) -> bool:
        """Whether a cluster passes one of the predicates, if there are any.

        CEL expressions are not evaluated, so a cluster may pass here and not on the hub.
        """
        if not self.predicates:
            return True
        # OCM 1.2.1 accepts a cluster for which any of the predicates holds.
        for predicate in self.predicates:
            if predicate.labels.matches(labels) and predicate.claims.matches(claims):
                return True
        return False


def summary_of(placement: objects.Placement) -> PlacementSummary:
    """The kept part of a Placement."""
    annotation = placement.metadata.annotation(PACE_ANNOTATION)
    # An annotation that cannot be read counts as it is: its next edit may change what decides.
    content = msgspec.json.encode((placement.spec, _deciding_part(placement) or annotation))
    return PlacementSummary(
        uid=placement.metadata.uid,
        wanted=placement.spec.number_of_clusters,
        ranked_by=ranked_by(placement),
        predicates=tuple(map(_lenient_predicate, placement.spec.predicates or ())),
        paced=placement if annotation else None,
        multikueue=placement.metadata.annotation(MULTIKUEUE_ANNOTATION),
        digest=hashlib.sha256(content).hexdigest()[:16],
    )


def _deciding_part(placement: objects.Placement) -> PacedRanking | None:
    """The annotation of a pace without its verification; None without one that can be read."""
    try:
        ranking = paced_ranking(placement)
    except msgspec.DecodeError:
        return None
    return None if ranking is None else msgspec.structs.replace(ranking, verification=None)


def ranked_by(placement: objects.Placement) -> tuple[RankedBy, ...]:
    """The scores by which people rank the clusters, in order, with the weights that they wrote.

    OCM also reads the item of a paced Placement in `gitops-dsf-moves` as a score. It carries out
    moves and ranks nothing, so it is left out.
    """
    scores = _read_by_ocm(written(placement))
    return tuple(score for score in scores if score.resource != MOVES_SCORE)


def predicate_of(declared: objects.ClusterPredicate) -> Predicate:
    """Compiles a predicate. Raises SelectorError for a selector that Kubernetes rejects."""
    selector = declared.required_cluster_selector
    if selector is None:
        return Predicate()
    claims = None
    if selector.claim_selector is not None:
        terms = selector.claim_selector.match_expressions
        claims = objects.LabelSelector(match_expressions=terms)
    cel = selector.cel_selector
    return Predicate(
        labels=compile_selector(selector.label_selector),
        claims=compile_selector(claims),
        expressions=(cel.cel_expressions if cel else None) or (),
    )


def expressions(placement: objects.Placement) -> Iterator[str]:
    """The CEL expressions of all predicates."""
    for predicate in placement.spec.predicates or ():
        selector = predicate.required_cluster_selector
        if selector is not None and selector.cel_selector is not None:
            yield from selector.cel_selector.cel_expressions or ()


def asks_for_scores(placement: objects.Placement) -> bool:
    """Whether a predicate reads scores: by onMissingScore Exclude, or by CEL written by hand."""
    return any(map(_reads_scores, expressions(placement)))


def required_scores(placement: objects.Placement) -> tuple[tuple[str, str], ...] | None:
    """Resource and item of the scores that the Placement requires of a cluster.

    None if it reads scores in another way than onMissingScore renders.
    """
    if not asks_for_scores(placement):
        return ()
    # A cluster must pass one predicate only, so with several of them no score is required.
    if len(placement.spec.predicates or ()) != 1:
        return None
    required: list[tuple[str, str]] = []
    for expression in expressions(placement):
        match = _HAS_SCORE.fullmatch(expression)
        if match is not None:
            required.append((_unquoted(match[1]), _unquoted(match[2])))
        elif _reads_scores(expression):
            return None
    return tuple(required)


def without_score_predicates(placement: objects.Placement) -> objects.Placement:
    """The Placement without CEL expressions that read scores."""
    if not asks_for_scores(placement):
        return placement
    # Predicates stay, even without expressions: each is one of several ways to be eligible.
    predicates = tuple(map(_without_scores, placement.spec.predicates or ()))
    spec = msgspec.structs.replace(placement.spec, predicates=predicates)
    return msgspec.structs.replace(placement, spec=spec)


def resources_read(placement: objects.Placement) -> frozenset[str] | None:
    """Names of the AddOnPlacementScores that OCM reads for it, also of the items of moves.

    None means any, because an expression computes the name.
    """
    resources = {score.resource for score in _read_by_ocm(placement)}
    for expression in expressions(placement):
        literals = _NAMED.findall(expression)
        # An argument that is not a literal depends on the cluster.
        if expression.count(".scores(") != len(literals):
            return None
        for in_double_quotes, in_single_quotes in literals:
            resources.add(in_double_quotes or in_single_quotes)
    return frozenset(resources)


def _read_by_ocm(placement: objects.Placement) -> Iterator[RankedBy]:
    """The prioritizers of the object that read AddOnPlacementScores, in order."""
    policy = placement.spec.prioritizer_policy
    for prioritizer in (policy.configurations if policy else None) or ():
        coordinate = prioritizer.score_coordinate
        # A weight of 0 changes no sum, and OCM 1.2.1 does not read the score.
        if not prioritizer.weight or coordinate is None or coordinate.type != "AddOn":
            continue
        if coordinate.add_on is not None:
            add_on = coordinate.add_on
            yield RankedBy(add_on.resource_name, add_on.score_name, prioritizer.weight)


def _lenient_predicate(declared: objects.ClusterPredicate) -> Predicate:
    try:
        return predicate_of(declared)
    except SelectorError:
        # OCM decides nothing for such a Placement, so no cluster is left out by mistake.
        return Predicate()


def _without_scores(predicate: objects.ClusterPredicate) -> objects.ClusterPredicate:
    selector = predicate.required_cluster_selector
    if selector is None or selector.cel_selector is None:
        return predicate
    remaining: list[str] = []
    for expression in selector.cel_selector.cel_expressions or ():
        if not _reads_scores(expression):
            remaining.append(expression)
    cel = objects.CelSelector(tuple(remaining))
    return objects.ClusterPredicate(msgspec.structs.replace(selector, cel_selector=cel))


def _reads_scores(expression: str) -> bool:
    return ".scores(" in expression


def _unquoted(text: str) -> str:
    """The content of a CEL literal in double quotes."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text[1:-1])
