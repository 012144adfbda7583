"""What a leader remembers between passes. Losing it delays a proposal, or repeats one once. Pure: times are
passed in, in seconds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.backoff import Backoff
from gitops_dsf.reconciler.proposals.proposal import Subject

APART_SECONDS: Final = 30.0
"""Between two passes that must find the same: pages and labels that flap are not proposed."""
BETWEEN_SECONDS: Final = 600.0
"""Pause between the first two pushes for one subject. It doubles with each further push."""
LONGEST_BETWEEN_SECONDS: Final = 4 * 3600.0
"""Longest pause between two pushes for one subject. After twice this time without a push the
pause is reset.
"""
AGAIN_SECONDS: Final = 86_400.0
"""A branch that people deleted is offered again after this time, if no forge keeps their refusal."""

LEFT_SECONDS: Final = 600.0
"""A cluster in git without a ManagedCluster has left after this time. An unavailable cluster still has a
ManagedCluster.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pushes:
    """Of one subject: time of the last push, and number of pushes without a long pause."""

    last: float
    count: int


@dataclass(kw_only=True)
class Memory:
    """Observed changes, pushes and refusals, for one leader."""

    apart: float = APART_SECONDS
    between: float = BETWEEN_SECONDS
    longest_between: float = LONGEST_BETWEEN_SECONDS
    again: float = AGAIN_SECONDS
    _digests: dict[Subject, tuple[str, float]] = field(default_factory=dict)
    _checked: dict[Subject, float] = field(default_factory=dict)
    _pushed: dict[Subject, _Pushes] = field(default_factory=dict)
    _committed: dict[Subject, str] = field(default_factory=dict)
    _present: dict[str, Subject] = field(default_factory=dict)
    _vanished: dict[str, Subject] = field(default_factory=dict)
    _refused: dict[str, float] = field(default_factory=dict)

    def observed_before(self, subject: Subject, digest: str, now: float) -> bool:
        """Whether this digest was seen long enough ago, and no other one since. An empty digest means that
        nothing differs.
        """
        self._checked[subject] = now
        known, since = self._digests.get(subject, ("none", now))
        if known != digest:
            known, since = digest, now
        self._digests[subject] = (known, since)
        return now - since >= self.apart

    def unsure(self, subject: Subject, now: float) -> None:
        """Forgets the digest of a subject whose change is not known."""
        self._checked[subject] = now
        self._digests.pop(subject, None)

    def in_turn(self, subjects: Collection[Subject], most: int) -> list[Subject]:
        """Least recently checked first, `most` at most."""
        return sorted(subjects, key=lambda each: (self._checked.get(each, -1.0), each))[:most]

    def pushed(self, subject: Subject, now: float) -> None:
        """Counts a push for a subject."""
        known = self._pushed.get(subject)
        quiet = known is None or now - known.last >= 2 * self.longest_between
        self._pushed[subject] = _Pushes(last=now, count=1 if known is None or quiet else known.count + 1)

    def committed(self, subject: Subject, branch: str) -> None:
        """Remembers the last direct commit for a subject, by the name that its branch would have."""
        self._committed[subject] = branch

    def reverted(self, subject: Subject, branch: str, now: float) -> bool:
        """Whether a direct commit would repeat the last one for its subject, which people have reverted not
        long ago.
        """
        if self._committed.get(subject) == branch:
            del self._committed[subject]
            self._refused[branch] = now
        return branch in self._refused and now - self._refused[branch] < self.again

    def may_push(self, subject: Subject, now: float) -> bool:
        """Whether the last push is long enough ago. The pause doubles with each push, so that a page that
        flips does not cause pushes all day.
        """
        known = self._pushed.get(subject)
        if known is None:
            return True
        pauses = Backoff(first=self.between, ceiling=self.longest_between, jitter=0)
        return now - known.last >= pauses.delay(known.count)

    def removed(self, branch: str) -> None:
        """Forgets a branch that the reconciler itself deleted."""
        self._present.pop(branch, None)

    def observe(self, branches: Mapping[str, Subject], now: float) -> None:
        """Takes our branches on the server. A branch that was there before and is not now was deleted by
        people, after a merge or to refuse it.
        """
        self._vanished |= {
            branch: subject for branch, subject in self._present.items() if branch not in branches
        }
        self._vanished = {
            branch: subject for branch, subject in self._vanished.items() if branch not in branches
        }
        self._present = dict(branches)
        self._refused = {
            branch: since
            for branch, since in self._refused.items()
            if now - since < self.again and branch not in self._present
        }

    def wanted(self, subject: Subject, branch: str, now: float) -> None:
        """Takes the branch that should be offered for a subject now, "" for none. If people deleted this
        branch, they refused it. Other deleted branches were merged, or are outdated.
        """
        for each in [each for each, about in self._vanished.items() if about == subject]:
            del self._vanished[each]
            if each == branch:
                self._refused[each] = now

    def declined(self, branch: str) -> bool:
        """Whether people deleted this branch not long ago without merging it, or reverted the
        direct commit.
        """
        return branch in self._refused


class Absences:
    """For how long clusters of git have been missing on the hub. A new leader counts from zero."""

    def __init__(self, *, seconds: float = LEFT_SECONDS) -> None:
        self._seconds = seconds
        self._since: dict[str, float] = {}

    def observe(self, *, known: Collection[str], present: Collection[str], now: float) -> list[str]:
        """Clusters in git that have left. `present` is a complete list of the hub."""
        absent = set(known) - set(present)
        self._since = {name: self._since.get(name, now) for name in absent}
        return sorted(name for name, since in self._since.items() if now - since >= self._seconds)
