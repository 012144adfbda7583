"""What Argo CD does with an ApplicationSet unlike ours: the reason of rules DSF401 to DSF408.
docs/decisions/scheduler.md lists them.

The decisions are written by hand here, so that each test says exactly what the controller finds; how they are
read is as we render it.
"""

from collections.abc import Iterator

import pytest

from gitops_dsf.render.delivery import decision_readers
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET, error_of, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.placements import CLUSTER, DECISION, PLACEMENT_LABEL

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

SPOKES = ("cluster1", "cluster2")
NAME = "hazard-followers"
LABEL = "test.example.com/set"
GENERATOR: dict[str, str] = next(
    item["data"] for item in decision_readers("argocd") if item["kind"] == "ConfigMap"
)
CONFIG = "hazard-generator"
REFRESH = "argocd.argoproj.io/application-set-refresh"
FOLLOWING = {"labelSelector": {"matchLabels": {PLACEMENT_LABEL: NAME}}}


class Followers:
    """One ApplicationSet over decisions that a test writes by hand, and the Applications it made."""

    def __init__(self, hub: Client, *, namespace: str) -> None:
        self.hub, self.namespace = hub, namespace

    def config(self, **data: str) -> None:
        metadata = {"name": CONFIG, "namespace": self.namespace}
        self.hub.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def page(self, number: int, *clusters: str) -> None:
        """The decision's page of that number, as OCM writes it."""
        name = f"{NAME}-decision-{number}"
        body = {
            "apiVersion": f"{CLUSTER}/v1beta1",
            "kind": "PlacementDecision",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {PLACEMENT_LABEL: NAME}},
        }
        self.hub.apply(body)
        decisions = [{"clusterName": cluster, "reason": ""} for cluster in clusters]
        self.hub.patch_status(DECISION, name, {"decisions": decisions}, namespace=self.namespace)

    def follow(
        self, *, policy: str, lookup: Object = FOLLOWING, labels: dict[str, str] | None = None
    ) -> None:
        """Write the ApplicationSet, whole, and ask the controller to look now."""
        generator = {"configMapRef": CONFIG, "requeueAfterSeconds": 3, **lookup}
        template: Object = {
            "metadata": {"name": f"{NAME}-{{{{.name}}}}", "labels": {LABEL: NAME, **(labels or {})}},
            "spec": {
                "project": "default",
                "source": {
                    "repoURL": "https://git.example.invalid/none.git",
                    "path": ".",
                    "targetRevision": "main",
                },
                "destination": {"name": "{{.name}}", "namespace": "hazards"},
            },
        }
        spec: Object = {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [{"clusterDecisionResource": generator}],
            "template": template,
            "syncPolicy": {"applicationsSync": policy, "preserveResourcesOnDeletion": True},
        }
        version, _, kind = APPLICATION_SET.rpartition("/")
        self.hub.apply(
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": NAME, "namespace": self.namespace},
                "spec": spec,
            }
        )
        self.look()

    def look(self) -> None:
        refresh_set(self.hub, NAME)

    def annotations(self) -> dict[str, str]:
        found: dict[str, str] = self.hub.get(APPLICATION_SET, NAME, namespace=self.namespace)["metadata"].get(
            "annotations", {}
        )
        return found

    def clusters(self) -> list[str]:
        items = self.hub.list(APPLICATION, namespace=self.namespace, labels=f"{LABEL}={NAME}")
        return sorted(
            item["spec"]["destination"]["name"]
            for item in items
            if "deletionTimestamp" not in item["metadata"]
        )

    def become(self, *clusters: str) -> None:
        wait_for(
            lambda: self.clusters() == list(clusters),
            what=f"Applications for {clusters}",
            seen=lambda: (self.clusters(), self.error()),
        )

    def error(self) -> str:
        return error_of(self.hub, NAME)

    def is_content(self) -> None:
        """It complains of nothing. That an update came too late is said until its next look, which follows at
        once.
        """
        wait_for(lambda: not self.error(), what="the ApplicationSet complains of nothing", seen=self.error)

    def complains(self, text: str) -> None:
        wait_for(lambda: text in self.error(), what=f"the ApplicationSet says {text!r}", seen=self.error)

    def clear(self) -> None:
        self.hub.delete(APPLICATION_SET, NAME, namespace=self.namespace)
        wait_for(
            lambda: self.hub.find(APPLICATION_SET, NAME, namespace=self.namespace) is None,
            what="the ApplicationSet is gone",
        )
        for item in self.hub.list(APPLICATION, namespace=self.namespace, labels=f"{LABEL}={NAME}"):
            self.hub.delete(APPLICATION, item["metadata"]["name"], namespace=self.namespace)
        for item in self.hub.list(DECISION, namespace=self.namespace, labels=f"{PLACEMENT_LABEL}={NAME}"):
            self.hub.delete(DECISION, item["metadata"]["name"], namespace=self.namespace)
        self.hub.delete("v1/ConfigMap", CONFIG, namespace=self.namespace)


@pytest.fixture(scope="module")
def readable(argocd: ArgoCD, control_plane: ControlPlane, hub: Client) -> Iterator[None]:
    """The controller may list decisions, as our rendered Role lets it, and Argo CD knows both spokes."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": NAME, "namespace": argocd.namespace},
    }
    rules = [{"apiGroups": [CLUSTER], "resources": ["placementdecisions"], "verbs": ["list"]}]
    hub.apply({**role, "rules": rules})
    subject = {
        "kind": "ServiceAccount",
        "name": "argocd-applicationset-controller",
        "namespace": argocd.namespace,
    }
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME}
    hub.apply({**role, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]})
    # A role counts a moment after it is written, and a look that is refused would be the last for three
    # minutes.
    kubeconfig = control_plane.hub.service_account_kubeconfig(
        argocd.namespace, "argocd-applicationset-controller"
    )
    with Client(kubeconfig) as controller:
        wait_for(
            lambda: controller.list(DECISION, namespace=argocd.namespace) is not None,
            what="the controller may list decisions",
        )
    with argocd.knowing(control_plane.spokes.values()):
        yield
    for kind in ("RoleBinding", "Role"):
        hub.delete(f"rbac.authorization.k8s.io/v1/{kind}", NAME, namespace=argocd.namespace)


@pytest.fixture
def followers(readable: None, argocd: ArgoCD, hub: Client) -> Iterator[Followers]:
    followers = Followers(hub, namespace=argocd.namespace)
    followers.config(**GENERATOR)
    yield followers
    followers.clear()


@pytest.mark.parametrize(("policy", "left"), [("sync", []), ("create-update", ["cluster1", "cluster2"])])
def test_an_empty_decision_deletes_every_application_unless_the_policy_forbids_it(
    followers: Followers, policy: str, left: list[str]
) -> None:
    followers.page(1, *SPOKES)
    followers.follow(policy=policy)
    followers.become(*SPOKES)
    followers.page(1)
    followers.look()
    followers.become(*left)
    hold_for(lambda: followers.clusters() == left, what=f"with {policy} there are {left}", seconds=4)
    followers.is_content()


def test_without_a_match_key_every_application_is_deleted_without_an_error(followers: Followers) -> None:
    followers.page(1, *SPOKES)
    followers.follow(policy="sync")
    followers.become(*SPOKES)
    followers.config(**{key: value for key, value in GENERATOR.items() if key != "matchKey"})
    followers.look()
    followers.become()
    followers.is_content()


def test_a_decision_looked_up_by_name_is_its_first_page_only(followers: Followers) -> None:
    followers.page(1, "cluster1")
    followers.page(2, "cluster2")
    followers.follow(policy="sync")
    followers.become(*SPOKES)
    followers.follow(policy="sync", lookup={"name": f"{NAME}-decision-1"})
    followers.become("cluster1")


def test_name_and_label_selector_together_are_an_error(followers: Followers) -> None:
    followers.page(1, *SPOKES)
    followers.follow(policy="sync", lookup={**FOLLOWING, "name": f"{NAME}-decision-1"})
    followers.complains("there is a problem with the definition of the ClusterDecisionResource generator")
    assert followers.clusters() == []


def test_a_cluster_on_two_pages_is_an_error_that_deletes_nothing(followers: Followers) -> None:
    followers.page(1, "cluster1")
    followers.page(2, "cluster2")
    followers.follow(policy="sync")
    followers.become(*SPOKES)
    followers.page(2, "cluster1", "cluster2")
    followers.look()
    wait_for(followers.error, what="it complains", seen=followers.error)
    hold_for(lambda: followers.clusters() == list(SPOKES), what="both stay", seconds=3)


def test_an_application_that_two_sets_would_make_stays_with_the_first(
    followers: Followers, hub: Client
) -> None:
    """The names of `a` on the cluster `b-1` and of `a-b` on `1` are one name; here the second set writes it
    out.
    """
    followers.page(1, "cluster1")
    followers.follow(policy="create-update")
    followers.become("cluster1")
    second, namespace = f"{NAME}-second", followers.namespace
    body = hub.get(APPLICATION_SET, NAME, namespace=namespace)
    version, _, kind = APPLICATION_SET.rpartition("/")
    hub.apply(
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": second, "namespace": namespace},
            "spec": body["spec"],
        }
    )

    def said() -> str:
        return error_of(hub, second)

    try:
        wait_for(
            lambda: "already owned by another ApplicationSet" in said(),
            what="the second set complains",
            seen=said,
        )
        [made] = hub.list(APPLICATION, namespace=namespace, labels=f"{LABEL}={NAME}")
        assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == [NAME]
        followers.is_content()
    finally:
        hub.delete(APPLICATION_SET, second, namespace=namespace)


def test_a_cluster_on_no_page_for_a_moment_loses_its_application(followers: Followers) -> None:
    """What happens when the controller looks between two writes of a decision with more than 100 clusters."""
    followers.page(1, "cluster1")
    followers.page(2, "cluster2")
    followers.follow(policy="sync")
    followers.become(*SPOKES)
    before = application(followers, "cluster2")["metadata"]["uid"]
    followers.page(2)
    followers.look()
    followers.become("cluster1")
    followers.page(1, *SPOKES)
    followers.look()
    followers.become(*SPOKES)
    assert application(followers, "cluster2")["metadata"]["uid"] != before


def test_a_cluster_that_argocd_does_not_know_is_skipped_silently(followers: Followers) -> None:
    followers.page(1, "cluster1", "not-in-argocd")
    followers.follow(policy="sync")
    followers.become("cluster1")
    hold_for(lambda: followers.clusters() == ["cluster1"], what="the unknown one gets nothing", seconds=1)
    followers.is_content()


def test_removing_a_cluster_secret_deletes_the_application(
    followers: Followers, argocd: ArgoCD, control_plane: ControlPlane
) -> None:
    followers.page(1, *SPOKES)
    followers.follow(policy="sync")
    followers.become(*SPOKES)
    argocd.remove_cluster_secret("cluster2")
    try:
        followers.look()
        followers.become("cluster1")
    finally:
        spoke = control_plane.spokes["cluster2"]
        argocd.add_cluster_secret("cluster2", spoke.url, spoke.kubeconfig())


def test_after_an_error_the_controller_looks_again_in_minutes_whatever_is_asked_for(
    followers: Followers,
) -> None:
    """`requeueAfterSeconds` is 3 here. Only the annotation makes it look, and after an error it must have
    another value than before: the controller removes it when it succeeds, and the same value once more is no
    change.
    """
    followers.hub.delete("v1/ConfigMap", CONFIG, namespace=followers.namespace)
    followers.page(1, *SPOKES)
    followers.follow(policy="sync")
    followers.complains(CONFIG)
    # It is asked twice, by the new object and by the annotation: the second look is to fail, too.
    hold_for(followers.error, what="it goes on complaining", seconds=3)
    followers.config(**GENERATOR)
    assert REFRESH in followers.annotations(), "left from the look that failed"
    same = {"metadata": {"annotations": {REFRESH: followers.annotations()[REFRESH]}}}
    followers.hub.patch(APPLICATION_SET, NAME, same, namespace=followers.namespace)
    hold_for(lambda: followers.clusters() == [], what="it does not look", seconds=9)
    change = {"metadata": {"annotations": {REFRESH: "another value"}}}
    followers.hub.patch(APPLICATION_SET, NAME, change, namespace=followers.namespace)
    followers.become(*SPOKES)
    wait_for(
        lambda: REFRESH not in followers.annotations(),
        what="the annotation is gone after success",
        seen=followers.annotations,
    )


def test_no_decision_at_all_is_an_error_that_deletes_nothing(followers: Followers) -> None:
    followers.page(1, *SPOKES)
    followers.follow(policy="sync")
    followers.become(*SPOKES)
    followers.hub.delete(DECISION, f"{NAME}-decision-1", namespace=followers.namespace)
    followers.look()
    wait_for(followers.error, what="it complains", seen=followers.error)
    hold_for(lambda: followers.clusters() == list(SPOKES), what="both stay", seconds=3)


@pytest.mark.parametrize(
    ("template", "said"),
    [("{{.score}}", 'map has no entry for key "score"'), ("{{.name", "unclosed action")],
)
def test_a_template_that_fails_stops_the_whole_set(followers: Followers, template: str, said: str) -> None:
    """OCM writes no score into a decision, so the key is missing."""
    followers.page(1, *SPOKES)
    followers.follow(policy="sync", labels={"told": template})
    followers.complains(said)
    assert followers.clusters() == []


def test_without_go_template_a_go_template_stays_as_it_is(followers: Followers) -> None:
    followers.page(1, *SPOKES)
    followers.follow(policy="create-update")
    followers.become(*SPOKES)
    followers.hub.patch(
        APPLICATION_SET,
        NAME,
        {
            "spec": {
                "goTemplate": False,
                "template": {"metadata": {"name": "told-{{name}}", "labels": {"at": "x"}}},
            }
        },
        namespace=followers.namespace,
    )
    followers.complains("{{.name}}")


def application(followers: Followers, cluster: str) -> Object:
    return followers.hub.get(APPLICATION, f"{NAME}-{cluster}", namespace=followers.namespace)
