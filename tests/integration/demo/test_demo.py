"""The demo as people run it, in its fast version.

The story comes true, and nothing is left running.
"""

import io
import json
import re
import signal
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from demo.narrator import Narrator
from demo.programs import Programs, Stop
from demo.stage import FAST, DemoStage
from demo.story import Story, loads
from gitops_dsf.errors import GitopsDsfError
from tests.support.commandline import output_of, program

ARGUMENTS = ("-m", "demo", "--fast")
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Told:
    """A demo that has ended."""

    out: Path
    said: str
    pids: frozenset[int]
    history: dict[str, Any]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, warm_programs: Path) -> Told:
    out = tmp_path_factory.mktemp("demo") / "demo-out"
    log = out.with_name("said")
    with log.open("w") as said:
        command = [warm_programs / "python", *ARGUMENTS, "--out", out]
        process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        pids: set[int] = set()
        while process.poll() is None:
            pids |= running(out)
            time.sleep(0.1)
    assert process.returncode == 0, log.read_text()
    return Told(
        out=out,
        said=log.read_text(),
        pids=frozenset(pids),
        history=json.loads((out / "history.json").read_text()),
    )


def running(out: Path) -> set[int]:
    try:
        return {int(line.split()[0]) for line in (out / "processes").read_text().splitlines()}
    except FileNotFoundError:
        return set()


def alive(pid: int) -> bool:
    """Whether this process runs; one that ended and was not collected by anybody does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_no_process_is_left(told: Told) -> None:
    assert [pid for pid in told.pids if alive(pid)] == []
    assert not (told.out / "processes").exists()


def test_first_the_commit_moves_the_decision_then_the_load(told: Told) -> None:
    first, by_commit, by_load = told.history["moves"][:3]
    assert (first["origin"], first["target"]) == ([], ["eu-west-1"])
    assert (by_commit["origin"], by_commit["target"]) == (["eu-west-1"], ["eu-north-1"])
    assert by_commit["cause"].startswith("commit ")
    assert (by_load["origin"], by_load["target"]) == (["eu-north-1"], ["us-east-1"])
    assert by_load["cause"].startswith("CPU use of eu-north-1 goes from 40 to 96 %")


def test_the_preview_of_the_pull_request_tells_the_move_and_it_comes_true(told: Told) -> None:
    """README says that a preview tells which applications would move and why."""
    preview, merged = told.said.split("It is merged and delivered")
    assert "**1 application moves**" in preview
    assert (
        "- `argocd/guestbook` **eu-west-1 → eu-north-1**: vcpu-cost: scoreRange changed;" in preview
    )
    assert "guestbook would move from eu-west-1 to eu-north-1." in " ".join(preview.split())
    by_commit = told.history["moves"][1]
    assert (by_commit["origin"], by_commit["target"]) == (["eu-west-1"], ["eu-north-1"])
    assert "That is the move that the preview announced before the merge." in " ".join(
        merged.split()
    )


def test_it_begins_with_a_query_and_without_a_scoring_api(told: Told) -> None:
    """The first decision has one scorer, whose query is the score."""
    first = told.history["observations"][0]
    assert list(first["scores"]) == ["cpu-free"]
    free = {name: 100 - percent for name, percent in first["load"].items()}
    for name, score in first["scores"]["cpu-free"].items():
        assert abs(score - free[name]) <= 5, (name, score, free)
    assert "type: Query" in told.said
    assert told.history["events"][0]["text"].endswith(
        "ranked by cpu-headroom-forecast and vcpu-cost"
    )
    before, after = told.said.split("Scoring APIs, for what a query cannot say")
    assert "scorer run" not in before
    assert after.count("gitops-dsf scorer run") == 2


def test_a_backtest_decides_the_demo_again(told: Told) -> None:
    """The load moved the application with the pull request; without it, the prices hardly
    differ.
    """
    assert "$ gitops-dsf backtest --history ../scores.json" in told.said
    assert re.search(r"\d\.\d minutes from 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d to ", told.said)
    planned, line = (
        line for line in told.said.splitlines() if line.split()[:1] == ["argocd/guestbook"]
    )
    assert "eu-north-1" in planned, (
        "the backtest of the pull request knows where the commit moves it"
    )
    assert re.search(
        r"guestbook +[0-9]+ moves?( \([0-9]+ to [0-9]+\))?( instead of [0-9]+|, as before)", line
    )
    assert (told.out / "backtest.html").read_text().startswith("<!doctype html>")
    rows = json.loads((told.out / "scores.json").read_text())["data"]["result"]
    assert {row["metric"]["ds_score_name"] for row in rows} == {
        "cpu-free",
        "cpu-headroom-forecast",
        "vcpu-cost",
    }


def test_what_is_left_can_be_explored(told: Told, warm_programs: Path) -> None:
    ran = partial(output_of, cwd=told.out / "fleet")
    assert ran("git", "status", "--porcelain") == ""
    assert "Let prices count" in ran("git", "log", "--oneline")
    chosen = told.history["observations"][-1]["chosen"][0]
    assert f"*  {chosen}" in ran(warm_programs / "gitops-dsf", "simulate", "--scores", "../hub")
    ran(warm_programs / "gitops-dsf", "render", "--check")
    named = re.findall(
        r"^    (\S*gitops-dsf \w+ .*?)(?:    #.*)?$",
        told.said.partition("To try:")[2],
        re.MULTILINE,
    )
    assert len(named) == 4
    for line in named:
        output_of(*line.split(), cwd=ROOT)


def test_ctrl_c_leaves_no_process(tmp_path: Path, warm_programs: Path) -> None:
    out, pipe = tmp_path / "demo-out", subprocess.PIPE
    command = [warm_programs / "python", *ARGUMENTS, "--out", out]
    process = subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + 120
    while len(pids := running(out)) < 4:
        assert time.monotonic() < end, "its programs do not start"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, said
    assert "Ended by a signal" in said
    assert [pid for pid in pids if alive(pid)] == []


def test_a_program_that_dies_ends_the_demo_with_its_last_words(tmp_path: Path) -> None:
    programs = Programs(logs=tmp_path / "logs", register=tmp_path / "processes", stop=Stop())
    try:
        programs.start("lives", ["sleep", "60"])
        programs.start("dies", ["sh", "-c", "echo last words; kill -9 $$"])
        pids = running(tmp_path)
        with pytest.raises(
            GitopsDsfError, match=r"dies ended by itself with code -9[^$]*last words"
        ):
            programs.until(lambda: False, what="never")
    finally:
        assert programs.stop() == 2
    assert [pid for pid in pids if alive(pid)] == []
    assert not (tmp_path / "processes").exists()


def test_a_move_that_does_not_come_names_the_logs_of_this_demo(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stage = DemoStage(folder=tmp_path, pace=FAST, stop=Stop(), loads=loads(), stack=stack)
        story = Story(stage, Narrator(io.StringIO(), steps=1))
        with pytest.raises(GitopsDsfError) as refused:
            story._watch(0, awaited="the decision follows the commit")
    assert str(refused.value) == (
        "not within 0 s: the decision follows the commit; the logs in"
        f" {tmp_path / 'logs'} may say why"
    )


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, warm_programs: Path) -> None:
    (tmp_path / "work").write_text("mine")
    answer = program(warm_programs / "python", *ARGUMENTS, "--out", tmp_path, cwd=ROOT)
    assert (answer.returncode, [path.name for path in tmp_path.iterdir()]) == (1, ["work"])
    assert "no demo made it" in answer.stderr
