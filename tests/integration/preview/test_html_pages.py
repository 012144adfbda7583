"""`-o html` of the verbs that show decisions: they say what the JSON of the same verb says."""

import json
import re
from pathlib import Path

import pytest

from gitops_dsf.show.pages.simulation import simulation_page
from gitops_dsf.views.scorefailures import ClusterFailure
from tests.integration.preview.gitfleet import GitFleet, herd_fleet, save, snapshot
from tests.support.commandline import gitops_dsf


def text_of(page: str) -> str:
    """What a page shows, without markup."""
    body = page.partition("<body>")[2].partition("<script>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


@pytest.fixture
def fleet(tmp_path: Path) -> GitFleet:
    fleet = GitFleet(tmp_path / "fleet")
    fleet.git("branch", "base")
    return fleet


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """What the hub holds, as files."""
    return save(snapshot(), tmp_path / "state")


def test_a_preview_shows_every_move_and_warning(fleet: GitFleet, scores: Path) -> None:
    fleet.prefer_low_scores()
    words = ("diff", fleet.path, "--base", "base", "--scores", scores)
    output = json.loads(gitops_dsf(*words, "-o", "json").stdout)
    page = gitops_dsf(*words, "-o", "html").stdout
    shown = text_of(page)
    assert page.startswith("<!doctype html>")
    (move,) = output["comparison"]["moves"]
    assert f"{move['application']} {move['from'][0]} {move['to'][0]} move {move['reason']}" in shown
    for warning in output["comparison"]["warnings"]:
        assert " ".join(warning.split()) in shown.replace("&#39;", "'").replace("&#34;", '"')


def test_the_page_is_also_written_beside_another_format(fleet: GitFleet, tmp_path: Path) -> None:
    page = tmp_path / "preview.html"
    done = gitops_dsf("diff", fleet.path, "--base", "base", "-o", "json", "--page", page)
    assert json.loads(done.stdout)["comparison"] is not None
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_a_head_with_errors_has_a_page_that_names_them(fleet: GitFleet) -> None:
    (fleet.path / "scorers" / "broken.yaml").write_text("kind: [")
    done = gitops_dsf("diff", fleet.path, "--base", "base", "-o", "html")
    assert done.returncode == 1
    assert "The head does not validate" in text_of(done.stdout)


def test_a_simulation_shows_decision_and_ranking(fleet: GitFleet, scores: Path) -> None:
    words = ("simulate", fleet.path, "--scores", scores)
    (verdict,) = json.loads(gitops_dsf(*words, "-o", "json").stdout)["placements"]
    shown = text_of(gitops_dsf(*words, "-o", "html").stdout)
    chosen = verdict["placementDecisions"][0]["clusters"][0]
    assert f"argocd/guestbook {chosen}" in shown
    assert "Every Placement gets a cluster." in shown
    unscored = text_of(gitops_dsf("simulate", fleet.path, "-o", "html").stdout)
    assert "not known without scores" in unscored


def test_an_explanation_shows_terms_and_what_would_flip_it(fleet: GitFleet, scores: Path) -> None:
    words = ("explain", "guestbook", "eu-1", fleet.path, "--scores", scores)
    output = json.loads(gitops_dsf(*words, "-o", "json").stdout)
    page = text_of(gitops_dsf(*words, "-o", "html").stdout)
    for part in output["contributions"]:
        assert part["name"] in page
    for flip in output["flips"]:
        assert str(flip["needed"]) in page
    whole = text_of(
        gitops_dsf("explain", "guestbook", fleet.path, "--scores", scores, "-o", "html").stdout
    )
    assert "Why argocd/guestbook is where it is" in whole


def test_losses_show_who_has_nowhere_to_go(fleet: GitFleet, scores: Path) -> None:
    words = ("simulate", fleet.path, "--lose-each", "--scores", scores)
    losses = json.loads(gitops_dsf(*words, "-o", "json").stdout)["losses"]
    shown = text_of(gitops_dsf(*words, "-o", "html").stdout)
    for loss in losses:
        for departure in loss["departures"]:
            assert f"{loss['clusters'][0]} {departure['placement']}" in shown


def test_paced_moves_are_shown_wave_by_wave(tmp_path: Path) -> None:
    fleet = herd_fleet(tmp_path / "fleet")
    decided = {f"app-{number:02}": ["c1"] for number in range(20)}
    values = {"c1": 40, "c2": 62, "c3": 58, "c4": 55}
    state = save(snapshot(values=values, decided=decided), tmp_path / "state")
    words = ("simulate", fleet.path, "--paced", "--scores", state)
    waves = json.loads(gitops_dsf(*words, "-o", "json").stdout)["waves"]
    shown = text_of(gitops_dsf(*words, "-o", "html").stdout)
    for number, wave in enumerate(waves, start=1):
        for move in wave["moves"]:
            assert f"{number} {move['placement']} {move['from']} {move['to']}" in shown


def test_a_pace_with_nothing_to_admit_says_so(tmp_path: Path) -> None:
    fleet = herd_fleet(tmp_path / "fleet", stickiness=100)
    decided = {f"app-{number:02}": ["c1"] for number in range(20)}
    state = save(snapshot(values={"c1": 40, "c2": 62}, decided=decided), tmp_path / "state")
    words = ("simulate", fleet.path, "--paced", "--scores", state)
    assert "No paced move follows" in text_of(gitops_dsf(*words, "-o", "html").stdout)


def test_why_scores_are_not_updated_is_on_the_page() -> None:
    """What an agent wrote is text of others."""
    failure = ClusterFailure(
        score="cpu", cluster="eu-1", reason="QueryFailed", message="parse error <b>", since=None
    )
    page = simulation_page(
        (), verb="explain", title="t", evidence="e", has_scores=True, failures=(failure,)
    )
    assert "cpu eu-1 QueryFailed parse error &lt;b&gt; not known" in text_of(page)
