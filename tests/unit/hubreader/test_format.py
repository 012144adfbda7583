"""The snapshot's files.

What is written is read back, the same bytes for the same snapshot, and mistakes are named.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.objects import (
    ClusterClaim,
    ManagedCluster,
    ManagedClusterSpec,
    ManagedClusterStatus,
    Taint,
)
from gitops_dsf.hub.scores import PublishedScore, ScoreFailure, score_of
from gitops_dsf.hub.snapshots.file_format import files
from gitops_dsf.hub.snapshots.snapshot import Snapshot, SnapshotError
from gitops_dsf.hub.times import age_text
from gitops_dsf.hubreader.files import documents, from_contents, from_path
from tests.support.laws import examples

LETTERS = ascii_lowercase + digits
NAMES = st.builds(
    lambda first, rest: f"{first}{rest}".rstrip(".-"),
    st.sampled_from(LETTERS),
    st.text(f"{LETTERS}.-", max_size=21),
)
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=9), max_size=3)
DIMENSIONS = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=12)
MOMENTS = st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
VALUES = st.dictionaries(DIMENSIONS, st.integers(-100, 100), max_size=3)
FAILURES = st.builds(
    ScoreFailure,
    reason=st.builds(
        str.__add__, st.sampled_from(ascii_uppercase), st.text(ascii_letters, max_size=20)
    ),
    message=st.builds(
        lambda words, last: " ".join([*words, last]), WORDS, st.sampled_from(LETTERS + '"')
    ),
    since=st.none() | MOMENTS,
)
SCORES = st.builds(
    lambda values, until, failure: structs.replace(
        score_of(sorted(values.items()), valid_until=until), failure=failure
    ),
    VALUES,
    st.none() | MOMENTS,
    st.none() | FAILURES,
)
DECISIONS = st.lists(
    st.builds(
        decision_of,
        namespace=NAMES,
        name=NAMES,
        placement=NAMES,
        clusters=st.lists(NAMES, max_size=3).map(tuple),
    ),
    unique_by=lambda item: (item.metadata.namespace, item.metadata.name),
).map(
    lambda found: tuple(
        sorted(found, key=lambda item: (item.metadata.namespace or "", item.metadata.name))
    )
)
LABELS = st.dictionaries(NAMES, DIMENSIONS, max_size=2)
TAINTS = st.lists(
    st.builds(Taint, key=NAMES, effect=st.sampled_from(["NoSelect", "NoSelectIfNew"])), max_size=2
).map(tuple)
CLAIMS = LABELS.map(
    lambda found: tuple(ClusterClaim(key, value) for key, value in sorted(found.items()))
)


@st.composite
def facts(draw: st.DrawFn, name: str) -> ManagedCluster:
    metadata = Metadata(name, labels=draw(st.none() | LABELS))
    quantities = st.none() | st.dictionaries(NAMES, st.just("4") | st.integers(0, 9))
    claims, allocatable, capacity = draw(st.none() | CLAIMS), draw(quantities), draw(quantities)
    status = ManagedClusterStatus(cluster_claims=claims, allocatable=allocatable, capacity=capacity)
    return ManagedCluster(metadata, ManagedClusterSpec(taints=draw(st.none() | TAINTS)), status)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    names = draw(st.lists(NAMES, unique=True, max_size=3))
    return Snapshot(
        origin="a place",
        observed_at=draw(st.none() | MOMENTS),
        scores=draw(
            st.dictionaries(
                NAMES, st.dictionaries(NAMES, SCORES, min_size=1, max_size=3), max_size=3
            )
        ),
        decisions=draw(DECISIONS),
        clusters={name: draw(facts(name)) for name in names},
    )


@given(snapshots())
@settings(examples(8, soak=400))
def test_what_is_written_is_read_back(snapshot: Snapshot) -> None:
    written = dict(files(snapshot, hub="hub"))
    assert from_contents(reversed(written.items()), origin="a place") == snapshot
    assert dict(files(from_contents(written.items(), origin="x"), hub="hub")) == written


def test_one_line_per_cluster() -> None:
    def lines(value: int) -> list[str]:
        table = {name: score_of({"cpu": value if name == "b" else 1}) for name in ("c", "a", "b")}
        written = dict(files(Snapshot(origin="", scores={"cpu": table}), hub="h"))
        return written["scores/cpu.json"].decode().splitlines()

    changed = [old for old, new in zip(lines(1), lines(2), strict=True) if old != new]
    assert changed == ['"b": {"values":{"cpu":1}},']


def failing(reason: str, message: str) -> PublishedScore:
    since = datetime(2026, 6, 1, tzinfo=UTC)
    return PublishedScore(failure=ScoreFailure(reason=reason, message=message, since=since))


def test_a_snapshot_says_why_scores_are_missing_and_a_healthy_one_is_as_before() -> None:
    healthy = {"cpu": {"a": score_of({"cpu": 1}), "b": score_of({"cpu": 2})}}
    before = dict(files(Snapshot(origin="", scores=healthy), hub="h"))
    assert sorted(before) == ["scores/cpu.json", "snapshot.json"]
    ill = {"cpu": {**healthy["cpu"], "b": failing("QueryFailed", "parse error at char 12")}}
    after = dict(files(Snapshot(origin="", scores=ill), hub="h"))
    assert json.loads(after.pop("failures.json"))["failures"] == {
        "cpu": {
            "b": {
                "reason": "QueryFailed",
                "message": "parse error at char 12",
                "since": "2026-06-01T00:00:00Z",
            }
        }
    }
    assert after.keys() == before.keys()


def test_failures_of_a_fleet_are_bounded_and_what_has_no_room_is_counted() -> None:
    fleet = {
        f"score{number:02}": {
            f"cluster-{cluster:04}": failing("SourceUnreachable", "x" * 256)
            for cluster in range(2000)
        }
        for number in range(20)
    }
    fleet["zz-alone"] = {"eu-1": failing("QueryFailed", "parse error")}
    written = dict(files(Snapshot(origin="", scores=fleet), hub="h"))
    assert 1_500_000 < len(written["failures.json"]) < 2_200_000
    snapshot = from_contents(written.items(), origin="x")
    kept = [score for table in snapshot.scores.values() for score in table.values()]
    with_reason = [score.failure for score in kept if score.failure is not None]
    assert len(kept) == 40_001
    assert 10_000 < len(with_reason) < 40_001
    [alone] = snapshot.scores["zz-alone"].values()
    assert alone.failure == fleet["zz-alone"]["eu-1"].failure, "few failures come first"
    first = [score.failure for score in snapshot.scores["score00"].values()]
    messages = [failure.message for failure in first if failure is not None]
    assert [bool(message) for message in messages] == [True] * 20 + [False] * 1980
    missing = 40_001 - len(with_reason)
    assert snapshot.problems == (
        f"the snapshot has no room for the reasons of {missing} missing scores",
    )


def test_failures_of_a_file_are_cleaned_and_only_requested_names_are_read() -> None:
    text = (
        HEAD
        + r"""failures:
  cpu:
    eu: {reason: "Bad\e[31m", message: "a\nb\e]0;title\a"}
  mem:
    eu: {reason: NoSeries}
"""
    )
    snapshot = from_contents([("x.yaml", text.encode())], origin="x", resources=frozenset({"cpu"}))
    assert list(snapshot.scores) == ["cpu"]
    failure = snapshot.scores["cpu"]["eu"].failure
    assert failure is not None
    assert (failure.reason + failure.message).isprintable()


def test_the_age_is_that_of_the_oldest_part() -> None:
    text = "apiVersion: gitops-dsf.io/v1alpha1\nkind: HubSnapshot\nobservedAt: '{}'\n"
    moments = {"a.yaml": "2026-06-02T00:00:00Z", "b.yaml": "2026-06-01T02:00:00+02:00"}
    contents = [(path, text.format(moment).encode()) for path, moment in moments.items()]
    found = from_contents(contents, origin="x")
    assert found.observed_at == datetime(2026, 6, 1, tzinfo=UTC)


HEAD = "apiVersion: gitops-dsf.io/v1alpha1\nkind: HubSnapshot\n"
SCORE = (
    "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind:"
    " AddOnPlacementScore\nmetadata: {name:"
    " cpu, namespace: eu}\n"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{HEAD}scores: {{cpu: {{eu: {{values: {{cpu: 101}}}}}}}}\n",
            r"Expected `int` <= 100 at `scores\.cpu\[\.\.\.\]\.values",
        ),
        (f"{HEAD}observed: now\n", "unknown field `observed`"),
        (f"{HEAD}scores: {{cpu: {{eu: {{values: {{}}, raw: {{}}}}}}}}\n", "unknown field `raw`"),
        (
            "apiVersion: gitops-dsf.io/v9\nkind: HubSnapshot\n",
            "this version reads gitops-dsf.io/v1alpha1",
        ),
        (
            f"{SCORE}status: {{scores: [{{name: cpu, value: high}}]}}\n",
            "AddOnPlacementScore eu/cpu: Expected `int`, got `str`",
        ),
        (f"{SCORE}---\n{SCORE}", r"state.yaml:5: AddOnPlacementScore eu/cpu is there already"),
        ("kind: List\nitems: 7\n", "items of a List must be a list"),
        ("kind: List\nitems: [7]\n", r"items\[0\]: expected an object"),
        ("kind: [\n", "state.yaml:"),
        ('{"kind": "List", "items": [' * 300 + "]}" * 300, "more than 64 levels"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "not valid JSON"),
        ("{", "not valid JSON"),
        ("kind: ConfigMap\nmetadata: {name: x}\n", "no AddOnPlacementScore, HubSnapshot"),
        (
            "kind: ManagedCluster\nmetadata: {name: x}\nstatus: []\n",
            r"ManagedCluster x: Expected `object \| null`, got `array` at `status`",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "state.yaml").write_text(text)
    with pytest.raises(SnapshotError, match=said):
        from_path(tmp_path)


TABLE = (
    f"{HEAD}scores: {{cpu: {{ap: {{values: {{cpu: 7}}}}, eu: {{values: {{cpu: 1}},"
    " validUntil: now}}}\n"
)


@pytest.mark.parametrize("text", [f"{SCORE}status: {{validUntil: '2026-06-01T00:00:00'}}\n", TABLE])
def test_a_score_whose_time_cannot_be_read_is_named_and_counts_as_0(text: str) -> None:
    found = from_contents([("state.yaml", text.encode())], origin="x")
    assert found.scores["cpu"]["eu"] == PublishedScore()
    [problem] = found.problems
    assert problem.startswith("AddOnPlacementScore eu/cpu cannot be read and counts as 0: ")
    assert "validUntil" in problem
    assert not from_contents(
        [("state.yaml", text.encode())], origin="x", resources=frozenset()
    ).problems


@pytest.mark.parametrize("levels", [70, 500])
def test_json_that_nests_deeper_than_its_readers_recurse_is_a_mistake(levels: int) -> None:
    text = (
        '{"kind": "ManagedCluster", "a":' + '{"a":' * levels + "1" + "}" * (levels + 1)
    ).encode()
    (document,) = documents(text, file="hub.json")
    with pytest.raises(SnapshotError, match=r"hub\.json: more than 64 levels"):
        document.plain()


def test_other_kinds_and_hidden_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "cm.yaml").write_text("kind: ConfigMap\nmetadata: {name: x}\n")
    (tmp_path / ".tmp.yaml").write_text("kind: [\n")
    (tmp_path / "notes.txt").write_text("kind: [\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/score.yml").write_text(
        f"{SCORE}status: {{scores: [{{name: cpu, value: 3}}]}}\n"
    )
    found = from_path(tmp_path).published("cpu", "eu")
    assert found is not None
    assert dict(found.items()) == {"cpu": 3}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (119.9, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172_800, "2 d"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


@pytest.mark.parametrize(
    "content",
    [
        b"kind: ManagedCluster\nname: \xf5\n",
        b'{"kind": "ManagedCluster", "name": "\xf5"}',
        b'{"kind": "List", "items": [{"kind": "ManagedCluster", "\xf5": 1}]}',
    ],
)
def test_a_file_that_is_not_utf_8_is_refused_with_its_byte(content: bytes) -> None:
    byte = content.index(b"\xf5")
    with pytest.raises(SnapshotError, match=rf"hub is not UTF-8 \(byte {byte}\)"):
        list(documents(content, file="hub"))


PAGE = Path(__file__).parents[3] / "docs/decisions/preview.md"


def test_the_documented_example_is_read() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    (example,) = [block for block in blocks if "HubSnapshot" in block]
    snapshot = from_contents([("example.yaml", example.encode())], origin="docs")
    assert snapshot.observed_at == datetime(2026, 6, 1, tzinfo=UTC)
    published = snapshot.published("cpu-headroom", "eu-west-1")
    assert published is not None
    assert dict(published.items()) == {"cpu-headroom": 81}
    named = {"namespace": "argocd", "name": "guestbook-decision-1", "placement": "guestbook"}
    assert snapshot.decisions == (decision_of(**named, clusters=("eu-west-1",)),)
    assert snapshot.clusters["eu-west-1"].claims == {"platform.open-cluster-management.io": "AWS"}
