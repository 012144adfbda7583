"""Raw scores on the state branch: a metric store on loopback, a hub in memory, a real branch."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gitops_dsf.hub.raw_results import ByCluster
from gitops_dsf.reconciler import rawscores
from gitops_dsf.reconciler.rawscores import RawScoreController
from gitops_dsf.repository.model import reconciler as model
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from tests.integration.reconciler.replica import in_time
from tests.integration.reconciler.statebranch.test_state_branch import (
    StateBranchHub,
    StateBranchLeader,
)
from tests.support.objecthub import ObjectHub
from tests.support.pageserver import Answer, ConfigPageServer
from tests.support.virtual_time import wall

PATH = "/prometheus/api/v1/query"


class RawScoreStore(ConfigPageServer):
    """Has raw scores by cluster, the same for every scorer."""

    def __init__(self, values: Mapping[str, tuple[float, ...]]) -> None:
        super().__init__()
        self.values = values
        self.ago = 20.0
        self.questions: list[str] = []
        self.pages[PATH] = self.reply

    def reply(self, handler: BaseHTTPRequestHandler) -> None:
        question = parse_qs(urlsplit(handler.path).query)
        self.questions.append(question["query"][0])
        name = self.questions[-1].split('ds_score_name="')[1].split('"')[0]
        at = float(question["time"][0])
        rows = []
        for cluster, values in self.values.items():
            for node, value in enumerate(values):
                labels = {"ds_cluster": cluster, "ds_score_name": name, "ds_node": f"n{node}"}
                parts = (("low", value), ("high", value), ("time", at - self.ago))
                for part, number in parts:
                    metric = labels | {"gitops_dsf_part": part}
                    rows.append({"metric": metric, "value": [at, f"{number:.3f}"]})
        Answer(body=answer(rows))(handler)


def answer(rows: list[dict[str, Any]]) -> bytes:
    data = {"resultType": "vector", "result": rows}
    return json.dumps({"status": "success", "data": data}).encode()


@pytest.fixture
def scene(hub: ObjectHub, tmp_path: Path) -> StateBranchHub:
    return StateBranchHub(hub, tmp_path)


@asynccontextmanager
async def leading(
    scene: StateBranchHub,
    url: str,
    *,
    interval: float = 600.0,
    looks: float = 20.0,
    seconds: float = 5.0,
    allowed: tuple[str, ...] = (),
    secrets: Path | None = None,
    auth: Mapping[str, Any] | None = None,
) -> AsyncIterator[StateBranchLeader]:
    """A leader that asks this store, and looks at the branch every so many seconds (`looks`)."""
    written = {"host": f"{url}/prometheus"} | ({} if auth is None else {"auth": auth})
    settings = model.MetricStore.model_validate(written).model_copy(
        update={"interval_seconds": interval}
    )
    limits = FetchLimits(seconds=seconds, answer_bytes=1 << 20)
    async with Fetcher(limits=limits, secrets=secrets) as fetcher:

        def controller(leader: StateBranchLeader) -> RawScoreController:
            return RawScoreController(
                leader.context, fetcher=fetcher, settings=settings, allowed=allowed
            )

        async with scene.replica(store=controller, interval=looks) as leader:
            yield leader


def of(leader: StateBranchLeader, outcome: str) -> float:
    return leader.metric("reconciles_total", controller="raw-scores", outcome=outcome) or 0.0


def values(by_cluster: ByCluster) -> dict[str, list[tuple[float, float]]]:
    return {
        cluster: [(result.low, result.high) for result in results.results]
        for cluster, results in sorted(by_cluster.items())
    }


async def test_the_snapshot_has_the_raw_scores_of_a_store_and_their_age(
    scene: StateBranchHub,
) -> None:
    with RawScoreStore({"cluster1": (90.4,), "cluster2": (60.25, 0.1)}) as store:
        async with leading(scene, store.url) as leader:
            await in_time(lambda: of(leader, "done"), what="a look at the store")
            await leader.until("pushed")
            pushed = leader.count("pushed")
            scene.score(81)
            await leader.until("pushed", more_than=pushed)
    assert len(store.questions) == 2, "one for each scorer, in one interval"
    raw = scene.snapshot().raw_scores
    assert sorted(raw) == ["cpu", "mem"]
    assert values(raw["cpu"]) == {
        "cluster1": [(90.4, 90.4)],
        "cluster2": [(60.25, 60.25), (0.1, 0.1)],
    }
    labels = [result.labels for result in raw["cpu"]["cluster2"].results]
    assert labels == [("n0", *[""] * 6), ("n1", *[""] * 6)]
    assert 20 <= wall() - raw["cpu"]["cluster1"].measured < 1200


async def test_raw_scores_alone_are_pushed_in_their_own_interval(scene: StateBranchHub) -> None:
    """They change with every scrape, and the branch is looked at every 20 s."""
    with RawScoreStore({"cluster1": (1.0,)}) as store:
        async with leading(scene, store.url, interval=60.0) as leader:
            await in_time(lambda: of(leader, "done"), what="a look at the store")
            await leader.until("pushed")
            before = leader.count("pushed")
            looks = of(leader, "done")
            store.values = {"cluster1": (2.0,)}
            await in_time(lambda: of(leader, "done") >= looks + 4, what="four more looks")
            pushes = leader.count("pushed") - before
    assert 1 <= pushes <= 6
    assert values(scene.snapshot().raw_scores["cpu"]) == {"cluster1": [(2.0, 2.0)]}


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (Answer(status=503, body=b"later"), "answers 503"),
        (Answer(body=b"<html>"), "did not answer as Prometheus' /api/v1/query does"),
        (Answer(body=answer([]).replace(b"vector", b"matrix")), "gave no vector"),
        (
            Answer(body=answer([])[:-1] + b', "warnings": ["store-2 is gone"]}'),
            "data is missing: store-2 is gone",
        ),
        (Answer(body=b" " * (2 << 20)), "bytes"),
        (None, "0.4 s"),
    ],
)
async def test_a_store_that_fails_holds_up_no_snapshot(
    scene: StateBranchHub,
    caplog: pytest.LogCaptureFixture,
    page: Callable[[BaseHTTPRequestHandler], None] | None,
    words: str,
) -> None:
    with RawScoreStore({}) as store:
        store.pages[PATH] = store.hang if page is None else page
        async with leading(scene, store.url, seconds=0.4) as leader:
            await leader.until("pushed")
            await in_time(lambda: of(leader, "not-ready"), what="a failure")
            pushed = leader.count("pushed")
            scene.score(81)
            await leader.until("pushed", more_than=pushed)
    snapshot = scene.snapshot()
    assert dict(snapshot.scores["cpu"]["cluster1"].items()) == {"cpu": 81}
    assert snapshot.raw_scores == {}
    assert "the state branch gets no new raw scores; next try in 10 s" in caplog.text
    assert words in caplog.text


async def test_what_was_read_before_a_failure_is_left_out_when_it_is_old(
    scene: StateBranchHub,
) -> None:
    with RawScoreStore({"cluster1": (90.4,)}) as store:
        async with leading(scene, store.url, interval=60.0, looks=120.0) as leader:
            await in_time(lambda: of(leader, "done"), what="a look at the store")
            read_at = wall()
            store.pages[PATH] = Answer(status=503)
            pushed = leader.count("pushed")
            scene.score(81)
            await leader.until("pushed", more_than=pushed)
            assert sorted(scene.snapshot().raw_scores) == ["cpu", "mem"]
            (scene.folder / "out").rename(scene.folder / "first")
            await asyncio.sleep(read_at + 1900 - wall())
            pushed = leader.count("pushed")
            scene.score(82)
            await leader.until("pushed", more_than=pushed)
    assert scene.snapshot().raw_scores == {}


async def test_a_scorer_with_too_many_results_is_left_out(
    scene: StateBranchHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rawscores, "MAX_ALL_RESULTS", 5)
    with RawScoreStore({"cluster1": (1.0, 2.0, 3.0)}) as store:
        async with leading(scene, store.url) as leader:
            await in_time(lambda: of(leader, "done"), what="a look at the store")
            scene.score(81)
            await leader.until("pushed", more_than=leader.count("pushed"))
    assert sorted(scene.snapshot().raw_scores) == ["cpu"]
    assert "has no raw scores of mem: they have more than 20000 results" in caplog.text


@pytest.mark.parametrize("allowed", [("127.0.0.1",), ()])
async def test_a_token_goes_where_git_allows_it(
    scene: StateBranchHub, caplog: pytest.LogCaptureFixture, allowed: tuple[str, ...]
) -> None:
    secrets = scene.folder / "secrets"
    (secrets / "reader").mkdir(parents=True)
    (secrets / "reader" / "token").write_text("s3cret")
    auth = {"tokenSecretRef": {"name": "reader", "key": "token"}}
    with RawScoreStore({"cluster1": (1.0,)}) as store:
        if not allowed:
            store.pages[PATH] = Answer(status=401)
        async with leading(scene, store.url, allowed=allowed, secrets=secrets, auth=auth) as leader:
            outcome = "done" if allowed else "not-ready"
            await in_time(lambda: of(leader, outcome), what="an answer")
    shown = {headers.get("authorization") for headers in store.headers}
    assert shown == ({"Bearer s3cret"} if allowed else {None})
    if not allowed:
        assert (
            "metricStore.host has a host that may not get the credentials of metricStore.auth; add"
            " 127.0.0.1 to spec.allowedTokenHosts in gitops-dsf.yaml"
        ) in caplog.text
