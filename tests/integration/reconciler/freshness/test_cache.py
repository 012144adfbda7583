"""Cached assessments equal those that would be made anew, whatever happens on the hub."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.reconciler.freshness.assessment import assess
from gitops_dsf.reconciler.freshness.cache import AssessmentCache
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from tests.integration.reconciler.scorers.scorerhub import ARGOCD, NAMESPACE, ScorerHub, stamp
from tests.support import virtual_time
from tests.support.laws import examples

NOW = 2_000_000_000.0
TTL = 900


class FollowedHub(ScorerHub):
    """A hub whose changes a cache follows."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9")

    def follow(self, api: HubApi) -> None:
        self.view = HubView(api=api, hub_namespace=NAMESPACE, argocd_namespace=ARGOCD)
        self.cache = AssessmentCache(self.view)

    def score_until(self, cluster: str, until: float, *names: str) -> None:
        scores = [{"name": name, "value": 1} for name in names]
        self.put(
            "addonplacementscores",
            "cpu",
            namespace=cluster,
            status={"validUntil": stamp(until), "scores": scores},
        )

    async def read(self) -> None:
        await self.view.scores.refresh()
        await self.view.clusters.refresh()
        await self.view.addons.refresh()
        await self.view.masks.refresh()


async def test_a_renewal_in_time_keeps_the_assessment_and_any_other_change_makes_a_new_one() -> None:
    async with FollowedHub() as hub, hub.api() as api:
        hub.follow(api)
        hub.scorer("cpu")
        hub.cluster("a", "b")
        hub.masks("[]")
        hub.score_until("a", NOW + TTL, "all")
        hub.score_until("b", NOW + 100, "all")
        await hub.view.scorers.refresh()
        await hub.read()
        scorer = hub.view.scorers.items["cpu"]
        first = hub.cache.assess(scorer, now=NOW)
        assert first.expiring == {"b"}
        hub.score_until("a", NOW + TTL + 400, "all")
        await hub.read()
        assert hub.cache.assess(scorer, now=NOW + 50) is first
        hub.score_until("b", NOW + TTL, "all")
        await hub.read()
        second = hub.cache.assess(scorer, now=NOW + 50)
        assert second.expiring == set()
        assert hub.cache.not_counted("cpu", "all", now=NOW) == set()
        hub.score_until("a", NOW + TTL + 500, "other")
        await hub.read()
        assert hub.cache.assess(scorer, now=NOW + 50) is not second
        assert hub.cache.not_counted("cpu", "all", now=NOW + 50) == {"a"}
        assert hub.cache.not_counted("cpu", "all", now=NOW + 2 * TTL) == {"a", "b"}
        hub.masks('[{"clusterName": "a", "scoreName": "cpu"}]')
        third = hub.cache.assess(scorer, now=NOW + 50)
        hub.unpublish("a")
        await hub.read()
        assert hub.cache.assess(scorer, now=NOW + 50) is not third
        assert hub.cache.assess(scorer, now=NOW + 50).missing == set()


CLUSTERS = st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("score"), CLUSTERS, st.integers(-50, 1500), st.sampled_from(["all", "other", ""])),
    st.tuples(st.just("unpublish"), CLUSTERS, st.just(0), st.just("")),
    st.tuples(st.just("mask"), CLUSTERS, st.just(0), st.just("")),
    st.tuples(st.just("addon"), CLUSTERS, st.booleans().map(int), st.just("")),
    st.tuples(st.just("time"), st.just(""), st.integers(1, 400), st.just("")),
)


@settings(examples(6))
@given(st.lists(STEPS, max_size=8))
def test_a_cached_assessment_equals_a_new_one(steps: list[tuple[str, str, int, str]]) -> None:
    virtual_time.run(_follow(steps))


async def _follow(steps: list[tuple[str, str, int, str]]) -> None:
    async with FollowedHub() as hub, hub.api() as api:
        hub.follow(api)
        now = NOW
        hub.scorer("cpu")
        hub.cluster("a", "b", "c")
        hub.masks("[]")
        await hub.view.scorers.refresh()
        await hub.read()
        scorer = hub.view.scorers.items["cpu"]
        hub.cache.assess(scorer, now=now)
        for kind, cluster, number, name in steps:
            if kind == "score":
                hub.score_until(cluster, now + number, *filter(None, [name]))
            elif kind == "unpublish":
                hub.objects.pop(("addonplacementscores", cluster, "cpu"), None)
            elif kind == "mask":
                hub.masks(f'[{{"clusterName": "{cluster}", "scoreName": "cpu"}}]')
            elif kind == "addon" and number:
                hub.cluster(cluster)
            elif kind == "addon":
                hub.objects.pop(("managedclusteraddons", cluster, "gitops-dsf-agent"), None)
            else:
                now += number
            await hub.read()
            found = hub.cache.assess(scorer, now=now)
            scores, targets = hub.view.scores.of("cpu"), hub.view.targets
            expected = targets.expected(scorer)
            anew = assess(scorer, scores, expected=expected, since=lambda _: 0.0, masks_known=True, now=now)
            # Whoever came to be expected while we looked has time; all else is as it would be found now.
            assert (found.fresh, found.expiring, found.expired) == (anew.fresh, anew.expiring, anew.expired)
            assert found.missing | found.waiting == anew.missing
            dead = {name for name, item in scores.items() if not item.has("all") or item.valid_until < now}
            assert hub.cache.not_counted("cpu", "all", now=now) == dead


async def test_other_scorers_are_forgotten() -> None:
    async with FollowedHub() as hub, hub.api() as api:
        hub.follow(api)
        hub.scorer("cpu")
        hub.score_until("a", NOW + TTL, "all")
        await hub.view.scorers.refresh()
        await hub.read()
        scorer = hub.view.scorers.items["cpu"]
        first = hub.cache.assess(scorer, now=NOW)
        hub.cache.keep_only(scorers={"cpu"}, ranked=set())
        assert hub.cache.assess(scorer, now=NOW) is first
        hub.cache.keep_only(scorers=set(), ranked=set())
        assert hub.cache.assess(scorer, now=NOW) is not first
