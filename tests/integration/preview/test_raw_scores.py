"""`diff` with a metric store: the raw scores of now make the scores after a change exact."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli import currentscores
from gitops_dsf.cli.main import main
from gitops_dsf.hub.raw_results import ClusterResults, RawResult
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from tests.integration.preview.gitfleet import (
    RANGE,
    GitFleet,
    Run,
    application,
    save,
    scorer,
    snapshot,
)
from tests.support.commandline import gitops_dsf
from tests.support.metricstore import FakeMetricStore, Value, answer_of

TURNED = {**RANGE, "outputMin": 100, "outputMax": 1}
"""Lower raw scores are better."""
NARROW = {"min": 0.0, "max": 25.0}
"""Twenty of a hundred are 80 % of it: the points between published scores are stretched by four."""
RAW: Mapping[str, float] = {"eu-1": 90.4, "eu-2": 60.2, "us-1": 20.7}
"""The base publishes 90, 60 and 20 of them."""


def raw(values: Mapping[str, float] = RAW) -> FakeMetricStore:
    """A store that always has these raw scores of cpu."""
    scores = {}
    for cluster, value in values.items():
        scores["cpu", cluster] = lambda _, value=value: value
    return FakeMetricStore(scores=scores)


@pytest.fixture
def store() -> Iterator[FakeMetricStore]:
    with raw() as opened:
        yield opened


def compared(fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore, *more: str) -> Any:
    return run.json(
        "diff", fleet.path, "--base", "main", "--scores", scores, "--prometheus", store.url, *more
    )


def after(comparison: Any) -> dict[str, tuple[Any, Any, Any]]:
    """The weighted sums after the change, with their bounds, of the clusters of the only move."""
    [move] = comparison["moves"]
    return {
        side["cluster"]: (side["after"], side.get("afterLow"), side.get("afterHigh"))
        for side in move["scores"]
    }


def test_raw_scores_make_a_move_exact(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    told = run.formats(fleet, "--scores", scores, "--prometheus", store.url)
    preview = told.preview
    [move] = preview["comparison"]["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["us-1"])
    # 100 - 0.99 x 90.4 = 10.504 and 100 - 0.99 x 20.7 = 79.507, rounded down.
    assert after(preview["comparison"]) == {"eu-1": (10, None, None), "us-1": (79, None, None)}
    assert preview["rawScores"]["origin"] == store.url
    assert preview["rawScores"]["problems"] == []
    [answer] = preview["rawScores"]["scorers"]
    assert answer["ageSeconds"] in range(12, 42)
    del answer["ageSeconds"]
    assert answer == {"scorer": "cpu", "clusters": 3, "answered": 3, "anew": False}
    assert len(store.asked) == 1, "one question for everything"
    assert "us-1: 20 points -> 79 points" in told.text
    assert "cpu on 3 of 3 clusters, up to 1" in told.text


def test_raw_scores_decide_what_published_scores_leave_open(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """With 20 and 20 published, only the parts behind the point say who is better."""
    hub = save(snapshot(values={"eu-1": 20, "eu-2": 20, "us-1": 5}), tmp_path / "equal")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=NARROW))
    bounded = run.compared(fleet, "--scores", hub)
    assert [move["to"] for move in bounded["moves"]] == ["unknown"]
    with raw({"eu-1": 20.1, "eu-2": 20.9, "us-1": 5.0}) as store:
        preview = compared(fleet, hub, run, store)
    [move] = preview["comparison"]["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["eu-2"])


def test_one_question_for_all_scorers_that_changed(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore
) -> None:
    fleet.write("scorers/mem.yaml", scorer("mem"))
    fleet.write("scorers/same.yaml", scorer("same"))
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("cpu", "mem", "same")))
    fleet.commit("more scorers")
    for name in ("cpu", "mem"):
        fleet.write(f"scorers/{name}.yaml", scorer(name, scoreRange=TURNED))
    preview = compared(fleet, scores, run, store)
    assert [
        (answer["scorer"], answer["answered"]) for answer in preview["rawScores"]["scorers"]
    ] == [
        ("cpu", 3),
        ("mem", 0),
    ]
    [question] = store.asked
    assert 'ds_score_name=~"cpu|mem"' in question["query"]
    assert "same" not in question["query"]
    assert question["start"] == question["end"]


def test_a_cluster_without_an_answer_keeps_its_bounds(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """Nothing of another cluster, nor of one that the fleet does not have, stands in for it."""
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    with raw({"eu-1": 90.4, "elsewhere": 1.0, "": 2.0}) as store:
        preview = compared(fleet, scores, run, store)
    assert after(preview["comparison"]) == {
        "eu-1": (10, None, None),
        "us-1": ("unknown", 79, 82),
    }
    [answer] = preview["rawScores"]["scorers"]
    assert (answer["clusters"], answer["answered"]) == (3, 1)


def test_nothing_is_asked_when_no_scorer_changed(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", weight=-1))
    preview = compared(fleet, scores, run, store)
    assert "rawScores" not in preview
    assert store.asked == []


def test_old_raw_scores_are_not_those_of_now(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    store.measured_ago = 3600
    preview = compared(fleet, scores, run, store)
    assert preview["rawScores"]["scorers"][0]["answered"] == 0
    assert after(preview["comparison"])["us-1"] == ("unknown", 79, 82)


def test_a_token_is_shown_to_the_store_and_to_nobody_who_reads(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore, tmp_path: Path
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    store.token = "s3cret"
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    options = ("--token-file", str(file), "--header", "X-Scope-OrgID: team")
    preview = compared(fleet, scores, run, store, *options)
    assert preview["rawScores"]["scorers"][0]["answered"] == 3
    assert store.headers[0]["x-scope-orgid"] == "team"
    assert "s3cret" not in str(preview) + run.err


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"token": "other"}, "answered 401"),
        ({"answer": b"<html>", "status": 200}, "did not answer as Prometheus"),
        ({"answer": b"upstream is down", "status": 503}, "503"),
        ({"answer": answer_of([{"metric": {}, "values": [[1, "x"]]}])}, "pairs of time and value"),
        ({"answer": answer_of([], warnings=["store-2 is gone"])}, "data is missing"),
        ({"most_samples": 1}, "too many samples"),
    ],
)
def test_a_store_that_fails_never_fails_the_preview(
    fleet: GitFleet,
    scores: Path,
    run: Run,
    store: FakeMetricStore,
    broken: dict[str, Any],
    words: str,
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    for name, value in broken.items():
        setattr(store, name, value)
    told = run.formats(fleet, "--scores", scores, "--prometheus", store.url)
    [problem] = told.preview["rawScores"]["problems"]
    assert words in problem
    [move] = told.comparison["moves"]
    assert (move["to"], after(told.comparison)["us-1"]) == (["us-1"], ("unknown", 79, 82))
    assert f"No raw scores: {problem[:40]}" in told.whole


def test_a_store_that_is_late_never_fails_the_preview(
    fleet: GitFleet,
    scores: Path,
    store: FakeMetricStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    monkeypatch.setattr(currentscores, "SECONDS", 0.3)
    store.hangs = True
    options = ["--scores", str(scores), "--prometheus", store.url]
    assert main(["diff", str(fleet.path), "--base", "main", *options]) == 0
    text = capsys.readouterr().out
    assert f"No raw scores: {store.url} did not answer everything within 0 s" in text
    assert "us-1: 20 points -> 79 to 82 points" in text


def test_a_changed_query_on_the_hub_is_asked_anew(fleet: GitFleet, scores: Path, run: Run) -> None:
    """Clusters without a series keep an unknown score, whatever series of others say."""
    fleet.write("scorers/cpu.yaml", on_hub("avg by (cluster) (busy)"))
    fleet.commit("on the hub")
    fleet.write("scorers/cpu.yaml", on_hub("avg by (cluster) (calm)"))
    assert [move["to"] for move in run.compared(fleet, "--scores", scores)["moves"]] == ["unknown"]
    calm: dict[str, Value] = {
        "eu-1": lambda _: 20.6,
        "eu-2": lambda _: 70.3,
        "us-1": lambda _: 30.9,
        "elsewhere": lambda _: 99.0,
    }
    with FakeMetricStore(scores={}, queries={"avg by (cluster) (calm)": calm}) as store:
        told = run.formats(fleet, "--scores", scores, "--prometheus", store.url)
    preview = told.preview
    [move] = preview["comparison"]["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["eu-2"])
    # 1 + 0.99 x 20.6 = 21.394 and 1 + 0.99 x 70.3 = 70.597, rounded down.
    assert after(preview["comparison"]) == {"eu-1": (21, None, None), "eu-2": (70, None, None)}
    [answer] = preview["rawScores"]["scorers"]
    assert (answer["anew"], answer["clusters"], answer["answered"]) == (True, 3, 3)
    assert "the new query of cpu on 3 of 3 clusters, evaluated" in told.text


def test_a_cluster_that_the_new_query_does_not_answer_for_stays_unknown(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", on_hub("avg by (cluster) (busy)"))
    fleet.commit("on the hub")
    fleet.write("scorers/cpu.yaml", on_hub("avg by (cluster) (calm)"))
    calm: dict[str, Value] = {"eu-1": lambda _: 20.6, "eu-2": lambda _: 70.3}
    with FakeMetricStore(scores={}, queries={"avg by (cluster) (calm)": calm}) as store:
        preview = compared(fleet, scores, run, store)
    [move] = preview["comparison"]["moves"]
    assert (move["to"], sorted(move["possible"])) == ("unknown", ["eu-2", "us-1"])


def test_what_was_read_before_the_store_failed_counts(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu"))
    fleet.write("scorers/mem.yaml", on_hub("avg by (cluster) (busy)", name="mem"))
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("cpu", "mem")))
    fleet.commit("on the hub")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    fleet.write("scorers/mem.yaml", on_hub("avg by (cluster) (calm)", name="mem"))
    calm: dict[str, Value] = {"eu-1": lambda _: 20.6}
    with raw() as store:
        store.queries = {"avg by (cluster) (calm)": calm}
        store.partial = True
        text = run.shown(fleet, "--scores", scores, "--prometheus", store.url)
    assert "cpu on 3 of 3 clusters, up to 1" in text
    assert "Not all raw scores: the store says that data is missing" in text


def test_a_changed_query_of_agents_is_not_asked_of_the_store(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore
) -> None:
    """Each agent asks the source beside it, so the store may have other metrics."""
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="avg(other)"))
    preview = compared(fleet, scores, run, store)
    assert ("rawScores" in preview, store.asked) == (False, [])
    assert [move["to"] for move in preview["comparison"]["moves"]] == ["unknown"]


CALM: Mapping[str, Value] = {
    "eu-1": lambda _: 20.6,
    "eu-2": lambda _: 70.3,
    "us-1": lambda _: 30.9,
}


def by_query(
    query: str, *, name: str = "cpu", source: Mapping[str, Any] = {}, **spec: Any
) -> dict[str, Any]:
    """A scorer of agents without a scoring API."""
    source = {
        "type": "Prometheus",
        "host": "http://prometheus:9090",
        "params": {"query": query},
        **source,
    }
    scoring = {"type": "Query", "params": {"name": name, "interval": 60}}
    return scorer(name, configURL=None, source=source, scoring=scoring, **spec)


def test_a_changed_query_of_agents_is_asked_anew_where_series_name_the_cluster(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", by_query("avg by (cluster) (busy)"))
    fleet.commit("by query")
    fleet.write("scorers/cpu.yaml", by_query("avg by (cluster) (calm)"))
    with FakeMetricStore(scores={}, queries={"avg by (cluster) (calm)": CALM}) as store:
        preview = compared(fleet, scores, run, store, "--cluster-label", "cluster")
    [move] = preview["comparison"]["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["eu-2"])
    assert after(preview["comparison"]) == {"eu-1": (21, None, None), "eu-2": (70, None, None)}
    [answer] = preview["rawScores"]["scorers"]
    assert (answer["anew"], answer["clusters"], answer["answered"]) == (True, 3, 3)
    [change] = preview["comparison"]["scorers"]
    assert (change["effect"], change["unknownBecause"]) == ("known", ["query"])


def test_a_changed_query_of_agents_is_not_asked_by_the_label_of_raw_scores(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """Without --cluster-label nobody has said that other series name their cluster."""
    fleet.write("scorers/cpu.yaml", by_query("busy"))
    fleet.commit("by query")
    fleet.write("scorers/cpu.yaml", by_query("calm"))
    with FakeMetricStore(scores={}, queries={"calm": CALM}) as store:
        preview = compared(fleet, scores, run, store)
    assert ("rawScores" in preview, store.asked) == (False, [])


def test_series_without_the_label_of_the_cluster_are_nobodys(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", by_query("busy"))
    fleet.commit("by query")
    fleet.write("scorers/cpu.yaml", by_query("calm"))
    with FakeMetricStore(scores={}, queries={"calm": CALM}, label="instance") as store:
        preview = compared(fleet, scores, run, store, "--cluster-label", "cluster")
    assert [move["to"] for move in preview["comparison"]["moves"]] == ["unknown"]
    [answer] = preview["rawScores"]["scorers"]
    assert (answer["anew"], answer["clusters"], answer["answered"]) == (True, 3, 0)
    [change] = preview["comparison"]["scorers"]
    assert change["effect"] == "unknown"


MIXING = (
    "avg(calm)",
    "topk(1, calm)",
    "calm / on (node) group_left avg by (node) (calm)",
    "calm - scalar(avg(calm))",
    'label_replace(calm, "cluster", "$1", "node", "(.*)")',
    'count_values by (node) ("cluster", calm)',
    "calm; busy",
)
"""Queries whose series are of several clusters, or of another one than they say."""


def test_queries_that_mix_clusters_are_not_asked_for_agents(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    names = tuple(f"cpu-{number}" for number in range(len(MIXING)))
    fleet.write("scorers/many.yaml", *(by_query("busy", name=name) for name in names))
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=names))
    fleet.commit("by query")
    new = [by_query(query, name=name) for name, query in zip(names, MIXING, strict=True)]
    fleet.write("scorers/many.yaml", *new)
    with FakeMetricStore(scores={}, queries=dict.fromkeys(MIXING, CALM)) as store:
        preview = compared(fleet, scores, run, store, "--cluster-label", "cluster")
    assert [change["name"] for change in preview["comparison"]["scorers"]] == [*names]
    assert ("rawScores" in preview, store.asked) == (False, [])


def test_a_query_with_parameters_of_the_agents_source_is_not_asked_of_another_one(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    limited = {"parameters": {"namespace": "shop"}}
    fleet.write("scorers/cpu.yaml", by_query("busy", source=limited))
    fleet.commit("by query")
    fleet.write("scorers/cpu.yaml", by_query("calm", source=limited))
    with FakeMetricStore(scores={}, queries={"calm": CALM}) as store:
        preview = compared(fleet, scores, run, store, "--cluster-label", "cluster")
    assert ("rawScores" in preview, store.asked) == (False, [])


def test_another_name_of_a_scorer_keeps_its_raw_scores(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore
) -> None:
    """Its score keeps its name, so it is the same one."""
    fleet.remove("scorers/cpu.yaml")
    named = {"host": "http://api.scoring.svc:8000", "params": {"name": "cpu", "interval": 60}}
    fleet.write("scorers/free.yaml", scorer("free", scoreRange=TURNED, scoring=named))
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("free",)))
    preview = compared(fleet, scores, run, store)
    assert after(preview["comparison"]) == {"eu-1": (10, None, None), "us-1": (79, None, None)}
    [answer] = preview["rawScores"]["scorers"]
    assert (answer["scorer"], answer["answered"]) == ("free", 3)


def test_each_series_of_a_new_query_is_a_result(fleet: GitFleet, scores: Path, run: Run) -> None:
    """The labels of two of them may differ only in one that no item name and no raw score has."""
    query = "sum by (cluster, cpu) (calm)"
    fleet.write("scorers/cpu.yaml", on_hub("sum by (cluster) (busy)"))
    fleet.commit("on the hub")
    summed = on_hub(query)
    summed["spec"]["scoreAggregation"] = "Sum"
    fleet.write("scorers/cpu.yaml", summed)
    rows = []
    for cluster, values in {"eu-1": (10, 20), "eu-2": (30, 40), "us-1": (10, 10)}.items():
        for cpu, value in enumerate(values):
            metric = {"cluster": cluster, "cpu": str(cpu)}
            rows.append({"metric": metric, "values": [[0, str(value)]]})
    with FakeMetricStore(scores={}, answer=answer_of(rows)) as store:
        preview = compared(fleet, scores, run, store)
    # 10 + 20 and 30 + 40 of 100, on a map from 1 to 100.
    assert after(preview["comparison"]) == {"eu-1": (30, None, None), "eu-2": (70, None, None)}


@pytest.mark.parametrize(
    ("query", "to"),
    [
        # One result for each node, so raw scores are all results.
        ("avg by (node) (busy)", ["us-1"]),
        # Several may have the same labels. An agent exports only the last of these.
        ("avg by (cpu) (busy)", "unknown"),
        ("busy", "unknown"),
    ],
)
def test_raw_scores_are_used_where_they_are_all_results(
    fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore, query: str, to: object
) -> None:
    fleet.write("scorers/cpu.yaml", by_query(query, scoreAggregation="Min"))
    fleet.commit("by query")
    fleet.write("scorers/cpu.yaml", by_query(query, scoreAggregation="Max", scoreRange=TURNED))
    preview = compared(fleet, scores, run, store)
    [move] = preview["comparison"]["moves"]
    assert move["to"] == to
    [change] = preview["comparison"]["scorers"]
    assert change["effect"] == ("unknown" if to == "unknown" else "known")
    assert ("rawScores" in preview) == (to != "unknown")


def test_several_results_may_come_in_any_order(fleet: GitFleet, scores: Path, run: Run) -> None:
    """With Last a result counts that nobody knows, so the score is between them."""
    fleet.write("scorers/cpu.yaml", by_query("avg by (node) (busy)", scoreAggregation="Min"))
    fleet.commit("by query")
    results = {"eu-1": (90.4, 95.4), "eu-2": (60.2, 60.2), "us-1": (20.7, 30.7)}
    now = time.time()
    rows = []
    for part in ("low", "high", "time"):
        for cluster, values in results.items():
            for node, value in zip(("a", "b"), values, strict=True):
                labels = {"ds_cluster": cluster, "ds_score_name": "cpu", "ds_node": node}
                number = str(now if part == "time" else value)
                metric = labels | {"gitops_dsf_part": part}
                rows.append({"metric": metric, "values": [[now, number]]})
    with FakeMetricStore(scores={}, answer=answer_of(rows)) as store:
        low = aggregated(fleet, scores, run, store, "Max")
        last = aggregated(fleet, scores, run, store, "Last")
    # 100 - 0.99 x 95.4, and 100 - 0.99 x 30.7.
    assert low == {"eu-1": (5, None, None), "us-1": (69, None, None)}
    assert last == {"eu-1": ("unknown", 5, 10), "us-1": ("unknown", 69, 79)}


def aggregated(fleet: GitFleet, scores: Path, run: Run, store: FakeMetricStore, way: str) -> Any:
    fleet.write(
        "scorers/cpu.yaml",
        by_query("avg by (node) (busy)", scoreAggregation=way, scoreRange=TURNED),
    )
    preview = compared(fleet, scores, run, store)
    [change] = preview["comparison"]["scorers"]
    assert change["effect"] == "known"
    return after(preview["comparison"])


ZONED = '{"value": 2, "labels": {"zone": "b"}}'


def with_raw(
    values: Mapping[str, float] = RAW, *, behind: timedelta = timedelta(minutes=4)
) -> Snapshot:
    """The hub with raw scores, as the reconciler writes them to the state branch."""
    state = snapshot()
    assert state.observed_at is not None
    measured = (state.observed_at - behind).timestamp()
    labels = ("",) * 7
    by_cluster = {
        cluster: ClusterResults(
            results=(RawResult(labels=labels, low=value, high=value),), measured=measured
        )
        for cluster, value in values.items()
    }
    return replace(state, raw_scores={"cpu": by_cluster})


def test_raw_scores_beside_the_published_ones_need_no_store(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    hub = save(with_raw(), tmp_path / "raw")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    told = run.formats(fleet, "--scores", hub)
    preview = told.preview
    assert after(preview["comparison"]) == {"eu-1": (10, None, None), "us-1": (79, None, None)}
    assert preview["rawScores"]["origin"] == preview["hub"]["origin"]
    [answer] = preview["rawScores"]["scorers"]
    assert (answer["clusters"], answer["answered"], answer["anew"]) == (3, 3, False)
    assert answer["ageSeconds"] in range(9 * 60, 10 * 60)
    assert "cpu on 3 of 3 clusters, up to 9 min old" in told.text


def test_raw_scores_that_are_much_older_than_the_published_ones_are_not_used(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    hub = save(with_raw(behind=timedelta(hours=2)), tmp_path / "raw")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    preview = run.json("diff", fleet.path, "--base", "main", "--scores", hub)
    assert "rawScores" not in preview
    assert after(preview["comparison"])["us-1"] == ("unknown", 79, 82)


def test_a_store_counts_before_the_data_of_the_hub(
    fleet: GitFleet, tmp_path: Path, run: Run, store: FakeMetricStore
) -> None:
    hub = save(with_raw(dict.fromkeys(RAW, 50.0)), tmp_path / "raw")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    preview = compared(fleet, hub, run, store)
    assert after(preview["comparison"])["us-1"] == (79, None, None)
    assert preview["rawScores"]["origin"] == store.url


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('{"measuredAt": "x", "clusters": {}}', "rawScores.cpu: Invalid RFC3339"),
        (
            '{"measuredAt": "2026-06-01T00:00:00Z", "clusters": {"a": [{"value": 2, "upTo": 1}]}}',
            "rawScores.cpu: a: upTo is less than value",
        ),
        (
            '{"measuredAt": "2026-06-01T00:00:00Z", "clusters": {"a": [ZONED]}}',
            "rawScores.cpu: a: results have no label zone",
        ),
    ],
)
def test_raw_scores_that_nobody_exports_are_refused(
    fleet: GitFleet, tmp_path: Path, run: Run, table: str, words: str
) -> None:
    hub = save(snapshot(), tmp_path / "raw")
    (hub / "raw.json").write_text(
        '{"apiVersion": "gitops-dsf.io/v1alpha1", "kind": "HubSnapshot",'
        f' "rawScores": {{"cpu": {table.replace("ZONED", ZONED)}}}}}'
    )
    run("diff", fleet.path, "--base", "main", "--scores", hub, code=1)
    assert words in run.err


@pytest.fixture
def pipeline(fleet: GitFleet) -> Callable[..., str]:
    """What the pipeline of a merge request prints, with the state branch of a reconciler."""
    fleet.git("switch", "--quiet", "--orphan", "gitops-dsf-state")
    save(snapshot(), fleet.path)
    fleet.commit("state")
    fleet.git("switch", "--quiet", "main")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))

    def printed(**variables: str) -> str:
        environ = {"GITLAB_CI": "true", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "main", **variables}
        done = gitops_dsf("ci", "check", cwd=fleet.path, environ=environ)
        return done.stdout + done.stderr

    return printed


def test_the_pipeline_previews_with_the_raw_scores_of_its_store(
    pipeline: Callable[..., str], store: FakeMetricStore
) -> None:
    store.token = "s3cret"
    text = pipeline(GITOPS_DSF_PROMETHEUS=store.url, GITOPS_DSF_PROMETHEUS_TOKEN="s3cret")
    assert "cpu on 3 of 3 clusters, up to 1" in text
    assert "79 to 82 points" not in text
    assert "### What this would have done" in text
    assert "s3cret" not in text


def test_a_pipeline_says_which_label_of_its_store_names_clusters(
    fleet: GitFleet, pipeline: Callable[..., str]
) -> None:
    fleet.write("scorers/cpu.yaml", by_query("busy"))
    fleet.commit("by query")
    fleet.write("scorers/cpu.yaml", by_query("calm"))
    with FakeMetricStore(scores={}, queries={"calm": CALM}) as store:
        text = pipeline(GITOPS_DSF_PROMETHEUS=store.url, GITOPS_DSF_CLUSTER_LABEL="cluster")
    assert "the new query of cpu on 3 of 3 clusters, evaluated" in text


@pytest.mark.parametrize("has_store", [True, False])
def test_the_pipeline_of_a_fork_previews_with_the_raw_scores_of_the_state_branch(
    fleet: GitFleet, store: FakeMetricStore, has_store: bool
) -> None:
    """It has no token, so the store refuses it."""
    fleet.git("switch", "--quiet", "--orphan", "gitops-dsf-state")
    save(with_raw(), fleet.path)
    fleet.commit("state")
    fleet.git("switch", "--quiet", "main")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    store.token = "s3cret"
    environ = {"GITLAB_CI": "true", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "main"}
    if has_store:
        environ["GITOPS_DSF_PROMETHEUS"] = store.url
    text = gitops_dsf("ci", "check", cwd=fleet.path, environ=environ).stdout
    assert "us-1: 20 points → 79 points" in text
    assert "Raw scores of branch gitops-dsf-state" in text
    assert "cpu on 3 of 3 clusters, up to 9 min old" in text
    assert ("answered 401" in text) is has_store


def test_a_pipeline_with_a_wrong_store_previews_by_bounds(pipeline: Callable[..., str]) -> None:
    for variables in (
        {"GITOPS_DSF_PROMETHEUS": "not a URL"},
        {"GITOPS_DSF_PROMETHEUS": "http://127.0.0.1:1/graph"},
        {"GITOPS_DSF_PROMETHEUS": "http://127.0.0.1:1", "GITOPS_DSF_PROMETHEUS_TOKEN": "a\nb"},
        {"GITOPS_DSF_PROMETHEUS": "http://127.0.0.1:1"},
        {},
    ):
        text = pipeline(**variables)
        assert "us-1 79 to 82 points, eu-1 9 to 12 points" in text, variables
        assert "ci: failed: render\n" in text, "the fleet of this test is not rendered"


def on_hub(query: str, *, name: str = "cpu") -> dict[str, Any]:
    return scorer(
        name,
        runsOn="Hub",
        configURL=None,
        source={
            "type": "Prometheus",
            "host": "http://prometheus:9090",
            "clusterLabel": {"name": "cluster"},
            "params": {"query": query},
        },
        scoring={"type": "Query", "params": {"name": name, "interval": 60}},
    )


def test_a_store_that_is_not_there_never_fails_the_preview(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    # Bound, so that no other server gets the port, and not listening.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        text = run.shown(fleet, "--scores", scores, "--prometheus", url)
    assert "No raw scores: http://127.0.0.1:" in text
    assert "us-1: 20 points -> 79 to 82 points" in text
