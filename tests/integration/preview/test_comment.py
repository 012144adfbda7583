"""The comment of a pull request: found again, never too long, and without markup of others."""

import re
from pathlib import Path

import pytest

from gitops_dsf.show.preview.page import MARKER
from tests.integration.preview.gitfleet import (
    GitFleet,
    Run,
    application,
    cluster,
    save,
    scorer,
    snapshot,
)

MAX_CHARACTERS = 65_000


def test_a_small_comment(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.prefer_low_scores()
    text = run.shown(fleet, "--scores", scores, "-o", "markdown")
    assert text.startswith(f"{MARKER}\n### gitops-dsf preview\n")
    assert "\n**1 application moves**\n" in text
    assert "- `argocd/guestbook` **eu-1 → us-1**: eu-1: rank 3 of 3" in text
    assert "eu-1: 90 points → -90 points (cpu x1→x-1: 90 → 90)" in text
    assert text.count("<details>") == text.count("</details>") == 5
    assert (
        text.index("**1 application moves**")
        < text.index("#### Warnings")
        < text.index("<summary>Scores before and after")
        < text.index("<summary>Scorers (1)")
        < text.index("<summary>Objects and clusters")
    )
    assert run.shown(fleet, "--scores", scores, "-o", "markdown") == text, "the same again"


@pytest.mark.parametrize("count", [20, 90])
def test_a_comment_never_grows_too_long(
    fleet: GitFleet, tmp_path: Path, run: Run, count: int
) -> None:
    names = [f"cluster-with-a-rather-long-name-{number:04}" for number in range(22)]
    query = " + ".join(f"avg(metric_number_{number})" for number in range(25))
    fleet.write("clusters/many.yaml", *(cluster(name, "eu") for name in names))
    fleet.write(
        "scorers/many.yaml", *(scorer(f"scorer-{number:03}", query=query) for number in range(20))
    )
    fleet.write(
        "apps/many.yaml",
        *(application(f"application-{number:03}", count=20) for number in range(count)),
    )
    fleet.commit("many")
    where = save(
        snapshot(values={name: number * 3 for number, name in enumerate(names)}, decided={}),
        tmp_path / "hub",
    )
    fleet.write(
        "scorers/many.yaml",
        *(scorer(f"scorer-{number:03}", query=query.replace("avg", "max")) for number in range(20)),
    )
    fleet.prefer_low_scores()
    apps = (application(f"application-{number:03}", count=19, weight=-1) for number in range(count))
    fleet.write("apps/many.yaml", *apps)
    formats = run.formats(fleet, "--scores", where)
    text = formats.comment
    assert len(text) <= MAX_CHARACTERS
    assert text.startswith(MARKER)
    assert text.count("<details>") == text.count("</details>") == 6
    assert f"\n**{count + 1} applications move**\n" in text
    if count == 90:
        assert re.search(
            r"\.\.\. and \d+ moves more, left out to fit a comment; `gitops-dsf diff"
            r" --all` shows all",
            text,
        )
        assert "more characters)" in text
    moves = re.findall(r"\n- `argocd/application-\d+` \*\*", formats.whole)
    assert len(moves) == count


def test_what_people_wrote_stays_text(fleet: GitFleet, run: Run) -> None:
    description = "</details> @everyone ![x](http://evil) | `a`` <!-- x -->"
    fleet.write(
        "scorers/cpu.yaml",
        scorer(
            "cpu", query='label_replace(up, "x", "```", "y", "</details>")', description=description
        ),
    )
    text = run.shown(fleet, "-o", "markdown")
    outside = re.sub(r"(?ms)^(`{3,})diff$.*?^\1$", "", text)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert outside.count("</details>") == outside.count("<details>")
    assert "evil" not in outside
    assert not re.search(r"@\w", outside), "nobody is mentioned"
    fences = re.findall(r"(?m)^(`{3,})diff$", text)
    assert "````" in fences, "longer than the run of backticks inside"
