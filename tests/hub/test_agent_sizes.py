"""The agent's limit for items of an AddOnPlacementScore: the hub stores what the agent sends, and would
refuse far more.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import AgentError, Reason
from dsf_agent.publish.hub import MAX_OBJECT_BYTES, HubStore
from dsf_agent.publish.hubobject import status_body, stored_bytes
from dsf_runtime.clock import SystemClock
from dsf_runtime.kubeconfig import Kubeconfig
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import ControlPlane

pytestmark = pytest.mark.family("kubernetes", "ocm")

NAMESPACE = "agent-sizes"


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane) -> Iterator[Path]:
    hub = control_plane.hub
    hub.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield hub.kubeconfig(ADMIN)
    hub.admin.delete("v1/Namespace", NAMESPACE)


def _items(count: int, *, length: int) -> dict[str, int]:
    return {f"{number:0{length}d}": number % 100 for number in range(count)}


def _most(*, length: int) -> int:
    """The largest number of items with names of this length that the agent sends."""
    low, high = 1, 50_000
    while low < high:
        middle = (low + high + 1) // 2
        body = status_body(
            _items(middle, length=length), name="most", namespace=NAMESPACE, valid_until=time.time()
        )
        low, high = (
            (middle, high) if stored_bytes(len(body), items=middle) <= MAX_OBJECT_BYTES else (low, middle - 1)
        )
    return low


@pytest.mark.parametrize(
    "length", [*(pytest.param(length, marks=pytest.mark.soak) for length in (6, 60)), 250]
)
def test_the_largest_object_that_it_sends_is_stored(
    kubeconfig: Path, length: int, note: Callable[[str], None]
) -> None:
    async def story() -> None:
        server = ApiServer(load=Kubeconfig(path=kubeconfig).load, clock=SystemClock(), timeout_seconds=60)
        try:
            store, most, name = (
                HubStore(server=server, cluster=NAMESPACE),
                _most(length=length),
                f"most-{length}",
            )
            for _ in range(2):
                await store.write(
                    name, scorer="sizes", values=_items(most, length=length), valid_until=time.time() + 900
                )
            stored = {one.name: one for one in await store.list_owned()}.get(name)
            assert stored is not None
            assert stored.values == _items(most, length=length)
            # Without the agent's own limit: a fifth more, and half as many again.
            unlimited = HubStore(server=server, cluster=NAMESPACE, limit=10**9)
            for part in (5, 2):
                too_many = _items(most + most // part, length=length)
                with pytest.raises(AgentError) as caught:
                    await unlimited.write(
                        f"more-{length}", scorer="sizes", values=too_many, valid_until=time.time() + 900
                    )
                assert caught.value.reason is Reason.TOO_LARGE, caught.value
                note(
                    f"an AddOnPlacementScore holds {most} items with names of {length} characters, not"
                    f" {len(too_many)}: {caught.value}"
                )
        finally:
            await server.close()

    asyncio.run(story())
