"""Brings a hub with OCM and Argo CD to a running loop.

It applies what Argo CD needs to begin: the AppProjects and Applications of rendered/argocd, and the
health checks. Then it waits for CRDs that are established, Applications that are synced, and a
reconciler that leads. Running it again changes nothing that is right.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gitops_dsf.argocd.failures import failure_of
from gitops_dsf.errors import HubError
from gitops_dsf.hub.names import POD_LABEL, RECONCILER
from gitops_dsf.hub.programs.leadership import read_lease_claim
from gitops_dsf.hub.programs.pods import obstacles
from gitops_dsf.installation.hub import ApplyOutcome, WritableHub, object_text, report
from gitops_dsf.installation.source import InstallSource
from gitops_dsf.schema.crd import crds
from gitops_dsf.views.doctor.objects import condition

Manifest = Mapping[str, Any]
POLL_SECONDS: Final = 2.0
ARGOCD: Final = "argoproj.io"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that is waited for."""

    name: str
    done: bool
    state: str
    """Its state in words for people."""


def definition(name: str, item: Manifest | None) -> Step:
    """Our kind: the hub serves it once its CRD is established."""
    established = condition(item or {}, "Established")
    done = established is not None and established.get("status") == "True"
    if item is None:
        state = "not there yet"
    elif done:
        state = "established"
    else:
        state = "not established yet"
    return Step(name=f"CustomResourceDefinition {name}", done=done, state=state)


def application(wanted: Manifest, item: Manifest | None) -> Step:
    """Done when Argo CD has applied the wanted source.

    Health is not waited for: it depends on clusters.
    """
    name = f"Application {wanted['metadata']['name']}"
    status: Manifest = (item or {}).get("status") or {}
    sync = status.get("sync") or {}
    operation = status.get("operationState") or {}
    failure = failure_of(status)
    if not failure and operation.get("phase") != "Succeeded":
        failure = operation.get("message") or ""
    compared = (sync.get("comparedTo") or {}).get("source") or {}
    source = wanted["spec"]["source"]
    if any(compared.get(field) != source[field] for field in source):
        return Step(
            name=name, done=False, state=failure or "Argo CD has not compared it with git yet"
        )
    done = sync.get("status") == "Synced" and operation.get("phase", "Succeeded") == "Succeeded"
    health = (status.get("health") or {}).get("status")
    state = ", ".join(filter(None, (sync.get("status"), health)))
    if not done and failure:
        state = f"{state}: {failure}"
    return Step(name=name, done=done, state=state)


def leadership(
    lease: Manifest | None, *, deployment: Manifest | None, pods: Iterable[Manifest], now: datetime
) -> Step:
    """The reconciler works once a pod is ready and a replica holds the Lease."""
    name = "reconciler"
    if deployment is None:
        return Step(name=name, done=False, state="its Deployment is not there yet")
    if not (deployment.get("status") or {}).get("readyReplicas"):
        image = deployment["spec"]["template"]["spec"]["containers"][0].get("image")
        why = "; ".join(obstacles(pods)) or f"its image is {image}"
        return Step(name=name, done=False, state=f"no pod is ready; {why}")
    held = read_lease_claim(lease or {})
    if held.holder and held.stands(now):
        return Step(name=name, done=True, state=f"{held.holder} leads")
    return Step(name=name, done=False, state="no replica leads yet")


class InstallError(HubError):
    """The hub refused an object, or the loop does not run in time."""


@dataclass(frozen=True, kw_only=True)
class Installer:
    """Applies the bootstrap of a repository to a hub, and waits until the loop runs."""

    hub: WritableHub
    source: InstallSource

    def check(self) -> None:
        """Lets the hub validate every object, without storing any.

        Raises InstallError with all refusals.
        """
        refused = []
        for item, force in self._objects():
            try:
                change = self.hub.apply(item, force=force, check=True)
            except HubError as error:
                refused.append(f"{object_text(item['kind'], item)}: {error}")
                continue
            if self.hub.dry_run:
                would = "" if change is ApplyOutcome.UNCHANGED else "would be "
                report(f"{object_text(item['kind'], item)}: {would}{change}")
        if refused:
            lines = "\n  ".join(refused)
            raise InstallError(
                f"the hub refuses what would be applied, so nothing was changed:\n  {lines}"
            )

    def apply(self) -> None:
        """Applies every object. Raises HubError."""
        for item, force in self._objects():
            report(f"{object_text(item['kind'], item)}: {self.hub.apply(item, force=force)}")

    def wait(self, *, seconds: float) -> None:
        """Waits until the loop runs. Raises InstallError with what is missing after this time."""
        until = time.monotonic() + seconds
        reported: dict[str, str] = {}
        while True:
            steps = self._steps()
            for step in steps:
                if reported.get(step.name) != step.state:
                    reported[step.name] = step.state
                    report(f"{step.name}: {step.state}")
            pending = [step for step in steps if not step.done]
            if not pending:
                return
            if time.monotonic() >= until:
                lines = "\n  ".join(f"{step.name}: {step.state}" for step in pending)
                raise InstallError(
                    f"the loop does not run after {seconds:.0f} s. What was applied stays, and Argo"
                    " CD tries"
                    f" on; run install again to wait longer, or doctor for the causes:\n  {lines}"
                )
            time.sleep(POLL_SECONDS)

    def _objects(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """Each object, and whether its fields are ours alone.

        The ConfigMap argocd-cm belongs to whoever runs Argo CD.
        """
        yield self.source.health_checks(), False
        for item in self.source.bootstrap:
            yield item, True

    def _steps(self) -> list[Step]:
        settings = self.source.settings.spec
        steps = []
        if settings.delivery.mode == "ManifestWork":
            for crd in crds():
                name = crd["metadata"]["name"]
                live = self._get("apiextensions.k8s.io", "CustomResourceDefinition", name)
                steps.append(definition(name, live))
        for item in self.source.bootstrap:
            if item["kind"] == "Application":
                metadata = item["metadata"]
                live = self._get(ARGOCD, "Application", metadata["name"], metadata["namespace"])
                steps.append(application(item, live))
        if settings.delivery.mode == "ManifestWork" and settings.reconciler.enabled:
            namespace = settings.hub_namespace
            lease = self._get("coordination.k8s.io", "Lease", RECONCILER, namespace)
            deployment = self._get("apps", "Deployment", RECONCILER, namespace)
            pods = self.hub.list(f"/api/v1/namespaces/{namespace}/pods", labels=POD_LABEL)
            steps.append(leadership(lease, deployment=deployment, pods=pods, now=self.hub.now()))
        return steps

    def _get(self, group: str, kind: str, name: str, namespace: str = "") -> Manifest | None:
        served = self.hub.kind(group, kind=kind)
        if served is None:
            return None
        return self.hub.live(served.path(namespace=namespace, name=name))
