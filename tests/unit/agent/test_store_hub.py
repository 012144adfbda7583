"""The memory of a write with many items, and writes that are not sent."""

import tracemalloc
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import AgentError, Reason
from dsf_agent.publish.hub import HubStore
from dsf_runtime.access import Access
from dsf_runtime.apiserver import APPLY
from dsf_wire.constants import MAX_SCORE_ITEMS
from tests.support.virtual_time import LoopClock

ITEMS: Mapping[str, int] = {f"app-{number}": number % 90 for number in range(10_000)}


def no_access() -> Access:
    raise AssertionError


class Answered(ApiServer):
    def __init__(self) -> None:
        super().__init__(load=no_access, clock=LoopClock(), timeout_seconds=1)
        fields = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}, "f:value": {}} for name in ITEMS}
        entry = {
            "manager": "gitops-dsf-agent",
            "operation": "Apply",
            "subresource": "status",
            "fieldsV1": {"f:status": {"f:scores": fields}},
        }
        labels = {"app.kubernetes.io/managed-by": "gitops-dsf-agent", "gitops-dsf.io/scorer": "cpu"}
        status = {
            "scores": [{"name": name, "value": value} for name, value in ITEMS.items()],
            "validUntil": "2026-06-01T12:00:00Z",
        }
        self.body = msgspec.json.encode(
            {"metadata": {"name": "cpu", "labels": labels, "managedFields": [entry]}, "status": status}
        )
        self.applies = 0

    async def call(self, method: str, path: str, **how: Any) -> Any:
        del method, path
        self.applies += how.get("content_type") == APPLY
        return msgspec.json.decode(self.body, type=how.get("shape", dict[str, Any]))


async def test_the_answer_to_a_write_of_many_items_is_not_decoded_to_dictionaries() -> None:
    """It has three times the bytes of the request, and needs 7 MB as dictionaries."""
    server = Answered()
    store = HubStore(server=server, cluster="c1")
    await store.write("cpu", scorer="cpu", values=ITEMS, valid_until=1_800_000_000.0)
    tracemalloc.start()
    try:
        await store.write("cpu", scorer="cpu", values=ITEMS, valid_until=1_800_000_000.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert server.applies == 2
    assert peak < 3_000_000


async def test_scores_that_the_hubs_policy_refuses_are_not_sent() -> None:
    server = Answered()
    store = HubStore(server=server, cluster="c1", limit=10**9)
    values = {f"{number}": 1 for number in range(MAX_SCORE_ITEMS + 1)}
    with pytest.raises(AgentError, match="20001 items, the limit is 20000; use a coarser") as caught:
        await store.write("cpu", scorer="cpu", values=values, valid_until=1_800_000_000.0)
    assert caught.value.reason is Reason.TOO_LARGE
    assert server.applies == 0
