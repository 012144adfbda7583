"""What Argo CD does with objects whose annotations steer it: the reason of DSF024."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import Client, manifest
from tests.hub.controlplane.applications import APPLICATION, refresh, state, wait_until_settled
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import GitRepository
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone

pytestmark = [pytest.mark.family("kubernetes", "argocd")]

CONFIG_MAP = "v1/ConfigMap"
HOOK = {"helm.sh/hook": "post-install", "helm.sh/hook-delete-policy": "hook-succeeded"}


@dataclass(frozen=True, kw_only=True)
class Applied:
    """An Application over the folder `applied` of a repository, with a namespace, all of one
    name.
    """

    hub: Client
    repository: GitRepository
    name: str

    def commit(self, **objects: str) -> str:
        """Adds files to the folder, and asks Argo CD to look; the commit's id."""
        head = self.repository.commit(
            {f"applied/{name}.json": text for name, text in objects.items()}
        )
        refresh(self.hub, self.name)
        return head

    def has(self, name: str) -> bool:
        return self.hub.find(CONFIG_MAP, name, namespace=self.name) is not None

    def settled(self, head: str) -> None:
        wait_until_settled(self.hub, self.name, revision=head)

    def hooks(self) -> list[tuple[str, str]]:
        """What the last sync ran as hooks, with their phase."""
        status = self.hub.get(APPLICATION, self.name, namespace="argocd")["status"]
        results = status["operationState"].get("syncResult", {}).get("resources", [])
        return [(one["name"], one["hookType"]) for one in results if one.get("hookType")]


@pytest.fixture
def applied(argocd: ArgoCD, git_server: GitServer, hub: Client) -> Iterator[Applied]:
    """With one ConfigMap. Its name is of this test alone."""
    name = f"hazard-{uuid.uuid4().hex[:8]}"
    repository = git_server.create(name)
    head = repository.commit({"applied/plain.json": config_map("plain")})
    hub.apply(manifest("v1/Namespace", name))
    spec = {
        "project": "default",
        "source": {"repoURL": repository.url, "path": "applied", "targetRevision": "main"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
        "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
    }
    hub.apply(manifest(APPLICATION, name, namespace="argocd", spec=spec))
    found = Applied(hub=hub, repository=repository, name=name)
    found.settled(head)
    yield found
    hub.delete(APPLICATION, name, namespace="argocd")
    wait_until_gone(hub, APPLICATION, name, namespace="argocd")
    hub.delete("v1/Namespace", name)


def config_map(name: str, **annotations: str) -> str:
    meta = {"annotations": annotations}
    return json.dumps(manifest(CONFIG_MAP, name, meta=meta, data={"any": "thing"}))


def test_hooks_of_helm_are_hooks_in_any_directory(applied: Applied) -> None:
    """They go as soon as they are healthy. The Application is Synced and Healthy without them."""
    applied.settled(applied.commit(hook=config_map("hook", **HOOK), more=config_map("more")))
    wait_for(lambda: applied.has("more"), what="the rest is applied")
    wait_for(
        lambda: applied.hooks() == [("hook", "PostSync")], what="it was a hook", seen=applied.hooks
    )
    wait_until_gone(applied.hub, CONFIG_MAP, "hook", namespace=applied.name)
    hold_for(lambda: not applied.has("hook"), what="nobody brings it back", seconds=3)
    found = state(applied.hub, applied.name)
    assert (found.sync, found.health) == ("Synced", "Healthy")


def test_an_object_that_becomes_a_hook_is_deleted(applied: Applied) -> None:
    """So an edit of two lines takes away what was there."""
    assert applied.has("plain")
    head = applied.commit(plain=config_map("plain", **HOOK), more=config_map("more"))
    wait_until_gone(applied.hub, CONFIG_MAP, "plain", namespace=applied.name)
    applied.settled(head)


def test_the_resource_policy_of_helm_outlives_the_application(applied: Applied) -> None:
    """Argo CD deletes the rest of what an Application with this finalizer has applied."""
    applied.settled(applied.commit(kept=config_map("kept", **{"helm.sh/resource-policy": "keep"})))
    cascade = {"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}}
    applied.hub.patch(APPLICATION, applied.name, cascade, namespace="argocd")
    applied.hub.delete(APPLICATION, applied.name, namespace="argocd")
    wait_until_gone(applied.hub, APPLICATION, applied.name, namespace="argocd")
    wait_until_gone(applied.hub, CONFIG_MAP, "plain", namespace=applied.name)
    assert applied.has("kept")
