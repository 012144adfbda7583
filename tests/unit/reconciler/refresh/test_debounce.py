"""When an ApplicationSet is asked to look at a decision, and when never."""

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.applicationsets import ApplicationSet
from gitops_dsf.hub.decisions import DecisionPage
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS, DecisionSets
from gitops_dsf.reconciler.refresh.debounce import BETWEEN_SECONDS, REPEAT, RefreshDebounce


def page(*clusters: str, placement: str = "web") -> DecisionPage:
    return DecisionPage(placement=placement, clusters=frozenset(clusters))


def follower(*placements: str, uid: str = "1", asked: bool = False) -> ApplicationSet:
    return ApplicationSet(uid=uid, placements=frozenset(placements or ("web",)), asked=asked)


def names(settling: RefreshDebounce, followers: dict[str, ApplicationSet], now: float) -> list[str]:
    found, _ = settling.due(followers, now)
    for due in found:
        settling.refreshed(due, now)
    return [due.name for due in found]


def test_a_decision_counts_once_it_held_still() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a")], 100)
    assert names(settling, {"web": follower()}, 104.9) == []
    settling.decisions.observe([page("a"), page("b")], 104.9)
    assert settling.due({"web": follower()}, 105) == ([], DEBOUNCE_SECONDS - (105 - 104.9))
    assert names(settling, {"web": follower()}, 109.9) == ["web"]
    assert settling.due({"web": follower()}, 500) == ([], None)


def test_pages_that_are_rewritten_into_the_same_union_are_no_news() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a", "b"), page("c")], 0)
    assert names(settling, {"web": follower()}, 10) == ["web"]
    settling.decisions.observe([page("a", "b")], 20)
    settling.decisions.observe([page("a"), page("b", "c")], 20.5)
    assert names(settling, {"web": follower()}, 60) == []


def test_an_empty_decision_is_never_passed_on_and_the_same_after_it_is_news() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a")], 0)
    assert names(settling, {"web": follower()}, 5) == ["web"]
    settling.decisions.observe([page()], 20)
    assert names(settling, {"web": follower()}, 40) == []
    settling.decisions.observe([], 41)
    assert names(settling, {"web": follower()}, 60) == []
    settling.decisions.observe([page("a")], 61)
    assert names(settling, {"web": follower()}, 66) == ["web"]


def test_of_several_placements_one_that_became_empty_is_not_passed_on() -> None:
    settling, both = RefreshDebounce(decisions=DecisionSets()), {"web": follower("web", "api")}
    full, other = page("a"), page("b", placement="api")
    settling.decisions.observe([full, other], 0)
    assert names(settling, both, 5) == ["web"]
    settling.decisions.observe([page(), other], 20)
    assert settling.due(both, 20) == ([], DEBOUNCE_SECONDS)
    assert names(settling, both, 60) == [], "a look now would delete what the empty decision had"
    asked = {"web": follower("web", "api", asked=True)}
    settling.decisions.observe([full, other], 61)
    assert names(settling, both, 66) == ["web"], "Argo CD may have looked by itself meanwhile"
    settling.decisions.observe([page(), other], 80)
    assert names(settling, asked, 82) == [], "a look that failed is not asked for again while one is empty"
    settling.decisions.observe([page(), page("c", placement="api")], 90)
    assert names(settling, both, 95) == ["web"], "the other has news of its own"


def test_a_blink_of_emptiness_is_no_news() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a")], 0)
    assert names(settling, {"web": follower()}, 5) == ["web"]
    settling.decisions.observe([], 20)
    assert names(settling, {"web": follower()}, 20) == []
    settling.decisions.observe([page("a")], 21)
    assert names(settling, {"web": follower()}, 60) == []


def test_an_application_set_that_is_newer_than_the_decision_is_told_at_once() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a")], 0)
    assert names(settling, {}, 50) == []
    assert names(settling, {"web": follower()}, 50) == ["web"]
    assert names(settling, {"web": follower(uid="2")}, 50.5) == ["web"], "deleted and made anew"


def test_one_application_set_is_refreshed_at_most_every_ten_seconds() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a")], 0)
    assert names(settling, {"web": follower()}, 5) == ["web"]
    settling.decisions.observe([page("b")], 5)
    assert settling.due({"web": follower()}, 10) == ([], 5 + BETWEEN_SECONDS - 10)
    assert names(settling, {"web": follower()}, 15) == ["web"]


def test_an_annotation_that_is_still_there_is_written_anew_ever_more_rarely() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a")], 0)
    assert names(settling, {"web": follower()}, 5) == ["web"]
    first, longest = REPEAT.first, REPEAT.ceiling
    moment, gaps = 5.0, []
    for _ in range(6):
        found, wait = settling.due({"web": follower(asked=True)}, moment)
        assert not found
        assert wait is not None
        gaps.append(wait)
        moment += wait
        found, _ = settling.due({"web": follower(asked=True)}, moment)
        assert [due.again for due in found] == [True]
        settling.refreshed(found[0], moment)
    assert gaps == [first, first * 2, first * 4, first * 8, longest, longest]
    assert settling.due({"web": follower()}, moment + 1000) == ([], None), "Argo CD looked"


def test_another_decision_does_not_wait_for_an_annotation_that_stays() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a")], 0)
    assert names(settling, {"web": follower()}, 5) == ["web"]
    settling.decisions.observe([page("b")], 6)
    assert names(settling, {"web": follower(asked=True)}, 14.9) == []
    found, _ = settling.due({"web": follower(asked=True)}, 15)
    assert [due.again for due in found] == [False]


def test_followers_of_several_placements_wait_for_all_and_strangers_for_none() -> None:
    settling = RefreshDebounce(decisions=DecisionSets())
    settling.decisions.observe([page("a"), page("b", placement="db")], 0)
    settling.decisions.observe([page("a"), page("c", placement="db")], 8)
    both, other = {"both": follower("web", "db")}, {"other": follower("elsewhere", uid="3")}
    assert names(settling, both | other, 12) == []
    assert names(settling, both | other, 13) == ["both"]


CLUSTERS = st.frozensets(st.sampled_from("abc"))


@given(st.lists(st.tuples(CLUSTERS, st.floats(0, 30)), min_size=1, max_size=20))
def test_whatever_happens_the_last_decision_is_told_unless_it_is_empty(
    history: list[tuple[frozenset[str], float]],
) -> None:
    settling, now = RefreshDebounce(decisions=DecisionSets()), 0.0
    sent: list[frozenset[str]] = []
    for decision, pause in history:
        settling.decisions.observe([DecisionPage(placement="web", clusters=decision)], now)
        for moment in (now, now + pause):
            found, _ = settling.due({"web": follower()}, moment)
            for due in found:
                settling.refreshed(due, moment)
                sent += [clusters for _, clusters in due.wanted]
        now += pause
    found, _ = settling.due({"web": follower()}, now + 100)
    sent += [clusters for due in found for _, clusters in due.wanted]
    assert all(sent)
    last = history[-1][0]
    assert not last or sent[-1] == last
