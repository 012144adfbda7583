"""From a hub with OCM and Argo CD to a running loop. Running it again changes nothing that is right."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.errors import HubError
from gitops_dsf.hub.names import POD_LABEL, RECONCILER
from gitops_dsf.installation import progress
from gitops_dsf.installation.hub import Change, WritableHub, object_text
from gitops_dsf.installation.progress import Step
from gitops_dsf.installation.source import Source
from gitops_dsf.schema.crd import crds

Object = dict[str, Any]
Say = Callable[[str], None]
POLL_SECONDS: Final = 2.0
ARGOCD: Final = "argoproj.io"


class InstallError(HubError):
    """The hub refused an object, or the loop does not run in time."""


@dataclass(frozen=True, kw_only=True)
class Installer:
    """Applies the bootstrap of a repository to a hub, and waits until the loop runs."""

    hub: WritableHub
    source: Source
    say: Say

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
                self.say(f"{object_text(item['kind'], item)}: {would}{change}")
        if refused:
            lines = "\n  ".join(refused)
            raise InstallError(f"the hub refuses what would be applied, so nothing was changed:\n  {lines}")

    def apply(self) -> None:
        """Applies every object. Raises HubError."""
        for item, force in self._objects():
            self.say(f"{object_text(item['kind'], item)}: {self.hub.apply(item, force=force)}")

    def wait(self, *, seconds: float) -> None:
        """Waits until the loop runs. Raises InstallError with what is missing after this time."""
        until, told = time.monotonic() + seconds, dict[str, str]()
        while True:
            steps = self._steps()
            for step in steps:
                if told.get(step.name) != step.state:
                    told[step.name] = step.state
                    self.say(f"{step.name}: {step.state}")
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

    def _objects(self) -> Iterator[tuple[Object, bool]]:
        """Each object, and whether its fields are ours alone: argocd-cm belongs to whoever runs Argo CD."""
        yield self.source.health_checks(), False
        for item in self.source.bootstrap:
            yield item, True

    def _steps(self) -> list[Step]:
        settings = self.source.settings.spec
        found = []
        if settings.delivery.mode == "ManifestWork":
            found = [
                progress.definition(name, self._get("apiextensions.k8s.io", "CustomResourceDefinition", name))
                for name in (crd["metadata"]["name"] for crd in crds())
            ]
        for item in self.source.bootstrap:
            if item["kind"] == "Application":
                metadata = item["metadata"]
                live = self._get(ARGOCD, "Application", metadata["name"], metadata["namespace"])
                found.append(progress.application(item, live))
        if settings.delivery.mode == "ManifestWork" and settings.reconciler.enabled:
            namespace = settings.hub_namespace
            found.append(
                progress.leadership(
                    self._get("coordination.k8s.io", "Lease", RECONCILER, namespace),
                    deployment=self._get("apps", "Deployment", RECONCILER, namespace),
                    pods=self.hub.list(f"/api/v1/namespaces/{namespace}/pods", labels=POD_LABEL),
                    now=self.hub.now(),
                )
            )
        return found

    def _get(self, group: str, kind: str, name: str, namespace: str = "") -> Object | None:
        served = self.hub.kind(group, kind=kind)
        return None if served is None else self.hub.live(served.path(namespace=namespace, name=name))
