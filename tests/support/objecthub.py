"""The hub as the reconciler sees it: its client of the API server, with a claim on the Lease."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsf_runtime.access import Access
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.reconciler.hub.api import HubApi
from tests.support import scorerlists
from tests.support.apiserver import TOKEN, FakeApiServer, Key, Object
from tests.support.hubobjects import ARGOCD
from tests.support.inmemory import InMemory
from tests.support.virtual_time import wall
from tests.support.withouttls import PLAIN


@dataclass(kw_only=True)
class FixedClaim:
    """The remaining time of a lease, which the test sets."""

    seconds: float = 1000.0

    def left(self) -> float:
        return self.seconds


class ObjectHub(InMemory, FakeApiServer):
    """Makes clients of itself.

    The list of scorers follows the DynamicScorers, as if one render had made both, until a test
    sets `lists_scorers` to False.
    """

    lists_scorers = True

    def _keep(self, key: Key, item: Object) -> None:
        super()._keep(key, item)
        if key[0] == "dynamicscorers" and self.lists_scorers:
            self.list_scorers(key[1])

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        if key[0] == "dynamicscorers" and self.lists_scorers:
            self.list_scorers(key[1])

    def list_scorers(self, namespace: str) -> None:
        """Renders the list anew."""
        scorers = [
            item
            for (plural, home, _), item in self.objects.items()
            if (plural, home) == ("dynamicscorers", namespace)
        ]
        self.put_list(
            scorerlists.config_maps(scorerlists.specs_of(scorers), namespace=namespace),
            namespace=namespace,
        )

    def put_list(self, config_maps: list[Object], *, namespace: str) -> None:
        """Applies and prunes the ConfigMaps of the list, as Argo CD does."""
        wanted = {item["metadata"]["name"]: item for item in config_maps}
        for plural, home, name in list(self.objects):
            is_part = name.startswith("gitops-dsf-scorers")
            if (plural, home) == ("configmaps", namespace) and is_part and name not in wanted:
                self._forget((plural, home, name))
        for name, item in wanted.items():
            stored = self.get("configmaps", name, namespace=namespace)
            if stored is None or stored["data"] != item["data"]:
                self._keep(("configmaps", namespace, name), copy.deepcopy(item))

    def api(
        self, *, claim: FixedClaim | None = None, token: Callable[[], str] = lambda: TOKEN
    ) -> HubApi:
        """By default the replica has led for a long time."""
        left = (claim or FixedClaim()).left
        return HubApi(load=lambda: self.access(token()), left=left, timeout_seconds=20, wall=wall)

    def access(self, token: str = TOKEN) -> Access:
        """The way to this server."""
        return Access(host=self.url, trust=PLAIN, authorization=f"Bearer {token}", proxy=None)

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
