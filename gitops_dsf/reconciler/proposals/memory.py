"""What a leader remembers between two looks; forgetting it only delays or repeats once. Pure: times are
handed in, in seconds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.backoff import Backoff
from gitops_dsf.reconciler.proposals.proposal import Subject

APART_SECONDS: Final = 30.0
"""Between two looks that must agree: pages and labels that flap are not proposed."""
BETWEEN_SECONDS: Final = 600.0
"""Between the first two pushes about one subject; after each further push twice as long."""
LONGEST_BETWEEN_SECONDS: Final = 4 * 3600.0
"""Between two pushes about one subject, however many there were. After twice this time without a push the
first pause counts again.
"""
AGAIN_SECONDS: Final = 86_400.0
"""Before a branch that people deleted is offered again, where no forge remembers that they did."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pushes:
    """About one subject: when the last one was, and how many followed each other without a long pause."""

    last: float
    count: int


@dataclass(kw_only=True)
class Memory:
    """Of one leader."""

    apart: float = APART_SECONDS
    between: float = BETWEEN_SECONDS
    longest_between: float = LONGEST_BETWEEN_SECONDS
    again: float = AGAIN_SECONDS
    _looks: dict[Subject, tuple[str, float]] = field(default_factory=dict)
    _looked: dict[Subject, float] = field(default_factory=dict)
    _pushed: dict[Subject, _Pushes] = field(default_factory=dict)
    _committed: dict[Subject, str] = field(default_factory=dict)
    _there: dict[str, Subject] = field(default_factory=dict)
    _vanished: dict[str, Subject] = field(default_factory=dict)
    _gone: dict[str, float] = field(default_factory=dict)

    def look(self, subject: Subject, digest: str, now: float) -> bool:
        """Whether this was seen before, long enough ago, and nothing else in between. An empty digest:
        nothing to change.
        """
        self._looked[subject] = now
        known, since = self._looks.get(subject, ("none", now))
        if known != digest:
            known, since = digest, now
        self._looks[subject] = (known, since)
        return now - since >= self.apart

    def unsure(self, subject: Subject, now: float) -> None:
        """It was looked at, and could not be judged: what was seen before no longer counts."""
        self._looked[subject] = now
        self._looks.pop(subject, None)

    def in_turn(self, subjects: Collection[Subject], most: int) -> list[Subject]:
        """Those that were looked at least recently."""
        return sorted(subjects, key=lambda each: (self._looked.get(each, -1.0), each))[:most]

    def pushed(self, subject: Subject, now: float) -> None:
        """Something is pushed about a subject."""
        known = self._pushed.get(subject)
        quiet = known is None or now - known.last >= 2 * self.longest_between
        self._pushed[subject] = _Pushes(last=now, count=1 if known is None or quiet else known.count + 1)

    def committed(self, subject: Subject, branch: str) -> None:
        """A direct commit, by the branch that it would have had. One before it about the same subject is
        history: it may come again.
        """
        self._committed[subject] = branch

    def reverted(self, subject: Subject, branch: str, now: float) -> bool:
        """Of a direct commit that is to be made: whether it was the last one about its subject, not long ago,
        and people took it back.
        """
        if self._committed.get(subject) == branch:
            del self._committed[subject]
            self._gone[branch] = now
        return branch in self._gone and now - self._gone[branch] < self.again

    def may_push(self, subject: Subject, now: float) -> bool:
        """Whether the last push about it is long enough ago. The pause doubles with each push, so that a page
        that flips does not push all day.
        """
        known = self._pushed.get(subject)
        if known is None:
            return True
        pauses = Backoff(first=self.between, ceiling=self.longest_between, jitter=0)
        return now - known.last >= pauses.delay(known.count)

    def removed(self, branch: str) -> None:
        """We removed a branch ourselves."""
        self._there.pop(branch, None)

    def observe(self, branches: Mapping[str, Subject], now: float) -> None:
        """Branches of ours that are on the server: people deleted one that was there and is not, after a
        merge or to refuse it.
        """
        self._vanished |= {
            branch: subject for branch, subject in self._there.items() if branch not in branches
        }
        self._vanished = {
            branch: subject for branch, subject in self._vanished.items() if branch not in branches
        }
        self._there = dict(branches)
        self._gone = {
            branch: since
            for branch, since in self._gone.items()
            if now - since < self.again and branch not in self._there
        }

    def wanted(self, subject: Subject, branch: str, now: float) -> None:
        """What is to be offered about a subject now, "" for nothing. If it has vanished it was refused; any
        other was merged, or is old.
        """
        for each in [each for each, about in self._vanished.items() if about == subject]:
            del self._vanished[each]
            if each == branch:
                self._gone[each] = now

    def declined(self, branch: str) -> bool:
        """Whether people deleted it not long ago and it was not merged; or, of direct commits,
        reverted it.
        """
        return branch in self._gone
