"""Judgements that are kept are those that would be made: whatever happens on the hub, and however often one
looks.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.reconciler.freshness.book import Book
from gitops_dsf.reconciler.freshness.judge import judge
from gitops_dsf.reconciler.hub.view import HubView
from tests.integration.reconciler.scorers.scene import ARGOCD, NAMESPACE, Scene, stamp
from tests.support import virtual_time
from tests.support.laws import examples
from tests.support.objecthub import ObjectHub

NOW = 2_000_000_000.0
TTL = 900


class Look:
    """A book that lives through a hub's changes."""

    def __init__(self, hub: ObjectHub, view: HubView) -> None:
        self.scene, self.view, self.book = Scene(hub, "http://127.0.0.1:9"), view, Book(view)

    def score(self, cluster: str, until: float, *names: str) -> None:
        scores = [{"name": name, "value": 1} for name in names]
        self.scene.hub.put(
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


def looking(hub: ObjectHub, api: Any) -> Look:
    return Look(hub, HubView(api=api, hub_namespace=NAMESPACE, argocd_namespace=ARGOCD))


async def test_a_renewal_in_time_makes_no_new_judgement_and_anything_else_does() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        look = looking(hub, api)
        look.scene.scorer("cpu")
        look.scene.cluster("a", "b")
        look.scene.masks("[]")
        look.score("a", NOW + TTL, "all")
        look.score("b", NOW + 100, "all")
        await look.view.scorers.refresh()
        await look.read()
        scorer = look.view.scorers.items["cpu"]
        first = look.book.judge(scorer, now=NOW)
        assert first.expiring == {"b"}
        look.score("a", NOW + TTL + 400, "all")
        await look.read()
        assert look.book.judge(scorer, now=NOW + 50) is first
        look.score("b", NOW + TTL, "all")
        await look.read()
        second = look.book.judge(scorer, now=NOW + 50)
        assert second.expiring == set()
        assert look.book.dead("cpu", "all", now=NOW) == set()
        look.score("a", NOW + TTL + 500, "other")
        await look.read()
        assert look.book.judge(scorer, now=NOW + 50) is not second
        assert look.book.dead("cpu", "all", now=NOW + 50) == {"a"}
        assert look.book.dead("cpu", "all", now=NOW + 2 * TTL) == {"a", "b"}
        look.scene.masks('[{"clusterName": "a", "scoreName": "cpu"}]')
        third = look.book.judge(scorer, now=NOW + 50)
        look.scene.unpublish("a")
        await look.read()
        assert look.book.judge(scorer, now=NOW + 50) is not third
        assert look.book.judge(scorer, now=NOW + 50).missing == set()


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
def test_what_is_kept_is_what_would_be_found(steps: list[tuple[str, str, int, str]]) -> None:
    virtual_time.run(_follow(steps))


async def _follow(steps: list[tuple[str, str, int, str]]) -> None:
    async with ObjectHub() as hub, hub.api() as api:
        look, now = looking(hub, api), NOW
        look.scene.scorer("cpu")
        look.scene.cluster("a", "b", "c")
        look.scene.masks("[]")
        await look.view.scorers.refresh()
        await look.read()
        scorer = look.view.scorers.items["cpu"]
        look.book.judge(scorer, now=now)
        for kind, cluster, number, name in steps:
            if kind == "score":
                look.score(cluster, now + number, *filter(None, [name]))
            elif kind == "unpublish":
                hub.objects.pop(("addonplacementscores", cluster, "cpu"), None)
            elif kind == "mask":
                look.scene.masks(f'[{{"clusterName": "{cluster}", "scoreName": "cpu"}}]')
            elif kind == "addon" and number:
                look.scene.cluster(cluster)
            elif kind == "addon":
                hub.objects.pop(("managedclusteraddons", cluster, "gitops-dsf-agent"), None)
            else:
                now += number
            await look.read()
            found = look.book.judge(scorer, now=now)
            scores, territory = look.view.scores.of("cpu"), look.view.targets
            expected = territory.expected(scorer)
            anew = judge(scorer, scores, expected=expected, since=lambda _: 0.0, masks_known=True, now=now)
            # Whoever came to be expected while we looked has time; all else is as it would be found now.
            assert (found.fresh, found.expiring, found.expired) == (anew.fresh, anew.expiring, anew.expired)
            assert found.missing | found.waiting == anew.missing
            dead = {name for name, item in scores.items() if not item.has("all") or item.valid_until < now}
            assert look.book.dead("cpu", "all", now=now) == dead


async def test_what_nobody_asks_for_any_more_is_forgotten() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        look = looking(hub, api)
        look.scene.scorer("cpu")
        look.score("a", NOW + TTL, "all")
        await look.view.scorers.refresh()
        await look.read()
        look.book.judge(look.view.scorers.items["cpu"], now=NOW)
        assert look.book.scored("cpu") is not None
        look.book.keep(scorers=set(), ranked=set())
        assert look.book.scored("cpu") is None
