"""A fleet with 120 clusters, 20 scorers and 60 applications: the important comes first."""

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.hub.scores import score_of
from tests.integration.preview.gitfleet import (
    FLEET,
    Formats,
    GitFleet,
    Run,
    application,
    cluster,
    save,
    scorer,
    snapshot,
)

CLUSTERS = [f"c{number:03}" for number in range(120)]
SCORERS = [f"s{number:02}" for number in range(20)]
APPS = [f"app-{number:02}" for number in range(60)]


def scorers(function: str) -> list[dict[str, Any]]:
    return [
        scorer(name, query=f"{function}(metric_{name}) + {function}(other)") for name in SCORERS
    ]


def apps(weight: int) -> list[dict[str, Any]]:
    """Every second one may run on clusters of the region eu only."""
    return [
        application(
            name,
            scorers=("cpu",),
            weight=weight,
            region="eu" if n % 2 else None,
            stickiness=10 * (n % 3),
        )
        for n, name in enumerate(APPS)
    ]


@dataclass(frozen=True)
class Wide:
    now: Path
    """What is committed. app-07 would go to another cluster than the one where it is."""
    changed: Path
    """With other queries and other weights."""
    hub: Path


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Wide:
    folder = tmp_path_factory.mktemp("wide")
    fleet = GitFleet(folder / "fleet")
    regions = {name: "eu" if n % 3 else "us" for n, name in enumerate(CLUSTERS)}
    fleet.write("clusters/fleet.yaml", *(cluster(*each) for each in regions.items()), FLEET)
    fleet.write("scorers/many.yaml", *scorers("avg"))
    fleet.write("apps/guestbook.yaml", *apps(1))
    fleet.commit("wide")
    changed = GitFleet(folder / "empty")
    shutil.rmtree(changed.top)
    shutil.copytree(fleet.top, changed.top)
    changed.write("apps/guestbook.yaml", *apps(-1))
    changed.write("scorers/many.yaml", *scorers("max"))
    # The best cluster is c099, and c098 in the region eu.
    decided = {name: ["c098" if n % 2 else "c099"] for n, name in enumerate(APPS)} | {
        "app-07": ["c100"]
    }
    known = snapshot(values={name: n % 100 for n, name in enumerate(CLUSTERS)}, decided=decided)
    others = {name: {each: score_of({name: 50}) for each in CLUSTERS} for name in SCORERS}
    hub = save(replace(known, scores={**known.scores, **others}), folder / "hub")
    return Wide(now=fleet.path, changed=changed.path, hub=hub)


def test_simulate_has_a_line_for_each_placement_and_those_that_would_move_first(
    wide: Wide, run: Run
) -> None:
    lines = run("simulate", wide.now, "--scores", wide.hub).splitlines()
    assert len(lines) <= 50
    found = "clusters selected, from 120 clusters in cluster set fleet"
    first, note, second = lines[2:5]
    assert first == f"argocd/app-07: would move from c100 to c098; 1 of 80 {found}"
    assert note.startswith("  note: ")
    assert second == f"argocd/app-00: stays on c099; 1 of 120 {found}"
    assert lines[-2:] == [
        "... and 20 more Placements (--all shows them)",
        "--placement NAME shows the ranking of a Placement, and --all that of each",
    ]


def test_simulate_shows_all_on_request_and_in_json(wide: Wide, run: Run) -> None:
    whole = run("simulate", wide.now, "--scores", wide.hub, "--all").splitlines()
    assert len(whole) > 6_000
    assert sum(line.startswith("argocd/app-") for line in whole) == 60
    assert not any("--all" in line for line in whole)
    found = run.json("simulate", wide.now, "--scores", wide.hub)["placements"]
    assert found == run.json("simulate", wide.now, "--scores", wide.hub, "--all")["placements"]
    assert [len(each["scores"]) for each in found] == [120, 80] * 30


def test_the_filters_alone_have_a_line_for_each_placement_too(wide: Wide, run: Run) -> None:
    lines = run("simulate", wide.now).splitlines()
    assert len(lines) <= 50
    told = (
        "argocd/app-00: 120 clusters eligible of 120 clusters in cluster set fleet; scores"
        " choose 1 of them"
    )
    assert told in lines


def test_one_placement_is_shown_with_its_ranking(
    wide: Wide, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`explain` shows the rest by the option that it names, too."""
    monkeypatch.chdir(wide.now)
    for words in (["simulate", "--placement", "app-07"], ["explain", "app-07"]):
        short = run(*words, "--scores", wide.hub)
        assert "  ... and 60 more clusters (--all shows them)\n" in short
        whole = run(*words, "--scores", wide.hub, "--all")
        assert (" c002 " in short, " c002 " in whole) == (False, True)


@pytest.fixture(scope="module")
def formats(wide: Wide) -> Formats:
    return Run().formats(GitFleet.at(wide.changed), "--scores", wide.hub)


def test_diff_shows_the_moves_before_what_was_edited(formats: Formats) -> None:
    lines = formats.text.splitlines()
    assert len(lines) <= 250
    listed = [n for n, line in enumerate(lines) if line.startswith("- `argocd/app-")][:5]
    assert listed == [4, 5, 6, 7, 8], "the first screen has the first moves"
    assert lines[9] == "- and 55 more, below"
    assert sum(line.startswith("- `argocd/app-") and "→" in line for line in lines) == 40
    for left_out in (
        "- ... and 20 moves more; `gitops-dsf diff --all` shows all",
        "... and 10 scorers more; `gitops-dsf diff --all` shows all",
    ):
        assert left_out in lines


def test_warnings_of_single_applications_hide_no_other(formats: Formats) -> None:
    """Each of the sixty applications would move for a few points."""
    text = formats.text
    assert "- 30 applications go to c000 at once" in text
    assert re.search(r"would move from c\d+ to c\d+ if ", text)
    assert "- ... and 53 warnings more; `gitops-dsf diff --all` shows all\n" in text


def test_diff_shows_all_on_request_and_in_json(wide: Wide, formats: Formats, run: Run) -> None:
    words = ("diff", wide.changed, "--base", "main", "--scores", wide.hub)
    whole = run(*words, "--all").splitlines()
    assert sum(line.startswith("- `argocd/app-") and "→" in line for line in whole) == 60
    assert sum(line.startswith("**`s") for line in whole) == 20
    assert not any("--all" in line for line in whole)
    found = run.json(*words, "--all")["comparison"]
    assert found == formats.comparison
    assert (len(found["moves"]), len(found["scorers"])) == (60, 20)


def test_a_small_change_is_shown_whole(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.prefer_low_scores()
    formats = run.formats(fleet, "--scores", scores)
    assert formats.text == formats.whole
    assert "--all" not in formats.text
    assert run.compared(fleet, "--scores", scores, "--all") == formats.comparison
