"""What happened in a world: a digest of everything, and the last part as text for people."""

import hashlib
from collections import Counter, deque
from typing import Final

import msgspec

from gitops_dsf.hub.pace import MOVES_SCORE
from tests.support.apiserver import Object
from tests.world.apiserver import StoredChange
from tests.world.loop import world_loop

LINES: Final = 4000


class History:
    """A line has the virtual time, who did it, and what."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.lines: deque[str] = deque(maxlen=LINES)
        self.counts: Counter[str] = Counter()
        """Faults and writes by kind."""

    def note(self, who: str, what: str) -> None:
        """A line that people read."""
        line = f"{moment(world_loop().time())} {who:<22} {what}"
        self.lines.append(line)
        self._digest.update(line.encode())

    def change(self, change: StoredChange, writer: str) -> None:
        plural = change.key[0]
        self.counts[f"write {plural}"] += 1
        head = f"{world_loop().time()!r} {writer} {change.key} "
        self._digest.update(head.encode() + change.encoded)
        text = described(change)
        if text:
            self.note(writer, text)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


def moment(seconds: float) -> str:
    """As `0d 03:25:17.120`."""
    whole = int(seconds)
    days, rest = divmod(whole, 86_400)
    milliseconds = int((seconds - whole) * 1000)
    return f"{days}d {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.{milliseconds:03}"


def described(change: StoredChange) -> str:
    """What a reader of the history needs of a write; empty if nothing."""
    plural, namespace, name = change.key
    before, after = change.before, change.after
    match plural:
        case "placementdecisions":
            return f"decision {name}: {_decided(before)} -> {_decided(after)}"
        case "applications":
            was, now = _application(before), _application(after)
            return f"Application {name}: {was} -> {now}" if was != now else ""
        case "managedclusters":
            was, now = _cluster(before), _cluster(after)
            return f"cluster {name}: {was} -> {now}" if was != now else ""
        case "addonplacementscores":
            was, now = _scores(before), _scores(after)
            return f"score {name} of {namespace}: {was} -> {now}" if was != now else ""
        case "configmaps" if name == MOVES_SCORE:
            was, now = _ledger(before), _ledger(after)
            return f"ledger: {now}" if was != now else ""
        case "leases":
            was, now = (
                (each or {}).get("spec", {}).get("holderIdentity", "") for each in (before, after)
            )
            return f"Lease: {was or 'nobody'} -> {now or 'nobody'}" if was != now else ""
    return ""


def _decided(item: Object | None) -> str:
    entries = ((item or {}).get("status") or {}).get("decisions") or []
    return ",".join(each["clusterName"] for each in entries) or "none"


def _application(item: Object | None) -> str:
    if item is None:
        return "none"
    status = item.get("status") or {}
    going = ", deleting" if "deletionTimestamp" in item["metadata"] else ""
    return f"{(status.get('health') or {}).get('status', 'new')}{going}"


def _ledger(item: Object | None) -> str:
    if item is None:
        return "gone"
    try:
        ledger = msgspec.json.decode((item.get("data") or {}).get("ledger") or "{}")
    except msgspec.DecodeError:
        return "unreadable"
    moves = [each for each in ledger.get("moves", []) if each.get("phase") != "Ended"]
    return ", ".join(map(_move, moves)) or "nothing is under way"


def _move(item: Object) -> str:
    name, phase = item["placement"].partition("/")[2], item.get("phase", "Admitted")
    unasked = "" if item.get("admitted", True) else " (not admitted)"
    return f"{name} {item.get('from', '')}->{item['to']} {phase}{unasked}"


def _cluster(item: Object | None) -> str:
    if item is None:
        return "none"
    taints = [each["key"].rpartition("/")[2] for each in item["spec"].get("taints") or []]
    conditions = item["status"]["conditions"]
    available = [each["status"] for each in conditions if each["type"].endswith("Available")]
    return "+".join([f"available {''.join(available)}", *taints])


def _scores(item: Object | None) -> str:
    entries = ((item or {}).get("status") or {}).get("scores") or []
    return " ".join(f"{each['name']}={each['value']}" for each in entries) or "none"
