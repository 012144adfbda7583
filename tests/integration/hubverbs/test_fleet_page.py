"""`status -o html`: what the page shows of a hub, of git and of the journal."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from gitops_dsf.journal.lines import encode
from gitops_dsf.journal.record import (
    RecordedCheck,
    RecordedVerification,
    new_record,
    verification_record,
)
from tests.integration.hubverbs.conftest import Run, Serve
from tests.integration.preview.gitfleet import GitFleet, settings
from tests.support.hubobjects import (
    Object,
    application,
    application_set,
    binding,
    decision,
    global_set,
    joined,
    masks,
    meta,
    of,
    placement,
    score,
    scorer,
)

NOW = datetime.now(UTC)


def rows(page: str, section: str) -> list[str]:
    """The text of the rows of a section, without markup."""
    inside = page.partition(f'<section id="{section}">')[2].partition("</section>")[0]
    body = inside.partition("<tbody")[2].partition("</tbody>")[0]
    texts = []
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL):
        texts.append(" ".join(re.sub(r"<[^>]*>", " ", row).split()))
    return texts


def worst(page: str) -> list[str]:
    listed = page.partition('<ul class="worst"')[2].partition("</ul>")[0]
    return re.findall(r"<b>(.*?)</b>", listed)


def test_an_application_is_shown_with_points_lead_and_what_would_flip_it(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    ran = run(serve(), "status", "-o", "html", "--repository", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("<!doctype html>")
    (row,) = rows(ran.stdout, "applications")
    assert row == (
        "guestbook by cpu running cluster1 80 21"
        " cluster1 goes out for cluster2 if its cpu falls from 80 to 59"
        " cluster2 comes in for cluster1 if its cpu rises from 60 to 81"
    )
    assert [line.split()[0] for line in rows(ran.stdout, "scores")] == [
        "cluster1",
        "cluster2",
        "cluster3",
    ]
    assert "Names have no links, because this was not made in a fleet repository" in ran.stdout
    assert "There is no branch gitops-dsf-journal here" in ran.stdout


def test_what_doctor_finds_comes_first_the_worst_at_the_top(serve: Serve, run: Run) -> None:
    """The page and `doctor` judge by the same checks."""
    hub = serve(
        [
            *joined("c1"),
            global_set(),
            binding(),
            scorer("cpu", health="Inactive"),
            score("c1", "cpu", 50, now=NOW, age=2000),
            placement("web", "cpu"),
            decision("web", "c1"),
            application_set("web"),
            application("web", "c1"),
            masks(),
        ]
    )
    page = run(hub, "status", "-o", "html").stdout
    said = run(hub, "doctor").stdout
    assert len(worst(page)) == 3
    first = next(line for line in said.splitlines() if line.startswith(("error", "warning")))
    assert worst(page)[0].split()[:3] == first.split()[2:5]
    assert "expired ✕" in page


@pytest.mark.parametrize(
    ("git_url", "forge", "expected"),
    [
        (
            "https://github.com/acme/fleet.git",
            None,
            "https://github.com/acme/fleet/blob/{commit}/apps/guestbook.yaml#L5",
        ),
        (
            "git@gitlab.com:acme/platform/fleet.git",
            None,
            "https://gitlab.com/acme/platform/fleet/-/blob/{commit}/apps/guestbook.yaml#L5",
        ),
        (
            "ssh://git@git.example.com:2222/acme/fleet.git",
            "Gitea",
            "https://git.example.com/acme/fleet/src/commit/{commit}/apps/guestbook.yaml#L5",
        ),
        ("https://git.example.com/fleet.git", None, ""),
    ],
)
def test_names_link_to_the_line_in_git(
    serve: Serve, run: Run, tmp_path: Path, git_url: str, forge: str | None, expected: str
) -> None:
    fleet = GitFleet(tmp_path / "fleet")
    proposals = {} if forge is None else {"reconciler": {"proposals": {"forge": forge}}}
    fleet.write("gitops-dsf.yaml", settings(git={"url": git_url}, **proposals))
    commit = fleet.commit("settings")
    page = run(serve(), "status", "-o", "html", "--repository", str(fleet.path)).stdout
    assert f"Names link to commit {commit[:10]}, of this clone." in page
    if expected:
        assert f'<a href="{expected.format(commit=commit)}"' in page
    else:
        assert "guestbook <small>apps/guestbook.yaml:5</small>" in page


def test_names_link_to_the_commit_that_argocd_has_applied(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    fleet = GitFleet(tmp_path / "fleet")
    fleet.write("gitops-dsf.yaml", settings(git={"url": "https://github.com/acme/fleet"}))
    live = fleet.commit("settings")
    fleet.prefer_low_scores()
    fleet.commit("later")
    labels = {"app.kubernetes.io/part-of": "gitops-dsf"}
    delivery: Object = of(
        "Application",
        meta("gitops-dsf-delivery", "argocd", labels=labels),
        status={"sync": {"status": "Synced", "revision": live}},
    )
    hub = serve([*joined("cluster1"), global_set(), binding(), masks(), delivery])
    page = run(hub, "status", "-o", "html", "--repository", str(fleet.path)).stdout
    assert f"Names link to commit {live[:10]}, that Argo CD has applied." in page


def test_past_moves_are_a_time_line_and_a_table(serve: Serve, run: Run, tmp_path: Path) -> None:
    records = []
    before = None
    for number, (hours, cluster) in enumerate(
        [(300, "cluster2"), (50, "cluster3"), (2, "cluster1")]
    ):
        records.append(
            new_record(
                placement="argocd/guestbook",
                number=number + 1,
                time=NOW - timedelta(hours=hours),
                kind="Start" if before is None else "Change",
                before=before,
                after=[cluster],
                uid="u",
            )
        )
        before = [cluster]
    verification = RecordedVerification(
        source="cluster2",
        target="cluster3",
        outcome="Passed",
        since=NOW - timedelta(hours=50),
        checks=(RecordedCheck(score="slo/slo", value=84, at_least=80),),
    )
    records.insert(2, verification_record(records[1], verification, at=NOW - timedelta(hours=49)))
    records[3] = msgspec.structs.replace(records[3], number=4)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"".join(map(encode, records)))
    ran = run(serve(), "status", "-o", "html", "--journal", str(journal))
    assert ran.returncode == 0, ran.stderr
    section = ran.stdout.partition('<section id="past">')[2]
    assert re.findall(r'<g class="span c\d"><title>argocd/guestbook on (\w+) from', section) == [
        "cluster2",
        "cluster3",
        "cluster1",
    ]
    # The decision of 300 hours ago is where the bars begin, and no move of the last week.
    assert len(rows(ran.stdout, "past")) == 3
    assert "2 moves and 1 verification" in section
    assert "cluster2 cluster3 verified: slo 84 of at least 80" in rows(ran.stdout, "past")[1]
    (row,) = rows(ran.stdout, "applications")
    assert "cluster1 2 h ago 80" in row


def test_a_refused_part_is_named_and_the_rest_is_shown(serve: Serve, run: Run) -> None:
    hub = serve(refused={"placementdecisions": 403})
    ran = run(hub, "status", "-o", "html")
    assert ran.returncode == 1
    assert "its decision is not known" in ran.stdout
    assert "needs the right to list placementdecisions" in ran.stdout
