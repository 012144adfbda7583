"""What is kept of objects of the hub, and whose moves are completed."""

import sys
from collections import defaultdict
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.application_sets import ApplicationSet, Handover
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.placements import PlacementSummary, RankedBy
from gitops_dsf.hub.scores import Interner, PublishedScore, score_of
from gitops_dsf.reconciler.hub.kinds import application, application_set, decision_page, placement
from gitops_dsf.reconciler.hub.scorecolumns import ScoreColumns, ScoreMarks
from gitops_dsf.repository.model.scored_application import Moves
from tests.support.typed import raw

TIMEOUT_SECONDS = 1_800.0


def read(**spec: Any) -> PlacementSummary:
    return placement(raw({"metadata": {"name": "web", "uid": "u"}, "spec": spec}))[1]


def predicate(**selector: Any) -> dict[str, Any]:
    return {"requiredClusterSelector": selector}


def test_it_ranks_by_scores_with_a_weight() -> None:
    def configuration(kind: str, weight: int, **coordinate: Any) -> dict[str, Any]:
        return {"scoreCoordinate": {"type": kind, **coordinate}, "weight": weight}

    add_on = {"addOn": {"resourceName": "cpu", "scoreName": "free"}}
    policy = [
        configuration("BuiltIn", 1, builtIn="Steady"),
        configuration("AddOn", 0, **add_on),
        configuration("AddOn", 1, **add_on),
    ]
    found = read(prioritizerPolicy={"configurations": policy}, numberOfClusters=2)
    assert found.ranked_by == (RankedBy(resource="cpu", dimension="free", weight=1),)
    assert (found.uid, found.wanted) == ("u", 2)


def test_predicates_are_alternatives_whose_parts_must_all_hold() -> None:
    zone = {"labelSelector": {"matchLabels": {"zone": "x"}}}
    gpu = {
        "claimSelector": {
            "matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a100"]}]
        }
    }
    assert read().may_choose(labels={}, claims={})
    assert read(predicates=[predicate(**zone)]).may_choose(labels={"zone": "x"}, claims={})
    assert not read(predicates=[predicate(**zone)]).may_choose(labels={}, claims={})
    assert not read(predicates=[predicate(**zone, **gpu)]).may_choose(
        labels={"zone": "x"}, claims={}
    )
    assert read(predicates=[predicate(**zone), predicate(**gpu)]).may_choose(
        labels={}, claims={"gpu": "a100"}
    )
    assert read(
        predicates=[
            predicate(labelSelector={"matchExpressions": [{"key": "a", "operator": "Wrong"}]})
        ]
    ).may_choose(labels={}, claims={})


KEYS = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")).map("/".join)
ITEMS = st.builds(score_of, st.dictionaries(st.sampled_from("pq"), st.integers(-100, 100)))


@given(st.lists(st.tuples(KEYS, ITEMS | st.none())))
def test_it_holds_what_a_dict_would(steps: list[tuple[str, PublishedScore | None]]) -> None:
    table, plain = ScoreColumns(), dict[str, PublishedScore]()
    for key, item in steps:
        if item is None:
            assert table.pop(key, None) == plain.pop(key, None)
        else:
            table[key] = plain[key] = item
        assert dict(table.items()) == plain
        assert len(table) == len(plain)
    columns: dict[str, dict[str, PublishedScore]] = defaultdict(dict)
    for key, item in plain.items():
        columns[key[2:]][key[0]] = item
    assert table.columns == columns


@given(st.lists(KEYS), st.lists(KEYS))
def test_marks_hold_what_a_set_would(added: list[str], asked: list[str]) -> None:
    marks = ScoreMarks()
    for key in added:
        marks.add(key)
    assert [key in marks for key in asked] == [key in {*added} for key in asked]


def test_a_score_costs_little_and_equal_parts_are_shared() -> None:
    interner = Interner()
    first, second = (interner.score(None, ("cpu",), (int("-42"),)) for _ in range(2))
    assert sys.getsizeof(first) <= 56
    assert first.values is second.values
    assert first.names is second.names
    assert msgspec.structs.asdict(first)["on_hub"] is False


GENERATOR: dict[str, Any] = {
    "configMapRef": "gitops-dsf-placements",
    "labelSelector": {"matchLabels": {PLACEMENT_LABEL: "web"}},
    "requeueAfterSeconds": 60,
}
HOLLOW = {"metadata": {}, "spec": {"destination": {}, "project": ""}}
"""What Argo CD writes into every generator when it updates an ApplicationSet."""


def made(
    *, generators: Any = None, name: str = "web-{{.name}}", timeout: str = "60", **changed: Any
) -> ApplicationSet:
    annotations = {
        "gitops-dsf.io/moves-strategy": "MakeBeforeBreak",
        "gitops-dsf.io/moves-timeout-seconds": timeout,
    }
    metadata = {
        "name": "web",
        "uid": "1",
        "annotations": annotations,
        **changed.pop("metadata", {}),
    }
    spec = {
        "generators": [{"clusterDecisionResource": GENERATOR}]
        if generators is None
        else generators,
        "template": {"metadata": {"name": name}},
        "syncPolicy": {"applicationsSync": "create-update"},
        **changed,
    }
    return application_set(raw({"metadata": metadata, "spec": spec}))[1]


@pytest.mark.parametrize("policy", ["create-update", "create-only"])
def test_moves_of_a_rendered_application_set_are_completed(policy: str) -> None:
    generators = [{"clusterDecisionResource": {**GENERATOR, "template": HOLLOW}}]
    found = made(generators=generators, syncPolicy={"applicationsSync": policy})
    assert found.handover == Handover(placement="web", timeout=60.0, template_name="web-{{.name}}")
    assert found.handover.name_on("c-1") == "web-c-1"
    assert not found.obstacle


@pytest.mark.parametrize("text", ["", "0", "-5", "1e3", "soon", "٣"])
def test_a_time_out_that_is_no_number_is_the_default(text: str) -> None:
    found = made(timeout=text).handover
    assert found is not None
    assert found.timeout == TIMEOUT_SECONDS == Moves().timeout_seconds


@pytest.mark.parametrize(
    "changed",
    [
        {"metadata": {"annotations": {"gitops-dsf.io/moves-strategy": "Keep"}}},
        {"metadata": {"annotations": {}}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"syncPolicy": {"applicationsSync": "sync"}},
        {"syncPolicy": {"applicationsSync": "create-delete"}},
        {"syncPolicy": {}},
        {"syncPolicy": None},
    ],
)
def test_others_are_left_alone_in_silence(changed: dict[str, Any]) -> None:
    found = made(**changed)
    assert (found.handover, found.obstacle) == (None, "")
    assert found.placements == {"web"}


def generator(**more: Any) -> dict[str, Any]:
    return {"clusterDecisionResource": {**GENERATOR, **more}}


def merged(*elements: Any, decisions: Any = None, **more: Any) -> dict[str, Any]:
    """The generator of an application whose templates read labels or claims."""
    inner = [
        decisions or generator(template=HOLLOW),
        {"list": {"elements": elements, "template": HOLLOW}},
    ]
    return {"merge": {"mergeKeys": ["name"], "generators": inner, "template": HOLLOW, **more}}


EAST = {"name": "east", "labels": {"region": "us"}, "claims": {"zone": "a"}}


def test_moves_with_labels_and_claims_of_clusters_are_completed() -> None:
    found = made(generators=[merged(EAST)])
    assert found.handover == Handover(placement="web", timeout=60.0, template_name="web-{{.name}}")
    assert found.placements == {"web"}


GROUP_A = {"matchLabels": {PLACEMENT_LABEL: "web", "group": "a"}}
ANY_GROUP = {
    **GENERATOR["labelSelector"],
    "matchExpressions": [{"key": "group", "operator": "Exists"}],
}
GENERATORS = "its generators are not one clusterDecisionResource"
NAMES = "the names of its Applications"


@pytest.mark.parametrize(
    ("changed", "obstacle"),
    [
        *(
            ({"generators": generators}, GENERATORS)
            for generators in (
                [],
                [generator(), {"clusters": {}}],
                [{**generator(), "selector": {"matchLabels": {"a": "b"}}}],
                [generator(name="web-decision-1")],
                [generator(template={"metadata": {"name": "other"}})],
                [generator(labelSelector=GROUP_A)],
                [generator(labelSelector=ANY_GROUP)],
                [{"matrix": {"generators": [generator(), {"list": {}}]}}],
                [merged({**EAST, "clusterName": "west"})],
                [merged("east")],
                [merged(EAST, mergeKeys=["server"])],
                [merged(EAST, template={"metadata": {"name": "other"}})],
                [merged(EAST, decisions=generator(name="decision-1"))],
                [{**merged(EAST), "selector": {"matchLabels": {"name": "east"}}}],
            )
        ),
        ({"name": "web"}, NAMES),
        ({"name": "web-{{.name}}-{{.score}}"}, NAMES),
        ({"name": "web-{{.name}}", "templatePatch": "metadata: {}"}, NAMES),
    ],
)
def test_what_is_not_understood_whole_is_an_obstacle(
    changed: dict[str, Any], obstacle: str
) -> None:
    """Generators that say more than the decision, and names that cannot be foretold."""
    found = made(**changed)
    assert found.handover is None
    assert found.obstacle.startswith(obstacle)


@pytest.mark.parametrize("name", ["{{name}}-web", "{{ .name }}-web", "{{- .clusterName -}}-web"])
def test_either_template_language_names_the_cluster(name: str) -> None:
    found = made(name=name).handover
    assert found is not None
    assert found.name_on("a") == "a-web"


def test_a_copy_that_is_pulled_runs_where_its_annotation_says() -> None:
    metadata = {
        "name": "web-a",
        "uid": "u",
        "annotations": {"apps.open-cluster-management.io/ocm-managed-cluster": "a"},
        "ownerReferences": [{"kind": "ApplicationSet", "name": "does-not-control-it", "uid": "9"}],
    }
    found = application(
        raw(
            {
                "metadata": metadata,
                "spec": {"destination": {"server": "https://kubernetes.default.svc"}},
            }
        )
    )[1]
    assert (found.cluster, found.health, found.prunes, found.owner) == ("a", "", False, "")


def test_little_is_kept_of_each_object() -> None:
    label = "cluster.open-cluster-management.io/placement"
    page: Any = {"metadata": {"name": "web-1", "labels": {label: "web"}}}
    for decisions, clusters in (
        ([{"clusterName": "c1", "reason": ""}], {"c1"}),
        (None, frozenset()),
    ):
        page["status"] = {"decisions": decisions}
        assert set(decision_page(raw(page))[1].cluster_names) == clusters
    either = {"matchExpressions": [{"key": label, "operator": "In", "values": ["a", "b"]}]}
    one, other = (
        {"clusterDecisionResource": {"labelSelector": selector}}
        for selector in ({"matchLabels": {label: "web"}}, either)
    )
    generators = [one, {"matrix": {"generators": [{"list": {}}, other]}}]
    annotations = {"argocd.argoproj.io/application-set-refresh": "true"}
    metadata = {"name": "web", "uid": "7", "annotations": annotations}
    name, found = application_set(raw({"metadata": metadata, "spec": {"generators": generators}}))
    assert (name, found.uid, found.placements, found.asked) == ("web", "7", {"web", "a", "b"}, True)
