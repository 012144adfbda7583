"""For how long clusters have been away from the hub's list. Pure: times are handed in, in seconds."""

from collections.abc import Collection
from typing import Final

LEFT_SECONDS: Final = 600.0
"""After which a cluster that is in git and has no ManagedCluster counts as one that left. A cluster that is
unavailable has one.
"""


class Absences:
    """Begins anew with every leader: that only delays."""

    def __init__(self, *, seconds: float = LEFT_SECONDS) -> None:
        self._seconds = seconds
        self._since: dict[str, float] = {}

    def observe(self, *, known: Collection[str], present: Collection[str], now: float) -> list[str]:
        """Clusters of git that are long gone; `present` is one complete list of the hub."""
        absent = set(known) - set(present)
        self._since = {name: self._since.get(name, now) for name in absent}
        return sorted(name for name, since in self._since.items() if now - since >= self._seconds)
