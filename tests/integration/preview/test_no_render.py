"""Questions about a repository render nothing of it."""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.integration.preview.gitfleet import GitFleet, scorer


@pytest.fixture
def no_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    def render(*_: object) -> None:
        msg = "a question rendered the tree"
        raise AssertionError(msg)

    for name in (
        "gitops_dsf.render.tree.render",
        "gitops_dsf.render.tree.emit",
        "gitops_dsf.render.works.WorkRenderer.parts",
    ):
        monkeypatch.setattr(name, render)


@pytest.mark.usefixtures("no_rendering")
@pytest.mark.parametrize(
    "words",
    [
        "simulate FLEET",
        "simulate FLEET --scores SCORES",
        "explain guestbook eu-1 FLEET --scores SCORES",
        "diff FLEET --base main",
    ],
)
def test_nothing_is_rendered(
    fleet: GitFleet, scores: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="avg(down)"))
    given = {"FLEET": str(fleet.path), "SCORES": str(scores)}
    assert main([given.get(word, word) for word in words.split()]) == 0, capsys.readouterr().err
