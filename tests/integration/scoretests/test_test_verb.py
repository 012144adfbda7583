"""`gitops-dsf test` on the fleet of `init`.

What tests give, what they expect, and what is printed.
"""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from gitops_dsf.cli.scaffold import scaffold
from tests.support.commandline import gitops_dsf

EU, NORTH = "eu-west-1", "eu-north-1"
CPU = {"scorer": "cpu-headroom"}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(
        target=tmp_path / "fleet",
        name="fleet",
        extras=("examples",),
        registry="registry.example.com",
    )
    (tmp_path / "fleet" / "tests" / "guestbook.yaml").unlink()
    edit(
        tmp_path / "fleet", "gitops-dsf.yaml", "git.example.com/platform/", "git.example.com/ours/"
    )
    return tmp_path / "fleet"


def edit(fleet: Path, file: str, old: str, new: str) -> None:
    text = (fleet / file).read_text("utf-8")
    assert old in text
    (fleet / file).write_text(text.replace(old, new), "utf-8")


def write(fleet: Path, given: dict[str, Any], expect: dict[str, Any], name: str = "mine") -> None:
    document = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoreTest",
        "metadata": {"name": name},
        "spec": {"given": given, "expect": expect},
    }
    (fleet / "tests" / f"{name}.yaml").write_text(
        yaml.safe_dump(document, sort_keys=False), "utf-8"
    )


def failures(fleet: Path, given: dict[str, Any], expect: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs one test."""
    write(fleet, given, expect)
    done = gitops_dsf("test", "-o", "json", cwd=fleet)
    assert done.stderr == ""
    (test,) = json.loads(done.stdout)["tests"]
    assert test["passed"] is not bool(test["failures"])
    assert done.returncode == int(bool(test["failures"]))
    found: list[dict[str, Any]] = test["failures"]
    return found


def series(values: str, **fields: Any) -> dict[str, Any]:
    return {**CPU, "cluster": EU, "values": values, **fields}


def scores(*expected: tuple[str, int | str]) -> dict[str, Any]:
    """Expected scores of cpu-headroom on one cluster: times, and values or states."""
    return {
        "scores": [
            {
                "at": at,
                **CPU,
                "cluster": EU,
                ("state" if isinstance(value, str) else "value"): value,
            }
            for at, value in expected
        ]
    }


GIVEN = {"scores": [{**CPU, "cluster": EU, "value": 50}]}
"""The score before the first run."""


def with_field(fleet: Path, field: str) -> None:
    """Gives the scorer one more field."""
    edit(fleet, "scorers/cpu-headroom.yaml", "  scoreRange:", f"  {field}\n  scoreRange:")


RUNS: dict[str, tuple[str, list[dict[str, Any]], list[tuple[str, int | str]]]] = {
    "mapped and rounded as agents do": (
        "suspend: false",
        [series("0 50 100 250")],
        [("0s", 1), ("59s", 1), ("1m", 50), ("3m", 100)],
    ),
    "given scores without a series stay": ("suspend: false", [], [("0s", 50), ("7d", 50)]),
    "given scores are old enough to change at once": (
        "suspend: false",
        [series("90")],
        [("0s", 90)],
    ),
    "after the last value the source does not answer": (
        "defaultScore: 7",
        [series("60")],
        [("15m", 60), ("16m", "Expired")],
    ),
    "a run without series gives the default score": (
        "defaultScore: 7",
        [series("50 _ stale")],
        [("1m", 7), ("2m", 7)],
    ),
    "a run without a usable result fails": (
        "defaultScore: 7",
        [series("60 NaN Inf")],
        [("2m", 60)],
    ),
    "results of one item are aggregated": (
        "scoreAggregation: Max",
        [series("20 _", labels={"node": "a"}), series("80 30", labels={"node": "b"})],
        [("0s", 80), ("1m", 30)],
    ),
}


@pytest.mark.parametrize("what", RUNS)
def test_what_runs_publish(fleet: Path, what: str) -> None:
    field, given, expected = RUNS[what]
    with_field(fleet, field)
    assert failures(fleet, {"series": given, **GIVEN}, scores(*expected)) == []


def test_changes_below_the_deadband_wait_for_the_next_renewal(fleet: Path) -> None:
    given = {"series": [series("50 51x30")], **GIVEN}
    assert failures(fleet, given, scores(("5m", 50), ("7m", 51))) == []
    (failure,) = failures(fleet, given, scores(("5m", 51)))
    assert failure["reasons"] == [
        "last written before the beginning: 50",
        "from 1m on the runs give 51 (raw score 51)",
        (
            "the change is below publish.deadband 2, so it waits for the next renewal, at"
            " most 7m30s after"
            " the last write"
        ),
    ]


def test_changes_wait_for_the_minimum_interval(fleet: Path) -> None:
    edit(fleet, "scorers/cpu-headroom.yaml", "interval: 60", "interval: 20")
    given = {"series": [series("50 90x5")]}
    assert failures(fleet, given, scores(("40s", 50), ("1m", 90))) == []
    (failure,) = failures(fleet, given, scores(("40s", 90)))
    assert (
        failure["reasons"][-1] == "publish.minIntervalSeconds 60 after the last write are not over"
    )


def test_without_results_scores_expire(fleet: Path) -> None:
    given = {"series": [series("50 _x30")]}
    assert failures(fleet, given, scores(("15m", 50), ("15m1s", "Expired"))) == []
    (failure,) = failures(fleet, given, scores(("20m", 50)))
    assert failure["got"] == "Expired"
    assert failure["reasons"] == [
        "last written at 0s: 50; it expired at 15m",
        "from 1m on the runs give no result, so nothing new is published",
    ]


def without_applications(fleet: Path) -> None:
    for application in ("guestbook", "raw-guestbook"):
        (fleet / "apps" / f"{application}.yaml").unlink()


def test_items_are_named_by_labels(fleet: Path) -> None:
    with_field(fleet, "scoreDimensionFormat: ${node}")
    without_applications(fleet)
    given = {"series": [series("20", labels={"node": "a"}), series("80", labels={"node": "b"})]}
    expect = {"scores": [{**CPU, "cluster": EU, "dimension": "b", "value": 80}]}
    assert failures(fleet, given, expect) == []
    expect = {"scores": [{**CPU, "cluster": EU, "dimension": "c", "value": 80}]}
    (failure,) = failures(fleet, given, expect)
    assert (failure["subject"], failure["got"]) == (
        "score c of cpu-headroom on eu-west-1 at 0s",
        "Missing",
    )
    assert failure["reasons"] == [
        "last written at 0s: without this item",
        "from 0s on the runs give no item c, but a, b",
    ]


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("suspend: true", "cpu-headroom is suspended, so it runs nowhere"),
        (
            "clusterSelector: {matchLabels: {region: eu-north}}",
            (
                "cpu-headroom does not run on eu-west-1: its clusterSelector, or a mask,"
                " leaves the cluster out"
            ),
        ),
        ("scoreDestination: None", "cpu-headroom does not publish: its scoreDestination is None"),
    ],
)
def test_a_scorer_that_does_not_run_publishes_nothing(fleet: Path, field: str, reason: str) -> None:
    with_field(fleet, field)
    without_applications(fleet)
    given = {"series": [series("50")]}
    assert failures(fleet, given, scores(("0s", "Missing"))) == []
    (failure,) = failures(fleet, given, scores(("0s", 50)))
    assert failure["reasons"] == [reason]


def test_nothing_is_known_of_other_clusters(fleet: Path) -> None:
    (failure,) = failures(fleet, {"series": [series("50", cluster=NORTH)]}, scores(("0s", 50)))
    assert failure["reasons"] == [
        "the test gives no series and no score of cpu-headroom on eu-west-1"
    ]


def guestbook(*clusters: str, at: str = "0s") -> dict[str, Any]:
    return {"decisions": [{"at": at, "application": "guestbook", "clusters": list(clusters)}]}


def test_a_wrong_decision_is_explained_for_both_clusters(fleet: Path) -> None:
    given = {
        "scores": [{**CPU, "cluster": EU, "value": 90}, {**CPU, "cluster": NORTH, "value": 50}]
    }
    assert failures(fleet, given, guestbook(EU)) == []
    (failure,) = failures(fleet, given, guestbook(NORTH))
    told = (failure["subject"], failure["expected"], failure["got"])
    assert told == ("decision of argocd/guestbook at 0s", NORTH, EU)
    explained = [(each["cluster"], each["selected"]) for each in failure["explanations"]]
    assert explained == [(NORTH, False), (EU, True)]
    assert failure["explanations"][0]["margin"] == 200


def test_moves_are_counted_from_the_given_decision(fleet: Path) -> None:
    given = {
        "series": [series("90x10 0x10"), series("50x21", cluster=NORTH)],
        "decisions": [{"application": "guestbook", "clusters": [NORTH]}],
    }

    def moves(count: int, **until: str) -> dict[str, Any]:
        return {"moves": [{"application": "guestbook", "count": count, **until}]}

    edit(fleet, "apps/guestbook.yaml", "stickiness: 20", "stickiness: 10")
    assert failures(fleet, given, moves(2)) == []
    assert failures(fleet, given, moves(1, until="10m59s")) == []
    assert failures(fleet, given, moves(2, until="11m")) == []
    later = {**guestbook(NORTH, at="15m"), **moves(1, until="5m")}
    assert failures(fleet, given, later) == []
    (failure,) = failures(fleet, given, moves(0))
    history = ["at 0s: eu-north-1", "at 0s: eu-west-1", "at 11m: eu-north-1"]
    assert (failure["got"], failure["reasons"]) == ("2", history)


def test_given_clusters_are_the_only_ones(fleet: Path) -> None:
    labels = {"cluster.open-cluster-management.io/clusterset": "fleet", "env": "prod"}
    given = {"clusters": [{"name": "mine", "labels": labels}, {"name": "us-east-1"}]}
    assert failures(fleet, given, guestbook("mine")) == []
    (failure,) = failures(fleet, given, guestbook("us-east-1"))
    assert [each["cluster"] for each in failure["explanations"]] == ["us-east-1", "mine"]
    assert failure["explanations"][0]["filter"] is not None


def test_fields_of_given_clusters_replace_those_of_the_inventory(fleet: Path) -> None:
    taint = {"key": "maintenance", "effect": "NoSelect"}
    given = {"clusters": [{"name": NORTH, "taints": [taint]}, {"name": EU}]}
    assert failures(fleet, given, guestbook(EU)) == []
    given = {"clusters": [{"name": NORTH, "labels": {"env": "prod"}}, {"name": EU}]}
    assert failures(fleet, given, guestbook(EU)) == []


def test_masks_of_clusters_that_a_test_leaves_out_are_no_mistakes(fleet: Path) -> None:
    mask = (
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind:"
        " DynamicScoringConfig\n"
    )
    mask += "metadata: {name: dynamic-scoring-config}\n"
    mask += "spec: {masks: [{clusterName: %s, scoreName: cpu-headroom}]}\n"
    (fleet / "config" / "dynamic-scoring-config.yaml").write_text(mask % EU)
    given = {"clusters": [{"name": NORTH}], "series": [series("50", cluster=NORTH)]}
    assert failures(fleet, given, guestbook(NORTH)) == []
    (failure,) = failures(fleet, {"series": [series("50")]}, scores(("0s", 50)))
    assert "a mask, leaves the cluster out" in failure["reasons"][0]


def test_scores_of_other_add_ons_can_be_given(fleet: Path) -> None:
    edit(fleet, "apps/raw-guestbook.yaml", "resourceName: cpu-headroom", "resourceName: theirs")
    edit(fleet, "apps/raw-guestbook.yaml", "scoreName: cpu-headroom", "scoreName: item")
    theirs = {"resource": "theirs", "dimension": "item", "cluster": EU}
    expect = {
        "scores": [{"at": "1d", **theirs, "value": 90}],
        "decisions": [{"at": "1d", "placement": "raw-guestbook", "clusters": [EU]}],
    }
    assert failures(fleet, {"scores": [{**theirs, "value": 90}]}, expect) == []
    (failure, _) = failures(fleet, {}, expect)
    assert failure["reasons"] == ["the test gives no score of it on eu-west-1"]


def test_expired_scores_count_as_0_once_ocm_notices(fleet: Path) -> None:
    given = {
        "series": [series("90x5"), series("50x60", cluster=NORTH)],
        "decisions": [{"application": "guestbook", "clusters": [EU]}],
    }
    assert failures(fleet, given, guestbook(EU, at="19m")) == []
    assert failures(fleet, given, guestbook(NORTH, at="40m")) == []


def test_findings_are_expected_at_a_document(fleet: Path) -> None:
    given = {"clusters": [{"name": "us-east-1"}]}

    def finding(**fields: str) -> dict[str, Any]:
        return {"findings": [{"code": "DSF310", **fields}]}

    assert failures(fleet, given, finding()) == []
    assert failures(fleet, given, finding(kind="ScoredApplication", name="guestbook")) == []
    (failure,) = failures(fleet, given, finding(kind="ScoredApplication", name="other"))
    assert failure["subject"] == "finding DSF310 of ScoredApplication other"
    assert failure["reasons"][0].startswith("reported: apps/guestbook.yaml:")
    (failure,) = failures(fleet, {}, finding())
    assert (failure["got"], failure["reasons"]) == ("it is not reported", [])


def test_clusters_that_no_hub_would_take_are_a_failure(fleet: Path) -> None:
    given = {"clusters": [{"name": "mine", "labels": {"not a label": "x"}}]}
    (failure,) = failures(fleet, given, guestbook("mine"))
    assert failure["got"] == "1 error"
    assert failure["reasons"][0].startswith("tests/mine.yaml:8:")


METRICS = {"metrics": [{"cluster": EU, "series": "up", "values": "1x9"}]}


def test_metrics_need_promtool(fleet: Path, tmp_path: Path) -> None:
    write(fleet, METRICS, scores(("1m", 50)))
    done = gitops_dsf("test", cwd=fleet, environ={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert (
        "the query of cpu-headroom is evaluated by promtool, which is not on the PATH"
        in done.stdout
    )
    missing = gitops_dsf("test", "--promtool", tmp_path / "promtool", cwd=fleet)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "is not a program; write the path of promtool" in missing.stderr


def test_promtool_is_asked_only_for_scorers_that_matter(fleet: Path, tmp_path: Path) -> None:
    """A test with series of a scorer needs no promtool for it, and neither does one about other
    scorers.
    """
    for given, expect in (
        ({**METRICS, "series": [series("50 50")]}, scores(("1m", 50))),
        (METRICS, {"findings": [{"code": "DSF113"}]}),
        (METRICS, {"scores": [{"scorer": "region-preference", "cluster": EU, "value": 1}]}),
    ):
        write(fleet, given, expect)
        done = gitops_dsf("test", cwd=fleet, environ={"PATH": str(tmp_path)})
        assert "promtool" not in done.stdout


def test_metrics_do_not_count_for_scorers_with_an_api(fleet: Path) -> None:
    expect = {"scores": [{"scorer": "region-preference", "cluster": EU, "value": 1}]}
    (failure,) = failures(fleet, METRICS, expect)
    why = "the metrics of the test do not count for region-preference, because it has a scoring API"
    assert failure["reasons"] == [f"{why}; give series of it"]


def promtool_that_says(folder: Path, *got: str) -> Path:
    """A program in place of promtool. tests/hub runs the real one."""
    report = (
        f'    expr: "q", time: {at}m,\n        exp: x\n        got: {one}\n'
        for at, one in enumerate(got)
    )
    (folder / "report").write_text("".join(report))
    program = folder / "promtool"
    program.write_text(f"#!/bin/sh\ncat {folder}/report\nexit 1\n")
    program.chmod(0o755)
    return program


def test_the_results_of_promtool_are_the_runs(fleet: Path, tmp_path: Path) -> None:
    program = promtool_that_says(tmp_path, *GOT)
    write(fleet, METRICS, scores(("0s", 40), ("1m", 60), ("2m", 60), ("3m", 71)))
    done = gitops_dsf("test", "--promtool", program, cwd=fleet)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "told"),
    [("node_cpu_total", True), ("node_cpu_seconds_total", False), ("node_cpu_seconds", True)],
)
def test_metrics_of_another_name_than_the_query_asks_for(
    fleet: Path, tmp_path: Path, name: str, told: bool
) -> None:
    program = promtool_that_says(tmp_path, "nil")
    metric = {"cluster": EU, "series": f'{name}{{mode="idle"}}', "values": "0+1x5"}
    write(fleet, {"metrics": [metric]}, scores(("0s", 50)))
    done = gitops_dsf("test", "--promtool", program, cwd=fleet)
    assert done.returncode == 1
    words = (
        f"no metric of the test has a name that the query asks for: it gives {name}, and the"
        " query is "
    )
    assert (words in done.stdout) is told, done.stdout


GOT = ("{} 4.0E+01", '{a="b"} 5E+01, {a="c"} 6E+01', "nil", '{a="b"} NaN, {} 7.1E+01')


@pytest.fixture
def two(fleet: Path) -> Path:
    """A test that passes, and one that does not."""
    write(fleet, {"series": [series("50")]}, scores(("0s", 50)), name="good")
    write(fleet, {"series": [series("50")]}, scores(("0s", 51), ("1s", 52)), name="bad")
    return fleet


def test_text_names_every_test_and_counts_them(two: Path) -> None:
    done = gitops_dsf("test", "fleet", cwd=two.parent)
    assert done.returncode == 1
    assert done.stdout == (
        "FAILED  bad  (fleet/tests/bad.yaml:4:9)\n"
        "    fleet/tests/bad.yaml:16:14: score cpu-headroom on eu-west-1 at 0s\n"
        "      expected: 51\n"
        "      got:      50\n"
        "      last written at 0s: 50\n"
        "      from 0s on the runs give 50 (raw score 50)\n"
        "    fleet/tests/bad.yaml:20:14: score cpu-headroom on eu-west-1 at 1s\n"
        "      expected: 52\n"
        "      got:      50\n"
        "      last written at 0s: 50\n"
        "      from 0s on the runs give 50 (raw score 50)\n"
        "ok      good  (fleet/tests/good.yaml:4:9)\n"
        "1 test passed, 1 test failed\n"
    )


def test_tests_are_selected_by_name(two: Path) -> None:
    assert gitops_dsf("test", "--name", "go*", cwd=two).returncode == 0
    assert gitops_dsf("test", "--name", "b?d", "--name", "good", cwd=two).returncode == 1
    none = gitops_dsf("test", "--name", "other", cwd=two)
    assert (none.returncode, none.stdout) == (2, "")
    assert "no test is called other; tests here: bad, good" in none.stderr


def test_a_repository_without_tests_passes(fleet: Path) -> None:
    done = gitops_dsf("test", cwd=fleet)
    assert (done.returncode, done.stdout) == (0, "no tests: tests/ has no ScoreTest\n")


def test_nothing_runs_in_a_repository_with_errors(fleet: Path) -> None:
    write(fleet, {}, guestbook(EU))
    edit(fleet, "scorers/cpu-headroom.yaml", "interval: 60", "interval: -1")
    done = gitops_dsf("test", cwd=fleet)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("1 error, 0 warnings in 1 file; no test was run\n")


def test_junit_holds_every_test_and_its_failures(two: Path) -> None:
    done = gitops_dsf("test", "-o", "junit", cwd=two)
    assert done.returncode == 1
    root = ET.fromstring(done.stdout)  # noqa: S314 - written here
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    bad, good = suite.findall("testcase")
    assert (bad.get("name"), bad.get("file"), bad.get("line")) == ("bad", "tests/bad.yaml", "4")
    assert good.find("failure") is None
    failure = bad.find("failure")
    assert failure is not None
    assert failure.get("message") == "score cpu-headroom on eu-west-1 at 0s: expected 51, got 50"
    assert "expected: 52" in (failure.text or "")


def test_control_characters_reach_no_terminal_and_no_xml(fleet: Path) -> None:
    write(
        fleet,
        {},
        {"scores": [{"resource": "theirs", "dimension": "a\x1bb\x00", "cluster": EU, "value": 1}]},
    )
    for style in ("text", "junit"):
        done = gitops_dsf("test", "-o", style, cwd=fleet)
        assert "\x1b" not in done.stdout
        assert "\x00" not in done.stdout
        assert r"a\x1bb\x00" in done.stdout
