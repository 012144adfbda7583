"""What Argo CD does with an ApplicationSet unlike ours.

The reason of rules DSF401 to DSF408. docs/decisions/scheduler.md lists them.

The decisions are written by hand here, so that each test says exactly what the controller finds;
how they are read is as we render it.

Every test has names of its own. The controller may act once more after its ApplicationSet is
deleted, so a name that comes back could meet what a test before has left.
"""

import uuid
from collections.abc import Iterator

import pytest

from gitops_dsf.render.delivery import decision_readers
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET, error_of, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone
from tests.hub.scenario.decisionreaders import reading_decisions
from tests.hub.scenario.placements import DECISION, PLACEMENT_LABEL

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

NAMESPACE = "argocd"
LABEL = "test.example.com/set"
GENERATOR: dict[str, str] = next(
    item["data"] for item in decision_readers("argocd") if item["kind"] == "ConfigMap"
)
REFRESH = "argocd.argoproj.io/application-set-refresh"


class Followers:
    """One ApplicationSet over decisions that a test writes by hand, and the Applications it
    made.
    """

    def __init__(self, hub: Client) -> None:
        self.hub = hub
        self.name = f"hazard-{uuid.uuid4().hex[:8]}"
        """Of the ApplicationSet and its ConfigMap. All other names begin with it."""
        self.by_label = {"labelSelector": {"matchLabels": {PLACEMENT_LABEL: self.name}}}

    def config(self, **data: str) -> None:
        self.hub.apply(manifest("v1/ConfigMap", self.name, namespace=NAMESPACE, data=data))

    def page(self, number: int, *clusters: str) -> None:
        """The decision's page of that number, as OCM writes it."""
        name, labels = f"{self.name}-decision-{number}", {PLACEMENT_LABEL: self.name}
        self.hub.apply(manifest(DECISION, name, namespace=NAMESPACE, meta={"labels": labels}))
        decisions = [{"clusterName": cluster, "reason": ""} for cluster in clusters]
        self.hub.patch_status(DECISION, name, {"decisions": decisions}, namespace=NAMESPACE)

    def follow(
        self,
        policy: str = "sync",
        *,
        lookup: Object | None = None,
        labels: dict[str, str] | None = None,
    ) -> None:
        """Write the ApplicationSet, whole, and ask the controller to look now."""
        source = {
            "repoURL": "https://git.example.invalid/none.git",
            "path": ".",
            "targetRevision": "main",
        }
        destination = {"name": "{{.name}}", "namespace": "hazards"}
        generator = {
            "configMapRef": self.name,
            "requeueAfterSeconds": 3,
            **(lookup or self.by_label),
        }
        spec: Object = {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [{"clusterDecisionResource": generator}],
            "template": {
                "metadata": {
                    "name": f"{self.name}-{{{{.name}}}}",
                    "labels": {LABEL: self.name, **(labels or {})},
                },
                "spec": {"project": "default", "source": source, "destination": destination},
            },
            "syncPolicy": {"applicationsSync": policy, "preserveResourcesOnDeletion": True},
        }
        self.hub.apply(manifest(APPLICATION_SET, self.name, namespace=NAMESPACE, spec=spec))
        self.look()

    def begin(self, policy: str = "sync", *, pages: int = 1) -> None:
        """The set follows a decision for both clusters, on one page or two, and has made both."""
        if pages == 1:
            self.page(1, *SPOKES)
        else:
            for number, cluster in enumerate(SPOKES, 1):
                self.page(number, cluster)
        self.follow(policy)
        self.become(*SPOKES)

    def look(self) -> None:
        refresh_set(self.hub, self.name)

    def annotations(self) -> dict[str, str]:
        found = self.hub.get(APPLICATION_SET, self.name, namespace=NAMESPACE)["metadata"]
        return dict(found.get("annotations", {}))

    def applications(self) -> dict[str, Object]:
        """By cluster, without those that are being deleted."""
        items = self.hub.list(APPLICATION, namespace=NAMESPACE, labels=f"{LABEL}={self.name}")
        left = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return {item["spec"]["destination"]["name"]: item for item in left}

    def clusters(self) -> list[str]:
        return sorted(self.applications())

    def become(self, *clusters: str) -> None:
        wait_for(
            lambda: self.clusters() == list(clusters),
            what=f"Applications for {clusters}",
            seen=lambda: (self.clusters(), self.error()),
        )

    def error(self) -> str:
        return error_of(self.hub, self.name)

    def is_content(self) -> None:
        """It complains of nothing.

        That an update came too late is said until its next look, which follows at once.
        """
        wait_for(
            lambda: not self.error(),
            what="the ApplicationSet complains of nothing",
            seen=self.error,
        )

    def complains(self, text: str) -> None:
        wait_for(
            lambda: text in self.error(), what=f"the ApplicationSet says {text!r}", seen=self.error
        )

    def complains_and_keeps_both(self) -> None:
        wait_for(self.error, what="it complains", seen=self.error)
        hold_for(lambda: self.clusters() == list(SPOKES), what="both stay", seconds=3)

    def clear(self) -> None:
        """What it leaves behind is nobody's: every test has its own names."""
        for name in (self.name, f"{self.name}-second"):
            self.hub.delete(APPLICATION_SET, name, namespace=NAMESPACE)
            wait_until_gone(self.hub, APPLICATION_SET, name, namespace=NAMESPACE)
        for kind, label in ((APPLICATION, LABEL), (DECISION, PLACEMENT_LABEL)):
            for item in self.hub.list(kind, namespace=NAMESPACE, labels=f"{label}={self.name}"):
                self.hub.delete(kind, item["metadata"]["name"], namespace=NAMESPACE)
        self.hub.delete("v1/ConfigMap", self.name, namespace=NAMESPACE)


@pytest.fixture(scope="module")
def readable(argocd: ArgoCD, control_plane: ControlPlane, hub: Client) -> Iterator[None]:
    """The controller may list decisions, as our rendered Role lets it, and Argo CD knows both
    spokes.
    """
    with reading_decisions(hub, control_plane), argocd.knowing(control_plane.spokes.values()):
        yield


@pytest.fixture
def followers(
    readable: None, hub: Client, argocd: ArgoCD, control_plane: ControlPlane
) -> Iterator[Followers]:
    for spoke in control_plane.spokes.values():
        argocd.add_cluster_secret(spoke)  # a test before may have taken one away
    followers = Followers(hub)
    followers.config(**GENERATOR)
    yield followers
    followers.clear()


@pytest.mark.parametrize(
    ("policy", "left"), [("sync", []), ("create-update", ["cluster1", "cluster2"])]
)
def test_an_empty_decision_deletes_every_application_unless_the_policy_forbids_it(
    followers: Followers, policy: str, left: list[str]
) -> None:
    followers.begin(policy)
    followers.page(1)
    followers.look()
    followers.become(*left)
    hold_for(
        lambda: followers.clusters() == left, what=f"with {policy} there are {left}", seconds=4
    )
    followers.is_content()


def test_without_a_match_key_every_application_is_deleted_without_an_error(
    followers: Followers,
) -> None:
    followers.begin()
    followers.config(**{key: value for key, value in GENERATOR.items() if key != "matchKey"})
    followers.look()
    followers.become()
    followers.is_content()


def test_a_decision_looked_up_by_name_is_its_first_page_only(followers: Followers) -> None:
    followers.begin(pages=2)
    followers.follow(lookup={"name": f"{followers.name}-decision-1"})
    followers.become("cluster1")


def test_name_and_label_selector_together_are_an_error(followers: Followers) -> None:
    followers.page(1, *SPOKES)
    followers.follow(lookup={**followers.by_label, "name": f"{followers.name}-decision-1"})
    followers.complains(
        "there is a problem with the definition of the ClusterDecisionResource generator"
    )
    assert followers.clusters() == []


def test_a_cluster_on_two_pages_is_an_error_that_deletes_nothing(followers: Followers) -> None:
    followers.begin(pages=2)
    followers.page(2, *SPOKES)
    followers.look()
    followers.complains_and_keeps_both()


def test_an_application_that_two_sets_would_make_stays_with_the_first(
    followers: Followers, hub: Client
) -> None:
    """The names of `a` on the cluster `b-1` and of `a-b` on `1` are one name; here the second set
    writes it out.
    """
    followers.page(1, "cluster1")
    followers.follow("create-update")
    followers.become("cluster1")
    second = f"{followers.name}-second"
    spec = hub.get(APPLICATION_SET, followers.name, namespace=NAMESPACE)["spec"]
    hub.apply(manifest(APPLICATION_SET, second, namespace=NAMESPACE, spec=spec))
    try:
        wait_for(
            lambda: "already owned by another ApplicationSet" in error_of(hub, second),
            what="the second set complains",
            seen=lambda: error_of(hub, second),
        )
        [made] = followers.applications().values()
        assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == [followers.name]
        followers.is_content()
    finally:
        hub.delete(APPLICATION_SET, second, namespace=NAMESPACE)


def test_a_cluster_on_no_page_for_a_moment_loses_its_application(followers: Followers) -> None:
    """What happens when the controller looks between two writes of a decision with more than 100
    clusters.
    """
    followers.begin(pages=2)
    before = followers.applications()["cluster2"]["metadata"]["uid"]
    followers.page(2)
    followers.look()
    followers.become("cluster1")
    followers.page(1, *SPOKES)
    followers.look()
    followers.become(*SPOKES)
    assert followers.applications()["cluster2"]["metadata"]["uid"] != before


def test_a_cluster_that_argocd_does_not_know_is_skipped_silently(followers: Followers) -> None:
    followers.page(1, "cluster1", "not-in-argocd")
    followers.follow()
    followers.become("cluster1")
    hold_for(
        lambda: followers.clusters() == ["cluster1"], what="the unknown one gets nothing", seconds=1
    )
    followers.is_content()


def test_removing_a_cluster_secret_deletes_the_application(
    followers: Followers, argocd: ArgoCD, control_plane: ControlPlane
) -> None:
    followers.begin()
    argocd.remove_cluster_secret("cluster2")
    try:
        followers.look()
        followers.become("cluster1")
    finally:
        argocd.add_cluster_secret(control_plane.spokes["cluster2"])


def test_after_an_error_the_controller_looks_again_in_minutes_whatever_is_asked_for(
    followers: Followers,
) -> None:
    """`requeueAfterSeconds` is 3 here.

    Only the annotation makes it look, and after an error it must have another value than before:
    the controller removes it when it succeeds, and the same value once more is not a change.
    """
    followers.hub.delete("v1/ConfigMap", followers.name, namespace=NAMESPACE)
    followers.page(1, *SPOKES)
    followers.follow()
    followers.complains(followers.name)
    # It is asked twice, by the new object and by the annotation: the second look is to fail, too.
    hold_for(followers.error, what="it goes on complaining", seconds=3)
    followers.config(**GENERATOR)
    assert REFRESH in followers.annotations(), "left from the look that failed"
    same = {"metadata": {"annotations": {REFRESH: followers.annotations()[REFRESH]}}}
    followers.hub.patch(APPLICATION_SET, followers.name, same, namespace=NAMESPACE)
    hold_for(lambda: followers.clusters() == [], what="it does not look", seconds=9)
    change = {"metadata": {"annotations": {REFRESH: "another value"}}}
    followers.hub.patch(APPLICATION_SET, followers.name, change, namespace=NAMESPACE)
    followers.become(*SPOKES)
    wait_for(
        lambda: REFRESH not in followers.annotations(),
        what="the annotation is gone after success",
        seen=followers.annotations,
    )


def test_no_decision_at_all_is_an_error_that_deletes_nothing(followers: Followers) -> None:
    followers.begin()
    followers.hub.delete(DECISION, f"{followers.name}-decision-1", namespace=NAMESPACE)
    followers.look()
    followers.complains_and_keeps_both()


@pytest.mark.parametrize(
    ("template", "said"),
    [("{{.score}}", 'map has no entry for key "score"'), ("{{.name", "unclosed action")],
)
def test_a_template_that_fails_stops_the_whole_set(
    followers: Followers, template: str, said: str
) -> None:
    """OCM writes no score into a decision, so the key is missing."""
    followers.page(1, *SPOKES)
    followers.follow(labels={"told": template})
    followers.complains(said)
    assert followers.clusters() == []


def test_without_go_template_a_go_template_stays_as_it_is(followers: Followers) -> None:
    followers.begin("create-update")
    template = {"metadata": {"name": f"{followers.name}-told-{{{{name}}}}", "labels": {"at": "x"}}}
    change = {"spec": {"goTemplate": False, "template": template}}
    followers.hub.patch(APPLICATION_SET, followers.name, change, namespace=NAMESPACE)
    followers.complains("{{.name}}")


def test_a_set_takes_over_an_application_that_nobody_owns(
    followers: Followers, hub: Client
) -> None:
    """Those of rendered/argocd have no owner.

    The set writes its own source and project into one.
    """
    ours = f"{followers.name}-cluster1"
    source = {"repoURL": "https://git.example.invalid/fleet.git", "path": "rendered/delivery"}
    spec = {"project": "gitops-dsf", "source": source, "destination": {"name": "cluster2"}}
    hub.apply(manifest(APPLICATION, ours, namespace=NAMESPACE, spec=spec))
    try:
        followers.page(1, "cluster1")
        followers.follow("create-update")
        wait_for(
            lambda: hub.get(APPLICATION, ours, namespace=NAMESPACE)["spec"]["project"] == "default",
            what="the project is that of the set",
            seen=lambda: (
                hub.get(APPLICATION, ours, namespace=NAMESPACE)["spec"],
                followers.error(),
            ),
        )
        taken = hub.get(APPLICATION, ours, namespace=NAMESPACE)
        assert taken["spec"]["source"]["repoURL"] == "https://git.example.invalid/none.git"
        assert [owner["name"] for owner in taken["metadata"]["ownerReferences"]] == [followers.name]
    finally:
        followers.clear()
        hub.delete(APPLICATION, ours, namespace=NAMESPACE)
