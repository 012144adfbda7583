"""What a Placement asks for: its predicates, and the scores that rank its clusters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

import msgspec
from msgspec import Struct

from gitops_dsf.hub import objects
from gitops_dsf.hub.pace import MOVES_SCORE, PACE_ANNOTATION, written
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
    digest: str = ""
    """Changes with everything that OCM decides by: the spec, and the annotation of a pace."""

    def may_choose(self, *, labels: Mapping[str, str], claims: Mapping[str, str]) -> bool:
        """Whether it passes one of the predicates, if there are any.

        CEL expressions are not evaluated.
        """
        return not self.predicates or any(
            each.labels.matches(labels) and each.claims.matches(claims) for each in self.predicates
        )


def summary_of(item: objects.Placement) -> PlacementSummary:
    return PlacementSummary(
        uid=item.metadata.uid,
        wanted=item.spec.number_of_clusters,
        ranked_by=ranked_by(item),
        predicates=tuple(_lenient_predicates(item)),
        paced=item if item.metadata.annotation(PACE_ANNOTATION) else None,
        digest=_digest(item),
    )


def _digest(item: objects.Placement) -> str:
    content = msgspec.json.encode((item.spec, item.metadata.annotation(PACE_ANNOTATION)))
    return hashlib.sha256(content).hexdigest()[:16]


def ranked_by(item: objects.Placement) -> tuple[RankedBy, ...]:
    """The scores by which people rank the clusters, in order, with the weights that they wrote.

    The item of a paced Placement in `gitops-dsf-moves` is none of them, although OCM reads it as a
    score.
    """
    return tuple(each for each in _read_by_ocm(written(item)) if each.resource != MOVES_SCORE)


def _read_by_ocm(item: objects.Placement) -> Iterator[RankedBy]:
    """The prioritizers of the object that read AddOnPlacementScores, in order."""
    policy = item.spec.prioritizer_policy
    for each in (policy.configurations if policy else None) or ():
        read = each.score_coordinate
        if each.weight and read is not None and read.type == "AddOn" and read.add_on is not None:
            yield RankedBy(read.add_on.resource_name, read.add_on.score_name, each.weight)


def predicate_of(written: objects.ClusterPredicate) -> Predicate:
    """Compiles a predicate. Raises SelectorError for a selector that Kubernetes rejects."""
    selector = written.required_cluster_selector
    if selector is None:
        return Predicate()
    claims = selector.claim_selector
    return Predicate(
        compile_selector(selector.label_selector),
        compile_selector(
            objects.LabelSelector(match_expressions=claims.match_expressions) if claims else None
        ),
        (selector.cel_selector.cel_expressions if selector.cel_selector else None) or (),
    )


def expressions(item: objects.Placement) -> Iterator[str]:
    for predicate in item.spec.predicates or ():
        selector = predicate.required_cluster_selector
        if selector is not None and selector.cel_selector is not None:
            yield from selector.cel_selector.cel_expressions or ()


def asks_for_scores(item: objects.Placement) -> bool:
    """Whether a predicate reads scores: onMissingScore Exclude, or a CEL expression written by hand."""
    return any(".scores(" in text for text in expressions(item))


def required_scores(item: objects.Placement) -> tuple[tuple[str, str], ...] | None:
    """Resource and item of the scores that it requires of a cluster; None if not by onMissingScore alone."""
    if not asks_for_scores(item):
        return ()
    if len(item.spec.predicates or ()) != 1:
        return None
    found = []
    for text in expressions(item):
        match = _HAS_SCORE.fullmatch(text)
        if match is not None:
            found.append((_unquoted(match[1]), _unquoted(match[2])))
        elif ".scores(" in text:
            return None
    return tuple(found)


def _unquoted(text: str) -> str:
    return re.sub(
        r"\\(.)", lambda match: {"n": "\n", "r": "\r"}.get(match[1], match[1]), text[1:-1]
    )


def without_score_predicates(item: objects.Placement) -> objects.Placement:
    """The Placement without CEL expressions that read scores."""
    if not asks_for_scores(item):
        return item
    predicates = tuple(_without_scores(each) for each in item.spec.predicates or ())
    return msgspec.structs.replace(
        item, spec=msgspec.structs.replace(item.spec, predicates=predicates)
    )


def _without_scores(predicate: objects.ClusterPredicate) -> objects.ClusterPredicate:
    selector = predicate.required_cluster_selector
    if selector is None or selector.cel_selector is None:
        return predicate
    left = tuple(
        text for text in selector.cel_selector.cel_expressions or () if ".scores(" not in text
    )
    return objects.ClusterPredicate(
        msgspec.structs.replace(selector, cel_selector=objects.CelSelector(left))
    )


def resources_read(item: objects.Placement) -> frozenset[str] | None:
    """Names of the AddOnPlacementScores that OCM reads for it, those with the items of moves too; None means
    any, because an expression computes the name.
    """
    found = {each.resource for each in _read_by_ocm(item)}
    for text in expressions(item):
        names = [double or single for double, single in _NAMED.findall(text)]
        if text.count(".scores(") != len(names):
            return None
        found.update(names)
    return frozenset(found)


def _lenient_predicates(item: objects.Placement) -> Iterator[Predicate]:
    for each in item.spec.predicates or ():
        try:
            yield predicate_of(each)
        except SelectorError:
            # OCM decides nothing for such a Placement, so no cluster is left out by mistake.
            yield Predicate()
