"""What the API server of the world keeps beside its objects is what the objects say."""

import random

from tests.support.apiserver import Object
from tests.world.apiserver import WorldApiServer
from tests.world.loop import WorldLoop

PLURALS = ("applications", "placementdecisions")
NAMES = ("a", "b", "c")
NAMESPACES = ("one", "two")
OWNERS = ("u1", "u2")


def by_hand(hub: WorldApiServer, plural: str) -> tuple[dict[str, list[Object]], ...]:
    """The objects by owner, and by name."""
    kept = [hub.objects[key] for key in sorted(hub.objects) if key[0] == plural]
    owned: dict[str, list[Object]] = {uid: [] for uid in OWNERS}
    for item in kept:
        for owner in item["metadata"].get("ownerReferences") or []:
            owned[owner["uid"]].append(item)
    named = {name: [item for item in kept if item["metadata"]["name"] == name] for name in NAMES}
    return owned, named


def test_objects_by_owner_and_by_name_follow_every_write(loop: WorldLoop) -> None:
    async def main() -> None:
        hub, drawn = WorldApiServer(), random.Random(3)
        backup = hub.backup()
        for step in range(300):
            plural, name = drawn.choice(PLURALS), drawn.choice(NAMES)
            namespace = drawn.choice(NAMESPACES)
            owners = [{"uid": uid} for uid in OWNERS if drawn.random() < 0.5]
            match drawn.choice(["write", "write", "write", "erase", "backup", "restore"]):
                case "write":
                    finalizers = ["kept"] if drawn.random() < 0.2 else []
                    metadata = {"ownerReferences": owners, "finalizers": finalizers}
                    item = {"metadata": metadata, "spec": {"step": step}}
                    hub.write("somebody", plural, name, item, namespace=namespace)
                case "erase":
                    hub.erase("somebody", plural, name, namespace=namespace)
                case "backup":
                    backup = hub.backup()
                case "restore":
                    hub.restore(backup)
            for each in PLURALS:
                owned, named = by_hand(hub, each)
                assert {uid: hub.owned(each, uid) for uid in OWNERS} == owned
                assert {name: hub.named(each, name) for name in NAMES} == named

    loop.run_until_complete(main())
