# ruff: noqa: E501 - findings as they are printed
"""What `doctor` says where gitops-dsf.yaml has delivery.mode UpstreamController."""

from typing import Any

import pytest

from gitops_dsf.views.doctor.examine import examine, not_installed
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from tests.support import upstream
from tests.support.healthyhub import CLUSTERS, conditions, facts, run, workload
from tests.support.hubobjects import HUB, Object, fleet, meta, score, scorer

ADDON = "dynamic-scoring-framework"
Sources = dict[FactSource, tuple[Any, ...]]


def as_upstream_publishes(item: Object) -> Object:
    """An AddOnPlacementScore without label and validUntil."""
    if item["kind"] != "AddOnPlacementScore":
        return item
    status = {"scores": item["status"]["scores"]}
    return {**item, "metadata": {**item["metadata"], "labels": {}}, "status": status}


def beside_upstream(
    changes: Sources | None = None, *, hub: list[Object] | None = None, **read: Any
) -> DoctorFacts:
    """A hub where upstream's controller delivers, and the reconciler of ours runs."""
    objects = list(map(as_upstream_publishes, fleet())) if hub is None else hub
    foreign = tuple(
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in objects
        if item["kind"] == "AddOnPlacementScore" and not item["metadata"]["labels"]
    )
    theirs: Sources = {
        FactSource.ADDON_DEFINITIONS: ({"metadata": meta(ADDON)},),
        FactSource.UPSTREAM_DEPLOYMENTS: (
            workload("dynamic-scoring-framework-controller", HUB, "x:1"),
        ),
        FactSource.UPSTREAM_WORKS: tuple(
            {"metadata": meta("dynamic-scoring-config-manifestwork", name)} for name in CLUSTERS
        ),
        FactSource.UPSTREAM_ADDON_STATES: tuple(
            {"metadata": meta(ADDON, name), "status": conditions(Available="True")}
            for name in CLUSTERS
        ),
        FactSource.SCORING_CONFIGS: ({"metadata": meta("dynamic-scoring-config", HUB)},),
        FactSource.SCORER_DEFINITION: (upstream.crds()[0],),
        FactSource.OUR_WORKS: (),
        FactSource.ADDON_STATES: (),
    }
    settings = {"mode": "UpstreamController", "crds": "Existing", "foreign": foreign, **read}
    return facts({**theirs, **(changes or {})}, hub=objects, read=settings)


def told(given: DoctorFacts) -> list[tuple[str, str, str]]:
    """Everything that is not well."""
    return [
        (finding.check, str(finding.state), finding.message)
        for finding in examine(given)
        if finding.state != "ok"
    ]


def test_where_all_is_well_each_check_looks_at_what_is_there() -> None:
    found = {finding.check: finding for finding in examine(beside_upstream())}
    assert [finding for finding in found.values() if finding.state != "ok"] == []
    assert {name: found[name].message for name in WELL} == WELL
    assert not_installed(beside_upstream()) == ()


WELL = {
    "upstream": "upstream's controller delivers, as delivery.mode: UpstreamController says",
    "agents": "3 agents, all Available",
    "agents-left": "upstream's add-on installs the agents, and takes them away",
    "scorers": "2 scorers, 2 of them probed by upstream's controller, nothing wrong",
    "crds": "the CRDs are there; with delivery.mode UpstreamController none are rendered",
    "scorer-list": "the list has 2 scorers",
    "scores-fresh": "6 scores on 3 clusters, all there; how old they are is not known, because upstream's agent writes no validUntil",
    "scores-owned": "every score has a scorer and an agent of upstream's",
    "reconciler": "pod-a leads",
}


@pytest.mark.parametrize("with_operator", [False, True])
def test_no_check_asks_for_what_validate_refuses(with_operator: bool) -> None:
    """Of a hub with a MultiClusterHub, too, and before upstream's controller wrote a work."""
    hubs = ({"metadata": meta("hub", "ocm")},) if with_operator else ()
    changes: Sources = {FactSource.MULTICLUSTERHUBS: hubs, FactSource.UPSTREAM_WORKS: ()}
    assert told(beside_upstream(changes)) == []


@pytest.mark.parametrize(
    ("changes", "check", "message"),
    [
        (
            {FactSource.OUR_WORKS: ({"metadata": meta("gitops-dsf-config", "cluster2")},)},
            "upstream",
            "our ManifestWork gitops-dsf-config is left on cluster2",
        ),
        (
            {
                FactSource.ADDON_DEFINITIONS: (
                    {"metadata": meta("gitops-dsf-agent")},
                    {"metadata": meta(ADDON)},
                )
            },
            "upstream",
            "our add-on gitops-dsf-agent is installed: two agents publish",
        ),
        ({FactSource.UPSTREAM_DEPLOYMENTS: ()}, "upstream", "no upstream controller runs"),
        (
            {FactSource.UPSTREAM_ADDON_STATES: ()},
            "upstream",
            "no cluster has the add-on dynamic-scoring-framework",
        ),
        ({FactSource.SCORING_CONFIGS: ()}, "upstream", "has no DynamicScoringConfig"),
        (
            {FactSource.SCORING_CONFIGS: ({"metadata": meta("dynamic-scoring-config", "ocm")},)},
            "upstream",
            "namespace gitops-dsf has no DynamicScoringConfig dynamic-scoring-config",
        ),
        ({FactSource.SCORER_DEFINITION: ()}, "crds", "none is rendered"),
        (
            {
                FactSource.UPSTREAM_ADDON_STATES: (
                    {"metadata": meta(ADDON, "cluster1"), "status": conditions(Available="False")},
                )
            },
            "agents",
            "agent of cluster1 is not Available: Told: told",
        ),
        ({FactSource.LEASES: ()}, "reconciler", "no reconciler ever led"),
    ],
)
def test_what_upstreams_delivery_needs_is_missed(
    changes: Sources, check: str, message: str
) -> None:
    [(told_by, _, found)] = told(beside_upstream(changes))
    assert told_by == check
    assert message in found


def test_commands_name_upstreams_add_on_and_agent() -> None:
    states = ({"metadata": meta(ADDON, "cluster1"), "status": {}},)
    [waiting] = run("agents", beside_upstream({FactSource.UPSTREAM_ADDON_STATES: states}))
    assert waiting.fix is not None
    assert "describe deployment dynamic-scoring-agent" in waiting.fix
    objects = [
        item
        for item in map(as_upstream_publishes, fleet())
        if item["kind"] != "AddOnPlacementScore" or item["metadata"]["namespace"] != "cluster2"
    ]
    [missing] = run("scores-fresh", beside_upstream(hub=objects))
    assert "cluster2" in missing.message
    assert missing.fix is not None
    assert "logs deployment/dynamic-scoring-agent" in missing.fix


@pytest.mark.parametrize(
    ("age", "checks"), [(60, ["scores-owned"]), (3600, ["scores-fresh", "scores-owned"])]
)
def test_a_score_that_our_agent_left_must_go(age: float, checks: list[str]) -> None:
    """Upstream's agent replaces its items, and leaves our validUntil."""
    objects = list(map(as_upstream_publishes, fleet()))
    objects = [
        item
        for item in objects
        if (item["metadata"].get("namespace"), item["metadata"]["name"]) != ("cluster2", "cpu")
    ]
    given = beside_upstream(hub=[*objects, score("cluster2", "cpu", 60, age=age)])
    found = [item for item in examine(given) if item.state != "ok"]
    assert [item.check for item in found] == checks
    for item in found:
        assert item.fix == "kubectl --context hub -n cluster2 delete addonplacementscores cpu"


def test_a_scorer_that_upstreams_controller_stopped_is_told_with_what_the_reconciler_sees() -> None:
    objects = [item for item in fleet() if item["kind"] != "DynamicScorer"]
    stopped = scorer("cpu")
    stopped["status"]["healthStatus"] = "Inactive"
    given = beside_upstream(
        hub=[*map(as_upstream_publishes, objects), stopped, scorer("mem", health="Active")]
    )
    [(check, _, message)] = told(given)
    assert check == "scorers"
    assert message.startswith("upstream's controller calls cpu Inactive, so no agent runs it")
    assert "the reconciler says Answers" in message


def test_a_scorer_that_only_upstream_knows_is_named_with_what_makes_it_known() -> None:
    [found] = run("scorer-list", beside_upstream(unlisted_scorers=("forecast",)))
    assert found.message.startswith("the reconciler does not know 1 DynamicScorer")
    assert found.fix is not None
    assert found.fix.startswith("gitops-dsf sync --scorer forecast")
