"""`log` reads what the reconciler wrote: from a branch of a clone, a folder or a file."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.journal.lines import appended, encode
from gitops_dsf.journal.record import (
    ClusterReason,
    Record,
    RecordedCheck,
    RecordedOrder,
    RecordedTerm,
    RecordedVerification,
    ScoreChange,
    new_record,
    order_record,
    verification_record,
)
from tests.hub.controlplane.gitrepository import git
from tests.support.journalrecords import record
from tests.support.outputs import check_output

AT = datetime(2026, 6, 1, 3, 12, 7, tzinfo=UTC)
SPAN = ("--from", "2026-05-01T00:00:00Z", "--to", "2026-07-01T00:00:00Z")


def reason(cluster: str, value: int, *, rank: int, rival: str, points: int) -> ClusterReason:
    relation = "the first that is not selected" if rank == 1 else "the last that is selected"
    return ClusterReason(
        cluster=cluster,
        selected=rank == 1,
        reason=f"rank {rank} of 2 with {value} points; {relation} is {rival} with {points}",
        rank=rank,
        total=2,
        points=value,
        contributions=(RecordedTerm(name="AddOn/cpu/cpu", weight=1, score=value),),
        rival=rival,
        rival_points=points,
        margin=value - points if rank == 1 else points - value,
    )


def move(number: int, before: str, after: str, at: datetime) -> Record:
    return record(
        number,
        before,
        after,
        at=at,
        applications=("portal",),
        clusters=(
            reason(after, 60, rank=1, rival=before, points=35),
            reason(before, 35, rank=2, rival=after, points=60),
        ),
        scores=(ScoreChange(name="AddOn/cpu/cpu", cluster=before, before=80, after=35),),
        commit="4f2c" * 10,
    )


START = new_record(
    placement="argocd/portal",
    number=1,
    time=AT - timedelta(days=9),
    kind="Start",
    before=None,
    after={"eu-1"},
)
CAUSED = msgspec.structs.replace(
    move(2, "eu-1", "eu-2", AT), cause=MoveCause("Score", "cpu of eu-1 80 -> 35")
)
RECORDS = (START, CAUSED, move(3, "eu-2", "eu-1", AT + timedelta(hours=5)))
"""The last one was written by a version that recorded no cause."""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "journal"
    folder.mkdir()
    for name, content in appended({}, RECORDS).items():
        (folder / name).write_bytes(content)
    (folder / "README.md").write_text("words\n")
    return folder


def test_a_past_move_is_explained_in_the_words_of_explain(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "portal", "--journal", str(journal), "--at", "2026-06-01T04:00:00Z"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert (
        shown.out
        == """\
2026-06-01 03:12:07 UTC: argocd/portal moved from eu-1 to eu-2
  ApplicationSet portal
  cause: scores: cpu of eu-1 80 -> 35
  live commit of the fleet repository: 4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c

  score  cluster  before  now
  cpu    eu-1         80   35

argocd/portal, cluster eu-2: selected
  rank 1 of 2 with 60 points; the first that is not selected is eu-1 with 35

  prioritizer    score  weight  points
  AddOn/cpu/cpu     60     x 1      60
  total                             60

argocd/portal, cluster eu-1: not selected
  rank 2 of 2 with 35 points; the last that is selected is eu-2 with 60

  prioritizer    score  weight  points
  AddOn/cpu/cpu     35     x 1      35
  total                             35
"""
    )


def test_the_last_move_of_an_application_is_explained_below_all(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "argocd/portal", "--journal", str(journal), *SPAN]) == 0
    listed, _, explained = capsys.readouterr().out.partition("\n\n")
    assert len(listed.splitlines()) == 4
    assert explained.startswith("2026-06-01 08:12:07 UTC: argocd/portal moved from eu-2 to eu-1\n")
    assert main(["log", "portal", "--journal", str(journal), "--from", "2026-07-01T00:00:00Z"]) == 0
    shown = capsys.readouterr()
    assert "no change of portal is recorded in this span" in shown.err
    assert shown.out == explained


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shop"], "the journal has no record of shop; gitops-dsf log lists what it has"),
        (
            ["portal", "--at", "2026-05-01T00:00:00Z"],
            "up to 2026-05-01T00:00:00+00:00; its first one is of 2026-05-23T03:12:07+00:00",
        ),
    ],
)
def test_an_application_without_a_record_is_told(
    journal: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["log", *arguments, "--journal", str(journal)]) == 2
    assert message in capsys.readouterr().err


def test_log_lists_one_line_for_each_move(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "--journal", str(journal), *SPAN]) == 0
    assert (
        capsys.readouterr().out
        == """\
  time (UTC)           placement      from  to    cause                         commit
  2026-05-23 03:12:07  argocd/portal  ?     eu-1
  2026-06-01 03:12:07  argocd/portal  eu-1  eu-2  scores: cpu of eu-1 80 -> 35  4f2c4f2c4f
  2026-06-01 08:12:07  argocd/portal  eu-2  eu-1  cpu of eu-2 80 -> 35          4f2c4f2c4f
"""
    )
    assert (
        main(["log", "--journal", str(journal), "--from", "2026-06-01T04:00:00Z", "-o", "json"])
        == 0
    )
    printed = capsys.readouterr().out
    assert check_output(["log", "-o", "json"], printed)
    assert [item["number"] for item in json.loads(printed)["records"]] == [3]
    assert main(["log", "--journal", str(journal), "--from", "2026-07-01T00:00:00Z"]) == 0
    assert "no change is recorded in this span" in capsys.readouterr().err


def test_a_verification_is_a_line_of_its_own_and_explained_below_its_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`log` says what was measured where a move led, and which move that was."""
    checks = (
        RecordedCheck(score="shop-slo/shop", value=62, at_least=80),
        RecordedCheck(score="latency/latency", value=None, at_least=68, before=78),
    )
    verification = RecordedVerification(
        source="eu-1", target="eu-2", outcome="Returned", since=AT, checks=checks
    )
    failed = verification_record(CAUSED, verification, at=AT + timedelta(minutes=12))
    back = msgspec.structs.replace(
        move(4, "eu-2", "eu-1", AT + timedelta(minutes=13)),
        cause=MoveCause("Return", "shop-slo/shop 62 of at least 80"),
    )
    lines = tmp_path / "2026-06.jsonl"
    lines.write_bytes(b"".join(map(encode, (START, CAUSED, failed))))
    assert main(["log", "portal", "--journal", str(lines), *SPAN]) == 0
    parts = re.split(r"\n(?=2026\S+ \S+ UTC)", capsys.readouterr().out)
    listed, moved, verified = parts
    assert listed.splitlines()[-1] == (
        "  2026-06-01 03:24:07  argocd/portal  eu-1  eu-2  verification failed, it goes back:"
        " shop-slo/shop 62 of at least 80; latency not known"
    )
    assert moved.startswith("2026-06-01 03:12:07 UTC: argocd/portal moved from eu-1 to eu-2\n")
    assert verified == (
        "2026-06-01 03:24:07 UTC: argocd/portal, eu-1 -> eu-2: verification failed, it goes back\n"
        "  the move began at 2026-06-01 03:12:07 UTC\n"
        "  shop-slo/shop 62 of at least 80\n"
        "  latency not known; 78 on eu-1 before the move\n"
    )
    lines.write_bytes(b"".join(map(encode, (START, CAUSED, failed, back))))
    assert main(["log", "portal", "--journal", str(lines), *SPAN]) == 0
    shown = capsys.readouterr().out
    assert "return: shop-slo/shop 62 of at least 80" in shown
    assert shown.count("  the move began at") == 0, "the last move is another one"
    assert main(["log", "--journal", str(lines), *SPAN, "-o", "json"]) == 0
    printed = capsys.readouterr().out
    assert check_output(["log", "-o", "json"], printed)
    assert json.loads(printed)["records"][2]["verification"] == {
        "from": "eu-1",
        "to": "eu-2",
        "outcome": "Returned",
        "since": "2026-06-01T03:12:07Z",
        "checks": [
            {"score": "shop-slo/shop", "value": 62, "atLeast": 80},
            {"score": "latency/latency", "atLeast": 68, "before": 78},
        ],
    }


def test_a_copy_that_never_got_healthy_is_the_reason_and_no_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verification = RecordedVerification(
        source="eu-1",
        target="eu-2",
        outcome="Returned",
        since=AT,
        checks=(RecordedCheck(score="shop-slo/shop", value=None, at_least=80),),
        detail="eu-2 has no healthy copy after 1800 s",
    )
    failed = verification_record(CAUSED, verification, at=AT + timedelta(minutes=30))
    lines = tmp_path / "2026-06.jsonl"
    lines.write_bytes(b"".join(map(encode, (START, CAUSED, failed))))
    assert main(["log", "portal", "--journal", str(lines), *SPAN]) == 0
    shown = capsys.readouterr().out
    assert "verification failed, it goes back: eu-2 has no healthy copy after 1800 s\n" in shown
    assert shown.endswith(
        "  the move began at 2026-06-01 03:12:07 UTC\n  eu-2 has no healthy copy after 1800 s\n"
    )
    assert "not known" not in shown


def test_a_list_for_kueue_is_a_line_of_its_own_and_explained_with_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ordered(last: Record | None, *names: str, minutes: int) -> Record:
        order = RecordedOrder(
            config="gpu-jobs",
            before=("eu-1", "eu-2", "eu-3", "eu-4"),
            after=names,
            points={"eu-2": 61.5, "eu-1": 40.0},
            left_out=("ap-1",),
            reason="eu-2 leads eu-1 by 21.5 points",
        )
        at = AT + timedelta(minutes=minutes)
        return order_record(last, order, placement="kueue-system/gpu-jobs", uid="u", at=at)

    first = ordered(None, "eu-1", "eu-2", minutes=0)
    second = ordered(first, "eu-2", "eu-1", "eu-4", minutes=5)
    lines = tmp_path / "2026-06.jsonl"
    lines.write_bytes(b"".join(map(encode, (first, second))))
    assert main(["log", "gpu-jobs", "--journal", str(lines), *SPAN]) == 0
    listed, explained = re.split(r"\n(?=2026\S+ \S+ UTC)", capsys.readouterr().out)
    assert listed.splitlines()[-1] == (
        "  2026-06-01 03:17:07  kueue-system/gpu-jobs  eu-1, eu-2, eu-3 and 1 more"
        "  eu-2, eu-1, eu-4  gpu-jobs: eu-2 leads eu-1 by 21.5 points"
    )
    assert explained == (
        "2026-06-01 03:17:07 UTC: kueue-system/gpu-jobs orders the clusters of MultiKueueConfig"
        " gpu-jobs\n"
        "  cause: eu-2 leads eu-1 by 21.5 points\n"
        "  1. eu-2, 61.5 points\n"
        "  2. eu-1, 40 points\n"
        "  3. eu-4, no points\n"
        "  no room for ap-1\n"
    )
    assert main(["log", "--journal", str(lines), *SPAN, "-o", "json"]) == 0
    printed = capsys.readouterr().out
    assert check_output(["log", "-o", "json"], printed)
    assert json.loads(printed)["records"][1]["order"]["leftOut"] == ["ap-1"]


def test_a_byte_order_mark_hides_no_record(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Editors and PowerShell write one, and carriage returns."""
    file = journal / "2026-06.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["log", "--journal", str(file), *SPAN, "-o", "json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert [item["number"] for item in json.loads(shown.out)["records"]] == [2, 3]


def test_a_corrupt_line_is_told_and_skipped(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (journal / "2026-06.jsonl").open("ab") as file:
        file.write(b'{"id": 5\n')
    assert main(["log", "--journal", str(journal / "2026-06.jsonl"), *SPAN, "-o", "json"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("2026-06.jsonl:3: this line is not a record")
    assert [item["number"] for item in json.loads(shown.out)["records"]] == [2, 3]


@pytest.mark.parametrize("verb", [["log"], ["log", "guestbook"]])
def test_a_folder_without_a_journal_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    assert main([*verb, "--journal", str(tmp_path)]) == 2
    assert (
        "has no file of a journal; write a folder with files like 2026-06.jsonl"
        in capsys.readouterr().err
    )


def test_the_branch_of_a_clone(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    git("init", "--quiet", "--initial-branch=main", folder=clone)
    git("commit", "--quiet", "--allow-empty", "--message", "Begin", folder=clone)
    assert main(["log", "portal", str(clone)]) == 2
    assert "git fetch origin +refs/heads/gitops-dsf-journal:" in capsys.readouterr().err
    git("checkout", "--quiet", "--orphan", "gitops-dsf-journal", folder=clone)
    for file in journal.iterdir():
        (clone / file.name).write_bytes(file.read_bytes())
    git("add", ".", folder=clone)
    git("commit", "--quiet", "--message", "Record 3 changes", folder=clone)
    git("checkout", "--quiet", "main", folder=clone)
    assert main(["log", "portal", str(clone)]) == 0
    assert "moved from eu-2 to eu-1" in capsys.readouterr().out


@pytest.fixture
def clone(journal: Path, tmp_path: Path) -> Path:
    """Of a repository to which the reconciler pushed the journal after the clone was made."""
    origin, clone = tmp_path / "origin", tmp_path / "fresh"
    origin.mkdir()
    git("init", "--quiet", "--initial-branch=main", folder=origin)
    git("commit", "--quiet", "--allow-empty", "--message", "Begin", folder=origin)
    git("clone", "--quiet", str(origin), str(clone), folder=tmp_path)
    git("checkout", "--quiet", "--orphan", "gitops-dsf-journal", folder=origin)
    push(origin, journal)
    return clone


def push(origin: Path, journal: Path) -> None:
    for file in journal.iterdir():
        (origin / file.name).write_bytes(file.read_bytes())
    git("add", ".", folder=origin)
    git("commit", "--quiet", "--message", "Record changes", folder=origin)


def test_log_fetches_the_branch_and_says_how_old_it_is(
    journal: Path, clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "portal", str(clone), "--no-fetch"]) == 2
    assert "there is no branch gitops-dsf-journal in this clone" in capsys.readouterr().err
    assert main(["log", "portal", str(clone)]) == 0
    first, _, rest = capsys.readouterr().out.partition("\n\n")
    assert re.fullmatch(
        r"branch gitops-dsf-journal at [0-9a-f]{10}, fetched now, last pushed \d+ s ago", first
    )
    assert "moved from eu-2 to eu-1" in rest
    with (journal / "2026-06.jsonl").open("ab") as file:
        file.write(encode(move(4, "eu-1", "eu-3", AT + timedelta(hours=9))))
    push(tmp_path / "origin", journal)
    assert main(["log", "portal", str(clone), "--no-fetch"]) == 0
    shown = capsys.readouterr().out
    assert ", not fetched, last pushed " in shown.partition("\n")[0]
    assert "later moves are missing" in shown.partition("\n")[0]
    assert "eu-3" not in shown
    assert main(["log", "portal", str(clone), "-o", "json", *SPAN]) == 0
    printed = capsys.readouterr().out
    assert check_output(["log", "-o", "json"], printed)
    found = json.loads(printed)
    assert (found["journal"]["fetched"], found["records"][-1]["to"]) == (True, ["eu-3"])


def test_a_remote_that_does_not_answer_is_told_and_the_rest_is_shown(
    clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "portal", str(clone)]) == 0
    capsys.readouterr()
    (tmp_path / "origin").rename(tmp_path / "away")
    assert main(["log", "portal", str(clone)]) == 0
    first, _, rest = capsys.readouterr().out.partition("\n\n")
    assert ", not fetched (" in first
    assert "does not appear to be a git repository" in first
    assert "moved from eu-2 to eu-1" in rest


def test_items_of_moves_in_records_of_earlier_versions_are_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "2026-06.jsonl"
    item = ScoreChange(
        name="AddOn/gitops-dsf-moves/argocd/portal", cluster="eu-1", before=-100, after=50
    )
    cpu = ScoreChange(name="AddOn/cpu/cpu", cluster="eu-1", before=40, after=50)
    file.write_bytes(encode(record(2, "eu-2", "eu-1", at=AT, scores=(item, cpu))))
    for arguments in (SPAN, ("portal", "--at", "2026-07-01T00:00:00Z")):
        assert main(["log", *arguments, "--journal", str(file)]) == 0
        out = capsys.readouterr().out
        assert "gitops-dsf-moves" not in out
        assert "cpu" in out


def test_a_cause_that_a_later_version_recorded_is_shown_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "2026-06.jsonl"
    file.write_bytes(encode(record(2, at=AT, cause=MoveCause("Returned", "eu-2 did badly"))))
    assert main(["log", *SPAN, "--journal", str(file)]) == 0
    shown = capsys.readouterr()
    assert ("Returned: eu-2 did badly" in shown.out, shown.err) == (True, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "2026-06-01T00:00:00Z"], "write gitops-dsf log APP --at TIME"),
        (["--journal", "{journal}/absent"], "cannot read the journal"),
        (["--days", "-1", "--journal", "{journal}"], "the span ends before it starts"),
    ],
)
def test_wrong_usage_is_told(
    journal: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["log", *(each.format(journal=journal) for each in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_texts_of_a_record_do_not_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may push to the branch writes them."""
    evil = "\x1b[2J\r\nabc\u202e\x9b"
    file = tmp_path / "2026-06.jsonl"
    bad = msgspec.structs.replace(
        move(2, f"eu-1{evil}", f"eu-2{evil}", AT),
        applications=(f"portal{evil}",),
        commit=evil,
        doubt=evil,
        scores=(
            ScoreChange(name=f"AddOn/cpu/cpu{evil}", cluster=f"eu-1{evil}", before=80, after=35),
        ),
    )
    file.write_bytes(encode(bad) + b'{"id": "a", "kind": "\\u001b[2J"}\n')
    for arguments in (SPAN, ("portal",), ("portal", "--at", "2026-07-01T00:00:00Z")):
        assert main(["log", *arguments, "--journal", str(file)]) == 0
        shown = capsys.readouterr()
        assert all(
            each.isprintable() for each in (*shown.out.splitlines(), *shown.err.splitlines())
        )
        assert not any(line.startswith("abc") for line in shown.out.splitlines())
        assert "\\x1b[2J\\r\\n" in shown.out
    assert main(["log", *SPAN, "--journal", str(file), "-o", "json"]) == 0
    out = capsys.readouterr().out
    assert all(each.isprintable() for each in out.split("\n"))
    assert json.loads(out)["records"][0]["applications"] == [f"portal{evil}"]
