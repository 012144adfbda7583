"""What wakes the controllers of moves."""

from tests.integration.reconciler.moves.movehub import NAMESPACE, SETS, MoveHub
from tests.integration.reconciler.replica import Replica
from tests.support.objecthub import ObjectHub

REFRESH = "argocd.argoproj.io/application-set-refresh"
TIMEOUT = "gitops-dsf.io/moves-timeout-seconds"


async def test_a_refresh_that_is_asked_for_or_done_wakes_nobody() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        MoveHub(hub)
        replica = Replica(api)
        changed = replica.context.changes_of_moves()
        item = hub.get(SETS, "web", namespace=NAMESPACE)
        assert item is not None
        annotations = item["metadata"]["annotations"]

        async def wakes() -> bool:
            changed.clear()
            await replica.view.sets.refresh()
            return changed.is_set()

        assert await wakes(), "it is new"
        annotations[REFRESH] = "now"
        assert not await wakes()
        assert replica.view.sets.items["web"].asked
        del annotations[REFRESH]
        assert not await wakes()
        annotations[TIMEOUT] = "7"
        assert await wakes(), "it was edited"
        annotations |= {REFRESH: "now", TIMEOUT: "8"}
        assert await wakes(), "it was edited and refreshed"
        hub.remove({"kind": "ApplicationSet", "apiVersion": "argoproj.io/v1alpha1", **item})
        assert await wakes(), "it is gone"


async def test_a_decision_wakes_them() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        scene, replica = MoveHub(hub), Replica(api)
        changed = replica.context.changes_of_moves()
        await replica.view.decisions.refresh()
        replica.context.tracker.observe()
        changed.clear()
        replica.context.tracker.observe()
        scene.decide("b")
        await replica.view.decisions.refresh()
        replica.context.tracker.observe()
        assert changed.is_set()
