"""The steps of the demo.

Guaranteed: its text has only observed facts. Moves and their times are read from the decisions, and
the demo fails if an expected one does not come in time. Not guaranteed: that the times are those of
a fleet. There is no API server, no kubelet and no Argo CD whose delays would add to them.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from demo.edits import (
    APPLICATION,
    APPLICATION_FILE,
    SCORER_FILE,
    rank_by_scoring_apis,
    write_scale_right,
    write_scale_wrong,
)
from demo.narrator import Narrator
from demo.network import PROMETHEUS, ClusterLoad
from demo.stage import EXAMPLES, QUERY_SCORER, SCORERS, DemoStage
from gitops_dsf.errors import GitopsDsfError

STEPS: Final = 10
"""Calls of `Narrator.step`."""
PEAK_PERCENT: Final = 96.0
EASED_PERCENT: Final = 55.0
LINE_SECONDS: Final = 1.5
"""The time between two lines about an unchanged decision."""
MOVE_SECONDS: Final = 30.0
"""The time for which an expected move is awaited, before the demo fails."""
SETTLE_SECONDS: Final = 3.0
"""Time until the forecast follows a load that no longer changes."""


def loads() -> dict[str, ClusterLoad]:
    """The clusters of the demo at the beginning."""
    # Loads and prices are such that each step of the story comes true: eu-west-1 has the most free
    # CPU and the dearest vCPUs, eu-north-1 the cheapest, and us-east-1 follows it closely in both.
    loads = [
        ClusterLoad(cluster="eu-west-1", percent=20.0, instance_type="m7i.large", cores=48),
        ClusterLoad(cluster="eu-north-1", percent=40.0, instance_type="m7g.large", cores=32),
        ClusterLoad(cluster="us-east-1", percent=41.0, instance_type="m7a.large", cores=64),
        ClusterLoad(cluster="ap-south-1", percent=62.0, instance_type="m6i.large", cores=32),
    ]
    return {load.cluster: load for load in loads}


class Story:
    """Runs the steps in order."""

    def __init__(self, stage: DemoStage, narrator: Narrator) -> None:
        self._stage = stage
        self._fleet = stage.fleet
        self._narrator = narrator
        self._previewed: dict[str, Any] = {}
        """The preview of the pull request as JSON."""

    def run(self) -> None:
        """Runs all steps. Raises GitopsDsfError and StoppedError."""
        self._repository()
        self._content()
        self._programs()
        self._first_decision()
        self._scoring_apis()
        self._pull_request()
        self._delivery()
        self._peak()
        self._ease()
        self._backtest()

    def _repository(self) -> None:
        self._narrator.step("A fleet repository in git")
        self._narrator.paragraph(
            "How clusters are scored and what runs where is YAML in git. `init` makes a repository"
            " that is valid as it is."
        )
        # `init` lists its next steps, which the story takes itself.
        for command in self._fleet.create():
            self._narrator.command(command, lines=1)

    def _content(self) -> None:
        self._narrator.step("Four clusters, one query, one application")
        self._narrator.paragraph(
            "The example files are replaced by the demo's: clusters"
            f" {', '.join(self._stage.loads)}; {APPLICATION}, which is to run on one cluster, where"
            f" the score is best; and one Query scorer, {QUERY_SCORER}. Its query is the scorer:"
            " the value is the score, and no server has to be written. `validate` checks every"
            " file, `render` writes the tree that Argo CD would apply to the hub: one ManifestWork"
            " per cluster, Placement, ApplicationSet and so on. The commands below run in"
            f" {shown(self._fleet.root)}."
        )
        self._narrator.command(self._fleet.fill())
        self._narrator.command(self._fleet.show(f"scorers/{QUERY_SCORER}.yaml"), lines=30)
        self._commit("Score by free CPU; place guestbook")

    def _programs(self) -> None:
        self._narrator.step("Metrics and agents start")
        self._narrator.paragraph(
            "A small source of each cluster speaks the query API of a Prometheus, and answers from"
            " synthetic load curves."
        )
        for cluster, authority in self._stage.start_agents().items():
            self._narrator.line(
                f"agent of {cluster:<13} http://{authority}   gitops-dsf-agent run --cluster-name"
                f" {cluster} --publish dir:..."
            )
        self._narrator.paragraph(
            f"Every cluster's configuration names the same http://{PROMETHEUS}. In a cluster, DNS"
            " makes that its own Prometheus; here a forward proxy per agent (HTTP_PROXY) does."
        )

    def _first_decision(self) -> None:
        self._narrator.step("Configuration arrives, agents score, OCM decides")
        changed = self._stage.deliver()
        self._narrator.paragraph(
            "The ConfigMap in each rendered ManifestWork is written into the mounted directories"
            f" of {len(changed)} agents, by a swap of the ..data link as the kubelet does it (a"
            " real one takes 60 to 90 s for a change). The agents see it, ask their Prometheus"
            " every second, and publish the values as AddOnPlacementScores, here as files."
        )
        # Before that, a cluster whose agent was slow would count as 0.
        self._stage.programs.until(
            lambda: not self._stage.hub.pending(), what="every agent has published"
        )
        # It writes the snapshot that the command reads.
        self._stage.observe()
        self._narrator.command(self._fleet.product("simulate", "--scores", "../hub"))
        self._narrator.paragraph(
            f"So {self._chosen()} gets {APPLICATION}: one YAML file of a scorer was enough. The"
            " simulator computes what OCM's placement controller would. From here on the points of"
            f" each cluster are shown, * where {APPLICATION} runs:"
        )
        self._watch(self._stage.pace.watch)

    def _scoring_apis(self) -> None:
        self._narrator.step("Scoring APIs, for what a query cannot say")
        self._narrator.paragraph(
            "A forecast and a price list are not queries. Two scoring APIs give them:"
            f" {' and '.join(SCORERS)}. They start, and their scorers come into git. Once every"
            f" cluster has their scores, {APPLICATION} is ranked by both together: a score that is"
            " missing counts as 0."
        )
        for name, authority in self._stage.start_scorers().items():
            module, _ = SCORERS[name]
            self._narrator.line(
                f"{name:<22} http://{authority}   gitops-dsf scorer run {module}:app"
                f" --app-dir {shown(EXAMPLES / module)}"
            )
        self._fleet.add_scoring_apis()
        self._commit("Score by a forecast and by prices")
        self._stage.deliver()
        self._stage.programs.until(
            lambda: not self._stage.hub.pending(), what="every agent has published"
        )
        rank_by_scoring_apis(self._fleet)
        self._narrator.command(self._fleet.git("diff", "--unified=0", APPLICATION_FILE))
        self._commit(f"Rank {APPLICATION} by the forecast and the prices")
        # A move until now must not have this commit as its cause.
        self._stage.observe()
        self._stage.happened(f"commit {self._fleet.head()}: ranked by {' and '.join(SCORERS)}")
        self._stage.deliver()
        self._stage.observe()
        self._narrator.paragraph(
            "The agents post the same metrics to the scoring APIs now. The points are the mean of"
            " both scores:"
        )
        self._watch(self._stage.pace.watch)

    def _commit(self, message: str) -> None:
        self._narrator.command(self._fleet.product("validate"))
        self._narrator.command(self._fleet.product("render"))
        for command in self._fleet.commit(message):
            self._narrator.command(command)

    def _pull_request(self) -> None:
        self._narrator.step("A pull request: let prices count")
        self._narrator.paragraph(
            "Prices between 3.6 and 6.2 cents hardly differ on a scale from 0 to 20. Somebody"
            " narrows the scale of vcpu-cost to 3 to 7 cents, and at first writes it wrong."
            " `validate` says where:"
        )
        self._narrator.command(self._fleet.git("checkout", "--quiet", "-b", "prices-count"))
        write_scale_wrong(self._fleet)
        self._narrator.line(f"... an editor changes {SCORER_FILE}: min: 7, max: 3")
        # A demo in which the mistake passes must fail.
        self._narrator.command(self._fleet.product("validate", expect=1))
        write_scale_right(self._fleet)
        self._narrator.command(self._fleet.git("diff", "--unified=0", SCORER_FILE))
        self._commit("Let prices count: vcpu-cost from 3 to 7 cents")
        # The commands took seconds, and the preview is to have the scores of now.
        self._stage.observe()
        self._narrator.paragraph(
            "CI comments on the pull request what would change, with the scores of this moment:"
        )
        diff = ("diff", "--base", "main", "--scores", "../hub")
        self._narrator.command(self._fleet.product(*diff), lines=40)
        self._previewed = json.loads(self._fleet.product(*diff, "-o", "json").output)
        self._narrator.paragraph(
            f"{self._previewed_text()} No agent has run the new scale yet. But a published score"
            " bounds the price that it was made of, and so it bounds what the new scale makes of"
            " it."
        )
        self._narrator.paragraph(
            "How often the new scale would have moved it is another question. Agents export raw"
            " scores as the metric dynamic_score. A Prometheus keeps it for weeks; the demo keeps"
            " it in scores.json. `backtest` maps those so far, and says where"
            f" {APPLICATION} would have been:"
        )
        self._narrator.command(self._fleet.product(*self._past()), lines=4)

    def _was_previewed(self) -> bool:
        """Whether the last move is the one of the preview."""
        move = self._stage.history.moves[-1]
        for previewed in self._previewed["comparison"]["moves"]:
            if (previewed["from"], previewed["to"]) == (list(move.origin), list(move.target)):
                return True
        return False

    def _previewed_text(self) -> str:
        """The text of the preview about the application."""
        # The fleet has one application, and so there is at most one move.
        for move in self._previewed["comparison"]["moves"]:
            if move["to"] == "unknown":
                return f"The preview leaves open where {APPLICATION} would move."
            return (
                f"The preview says that {APPLICATION} would move from {', '.join(move['from'])} to"
                f" {', '.join(move['to'])}."
            )
        return f"The preview says that {APPLICATION} would stay."

    def _delivery(self) -> None:
        self._narrator.step("It is merged and delivered")
        self._narrator.command(self._fleet.git("checkout", "--quiet", "main"))
        # With a merge commit, main~1 is the fleet before the pull request, however many commits
        # that has. The backtest compares with it.
        self._narrator.command(
            self._fleet.git(
                "merge",
                "--quiet",
                "--no-ff",
                "--message",
                "Merge branch prices-count",
                "prices-count",
            )
        )
        # A move until now must not have the merge as its cause.
        self._stage.observe()
        self._stage.happened(f"commit {self._fleet.head()}: vcpu-cost from 3 to 7 cents")
        changed = self._stage.deliver()
        self._narrator.paragraph(
            f"Argo CD applies the tree; the ConfigMap of {len(changed)} clusters changes; each"
            " agent restarts that one scorer."
        )
        self._await_move("the change of the scorer")
        # The scores may have changed since the preview; then the story does not claim it.
        if self._was_previewed():
            self._narrator.paragraph(
                "That is the move that the preview announced before the merge."
            )
        self._watch(self._stage.pace.watch)

    def _peak(self) -> None:
        cluster = self._chosen()
        self._narrator.step(f"Load moves: a peak on {cluster}")
        self._narrator.paragraph(
            f"The CPU use of {cluster} goes to {PEAK_PERCENT:.0f} %. Nothing in git changes. The"
            " forecast looks ahead, so scores fall early:"
        )
        self._turn(cluster, to=PEAK_PERCENT, seconds=self._stage.pace.rise)
        self._await_move(f"the load of {cluster}")
        # `explain` is to have the snapshot with the new decision.
        self._stage.observe()
        self._narrator.command(
            self._fleet.product("explain", f"argocd/{APPLICATION}", cluster, "--scores", "../hub")
        )
        self._watch(self._stage.pace.watch / 2)

    def _ease(self) -> None:
        move = self._stage.history.moves[-1]
        current = self._chosen()
        former = current
        # The first decision has no origin; the peak has moved the application since.
        if move.origin:
            former = move.origin[0]
        self._narrator.step(f"The load of {former} eases")
        self._turn(former, to=EASED_PERCENT, seconds=self._stage.pace.ease)
        before = len(self._stage.history.moves)
        self._watch(self._stage.pace.ease + SETTLE_SECONDS)
        last = self._stage.history.observations[-1]
        lead = last.points[former] - last.points[current]
        if len(self._stage.history.moves) > before:
            self._narrator.paragraph(self._followed())
        elif lead > 0:
            self._narrator.paragraph(
                f"{former} is ahead of {current} again, by {lead:.1f} points. That is less than the"
                f" stickiness of {last.stickiness:g}, so {APPLICATION} stays: an application does"
                " not move for a small lead."
            )
        else:
            self._narrator.paragraph(
                f"{former} is {-lead:.1f} points behind {current} still, so {APPLICATION} stays."
            )

    def _backtest(self) -> None:
        self._narrator.step("A backtest of what just happened")
        self._narrator.paragraph(
            "`backtest` decides the whole time again with what git says now, and with what it said"
            " before the pull request:"
        )
        words = (*self._past(), "--base", "main~1")
        self._narrator.command(self._fleet.product(*words))
        page = self._stage.folder / "backtest.html"
        page.write_text(self._fleet.product(*words, "-o", "html").output, "utf-8")
        self._narrator.paragraph(
            f"`-o html` writes a page. Open {page.as_uri()} in a browser: scores and decisions over"
            " time."
        )

    def _past(self) -> tuple[str, ...]:
        """The words of a backtest of all raw scores so far, which it writes to scores.json."""
        recording = self._stage.recording
        (self._stage.folder / "scores.json").write_text(json.dumps(recording.answer()), "utf-8")
        start, end = recording.span
        return (
            "backtest",
            *("--history", "../scores.json"),
            *("--from", _timestamp(start)),
            *("--to", _timestamp(end)),
        )

    def _turn(self, cluster: str, *, to: float, seconds: float) -> None:
        now = time.time()
        # Without noise, so that the story names the percentage that it was set to.
        before = self._stage.loads[cluster].mean(now)
        self._stage.loads[cluster].turn(to, seconds=seconds, now=now)
        self._stage.happened(f"CPU use of {cluster} goes from {before:.0f} to {to:.0f} %")

    def _await_move(self, why: str) -> None:
        """Watches until the decision has changed, and says what follows."""
        self._watch(MOVE_SECONDS, awaited=f"the decision follows {why}")
        self._narrator.paragraph(self._followed())

    def _watch(self, seconds: float, *, awaited: str = "") -> None:
        """Observes for some seconds, or until the move that is awaited."""
        end = time.monotonic() + seconds
        line_shown = 0.0
        while time.monotonic() < end:
            move = self._stage.observe()
            if move is not None or time.monotonic() - line_shown >= LINE_SECONDS:
                line_shown = time.monotonic()
                self._narrator.line(self._line())
            if move is not None:
                self._narrator.paragraph(
                    f"The decision moves: {', '.join(move.origin)} -> {', '.join(move.target)}"
                    f" ({move.reason})"
                )
            # A wait for a viewer goes on after a move, so that its effect can be seen.
            if move is not None and awaited:
                return
            self._stage.stop.sleep(self._stage.pace.tick)
        if awaited:
            raise GitopsDsfError(
                f"not within {seconds:.0f} s: {awaited}; the logs in {self._stage.programs.logs}"
                " may say why"
            )

    def _line(self) -> str:
        observation = self._stage.history.observations[-1]
        cells = []
        for cluster in self._stage.loads:
            cell = f"{cluster}     -"
            if cluster in observation.points:
                cell = f"{cluster} {observation.points[cluster]:>5.1f}"
            # A space where the others have the star, so that the columns stay.
            if cluster in observation.chosen:
                cells.append(self._narrator.placed("*" + cell))
            else:
                cells.append(" " + cell)
        seconds = observation.time - self._stage.history.observations[0].time
        return f"{seconds:5.1f} s  " + "   ".join(cells)

    def _chosen(self) -> str:
        return ", ".join(self._stage.history.observations[-1].chosen)

    def _followed(self) -> str:
        move = self._stage.history.moves[-1]
        new = ", ".join(move.target)
        old = ", ".join(move.origin)
        return (
            f"The ApplicationSet would follow the decision: Argo CD creates {APPLICATION}-{new},"
            f" and the reconciler deletes {APPLICATION}-{old} once the new copy is healthy (make"
            " before break)."
        )


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shown(path: Path) -> str:
    """The path as a person in the current folder would type it."""
    relative = os.path.relpath(path)
    # A relative path such as ../../.. is not shorter than the whole one here.
    if relative.startswith(".."):
        return str(path)
    return relative


def commands(root: Path) -> list[str]:
    """Commands to try in the output folder, as typed in the current folder."""
    folder = shown(root)
    program = shown(Path(sys.executable).with_name("gitops-dsf"))
    return [
        f"{program} simulate {folder}/fleet --scores {folder}/hub",
        f"{program} explain {APPLICATION} eu-north-1 {folder}/fleet --scores {folder}/hub",
        f"{program} diff {folder}/fleet --base main~1 --scores {folder}/hub",
        (
            f"{program} validate {folder}/fleet    # after an edit of"
            f" {folder}/fleet/scorers/vcpu-cost.yaml, say"
        ),
        f"git -C {folder}/fleet log --stat --oneline --graph",
        f"cat {folder}/scores/us-east-1/*.yaml",
    ]
