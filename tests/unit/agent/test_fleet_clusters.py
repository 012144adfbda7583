"""Which cluster a series or a result of the hub scorer is about.

Which clusters a scorer scores is tested here, too.
"""

import asyncio
import json
from collections.abc import Mapping
from functools import partial

import pytest

from dsf_agent.configuration.snapshot import ScoredClusters, Targets, parse
from dsf_agent.errors import AgentError
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.metrics import AgentMetrics
from dsf_agent.publish.prune import Pruner
from dsf_agent.publish.store import StoredScores
from dsf_agent.scoring.clusterlabels import NO_CLUSTER, OTHER_CLUSTER, ClusterLabelSets
from dsf_agent.scoring.labels import LabelSet
from dsf_agent.scoring.split import groups, split
from dsf_wire.clusters import FleetCluster, encode
from dsf_wire.scored import Reason
from dsf_wire.summary import ClusterLabel, ScorerSummary
from tests.support.agent.turns import with_turns

BATCH = 2_000

CLUSTERS = {"eu": "cluster-1", "us": "cluster-2"}


def scorer(name: str, label: ClusterLabel | None = None) -> ScorerSummary:
    return ScorerSummary(name=name, score_name=name, cluster_label=label)


def test_a_scorer_scores_the_clusters_that_name_it() -> None:
    fleet = ScoredClusters()
    assert fleet.targets(scorer("cpu")) == Targets(names=(), by_value={})
    fleet.set(
        [
            FleetCluster(
                name="a", scorers=("cpu", "gpu"), values={"claim:id": "1", "label:zone": "x"}
            ),
            FleetCluster(name="b", scorers=("cpu",), values={"claim:id": "2"}),
            FleetCluster(name="c", scorers=("gpu",), values={"claim:id": "1"}),
            FleetCluster(name="d"),
        ]
    )
    assert fleet.names == ("a", "b", "c", "d")
    cpu = fleet.targets(scorer("cpu", ClusterLabel(name="cluster")))
    assert cpu == Targets(names=("a", "b"), by_value={"a": "a", "b": "b"})
    assert fleet.targets(scorer("cpu")) is cpu, "it is worked out once for each file"
    by_claim = scorer("cpu", ClusterLabel(name="cluster", claim="id"))
    assert fleet.targets(by_claim) == Targets(names=("a", "b"), by_value={"1": "a", "2": "b"})
    by_label = scorer("cpu", ClusterLabel(name="cluster", label="zone"))
    assert fleet.targets(by_label) == Targets(names=("a", "b"), by_value={"x": "a"})
    gpu = scorer("gpu", ClusterLabel(name="cluster", claim="id"))
    assert fleet.targets(gpu) == Targets(names=("a", "c"), by_value={}), (
        "1 could mean either cluster"
    )
    fleet.set([FleetCluster(name="e", scorers=("cpu",))])
    assert fleet.targets(scorer("cpu")) == Targets(names=("e",), by_value={"e": "e"})


def label_sets(label: str = "cluster", template: str = "${node}") -> ClusterLabelSets:
    return ClusterLabelSets(template=template, score_name="cpu", label=label)


def read(found: ClusterLabelSets, *metrics: Mapping[str, str]) -> list[LabelSet]:
    with found.answer():
        return found.read([json.dumps(metric).encode() for metric in metrics])


def test_a_label_says_which_cluster_a_result_is_about() -> None:
    found = label_sets()
    found.use(CLUSTERS)
    one, other, none = read(
        found,
        {"cluster": "eu", "node": "n1", "job": "x"},
        {"cluster": "asia", "node": "n1"},
        {"node": "n1"},
    )
    assert (one.cluster, one.item) == ("cluster-1", "n1")
    assert one.line.startswith(b'dynamic_score{ds_cluster="cluster-1",ds_node="n1",')
    assert b'ds_score_name="cpu"' in one.line
    assert (other, none) == (OTHER_CLUSTER, NO_CLUSTER)
    assert not OTHER_CLUSTER.cluster
    assert NO_CLUSTER.cluster


def test_a_result_without_the_label_is_about_the_only_cluster_that_was_asked_about() -> None:
    found = label_sets()
    found.use(CLUSTERS, only="cluster-2")
    assert [one.cluster for one in read(found, {}, {"cluster": "eu"}, {"cluster": "asia"})] == [
        "cluster-2",
        "cluster-1",
        "",
    ]


def test_the_label_of_the_cluster_may_be_part_of_the_item() -> None:
    found = label_sets(label="namespace", template="${cluster}/${namespace}/${scoreName}")
    found.use(CLUSTERS)
    [one] = read(found, {"namespace": "eu"})
    assert (one.cluster, one.item) == ("cluster-1", "cluster-1/eu/cpu")
    assert b'ds_namespace="eu"' in one.line


def test_other_clusters_change_what_known_labels_mean() -> None:
    """Label sets are kept by their JSON, from answer to answer."""
    found = label_sets()
    metric = {"cluster": "eu", "node": "n"}
    found.use(CLUSTERS)
    [first] = read(found, metric)
    found.use(CLUSTERS)
    [second] = read(found, metric)
    assert second is first
    others = {"eu": "cluster-3"}
    found.use(others)
    assert [one.cluster for one in read(found, metric)] == ["cluster-3"]
    assert [one.cluster for one in read(found, {"node": "n"})] == ["\0"]
    found.use(others, only="cluster-3")
    assert [one.cluster for one in read(found, {"node": "n"})] == ["cluster-3"]


def series(*metrics: Mapping[str, str]) -> SeriesText:
    rows = [
        json.dumps({"metric": metric, "values": [[1, str(at)]]}, separators=(",", ":")).encode()
        for at, metric in enumerate(metrics)
    ]
    return SeriesText(parts=(b",".join(rows),), count=len(rows), size=sum(map(len, rows)))


async def test_series_are_split_by_cluster_in_their_order() -> None:
    found = await split(
        series(
            {"cluster": "us"},
            {"cluster": "eu"},
            {"cluster": "asia"},
            {},
            {"cluster": "us", "a": "b"},
        ),
        label="cluster",
        clusters=CLUSTERS,
    )
    assert {name: [json.loads(one)["values"] for one in rows] for name, rows in found.items()} == {
        "cluster-2": [[[1, "0"]], [[1, "4"]]],
        "cluster-1": [[[1, "1"]]],
    }


@pytest.mark.parametrize(
    "text", [b'{"metric":{}', b'{"metric":{"cluster":3}}', b'{"value":"\xff"}', b"3"]
)
async def test_series_that_cannot_be_split_fail_the_cycle(text: bytes) -> None:
    with pytest.raises(AgentError, match="the series of the source cannot be read") as caught:
        await split(SeriesText(parts=(text,), count=1), label="cluster", clusters=CLUSTERS)
    assert caught.value.reason is Reason.INVALID_BODY


async def test_other_tasks_run_while_a_large_answer_is_split() -> None:
    whole = series(*({"cluster": "eu", "node": f"n{number:06d}"} for number in range(10_000)))
    found, turns = await with_turns(split(whole, label="cluster", clusters=CLUSTERS))
    assert len(found["cluster-1"]) == 10_000
    assert turns >= whole.count // BATCH == 5


def test_a_request_has_at_most_so_many_clusters() -> None:
    by_cluster = {name: [name.encode(), b"2"] for name in ("c", "a", "b")}
    found = list(groups(by_cluster, max_clusters=2))
    assert [names for names, _ in found] == [["a", "b"], ["c"]]
    assert [(one.parts, one.count, one.size) for _, one in found] == [
        ((b"a,2,b,2",), 4, 4),
        ((b"c,2",), 2, 2),
    ]


class ListedHub:
    def __init__(self, **faults: Reason) -> None:
        self.faults = faults
        self.listed: list[str] = []
        self.deleted: list[str] = []


class ListedStore:
    def __init__(self, hub: ListedHub, cluster: str) -> None:
        self._hub, self._cluster = hub, cluster

    async def list_owned(self, *, values: bool) -> list[StoredScores]:
        assert not values
        self._hub.listed.append(self._cluster)
        if self._cluster in self._hub.faults:
            raise AgentError("no", reason=self._hub.faults[self._cluster])
        return [
            StoredScores(name=name, values={}, valid_until=5.0, labels={})
            for name in ("cpu", "old")
        ]

    async def delete(self, stored: StoredScores) -> None:
        self._hub.deleted.append(f"{self._cluster}/{stored.name}")


async def pruned(hub: ListedHub, *clusters: FleetCluster) -> None:
    """What the hub scorer deletes within a minute, with one scorer cpu and these clusters."""
    summaries = (
        b'[{"name": "cpu", "scoreName": "cpu", "scoringType": "Query", "scoringInterval": 60,'
        b' "runsOn": "Hub", "clusterLabel": {"name": "x"},'
        b' "sourceEndpoint": "http://a", "sourceQuery": "up"}]'
    )
    pruner = Pruner(
        store_of=partial(ListedStore, hub),  # type: ignore[arg-type]
        under_way=frozenset[tuple[str, str]],
        wall=lambda: 7.0,
        own="",
        metrics=AgentMetrics(cluster="hub"),
        delay_seconds=10,
    )
    found = parse(summaries, encode(clusters).encode())
    assert found.complete
    pruner.set(found)
    task = asyncio.create_task(pruner.run())
    await asyncio.sleep(12)
    task.cancel()


NAMES = [f"c{number}" for number in range(12)]


async def test_what_no_scorer_of_a_cluster_names_is_deleted_there() -> None:
    hub = ListedHub()
    await pruned(
        hub, *(FleetCluster(name=name, scorers=("cpu",)) for name in NAMES), FleetCluster(name="d")
    )
    assert hub.listed == sorted([*NAMES, "d"])
    assert sorted(hub.deleted) == sorted([*(f"{name}/old" for name in NAMES), "d/cpu", "d/old"])


async def test_without_clusters_nothing_is_listed() -> None:
    hub = ListedHub()
    await pruned(hub)
    assert hub.listed == []


@pytest.mark.parametrize("reason", [Reason.FORBIDDEN, Reason.NOT_FOUND])
async def test_a_cluster_whose_namespace_may_not_be_listed_is_left_out(reason: Reason) -> None:
    """Its rights may not be applied yet, or it has left the fleet."""
    hub = ListedHub(a=reason)
    await pruned(hub, *(FleetCluster(name=name, scorers=("cpu",)) for name in "ab"))
    assert (hub.listed, hub.deleted) == (["a", "b"], ["b/old"])


async def test_a_hub_that_fails_is_not_asked_for_every_cluster() -> None:
    hub = ListedHub(c0=Reason.SERVER_ERROR)
    await pruned(hub, *(FleetCluster(name=name, scorers=("cpu",)) for name in NAMES))
    assert (hub.listed, hub.deleted) == (["c0"], [])
