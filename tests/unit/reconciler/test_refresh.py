"""When an ApplicationSet is asked to look at its decision, and when never.

It depends on how long the decision is what it is.
"""

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.reconciler.hub.decisions import DecisionSet, DecisionSets
from gitops_dsf.reconciler.refresh import RefreshDebounce

FORGET_SECONDS = 600.0
MIN_INTERVAL_SECONDS = 10.0


def page(*clusters: str, placement: str = "web") -> PlacementDecision:
    return decision_of(namespace="argocd", name="page", placement=placement, clusters=clusters)


def test_pages_that_vanish_leave_an_empty_decision_until_it_is_forgotten() -> None:
    decisions = DecisionSets()
    decisions.observe([page("a"), page("b", placement="db")], 0)
    assert decisions.observe([page("b", placement="db")], 10) == {"web"}
    assert decisions.get("web") == DecisionSet(clusters=frozenset(), since=10)
    assert decisions.observe([page("b", placement="db")], 10 + FORGET_SECONDS) == set()
    assert decisions.observe([page("b", placement="db")], 11 + FORGET_SECONDS) == set()
    assert decisions.get("web") is None
    assert decisions.observe([page("b", placement="db"), page("a")], 700) == {"web"}


def follower(*placements: str, uid: str = "1", asked: bool = False) -> ApplicationSet:
    return ApplicationSet(uid=uid, placements=frozenset(placements or ("web",)), asked=asked)


def names(debounce: RefreshDebounce, followers: dict[str, ApplicationSet], now: float) -> list[str]:
    found, _ = debounce.due(followers, now)
    for due in found:
        debounce.refreshed(due, now)
    return [due.name for due in found]


def test_of_several_placements_one_that_became_empty_is_not_passed_on() -> None:
    debounce, both = RefreshDebounce(decisions=DecisionSets()), {"web": follower("web", "api")}
    full, other = page("a"), page("b", placement="api")
    debounce.decisions.observe([full, other], 0)
    assert names(debounce, both, 5) == ["web"]
    debounce.decisions.observe([page(), other], 20)
    assert debounce.due(both, 20) == ([], None)
    assert names(debounce, both, 60) == [], "a look now would delete what the empty decision had"
    asked = {"web": follower("web", "api", asked=True)}
    debounce.decisions.observe([full, other], 61)
    assert names(debounce, both, 66) == ["web"], "Argo CD may have looked by itself meanwhile"
    debounce.decisions.observe([page(), other], 80)
    assert names(debounce, asked, 82) == [], (
        "a look that failed is not asked for again while one is empty"
    )
    debounce.decisions.observe([page(), page("c", placement="api")], 90)
    assert names(debounce, both, 95) == ["web"], "the other has news of its own"


def test_one_application_set_is_refreshed_at_most_every_ten_seconds() -> None:
    debounce = RefreshDebounce(decisions=DecisionSets())
    debounce.decisions.observe([page("a")], 0)
    assert names(debounce, {"web": follower()}, 5) == ["web"]
    debounce.decisions.observe([page("b")], 5)
    assert debounce.due({"web": follower()}, 10) == ([], 5 + MIN_INTERVAL_SECONDS - 10)
    assert names(debounce, {"web": follower()}, 15) == ["web"]


def test_followers_of_several_placements_wait_for_all_and_strangers_for_none() -> None:
    debounce = RefreshDebounce(decisions=DecisionSets())
    debounce.decisions.observe([page("a"), page("b", placement="db")], 0)
    debounce.decisions.observe([page("a"), page("c", placement="db")], 8)
    both, other = {"both": follower("web", "db")}, {"other": follower("elsewhere", uid="3")}
    assert names(debounce, both | other, 12) == []
    assert names(debounce, both | other, 13) == ["both"]


CLUSTERS = st.frozensets(st.sampled_from("abc"))


@given(st.lists(st.tuples(CLUSTERS, st.floats(0, 30)), min_size=1, max_size=20))
def test_whatever_happens_the_last_decision_is_told_unless_it_is_empty(
    history: list[tuple[frozenset[str], float]],
) -> None:
    debounce, now = RefreshDebounce(decisions=DecisionSets()), 0.0
    sent: list[frozenset[str]] = []
    for decision, pause in history:
        debounce.decisions.observe([page(*decision)], now)
        for moment in (now, now + pause):
            found, _ = debounce.due({"web": follower()}, moment)
            for due in found:
                debounce.refreshed(due, moment)
                sent += [clusters for _, clusters in due.wanted]
        now += pause
    found, _ = debounce.due({"web": follower()}, now + 100)
    sent += [clusters for due in found for _, clusters in due.wanted]
    assert all(sent)
    last = history[-1][0]
    assert not last or sent[-1] == last
