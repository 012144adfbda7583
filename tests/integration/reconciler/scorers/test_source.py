"""Where the reconciler takes scorers from.

A rendered list that Argo CD applies piece by piece, and that may be missing, half applied or
broken.
"""

import asyncio
import itertools
import logging
from typing import Any

import pytest

from tests.integration.reconciler.replica import read_again
from tests.integration.reconciler.scorerhub import NAMESPACE, ScorerHub, ScorerLeader
from tests.support.apiserver import Object
from tests.support.scorerlists import config_maps

INDEX = "gitops-dsf-scorers"
STALE_SECONDS = 150.0


def spec(name: str, ttl: int = 900, padding: int = 0) -> dict[str, Any]:
    scoring = {"type": "Query", "params": {"name": name, "interval": 5}}
    return {"description": "x" * padding, "scoring": scoring, "scoreTTLSeconds": ttl}


def large(*names: str, ttl: int) -> list[Object]:
    """A list of several parts."""
    return config_maps({name: spec(name, ttl, padding=200_000) for name in names})


@pytest.fixture
def listing(hub: ScorerHub) -> ScorerHub:
    """A hub whose list a test writes."""
    hub.lists_scorers = False
    return hub


def ttls(leader: ScorerLeader) -> dict[str, int]:
    return {name: scorer.ttl for name, scorer in leader.view.scorers.items.items()}


async def test_no_order_of_applying_shows_half_a_list(
    listing: ScorerHub, leader: ScorerLeader
) -> None:
    """Argo CD applies the ConfigMaps of a new list over those of the old one, in any order."""
    names = [f"s{number}" for number in range(6)]
    old = large(*names[:5], ttl=900)
    new = large(*names[1:], ttl=60)
    assert len(new) > 3
    before = dict.fromkeys(names[:5], 900)
    after = dict.fromkeys(names[1:], 60)
    for order in itertools.islice(itertools.permutations(new), 0, 24, 5):
        listing.put_list(old, namespace=NAMESPACE)
        await read_again(leader.view)
        assert ttls(leader) == before
        for item in order:
            listing.put(
                "configmaps",
                item["metadata"]["name"],
                namespace=NAMESPACE,
                metadata={"labels": item["metadata"]["labels"]},
                data=item["data"],
            )
            await read_again(leader.view)
            assert ttls(leader) in (before, after)
        # Argo CD prunes last what is no longer rendered.
        listing.put_list(new, namespace=NAMESPACE)
        await read_again(leader.view)
        assert ttls(leader) == after


async def test_without_a_list_nothing_is_done_and_the_reason_is_told(
    listing: ScorerHub, leader: ScorerLeader, caplog: pytest.LogCaptureFixture
) -> None:
    listing.scorer("cpu")
    with caplog.at_level(logging.WARNING):
        await read_again(leader.view)
        await read_again(leader.view)
    assert not leader.view.scorers.synced.is_set(), "nothing that reads scorers begins"
    assert "ConfigMap gitops-dsf-scorers is missing" in leader.view.waits_for
    assert leader.metric("watch_broken", resource="scorers") == 1
    told = [line for line in caplog.messages if "gitops-dsf-scorers is missing" in line]
    assert len(told) == 1, "once, and not every 30 s"
    listing.list_scorers(NAMESPACE)
    await read_again(leader.view)
    assert leader.view.scorers.synced.is_set()
    assert leader.view.waits_for == ""
    assert leader.metric("watch_broken", resource="scorers") == 0


@pytest.mark.parametrize(
    "lost", ["index", "part", "emptied", "another program", "refused", "sign-in"]
)
async def test_a_list_that_is_lost_forgets_nothing_and_is_outdated_after_a_while(
    listing: ScorerHub, leader: ScorerLeader, lost: str
) -> None:
    listing.scorer("cpu")
    listing.joined("c1")
    listing.masks("[]")
    listing.score("c1")
    listing.list_scorers(NAMESPACE)
    await leader.once()
    assert listing.condition("cpu")[1] == "Fresh"
    part = ("configmaps", NAMESPACE, f"{INDEX}-0")
    index = ("configmaps", NAMESPACE, INDEX)
    match lost:
        case "index":
            del listing.objects[index]
        case "part":
            del listing.objects[part]
        case "emptied":
            listing.objects[index]["data"] = {}
        case "another program":
            listing.objects[part]["data"] = {"cpu": "{}"}
        case "refused":
            listing.refused["/api/v1/configmaps"] = 403
        case "sign-in":
            listing.instead_of_objects = b"<html>Sign in</html>"
    await leader.view.scorers.refresh()
    assert list(ttls(leader)) == ["cpu"]
    assert leader.view.scorers.broken == ""
    await asyncio.sleep(STALE_SECONDS + 1)
    assert leader.view.scorers.broken.startswith("the list of scorers could not be read for more")
    assert list(ttls(leader)) == ["cpu"], "still"


async def test_a_scorer_that_git_removed_is_gone_also_when_its_object_stays(
    listing: ScorerHub, leader: ScorerLeader
) -> None:
    for name in ("cpu", "by-hand"):
        listing.scorer(name)
    listing.put_list(config_maps({"cpu": spec("cpu")}), namespace=NAMESPACE)
    await read_again(leader.view)
    assert list(ttls(leader)) == ["cpu"]
    await leader.once()
    assert listing.patched() == ["cpu"]
    listing.put_list(config_maps({}), namespace=NAMESPACE)
    await read_again(leader.view)
    assert ttls(leader) == {}, "an empty list is a list"


async def test_what_the_list_says_counts_and_not_what_the_hub_pruned(
    listing: ScorerHub, leader: ScorerLeader
) -> None:
    """Another program's CRD lacks our fields, and refuses a scorer by query."""
    listing.joined("c1")
    listing.masks("[]")
    listing.scorer("cpu", ttl=0)
    specs = {"cpu": spec("cpu", ttl=4000), "query": spec("query", ttl=70)}
    listing.put_list(config_maps(specs), namespace=NAMESPACE)
    listing.score("c1", seconds=900)
    await leader.once()
    assert ttls(leader) == {"cpu": 4000, "query": 70}
    assert leader.metric("scored_clusters", scorer="query", state="fresh") == 0
    assert leader.metric("scored_clusters", scorer="cpu", state="expiring") == 1
