"""The first screen of a preview: what moves, how sure, who has nowhere to go, what to look at."""

import textwrap
from pathlib import Path

import pytest

from gitops_dsf.urls.git import host_of_repository
from tests.integration.preview.gitfleet import (
    FLEET,
    NAMES,
    Formats,
    GitFleet,
    Run,
    application,
    cluster,
    herd_app,
    herd_fleet,
    herd_hub,
    save,
    scorer,
    snapshot,
)
from tests.integration.preview.test_maintenance import maintenance
from tests.integration.preview.test_surroundings import follower, placement

MAX_LINES = 25
MAX_COLUMNS = 80
TOKEN = {"auth": {"tokenSecretRef": {"name": "net-token", "key": "token"}}}
NOBODY = "- **Nowhere to go:** nothing changes, even if a cluster were lost"
CERTAIN = "- **How sure:** certain, by the scores as they were seen"
QUIET = "- **To review:** no new host, credential or query, and no warning"


def first_screen(
    fleet: GitFleet, run: Run, *arguments: str | Path, base: str = "main"
) -> list[str]:
    """The first screen of what `diff` says of the working tree."""
    return screen_of(run.formats(fleet, *arguments, base=base))


def screen_of(formats: Formats) -> list[str]:
    """The lines between the title and the line that names the revisions, without empty ones."""
    screen = formats.comment.partition("\nCompared: the working tree with ")[0]
    terminal = formats.text.partition("\nCompared: the working tree with ")[0]
    assert screen != formats.comment
    assert terminal != formats.text
    assert len(rows(screen)) <= MAX_LINES
    assert len(rows(terminal)) <= MAX_LINES
    assert screen.splitlines()[1:4] == terminal.splitlines()[:3], "both begin in the same way"
    return [line for line in screen.splitlines()[2:] if line]


def rows(screen: str) -> list[str]:
    """The rows that a terminal of 80 columns shows. Nobody sees the marker of a comment."""
    shown = []
    for line in screen.removeprefix("<!-- gitops-dsf-preview -->\n").splitlines():
        shown += textwrap.wrap(line, MAX_COLUMNS) or [""]
    return shown


def data(screen: list[str]) -> str:
    """The last line, which names the data and its age."""
    assert screen[-1].startswith("- **Data:** ")
    return screen[-1].rpartition(": ")[2]


def test_a_change_without_effect_says_so(fleet: GitFleet, scores: Path, run: Run) -> None:
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[:-1] == ["**No application moves**", CERTAIN, NOBODY, QUIET]
    assert data(screen) == "3 AddOnPlacementScores, seen 5 min ago"


def test_a_move_is_told_with_its_reason(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.prefer_low_scores()
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[:-1] == [
        "**1 application moves**",
        (
            "- `argocd/guestbook` **eu-1 → us-1**: eu-1: rank 3 of 3 with -90 points;"
            " the last that is selected is us-1 with -20"
        ),
        CERTAIN,
        NOBODY,
        QUIET,
    ]


def test_a_new_application_comes_with_placement_scores_and_stickiness(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """It is not a move from nowhere."""
    new = application("shop", region="us", stickiness=20)
    fleet.write("apps/shop.yaml", new)
    formats = run.formats(fleet, "--scores", scores)
    screen = screen_of(formats)
    assert screen[0] == "**1 application starts**"
    assert screen[1].startswith(
        "- `argocd/shop` is new and starts on **us-1** (1 cluster of fleet with region in (us),"
        " by cpu, stickiness 20): us-1: rank 1 of 1 with 20 points"
    )
    assert screen[3] == "- **Nowhere to go:** shop if us-1 were lost (before: none)"
    text = formats.text
    assert "\n- `argocd/shop`\n  - us-1: 20 points (cpu x5: 20, Steady x1: 0)\n" in text
    assert "\n- `spec.stickiness`: `20`\n" in text, "there is nothing before it"
    [move] = formats.comparison["moves"]
    assert (move["kind"], move["placement"]) == (
        "new",
        {
            "numberOfClusters": 1,
            "clusterSets": ["fleet"],
            "labels": ["region in (us)"],
            "scores": ["cpu"],
            "stickiness": 20,
        },
    )


def test_a_new_application_on_an_unknown_cluster_starts_all_the_same(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.write("apps/shop.yaml", application("shop", scorers=("net",), stickiness=20))
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[0] == "**1 application starts**"
    assert screen[1].startswith(
        "- `argocd/shop` is new and starts on **unknown** (1 cluster of fleet, by net, stickiness"
        " 20): net: it has not run there yet, so any of 3 clusters may be selected"
    )
    assert screen[2] == "- **How sure:** the decision is open until the scorers have run"


def test_an_application_that_is_removed_does_not_move_to_nowhere(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/shop.yaml", application("shop"))
    fleet.commit("shop")
    fleet.remove("apps/guestbook.yaml")
    screen = first_screen(fleet, run, "--scores", scores, base="HEAD")
    assert screen[:2] == [
        "**1 application is removed**",
        "- `argocd/guestbook` leaves **eu-1**: the Placement is removed",
    ]
    assert screen[3] == NOBODY, "nobody wants a cluster for it"


def test_who_is_left_without_a_cluster_is_in_the_headline(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.allow_unmatched_selectors()
    fleet.write("apps/guestbook.yaml", application("guestbook", region="mars"))
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[0] == "**1 application is left without a cluster**"
    assert screen[1].startswith("- `argocd/guestbook` **eu-1 → nowhere**: eu-1: dropped by")
    assert screen[3] == "- **Nowhere to go:** guestbook"


def test_more_and_fewer_clusters_are_no_moves(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", count=2))
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[0] == "**1 application gets more clusters**"
    assert screen[1].startswith("- `argocd/guestbook` stays, and also starts on **eu-2**: eu-2: ")
    fleet.commit("two")
    fleet.write("apps/guestbook.yaml", application("guestbook"))
    both = save(snapshot(decided={"guestbook": ["eu-1", "eu-2"]}), scores.parent / "both")
    screen = first_screen(fleet, run, "--scores", both, base="HEAD")
    assert screen[0] == "**1 application loses clusters**"
    assert screen[1].startswith("- `argocd/guestbook` leaves **eu-2**, and stays on 1 cluster: ")


def test_a_follower_of_another_placement_is_not_removed(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", placement("shared"), follower("guestbook", "shared"))
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[0] == "**1 application starts and 1 follows another Placement**"
    assert (
        "- `argocd/guestbook` leaves **eu-1**: the Placement is removed; guestbook follows"
        " argocd/shared now" in screen
    )


def test_new_hosts_credentials_and_queries_are_named(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    outside = "https://scores.example.com"
    net = scorer("net", query="sum(net)", configURL=f"{outside}/config")
    net["spec"]["scoring"] |= {"host": outside, **TOKEN}
    shop = application("shop")
    shop["spec"]["application"]["source"]["repoURL"] = "git@git.elsewhere.example.com:a/b.git"
    fleet.write("scorers/net.yaml", net)
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    fleet.write("apps/shop.yaml", shop)
    formats = run.formats(fleet, "--scores", scores)
    assert screen_of(formats)[-2] == (
        "- **To review:** new host `git.elsewhere.example.com` (application shop); new host"
        " `scores.example.com` (scorer net); net now sends the token in Secret net-token to"
        " https://scores.example.com; new query: net; changed query: cpu; 1 warning, below"
    )
    assert formats.comparison["newHosts"] == [
        {"host": "git.elsewhere.example.com", "user": "application shop"},
        {"host": "scores.example.com", "user": "scorer net"},
    ]


def test_a_host_that_another_object_named_before_is_not_new(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.write("apps/shop.yaml", application("shop"))
    formats = run.formats(fleet, "--scores", scores)
    assert "newHosts" not in formats.comparison
    assert screen_of(formats)[-2] == "- **To review:** new query: net; 1 warning, below"


def test_without_data_nothing_is_called_certain(fleet: GitFleet, run: Run) -> None:
    fleet.prefer_low_scores()
    missing = "no scores given (--scores, --state-branch or --context)"
    assert first_screen(fleet, run) == [
        f"**Which applications move is unknown: {missing}**",
        QUIET,
    ]


def test_a_decision_that_waits_for_scores_is_open(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[0] == ("**1 application may move; that is known once the scorers have run**")
    assert screen[2] == "- **How sure:** the decision is open until the scorers have run"
    assert screen[3] == NOBODY, "no filter reads the scores"


def test_a_new_cluster_has_no_bounds(fleet: GitFleet, scores: Path, run: Run) -> None:
    """Its scores may be anything, and only it may be better."""
    fleet.write("clusters/new.yaml", cluster("eu-3", "eu"))
    screen = first_screen(fleet, run, "--scores", scores)
    assert screen[:3] == [
        "**1 application may move; that is known once the scorers have run**",
        (
            "- `argocd/guestbook` may move, **eu-1 → eu-1 or eu-3**: cpu: it has not run there"
            " yet, so any of 2 clusters may be selected; by the present scores it would stay"
        ),
        "- **How sure:** the decision is open until the scorers have run",
    ]


def test_an_application_that_may_have_nowhere_to_go_is_not_called_safe(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """The filter lets only clusters pass that have a score, and a new scorer has none yet."""
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.write(
        "apps/guestbook.yaml",
        application("guestbook", scorers=("cpu", "net"), onMissingScore="Exclude"),
    )
    screen = first_screen(fleet, run, "--scores", scores)
    assert "- **Nowhere to go:** not known for guestbook" in screen


def test_a_pace_that_begins_or_ends_is_told(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet")
    fleet.write("apps/guestbook.yaml", *(herd_app(name) for name in NAMES))
    fleet.commit("paced")
    hub = save(herd_hub(), tmp_path / "hub")
    apps = [herd_app(name, demand=0, moves={"pace": "None"}) for name in NAMES[:1]]
    fleet.write("apps/guestbook.yaml", *apps, *(herd_app(name) for name in NAMES[1:]))
    screen = first_screen(fleet, run, "--scores", hub, base="HEAD")
    assert screen[:2] == [
        "**No application moves**",
        "- **Pace:** the moves of 1 Placement no longer wait for their turn",
    ]


def test_a_paced_move_by_the_middle_of_bounds_is_called_a_guess(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet", stickiness=10)
    hub = save(herd_hub(), tmp_path / "hub")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange={"min": 0, "max": 60}))
    screen = first_screen(fleet, run, "--scores", hub)
    assert screen[:2] == [
        "**No application moves at once; the pace would admit 1 move**",
        f"{CERTAIN}; the moves of the pace are a guess, because the new scores of cpu are open",
    ]


def test_many_moves_fit_and_the_rest_is_counted(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet", pace=None, demand=0, stickiness=0, weight=-1)
    fleet.write("apps/guestbook.yaml", *(herd_app(name, demand=0, stickiness=0) for name in NAMES))
    hub = save(herd_hub(), tmp_path / "hub")
    formats = run.formats(fleet, "--scores", hub)
    screen = screen_of(formats)
    assert screen[0] == "**20 applications move**"
    assert [line[:28] for line in screen[1:6]] == [
        f"- `argocd/{name}` **c1 → c2*" for name in NAMES[:5]
    ]
    assert screen[6] == "- and 15 more, below"
    rest = formats.text.partition("\n#### More moves (15)\n\n")[2]
    assert [line.partition("` **")[0] for line in rest.splitlines()[:15]] == [
        f"- `argocd/{name}" for name in NAMES[5:]
    ]


def test_a_fleet_of_the_worst_fits_a_screen(tmp_path: Path, run: Run) -> None:
    """Everything that the first screen can hold at once."""
    fleet = herd_fleet(tmp_path / "fleet", stickiness=10)
    hub = save(herd_hub(), tmp_path / "hub")
    outside = "https://scores.example.com"
    for number in range(9):
        net = scorer(f"net-{number}", configURL=f"https://net-{number}.example.com/config")
        net["spec"]["scoring"] |= {"host": outside, **TOKEN}
        fleet.write(f"scorers/net-{number}.yaml", net)
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange={"min": 0, "max": 60}))
    fleet.write(
        "clusters/fleet.yaml", *(cluster(f"c{number}", "eu") for number in range(2, 5)), FLEET
    )
    fleet.write("apps/new.yaml", *(herd_app(f"new-{number}") for number in range(3)))
    fleet.write(
        "config/maintenance.yaml",
        maintenance(
            "patch",
            "Drain",
            clusters=["c2"],
            start="2099-11-24T20:00:00+01:00",
            end="2099-11-25T04:00:00+01:00",
        ),
    )
    screen = first_screen(fleet, run, "--scores", hub)
    assert "7 more new hosts" in screen[-2]
    assert "6 more new credentials" in screen[-2]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Git.Example.com/a/b.git", "git.example.com"),
        ("ssh://git@git.example.com:2222/a.git", "git.example.com"),
        ("git@Git.Example.com:a/b.git", "git.example.com"),
        ("git.example.com:a/b.git", "git.example.com"),
        ("/srv/git/a.git", ""),
        ("folder/odd:name", ""),
        ("file:///srv/git/a.git", ""),
    ],
)
def test_the_host_of_a_repository(url: str, host: str) -> None:
    assert host_of_repository(url) == host
