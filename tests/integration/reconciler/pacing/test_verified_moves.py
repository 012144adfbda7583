"""Verified moves by the reconciler, as whole stories in virtual time: OCM is the simulator, Argo CD
makes copies, and agents publish how the application does.
"""

import asyncio

from gitops_dsf.pacing.ledger import Phase
from tests.integration.reconciler.pacing.verifyhub import VerifyHub, publishing, shops, verifying
from tests.integration.reconciler.replica import in_time


def is_settled(hub: VerifyHub) -> bool:
    return bool(hub.moved) and not list(hub.ledger().under_way) and not hub.items()


async def test_a_move_whose_checks_hold_completes() -> None:
    async with VerifyHub() as hub:
        shops(hub)
        async with publishing(hub), verifying(hub):
            await in_time(
                lambda: [move.phase for move in hub.ledger().moves] == [Phase.VERIFYING],
                what="the new copy is verified",
            )
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(590)
            assert hub.copies() == ["shop-eu-1", "shop-us-1"]
            await in_time(lambda: is_settled(hub), what="the move completed")
            # 120 s until a score has measured the new copy only, then 600 s.
            assert 720 <= asyncio.get_running_loop().time() - began < 760
        assert hub.where("shop") == "us-1"
        assert hub.removed == ["shop-eu-1"]
        assert hub.broken == []


async def test_an_application_that_does_worse_returns_by_itself() -> None:
    async with VerifyHub() as hub:
        shops(hub)
        hub.quality["us-1"] = 62
        async with publishing(hub), verifying(hub):
            await in_time(lambda: "shop-us-1" in hub.copies(), what="a new copy")
            await in_time(lambda: hub.removed, what="a copy was removed")
            await in_time(lambda: is_settled(hub), what="the return ended")
            ledger = hub.ledger()
            assert [move.outcome for move in ledger.moves if move.verified] == ["Returned"]
            [back] = [move for move in ledger.moves if move.returning]
            assert str(back.cause) == "return: shop-slo/shop 62 of at least 80"
            await asyncio.sleep(3 * 3600)
        assert hub.where("shop") == "eu-1"
        assert hub.removed == ["shop-us-1"]
        assert [(hold.placement, hold.target, hold.returns) for hold in hub.ledger().holds] == [
            ("argocd/shop", "us-1", 1)
        ]
        assert hub.moved == [("shop", "eu-1", "us-1"), ("shop", "us-1", "eu-1")]
        assert hub.broken == []
