"""Brings a hub with OCM and Argo CD to a running loop, and waits until it runs.

It applies the objects that Argo CD needs to begin: the AppProjects and Applications of
rendered/argocd, and the health checks. Then it waits for CRDs that are established, Applications
that are synced, and a reconciler that leads. Running it again changes nothing that is right.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.errors import HubError
from gitops_dsf.hub.names import POD_LABEL, RECONCILER
from gitops_dsf.installation.hub import ApplyOutcome, WritableHub, object_text, report
from gitops_dsf.installation.source import InstallSource
from gitops_dsf.installation.steps import InstallStep, application, definition, leadership
from gitops_dsf.schema.crd import crds

Manifest = Mapping[str, Any]
POLL_SECONDS: Final = 2.0
"""The time between two looks at the hub."""
ARGOCD: Final = "argoproj.io"


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
        # All objects are asked for: an admission policy that refuses one often refuses others, too.
        refused = []
        for manifest, force in self._objects():
            name = object_text(manifest["kind"], manifest)
            try:
                outcome = self.hub.apply(manifest, force=force, check=True)
            except HubError as error:
                refused.append(f"{name}: {error}")
                continue
            if not self.hub.dry_run:
                continue
            if outcome is ApplyOutcome.UNCHANGED:
                report(f"{name}: {outcome}")
            else:
                report(f"{name}: would be {outcome}")
        if refused:
            lines = "\n  ".join(refused)
            raise InstallError(
                f"the hub refuses what would be applied, so nothing was changed:\n  {lines}"
            )

    def apply(self) -> None:
        """Applies every object. Raises HubError."""
        for manifest, force in self._objects():
            outcome = self.hub.apply(manifest, force=force)
            report(f"{object_text(manifest['kind'], manifest)}: {outcome}")

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
            # The objects stay: Argo CD goes on, and a second run finds them.
            if time.monotonic() >= until:
                lines = "\n  ".join(f"{step.name}: {step.state}" for step in pending)
                raise InstallError(
                    f"the loop does not run after {seconds:.0f} s. What was applied stays, and Argo"
                    " CD tries on; run install again to wait longer, or doctor for the causes:\n "
                    f" {lines}"
                )
            time.sleep(POLL_SECONDS)

    def _objects(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """Each object, and whether its fields are ours alone, so that the apply may force them.

        The ConfigMap argocd-cm belongs to whoever runs Argo CD.
        """
        # Argo CD waits for a sync wave until its objects are healthy, so it must know first what
        # that means for OCM's kinds and ours.
        yield self.source.health_checks(), False
        for manifest in self.source.bootstrap:
            yield manifest, True

    def _steps(self) -> list[InstallStep]:
        """The steps that are waited for, with their present state."""
        settings = self.source.settings.spec
        steps = []
        if settings.delivers_works:
            for crd in crds():
                name = crd["metadata"]["name"]
                live = self._get("apiextensions.k8s.io", "CustomResourceDefinition", name)
                steps.append(definition(name, live))
        for manifest in self.source.bootstrap:
            if manifest["kind"] == "Application":
                metadata = manifest["metadata"]
                live = self._get(ARGOCD, "Application", metadata["name"], metadata["namespace"])
                steps.append(application(manifest, live))
        if settings.reconciler.enabled:
            namespace = settings.hub_namespace
            lease = self._get("coordination.k8s.io", "Lease", RECONCILER, namespace)
            deployment = self._get("apps", "Deployment", RECONCILER, namespace)
            pods = self.hub.list(f"/api/v1/namespaces/{namespace}/pods", labels=POD_LABEL)
            steps.append(leadership(lease, deployment=deployment, pods=pods, now=self.hub.now()))
        return steps

    def _get(self, group: str, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """A live object; None also if the hub does not serve its kind yet."""
        served = self.hub.kind(group, kind=kind)
        if served is None:
            return None
        return self.hub.live(served.path(namespace=namespace, name=name))
