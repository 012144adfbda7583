"""A law of tests of scores.

What a backtest shows of a history is what a test of this history may expect.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridpublisher import GridPublisher
from gitops_dsf.backtest.run import run
from gitops_dsf.backtest.track import ABSENT
from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.pipeline import check_declared
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.scoretests.fleets import FleetOfTest, fleet_of
from gitops_dsf.scoretests.judge import judge
from gitops_dsf.scoretests.replay import START
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.placements import typed_placements
from tests.support.laws import examples

CLUSTERS = ("eu-north-1", "eu-west-1")
KEY = "argocd/guestbook"


@cache
def fleet() -> tuple[Declared, CheckedFleet]:
    """The fleet of `init`, whose scorer publishes each change at once."""
    with TemporaryDirectory() as folder:
        scaffold(target=Path(folder) / "fleet", name="fleet")
        file = Path(folder) / "fleet" / "scorers" / "cpu-headroom.yaml"
        file.write_text(
            f"{file.read_text('utf-8')}  publish: {{deadband: 0, minIntervalSeconds: 0}}\n"
        )
        declared = declare(load(Path(folder) / "fleet"))
    checked = check_declared(declared)
    version = checked.fleet
    assert version is not None, checked.diagnostics
    return declared, version


raw = st.sampled_from([math.nan, 0.0, 20.0, 45.5, 50.0, 60.0, 100.0])
walks = st.integers(1, 40).flatmap(
    lambda count: st.tuples(*(st.lists(raw, min_size=count, max_size=count) for _ in CLUSTERS))
)


@examples(10, soak=400)
@given(walks)
def test_a_test_written_from_a_backtest_passes(walk: tuple[list[float], ...]) -> None:
    whole, version = fleet()
    scorer = version.scorer_by_name["cpu-headroom"]
    grid = TimeGrid(start=START, step=scorer.spec.scoring.params.interval, count=len(walk[0]))
    tracks = {}
    for cluster, values in zip(CLUSTERS, walk, strict=True):
        publication = GridPublisher(scorer=summarise(scorer), cluster=cluster, grid=grid)
        publication.add(0, {("",) * 7: np.array(values)})
        publication.finish()
        tracks[cluster] = publication.track
    placements = typed_placements(version, {KEY}).values()
    state = hub_state(version, None, scores={}, only={KEY})
    found = run(placements, state=state, tracks={"cpu-headroom": tracks}, grid=grid)
    line = found.lines[KEY]
    expected_scores = [
        {
            "at": f"{number * scorer.spec.scoring.params.interval}s",
            "scorer": "cpu-headroom",
            "cluster": cluster,
            "value": value,
        }
        for cluster, track in tracks.items()
        for number, at in [
            (round((at - START) / scorer.spec.scoring.params.interval), at) for at in track.at
        ]
        if at == grid.at(number) and number < grid.count
        for value in [track.values["cpu-headroom"][list(track.at).index(at)]]
        if value != ABSENT
    ]
    ends = [*(each.number for each in line.decided[1:]), grid.count]
    expected_decisions = [
        {
            "at": f"{number * scorer.spec.scoring.params.interval}s",
            "application": "guestbook",
            "clusters": list(decided.clusters),
        }
        for decided, end in zip(line.decided, ends, strict=True)
        for number in {decided.number, end - 1}
    ]
    text = yaml.safe_dump(
        {
            "apiVersion": "gitops-dsf.io/v1alpha1",
            "kind": "ScoreTest",
            "metadata": {"name": "from-a-backtest"},
            "spec": {
                "given": {
                    "series": [
                        {
                            "scorer": "cpu-headroom",
                            "cluster": cluster,
                            "values": " ".join(
                                "_" if math.isnan(each) else str(each) for each in values
                            ),
                        }
                        for cluster, values in zip(CLUSTERS, walk, strict=True)
                    ],
                },
                "expect": {"scores": expected_scores, "decisions": expected_decisions},
            },
        }
    )
    loaded = load_text(text, file="tests/law.yaml")
    declared = declare(loaded)
    (test,) = declared.score_tests
    own, findings = fleet_of(test, whole, own=FleetOfTest(version, ()))
    assert list(judge(test, fleet=own, findings=findings, documents=loaded.documents)) == []
