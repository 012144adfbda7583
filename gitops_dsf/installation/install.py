"""From a hub with OCM and Argo CD to a running loop: what is applied, and what is waited for (CRDs that are
established, Applications that are synced, a reconciler that leads). Running it again changes nothing that is
right.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gitops_dsf.argocd import failure_of
from gitops_dsf.errors import HubError
from gitops_dsf.hub.names import POD_LABEL, RECONCILER
from gitops_dsf.hub.pods import obstacles, read_leadership
from gitops_dsf.installation.hub import Change, WritableHub, object_text, say
from gitops_dsf.installation.source import Source
from gitops_dsf.schema.crd import crds
from gitops_dsf.views.doctor.objects import condition

Object = Mapping[str, Any]
POLL_SECONDS: Final = 2.0
ARGOCD: Final = "argoproj.io"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that is waited for."""

    name: str
    done: bool
    state: str
    """Its state in words for people."""


def definition(name: str, item: Object | None) -> Step:
    """Our kind: the hub serves it once its CRD is established."""
    established = condition(item or {}, "Established")
    done = established is not None and established.get("status") == "True"
    state = "not there yet" if item is None else "established" if done else "not established yet"
    return Step(name=f"CustomResourceDefinition {name}", done=done, state=state)


def application(wanted: Object, item: Object | None) -> Step:
    """Done when Argo CD has applied the wanted source. Health is not waited for: it depends on clusters."""
    name = f"Application {wanted['metadata']['name']}"
    status: Object = (item or {}).get("status") or {}
    sync = status.get("sync") or {}
    operation = status.get("operationState") or {}
    said = failure_of(status) or (
        operation.get("phase") != "Succeeded" and operation.get("message")
    )
    compared = (sync.get("comparedTo") or {}).get("source") or {}
    source = wanted["spec"]["source"]
    if any(compared.get(field) != source[field] for field in source):
        return Step(name=name, done=False, state=said or "Argo CD has not compared it with git yet")
    done = sync.get("status") == "Synced" and operation.get("phase", "Succeeded") == "Succeeded"
    health = (status.get("health") or {}).get("status")
    state = ", ".join(filter(None, (sync.get("status"), health)))
    if not done and said:
        state = f"{state}: {said}"
    return Step(name=name, done=done, state=state)


def leadership(
    lease: Object | None, *, deployment: Object | None, pods: Iterable[Object], now: datetime
) -> Step:
    """The reconciler works once a pod is ready and a replica holds the Lease, which outlives pods."""
    name = "reconciler"
    if deployment is None:
        return Step(name=name, done=False, state="its Deployment is not there yet")
    if not (deployment.get("status") or {}).get("readyReplicas"):
        image = deployment["spec"]["template"]["spec"]["containers"][0].get("image")
        why = "; ".join(obstacles(pods)) or f"its image is {image}"
        return Step(name=name, done=False, state=f"no pod is ready; {why}")
    found = read_leadership(lease or {})
    if found.holder and found.stands(now):
        return Step(name=name, done=True, state=f"{found.holder} leads")
    return Step(name=name, done=False, state="no replica leads yet")


class InstallError(HubError):
    """The hub refused an object, or the loop does not run in time."""


@dataclass(frozen=True, kw_only=True)
class Installer:
    """Applies the bootstrap of a repository to a hub, and waits until the loop runs."""

    hub: WritableHub
    source: Source

    def check(self) -> None:
        """Lets the hub validate every object, without storing any. Raises InstallError with all refusals."""
        refused = []
        for item, force in self._objects():
            try:
                change = self.hub.apply(item, force=force, check=True)
            except HubError as error:
                refused.append(f"{object_text(item['kind'], item)}: {error}")
                continue
            if self.hub.dry_run:
                would = "" if change is Change.UNCHANGED else "would be "
                say(f"{object_text(item['kind'], item)}: {would}{change}")
        if refused:
            lines = "\n  ".join(refused)
            raise InstallError(
                f"the hub refuses what would be applied, so nothing was changed:\n  {lines}"
            )

    def apply(self) -> None:
        """Applies every object. Raises HubError."""
        for item, force in self._objects():
            say(f"{object_text(item['kind'], item)}: {self.hub.apply(item, force=force)}")

    def wait(self, *, seconds: float) -> None:
        """Waits until the loop runs. Raises InstallError with what is missing after this time."""
        until, told = time.monotonic() + seconds, dict[str, str]()
        while True:
            steps = self._steps()
            for step in steps:
                if told.get(step.name) != step.state:
                    told[step.name] = step.state
                    say(f"{step.name}: {step.state}")
            left = [step for step in steps if not step.done]
            if not left:
                return
            if time.monotonic() >= until:
                lines = "\n  ".join(f"{step.name}: {step.state}" for step in left)
                raise InstallError(
                    f"the loop does not run after {seconds:.0f} s. What was applied stays, and Argo CD tries"
                    f" on; run install again to wait longer, or doctor for the causes:\n  {lines}"
                )
            time.sleep(POLL_SECONDS)

    def _objects(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """Each object, and whether its fields are ours alone: argocd-cm belongs to whoever runs Argo CD."""
        yield self.source.health_checks(), False
        for item in self.source.bootstrap:
            yield item, True

    def _steps(self) -> list[Step]:
        settings = self.source.settings.spec
        found = []
        if settings.delivery.mode == "ManifestWork":
            found = [
                definition(
                    name, self._get("apiextensions.k8s.io", "CustomResourceDefinition", name)
                )
                for name in (crd["metadata"]["name"] for crd in crds())
            ]
        for item in self.source.bootstrap:
            if item["kind"] == "Application":
                metadata = item["metadata"]
                live = self._get(ARGOCD, "Application", metadata["name"], metadata["namespace"])
                found.append(application(item, live))
        if settings.delivery.mode == "ManifestWork" and settings.reconciler.enabled:
            namespace = settings.hub_namespace
            lease = self._get("coordination.k8s.io", "Lease", RECONCILER, namespace)
            deployment = self._get("apps", "Deployment", RECONCILER, namespace)
            pods = self.hub.list(f"/api/v1/namespaces/{namespace}/pods", labels=POD_LABEL)
            found.append(leadership(lease, deployment=deployment, pods=pods, now=self.hub.now()))
        return found

    def _get(self, group: str, kind: str, name: str, namespace: str = "") -> Object | None:
        served = self.hub.kind(group, kind=kind)
        return (
            None if served is None else self.hub.live(served.path(namespace=namespace, name=name))
        )
