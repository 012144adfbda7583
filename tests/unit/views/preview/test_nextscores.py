"""Which scores are known after a change of scorers.

Between which bounds those are that are not is tested here, too.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.scores import score_of
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.nextscores import NextScores, next_scores
from gitops_dsf.views.preview.scorers import rescored, scorer_changes
from tests.integration.preview.gitfleet import CLUSTERS, cluster, scorer, settings
from tests.support import yamlfast
from tests.support.hubobjects import NOW
from tests.support.rendering import metric_source

PRESENT = {"eu-1": score_of({"cpu": 50}), "eu-2": score_of({"cpu": 40})}
PARAMS = {"query": "avg(up)", "range": 600, "step": 60}
SOURCE = {"type": "Prometheus", "host": "http://prometheus:9090", "params": PARAMS}
SNAPSHOT = Snapshot(origin="test", scores={"cpu": PRESENT, "foreign": {"eu-1": score_of({"x": 7})}})


def fleet(root: Path, *scorers: dict[str, Any]) -> CheckedFleet:
    root.mkdir()
    (root / "gitops-dsf.yaml").write_text(yamlfast.dump(settings()))
    for folder, documents in (
        ("scorers", [item for item in scorers if item["kind"] == "DynamicScorer"]),
        ("config", [item for item in scorers if item["kind"] == "MetricSource"]),
        ("clusters", [cluster(*item) for item in CLUSTERS.items()]),
    ):
        (root / folder).mkdir()
        (root / folder / "all.yaml").write_text(yamlfast.dump(*documents))
    found = check(root).fleet
    assert found is not None
    return found


def after(root: Path, **change: Any) -> NextScores:
    """What follows from a change of the scorer."""
    return next_scores(
        fleet(root / "a", scorer("cpu")),
        fleet(root / "b", scorer("cpu", **change)),
        SNAPSHOT,
        now=NOW,
    )


@pytest.mark.parametrize(
    "change",
    [
        {"description": "other"},
        {"scoreTTLSeconds": 4000},
        {"publish": {"deadband": 9, "minIntervalSeconds": 60}},
        {
            "scoring": {
                "host": "http://api.scoring.svc:8000",
                "params": {"name": "cpu", "interval": 300},
            }
        },
    ],
)
def test_what_does_not_touch_the_score_leaves_it(tmp_path: Path, change: dict[str, Any]) -> None:
    found = after(tmp_path, **change)
    assert (found.scores, dict(found.unknown), found.changed) == (SNAPSHOT.scores, {}, frozenset())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"source": {**SOURCE, "host": "http://other:9090"}}, "source"),
        ({"source": {**SOURCE, "params": {**PARAMS, "range": 60}}}, "range"),
        ({"source": {**SOURCE, "params": {**PARAMS, "step": 30}}}, "step"),
        (
            {"scoring": {"host": "http://api2:8000", "params": {"name": "cpu", "interval": 60}}},
            "scoring API",
        ),
        ({"scoreAggregation": "Mean"}, "scoreAggregation"),
        ({"scoreDimensionFormat": "${scoreName}-${node}"}, "scoreDimensionFormat"),
    ],
)
def test_what_decides_the_raw_score_makes_it_unknown(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    found = after(tmp_path, **change)
    cells = found.unknown["cpu"]
    assert set(cells) == set(CLUSTERS)
    assert {cell.why for cell in cells.values()} == {f"{why} changed"}
    assert {cell.interval("cpu") for cell in cells.values()} == {Interval(0, 100)}, (
        "the output of scoreRange, and 0 while it is missing"
    )
    assert not any(cell.bounded for cell in cells.values())
    assert {name for name, cell in cells.items() if cell.exists} == {"eu-1", "eu-2"}
    assert found.scores["cpu"] == PRESENT, "the present score stands in"
    assert found.changed == {"cpu"}


def test_the_present_scores_bound_those_of_a_new_range(tmp_path: Path) -> None:
    """The deadband of 2 hides one point.

    The middle stands in, and another map gives no new score.
    """
    found = after(tmp_path, scoreRange={"min": 0, "max": 200, "outputMin": -100, "outputMax": 100})
    assert {
        name: (cell.interval("cpu"), cell.why, cell.exists, cell.bounded)
        for name, cell in found.unknown["cpu"].items()
    } == {
        "eu-1": (Interval(-52, -49), "scoreRange changed", True, True),
        "eu-2": (Interval(-62, -59), "scoreRange changed", True, True),
    }
    assert found.scores["cpu"] == {"eu-1": score_of({"cpu": -51}), "eu-2": score_of({"cpu": -61})}
    assert found.changed == {"cpu"}


def test_what_a_new_range_decides_is_known(tmp_path: Path) -> None:
    found = after(tmp_path, scoreRange={"min": 90, "max": 95})
    assert not found.unknown["cpu"]
    assert found.scores["cpu"] == {"eu-1": score_of({"cpu": 1}), "eu-2": score_of({"cpu": 1})}


def test_an_expired_score_is_not_renewed_by_another_range(tmp_path: Path) -> None:
    old = score_of({"cpu": 50}, valid_until=NOW - timedelta(seconds=1))
    found = next_scores(
        fleet(tmp_path / "a", scorer("cpu")),
        fleet(tmp_path / "b", scorer("cpu", scoreRange={"min": 0, "max": 1})),
        Snapshot(origin="test", scores={"cpu": {"eu-1": old}}),
        now=NOW,
    )
    assert (dict(found.unknown["cpu"]), found.scores["cpu"]) == ({}, {"eu-1": old})


def test_an_aggregation_of_single_results_changes_nothing(tmp_path: Path) -> None:
    """avg without labels has one series. A scoring API may answer with any number of results."""
    before = fleet(tmp_path / "a", by_query("avg(up)"))
    later = fleet(tmp_path / "b", by_query("avg(up)", scoreAggregation="Max"))
    assert next_scores(before, later, SNAPSHOT, now=NOW).changed == frozenset()
    [change] = scorer_changes(before, later)
    assert (change.effect, change.unknown_because) == ("none", ())


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("up", {}),
        ("avg by (node) (up)", {}),
        ("avg(up); avg(down)", {}),
        (
            "avg by (node, pod) (up)",
            {"scoreDimensionFormat": "${node}-${pod}"},
        ),
    ],
)
def test_an_aggregation_of_several_results_is_open(
    tmp_path: Path, query: str, more: dict[str, Any]
) -> None:
    before = fleet(tmp_path / "a", by_query(query, scoreAggregation="Min", **more))
    later = fleet(tmp_path / "b", by_query(query, scoreAggregation="Max", **more))
    cells = next_scores(before, later, SNAPSHOT, now=NOW).unknown["cpu"]
    assert {cell.why for cell in cells.values()} == {"scoreAggregation changed"}
    assert not any(cell.bounded for cell in cells.values())


def by_query(query: str, **spec: Any) -> dict[str, Any]:
    """A scorer without a scoring API."""
    scoring = {"type": "Query", "params": {"name": "cpu", "interval": 60}}
    source = {"type": "Prometheus", "host": "http://prometheus:9090", "params": {"query": query}}
    document = scorer("cpu", source=source, scoring=scoring, **spec)
    del document["spec"]["configURL"]
    del document["spec"]["configSyncMode"]
    return document


def renamed(**spec: Any) -> dict[str, Any]:
    """The scorer with another score name."""
    host = "http://api.scoring.svc:8000"
    return scorer("cpu", scoring={"host": host, "params": {"name": "free", "interval": 60}}, **spec)


def test_a_renamed_score_keeps_its_values(tmp_path: Path) -> None:
    """Nothing has the new name yet, so whether it exists is not known before the agents have
    run.
    """
    found = next_scores(
        fleet(tmp_path / "a", scorer("cpu")), fleet(tmp_path / "b", renamed()), SNAPSHOT, now=NOW
    )
    assert found.scores["cpu"] == {}, "an agent removes what its configuration does not name"
    assert {
        name: (cell.interval("free"), cell.why, cell.exists)
        for name, cell in found.unknown["free"].items()
    } == {
        "eu-1": (Interval(49, 51), "score name changed", False),
        "eu-2": (Interval(39, 41), "score name changed", False),
    }
    assert found.scores["free"] == {"eu-1": score_of({"free": 50}), "eu-2": score_of({"free": 40})}


def test_a_renamed_score_that_was_not_read_is_open(tmp_path: Path) -> None:
    """A snapshot of the hub has only the scores that Placements rank by."""
    found = next_scores(
        fleet(tmp_path / "a", scorer("cpu")),
        fleet(tmp_path / "b", renamed()),
        Snapshot(origin="test", skipped=3),
        now=NOW,
    )
    assert {cell.why for cell in found.unknown["free"].values()} == {
        "its present scores were not read"
    }
    assert set(found.unknown["free"]) == set(CLUSTERS)


def test_another_default_score_counts_where_the_source_may_be_without_series(
    tmp_path: Path,
) -> None:
    """50 is the default score or a result, 40 is a result, and us-1 has neither."""
    found = next_scores(
        fleet(tmp_path / "a", scorer("cpu", defaultScore=50)),
        fleet(tmp_path / "b", scorer("cpu", defaultScore=90)),
        SNAPSHOT,
        now=NOW,
    )
    assert {name: cell.interval("cpu") for name, cell in found.unknown["cpu"].items()} == {
        "eu-1": Interval(50, 90)
    }
    assert found.scores["cpu"]["eu-2"] == PRESENT["eu-2"]


@pytest.mark.parametrize(
    "host",
    [
        "http://prometheus:9090/",
        "http://prometheus:9090/api/v1/query_range",
        "http://prometheus:9090/api/v1",
    ],
)
def test_a_variant_that_asks_the_same_server_keeps_the_scores(tmp_path: Path, host: str) -> None:
    """However its URL is written, in however many variants, and with whatever login."""
    us = {
        "clusterSelector": {"matchLabels": {"region": "us"}},
        "host": host,
        "basicAuth": {"secretRef": {"name": "login"}},
    }
    before = fleet(tmp_path / "a", *from_source({"host": "http://prometheus:9090"}))
    later = fleet(tmp_path / "b", *from_source(us, {"host": "http://prometheus:9090"}))
    assert next_scores(before, later, SNAPSHOT, now=NOW).changed == frozenset()
    inline = fleet(tmp_path / "c", scorer("cpu"))
    assert next_scores(inline, later, SNAPSHOT, now=NOW).changed == frozenset()


@pytest.mark.parametrize(
    "change",
    [
        {"suspend": True},
        {"scoreDestination": "None"},
        {"clusterSelector": {"matchLabels": {"region": "us"}}},
    ],
)
def test_where_it_no_longer_runs_its_scores_go(tmp_path: Path, change: dict[str, Any]) -> None:
    found = after(tmp_path, **change)
    assert not set(found.scores["cpu"]) & {"eu-1", "eu-2"}
    assert found.scores["foreign"] == SNAPSHOT.scores["foreign"], "not ours to follow"
    assert not found.unknown["cpu"]


def test_where_it_runs_anew_its_scores_are_unknown(tmp_path: Path) -> None:
    before = fleet(tmp_path / "a", scorer("cpu", clusterSelector={"matchLabels": {"region": "eu"}}))
    found = next_scores(before, fleet(tmp_path / "b", scorer("cpu")), SNAPSHOT, now=NOW)
    assert {name: cell.why for name, cell in found.unknown["cpu"].items()} == {
        "us-1": "it has not run there yet"
    }
    everything = next_scores(None, fleet(tmp_path / "c", scorer("cpu")), SNAPSHOT, now=NOW)
    assert set(everything.unknown["cpu"]) == set(CLUSTERS)


def from_source(*variants: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return scorer("cpu", source={"ref": "platform", "params": PARAMS}), metric_source(
        "platform", *variants
    )


def test_a_changed_variant_makes_the_scores_of_its_clusters_unknown(tmp_path: Path) -> None:
    """The variant of the other clusters did not change, so their scores are kept."""
    us = {"clusterSelector": {"matchLabels": {"region": "us"}}, "host": "http://a:9090"}
    before = fleet(tmp_path / "a", *from_source(us, {"host": "http://prometheus:9090"}))
    later = fleet(tmp_path / "b", *from_source(us, {"host": "http://thanos:9090"}))
    found = next_scores(before, later, SNAPSHOT, now=NOW)
    assert {name: item.why for name, item in found.unknown["cpu"].items()} == {
        "eu-1": "source changed",
        "eu-2": "source changed",
    }
    (change,) = scorer_changes(before, later)
    assert (change.other_source, change.effect) == (("eu-1", "eu-2"), "none")
    assert rescored([change], before, later) == {"cpu": {"eu-1", "eu-2"}}
    assert [(item.path, item.before, item.after) for item in change.fields] == [
        ("source.variants[1].host", "http://prometheus:9090", "http://thanos:9090")
    ]


def test_another_tenant_makes_the_scores_unknown_and_another_password_does_not(
    tmp_path: Path,
) -> None:
    def asking(org: str, login: str) -> tuple[dict[str, Any], dict[str, Any]]:
        return from_source(
            {
                "host": "http://mimir:8080",
                "headers": [{"name": "X-Scope-OrgID", "value": org}],
                "basicAuth": {"secretRef": {"name": login}},
            }
        )

    before = fleet(tmp_path / "a", *asking("one", "login"))
    tenant, login = (
        fleet(tmp_path / "b", *asking("two", "login")),
        fleet(tmp_path / "c", *asking("one", "new")),
    )
    assert set(next_scores(before, tenant, SNAPSHOT, now=NOW).unknown["cpu"]) == {
        "eu-1",
        "eu-2",
        "us-1",
    }
    assert next_scores(before, login, SNAPSHOT, now=NOW).changed == frozenset()


def test_other_parameters_of_a_source_are_shown_and_make_the_scores_unknown(tmp_path: Path) -> None:
    host = {"host": "http://thanos:9090"}
    here = {"type": "Prometheus", **host, "params": PARAMS}
    before = fleet(tmp_path / "a", scorer("cpu", source=here))
    later = fleet(
        tmp_path / "b", scorer("cpu", source={**here, "parameters": {"namespace": "team-a"}})
    )
    (change,) = scorer_changes(before, later)
    assert [(field.path, field.before, field.after) for field in change.fields] == [
        ("source.parameters.namespace", None, "team-a")
    ]
    assert change.unknown_because == ("parameters",)
    assert set(next_scores(before, later, SNAPSHOT, now=NOW).unknown["cpu"]) == {
        "eu-1",
        "eu-2",
        "us-1",
    }

    named = fleet(tmp_path / "c", *from_source(host))
    other = fleet(tmp_path / "d", *from_source({**host, "parameters": {"namespace": "team-a"}}))
    (change,) = scorer_changes(named, other)
    assert [(field.path, field.after) for field in change.fields] == [
        ("source.variants[0].parameters.namespace", "team-a")
    ]
    assert change.other_source == ("eu-1", "eu-2", "us-1")
    assert set(next_scores(named, other, SNAPSHOT, now=NOW).unknown["cpu"]) == {
        "eu-1",
        "eu-2",
        "us-1",
    }


def test_what_happens_with_partial_answers_is_shown_and_leaves_the_scores(tmp_path: Path) -> None:
    """It says nothing of the values of whole answers."""
    here = {"type": "Prometheus", "host": "http://thanos:9090", "params": PARAMS}
    before = fleet(tmp_path / "a", scorer("cpu", source=here))
    later = fleet(tmp_path / "b", scorer("cpu", source={**here, "onPartial": "Fail"}))
    (change,) = scorer_changes(before, later)
    assert [(field.path, field.before, field.after) for field in change.fields] == [
        ("source.onPartial", None, "Fail")
    ]
    assert next_scores(before, later, SNAPSHOT, now=NOW).changed == frozenset()


def test_parameters_of_a_new_scorer_are_shown(tmp_path: Path) -> None:
    here = {"type": "Prometheus", "host": "http://thanos:9090", "params": PARAMS}
    later = fleet(
        tmp_path / "a", scorer("cpu", source={**here, "parameters": {"namespace": "team-a"}})
    )
    (change,) = scorer_changes(fleet(tmp_path / "b"), later)
    assert ("source.parameters.namespace", "team-a") in {
        (each.path, each.after) for each in change.fields
    }


@pytest.mark.parametrize(("default", "low"), [(None, 0), (-40, -40), (50, 0)])
def test_an_unknown_score_may_be_the_default_score(
    tmp_path: Path, default: int | None, low: int
) -> None:
    """It need not be in the range of scoreRange."""
    more = {} if default is None else {"defaultScore": default}
    scale = {"min": 0, "max": 1, "outputMin": 1, "outputMax": 90}
    found = next_scores(
        fleet(tmp_path / "a", scorer("cpu", scoreRange=scale, **more)),
        fleet(tmp_path / "b", scorer("cpu", scoreRange=scale, scoreAggregation="Max", **more)),
        SNAPSHOT,
        now=NOW,
    )
    cell = found.unknown["cpu"]["eu-1"]
    assert cell.interval("cpu") == Interval(low, 90)
