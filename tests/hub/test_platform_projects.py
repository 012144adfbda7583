"""The AppProjects of the platform take no Application of anybody else.

None takes the place of ours, either.

The projects, the policy and the Applications are those of rendered/argocd; Argo CD's own controller
of ApplicationSets asks. The fleet repository has a branch that anybody may push, with a
ManifestWork in it.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.applications import (
    APPLICATION,
    APPLICATION_SET,
    error_of,
    refresh,
    state,
)
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone
from tests.hub.scenario.fleet import new_fleet
from tests.hub.scenario.installation import WORK, Installation

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

NAMESPACE, CONTROLLER = "argocd", "argocd-applicationset-controller"
HUB = "https://kubernetes.default.svc"
WORKS = "gitops-dsf-works-00"
ONLY_OURS = "only the Applications of rendered/argocd may be in the AppProjects of gitops-dsf"
AS_RENDERED = (
    "the Applications of gitops-dsf take project, repository, branch and path from rendered/argocd"
)

Follow = Callable[..., None]
"""Writes an ApplicationSet."""


@dataclass(frozen=True, kw_only=True)
class Platform:
    """What people apply of a fleet, with one Application, that of the works.

    It syncs nothing by itself.
    """

    hub: Client
    url: str
    spec: Object
    """Of that Application."""

    def source(self, **changes: str) -> Object:
        """What somebody would like to have applied with the platform's rights."""
        return {"repoURL": self.url, "targetRevision": "anybody", "path": "evil", **changes}

    def live(self) -> Object:
        found = self.hub.get(APPLICATION, WORKS, namespace=NAMESPACE)
        return {"spec": found["spec"], "owners": found["metadata"].get("ownerReferences", [])}


@pytest.fixture(scope="module")
def platform(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[Platform]:
    fleet = new_fleet(git_server, "projects", guestbook=False)
    fleet.configure(output={"shards": 100})  # the largest policy: it knows every Application
    fleet.render()
    fleet.publish("Render")
    git("checkout", "--quiet", "-b", "anybody", folder=fleet.root)
    fleet.write(
        "evil/work.yaml", manifest(WORK, "evil", namespace="cluster2", spec={"workload": {}})
    )
    git("add", "--all", folder=fleet.root)
    git("commit", "--quiet", "--message", "Take the fleet over", folder=fleet.root)
    git("push", "--quiet", "origin", "anybody", folder=fleet.root)
    git("checkout", "--quiet", "main", folder=fleet.root)
    bootstrap = [item for _, item in fleet.objects("argocd")]
    [works] = [item for item in bootstrap if item["metadata"]["name"] == WORKS]
    del works["spec"]["syncPolicy"]
    others = [item for item in bootstrap if item["kind"] != "Application"]
    try:
        for item in others:
            hub.apply(item)
        Installation(fleet=fleet, plane=control_plane).wait_for_policies()
        hub.apply(works)
        yield Platform(hub=hub, url=fleet.repository.url, spec=works["spec"])
    finally:
        hub.delete(APPLICATION, WORKS, namespace=NAMESPACE)
        wait_until_gone(hub, APPLICATION, WORKS, namespace=NAMESPACE)
        for item in others:
            hub.delete(
                f"{item['apiVersion']}/{item['kind']}",
                item["metadata"]["name"],
                namespace=item["metadata"].get("namespace"),
            )


@pytest.fixture
def name() -> str:
    """Of an ApplicationSet and its Application: of this test alone."""
    return f"team-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def follow(platform: Platform, name: str) -> Iterator[Follow]:
    """Writes an ApplicationSet of one Application, whose spec is given."""

    def write(spec: Object, *, own: Object | None = None, application: str = name) -> None:
        generator = {"list": {"elements": [{"any": "thing"}], **({"template": own} if own else {})}}
        template = {"metadata": {"name": application}, "spec": spec}
        whole = {"generators": [generator], "template": template}
        platform.hub.apply(manifest(APPLICATION_SET, name, namespace=NAMESPACE, spec=whole))

    yield write
    platform.hub.delete(APPLICATION_SET, name, namespace=NAMESPACE)
    wait_until_gone(platform.hub, APPLICATION_SET, name, namespace=NAMESPACE)


def refused(platform: Platform, name: str, why: str) -> None:
    """The set complains so, and nothing came of it."""
    hub = platform.hub
    wait_for(
        lambda: why in error_of(hub, name), what="it is refused", seen=lambda: error_of(hub, name)
    )
    hold_for(
        lambda: (
            hub.find(APPLICATION, name, namespace=NAMESPACE) is None
            and hub.find(WORK, "evil", namespace="cluster2") is None
        ),
        what="nothing came of it",
        seconds=3,
    )


@pytest.mark.parametrize("project", ["gitops-dsf", "gitops-dsf-works"])
@pytest.mark.parametrize("by", ["template", "generator"])
def test_an_application_set_does_not_use_the_rights_of_the_platform(
    platform: Platform, follow: Follow, name: str, project: str, by: str
) -> None:
    automated = {"automated": {"prune": True}}
    spec = {"source": platform.source(), "destination": {"server": HUB}, "syncPolicy": automated}
    own = {"metadata": {}, "spec": {"project": project, "destination": {}}}
    if by == "template":
        follow({**spec, "project": project})
    else:
        follow({**spec, "project": "default"}, own=own)
    refused(platform, name, ONLY_OURS)


def test_an_application_set_does_not_take_the_platforms_application_over(
    platform: Platform, follow: Follow, name: str
) -> None:
    """The controller makes an Application of the generated name its own if nobody owns it.

    With another source in it, Argo CD would prune all works.
    """
    before = platform.live()
    spec = {"project": "default", "source": platform.source(), "destination": {"server": HUB}}
    follow(spec, application=WORKS)
    refused(platform, name, AS_RENDERED)
    assert platform.live() == before
    follow(platform.spec, application=WORKS)  # the same in every field: it would go with the set
    refused(platform, name, AS_RENDERED)
    assert platform.live() == before


def test_an_application_of_a_team_does_not_move_into_a_project_of_the_platform(
    platform: Platform, follow: Follow, name: str
) -> None:
    hub = platform.hub
    spec = {
        "project": "default",
        "source": platform.source(path="none"),
        "destination": {"server": HUB},
    }
    follow(spec)
    wait_for(
        lambda: hub.find(APPLICATION, name, namespace=NAMESPACE),
        what="a team's Application is made",
    )
    follow({**spec, "project": "gitops-dsf-works"})
    wait_for(
        lambda: ONLY_OURS in error_of(hub, name),
        what="it is refused",
        seen=lambda: error_of(hub, name),
    )
    assert hub.get(APPLICATION, name, namespace=NAMESPACE)["spec"]["project"] == "default"


def test_a_template_patch_does_not_change_the_project(
    platform: Platform, follow: Follow, name: str
) -> None:
    """Argo CD keeps it (docs/contributing/behaviour.md#template-patches)."""
    hub = platform.hub
    spec = {
        "project": "default",
        "source": platform.source(path="none"),
        "destination": {"server": HUB},
    }
    follow(spec)
    wait_for(lambda: hub.find(APPLICATION, name, namespace=NAMESPACE), what="it is made")
    patch = "metadata: {labels: {patched: 'yes'}}\nspec: {project: gitops-dsf-works}"
    hub.patch(APPLICATION_SET, name, {"spec": {"templatePatch": patch}}, namespace=NAMESPACE)

    def patched() -> bool:
        found = hub.get(APPLICATION, name, namespace=NAMESPACE)["metadata"]
        return bool(found.get("labels", {}).get("patched") == "yes")

    wait_for(patched, what="the patch is there", seen=lambda: error_of(hub, name))
    assert hub.get(APPLICATION, name, namespace=NAMESPACE)["spec"]["project"] == "default"


@pytest.fixture(scope="module")
def controller(platform: Platform, control_plane: ControlPlane) -> Iterator[Client]:
    """The rights of Argo CD's controller of ApplicationSets: to write Applications, and no
    AppProjects.
    """
    with Client(control_plane.hub.service_account_kubeconfig(NAMESPACE, CONTROLLER)) as client:
        yield client


def answer(client: Client, change: Object, *, name: str = WORKS) -> str:
    """What the hub says to this Application, by a dry run; nothing if it takes it."""
    item = manifest(APPLICATION, name, namespace=NAMESPACE, **change)
    try:
        client.apply(item, dry_run=True)
    except ApiError as error:
        return error.message
    return ""


def test_only_what_is_rendered_is_taken_from_others(platform: Platform, controller: Client) -> None:
    spec = platform.spec
    with_source = [
        {"targetRevision": "anybody"},
        {"targetRevision": "0123456789012345678901234567890123456789"},
        {"path": "evil"},
        {"path": "rendered/platform"},
        {"repoURL": "https://git.example.com/other.git"},
    ]
    for change in with_source:
        assert AS_RENDERED in answer(
            controller, {"spec": {**spec, "source": {**spec["source"], **change}}}
        )
    others: list[Object] = [
        {"sources": [platform.source()]},
        {"project": "gitops-dsf"},
        {"project": "default"},
    ]
    for change in others:
        assert AS_RENDERED in answer(controller, {"spec": {**spec, **change}})
    for project in ("gitops-dsf", "gitops-dsf-works"):
        for name in ("evil", "gitops-dsf-works-100", "gitops-dsf-works", "gitops-dsf"):
            assert ONLY_OURS in answer(
                controller, {"spec": {**spec, "project": project}}, name=name
            )


def test_what_is_rendered_and_what_has_no_part_in_it_is_taken(
    platform: Platform, controller: Client
) -> None:
    spec = platform.spec
    assert answer(controller, {"spec": spec}) == ""
    assert (
        answer(controller, {"spec": {**spec, "syncPolicy": {"automated": {"prune": False}}}}) == ""
    )
    team = {**spec, "project": "default", "source": platform.source()}
    for name in ("team", "gitops-dsf-works-100", "gitops-dsf"):
        assert answer(controller, {"spec": team}, name=name) == ""
    note = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
    controller.patch(APPLICATION, WORKS, note, namespace=NAMESPACE, dry_run=True)


def test_administrators_may_do_what_they_may_do_to_the_projects(platform: Platform) -> None:
    """They could change the AppProjects as well.

    In an emergency they pin a commit, or stop a sync.
    """
    spec, hub = platform.spec, platform.hub
    assert (
        answer(hub, {"spec": {**spec, "source": {**spec["source"], "targetRevision": "v1"}}}) == ""
    )
    assert answer(hub, {"spec": spec}, name="by-hand") == ""
    owner = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "name": "a",
        "uid": "b",
    }
    generated = manifest(
        APPLICATION, "by-hand", namespace=NAMESPACE, meta={"ownerReferences": [owner]}, spec=spec
    )
    with pytest.raises(ApiError, match=ONLY_OURS):
        hub.apply(generated, dry_run=True)


def test_argocd_goes_on_to_write_the_state_of_the_platforms_applications(
    platform: Platform,
) -> None:
    hub = platform.hub
    refresh(hub, WORKS)

    def compared() -> bool:
        """Argo CD takes the annotation away when it writes the result."""
        found = hub.get(APPLICATION, WORKS, namespace=NAMESPACE)["metadata"]
        return "argocd.argoproj.io/refresh" not in found.get("annotations", {})

    wait_for(compared, what="it is compared with git", seen=lambda: state(hub, WORKS))
    assert state(hub, WORKS).sync == "Synced"


def test_an_application_that_is_no_longer_rendered_can_go(
    platform: Platform, controller: Client
) -> None:
    """The policy of a fleet with fewer shards does not know its name.

    What only takes a finalizer away changes no spec.
    """
    hub, name = platform.hub, "gitops-dsf-works-100"
    finalizers = {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}
    spec = {**platform.spec, "source": platform.source(path="none")}
    hub.apply(manifest(APPLICATION, name, namespace=NAMESPACE, meta=finalizers, spec=spec))
    try:
        none: Object = {"metadata": {"finalizers": None}}
        controller.patch(APPLICATION, name, none, namespace=NAMESPACE, dry_run=True)
    finally:
        hub.delete(APPLICATION, name, namespace=NAMESPACE)
        wait_until_gone(hub, APPLICATION, name, namespace=NAMESPACE)
