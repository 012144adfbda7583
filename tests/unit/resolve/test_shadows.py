"""Shadow scorers: where they run, what their rules report, and their effective values.

Aspects covered: selectors, masks, agents, locks, hub writes, references, Placements that read shadows.
"""

import msgspec
import pytest

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.hub.drift import accepted_by
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.render.scorers import scorer as render_scorer
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from gitops_dsf.resolve.hub_writes import writes_per_second
from gitops_dsf.resolve.types import Resolved
from tests.unit.resolve.test_rules import BASE, findings

CLUSTERS = "---\n".join(
    f"""\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {name}, labels: {{env: {env}}}}}
"""
    for name, env in (("edge-1", "edge"), ("prod-1", "prod"), ("prod-2", "prod"))
)
PROD = "clusterSelector: {matchLabels: {env: prod}}"


def scorer(name: str, *more: str, score: str | None = None, mode: str = "None") -> str:
    return "\n  ".join(
        (
            (
                "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScorer\n"
                f"metadata: {{name: {name}}}\nspec:"
            ),
            "description: d",
            f"configURL: http://api.svc:8000/config\n  configSyncMode: {mode}",
            f"scoring: {{params: {{{f'name: {name if score is None else score}, '}interval: 60}}}}",
            "scoreRange: {min: 0, max: 1}",
            *more,
        )
    )


def shadow(*more: str, score: str | None = None, mode: str = "None", name: str = "next") -> str:
    return scorer(name, "shadowOf: cpu", *more, score=score, mode=mode)


def lock(name: str, score: str) -> str:
    return f"""\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {{name: {name}}}
spec:
  configURL: "http://api.svc:8000/config"
  config: {{scoring: {{params: {{name: {score}, interval: 30}}}}}}
"""


def masks(*written: str) -> str:
    return (
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScoringConfig\n"
        f"metadata: {{name: dynamic-scoring-config}}\nspec: {{masks: [{', '.join(written)}]}}\n"
    )


def resolved(*scorers: str, **more: str) -> Resolved:
    texts = {
        "gitops-dsf.yaml": BASE["gitops-dsf.yaml"],
        "clusters/c.yaml": CLUSTERS,
        "scorers/s.yaml": "\n---\n".join(scorers),
        **{f"{key}/x.yaml": text for key, text in more.items()},
    }
    loaded = [load_text(text, file=file) for file, text in texts.items()]
    everything = Loaded(
        documents=tuple(document for part in loaded for document in part.documents), diagnostics=()
    )
    found, diagnostics = resolve(declare(everything))
    assert found is not None, diagnostics
    return found


def told(*scorers: str, **more: str) -> list[Diagnostic]:
    return findings(scorers="\n---\n".join(scorers), clusters=CLUSTERS, **more)


def where(found: Resolved, name: str) -> list[str]:
    return [cluster for cluster, names in found.targets.items() if name in names]


def test_a_shadow_runs_on_the_clusters_of_its_live_scorer() -> None:
    """The live scorer's selector and its masks apply. Agents are where both run."""
    found = resolved(
        scorer("cpu", PROD),
        shadow(score="cpu-x"),
        config=masks("{clusterName: prod-2, scoreName: cpu}", "{clusterName: edge-1, scoreName: '*'}"),
    )
    assert where(found, "cpu") == where(found, "next") == ["prod-1"]
    selector = next(item for item in found.scorers if item.name == "next").selector
    assert selector is not None
    assert selector.match_labels == {"env": "prod"}
    assert [(mask.cluster_name, mask.score_name) for mask in found.masks] == [
        ("prod-2", "cpu"),
        ("edge-1", "*"),
        ("prod-2", "cpu-x"),
    ]


def test_a_shadow_on_the_hub_removes_no_agents() -> None:
    """Without its live scorer's selector, a scorer on the hub would select every cluster, and those without
    another scorer have no agent.
    """
    on_hub = shadow(
        "runsOn: Hub",
        "source: {host: 'http://thanos.svc', params: {query: 'sum by (cluster) (up)', range: 60, step: 60},"
        " clusterLabel: {name: cluster}}",
    )
    assert resolved(scorer("cpu", PROD)).agents == resolved(scorer("cpu", PROD), on_hub).agents
    assert len(resolved(scorer("cpu", PROD), on_hub).agents) == 3


def test_agents_and_hub_are_told_about_a_shadow() -> None:
    found = resolved(scorer("cpu"), shadow())
    live, beside = found.scorers
    assert (summarise(live).shadow_of, summarise(beside).shadow_of) == (None, "cpu")
    assert "shadowOf" not in render_scorer(live, found.repository)["spec"]
    assert render_scorer(beside, found.repository)["spec"]["shadowOf"] == "cpu"


def test_the_name_and_interval_of_a_shadow_are_no_drift() -> None:
    """Its scoring API may be that of the live scorer."""
    found = resolved(scorer("cpu", mode="Full"), shadow(mode="Full"))
    page = {"scoring.params.name": "cpu", "scoring.params.interval": 30, "scoring.path": "/scoring"}
    rendered = {item.name: render_scorer(item, found.repository) for item in found.scorers}
    accepted = {
        name: accepted_by(msgspec.convert(item, DynamicScorer), page) for name, item in rendered.items()
    }
    assert accepted["cpu"].keys() == page.keys()
    assert accepted["next"] == {"scoring.path": "/scoring"}


def test_a_shadow_counts_in_the_hub_writes() -> None:
    alone, both = resolved(scorer("cpu")), resolved(scorer("cpu"), shadow())
    assert writes_per_second(both) == 2 * writes_per_second(alone)


def test_a_longer_interval_makes_a_shadow_cheaper() -> None:
    slow = shadow().replace("interval: 60", "interval: 600")
    assert told(scorer("cpu"), slow) == []
    alone, both = resolved(scorer("cpu")), resolved(scorer("cpu"), slow)
    assert writes_per_second(both) == pytest.approx(writes_per_second(alone) * (1 + 900 / 6000))


def test_a_shadow_of_a_full_scorer_keeps_its_own_name_and_interval() -> None:
    """Both ask the same scoring API, whose /config has one name and one interval."""
    both = scorer("cpu", mode="Full").replace("interval: 60", "interval: 30"), shadow(mode="Full")
    locks = lock("cpu", "cpu") + "---\n" + lock("next", "cpu")
    assert told(*both, locks=locks) == []
    found = {item.name: item for item in resolved(*both, locks=locks).scorers}
    assert (found["cpu"].score_name, found["cpu"].interval) == ("cpu", 30)
    assert (found["next"].score_name, found["next"].interval) == ("next", 60)


def test_a_lock_that_would_rename_the_live_score() -> None:
    found = told(scorer("cpu"), shadow(mode="Full"), locks=lock("next", "forecast"))
    assert [(item.code, item.severity, str(item.position)) for item in found] == [
        ("DSF161", Severity.WARNING, "locks/x.yaml:6:37")
    ]
    assert "names the score forecast; cpu publishes cpu, and would be renamed" in found[0].message
    alone = told(shadow(mode="Full"), locks=lock("next", "forecast"))
    assert [item.code for item in alone] == ["DSF158"], "there is no live scorer to rename"


@pytest.mark.parametrize(
    ("scorers", "code", "message", "hint"),
    [
        (
            (scorer("cpu"), scorer("next", "shadowOf: cpi")),
            "DSF158",
            "there is no DynamicScorer cpi",
            "did you mean cpu?",
        ),
        (
            (scorer("next", "shadowOf: other"),),
            "DSF158",
            "there is no DynamicScorer other",
            "defined here: none",
        ),
        (
            (scorer("cpu", "shadowOf: cpu"),),
            "DSF159",
            "cpu is a shadow of itself",
            "write the name of the live scorer, or remove shadowOf",
        ),
        (
            (scorer("cpu"), shadow(), scorer("after", "shadowOf: next")),
            "DSF159",
            "next is a shadow itself, of cpu",
            "write shadowOf: cpu; a scorer can have several shadows",
        ),
        (
            (scorer("cpu"), shadow(PROD)),
            "DSF160",
            "next selects other clusters than cpu, and is its shadow",
            "remove clusterSelector: a shadow runs on the clusters of its live scorer",
        ),
        (
            (scorer("cpu"), shadow("scoreDestination: None")),
            "DSF160",
            "next has scoreDestination None, and its live scorer cpu has AddOnPlacementScore",
            "write scoreDestination: AddOnPlacementScore",
        ),
    ],
)
def test_a_shadow_without_a_scorer_beside_it(
    scorers: tuple[str, ...], code: str, message: str, hint: str
) -> None:
    assert [(item.code, item.message, item.hint) for item in told(*scorers)] == [(code, message, hint)]


@pytest.mark.parametrize("second", [shadow(PROD), shadow(name="other")])
def test_a_valid_shadow_has_no_findings(second: str) -> None:
    """It may repeat the selector, and a scorer may have several shadows."""
    live = scorer("cpu", PROD) if PROD in second else scorer("cpu")
    assert told(live, shadow(), second.replace("name: next", "name: third")) == []


@pytest.mark.parametrize(("score", "code"), [("cpu", "DSF101"), ("CPU", "DSF102")])
def test_the_score_name_of_the_live_scorer_is_taken(score: str, code: str) -> None:
    assert [item.code for item in told(scorer("cpu"), shadow(score=score))] == [code]


def test_masks_that_only_name_the_shadow_are_a_warning() -> None:
    mask = masks("{clusterName: 'prod-*', scoreName: next}")
    found = told(scorer("cpu"), shadow(), config=mask)
    assert [(item.code, item.severity, item.message) for item in found] == [
        (
            "DSF160",
            Severity.WARNING,
            "masks of next keep the shadow next off prod-1, prod-2, where cpu runs",
        )
    ]


@pytest.mark.parametrize("kind", ["ScoredApplication", "ScoredPlacement"])
def test_nothing_ranks_by_a_shadow(kind: str) -> None:
    application = (
        "  application: {source: {repoURL: 'https://git.example.com/w.git', path: d},"
        " destinationNamespace: w}\n"
    )
    text = (
        f"apiVersion: gitops-dsf.io/v1alpha1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n"
        f"{application if kind == 'ScoredApplication' else ''}"
        "  placement: {numberOfClusters: 1}\n  scores: [{scorer: cpu}, {scorer: next}]\n"
    )
    found = told(scorer("cpu"), shadow(), apps=text)
    assert [(item.code, item.message) for item in found if item.severity is Severity.ERROR] == [
        ("DSF329", "next is a shadow of cpu, and its scores must not decide where web runs")
    ]


@pytest.mark.parametrize(
    "spec",
    [
        (
            "prioritizerPolicy: {mode: Exact, configurations: [{weight: 1, scoreCoordinate: {type: AddOn,"
            " addOn: {resourceName: next-x, scoreName: next_x}}}, {weight: 1, scoreCoordinate:"
            " {type: BuiltIn, builtIn: Steady}}]}"
        ),
        (
            "predicates: [{requiredClusterSelector: {celSelector: {celExpressions:"
            " ['managedCluster.scores(\"next-x\").exists(s, s.value > 1)']}}}]"
        ),
    ],
    ids=["ranks", "cel"],
)
def test_a_raw_placement_reads_no_shadow(spec: str) -> None:
    text = (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
        f"metadata: {{name: web, namespace: argocd}}\nspec:\n  numberOfClusters: 1\n  {spec}\n"
    )
    found = told(scorer("cpu"), shadow(score="next_x"), apps=text)
    assert [(item.code, item.message) for item in found if item.severity is Severity.ERROR] == [
        ("DSF329", "next is a shadow of cpu, and its scores must not decide where web runs")
    ]
    assert not [item for item in told(scorer("cpu", score="next_x"), apps=text) if item.code == "DSF329"]
    of_live = text.replace("next-x", "cpu").replace("next_x", "cpu")
    assert not [
        item for item in told(scorer("cpu"), shadow(score="next_x"), apps=of_live) if item.code == "DSF329"
    ]
