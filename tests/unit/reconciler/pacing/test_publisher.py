"""What is written when the view of the hub is behind."""

import asyncio
from typing import Any, cast

import msgspec

from gitops_dsf.pacing.items import Items, items_of
from gitops_dsf.pacing.ledger import Move
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.pacing.publisher import ItemPublisher

REFUGE = {"ns/a": "c3"}


class _Hub:
    """The AddOnPlacementScores of moves, and the writes in order."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, int]] = {}
        self.written: list[tuple[str, dict[str, int]]] = []

    async def one(self, path: str, _name: str, convert: Any) -> Any:
        found = self.items.get(path.split("/")[-2])
        scores = [{"name": name, "value": value} for name, value in (found or {}).items()]
        text = msgspec.json.encode({"metadata": {"name": "gitops-dsf-moves"}, "status": {"scores": scores}})
        return None if found is None else convert(msgspec.Raw(text))

    async def create(self, _path: str, _item: object) -> bytes:
        return b'{"metadata": {"name": "gitops-dsf-moves"}}'

    async def merge(self, path: str, change: Any) -> None:
        cluster = path.split("/")[-4]
        self.items[cluster] = {each["name"]: each["value"] for each in change["status"]["scores"]}
        self.written.append((cluster, self.items[cluster]))


def test_a_refuge_that_the_view_does_not_show_yet_is_taken_away_before_the_push() -> None:
    """Else the Placement could go to it instead of the target."""
    hub, nothing = _Hub(), cast("Items", {})
    publisher = ItemPublisher(cast("HubApi", hub))
    asyncio.run(publisher.publish(nothing, items_of([], REFUGE)))
    move = Move(placement="ns/a", source="c1", target="c2", since=0)
    asyncio.run(publisher.publish(nothing, items_of([move], REFUGE)))
    assert hub.written == [("c3", {"ns/a": 50}), ("c2", {"ns/a": 50}), ("c3", {}), ("c1", {"ns/a": -100})]
