"""Two ApplicationSets that can make one Application: found where it can happen, and nowhere else.

Aspects covered: prefixes, sets that both may use, raw ApplicationSets of several forms, what is not
certain, agreement with a search of all pairs, the place, cost.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.hub.names import OWN_APPLICATION
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve.context import context_of
from gitops_dsf.resolve.rules.application_collisions import (
    applications_have_one_maker,
    applications_of_the_tree_stay_ours,
)
from tests.support import fleets, yamlfast
from tests.support.laws import examples
from tests.support.rendering import application, rendered, scorer
from tests.unit.resolve.rules.handwritten import (
    BY_DECISION,
    CLUSTERS,
    DECISION,
    SOURCE,
    placement,
    set_named,
    told,
    told_of,
    written,
)

LABEL = "cluster.open-cluster-management.io/clusterset"
PLACEMENT = "cluster.open-cluster-management.io/placement"


def findings(*documents: fleets.Object) -> list[Diagnostic]:
    loaded = load_text(fleets.text_of(documents), file="apps/x.yaml")
    declared = declare(loaded)
    assert [item for item in declared.diagnostics if item.code != "DSF017"] == []
    return list(applications_have_one_maker(context_of(declared)))


def clusters(*names: str, **labels: str) -> Iterator[fleets.Object]:
    return (fleets.cluster(name, **labels) for name in names)


def app(name: str, *sets: str) -> fleets.Object:
    return application(name, placement={"clusterSets": list(sets or ("global",))})


def raw_set(name: str, template: str, *, follows: str) -> fleets.Object:
    generator = {
        "configMapRef": "gitops-dsf-placement-decisions",
        "labelSelector": {"matchLabels": {PLACEMENT: follows}},
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": name},
        "spec": {
            "generators": [{"clusterDecisionResource": generator}],
            "template": {"metadata": {"name": template}},
        },
    }


def raw_placement(name: str, **spec: object) -> fleets.Object:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": name},
        "spec": spec,
    }


def labelled(**labels: str) -> dict[str, object]:
    return {"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}


def test_a_dash_can_belong_to_the_application_or_to_the_cluster() -> None:
    [found] = findings(*clusters("eu-1", "1"), app("web"), app("web-eu"))
    assert (found.code, found.severity) == ("DSF361", "error")
    assert found.message.startswith(
        "web-eu on cluster 1 and web (apps/x.yaml:21:11) on cluster eu-1 both generate"
        " the Application"
        " web-eu-1: it stays with the first"
    )


def test_the_place_is_the_name_of_the_later_one() -> None:
    [found] = findings(*clusters("eu-1", "1"), app("web-eu"), app("web"))
    assert "web on cluster eu-1 and web-eu (apps/x.yaml:21:11) on cluster 1" in found.message
    assert (found.position.line, found.position.column) == (38, 11)


@pytest.mark.parametrize(
    "documents",
    [
        [*clusters("eu-1", "2"), app("web"), app("web-eu")],
        [*clusters("eu-1", "1"), app("web"), app("eu-web")],
        [*clusters("eu1", "1"), app("web"), app("web-eu")],
        [
            *clusters("eu-1", **{LABEL: "a"}),
            *clusters("1", **{LABEL: "b"}),
            app("web", "b"),
            app("web-eu", "b"),
        ],
        [
            *clusters("eu-1", **{LABEL: "a"}),
            *clusters("1", **{LABEL: "b"}),
            app("web", "a"),
            app("web-eu", "a"),
        ],
    ],
)
def test_nothing_is_said_where_names_cannot_meet(documents: list[fleets.Object]) -> None:
    """No such cluster, another order, no dash, or a set that one of the two may not use."""
    assert findings(*documents) == []


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("web-{{.name}}", "web-1"),
        ("web-{{ .clusterName }}", "web-1"),
        ("web-{{name}}", "web-1"),
        ("web-eu-{{ clusterName }}", "web-eu-1"),
        ("we{{name}}", "web-eu-1"),
    ],
)
def test_applicationsets_of_ones_own_are_looked_at(template: str, name: str) -> None:
    """One that follows the Placement of a ScoredApplication, under another name."""
    found = findings(
        *clusters("eu-1", "1", "b-eu-1"), app("web"), raw_set("second", template, follows="web")
    )
    assert [f"both generate the Application {name}:" in item.message for item in found] == [True]
    assert found[0].position.column == 15, "the template's name"


def test_two_sets_of_ones_own_with_a_suffix_can_meet() -> None:
    placements = [raw_placement("p", clusterSets=["global"])]
    sets = [raw_set("a", "{{name}}-web", follows="p"), raw_set("b", "eu-{{name}}-web", follows="p")]
    [found] = findings(*clusters("eu-1", "1"), *placements, *sets)
    assert (
        "b on cluster 1 and a (apps/x.yaml:39:15) on cluster eu-1 both generate the"
        " Application eu-1-web"
    ) in found.message


@pytest.mark.parametrize(
    ("placement", "template"),
    [
        (raw_placement("p"), "web-{{name}}"),
        (raw_placement("p", clusterSets="global"), "web-{{name}}"),
        (raw_placement("p", clusterSets=["global"], predicates=[{}]), "web-{{name}}"),
        (
            raw_placement(
                "p",
                clusterSets=["global"],
                predicates=[{"requiredClusterSelector": {"claimSelector": {}}}],
            ),
            "web-{{name}}",
        ),
        (
            raw_placement("p", clusterSets=["global"], predicates=[labelled(env="prod")]),
            "web-{{name}}",
        ),
        (raw_placement("other", clusterSets=["global"]), "web-{{name}}"),
        (raw_placement("p", clusterSets=["global"]), "web-{{name}}-{{server}}"),
        (raw_placement("p", clusterSets=["global"]), "web"),
        (raw_placement("p", clusterSets=["global"]), "web-{{server}}"),
    ],
)
def test_nothing_is_said_of_what_is_not_certain(placement: fleets.Object, template: str) -> None:
    assert (
        findings(*clusters("eu-1"), app("web"), placement, raw_set("second", template, follows="p"))
        == []
    )


@pytest.mark.parametrize(
    "generators", [3, [], [{"list": {}}], [{}, {}], ["x"], [{"clusterDecisionResource": 3}]]
)
def test_generators_of_any_shape_are_passed_over(generators: object) -> None:
    document = raw_set("second", "web-{{name}}", follows="web")
    document["spec"]["generators"] = generators
    assert findings(*clusters("eu-1"), app("web"), document) == []


NAMES = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map("-".join)


@settings(examples(15, soak=600))
@given(
    st.lists(st.tuples(NAMES, st.booleans()), max_size=6, unique_by=lambda item: item[0]), st.data()
)
def test_what_is_found_is_what_a_search_of_all_pairs_finds(
    inventory: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """Every pair of applications that meet has one finding, with names that do meet; no other pair
    has one.
    """
    apps = data.draw(
        st.lists(st.tuples(NAMES, st.booleans()), max_size=6, unique_by=lambda item: item[0])
    )
    documents = [fleets.cluster(name, **({LABEL: "red"} if red else {})) for name, red in inventory]
    found = (
        findings(*documents, *(app(name, "red" if red else "global") for name, red in apps))
        if documents or apps
        else []
    )
    made = {
        name: {f"{name}-{one}" for one, is_red in inventory if is_red or not red}
        for name, red in apps
    }
    meeting = {
        frozenset({one, other})
        for one in made
        for other in made
        if one != other and made[one] & made[other]
    }
    pairs = []
    for item in found:
        words = item.message.split()
        one, other, name = (
            words[0],
            words[5],
            item.message.partition("Application ")[2].partition(":")[0],
        )
        assert name in made[one] & made[other]
        pairs.append(frozenset({one, other}))
    assert sorted(map(sorted, pairs)) == sorted(map(sorted, meeting))


def test_a_large_fleet_of_names_that_almost_meet_is_looked_at_in_a_moment() -> None:
    """400 applications in pairs and 800 clusters of the unluckiest names: half of them the rest of
    the other half.
    """
    names = [*(str(number) for number in range(400)), *(f"eu-{number}" for number in range(400))]
    inventory = [
        fleets.cluster(name, **{LABEL: "a" if name.startswith("eu-") else "b"}) for name in names
    ]
    apps = [
        app(f"{name}{rest}", "b")
        for name in (f"app{number}" for number in range(200))
        for rest in ("", "-eu")
    ]
    context = context_of(
        declare(load_text(fleets.text_of([*inventory, *apps]), file="apps/x.yaml"))
    )
    calls = Counter[str]()
    sys.setprofile(lambda _frame, event, _argument: calls.update([event]))
    try:
        findings_of_all = list(applications_have_one_maker(context))
    finally:
        sys.setprofile(None)
    assert findings_of_all == []
    # To look at each pair of applications takes 360,000 of these events.
    assert calls.total() < 100_000


@pytest.mark.parametrize(("namespace", "count"), [("argocd", 1), ("teams", 0)])
def test_a_scored_placement_of_another_namespace_is_not_the_one_that_is_followed(
    namespace: str, count: int
) -> None:
    """An ApplicationSet follows Placements of its own namespace."""
    shared: fleets.Object = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": "shared", "namespace": namespace},
        "spec": {"scores": [{"scorer": "cpu"}], "placement": {"clusterSets": ["global"]}},
    }
    found = findings(
        *clusters("eu-1", "1"),
        app("web"),
        shared,
        raw_set("second", "web-{{name}}", follows="shared"),
    )
    assert len(found) == count


def taken_over(*documents: fleets.Object) -> list[str]:
    declared = declare(load_text(fleets.text_of(documents), file="apps/x.yaml"))
    found = list(applications_of_the_tree_stay_ours(context_of(declared)))
    assert {(item.code, str(item.severity)) for item in found} <= {("DSF362", "error")}
    return [
        item.message.partition(" would generate the Application ")[2].split(",")[0]
        for item in found
    ]


@pytest.mark.parametrize(
    ("name", "cluster", "expected"),
    [
        ("gitops-dsf", "delivery", ["gitops-dsf-delivery"]),
        ("gitops-dsf", "works-00", ["gitops-dsf-works-00"]),
        ("gitops-dsf-works", "01", ["gitops-dsf-works-01"]),
        ("gitops", "dsf-platform", ["gitops-dsf-platform"]),
        ("gitops-dsf", "reconciler", ["gitops-dsf-reconciler"]),
        ("gitops-dsf", "delivery-1", []),
        ("gitops-dsf-demo", "eu-1", []),
        ("dsf", "delivery", []),
    ],
)
def test_no_set_takes_over_an_application_of_the_tree(
    name: str, cluster: str, expected: list[str]
) -> None:
    """Argo CD lets a set replace the spec of an Application that nobody owns."""
    assert taken_over(*clusters("eu-2", cluster), app(name)) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("gitops-dsf-{{name}}", ["gitops-dsf-delivery"]),
        ("gitops-dsf-delivery", ["gitops-dsf-delivery"]),
        ("gitops-dsf-{{ .server }}", ["gitops-dsf-delivery"]),
        ("gitops-dsf-works-{{ .values.shard }}", ["gitops-dsf-works-00"]),
        ("gitops-dsf-demo-{{ .server }}", []),
        ("{{name}}", []),
        ("{{ .team }}-{{ .name }}", []),
        ("web", []),
    ],
)
def test_a_copied_set_may_not_either(template: str, expected: list[str]) -> None:
    documents = [*clusters("eu-1", "delivery"), app("web")]
    assert taken_over(*documents, raw_set("second", template, follows="web")) == expected


def test_the_template_of_a_generator_replaces_the_name_of_the_set() -> None:
    document = raw_set("second", "web-{{name}}", follows="web")
    generator = document["spec"]["generators"][0]["clusterDecisionResource"]
    generator["template"] = {"metadata": {"name": "gitops-dsf-platform"}}
    assert taken_over(*clusters("eu-1"), app("web"), document) == ["gitops-dsf-platform"]


def test_the_names_of_the_tree_are_those_that_are_rendered(tmp_path: Path) -> None:
    tree = rendered(tmp_path, scorer("cpu"), application("web"), output={"shards": 12}).tree
    assert tree is not None
    names = {
        yamlfast.load(tree.read(path))["metadata"]["name"]
        for path in tree.part("argocd")
        if path.startswith("argocd/application.")
    }
    assert len(names) == 15
    assert all(map(OWN_APPLICATION.fullmatch, names))


def test_a_set_that_follows_several_placements_is_on_the_clusters_of_all() -> None:
    """By matchExpressions, as somebody writes who wants one set for two decisions."""
    document = raw_set("second", "web-{{name}}", follows="p")
    term = {"key": PLACEMENT, "operator": "In", "values": ["p", "q"]}
    generator = document["spec"]["generators"][0]["clusterDecisionResource"]
    generator["labelSelector"] = {"matchExpressions": [term]}
    placements = [raw_placement(name, clusterSets=[name]) for name in ("p", "q")]
    inventory = [*clusters("eu-1", **{LABEL: "p"}), *clusters("eu-2", **{LABEL: "q"})]
    found = findings(*inventory, app("web", "q"), *placements, document)
    assert ["web-eu-2" in item.message for item in found] == [True]


@pytest.mark.parametrize(
    "generators",
    [
        [BY_DECISION],
        [{"list": {"elements": [{"a": "1"}, {"a": "2"}]}}],
        [{"matrix": {"generators": [BY_DECISION, {"list": {"elements": [{"a": "1"}]}}]}}],
        [
            {
                "merge": {
                    "mergeKeys": ["name"],
                    "generators": [BY_DECISION, {"list": {"elements": []}}],
                }
            }
        ],
    ],
)
def test_one_name_for_several_applications(generators: object) -> None:
    found = written(name="web", destination={"name": "berlin"}, generators=generators)
    assert told(("DSF411", "name: web"), among=found)


def test_the_message_says_how_many() -> None:
    [(_, _, message)] = written(name="web")
    assert message == (
        "web may generate 3 Applications, all named web: Argo CD creates none of them"
        " (duplicate name)"
    )


def test_without_sets_the_number_of_clusters_is_a_guess() -> None:
    spec = placement("{}")
    assert [item.severity.name for item in told_of(apps=set_named("web") + spec)] == ["WARNING"]
    assert told_of(apps=set_named("web") + spec, clusters=CLUSTERS.split("---")[0]) == []


def test_a_value_that_is_the_same_for_every_cluster_is_no_name() -> None:
    generators = [{"clusterDecisionResource": {**DECISION, "values": {"team": "blue"}}}]
    assert told(
        ("DSF411", "name: web-{{.values.team}}"),
        among=written(name="web-{{.values.team}}", generators=generators),
    )


def test_two_generators_whose_applications_have_one_name() -> None:
    one = {"list": {"elements": [{"a": "1"}]}}
    assert told(("DSF411", "name: web"), among=written(name="web", generators=[one, one]))


@pytest.mark.parametrize(
    ("name", "generators", "placed", "more"),
    [
        ("web-{{.name}}", None, None, None),
        ("web", None, placement("{clusterSets: [global], numberOfClusters: 1}"), None),
        ("web", None, placement("{clusterSets: [other]}"), None),
        ("web", [{"list": {"elements": [{"a": "1"}]}}], None, None),
        ("{{.a}}", [{"list": {"elements": [{"a": "1"}, {"a": "2"}]}}], None, None),
        (
            "web",
            [
                {
                    "git": {
                        "repoURL": SOURCE["repoURL"],
                        "revision": "HEAD",
                        "directories": [{"path": "*"}],
                    }
                }
            ],
            None,
            None,
        ),
        ("web", None, None, {"templatePatch": "metadata: {name: 'web-{{.name}}'}"}),
        (
            "web-{{.values.c}}",
            [{"clusterDecisionResource": {**DECISION, "values": {"c": "{{.name}}"}}}],
            None,
            None,
        ),
        (
            "web",
            [{**BY_DECISION, "selector": {"matchLabels": {"name": "berlin"}}}],
            None,
            None,
        ),
        (
            "web",
            [
                {
                    "clusterDecisionResource": {
                        **DECISION,
                        "template": {
                            "metadata": {"name": "web-{{.name}}"},
                            "spec": {"project": "default", "destination": {}},
                        },
                    }
                }
            ],
            None,
            None,
        ),
    ],
)
def test_names_that_differ_or_are_needed_once_pass(
    name: str, generators: object, placed: str | None, more: object
) -> None:
    found = written(name=name, generators=generators, placed=placed, more=more)
    assert [item for item in found if item[0] == "DSF411"] == []
