"""Since when a decision is what it is, whatever its pages do."""

from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.placements import decision_of
from gitops_dsf.reconciler.hub.decisions import FORGET_SECONDS, DecisionSet, DecisionSets


def page(*clusters: str, placement: str = "web") -> PlacementDecision:
    return decision_of(namespace="argocd", name="page", placement=placement, clusters=clusters)


def test_only_the_union_counts() -> None:
    decisions = DecisionSets()
    decisions.observe([page("a"), page("b")], 1)
    assert decisions.observe([page("a", "b"), page()], 5) == set()
    assert decisions.observe([page("a")], 6) == {"web"}
    assert decisions.get("web") == DecisionSet(clusters=frozenset("a"), since=6)


def test_pages_that_vanish_leave_an_empty_decision_until_it_is_forgotten() -> None:
    decisions = DecisionSets()
    decisions.observe([page("a"), page("b", placement="db")], 0)
    assert decisions.observe([page("b", placement="db")], 10) == {"web"}
    assert decisions.get("web") == DecisionSet(clusters=frozenset(), since=10)
    assert decisions.observe([page("b", placement="db")], 10 + FORGET_SECONDS) == set()
    assert decisions.observe([page("b", placement="db")], 11 + FORGET_SECONDS) == set()
    assert decisions.get("web") is None
    assert decisions.observe([page("b", placement="db"), page("a")], 700) == {"web"}


def test_an_empty_page_is_never_forgotten() -> None:
    decisions = DecisionSets()
    decisions.observe([page()], 0)
    assert decisions.observe([page()], 10 * FORGET_SECONDS) == set()
