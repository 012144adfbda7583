"""The scores by which verified moves are judged, including their values between two passes.

A pass sees the scores of one moment. A score that was bad for a short time would be missed, so each
write is noted here when the informer shows it, and wakes the controller.

Guaranteed: values that a pass read count as seen only when its ledger is written. Values that
arrived during a pass that failed are seen by the next one.

Not guaranteed: writes that this process did not see, before it led or while the watch of the scores
was broken. `Reading.unbroken` is False after those.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from gitops_dsf.hub.pace import VerifiedBy
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.pacing.verification import Reading, value_of, written_at
from gitops_dsf.reconciler.hub.scorecolumns import ScoreInformer


class _Item(NamedTuple):
    """A check on a cluster."""

    cluster: str
    check: VerifiedBy

    @property
    def key(self) -> str:
        """The key of the score in the informer."""
        return f"{self.cluster}/{self.check.resource}"


class VerifiedScores:
    """Reads the scores of checks. Only those that are watched have what came meanwhile."""

    def __init__(
        self,
        scores: ScoreInformer,
        *,
        now: Callable[[], float],
        wake: Callable[[], None],
    ) -> None:
        """`now` is the hub's time, and `wake` starts a pass."""
        self._scores = scores
        self._now = now
        self._wake = wake
        self._by_key: dict[str, tuple[_Item, ...]] = {}
        """The watched items by the key of their score. A fleet has a million other scores."""
        self._meanwhile: dict[_Item, set[int | None]] = {}
        """The values of each watched item since the last pass that has seen it."""
        self._seen_in: dict[_Item, int] = {}
        """The number of lists of the scores when a pass saw an item last."""
        self._read = set[_Item]()
        """The items that this pass has read."""
        scores.listen(self._note)

    def read(self, check: VerifiedBy, cluster: str) -> Reading:
        """The score of a check on a cluster."""
        item = _Item(cluster, check)
        self._read.add(item)
        score = self._scores.of(check.resource).get(cluster)
        return Reading(
            value=value_of(score, check, now=self._now()),
            written=0.0 if score is None else written_at(score, check),
            meanwhile=frozenset(self._meanwhile.get(item, ())),
            # A list shows only the last state. The values while the watch was broken are unknown.
            unbroken=self._seen_in.get(item) == self._scores.lists,
        )

    def seen(self, watched: Iterable[tuple[VerifiedBy, str]]) -> None:
        """Notes that the ledger has what this pass read, and what is watched from now on.

        `watched` are checks with their cluster.
        """
        items = {_Item(cluster, check) for check, cluster in watched}
        # A value of an item that this pass did not read was not judged, so it stays.
        for item in items & self._read:
            self._seen_in[item] = self._scores.lists
            self._meanwhile[item] = set()
        for item in self._seen_in.keys() - items:
            del self._seen_in[item]
            self._meanwhile.pop(item, None)
        by_key: dict[str, tuple[_Item, ...]] = {}
        for item in items:
            by_key[item.key] = (*by_key.get(item.key, ()), item)
        self._by_key = by_key
        self._read = set()

    def _note(self, key: str, score: PublishedScore | None) -> None:
        items = self._by_key.get(key)
        if items is None:
            return
        for item in items:
            # Also that there was no score: what must hold without a break has broken then.
            value = value_of(score, item.check, now=self._now())
            self._meanwhile.setdefault(item, set()).add(value)
        self._wake()
