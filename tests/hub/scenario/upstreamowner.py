"""A hub where upstream's framework owns the CRDs and the status of DynamicScorers, played back."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.waiting import CRD, remove_kinds, wait_until_served
from tests.hub.scenario.fleet import DYNAMIC_SCORER
from tests.hub.scenario.reconciling import HUB_NAMESPACE
from tests.support import upstream

OPERATOR = "multiclusterhub-operator"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The program that owns the CRDs."""

    hub: Client

    def rewrite(self) -> None:
        """An update of both CRDs, as it renders them."""
        for definition in upstream.crds():
            path = self.hub.path(CRD, definition["metadata"]["name"])
            live = self.hub.request("GET", path)
            body = {**live, "spec": definition["spec"]}
            self._update(path, body)

    def probe(self, names: list[str], *, health: str = "Inactive") -> None:
        """The status as upstream's controller writes it: with the fields of its own Go type."""
        for name in names:
            path = self.hub.path(DYNAMIC_SCORER, name, namespace=HUB_NAMESPACE)
            live = self.hub.request("GET", path)
            if live.get("status", {}).get("healthStatus") == health:
                continue
            self._update(f"{path}/status", {**live, "status": {"healthStatus": health}})

    def _update(self, path: str, body: Object) -> None:
        try:
            self.hub.request("PUT", path, body=body, parameters={"fieldManager": OPERATOR})
        except ApiError as error:
            if error.code != 409:
                raise
            # Another writer was first. It tries again in its next round.


@contextmanager
def upstreams_crds(hub: Client) -> Iterator[Owner]:
    """Ours of earlier modules go first, and theirs at the end."""
    names = [definition["metadata"]["name"] for definition in upstream.crds()]
    remove_kinds(hub, names)
    for definition in upstream.crds():
        hub.create(definition)
        wait_until_served(hub, [definition])
    try:
        yield Owner(hub=hub)
    finally:
        remove_kinds(hub, names)


def kept_status(hub: Client, name: str) -> dict[str, Any]:
    """What the ConfigMap of statuses has of a scorer."""
    stored = hub.find("v1/ConfigMap", "gitops-dsf-status", namespace=HUB_NAMESPACE)
    return dict(json.loads((stored or {}).get("data", {}).get(name, "{}")))


def conditions(status: dict[str, Any]) -> set[str]:
    return {item["type"] for item in status.get("conditions", [])}
