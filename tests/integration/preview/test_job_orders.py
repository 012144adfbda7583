"""What a preview says of the order in which Kueue offers jobs to clusters."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.integration.preview.gitfleet import Formats, GitFleet, Run, save, scorer, snapshot
from tests.integration.preview.test_first_screen import screen_of
from tests.integration.preview.test_surroundings import LOW, placement, without_cluster

KEY = "kueue-system/gpu-jobs"


def jobs(name: str = "gpu-jobs", *, config: str | None = None, **spec: Any) -> dict[str, Any]:
    """A ScoredPlacement that orders the MultiKueueConfig of its name."""
    every = {"clusterSets": ["fleet"]}
    order = {"config": config or name}
    base = {"namespace": "kueue-system", "placement": every, "multiKueue": order}
    return placement(name, **base | spec)


def begun(fleet: GitFleet, *documents: dict[str, Any]) -> None:
    """The base: jobs go to eu-1 (90), then eu-2 (60), then us-1 (20)."""
    fleet.write("apps/jobs.yaml", *(documents or (jobs(),)))
    fleet.commit("jobs")


def review(formats: Formats) -> list[str]:
    """What a reviewer is told of MultiKueueConfigs."""
    [line] = [line for line in screen_of(formats) if "To review" in line]
    hints = line.removeprefix("- **To review:** ").split("; ")
    return [hint for hint in hints if "MultiKueueConfig" in hint]


def job_lines(fleet: GitFleet, run: Run, scores: Path) -> list[str]:
    return lines_of(run.formats(fleet, "--scores", scores))


def lines_of(formats: Formats) -> list[str]:
    return [line for line in screen_of(formats) if line.startswith("- **Jobs:** ")]


def test_another_order_is_one_line_with_points(fleet: GitFleet, scores: Path, run: Run) -> None:
    begun(fleet)
    fleet.write("apps/jobs.yaml", jobs(scores=LOW))
    formats = run.formats(fleet, "--scores", scores)
    assert lines_of(formats) == [
        f"- **Jobs:** `{KEY}`: jobs go first to us-1 (-20 points), before eu-1 (-90)"
    ]
    before = [("eu-1", 90.0), ("eu-2", 60.0), ("us-1", 20.0)]
    after = [("us-1", -20.0), ("eu-2", -60.0), ("eu-1", -90.0)]
    assert formats.comparison["jobOrders"] == [
        {
            "placement": KEY,
            "config": "gpu-jobs",
            "before": [{"cluster": name, "points": points} for name, points in before],
            "after": [{"cluster": name, "points": points} for name, points in after],
            "open": False,
        }
    ]
    page = run("diff", fleet.path, "--base", "main", "--scores", scores, "-o", "html")
    assert "Order of clusters for jobs" in page
    assert f"{KEY}: jobs go first to us-1 (-20 points), before eu-1 (-90)" in page


def test_an_order_that_stays_is_not_mentioned(fleet: GitFleet, scores: Path, run: Run) -> None:
    """Nor one whose clusters do not lead each other by the stickiness."""
    begun(fleet)
    fleet.write("apps/jobs.yaml", jobs(multiKueue={"config": "gpu-jobs", "reorderSeconds": 90}))
    fleet.prefer_low_scores()
    formats = run.formats(fleet, "--scores", scores)
    assert lines_of(formats) == []
    assert "jobOrders" not in formats.comparison
    fleet.write("apps/jobs.yaml", jobs(scores=LOW, stickiness=100))
    assert job_lines(fleet, run, scores) == []


def test_an_order_begins_and_ends(fleet: GitFleet, scores: Path, run: Run) -> None:
    """With multiKueue, and with the name of its config."""
    fleet.write("apps/jobs.yaml", jobs())
    new = f"- **Jobs:** `{KEY}`: jobs go first to eu-1 (90 points), before eu-2 (60)"
    assert job_lines(fleet, run, scores) == [new]
    fleet.commit("jobs")
    fleet.write("apps/jobs.yaml", jobs(config="other"))
    ended = (
        f"- **Jobs:** `{KEY}`: MultiKueueConfig gpu-jobs is no longer ordered; its list stays as"
        " it is"
    )
    assert job_lines(fleet, run, scores) == [ended, new]
    fleet.write("apps/jobs.yaml", jobs(multiKueue=None))
    assert job_lines(fleet, run, scores) == [ended]
    fleet.remove("apps/jobs.yaml")
    assert job_lines(fleet, run, scores) == [ended]


def test_a_reviewer_is_told_which_configs_are_ordered(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """Also without scores: an AdmissionCheck on the hub names the config."""
    began = "MultiKueueConfig gpu-jobs is ordered from now on: nobody else may write it"
    ended = "MultiKueueConfig gpu-jobs is ordered no longer: its list stays as it is"
    fleet.write("apps/jobs.yaml", jobs())
    formats = run.formats(fleet)
    assert review(formats) == [began]
    assert formats.comparison["multiKueue"] == {"added": ["gpu-jobs"], "removed": []}
    fleet.commit("jobs")
    fleet.write("apps/jobs.yaml", jobs(config="other"))
    other = "MultiKueueConfig other is ordered from now on: nobody else may write it"
    assert review(run.formats(fleet, "--scores", scores)) == [ended, other]
    fleet.write("apps/jobs.yaml", jobs(multiKueue=None))
    assert review(run.formats(fleet)) == [ended]
    fleet.remove("apps/jobs.yaml")
    assert review(run.formats(fleet)) == [ended]
    fleet.write("apps/jobs.yaml", jobs(name="moved", config="gpu-jobs"))
    formats = run.formats(fleet)
    assert review(formats) == []
    assert "multiKueue" not in formats.comparison


def test_clusters_that_leave_and_join(fleet: GitFleet, scores: Path, run: Run) -> None:
    begun(fleet)
    without_cluster(fleet, "eu-1")
    assert job_lines(fleet, run, scores) == [
        (
            f"- **Jobs:** `{KEY}`: jobs go first to eu-2 (60 points), before us-1 (20);"
            " no new jobs go to eu-1"
        )
    ]
    fleet.git("checkout", "--quiet", "HEAD", "--", "clusters")
    european = {"clusterSets": ["fleet"], "clusterSelector": {"matchLabels": {"region": "eu"}}}
    fleet.write("apps/jobs.yaml", jobs(placement=european))
    assert job_lines(fleet, run, scores) == [
        f"- **Jobs:** `{KEY}`: jobs still go first to eu-1 (90 points); no new jobs go to us-1"
    ]
    fleet.commit("Europe")
    fleet.write("apps/jobs.yaml", jobs())
    assert job_lines(fleet, run, scores) == [
        f"- **Jobs:** `{KEY}`: jobs still go first to eu-1 (90 points); us-1 (20) may get jobs, too"
    ]


def test_one_cluster_gets_all_jobs(fleet: GitFleet, scores: Path, run: Run) -> None:
    """Its score need not be known for that."""
    begun(fleet)
    american = {"clusterSets": ["fleet"], "clusterSelector": {"matchLabels": {"region": "us"}}}
    fleet.write("apps/jobs.yaml", jobs(placement=american))
    line = f"- **Jobs:** `{KEY}`: jobs go to us-1 (20 points) alone; no new jobs go to eu-1, eu-2"
    assert job_lines(fleet, run, scores) == [line]


def test_what_changes_behind_the_first_cluster(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    """The first cluster is best by both scores."""
    hub = snapshot()
    net = snapshot(values={"eu-1": 95, "eu-2": 30, "us-1": 70}, resource="net")
    folder = save(replace(hub, scores={**hub.scores, **net.scores}), tmp_path / "hub")
    fleet.write("scorers/net.yaml", scorer("net"))
    begun(fleet)
    fleet.write("apps/jobs.yaml", jobs(scores=[{"scorer": "net"}]))
    assert job_lines(fleet, run, folder) == [
        (
            f"- **Jobs:** `{KEY}`: jobs still go first to eu-1 (95 points); us-1 (70) comes before"
            " eu-2 (30)"
        )
    ]


def test_scores_that_are_not_known_leave_the_order_open(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    begun(fleet)
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="sum(up)"))
    formats = run.formats(fleet, "--scores", scores)
    assert lines_of(formats) == [
        (
            f"- **Jobs:** `{KEY}`: which cluster gets jobs of gpu-jobs first is open until"
            " the scorers have run"
        )
    ]
    assert (
        "the order of clusters for jobs is open until the scorers have run\n- **Nowhere to go:**"
        in formats.text
    )
    [order] = formats.comparison["jobOrders"]
    assert (order["after"], order["open"]) == (None, True)


def test_many_orders_do_not_fill_the_screen(fleet: GitFleet, scores: Path, run: Run) -> None:
    """The others are in a section of their own."""
    names = [f"jobs-{number}" for number in range(30)]
    begun(fleet, *map(jobs, names))
    fleet.write("apps/jobs.yaml", *(jobs(name, scores=LOW) for name in names))
    formats = run.formats(fleet, "--scores", scores)
    lines = lines_of(formats)
    assert len(lines) == 3
    assert lines[-1] == "- **Jobs:** 28 more orders of clusters, below"
    text = formats.comment
    assert "<details><summary>Order of clusters for jobs (30)</summary>" in text
    line = "- `kueue-system/jobs-7`: jobs go first to us-1 (-20 points), before eu-1 (-90)"
    assert line in text.partition("Order of clusters for jobs (30)")[2]


def test_without_scores_nothing_is_said_of_jobs(fleet: GitFleet, run: Run) -> None:
    begun(fleet)
    fleet.write("apps/jobs.yaml", jobs(scores=LOW))
    formats = run.formats(fleet)
    assert "jobs go first" not in formats.text
    assert "jobOrders" not in formats.comparison
