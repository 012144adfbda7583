"""One pass under the Lease (`reconcile --once`) against an API server over HTTP."""

import asyncio
import ssl

import pytest

from dsf_runtime.access import Access
from gitops_dsf.errors import HubError
from gitops_dsf.reconciler.lease import LEASE
from gitops_dsf.reconciler.run import run_once
from gitops_dsf.reconciler.settings import Settings
from tests.integration.reconciler.scorers.scorerhub import ARGOCD, NAMESPACE, ScorerHub
from tests.support.objecthub import ObjectHub
from tests.support.pageserver import PageServer


async def once(hub: ObjectHub, *, probe_timeout: float = 5.0) -> int:
    access = Access(host=hub.url, trust=ssl.create_default_context(), authorization="Bearer any", proxy=None)
    settings = Settings(
        hub_namespace=NAMESPACE,
        argocd_namespace=ARGOCD,
        metrics_host="127.0.0.1",
        metrics_port=0,
        probe_interval=30.0,
        probe_timeout=probe_timeout,
    )
    return await run_once(settings, load=lambda: access)


def holder(hub: ObjectHub) -> str:
    item = hub.get("leases", LEASE, namespace=NAMESPACE)
    assert item is not None
    return str(item["spec"]["holderIdentity"])


async def test_a_pass_writes_and_lets_go_of_the_lease(pages: PageServer) -> None:
    async with ScorerHub(pages.url) as hub:
        hub.scorer("cpu")
        assert await once(hub) == 1
        assert hub.condition("cpu", "Healthy")[0] == "True"
        assert holder(hub) == ""


async def test_a_status_that_the_hub_refuses_is_no_success(pages: PageServer) -> None:
    async with ScorerHub(pages.url) as hub:
        for name in ("cpu", "disk", "gone", "mem"):
            hub.scorer(name)
        hub.refusals["PATCH dynamicscorers"] = [200, 403, 404, 500]
        with pytest.raises(HubError, match="1 statuses written; the hub refused those of disk, mem"):
            await once(hub)
        assert holder(hub) == ""


async def test_a_pass_that_loses_the_lease_writes_nothing_more(pages: PageServer) -> None:
    async with ScorerHub(pages.url) as hub:
        pages.pages["/healthz"] = lambda _: pages.released.wait(20) and None
        hub.scorer("cpu")

        def take(word: str) -> None:
            if word == "GET dynamicscorers":
                lease = hub.get("leases", LEASE, namespace=NAMESPACE)
                assert lease is not None
                spec = {
                    **lease["spec"],
                    "holderIdentity": "another",
                    "renewTime": "2026-01-01T00:00:00.000000Z",
                }
                hub.put("leases", LEASE, namespace=NAMESPACE, spec=spec)

        hub.between = take
        with pytest.raises(HubError, match="another took the Lease"):
            await once(hub, probe_timeout=15)
        pages.released.set()
        await asyncio.sleep(0.1)
        assert hub.patched() == []
        assert holder(hub) == "another"
