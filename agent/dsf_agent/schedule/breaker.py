"""The circuit breaker of one scorer: the rate at which its peers are called while they fail.

The peers are its metric source and its scoring API.

While the circuit is *closed*, a failed cycle is tried again after five seconds (or the interval, if
that is shorter), and the pause doubles with each failure in a row. When the pause has reached five
minutes, which takes seven failures in a row for intervals of five seconds and more, the circuit
*opens*: from then on there is one trial every five minutes. One success closes it.

A scorer whose interval is longer than five minutes would call its peers more often in an outage
than otherwise, so its pause goes on doubling up to the interval. All pauses have a jitter of 20 %,
so that the agents of a fleet, which lost a central API in the same second, do not call it in the
same second again.

The circuit belongs to the scorer, not to a URL: a cycle needs both peers, so neither is called
while the other one fails. Not guaranteed: a memory of failures. A scorer that starts, or whose
entry changed, knows none yet.
"""

from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.backoff import Backoff

FIRST_PAUSE_SECONDS: Final = 5.0
"""The pause after the first failure, unless the interval is shorter."""
TRIAL_SECONDS: Final = 300.0
"""The time between two trials of an open circuit, unless the interval is longer.

A score is valid for 15 minutes or longer by default and renewed at half of that, so one missed
trial does not let it expire.
"""


@dataclass(kw_only=True, eq=False)
class CircuitBreaker:
    """Counts failures in a row and says how long to wait. It never looks at a clock."""

    interval: float
    """Seconds between two cycles of the scorer while nothing fails."""
    failures: int = field(init=False, default=0)
    """Failures in a row."""
    empty_answers: int = field(init=False, default=0)
    """Answers in a row that had no results."""

    @property
    def is_open(self) -> bool:
        """Whether the pause has reached that of trials."""
        # The pause without jitter decides, so that the circuit of equal scorers opens at the same
        # count.
        return self.failures > 0 and self._backoff.nominal(self.failures) >= TRIAL_SECONDS

    def succeeded(self) -> None:
        """Notes a cycle that gave scores, and closes the circuit."""
        self.failures = 0
        self.empty_answers = 0

    def failed(self, *, retry_after: float | None) -> float:
        """Notes a failure. Returns the seconds until the next attempt.

        A peer that asks for a longer wait by `Retry-After` gets it.
        """
        self.failures += 1
        self.empty_answers = 0
        # Retry-After may only lengthen the pause: 0 must not make the agent call without one.
        return max(self._backoff.delay(self.failures), retry_after or 0.0)

    def answered_without_results(self) -> float:
        """Notes that both peers answered, but without data.

        Returns the seconds until the next attempt.

        This closes the circuit, because the peers are healthy. The pause grows, but never beyond
        the interval: once the source has data, as on a new cluster, scores follow within one
        interval.
        """
        self.failures = 0
        self.empty_answers += 1
        return min(self._backoff.delay(self.empty_answers), self.interval)

    @property
    def _backoff(self) -> Backoff:
        return Backoff(
            first=min(FIRST_PAUSE_SECONDS, self.interval),
            ceiling=max(TRIAL_SECONDS, self.interval),
        )
