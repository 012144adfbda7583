"""The hub as the agent sees it.

AddOnPlacementScores, and an upstream agent that writes them, too.
"""

import base64
import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from dsf_agent.publish.store import ScoredCondition
from dsf_wire.constants import AGENT_NAMESPACE
from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.agent.scorewrites import timestamp
from tests.support.apiserver import SCORES, FakeApiServer, Object, failure, kubeconfig
from tests.support.inmemory import InMemory

UPSTREAM: Final = "dynamic-scoring-agent"
"""The field manager of an upstream agent, which is the name of its program."""
HAS_SCORES: Final = ScoredCondition(holds=True, reason="Scored", message="", since=1.7e9)
"""The condition that is written with scores."""
BASE: Final = "/apis/cluster.open-cluster-management.io/v1alpha1"


class ScoreHub(InMemory, FakeApiServer):
    """A hub with scores, by (cluster, name), or a managed cluster with Secrets and ConfigMaps."""

    def secret(self, name: str, **values: str) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        self.put("secrets", name, namespace=AGENT_NAMESPACE, data=data)

    def config(self, name: str, data: Mapping[str, str]) -> None:
        self.put("configmaps", name, namespace=AGENT_NAMESPACE, data=data)

    @property
    def scores(self) -> dict[tuple[str, str], Object]:
        return {key[1:]: item for key, item in self.objects.items() if key[0] == SCORES}

    def values(self, name: str, *, namespace: str = "c1") -> dict[str, int]:
        status = self.scores.get((namespace, name), {}).get("status") or {}
        return {item["name"]: item["value"] for item in status.get("scores", [])}

    def upstream_writes(self, name: str, values: Mapping[str, int]) -> None:
        """As the upstream agent: a create, whose status the API server drops, then updates."""
        collection = f"{BASE}/namespaces/c1/{SCORES}"
        plain: dict[str, Any] = {"metadata": {"name": name, "namespace": "c1"}}
        if ("c1", name) not in self.scores:
            self._upstream("POST", collection, plain)
        plain = copy.deepcopy(self.scores["c1", name])
        plain.setdefault("status", {})["scores"] = [
            {"name": item, "value": value} for item, value in values.items()
        ]
        self._upstream("PUT", f"{collection}/{name}/status", plain)

    def _upstream(self, method: str, target: str, plain: Object) -> None:
        headers = {
            "authorization": f"Bearer {self.token}",
            "user-agent": f"{UPSTREAM}/v0.0.0 (linux/amd64)",
            "content-type": "application/json",
        }
        reply = self.answered(
            RecordedRequest(
                method=method,
                target=target,
                headers=headers,
                body=json.dumps(plain).encode(),
                at=self.now(),
            )
        )
        assert isinstance(reply, SentReply)
        assert reply.status < 300, reply.body


__all__ = ["ScoreHub", "failure", "kubeconfig", "timestamp"]
