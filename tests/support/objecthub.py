"""The hub as the reconciler sees it: its client of the API server, with a claim on the Lease."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsf_runtime.access import Access
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.reconciler.hub.api import HubApi
from tests.support.apiserver import TOKEN, ApiServer
from tests.support.hubobjects import ARGOCD
from tests.support.inmemory import InMemory
from tests.support.virtual_time import wall


@dataclass(kw_only=True)
class FixedClaim:
    """The remaining time of a lease, which the test sets."""

    seconds: float = 1000.0

    def left(self) -> float:
        return self.seconds


class ObjectHub(InMemory, ApiServer):
    """Makes clients of itself."""

    def api(
        self, *, claim: FixedClaim | None = None, token: Callable[[], str] = lambda: TOKEN
    ) -> HubApi:
        """By default the replica has led for a long time."""
        left = (claim or FixedClaim()).left
        return HubApi(load=lambda: self.access(token()), left=left, timeout_seconds=20, wall=wall)

    def access(self, token: str = TOKEN) -> Access:
        """The way to this server."""
        trust = ssl.create_default_context()
        return Access(host=self.url, trust=trust, authorization=f"Bearer {token}", proxy=None)

    def decide(self, placement: str, *clusters: str, **metadata: Any) -> None:
        """The only page of a decision in the namespace of Argo CD."""
        self.put(
            "placementdecisions",
            f"{placement}-decision-1",
            namespace=ARGOCD,
            kind="PlacementDecision",
            metadata={"labels": {PLACEMENT_LABEL: placement}, **metadata},
            status={"decisions": [{"clusterName": name, "reason": ""} for name in clusters]},
        )

    def events(self, reason: str, kind: str = "") -> list[str]:
        """Messages in the order of writing; of one kind (Normal or Warning) if it is given."""
        return [
            item["message"]
            for (plural, _, _), item in self.objects.items()
            if plural == "events" and item["reason"] == reason and kind in {"", item["type"]}
        ]
