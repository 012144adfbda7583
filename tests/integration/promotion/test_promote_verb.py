"""gitops-dsf promote, on files as people write them.

Aspects covered: which fields are taken, comments, files, locks, refusals, --dry-run, interruption.
"""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.pipeline import check
from gitops_dsf.resolve.types import EffectiveScorer
from tests.unit.resolve.test_rules import BASE

LIVE = """\
# Read by every application.
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata:
  name: cpu  # do not rename
  labels: {team: platform}
spec:
  description: Idle CPU in percent
  # only where we have nodes of our own
  clusterSelector:
    matchLabels: {env: prod}
  source:
    host: http://prometheus.monitoring.svc:9090
    params:
      # five minutes
      query: 100 * avg(rate(node_cpu_seconds_total{mode="idle"}[5m]))
  scoring:
    type: Query
    params:
      name: cpu-idle
      interval: 60  # seconds
  scoreTTLSeconds: 1200
  scoreRange: {min: 0, max: 100}
"""
SHADOW = """\
# Compare until June.
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata:
  name: cpu-next
spec:
  shadowOf: cpu
  description: Idle CPU of the last hour in percent
  source:
    host: http://prometheus.monitoring.svc:9090
    params:
      # a whole hour, because five minutes were too noisy
      query: 100 * avg(rate(node_cpu_seconds_total{mode="idle"}[1h]))
  scoring:
    type: Query
    params: {name: cpu-idle-next, interval: 300}
  scoreRange: {min: 0, max: 90}  # nobody has more
  # less writes
  publish: {deadband: 5, minIntervalSeconds: 120}
"""
PROMOTED = """\
# Read by every application.
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata:
  name: cpu  # do not rename
  labels: {team: platform}
spec:
  description: Idle CPU of the last hour in percent
  # only where we have nodes of our own
  clusterSelector:
    matchLabels: {env: prod}
  source:
    host: http://prometheus.monitoring.svc:9090
    params:
      # five minutes
      # a whole hour, because five minutes were too noisy
      query: 100 * avg(rate(node_cpu_seconds_total{mode="idle"}[1h]))
  scoring:
    type: Query
    params:
      name: cpu-idle
      interval: 60  # seconds
  scoreTTLSeconds: 1200
  scoreRange: {min: 0, max: 90}  # nobody has more
  # less writes
  publish: {deadband: 5, minIntervalSeconds: 120}
"""
API = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: NAME}
spec:
  description: d
  configURL: http://NAME.scoring.svc:8000/config
  configSyncMode: Full
"""
LOCK = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {name: NAME}
spec:
  configURL: http://NAME.scoring.svc:8000/config
  config:
    source:
      host: http://prometheus:9090
      params: {query: avg(QUERY), range: 600, step: 60}
    scoring: {params: {name: cpu-idle, interval: 60}}
"""


def repository(root: Path, **files: str) -> Path:
    texts = {"gitops-dsf.yaml": BASE["gitops-dsf.yaml"], "clusters/c.yaml": BASE["clusters/c.yaml"]}
    for name, text in {
        **texts,
        **{name.replace("__", "/") + ".yaml": text for name, text in files.items()},
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return repository(tmp_path, scorers__cpu=LIVE, scorers__next=SHADOW)


def contents(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.yaml") if path.is_file()
    }


def live(root: Path) -> EffectiveScorer:
    resolved = check(root).resolved
    assert resolved is not None, check(root).diagnostics
    [found] = [item for item in resolved.scorers if item.name == "cpu"]
    return found


def test_the_live_scorer_takes_the_definition_and_keeps_its_place(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Name, clusters, interval and TTL are those of the live scorer. The comments of both stay."""
    before = contents(fleet)
    assert main(["promote", "cpu-next", str(fleet)]) == 0
    assert contents(fleet) == {
        **{name: text for name, text in before.items() if name != "scorers/next.yaml"},
        "scorers/cpu.yaml": PROMOTED,
    }
    said = capsys.readouterr().err
    assert said.startswith("cpu takes the definition of cpu-next\n  description: ")
    assert "  publish.deadband: 2 -> 5\n" in said
    assert said.endswith("scorers/cpu.yaml: written\nscorers/next.yaml: removed\n")


def test_the_interval_is_taken_on_request(fleet: Path) -> None:
    assert main(["promote", "cpu-next", str(fleet), "--take-interval"]) == 0
    found = live(fleet)
    assert (found.interval, found.ttl_seconds, found.score_name) == (300, 3000, "cpu-idle")


def test_a_dry_run_shows_the_edit_and_writes_nothing(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(fleet)
    assert main(["promote", "cpu-next", str(fleet), "--dry-run"]) == 0
    assert contents(fleet) == before
    shown = capsys.readouterr()
    assert "--- a/scorers/cpu.yaml\n+++ b/scorers/cpu.yaml\n" in shown.out
    assert "--- a/scorers/next.yaml\n+++ /dev/null\n" in shown.out
    assert "+  scoreRange: {min: 0, max: 90}  # nobody has more\n" in shown.out
    assert "scorers/next.yaml: would be removed\n" in shown.err


def test_both_in_one_file(tmp_path: Path) -> None:
    """The other documents of the file stay as they are, and so do its line ends."""
    both = f"{LIVE}---\n{SHADOW}---\n# another\n{LIVE.replace('cpu', 'gpu')}".replace("\n", "\r\n")
    fleet = repository(tmp_path)
    (fleet / "scorers").mkdir()
    (fleet / "scorers/all.yaml").write_bytes(both.encode())
    assert main(["promote", "cpu-next", str(fleet)]) == 0
    expected = f"{PROMOTED}---\n# another\n{LIVE.replace('cpu', 'gpu')}".replace("\n", "\r\n")
    assert (fleet / "scorers/all.yaml").read_bytes().decode() == expected


def test_an_interrupted_promotion_is_finished_by_the_next_run(fleet: Path) -> None:
    """The live scorer is written first. If the shadow is still there, a second run gives the same."""
    assert main(["promote", "cpu-next", str(fleet)]) == 0
    once = contents(fleet)
    (fleet / "scorers/next.yaml").write_text(SHADOW)
    assert main(["promote", "cpu-next", str(fleet)]) == 0
    assert contents(fleet) == once


def test_a_promotion_that_is_done_is_not_repeated(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file says that this name was ever a shadow, so it may as well be a typing error."""
    assert main(["promote", "cpu-next", str(fleet)]) == 0
    once = contents(fleet)
    assert main(["promote", "cpu-next", str(fleet)]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert (
        "there is no shadow cpu-next; if it was promoted already, nothing is left to do; shadows here: none"
        in said
    )
    assert contents(fleet) == once


def test_the_lock_of_the_shadow_becomes_that_of_the_live_scorer(tmp_path: Path) -> None:
    shadow = API.replace("NAME", "next") + "  shadowOf: cpu\n  scoring: {params: {name: cpu-next}}\n"
    fleet = repository(
        tmp_path,
        scorers__cpu=API.replace("NAME", "cpu"),
        scorers__next=shadow,
        locks__cpu="# accepted in May\n" + LOCK.replace("NAME", "cpu").replace("QUERY", "up"),
        locks__next=LOCK.replace("NAME", "next").replace("QUERY", "down"),
    )
    assert main(["promote", "next", str(fleet)]) == 0
    found = live(fleet)
    assert (found.query, found.score_name, found.scoring_host) == (
        "avg(down)",
        "cpu-idle",
        "http://next.scoring.svc:8000",
    )
    assert check(fleet).diagnostics == ()
    assert sorted(name for name in contents(fleet) if "/" in name) == [
        "clusters/c.yaml",
        "locks/cpu.yaml",
        "scorers/cpu.yaml",
    ]
    assert (fleet / "locks/cpu.yaml").read_text().startswith("# accepted in May\n")


def test_a_query_scorer_replaces_a_scoring_api(tmp_path: Path) -> None:
    """The lock of the live scorer has no use any more. What only it said is written: name and interval."""
    fleet = repository(
        tmp_path,
        scorers__cpu=API.replace("NAME", "cpu"),
        scorers__next=SHADOW,
        locks__cpu=LOCK.replace("NAME", "cpu").replace("QUERY", "up"),
    )
    assert main(["promote", "cpu-next", str(fleet)]) == 0
    found = live(fleet)
    assert (found.scoring_type, found.score_name, found.interval) == ("Query", "cpu-idle", 60)
    assert check(fleet).diagnostics == ()
    assert not (fleet / "locks/cpu.yaml").exists()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "cpu-nxt",
            {},
            "there is no shadow cpu-nxt; if it was promoted already, nothing is left to do; did you mean",
        ),
        ("cpu", {}, "cpu is no shadow, because it has no shadowOf; shadows here: cpu-next"),
        (
            "cpu-next",
            {"apps__bad": "kind: Nothing\n"},
            "the repository has an error: apps/bad.yaml:1:1: DSF014",
        ),
        (
            "next",
            {"scorers__full": API.replace("NAME", "next") + "  shadowOf: cpu\n"},
            "next waits for its lock; run gitops-dsf sync --scorer next",
        ),
        (
            "next",
            {
                "scorers__full": API.replace("NAME", "next")
                + "  shadowOf: cpu\n"
                + "  source: {host: 'http://p:9090', params: {query: up, range: 60, step: 60}}\n"
                + "  scoring: {params: {name: other, interval: 60}}\n"
            },
            "next has configSyncMode Full and no lock, so what its /config says is not known",
        ),
        (
            "next",
            {
                "scorers__full": API.replace("NAME", "next")
                + "  shadowOf: cpu\n  scoring: {params: {name: other, interval: 60}}\n",
                "locks__full": LOCK.replace("NAME", "next").replace("cpu-idle", "renamed"),
            },
            "the /config of next names the score renamed, and cpu publishes cpu-idle",
        ),
        (
            "cpu-next",
            {
                "config__masks": (
                    "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\n"
                    "kind: DynamicScoringConfig\nmetadata: {name: dynamic-scoring-config}\n"
                    "spec: {masks: [{clusterName: prod-1, scoreName: cpu-idle-next}]}\n"
                )
            },
            "after the promotion the repository would have an error: config/masks.yaml:4:49: DSF202",
        ),
    ],
)
def test_refusals_say_why_and_write_nothing(
    fleet: Path, capsys: pytest.CaptureFixture[str], name: str, change: dict[str, str], message: str
) -> None:
    repository(fleet, **change)
    before = contents(fleet)
    assert main(["promote", name, str(fleet)]) == 1
    assert message in capsys.readouterr().err
    assert contents(fleet) == before


def test_an_edit_that_would_not_be_the_definition_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A merge key of the live scorer's document would bring back what the shadow left out."""
    shared = LIVE.replace("  scoreRange: {min: 0, max: 100}\n", "  <<: {scoreRange: {min: 0, max: 100}}\n")
    fleet = repository(
        tmp_path,
        scorers__cpu=shared,
        scorers__next=SHADOW.replace("  scoreRange: {min: 0, max: 90}  # nobody has more\n", ""),
    )
    before = contents(fleet)
    assert main(["promote", "cpu-next", str(fleet)]) == 1
    assert capsys.readouterr().err
    assert contents(fleet) == before


def test_comments_come_with_their_fields_in_another_style(tmp_path: Path) -> None:
    """The two documents differ in indentation and in flow style. A `#` in a query is no comment."""
    shadow = """\
---
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: next}
spec:
    description: d
    shadowOf: cpu
    source:
        # the central one
        host: http://prometheus.monitoring.svc:9090
        params:
            query: |
                # recorded
                sum(requests)
    # without an API
    scoring:
        type: Query
        params:
            name: next-score
            interval: 120
    scoreRange: {min: 0, max: 1}
    # no more than this
"""
    fleet = repository(
        tmp_path,
        scorers__cpu=LIVE.replace(
            "params:\n      name: cpu-idle\n      interval: 60  # seconds", "params: {name: x}"
        ).replace("params: {name: x}", "params: {name: cpu-idle, interval: 60}"),
        scorers__next=shadow,
    )
    assert main(["promote", "next", str(fleet)]) == 0
    text = (fleet / "scorers/cpu.yaml").read_text()
    assert "    # the central one\n    host: http://prometheus" in text
    assert "  # without an API\n  scoring:\n" in text
    assert text.endswith("# no more than this\n")
    assert text.count("# recorded") == 1
    assert live(fleet).query == "# recorded\nsum(requests)\n"
