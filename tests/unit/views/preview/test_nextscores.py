"""Which scores are known after a change, and the bounds of those that are not, against brute force."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.scores import score_of
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import simulate
from gitops_dsf.views.preview.certainty import certainty
from gitops_dsf.views.preview.nextscores import NextScores, UnknownScore, next_scores
from gitops_dsf.views.preview.scorers import rescored, scorer_changes
from tests.integration.preview.gitfleet import CLUSTERS, cluster, scorer, settings
from tests.support import hubobjects
from tests.support.hubobjects import NOW, binding, global_set, placement, score, stamp
from tests.support.rendering import metric_source

NAMES = ("a", "b", "c", "d")


def hub(
    values: dict[str, int], *, wanted: int | None, weight: int, extra: dict[str, int]
) -> list[dict[str, Any]]:
    asking = placement("p", "open", "known", number=wanted or 0)
    asking["spec"]["prioritizerPolicy"]["configurations"][0]["weight"] = weight
    if wanted is None:
        del asking["spec"]["numberOfClusters"]
    scores = [
        score(name, resource, value)
        for resource, found in (("open", values), ("known", extra))
        for name, value in found.items()
    ]
    return [*map(hubobjects.cluster, NAMES), global_set(), binding(), asking, *scores]


@given(
    present=st.dictionaries(st.sampled_from(NAMES), st.integers(-3, 3)),
    ranges=st.dictionaries(
        st.sampled_from(NAMES), st.tuples(st.integers(-2, 1), st.integers(0, 2))
    ),
    extra=st.dictionaries(st.sampled_from(NAMES), st.integers(-2, 2)),
    wanted=st.none() | st.integers(0, 5),
    weight=st.sampled_from([-2, -1, 1, 3]),
)
def test_bounds_agree_with_every_possible_outcome(
    present: dict[str, int],
    ranges: dict[str, tuple[int, int]],
    extra: dict[str, int],
    wanted: int | None,
    weight: int,
) -> None:
    cells = {
        name: UnknownScore(low=low, high=max(low, high), why="", exists=name in present)
        for name, (low, high) in ranges.items()
    }
    verdict = simulate(
        hub(present, wanted=wanted, weight=weight, extra=extra), "argocd/p", stamp(NOW)
    )
    found = certainty(verdict, {"open": cells})
    if found is None:
        assert not cells
        return
    outcomes = []
    for values in product(*(range(cell.low, cell.high + 1) for cell in cells.values())):
        chosen = present | dict(zip(cells, values, strict=True))
        outcomes.append(
            simulate(
                hub(chosen, wanted=wanted, weight=weight, extra=extra), "argocd/p", stamp(NOW)
            ).chosen
        )
    assert found.certain == frozenset.intersection(*outcomes)
    assert found.possible == frozenset.union(*outcomes)


PRESENT = {"eu-1": score_of({"cpu": 50}), "eu-2": score_of({"cpu": 40})}
PARAMS = {"query": "avg(up)", "range": 600, "step": 60}
SOURCE = {"type": "Prometheus", "host": "http://prometheus:9090", "params": PARAMS}
SNAPSHOT = Snapshot(origin="test", scores={"cpu": PRESENT, "foreign": {"eu-1": score_of({"x": 7})}})


def fleet(root: Path, *scorers: dict[str, Any]) -> CheckedFleet:
    root.mkdir()
    (root / "gitops-dsf.yaml").write_text(yaml.safe_dump(settings()))
    for folder, documents in (
        ("scorers", [item for item in scorers if item["kind"] == "DynamicScorer"]),
        ("config", [item for item in scorers if item["kind"] == "MetricSource"]),
        ("clusters", [cluster(*item) for item in CLUSTERS.items()]),
    ):
        (root / folder).mkdir()
        (root / folder / "all.yaml").write_text(yaml.safe_dump_all(documents))
    found = check(root).fleet
    assert found is not None
    return found


def after(root: Path, **change: Any) -> NextScores:
    """What follows from a change of the scorer."""
    return next_scores(
        fleet(root / "a", scorer("cpu")), fleet(root / "b", scorer("cpu", **change)), SNAPSHOT
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
    assert {(cell.low, cell.high) for cell in cells.values()} == {(0, 100)}, (
        "the output of scoreRange, and 0 while it is missing"
    )
    assert {name for name, cell in cells.items() if cell.exists} == {"eu-1", "eu-2"}
    assert found.scores["cpu"] == PRESENT, "the present score stands in"
    assert found.changed == {"cpu"}


def test_a_new_range_makes_published_scores_unknown(tmp_path: Path) -> None:
    found = after(tmp_path, scoreRange={"min": 0, "max": 200, "outputMin": -100, "outputMax": 100})
    assert set(found.unknown["cpu"]) == {"eu-1", "eu-2"}
    assert (found.unknown["cpu"]["eu-2"].low, found.unknown["cpu"]["eu-2"].high) == (-100, 100)
    assert "us-1" not in found.scores["cpu"], "a cluster without a score gets none by another range"


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
    found = next_scores(before, fleet(tmp_path / "b", scorer("cpu")), SNAPSHOT)
    assert {name: cell.why for name, cell in found.unknown["cpu"].items()} == {
        "us-1": "it has not run on this cluster yet"
    }
    everything = next_scores(None, fleet(tmp_path / "c", scorer("cpu")), SNAPSHOT)
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
    found = next_scores(before, later, SNAPSHOT)
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
    assert set(next_scores(before, tenant, SNAPSHOT).unknown["cpu"]) == {"eu-1", "eu-2", "us-1"}
    assert next_scores(before, login, SNAPSHOT).changed == frozenset()


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
    assert set(next_scores(before, later, SNAPSHOT).unknown["cpu"]) == {"eu-1", "eu-2", "us-1"}

    named = fleet(tmp_path / "c", *from_source(host))
    other = fleet(tmp_path / "d", *from_source({**host, "parameters": {"namespace": "team-a"}}))
    (change,) = scorer_changes(named, other)
    assert [(field.path, field.after) for field in change.fields] == [
        ("source.variants[0].parameters.namespace", "team-a")
    ]
    assert change.other_source == ("eu-1", "eu-2", "us-1")
    assert set(next_scores(named, other, SNAPSHOT).unknown["cpu"]) == {"eu-1", "eu-2", "us-1"}


def test_what_happens_with_partial_answers_is_shown_and_leaves_the_scores(tmp_path: Path) -> None:
    """It says nothing of the values of whole answers."""
    here = {"type": "Prometheus", "host": "http://thanos:9090", "params": PARAMS}
    before = fleet(tmp_path / "a", scorer("cpu", source=here))
    later = fleet(tmp_path / "b", scorer("cpu", source={**here, "onPartial": "Fail"}))
    (change,) = scorer_changes(before, later)
    assert [(field.path, field.before, field.after) for field in change.fields] == [
        ("source.onPartial", None, "Fail")
    ]
    assert next_scores(before, later, SNAPSHOT).changed == frozenset()


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
    )
    cell = found.unknown["cpu"]["eu-1"]
    assert (cell.low, cell.high) == (low, 90)
