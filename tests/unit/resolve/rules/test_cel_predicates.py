"""DSF316, as the simulator's engine runs expressions of Placements on clusters of the inventory.

A cluster on which one fails is dropped, and OCM reports nothing.
"""

import json

import pytest

from tests.support.repositories import findings, findings_of

CLUSTERS = {
    "berlin": {"labels": {"env": "prod", "zone": "a"}},
    "oslo": {"labels": {"env": "dev"}},
    "paris": {"labels": {"tier": "gold"}},
}
FAILS = (
    "the expression fails on {}: Key not found in map : {}: OCM drops such a cluster and"
    " reports nothing"
)


def clusters(**more: object) -> str:
    documents = (
        {
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, **metadata},
            **more,
        }
        for name, metadata in CLUSTERS.items()
    )
    return "\n---\n".join(json.dumps(document) for document in documents)


def told(
    *expressions: str,
    labels: dict[str, object] | None = None,
    fleet: str | None = None,
    **spec: object,
) -> list[str]:
    required = {"celSelector": {"celExpressions": list(expressions)}}
    if labels is not None:
        required["labelSelector"] = labels
    placement = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "p", "namespace": "argocd"},
        "spec": {"predicates": [{"requiredClusterSelector": required}], **spec},
    }
    found = findings(apps=json.dumps(placement), clusters=clusters() if fleet is None else fleet)
    return [item.message for item in found if item.code == "DSF316"]


@pytest.mark.parametrize(
    ("expression", "who", "key"),
    [
        ('managedCluster.metadata.labels.env == "x"', "paris", '"env"'),
        ('managedCluster.metadata.labels["env"] != "x"', "paris", '"env"'),
        ('managedCluster.metadata.labels.zone == "a"', "oslo and 1 more", '"zone"'),
        ('managedCluster.Status.version == "v1"', "all 3 clusters that may be chosen", '"Status"'),
        ('managedCluster.metadata.labels.evn == "x"', "all 3 clusters that may be chosen", '"evn"'),
        (
            'managedCluster.metadata.annotations["a"] == "x"',
            "all 3 clusters that may be chosen",
            '"a"',
        ),
        (
            "managedCluster.status.version.openshift == 'x'",
            "all 3 clusters that may be chosen",
            '"openshift"',
        ),
    ],
)
def test_an_expression_that_fails_on_clusters_names_them(
    expression: str, who: str, key: str
) -> None:
    assert told(expression) == [FAILS.format(who, key)]


def test_an_expression_whose_value_is_no_bool_on_a_cluster() -> None:
    [message] = told(
        "has(managedCluster.metadata.labels.env) ? managedCluster.metadata.labels.env : true"
    )
    assert message.startswith(
        "the expression fails on berlin and 1 more: the result is not a bool but STRING:"
    )


@pytest.mark.parametrize(
    "expression",
    [
        (
            '"env" in managedCluster.metadata.labels && managedCluster.metadata.labels["env"]'
            ' == "prod"'
        ),
        (
            'has(managedCluster.metadata.labels.env) && managedCluster.metadata.labels["env"]'
            ' == "prod"'
        ),
        (
            '!("env" in managedCluster.metadata.labels) ||'
            ' managedCluster.metadata.labels["env"] == "prod"'
        ),
        'managedCluster.metadata.labels[?"env"].orValue("") == "prod"',
        (
            '"env" in managedCluster.metadata.labels ? managedCluster.metadata.labels["env"]'
            ' == "x" : false'
        ),
        'managedCluster.metadata.labels.exists(key, key == "env" && true)',
        (
            '"a" in managedCluster.metadata.annotations &&'
            ' managedCluster.metadata.annotations["a"] == "x"'
        ),
        (
            'managedCluster.metadata.labels["cluster.open-cluster-management.io/clusterset"]'
            ' == "default"'
        ),
        "managedCluster.spec.hubAcceptsClient",
        'managedCluster.status.version.kubernetes.startsWith("v1.3")',
        "managedCluster.status.conditions.exists(c, c.type == 'ManagedClusterConditionAvailable')",
        'managedCluster.metadata.creationTimestamp != ""',
    ],
)
def test_guarded_access_and_what_every_cluster_has_are_no_trouble(expression: str) -> None:
    assert told(expression) == []


@pytest.mark.parametrize(
    "expression",
    [
        'managedCluster.status.clusterClaims.filter(c, c.name == "version")[0].value == "4"',
        'managedCluster.status.clusterClaims.exists(c, c.name == "version")',
        'quantity(managedCluster.status.allocatable["nvidia.com/gpu"]).isGreaterThan(quantity("1"))',
        "managedCluster.spec.managedClusterClientConfigs.size() > 0",
    ],
)
def test_nothing_is_said_of_what_git_does_not_know(expression: str) -> None:
    """Claims and resources of a cluster change, and the inventory has few of them."""
    assert told(expression) == []


def test_what_git_knows_of_resources_counts() -> None:
    known = clusters(status={"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}})
    expression = 'quantity(managedCluster.status.allocatable["gpu"]).isGreaterThan(quantity("1"))'
    assert told(expression, fleet=known) == [
        FAILS.format("all 3 clusters that may be chosen", '"gpu"')
    ]


def test_only_clusters_that_could_be_chosen_count() -> None:
    expression = 'managedCluster.metadata.labels.env == "x"'
    exists = {"matchExpressions": [{"key": "env", "operator": "Exists"}]}
    assert told(expression, labels=exists) == []
    assert told('"env" in managedCluster.metadata.labels', expression) == []
    edge = clusters().replace(
        '"tier": "gold"', '"cluster.open-cluster-management.io/clusterset": "edge"'
    )
    kind = (
        '{"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet"'
    )
    sets = "".join(f'\n---\n{kind}, "metadata": {{"name": "{name}"}}}}' for name in ("edge",))
    assert told(expression, fleet=edge + sets, clusterSets=["default"]) == []
    assert told(expression, fleet=edge + sets, clusterSets=["edge"]) == [
        FAILS.format("paris, the only cluster that may be chosen", '"env"')
    ]


def test_a_cluster_that_another_predicate_takes_is_not_dropped() -> None:
    by_label = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"tier": "gold"}}}}
    by_cel = {
        "requiredClusterSelector": {
            "celSelector": {"celExpressions": ['managedCluster.metadata.labels.env == "x"']}
        }
    }
    assert told(predicates=[by_cel, by_label]) == []


def test_without_an_inventory_a_new_cluster_is_asked() -> None:
    new = "a cluster without labels of its own"
    assert told('managedCluster.metadata.labels.env == "x"', fleet="") == [
        FAILS.format(new, '"env"')
    ]
    assert told('managedCluster.metadata.labels[?"env"].orValue("") == "x"', fleet="") == []


def test_the_hint_says_what_was_meant() -> None:
    placement = (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
        "metadata: {name: p, namespace: argocd}\nspec:\n  predicates:\n    -"
        " requiredClusterSelector:\n"
        "        celSelector: {celExpressions: ['managedCluster.Status.version == \"a\"']}\n"
    )
    [found] = findings_of("DSF316", apps=placement, clusters=clusters())
    assert (found.hint, str(found.position)) == ("did you mean status?", "apps/x.yaml:7:40")
